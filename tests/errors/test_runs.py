"""Failures inside a run: users' own functions, tapes, awaits, results that are no layers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

from tests.run.counting import failing
from wengert import ArrayLayer, Do, DoubleLayer, Tape, differentiable

from .golden import Boom, Unchecked, d, f, raising, said, w, wg

number: Unchecked = 3.0
layer_of: Unchecked = DoubleLayer
failing_with: Unchecked = Do.fail
layer: Unchecked = d * 2.0
kept: Unchecked = []
layer.forward.map(kept.append).run()
layer.forward.map(kept.append).nested().run()


class Own:
    """A user's differentiable class, whose forward is whatever it was made with."""

    def __init__(self, make: Callable[[], Unchecked]) -> None:
        self.make = make

    @property
    def forward(self) -> Do[Tape[float, float]]:
        made: Do[Tape[float, float]] = self.make()
        return made


class Yields:
    """Awaitable, but nothing that a run can wait for."""

    def __await__(self) -> Unchecked:
        return (yield 3)


@differentiable
async def awaits(make: Callable[[], Unchecked]) -> DoubleLayer:
    await make()
    made: DoubleLayer = d * 1.0
    return made


@differentiable
async def fails(x: DoubleLayer) -> DoubleLayer:
    await x
    raise Boom("of my own")


@differentiable
async def gives(result: Unchecked) -> DoubleLayer:
    made: DoubleLayer = result
    return made


@differentiable
async def gives_square(result: Unchecked) -> ArrayLayer[tuple[Literal[2], Literal[2]], np.float32]:
    made: ArrayLayer[tuple[Literal[2], Literal[2]], np.float32] = result
    return made


class Derived(DoubleLayer):
    """What a user may think of."""


