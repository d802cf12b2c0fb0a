"""From what blocks have made to data, and to layers where only the run knows what they make.

Knows: structures of layers, runs that answer for all of them at once, and blocks that wait within a run.
Refuses to know: any single block, and what a layer computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import is_, itemgetter
from typing import Any, cast

from wengert.arrays.stated import stated_array
from wengert.control import Do, Executor, UnitContinuation, gather
from wengert.delta import zero
from wengert.differentiable import Tape
from wengert.errors import BlockError
from wengert.fold.calls import Depths, leaves
from wengert.fold.machine import Example, Kept, asked, building, built
from wengert.fold.plan import Plan, plan
from wengert.fold.solver import Use
from wengert.fold.structures import Endless, assembler
from wengert.fold.types import ResultType, TensorType, Value
from wengert.graph.kinds import Column, Kind, Role, kind
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operand import external, tape_do
from wengert.graph.template import PART, Parts
from wengert.run.ask import predict


def made(plan: Plan, x: Value, example: Example) -> Value:
    """The layers for an example; of a block that waits, layers whose run builds it."""
    if plan.waits is None:
        with building(example):
            return built(plan.root, x)
    of = plan.root.output
    tensors = list(of.terminal_types())
    if not _fixed(of) or not tensors:
        block = plan.root.block
        raise BlockError(
            block.fault(
                f"its output is {of}, and {plan.waits!r} in it waits for computed values: what is built before "
                f"the run are tensors of floating numbers, and tuples of them; block.eval(x) gives all data"
            )
        )
    kinds = [_kind(t) for t in tensors if isinstance(t, TensorType)]
    source: Do[Any] = Do.coroutine(partial(waited, plan.root, x, example))  # Any: a structure of layers
    if len(kinds) == 1:
        return assembler(of)(iter([external(source.flat_map(partial(_tape, of)), kinds[0])]))
    whole = external(source.flat_map(partial(_tapes, of)), kind(Column.OTHER, None, tuple, "cpu", Role.LAYER))
    return assembler(of)(iter(_projections(whole, kinds)))


async def waited(root: Use, x: Value, example: Example) -> Value:
    """The layers for an example, built within a run, which computes what the blocks wait for."""
    steps, data, own = asked(root, x), None, replace(example)  # each run draws the same seeds
    while True:
        try:
            with building(own):
                layers = steps.send(data)
        except StopIteration as done:
            return done.value
        data = await data_of(layers)


async def data_of(x: Value) -> Value:
    """The same structure with data in place of layers, in the present run."""
    layers = _layers(x)
    values = await gather(*layers) if len(layers) > 1 else [await layer for layer in layers]
    return _replaced(x, dict(zip(map(id, layers), values, strict=True)))


def depth_of(of: Plan, x: Value, executor: Executor | None) -> int:
    """How many cells lie on the longest path to a layer or a metric, built in a run if a block waits for data."""
    depths, kept = Depths(), Kept()
    counted = plan(of.root.block, of.root.input, depths)
    if counted.waits is None:
        result = made(counted, x, Example(kept))
    else:
        result = Do.coroutine(partial(waited, counted.root, x, Example(kept))).run(executor)
    return depths.of((result, _tensors(kept)))


def evaluated(plan: Plan, x: Value, executor: Executor | None, kept: Kept | None) -> Value:
    """The data of an example and of its metrics, all predicted in one run."""
    if plan.waits is not None:
        return Do.coroutine(partial(_evaluated, plan.root, x, kept)).run(executor)
    result = made(plan, x, Example(kept))
    both = (result, _tensors(kept))
    layers = _layers(both)
    data = cast(Any, predict(cast(Any, tuple(layers)))).run(executor)  # Any: of every type
    return _replaced(both, dict(zip(map(id, layers), data, strict=True)))


async def _evaluated(root: Use, x: Value, kept: Kept | None) -> Value:
    result = await waited(root, x, Example(kept))
    return await data_of((result, _tensors(kept)))


def _tensors(kept: Kept | None) -> list[list[Value]]:
    return [[tensor for tensor, _ in values] for values in (kept or {}).values()]


def _layers(x: Value) -> list[Any]:  # Any: layers of every type
    return list({id(leaf): leaf for leaf in leaves(x) if isinstance(leaf, Expression)}.values())


def _fixed(of: ResultType) -> bool:
    """Whether all in a type are floating tensors, in tuples; recursive over the type."""
    if isinstance(of, TensorType):
        return of.floating
    return of.size is not None and all(map(_fixed, of.parts))


def _kind(of: TensorType) -> Kind:
    return kind(Column.ARRAY, of.shape, stated_array(0, of.dtype).dtype, "cpu", Role.LAYER)


def _projections(whole: Node, kinds: list[Kind]) -> list[Node]:
    """A node for each part of one whose data are a tuple."""
    found = []
    for index, of in enumerate(kinds):
        signature = PART.signature((whole.kind,), (("index", index), ("of", of)))
        found.append(new_node(signature.cls, of, signature, (whole,), whole.code, whole.offset))
    return found


def _tape(of: ResultType, x: Value) -> Do[Tape[Any, Any]]:
    return tape_do(of.flatten(x)[0])


def _tapes(of: ResultType, x: Value) -> Do[Tape[Any, Any]]:
    return gather(*map(tape_do, of.flatten(x))).map(_joined)


def _joined(tapes: tuple[Tape[Any, Any], ...]) -> Tape[Any, Any]:
    """One tape of all: its data are a tuple, its delta is what has arrived at some parts of that."""

    def backward(delta: Do[Parts]) -> UnitContinuation[None]:
        def all_parts(parts: Parts) -> list[Any]:  # Any: deltas of every type
            return [parts.arrived.get(i, zero(tape.data)) for i, tape in enumerate(tapes)]

        shared = delta.map(all_parts).shared()
        sent = UnitContinuation.now(None)
        for index, tape in enumerate(tapes):
            send: Callable[[None], UnitContinuation[None]] = partial(
                _send, tape, shared.map(itemgetter(index))
            )
            sent = sent.flat_map(send)
        return sent

    return Tape(tuple(tape.data for tape in tapes), backward)


def _send(tape: Tape[Any, Any], delta: Do[Any], before: None) -> UnitContinuation[None]:
    return tape.backward(delta)


def _replaced(x: Value, data: dict[int, Value]) -> Value:
    """Data in place of layers; what has no layers in it stays what it is, as a person's own data do."""
    done: list[Value] = []
    todo: list[Value] = [x]
    while todo:
        item = todo.pop()
        if isinstance(item, _Close):
            parts = [done.pop() for _ in item.before][::-1]
            same = all(map(is_, parts, item.before))
            done.append(item.whole if same else item.make(parts))
        elif isinstance(item, (tuple, list)):
            todo.append(_Close(item, item, tuple if isinstance(item, tuple) else list))
            todo.extend(reversed(item))
        elif isinstance(item, Endless):
            inside = next(item)
            todo.extend((_Close(item, (inside,), lambda parts: Endless(parts[0])), inside))
        else:
            done.append(data.get(id(item), item))
    return done[0]


@dataclass(slots=True, frozen=True)
class _Close:
    """After its parts: put them together."""

    whole: Value
    before: Sequence[Value]
    make: Callable[[list[Value]], Value]
