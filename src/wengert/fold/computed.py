"""Blocks that choose by computed values: they wait for data while a run builds the rest (a bind).

Knows: which layers they wait for, and that what is awaited is data, which is not differentiated.
Refuses to know: what is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from wengert.arrays import is_integer
from wengert.errors import BlockError, BlockStateError, BlockValueError
from wengert.fold.block import A, B, Block, Several, X
from wengert.fold.calls import Calls
from wengert.fold.composition import feed
from wengert.fold.control import case_of, listed_cases
from wengert.fold.conversion import convert_to_block
from wengert.fold.convert import OBJECT
from wengert.fold.items import elements
from wengert.fold.kinds import Composite
from wengert.fold.machine import Frames, Steps
from wengert.fold.solver import Solver, Use, sequence_of
from wengert.fold.structures import SequenceType
from wengert.fold.types import ResultType, TensorType, Value
from wengert.fold.unification import resolved
from wengert.graph.operand import shown


def computed(solver: Solver, use: Use, part: Use, what: str, highest: int = 0) -> None:
    """A part gives a number, which is computed; or, with `highest` 1, maybe a vector of them."""

    def check(of: ResultType) -> None:
        if not isinstance(of, TensorType) or of.ndim > highest or not of.size:
            vector = " or a vector" * highest
            raise BlockError(
                use.block.fault(f"{what} is {resolved(of)}; it is a computed number, a scalar{vector}")
            )

    solver.when_begun(use, part.output, check)


class Switch(Composite[A, B]):
    """The case under a key that is computed: an awaited number, which is not differentiated.

    `key` gives a scalar, or a vector of scores, where the key is the place of the greatest. Cases are a dict, a
    list of pairs, or a tuple, whose keys are its places and -1 the last one.
    Raises BlockValueError without cases, BlockError where outputs of cases differ, and in the run BlockKeyError for
    a number that no case has.
    >>> from wengert import less, where, fold as td
    >>> sign = td.Function(lambda x: where(less(x, 0.0), 0.0 * x, 0.0 * x + 1.0))
    >>> size = td.Scalar() >> td.Switch(sign, (td.Function(lambda x: -x), td.Identity()))
    >>> size.eval(-3).item(), size.build(2).predict().run().item()
    (3.0, 2.0)

    Source: asked for by users of TensorFlow Fold, whose graphs are known before anything is computed.
    """

    waits: ClassVar[bool] = True

    def __init__(
        self,
        key: Block[A, Any],  # Any: a scalar layer of every dtype
        cases: Mapping[int, Block[A, B]] | list[tuple[int, Block[A, B]]] | tuple[Block[A, B], ...],
        name: str | None = None,
    ) -> None:
        super().__init__(name, key=key, cases=cases)
        self._key = convert_to_block(key)
        self._cases, self._places = listed_cases(self, cases)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        feed(solver, use, self._key, use.input, "its input")
        computed(solver, use, use.parts[0], f"the output of {self._key!r}", highest=1)
        for block in self._cases:
            feed(solver, use, block, use.input, "its input")
            given = use.parts[-1].output
            solver.equal(use, "the output of the cases", use.output, f"the output of {block!r}", given)

    def frames(self, use: Use, calls: Calls) -> Frames:
        key, *parts = use.parts
        cases = {number: parts[place] for number, place in self._places.items()}

        def steps(x: Value) -> Steps:
            layer = yield key, x
            data = yield None, layer
            found = data.argmax() if data.ndim else data
            return (yield case_of(self, cases, found.item()), x)

        return steps


class Loop(Composite[X, X]):
    """The body again and again, until a number computed of what it gives is greater than 0.

    The body is asked at least once; each turn waits for its number, and is differentiated as if it were written
    down. Raises BlockError where the body gives another type than it takes, and in the run BlockStateError where
    `limit` turns are not enough.
    >>> from wengert import fold as td
    >>> doubled = td.Loop(td.Function(lambda x: x * 2.0), td.Function(lambda x: x - 100.0))
    >>> (td.Scalar() >> doubled).eval(3).item()
    192.0

    Source: asked for by users of TensorFlow Fold, whose graphs are known before anything is computed.
    """

    waits: ClassVar[bool] = True

    def __init__(
        self,
        body: Block[X, X],
        until: Block[X, Any],  # Any: a scalar layer of every dtype
        limit: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name, body=body, until=until, limit=limit)
        if limit is not None and (not is_integer(limit) or int(limit) < 1):
            raise BlockValueError(self.fault(f"a limit is at least one turn, not {shown(limit)}"))
        self._body, self._until, self._limit = convert_to_block(body), convert_to_block(until), limit
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        body, until = solver.use(self._body), solver.use(self._until)
        use.parts += [body, until]
        solver.equal(use, "its input", use.input, f"the input of {self._body!r}", body.input)
        solver.link(use, "its input", use.input, f"the output of {self._body!r}", body.output)
        solver.equal(use, "its input", use.input, "its output", use.output)
        solver.link(use, "its output", use.output, f"the input of {self._until!r}", until.input)
        computed(solver, use, until, f"the output of {self._until!r}")

    def frames(self, use: Use, calls: Calls) -> Frames:
        body, until = use.parts
        limit = self._limit

        def steps(x: Value) -> Steps:
            turns = 0
            while True:
                if turns == limit:
                    raise BlockStateError(self.fault(f"it was not done after {limit} turns, its limit"))
                x = yield body, x
                layer = yield until, x
                number = yield None, layer
                turns += 1
                if number > 0:
                    return x

        return steps


class Filter(Composite[A, B]):
    """The elements of a list of which a computed number is greater than 0; all numbers are awaited at once.

    How many there are is known in the run only: what is built before a run reads the list, as `td.Sum()` does.
    Raises BlockError for an endless sequence.
    >>> from wengert import fold as td
    >>> positive = td.Map(td.Scalar()) >> td.Filter(td.Identity())
    >>> [x.item() for x in positive.eval([1, -2, 3])], (positive >> td.Sum()).build([1, -2, 3]).predict().run().item()
    ([1.0, 3.0], 4.0)

    Source: asked for by users of TensorFlow Fold, whose graphs are known before anything is computed.
    """

    waits: ClassVar[bool] = True

    def __init__(
        self: Filter[Several[X], list[X]],
        keep: Block[X, Any],  # Any: a scalar layer of every dtype
        name: str | None = None,
    ) -> None:
        super().__init__(name, keep=keep)
        self._keep = convert_to_block(keep)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        keep = solver.use(self._keep)
        use.parts.append(keep)
        sequence_of(solver, use, "its input", use.input, keep.input)
        computed(solver, use, keep, f"the output of {self._keep!r}")

        def collect(of: ResultType) -> None:
            made: ResultType = OBJECT if of == OBJECT else SequenceType(of)
            solver.equal(use, "its output", use.output, "what is kept", made)

        solver.when_begun(use, keep.input, collect)

    def frames(self, use: Use, calls: Calls) -> Frames:
        (keep,) = use.parts

        def steps(x: Value) -> Steps:
            all_of_them, layers = list(elements(self, x)), []
            for element in all_of_them:
                layers.append((yield keep, element))
            numbers = yield None, layers
            return [element for element, number in zip(all_of_them, numbers, strict=True) if number > 0]

        return steps


__all__ = ["Filter", "Loop", "Switch"]