def plain(x: Unchecked) -> Unchecked:
    return x


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "exception in map": (
        lambda: layer.forward.map(raising).run(),
        "Boom: of my own",
    ),
    "exception in flat_map": (
        lambda: layer.forward.flat_map(raising).run(),
        "Boom: of my own",
    ),
    "exception in the Do of a layer": (
        lambda: (layer_of(layer.forward.map(raising)) * d).train().run(),
        "Boom: of my own\n+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "exception in a differentiable function": (
        lambda: (fails(layer) * d).train().run(),
        "Boom: of my own\n+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "exception in a user's own forward": (
        lambda: (wg.lift(Own(raising)) * d).train().run(),
        "Boom: of my own\n+ in forward of Own, the Do behind DoubleLayer () float64, built at here",
    ),
    "exception in the rule of an operation": (
        lambda: wg.sum(failing()(w)).train().run(),
        "Boom: boom\n+ in failing((2, 3) float32) with weight 'w', built at here",
    ),
    "exception in the derivative of an operation": (
        lambda: wg.sum(failing(backward=True)(w)).train().run(),
        "Boom: boom\n+ in backward of failing_backward((2, 3) float32) with weight 'w', built at here",
    ),
    "exception in a user's own backward": (
        lambda: (wg.lift(Own(lambda: Do.now(Tape(1.0, raising)))) * d).train().run(),
        "Boom: of my own\n"
        "+ in backward of forward of Own, the Do behind DoubleLayer () float64, built at here",
    ),
    "flat_map to a value": (
        lambda: layer.forward.flat_map(lambda tape: number).run(),
        "NotAwaitableError: the function given to flat_map, <lambda>.<locals>.<lambda> "
        "(here), returned 3.0 (float), not a Do; await a layer, a Do or a gather of these; "
        "wrap other work in Do.delay(function)",
    ),
    "Do that gives no tape": (
        lambda: (layer_of(layer.forward.map(lambda tape: number)) * d).train().run(),
        "ArgumentError: the forward of <DoubleLayer forward () float64, built at here> gave "
        "3.0, not a Tape; write Do.now(Tape(data, backward)) or use `.forward` of a layer\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "forward that is no Do": (
        lambda: (wg.lift(Own(lambda: number)) * d).train().run(),
        "ArgumentError: the forward of Own gave 3.0, not a Do of a tape; write "
        "Do.now(Tape(data, backward)), or use `.forward` of a layer\n"
        "+ in forward of Own, the Do behind DoubleLayer () float64, built at here",
    ),
    "forward that gives no tape": (
        lambda: (wg.lift(Own(lambda: Do.now(number))) * d).train().run(),
        "ArgumentError: the forward of <DoubleLayer forward () float64, built at here> gave "
        "3.0, not a Tape; write Do.now(Tape(data, backward)) or use `.forward` of a layer\n"
        "+ in forward of Own, the Do behind DoubleLayer () float64, built at here",
    ),
    "layer made of a number": (
        lambda: layer_of(number),
        "ArgumentError: DoubleLayer takes a Do of a tape, such as `layer.forward.map(...)`; "
        "got 3.0\n"
        "  at here",
    ),
    "class of layers of one's own": (
        lambda: Derived(layer.forward),
        "ArgumentError: Derived cannot be a class of its own: the classes of layers are "
        "fixed, and operators give these; register a class that has a layer\n"
        "  at here",
    ),
    "tape of other data than stated": (
        lambda: (layer_of(Do.now(Tape("one", raising))) * d).train().run(),
        "DTypeError: stated is DoubleLayer () float64, the run gave 'one'\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "tape of an array for a double": (
        lambda: (layer_of(w.forward) * d).train().run(),
        "DTypeError: stated is DoubleLayer () float64, the run gave ArrayLayer (2, 3) float32\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "tape of a float for a double": (
        lambda: (layer_of(f.forward) * d).train().run(),
        "DTypeError: stated is DoubleLayer () float64, the run gave FloatLayer () float32\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "tape after its run": (
        lambda: kept[0].backward(Do.now(1.0)).run(),
        "TapeReleasedError: backward of <DoubleLayer multiply () float64, built at "
        "test_runs.py:N>: the run (or the nested() part of it) that made this tape has ended;"
        " call backward inside it, as in layer.forward.flat_map(lambda tape: ...)",
    ),
    "tape after its nested part": (
        lambda: kept[1].backward(Do.now(1.0)).run(),
        "TapeReleasedError: backward of <DoubleLayer multiply () float64, built at "
        "test_runs.py:N>: the run (or the nested() part of it) that made this tape has ended;"
        " call backward inside it, as in layer.forward.flat_map(lambda tape: ...)",
    ),
    "await of asyncio.sleep(0)": (
        lambda: awaits(lambda: asyncio.sleep(0)).train().run(),
        "NotAwaitableError: only an event loop can give what was awaited inside a run, and "
        "none drives it here; await a layer, a Do or a gather of these; wrap other work in "
        "Do.delay(function)\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "await of asyncio.sleep(1)": (
        lambda: awaits(lambda: asyncio.sleep(1)).train().run(),
        "NotAwaitableError: only an event loop can give what was awaited inside a run, and "
        "none drives it here; await a layer, a Do or a gather of these; wrap other work in "
        "Do.delay(function)\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "await of a tuple": (
        lambda: awaits(lambda: (d, d)).train().run(),
        "TypeError: object tuple can't be used in 'await' expression\n"
        "+ write await gather(a, b)\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "await of an int": (
        lambda: awaits(lambda: 3).train().run(),
        "TypeError: object int can't be used in 'await' expression\n"
        "+ await a layer, a Do or a gather of these; wrap other work in Do.delay(function)\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "await of something else's await": (
        lambda: awaits(Yields).train().run(),
        "NotAwaitableError: what was awaited is 3 (int), not a Do; await a layer, a Do or a "
        "gather of these; wrap other work in Do.delay(function)\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "number returned": (
        lambda: gives(number).train().run(),
        "ArgumentError: gives returned 3.0, which is no layer; return the expression itself "
        "and not what `await` gave, or `lift(value)` for a constant\n"
        "  gives is written at test_runs.py:N\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "nothing returned": (
        lambda: gives(None).train().run(),
        "ArgumentError: gives returned None, which is no layer; return the expression itself "
        "and not what `await` gave, or `lift(value)` for a constant\n"
        "  gives is written at test_runs.py:N\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "array returned for a double": (
        lambda: gives(w).train().run(),
        "DTypeError: gives: stated is DoubleLayer () float64, the run gave ArrayLayer (2, 3) "
        "float32\n"
        "  weight 'w' (2, 3) float32\n"
        "  gives is written at test_runs.py:N\n"
        "+ in forward, the Do behind DoubleLayer () float64, built at here",
    ),
    "other shape returned": (
        lambda: wg.sum(gives_square(w)).train().run(),
        "ShapeError: gives_square: stated is ArrayLayer (2, 2) float32, the run gave "
        "ArrayLayer (2, 3) float32\n"
        "  weight 'w' (2, 3) float32\n"
        "  gives_square is written at test_runs.py:N\n"
        "+ in forward, the Do behind ArrayLayer (2, 2) float32, built at here",
    ),
    "other dtype returned": (
        lambda: wg.sum(gives_square(wg.literal(np.ones((2, 2))))).train().run(),
        "DTypeError: gives_square: stated is ArrayLayer (2, 2) float32, the run gave "
        "ArrayLayer (2, 2) float64\n"
        "  layer literal (2, 2) float64, built at here\n"
        "  gives_square is written at test_runs.py:N\n"
        "+ in forward, the Do behind ArrayLayer (2, 2) float32, built at here",
    ),
    "differentiable that is not async": (
        lambda: wg.differentiable(plain),
        "ArgumentError: @differentiable takes an `async def`, which plain is not; "
        "a plain function of expressions needs no decorator\n  at here",
    ),
    "Do.fail with a text": (
        lambda: failing_with("text").run(),
        "TypeError: Do.fail takes an exception, not 'text' (str)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    action, text = CASES[name]
    assert said(action) == text
