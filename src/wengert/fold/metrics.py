"""What is kept of an example besides its result.

Knows: that a metric is a tensor under a name, maybe with a label, and that all under one name have one type.
Refuses to know: what metrics are for.
"""

from __future__ import annotations

from typing import Any

from wengert.errors import BlockError
from wengert.fold.calls import Calls, Direct
from wengert.fold.convert import OBJECT, VOID
from wengert.fold.kinds import Leaf
from wengert.fold.machine import keep
from wengert.fold.solver import Solver, Use
from wengert.fold.structures import TupleType
from wengert.fold.types import TensorType
from wengert.fold.unification import Unknown, head, resolved
from wengert.graph.operand import shown


class Metric(Leaf[Any, None]):  # Any: a tensor, or a tuple of one and of its label
    """Keeps a tensor, or a tensor and a label, under a name; gives nothing.

    `block.eval(x)` gives them beside the result, and batches have them, in the order in which blocks are asked.
    Raises BlockError for another input, and where one name has tensors of two types.
    >>> from wengert import fold as td
    >>> kept = td.Map(td.Scalar() >> td.AllOf(td.Metric("x"), td.Identity())) >> td.Void()
    >>> kept.eval([1, 2])
    (None, {'x': [array(1., dtype=float32), array(2., dtype=float32)]})

    Source: TensorFlow Fold, `td.Metric`.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        if not isinstance(name, str):
            raise BlockError(self.fault(f"the name of a metric is a string, not {shown(name)}"))
        self._of = name
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "its output", use.output, "what is left", VOID)
        kept = solver.metrics.setdefault(self._of, Unknown())

        def rule() -> bool:
            of = head(use.input)
            tensor = of
            if isinstance(of, TupleType) and len(of) == 2:
                tensor = head(of[0])
                solver.equal(use, "a label", of[1], "data", OBJECT)
            if isinstance(tensor, Unknown):
                return False
            if not isinstance(tensor, TensorType):
                raise BlockError(
                    self.fault(f"its input is {resolved(of)}; it keeps a tensor, or a tensor and a label")
                )
            solver.equal(use, f"a tensor under {self._of!r}", tensor, "another under that name", kept)
            return True

        solver.wait(use, rule)

    def direct(self, use: Use, calls: Calls) -> Direct:
        name = self._of
        if isinstance(use.input, TupleType):
            return lambda x: keep(name, *x)
        return lambda x: keep(name, x, None)
