"""Sequences: what `RNN`, `LSTM` and `GRU` give of all steps, and what `scan` gives of the cell that it applies.

Knows: that the first axis is time, that each output gets it back, and the words of the run time.
Refuses to know: how a cell computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from mypy.plugin import Plugin
from mypy.types import CallableType, Instance, TupleType, Type, UnionType, get_proper_type

from wengert_mypy.calls import Call, Context
from wengert_mypy.checker import failed
from wengert_mypy.dimensions import Unknown, Writer, shape_of
from wengert_mypy.names import NN, SCAN, SHAPE
from wengert_mypy.networks import Answer, absent, last_axis, same_shape, shape_or, sizes_of, state_of
from wengert_mypy.results import of_shape, sharpened
from wengert_shapes.algebra import ONE
from wengert_shapes.rules import Misfit, Shape, Size, differ, size_text, text


def _shapes(call: Call) -> tuple[Shape, Shape | None]:
    """The shapes of all outputs and of the last state, None where it is not known how many cells there are."""
    inputs, hidden, depth, ways, *_ = sizes_of(call)
    shape = call.shape(0)
    leading = last_axis(shape, inputs)
    if not leading:
        raise Misfit(f"expected (time, ..., {size_text(inputs)}), got {text(shape)}")
    batch = leading[1:]
    if not absent(call.type("lengths")) and (lengths := call.array("lengths")) is not None:
        same_shape("lengths", lengths, batch)
    wide = None if hidden is None or ways is None else hidden * ways
    return (*leading, wide), _state(batch, hidden, depth, ways)


def _state(batch: Shape, hidden: Size, depth: Size, ways: Size) -> Shape | None:
    """The shape of a part of the state; None where it is not known how many cells there are."""
    if depth is None or ways is None:
        return None
    cells = depth * ways
    return (*batch, hidden) if cells == ONE else (cells, *batch, hidden)


def _lstm(call: Call) -> Shape:
    outputs, state = _shapes(call)
    if state is not None:
        h, c = state_of(call.type(1), state)
        same_shape("a state h", h, state)
        same_shape("a state c", c, state)
    return outputs


def _plain(call: Call) -> Shape:
    outputs, state = _shapes(call)
    if state is not None:
        same_shape("a state h", call.shape_or(1, state), state)
    return outputs


def _unrolled(plugin: Plugin, ctx: Context, name: str) -> Type:
    """All outputs, and the last state, which has no axis of time."""
    made = get_proper_type(sharpened(plugin, ctx, name, _lstm if name == "LSTM" else _plain))
    if isinstance(made, UnionType):
        return UnionType([_ended(plugin, ctx, item) for item in made.items])
    return _ended(plugin, ctx, made)


def _ended(plugin: Plugin, ctx: Context, made: Type) -> Type:
    pair = get_proper_type(made)
    if not isinstance(pair, TupleType):
        return pair
    outputs, state = pair.items
    try:
        batch = shape_of(outputs)[1:-1]
        _, hidden, depth, ways, *_ = sizes_of(Call(ctx))
    except Unknown:
        return pair
    shape = _state(batch, hidden, depth, ways)
    return pair.copy_modified(items=[outputs, of_shape(plugin, ctx, shape, state)])


def scanned(plugin: Plugin, ctx: Context) -> Type:
    """Of `scan`: the last state, and the outputs of the cell with the axis of time; a step has to fit the cell."""
    pair = get_proper_type(ctx.default_return_type)
    if len(ctx.arg_types) != 3 or not isinstance(pair, TupleType) or len(pair.items) != 2:
        return pair
    call = Call(ctx)
    cell = get_proper_type(call.type(0) or pair)
    if not isinstance(cell, CallableType) or len(cell.arg_types) != 2:
        return pair
    try:
        length, *step = call.shape(2) or [None]
    except Unknown:
        length, step = None, None
    if step is not None:
        _check_step(ctx, cell.arg_types[1], tuple(step))
    made = get_proper_type(cell.ret_type)
    if not isinstance(made, TupleType) or len(made.items) != 2:
        return pair
    outputs = _stacked(Writer(plugin, ctx.api.named_generic_type), length, made.items[1])
    return pair if outputs is None else pair.copy_modified(items=[pair.items[0], outputs])


def _check_step(ctx: Context, wanted: Type, step: Shape) -> None:
    takes = shape_or(wanted, step)
    if len(takes) != len(step) or any(map(differ, takes, step)):
        why = f"scan: the cell takes {text(takes)}, and a step along the first axis of xs is {text(step)}"
        failed(ctx.api, why, ctx.context, SHAPE)


def _stacked(writer: Writer, length: Size, output: Type) -> Type | None:
    """The type of an output with an axis more; None where a shape is not known."""
    t = get_proper_type(output)
    if isinstance(t, TupleType):
        items = [_stacked(writer, length, item) for item in t.items]
        return None if None in items else t.copy_modified(items=[x for x in items if x is not None])
    try:
        shape = shape_of(t)
    except Unknown:
        return None
    assert isinstance(t, Instance), "what has a shape is a class"
    return Instance(t.type, [writer.shape_type((length, *shape)), *t.args[1:]])


# what mypy asks about each: a method of a layer, or the function
SEQUENCES: Final[Mapping[str, Answer]] = {
    f"{NN}unrolled.GRU.__call__": partial(_unrolled, name="GRU"),
    f"{NN}unrolled.LSTM.__call__": partial(_unrolled, name="LSTM"),
    f"{NN}unrolled.RNN.__call__": partial(_unrolled, name="RNN"),
    SCAN: scanned,
}
