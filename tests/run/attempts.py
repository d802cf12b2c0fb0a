"""Attempts to spoil a step, by whoever holds a buffer that it reads.

One network, `loss = sum(x * w * w)` with x = (1, 2, 3) and w = (1, 1, 1). Whatever an attempt does, the step has to
be that of the values that forward saw: 2 x w.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

import wengert as wg
from wengert import ArrayExpression, ArrayLayer, ArrayWeight, Do, Tape, UnitContinuation
from wengert.plugins import SGD

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Layer = ArrayLayer[tuple[int, ...], np.float64]
Scalar = ArrayLayer[tuple[()], np.float64]
Data = wg.Array[tuple[int, ...], np.float64, wg.Cpu]
Both = Tape[Data, Data]
X = (1.0, 2.0, 3.0)


class Scene:
    """The network's parts, and the question that trains it; an attempt may replace any of them."""

    def __init__(self) -> None:
        self.x: Array = np.array(X)
        self.start: Array = np.ones(3)
        self.w: ArrayWeight[tuple[int, ...], np.float64] = SGD(learning_rate=1.0).array_weight(self.start)
        self.inside: Callable[[Layer], Layer] = lambda h: h
        self.before_run: Callable[[], None] = lambda: None

    # Any: an operand of any shape, stated or not
    def loss(self, x: ArrayExpression[Any, np.float64] | None = None) -> Scalar:
        return wg.sum(self.inside(wg.multiply(self.x if x is None else x, self.w)) * self.w)


def host(x: object) -> Array:
    """The array of numpy that `x` is."""
    assert isinstance(x, np.ndarray)
    return x


def spoil(x: object, value: float = 100.0) -> None:
    """Write to an array by every way that numpy has; what it refuses is well."""
    array = host(x)
    for base in (array, array.base):
        if isinstance(base, np.ndarray):
            with suppress(ValueError):
                base[...] = value
            with suppress(ValueError):
                base.flags.writeable = True
                base[...] = value
            with suppress(ValueError, BufferError, TypeError):
                memoryview(base.data).cast("B")[:] = bytes(base.nbytes)
            with suppress(ValueError, TypeError, AttributeError):
                base.setflags(write=True)
                base += value
    with suppress(ValueError, TypeError, BufferError):
        np.frombuffer(array, dtype=array.dtype)[...] = value


Attempt = Callable[[Scene], Scalar]


def the_input_after_building(scene: Scene) -> Scalar:
    loss = scene.loss()
    spoil(scene.x)
    return loss


def a_view_of_the_input(scene: Scene) -> Scalar:
    whole = np.zeros((2, 3))
    view = whole[1]
    view[:] = X
    loss = scene.loss(view)
    spoil(whole)
    return loss


def a_read_only_view_of_the_input(scene: Scene) -> Scalar:
    view = scene.x.view()
    view.flags.writeable = False
    loss = scene.loss(view)
    spoil(scene.x)
    return loss


def an_input_of_negative_strides(scene: Scene) -> Scalar:
    reverse = scene.x[::-1].copy()
    loss = scene.loss(reverse[::-1])
    spoil(reverse)
    return loss


def a_lifted_input(scene: Scene) -> Scalar:
    lifted = wg.lift(scene.x)
    loss = scene.loss(lifted)
    spoil(scene.x)
    return loss


def a_literal(scene: Scene) -> Scalar:
    stated = wg.literal(scene.x, 3)
    loss = scene.loss(stated)
    spoil(scene.x)
    return loss


def the_input_in_the_run_by_a_bind(scene: Scene) -> Scalar:
    @wg.differentiable
    async def network(h: Layer) -> Layer:
        await h
        spoil(scene.x)
        return h

    scene.inside = network
    return scene.loss()


def what_await_gives(scene: Scene) -> Scalar:
    @wg.differentiable
    async def network(h: Layer) -> Layer:
        spoil(await h)
        return h

    scene.inside = network
    return scene.loss()


def what_await_of_the_weight_gives(scene: Scene) -> Scalar:
    @wg.differentiable
    async def network(h: Layer) -> Layer:
        spoil(await scene.w)
        return h

    scene.inside = network
    return scene.loss()


def what_await_of_a_view_of_the_weight_gives(scene: Scene) -> Scalar:
    @wg.differentiable
    async def network(h: Layer) -> Layer:
        spoil(await wg.reshape(scene.w, (3, 1)))
        spoil(await scene.w[1:])
        return h

    scene.inside = network
    return scene.loss()


def what_await_of_a_literal_gives(scene: Scene) -> Scalar:
    lifted = wg.lift(scene.x)

    @wg.differentiable
    async def network(h: Layer) -> Layer:
        spoil(await lifted)
        return h

    scene.inside = network
    return scene.loss(lifted)


