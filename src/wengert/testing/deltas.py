"""The library's side of a check: the deltas that operands get when a known one arrives at a result.

Knows: that operands may be weights or layers, and that a check asks for each element alone and for mixtures of all.
Refuses to know: which deltas are right.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from wengert.arrays import FLOAT64, HOST, Value, dtype_of, is_array, shape_of, zeros_like
from wengert.control import Do, UnitContinuation
from wengert.graph.kinds import Role
from wengert.graph.node import Expression
from wengert.graph.operand import external, lift_any, value_kind
from wengert.lazy import dense
from wengert.ops import multiply, sum
from wengert.plugins import SGD
from wengert.run import gradients, predict
from wengert.run.tapes import OwnTape

_RANDOM: Final = 2  # mixtures


def weights_of(values: Sequence[Value]) -> tuple[Expression, ...]:
    """Operands as weights."""
    settings = SGD(learning_rate=0.0)
    return tuple(
        settings.double_weight(x) if isinstance(x, float) else settings.array_weight(x) for x in values
    )


def loss_of(result: Any, g: Value) -> Any:  # Any: an expression with data of g's column
    """A scalar whose backward sends exactly `g` to `result`."""
    return sum(multiply(result, g)) if is_array(g) else multiply(result, g)


def deltas_at_weights(result: Expression, weights: Sequence[Expression], g: Value) -> tuple[Value, ...]:
    """The deltas at `weights` when `g` arrives at `result`."""
    return tuple(gradients(loss_of(result, g), list(weights)).run())


def deltas_at_layers(function: Callable[..., Any], values: Sequence[Value], g: Value) -> tuple[Value, ...]:
    """The deltas at layers whose data are exactly `values`, in their own memory layout, when `g` arrives."""
    arrived: list[list[Value]] = [[] for _ in values]

    def layer(x: Value, into: list[Value]) -> Expression:
        def backward(delta: Do[Any]) -> UnitContinuation[None]:  # Any: float or array
            return UnitContinuation.delay(lambda: into.append(dense(delta.run())))

        return external(Do.now(OwnTape(x, backward)), value_kind(x, Role.LAYER))

    result = lift_any(function(*map(layer, values, arrived)))
    gradients(
        loss_of(result, g), []
    ).run()  # no training: weights that the function closes over stay as they are
    for index, deltas in enumerate(arrived):
        if len(deltas) > 1:
            raise AssertionError(f"{name_of(function)}: operand {index} got {len(deltas)} deltas in one run")
    return tuple(deltas[0] if deltas else zeros_like(x) for x, deltas in zip(values, arrived, strict=True))


def value_of(result: Expression) -> Value:
    """The data of a result; TypeError unless they are float64."""
    value: Value = predict(cast(Any, result)).run()  # Any: an expression of any column
    if dtype_of(value) != FLOAT64:
        raise TypeError(
            f"check_gradients: the result is {dtype_of(value)}; derivatives are checked in float64 only"
        )
    return value


def cotangents_of(result: Value, seed: int) -> list[tuple[Value, str]]:
    """Random deltas for the whole result, and 1 for each of its elements alone."""
    number = random.Random(seed)
    shape = shape_of(result)
    size = HOST.to_host(result).size

    def made(elements: list[float]) -> Value:
        if not is_array(result):
            return elements[0]
        return HOST.reshape(HOST.astype(HOST.to_host(elements), FLOAT64), shape)

    mixtures = [
        (made([number.uniform(0.5, 2.0) for _ in range(size)]), "a random delta") for _ in range(_RANDOM)
    ]
    units = [(made([float(i == k) for i in range(size)]), f"element {k} of the result") for k in range(size)]
    return mixtures + units


def name_of(function: object) -> str:
    """Name of a function in messages."""
    return getattr(function, "__name__", None) or repr(function)
