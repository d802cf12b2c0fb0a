"""Blocks that put sequences side by side: repeated, zipped, in windows.

Knows: lengths, and that what is endless has none.
Refuses to know: what the elements are.
"""

from __future__ import annotations

from typing import Any, overload

from wengert.arrays import is_integer
from wengert.errors import BlockError, BlockValueError
from wengert.fold.block import A, B, Block, C, K, Q, Several, X, Y, Z
from wengert.fold.calls import Calls, Direct
from wengert.fold.composition import Pipe
from wengert.fold.convert import OBJECT
from wengert.fold.items import elements
from wengert.fold.kinds import Leaf
from wengert.fold.sequences import Map
from wengert.fold.solver import Solver, Use, sequence_of
from wengert.fold.structures import BroadcastSequenceType, Endless, SequenceType, TupleType
from wengert.fold.types import ResultType, Value
from wengert.fold.unification import Unknown, head, resolved
from wengert.graph.operand import shown


class Broadcast(Leaf[X, "Endless[X]"]):
    """What enters, again and again without an end.

    >>> from wengert import fold as td
    >>> block = td.Record((td.Map(td.Scalar()), td.Scalar() >> td.Broadcast())) >> td.Zip()
    >>> [(a.item(), b.item()) for a, b in block.eval(([1, 2], 7))]
    [(1.0, 7.0), (2.0, 7.0)]

    Source: TensorFlow Fold, `td.Broadcast`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "its output", use.output, "what is repeated", BroadcastSequenceType(use.input))

    def direct(self, use: Use, calls: Calls) -> Direct:
        return Endless


class Zip(Leaf[K, Q]):
    """A tuple of sequences as a list of tuples, as long as the shortest; endless if all are.

    Raises BlockError for what is no tuple of sequences.
    >>> from wengert import fold as td
    >>> td.Zip().eval(([1, 2], "ab"))
    [(1, 'a'), (2, 'b')]

    Source: TensorFlow Fold, `td.Zip`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        def rule() -> bool:
            of = head(use.input)
            if isinstance(of, Unknown) or any(isinstance(head(t), Unknown) for t in of.parts):
                return False
            solver.equal(use, "its output", use.output, "the tuples", self._zipped(solver, use, of))
            return True

        solver.input_otherwise(use, OBJECT)
        solver.wait(use, rule)

    def _zipped(self, solver: Solver, use: Use, of: ResultType) -> ResultType:
        if of == OBJECT:
            return OBJECT
        if not isinstance(of, TupleType) or not of.parts:
            raise BlockError(self.fault(f"its input is {resolved(of)}; it takes a tuple of sequences"))
        items = TupleType([Unknown() for _ in of.parts])
        for i, (part, item) in enumerate(zip(of.parts, items, strict=True)):
            sequence_of(solver, use, f"part {i}", part, item, endless=True)
        endless = all(isinstance(head(part), BroadcastSequenceType) for part in of.parts)
        return BroadcastSequenceType(items) if endless else SequenceType(items)

    def direct(self, use: Use, calls: Calls) -> Direct:
        if isinstance(use.output, BroadcastSequenceType):
            return lambda x: Endless(tuple(map(next, x)))
        return lambda x: list(zip(*[elements(self, part) for part in elements(self, x)], strict=False))


class ZipWith(Pipe[A, B]):
    """`Zip() >> Map(f)`.

    >>> from wengert import add, fold as td
    >>> lists = td.Record((td.Map(td.Scalar()), td.Map(td.Scalar())))
    >>> [y.item() for y in (lists >> td.ZipWith(td.Function(add))).eval(([1, 2], [3, 4]))]
    [4.0, 6.0]

    Source: TensorFlow Fold, `td.ZipWith`.
    """

    @overload
    def __init__(
        self: ZipWith[tuple[Several[X], Several[Y]], list[C]],
        element: Block[tuple[X, Y], C],
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: ZipWith[tuple[Several[X], Several[Y], Several[Z]], list[C]],
        element: Block[tuple[X, Y, Z], C],
        name: str | None = None,
    ) -> None: ...
    def __init__(self, element: Any, name: str | None = None) -> None:  # Any: typed by the overloads
        super().__init__(Zip(), Map(element), name=name)


class NGrams(Leaf[Several[X], "list[tuple[X, ...]]"]):
    """All windows of n neighbours as tuples; of a sequence that is too short, none.

    Raises BlockValueError for n below 1.
    >>> from wengert import fold as td
    >>> td.NGrams(2).eval([1, 2, 3])
    [(1, 2), (2, 3)]

    Source: TensorFlow Fold, `td.NGrams`.
    """

    def __init__(self, n: int, name: str | None = None) -> None:
        super().__init__(name, n=n)
        if not is_integer(n) or int(n) < 1:
            raise BlockValueError(self.fault(f"a window has at least one element, not {shown(n)}"))
        self._n = int(n)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        item = Unknown()
        sequence_of(solver, use, "its input", use.input, item)
        windows = SequenceType(TupleType([item] * self._n))
        solver.equal(use, "its output", use.output, "the windows", windows)
        solver.input_otherwise(use, OBJECT)

    def direct(self, use: Use, calls: Calls) -> Direct:
        return self._windows

    def _windows(self, x: Value) -> Value:
        listed = list(elements(self, x))
        return [tuple(listed[i : i + self._n]) for i in range(len(listed) - self._n + 1)]
