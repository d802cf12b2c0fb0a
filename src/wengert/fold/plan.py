"""Plans: a block with all its types found and all its functions made, and how it is built and run for one example.

Knows: which uses recur or wait for the data of layers; that functions call each other while Python's stack has room,
and a loop with a stack of its own asks them from there on, as no data may be too deep; structures of layers, and a run
that answers for all of them at once.
Refuses to know: any single block, and what a layer computes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import is_
from typing import Any, Final, TypeAlias, cast

from wengert.arrays.stated import stated_array
from wengert.control import Do, Executor, gather
from wengert.differentiable import Tape
from wengert.errors import BlockError, BlockStateError, BlockUseError, BlockValueError, WengertError
from wengert.fold.calls import PLAIN, Calls, Depths, Direct, leaves
from wengert.fold.convert import OBJECT, tensor_type, type_of
from wengert.fold.inference import Inferred, Solver, Steps, Use, known
from wengert.fold.types import (
    Endless,
    ResultType,
    SequenceType,
    StackedType,
    TensorType,
    TupleType,
    Value,
    assembler,
    error_here,
)
from wengert.graph.kinds import Column, Kind, Role, kind
from wengert.graph.node import Expression
from wengert.graph.operand import external, shown, tape_do
from wengert.graph.template import joined, projections
from wengert.run.ask import predict

Seeds: TypeAlias = int | tuple[int, ...]
Kept: TypeAlias = dict[str, list[tuple[Value, object]]]  # by name: tensors and labels

# calls, of Python's 1000: it has memory for about 60 of ours in one piece, and is as slow as the loop at its end
ROOM: Final = 50
_TALLEST: Final = 50  # functions that call each other; above that, and in recursion, they count calls
_ENDLESS: Final = 2_000_000  # blocks that ask each other: more need more memory than most machines have
_CYCLIC: Final = 4_000  # so deep data are asked whether they contain themselves
_AWAITED: Final = (
    10_000  # the same where computed values are awaited: data end by themselves, and these do not
)
_DEEPEST: Final = 16  # so deep is the code of one function: of Python's loops 20 may stand in each other


@contextmanager
def in_example(place: tuple[int, object] | None) -> Generator[None, None, None]:
    """An error says in which example of a batch it is."""
    try:
        yield
    except Exception as error:
        say_example(error, place)
        raise


def say_example(error: Exception, place: tuple[int, object] | None) -> None:
    """Note in which example of a batch an error is."""
    if place is not None:
        error.add_note(f"in example {place[0]} of the batch, {shown(place[1])}")


def seeds(seed: Seeds | None, *place: int) -> tuple[int, ...] | None:
    """The seed of a part of what has a seed."""
    if seed is None:
        return None
    return (*(seed if isinstance(seed, tuple) else (seed,)), *place)


@dataclass(slots=True)
class Example:
    """One example besides its data: where its metrics go, and a seed if it is for training."""

    kept: Kept | None = None
    seed: tuple[int, ...] | None = None
    draws: int = 0
    place: tuple[int, object] | None = None  # its number in a batch, and its data, for errors of its run


_current: Final[ContextVar[Example]] = ContextVar("the example that is built")


def keep(name: str, tensor: Value, label: object) -> None:
    """Keep a metric of the example that is built, if somebody asks for metrics."""
    kept = _current.get().kept
    if kept is not None:
        kept.setdefault(name, []).append((tensor, label))


def drawn_seed() -> tuple[int, ...] | None:
    """A seed for one more use of random numbers in the example that is built, None where it is not for training."""
    example = _current.get(None)
    if example is None:
        return None
    example.draws += 1  # also where nothing is drawn: another step of the example would
    if example.seed is None:
        return None
    return (*example.seed, example.draws)


@contextmanager
def building(example: Example) -> Generator[None, None, None]:
    """Build nothing but this example in the context: metrics go there, and seeds come from there."""
    token = _current.set(example)
    try:
        yield
    finally:
        _current.reset(token)


def built(root: Use, x: Value) -> Value:
    """The value of a use for an input, where nothing waits for data."""
    try:
        return root.direct(x)
    except Exception as error:
        explain(error, root)
        raise


def by_stack(root: Use, x: Value) -> Value:
    """The value of a use for an input, however deep the data are."""
    try:
        next(asked(root, x))
    except StopIteration as done:
        return done.value
    raise AssertionError("a block that waits for data is built in a run")


def asked(root: Use, x: Value) -> Generator[Value, Value, Value]:
    """The loop: gives layers whose data it waits for, is sent those, returns the value."""
    stack: list[tuple[Use, Steps]] = []
    use, frame, result = root, root.frames(x), None
    path = _Path(root.limit)
    while True:
        try:
            part, given = frame.send(result)
        except StopIteration as done:
            if not stack:
                return done.value
            result = done.value
            use, frame = stack.pop()
            path.left(len(stack))
            continue
        except Exception as error:
            explain(error, use)
            raise
        if part is None:
            path.awaits(use, len(stack))
            result = yield given
        elif part.plain:
            try:
                result = part.direct(given)
            except Exception as error:
                explain(error, part)
                raise
        else:
            stack.append((use, frame))
            path.asks(part, given, len(stack))
            use, frame, result = part, part.frames(given), None


class _Path:
    """The path of blocks that ask each other, from the root on: one without an end is an error.

    A block that is asked for the very object that it is at work on will ask for it again. One place of the path is
    compared, chosen anew at each power of two: as deep as the cycle is long, it is met (R. P. Brent, 1980). The first
    is deep enough that functions which choose by chance have ended.
    """

    __slots__ = ("_depth", "_limit", "_mark")

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._mark: tuple[Use, Value] | None = None
        self._depth = 0

    def asks(self, part: Use, given: Value, depth: int) -> None:
        """A part is asked, so deep."""
        mark = self._mark
        if mark is not None and mark[1] is given and mark[0] is part:
            raise part.block.error(
                f"it is asked for {shown(given)} while it is at work on that: the data contain themselves",
                BlockValueError,
            )
        if depth > (self._limit or _ENDLESS):
            raise self._endless(part, depth)
        if not depth & (depth - 1) and depth > max(self._depth, _CYCLIC):
            self._mark, self._depth = (part, given), depth

    def awaits(self, use: Use, depth: int) -> None:
        """A block waits for computed values, so deep."""
        if depth > (self._limit or _AWAITED):
            raise self._endless(use, depth)

    def left(self, depth: int) -> None:
        """The path is only so deep again."""
        if depth < self._depth:
            self._mark, self._depth = None, 0

    def _endless(self, use: Use, depth: int) -> WengertError:
        return use.block.error(
            f"blocks have asked each other {depth - 1:,} deep, and nothing has ended that; if it has an end, "
            f"td.ForwardDeclaration(limit=...) allows more",
            BlockStateError,
        )


def flat(use: Use) -> Direct:
    """The function of a block that asks others as it goes, none of which waits for data."""

    def direct(x: Value, room: int = ROOM) -> Value:
        if room < 0:
            return by_stack(use, x)
        frame, result = use.frames(x), None
        while True:
            try:
                part, given = frame.send(result)
            except StopIteration as done:
                return done.value
            assert part is not None, "only blocks that wait ask for data"
            try:
                result = part.direct(given) if part.plain else part.direct(given, room - 1)
            except Exception as error:
                explain(error, part)
                raise

    return direct


def explain(error: Exception, use: Use) -> None:
    """Say which block asked for what failed, unless the error says so itself; the innermost block is named."""
    said = any("the block was made at" in note for note in getattr(error, "__notes__", ()))
    if not said and not isinstance(error, BlockError):
        where = "" if isinstance(error, WengertError) else " from the data"
        error.add_note(f"while {use.block!r} was built{where}; the block was made at {use.block.site}")


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """A block with all its types known, compiled; it `waits` for data of layers, or is built at once."""

    root: Use
    metrics: dict[str, ResultType]
    waits: Inferred | None  # the first block in it that waits


def planned(
    block: Inferred, plans: dict[ResultType | None, BlockPlan], x: object, of: ResultType | None = None
) -> BlockPlan:
    """The plan for this kind of input, of the type that its data say if it is not given, made the first time."""
    key = None if block.known_input is not None else of or type_of(x)
    found = plans.get(key)
    if found is None:
        found = plans[key] = plan(block, key)
    if found.root.input != OBJECT:
        _check_given(found.root, x)
    return found


def plan(block: Inferred, given: ResultType | None, calls: Calls = PLAIN) -> BlockPlan:
    """A use of a block in which all types are known.

    `given` is the type of what enters, for where the blocks themselves leave that open.
    """
    solver = Solver(whole=True)
    root = solver.use(block)
    solver.solve()
    if given is not None and known(root.input) is None:
        solver.equal(root, "its input", root.input, "the data", given)
    solver.solve(defaults=True)
    for use in solver.uses:
        for side, of in (("input", use.input), ("output", use.output)):
            if known(of) is None:
                raise BlockError(
                    f"{use.block!r}: the type of its {side} is not known; set_{side}_type says it"
                    f"\n  at {use.block.site}"
                )
        use.input, use.output = cast(ResultType, known(use.input)), cast(ResultType, known(use.output))
        use.facts = {name: cast(ResultType, known(of)) for name, of in use.facts.items()}
    for use in solver.uses:
        use.parts = list(map(_meant, use.parts))
    root = _meant(root)
    root.own = True
    _compile([use for use in solver.uses if use.target is None], calls)
    waits = next((use.block for use in solver.uses if use.block.waits), None)
    for use in (root, *solver.uses):
        use.limit = solver.limit
    return BlockPlan(root, solver.metrics, waits)


def _meant(use: Use) -> Use:
    while use.target is not None:
        use = use.target
        use.own = True  # for all that refer to it
    return use


def _compile(uses: list[Use], calls: Calls) -> None:
    """Give every use its function, parts first; where there is recursion it counts how deep it is."""
    _cut(uses)
    if calls.joins:
        _find_functions(uses)
    for use in _ordered(uses):
        if use.own or not use.block.inlined:
            use.block.compile(use, calls)


def _find_functions(uses: list[Use]) -> None:
    """Say which uses are functions that a chain may call in one cell: those that stand in no other chain.

    What others use as well stays a cell of its own, whose calls run together wherever they are.
    """
    for use in uses:
        use.function = None if use.own else use.block.function_of(use)
    times = Counter(use.function for use in uses)
    rows = [
        (several := list(parts), tuple([part.function for part in several]))
        for use in uses
        if use.block.chains
        for _, parts in groupby(use.parts, lambda part: part.function is not None)
    ]
    together = Counter(functions for _, functions in rows)
    for several, functions in rows:
        if any(times[f] > together[functions] * functions.count(f) for f in functions):
            for part in several:
                part.function = None


def _cut(uses: list[Use]) -> None:
    """Say which uses are functions of their own: those that are asked while a block goes on, and deep down."""
    inside: dict[Use, int] = {}  # how deep in a function; uses stand before their parts
    for use in uses:
        inside.setdefault(use, 0)
        deeper = inside[use] + len(use.parts).bit_length()  # a choice by halves
        for part in use.parts:
            part.own |= not use.block.inlined or deeper > _DEEPEST
            inside[part] = 0 if part.own else deeper


def _ordered(uses: list[Use]) -> list[Use]:
    """Parts before those that ask them, where there is no recursion; these are said to be plain."""
    missing = {use: len(use.parts) for use in uses}
    readers: dict[Use, list[Use]] = {use: [] for use in uses}
    for use in uses:
        for part in use.parts:
            readers[part].append(use)
    height = dict.fromkeys(uses, 0)
    ready = [use for use in uses if not use.parts]
    for use in ready:  # grows
        height[use] = 1 + max((height[part] for part in use.parts), default=0)
        use.plain = not use.block.waits and height[use] <= _TALLEST
        for reader in readers[use] if use.plain else ():
            missing[reader] -= 1
            if not missing[reader]:
                ready.append(reader)
    met = set(ready)
    return ready + [use for use in uses if use not in met]


def _check_given(root: Use, x: object) -> None:
    """Refuse an input without the tensors that blocks begin with; nobody else would look."""
    todo: list[tuple[ResultType, object]] = [(root.input, x)]
    while todo:
        of, value = todo.pop()
        if of == OBJECT:
            continue
        if isinstance(of, TensorType):
            fits = tensor_type(value) == of
        elif isinstance(of, TupleType):
            fits = isinstance(value, tuple) and len(value) == len(of)
        elif isinstance(of, SequenceType):
            fits = isinstance(value, (Endless, list))
        else:
            fits = not isinstance(of, StackedType) or of.holds(tensor_type(value))
        if not fits:
            raise error_here(f"{root.block!r}: its input is {root.input}, and {shown(value)} is no {of}")
        todo.extend(of.pieces(cast(Any, value)))  # Any: of that type, as was checked


def made(plan: BlockPlan, x: Value, example: Example) -> Value:
    """The layers for an example; of a block that waits, layers whose run builds it."""
    if plan.waits is None:
        token = _current.set(example)  # as `building`, which takes as long as ten nodes
        try:
            return built(plan.root, x)
        finally:
            _current.reset(token)
    of = plan.root.output
    tensors = list(of.terminal_types())
    if not _fixed(of) or not tensors:
        block = plan.root.block
        raise block.error(
            f"its output is {of}, and {plan.waits!r} in it waits for computed values: what is built before "
            f"the run are tensors of floating numbers, and tuples of them; block.eval(x) gives all data"
        )
    kinds = [_kind(t) for t in tensors if isinstance(t, TensorType)]
    source: Do[Any] = Do.coroutine(partial(waited, plan.root, x, example))  # Any: a structure of layers
    if len(kinds) == 1:
        return assembler(of)(iter([external(source.flat_map(partial(_tape, of)), kinds[0])]))
    whole = external(source.flat_map(partial(_tapes, of)), kind(Column.OTHER, None, tuple, "cpu", Role.LAYER))
    return assembler(of)(iter(projections(whole, kinds)))


def applied(
    block: Inferred,
    plans: dict[ResultType | None, BlockPlan],
    given: tuple[Value, ...],
    types: list[TensorType],
) -> Value:
    """The layers that a block makes of layers, if it needs no seed of an example, keeps no metrics and never awaits."""
    x, of = (given[0], types[0]) if len(given) == 1 else (given, TupleType(types))
    found, own = planned(block, plans, x, of), Example()
    result = None if found.waits or found.metrics or found.root.input == OBJECT else made(found, x, own)
    if result is None or own.draws:
        raise block.error(
            "it reads data, keeps metrics, waits for computed values, or drops numbers by the seed of an "
            "example, and so is no function of layers: use it as a block",
            BlockUseError,
        )
    return result


async def waited(root: Use, x: Value, example: Example) -> Value:
    """The layers for an example, built within a run, which computes what the blocks wait for."""
    steps, data, own = asked(root, x), None, replace(example)  # each run draws the same seeds
    with in_example(example.place):
        while True:
            try:
                with building(own):
                    layers = steps.send(data)
            except StopIteration as done:
                return done.value
            data = await data_of(layers)


async def data_of(x: Value) -> Value:
    """Replace the layers in a structure by their data, in the present run."""
    layers = _layers(x)
    values = await gather(*layers) if len(layers) > 1 else [await layer for layer in layers]
    return _replaced(x, dict(zip(map(id, layers), values, strict=True)))


def depth_of(of: BlockPlan, x: Value, executor: Executor | None) -> int:
    """How many cells lie on the longest path to a layer or a metric, built in a run if a block waits for data."""
    depths, kept = Depths(), Kept()
    counted = plan(of.root.block, of.root.input, depths)
    if counted.waits is None:
        result = made(counted, x, Example(kept))
    else:
        result = Do.coroutine(partial(waited, counted.root, x, Example(kept))).run(executor)
    return depths.of((result, _tensors(kept)))


def evaluated(plan: BlockPlan, x: Value, executor: Executor | None, kept: Kept | None) -> Value:
    """The data of an example and of its metrics, all predicted in one run."""
    if plan.waits is not None:
        return Do.coroutine(partial(_evaluated, plan.root, x, kept)).run(executor)
    return predicted((made(plan, x, Example(kept)), _tensors(kept)), executor)


def predicted(x: Value, executor: Executor | None) -> Value:
    """Replace the layers in a structure by their data, in one run."""
    layers = _layers(x)
    data = cast(Any, predict(cast(Any, tuple(layers)))).run(executor)  # Any: of every type
    return _replaced(x, dict(zip(map(id, layers), data, strict=True)))


async def _evaluated(root: Use, x: Value, kept: Kept | None) -> Value:
    result = await waited(root, x, Example(kept))
    return await data_of((result, _tensors(kept)))


def _tensors(kept: Kept | None) -> list[list[Value]]:
    return [[tensor for tensor, _ in values] for values in (kept or {}).values()]


def _layers(x: Value) -> list[Any]:  # Any: layers of every type
    return list({id(leaf): leaf for leaf in leaves(x) if isinstance(leaf, Expression)}.values())


def _fixed(of: ResultType) -> bool:
    """True if all in a type are floating tensors, in tuples; recursive over the type."""
    if isinstance(of, TensorType):
        return of.floating
    return of.size is not None and all(map(_fixed, of.parts))


def _kind(of: TensorType) -> Kind:
    return kind(Column.ARRAY, of.shape, stated_array(0, of.dtype).dtype, "cpu", Role.LAYER)


def _tape(of: ResultType, x: Value) -> Do[Tape[Any, Any]]:
    return tape_do(of.flatten(x)[0])


def _tapes(of: ResultType, x: Value) -> Do[Tape[Any, Any]]:
    return gather(*map(tape_do, of.flatten(x))).map(joined)


def _replaced(x: Value, data: dict[int, Value]) -> Value:
    """Data in place of layers; what has no layers in it stays what it is, as a person's own data do."""
    done: list[Value] = []
    todo: list[Value] = [x]
    while todo:
        item = todo.pop()
        if isinstance(item, _Rebuild):
            parts = [done.pop() for _ in item.before][::-1]
            same = all(map(is_, parts, item.before))
            done.append(item.whole if same else item.make(parts))
        elif isinstance(item, (tuple, list)):
            todo.append(_Rebuild(item, item, tuple if isinstance(item, tuple) else list))
            todo.extend(reversed(item))
        elif isinstance(item, Endless):
            inside = next(item)
            todo.extend((_Rebuild(item, (inside,), lambda parts: Endless(parts[0])), inside))
        else:
            done.append(data.get(id(item), item))
    return done[0]


@dataclass(slots=True, frozen=True)
class _Rebuild:
    """After its parts: put them together."""

    whole: Value
    before: Sequence[Value]
    make: Callable[[list[Value]], Value]
