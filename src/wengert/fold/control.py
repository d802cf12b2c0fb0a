"""Blocks that choose: by data, by their absence, or by computed values, for which a run waits while it builds the rest.

Knows: keys of cases; which layers are awaited, and that their data are not differentiated.
Refuses to know: what the cases do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, overload

from wengert.arrays import is_integer
from wengert.errors import BlockKeyError, BlockStateError, BlockValueError
from wengert.fold.block import A, AnyBlock, B, Block, C, Several, Short, X, Y, convert_to_block
from wengert.fold.calls import Calls
from wengert.fold.convert import OBJECT, VOID, zeros_of_type
from wengert.fold.data import InputTransform
from wengert.fold.inference import Frames, Solver, Steps, Use, resolved, sequence_of
from wengert.fold.items import elements
from wengert.fold.joining import feed
from wengert.fold.kinds import Code, Composite, Written
from wengert.fold.types import ResultType, SequenceType, TensorType, Value
from wengert.graph.operand import shown

T = TypeVar("T")
MOST_TURNS: Final = 10_000  # as deep as a recursion may be that waits for computed values
# Any: keys
Cases: TypeAlias = Mapping[Any, Block[X, C]] | list[tuple[Any, Block[X, C]]] | tuple[Block[X, C], ...]


class OneOf(Written[A, B]):
    """The case under the key that `key_fn` finds in the data; with `pre_block`, the case reads what that gives.

    Cases are a dict, a list of pairs, or a tuple, whose keys are its places and -1 the last one.
    Raises BlockValueError without cases, BlockError where outputs of cases differ, BlockKeyError, when built, for
    a key that no case has.
    >>> from wengert import fold as td
    >>> sign = td.OneOf(lambda x: x > 0, {True: td.Scalar(), False: td.FromTensor(0.0)})
    >>> sign.eval(3).item(), sign.eval(-3).item()
    (3.0, 0.0)

    Source: TensorFlow Fold, `td.OneOf`.
    """

    @overload
    def __init__(
        self: OneOf[X, C],
        key_fn: Callable[[X], Hashable] | Block[X, Any],
        case_blocks: Cases[X, C],
        *,
        name: str | None = None,
    ) -> None: ...
    @overload  # Any: cases of several classes, for which a checker finds one type only where it is free to
    def __init__(
        self: OneOf[X, C],
        key_fn: Callable[[Any], Hashable] | Block[Any, Any],
        case_blocks: Cases[X, C],
        *,
        name: str | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: OneOf[X, C],
        key_fn: Callable[[X], Hashable] | Block[X, Any],
        case_blocks: Cases[Y, C],
        pre_block: Block[X, Y],
        name: str | None = None,
    ) -> None: ...
    def __init__(
        self, key_fn: Any, case_blocks: Any, pre_block: AnyBlock | None = None, name: str | None = None
    ) -> None:  # Any: typed by the overloads
        super().__init__(name, key_fn=key_fn, case_blocks=case_blocks)
        if not callable(key_fn):
            raise self.error("the key is found by a function of data, or by a block")
        self._key = key_fn if isinstance(key_fn, Block) else InputTransform(key_fn)
        self._cases, self._places = listed_cases(self, case_blocks)
        self._pre = None if pre_block is None else convert_to_block(pre_block)
        self.settled()

    def same_input(self) -> Iterable[AnyBlock]:
        return [self._key] if self._pre is None else [self._key, self._pre]

    def constrain(self, solver: Solver, use: Use) -> None:
        feed(solver, use, self._key, use.input, "its input")
        solver.equal(use, "a key", OBJECT, f"the output of {self._key!r}", use.parts[0].output)
        source = use.input
        if self._pre is not None:
            feed(solver, use, self._pre, use.input, "its input")
            source = use.parts[1].output
        for block in self._cases:
            feed(solver, use, block, source, "what the cases read")
            solver.equal(
                use, "the output of the cases", use.output, f"the output of {block!r}", use.parts[-1].output
            )

    def write(self, use: Use, code: Code, x: str) -> str:
        keyed, *parts = use.parts
        key = code.ask(keyed, x)
        if self._pre is not None:
            x = code.ask(parts.pop(0), x)
        places, look = code.name(self._places), partial(case_of, self, self._places)
        place = code.tried(f"{places}[{key}]", "(KeyError, TypeError)", look, key)
        return code.chosen(place, [partial(code.ask, part, x) for part in parts])


class Optional(Written["A | None", B]):
    """A block for data that may be None: None goes to `none_case`, which reads nothing, or becomes zeros.

    Raises BlockError where the two give different types.
    >>> from wengert import fold as td
    >>> td.Optional(td.Vector(2)).eval(None).tolist(), td.Optional(td.Scalar(), 4.0).eval(None).item()
    ([0.0, 0.0], 4.0)

    Source: TensorFlow Fold, `td.Optional`.
    """

    def __init__(
        self: Optional[X, C],
        some_case: Block[X, C] | Short,
        none_case: Block[None, C] | Short | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name, some_case=some_case)
        self._some = convert_to_block(some_case)
        self._none = None if none_case is None else convert_to_block(none_case)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "its input", use.input, "data that may be None", OBJECT)
        feed(solver, use, self._some, use.input, "its input")
        solver.equal(use, "its output", use.output, f"the output of {self._some!r}", use.parts[0].output)
        if self._none is not None:
            none = solver.part(use, self._none)
            solver.equal(use, "what None gives", VOID, f"the input of {self._none!r}", none.input)
            solver.equal(use, "its output", use.output, f"the output of {self._none!r}", none.output)

    def write(self, use: Use, code: Code, x: str) -> str:
        some, *none = use.parts

        def without() -> str:
            zeros = partial(zeros_of_type, use.output, self.fault)
            return code.ask(none[0], "None") if none else f"{code.name(zeros)}()"

        return code.chosen(f"({x} is None)", [partial(code.ask, some, x), without])


def listed_cases(block: AnyBlock, cases: Any) -> tuple[list[AnyBlock], dict[Any, int]]:  # Any: of every type
    """The blocks of a dict, of a list of pairs or of a tuple, and the place of each key among them."""
    listed = isinstance(cases, tuple)
    try:
        pairs = list(enumerate(cases)) if listed else list(dict(cases).items())
    except (TypeError, ValueError):
        raise block.error(
            f"cases are a dict, a list of pairs of key and block, or a tuple; got {shown(cases)}"
        ) from None
    if not pairs:
        raise block.error("there are no cases", BlockValueError)
    places = {key: i for i, (key, _) in enumerate(pairs)}
    if listed:
        places[-1] = len(pairs) - 1
    return [convert_to_block(case) for _, case in pairs], places


def case_of(block: AnyBlock, cases: Mapping[Any, T], key: Any) -> T:  # Any: a key of every type
    """The case under a key."""
    try:
        found = cases.get(key)
    except TypeError:  # it has no hash, so no case has it
        found = None
    if found is None:
        listed = ", ".join(shown(k) for k in list(cases)[:8])
        raise block.error(f"there is no case {shown(key)}; the cases are {listed}", BlockKeyError) from None
    return found


def computed(solver: Solver, use: Use, part: Use, what: str, highest: int = 0) -> None:
    """A part gives a number, which is computed; or, with `highest` 1, maybe a vector of them."""

    def check(of: ResultType) -> None:
        if not isinstance(of, TensorType) or of.ndim > highest or not of.size:
            vector = " or a vector" * highest
            raise use.block.error(f"{what} is {resolved(of)}; it is a computed number, a scalar{vector}")

    solver.when_begun(part.output, check)


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
    `limit` turns are not enough, or the number is NaN, which is greater than nothing.
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
        limit: int = MOST_TURNS,
        name: str | None = None,
    ) -> None:
        super().__init__(name, body=body, until=until, limit=limit)
        if not is_integer(limit) or int(limit) < 1:
            raise self.error(f"a limit is at least one turn, not {shown(limit)}", BlockValueError)
        self._body, self._until, self._limit = convert_to_block(body), convert_to_block(until), limit
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        body, until = solver.part(use, self._body), solver.part(use, self._until)
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
                    raise self.error(
                        f"it was not done after {limit:,} turns, its limit; if it has an end, limit= allows more",
                        BlockStateError,
                    )
                x = yield body, x
                layer = yield until, x
                number = yield None, layer
                turns += 1
                if number > 0:
                    return x
                if number != number:
                    raise self.error(
                        f"the number that ends it is NaN after {turns:,} turns, and NaN is never greater than 0",
                        BlockStateError,
                    )

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
        keep = solver.part(use, self._keep)
        sequence_of(solver, use, "its input", use.input, keep.input)
        computed(solver, use, keep, f"the output of {self._keep!r}")

        def collect(of: ResultType) -> None:
            made: ResultType = OBJECT if of == OBJECT else SequenceType(of)
            solver.equal(use, "its output", use.output, "what is kept", made)

        solver.when_begun(keep.input, collect)

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