def what_a_bind_gives_and_then_writes_to(scene: Scene) -> Scalar:
    mine: Array = np.array(X)

    @wg.differentiable
    async def network(h: Layer) -> Layer:
        await h
        made = wg.lift(mine) * scene.w
        spoil(mine)
        return made

    scene.inside = network
    return scene.loss()


def the_data_of_the_weight(scene: Scene) -> Scalar:
    spoil(scene.w.data)
    return scene.loss()


def the_data_of_the_weight_in_the_run(scene: Scene) -> Scalar:
    @wg.differentiable
    async def network(h: Layer) -> Layer:
        await h
        spoil(scene.w.data)
        return h

    scene.inside = network
    return scene.loss()


def the_array_that_the_weight_was_made_of(scene: Scene) -> Scalar:
    spoil(scene.start)
    return scene.loss()


def what_an_earlier_prediction_gave(scene: Scene) -> Scalar:
    h = wg.multiply(scene.x, scene.w)
    spoil(h.predict().run())
    spoil(scene.w.predict().run())
    spoil(wg.lift(scene.x).predict().run())
    return scene.loss()


def what_a_prediction_of_a_view_gave(scene: Scene) -> Scalar:
    spoil(wg.reshape(scene.w, (3, 1)).predict().run())
    spoil(scene.w[0:2].predict().run())
    return scene.loss()


def what_a_prediction_of_a_product_gave(scene: Scene) -> Scalar:
    first, second = wg.predict((scene.w, wg.multiply(scene.x, scene.w))).run()
    spoil(first)
    spoil(second)
    return scene.loss()


def what_a_prediction_in_the_run_gives(scene: Scene) -> Scalar:
    @wg.differentiable
    async def network(h: Layer) -> Layer:
        spoil(await h.predict())
        spoil(await scene.w.predict())
        return h

    scene.inside = network
    return scene.loss()


def what_gradients_gave(scene: Scene) -> Scalar:
    (delta,) = wg.gradients(scene.loss(), (scene.w,)).run()
    spoil(delta)
    (same,) = wg.gradients(wg.sum(scene.w), (scene.w,)).run()
    spoil(same)
    return scene.loss()


def the_data_of_a_tape(scene: Scene) -> Scalar:
    def inside(h: Layer) -> Layer:
        def seen(tape: Both) -> Do[Both]:
            spoil(tape.data)
            return Do.now(tape)

        made: Layer = ArrayLayer(h.forward.flat_map(seen))
        return made

    scene.inside = inside
    return scene.loss()


def the_data_of_the_tape_of_the_weight(scene: Scene) -> Scalar:
    def seen(tape: Both) -> Do[Both]:
        spoil(tape.data)
        return Do.now(tape)

    w: Layer = ArrayLayer(scene.w.forward.flat_map(seen))
    return wg.sum(wg.multiply(scene.x, w) * w)


def the_array_in_a_users_own_tape(scene: Scene) -> Scalar:
    mine: Array = np.array(X)
    own: Layer = ArrayLayer(Do.delay(lambda: Tape(mine, lambda delta: UnitContinuation.now(None))))

    @wg.differentiable
    async def network(h: Layer) -> Layer:
        await h
        spoil(mine)
        return h

    scene.inside = network
    return scene.loss(own)


def the_delta_that_a_users_own_tape_gets(scene: Scene) -> Scalar:
    def inside(h: Layer) -> Layer:
        def wrapped(tape: Both) -> Both:
            def backward(delta: Do[Data]) -> UnitContinuation[None]:
                def seen(d: Data) -> Data:
                    kept = host(d).copy()
                    spoil(d)
                    return kept

                return tape.backward(delta.map(seen))

            return Tape(tape.data, backward)

        made: Layer = ArrayLayer(h.forward.map(wrapped))
        return made

    scene.inside = inside
    return scene.loss()


ATTEMPTS: tuple[Attempt, ...] = (
    the_input_after_building,
    a_view_of_the_input,
    a_read_only_view_of_the_input,
    an_input_of_negative_strides,
    a_lifted_input,
    a_literal,
    the_input_in_the_run_by_a_bind,
    what_await_gives,
    what_await_of_the_weight_gives,
    what_await_of_a_view_of_the_weight_gives,
    what_await_of_a_literal_gives,
    what_a_bind_gives_and_then_writes_to,
    the_data_of_the_weight,
    the_data_of_the_weight_in_the_run,
    the_array_that_the_weight_was_made_of,
    what_an_earlier_prediction_gave,
    what_a_prediction_of_a_view_gave,
    what_a_prediction_of_a_product_gave,
    what_a_prediction_in_the_run_gives,
    what_gradients_gave,
    the_data_of_a_tape,
    the_data_of_the_tape_of_the_weight,
    the_array_in_a_users_own_tape,
    the_delta_that_a_users_own_tape_gets,
)
