"""What many examples give together: their tensors and their metrics as batches, which are ordinary layers.

Knows: which blocks have a batch, and the order of examples.
Refuses to know: how a batch is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

from wengert.arrays.stated import stated_array
from wengert.errors import BlockError, BlockValueError
from wengert.fold.block import AnyBlock, Block, Leaf, Tensors
from wengert.fold.convert import OBJECT, VOID
from wengert.fold.machine import Run, built, plan
from wengert.fold.solver import Solver, Unknown, Use, head, resolved
from wengert.fold.types import ResultType, SequenceType, TensorType, TupleType, Value
from wengert.graph.operand import shown
from wengert.graph.site import user_position
from wengert.ops import stack

E = TypeVar("E")


class Metric(Leaf[Any, None]):  # Any: a tensor, or a tuple of one and of its label
    """Keeps a tensor, or a tensor and a label, under a name; gives nothing.

    `block.eval(x, metrics=True)` and batches have them, in the order in which blocks are asked.
    Raises BlockError for another input, and where one name has tensors of two types.
    >>> from wengert import fold as td
    >>> kept = td.Map(td.Scalar() >> td.AllOf(td.Metric("x"), td.Identity())) >> td.Void()
    >>> kept.eval([1, 2], metrics=True)
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

    def value(self, use: Use, x: Value, run: Run) -> Value:
        tensor, label = x if isinstance(use.input, TupleType) else (x, None)
        run.metrics.setdefault(self._of, []).append((tensor, label))


@final
@dataclass(frozen=True)
class Batch:
    """What a list of examples gave: in each tensor the first axis counts examples, or kept values.

    Integers make no layer: where a block gives them they are an array.
    """

    output_tensors: tuple[Tensors, ...]
    metric_tensors: dict[str, Tensors]
    metric_labels: dict[str, list[object]]


@final
class Compiler(Generic[E]):
    """A block for many examples at once.

    >>> import wengert as wg
    >>> from wengert import fold as td
    >>> compiler = td.Compiler.create(td.Scalar() >> td.Function(wg.square))
    >>> compiler.build([1, 2, 3]).output_tensors[0].predict().run().tolist()
    [1.0, 4.0, 9.0]

    Source: TensorFlow Fold, `td.Compiler`.
    """

    def __init__(self, root: AnyBlock, use: Use, metrics: dict[str, ResultType]) -> None:
        self._root, self._use, self._metrics = root, use, metrics

    @classmethod
    def create(cls, root: Block[E, object]) -> Compiler[E]:
        """Check that a block has batches.

        Raises BlockError where it reads no data, gives objects or lists, or neither a tensor nor a metric.
        """
        if not isinstance(root, Block):
            raise BlockError(f"td.Compiler: {shown(root)} is no block\n  at {user_position()}")
        use, metrics = plan(root, OBJECT)
        if use.input not in (OBJECT, VOID):
            raise BlockError(root.fault(f"its input is {use.input}; a compiler's block begins with data"))
        if not _is_batched(use.output):
            raise BlockError(root.fault(f"its output is {use.output}, which has objects or lists in it"))
        if not metrics and not list(use.output.terminal_types()):
            raise BlockError(root.fault("it has neither a tensor nor a metric"))
        return cls(root, use, metrics)

    def build(self, examples: Sequence[E], *, metric_labels: bool = False) -> Batch:
        """The batch of a list of examples.

        Raises BlockError for what is no list or tuple, BlockValueError for an empty one.
        """
        if not isinstance(examples, (list, tuple)):
            raise BlockError(self._root.fault(f"examples are a list, not {shown(examples)}"))
        if not examples:
            raise BlockValueError(self._root.fault("a batch has at least one example"))
        run = Run()
        rows = [self._use.output.flatten(built(self._use, x, run)) for x in examples]
        outputs = tuple(_stacked(list(column)) for column in zip(*rows, strict=True))
        tensors = {name: _stacked([x for x, _ in kept]) for name, kept in run.metrics.items()}
        labels = {name: [label for _, label in kept] for name, kept in run.metrics.items()}
        return Batch(outputs, tensors, labels if metric_labels else {})


def _is_batched(of: ResultType) -> bool:
    """Whether a type has nothing but tensors in it, or nothing at all; recursive over the type."""
    return of != OBJECT and not isinstance(of, SequenceType) and all(map(_is_batched, of.parts))


def _stacked(column: list[Value]) -> Value:
    kind = column[0].dtype
    if kind.kind in "iu":
        return stated_array([x.tolist() for x in column], kind.name)
    return stack(column)
