"""Chains and diamonds of additions and multiplications, on numbers and small arrays, in every library.

Knows: the same loop, handed a weight of each library, and the derivative written by hand.
Refuses to know: how long the loops are, and how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.workload import Step
from wengert.control import Executor
from wengert.plugins import SGD

Value = Any  # a number, an array, a layer, a tensor, a box: whatever has + and *
Network = Callable[[Value, Value, Value], Value]

RATE = 1e-9  # never 0: BLAS skips what is multiplied by 0
SHAPE = (16, 64)


def chain(nodes: int, x: Value, a: Value, b: Value) -> Value:
    for _ in range(nodes // 2):
        x = x * a
        x = x + b
    return x


def chain_back(nodes: int, g: Value, a: Value) -> Value:
    for _ in range(nodes // 2):
        g = g * a
    return g


def diamonds(nodes: int, x: Value, a: Value, b: Value) -> Value:
    for _ in range(nodes // 2):
        x = (x + x) * 0.5
    return x


def diamonds_back(nodes: int, g: Value, a: Value) -> Value:
    for _ in range(nodes // 2):
        g = g * 0.5
        g = g + g
    return g


def start(arrays: bool) -> Value:
    """What the weight begins with."""
    return np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32) if arrays else 1.0


def constants(arrays: bool) -> tuple[Value, Value]:
    """a and b of the chain."""
    if not arrays:
        return 0.999, 0.001
    return np.full(SHAPE, 0.999, np.float32), np.full(SHAPE, 0.001, np.float32)


def ours(
    network: Network,
    arrays: bool,
    array_constants: bool,
    *,
    kept: bool = False,
    executor: Executor | None = None,
) -> Step:
    settings = SGD(learning_rate=RATE)
    a, b = constants(array_constants)
    if array_constants:
        a, b = wg.literal(a), wg.literal(b)  # copied once, as a constant of a model is

    weight = settings.array_weight(start(True)) if arrays else settings.double_weight(start(False))

    def loss() -> wg.ArrayLayer[tuple[()], np.float32] | wg.DoubleLayer:
        y: Value = network(weight, a, b)
        return wg.sum(y) if arrays else y

    if kept:
        once = loss()
        return lambda: float(once.train().run(executor))
    return lambda: float(loss().train().run(executor))


def torch(network: Network, arrays: bool, array_constants: bool) -> Step:
    library: Any = import_module("torch")  # Any: benchmarks type-check where no peer is installed
    library.set_num_threads(1)
    weight = library.tensor(start(arrays), dtype=None if arrays else library.float64, requires_grad=True)
    a, b = constants(array_constants)
    if array_constants:
        a, b = library.from_numpy(a), library.from_numpy(b)

    def step() -> float:
        y = network(weight, a, b)
        loss = y.sum() if arrays else y
        loss.backward()
        with library.no_grad():
            weight.sub_(weight.grad, alpha=RATE)
        weight.grad = None
        return float(loss.detach())

    return step


def autograd(network: Network, arrays: bool, array_constants: bool) -> Step:
    library: Any = import_module("autograd")
    numpy: Any = import_module("autograd.numpy")
    weight, (a, b) = start(arrays), constants(array_constants)

    def loss(x: Value) -> Value:
        y = network(x, a, b)
        return numpy.sum(y) if arrays else y

    both = library.value_and_grad(loss)

    def step() -> float:
        nonlocal weight
        value, g = both(weight)
        weight = weight - RATE * g
        return float(value)

    return step


def jax(network: Network, arrays: bool, array_constants: bool) -> Step:
    library: Any = import_module("jax")
    library.config.update("jax_enable_x64", not arrays)  # a float of Python has 64 bits
    weight, (a, b) = library.numpy.asarray(start(arrays)), constants(array_constants)

    def loss(x: Value, a: Value, b: Value) -> Value:
        y = network(x, a, b)
        return library.numpy.sum(y) if arrays else y

    def whole(x: Value, a: Value, b: Value) -> tuple[Value, Value]:
        value, g = library.value_and_grad(loss)(x, a, b)
        return value, x - RATE * g

    compiled = library.jit(whole, donate_argnums=0)

    def step() -> float:
        nonlocal weight
        value, weight = compiled(weight, a, b)
        return float(value)

    return step


def by_hand(
    network: Network, back: Callable[[Value, Value], Value], arrays: bool, array_constants: bool
) -> Step:
    weight, (a, b) = start(arrays), constants(array_constants)
    one = np.ones(SHAPE, np.float32) if arrays else 1.0

    def step() -> float:
        nonlocal weight
        y = network(weight, a, b)
        value = float(y.sum()) if arrays else float(y)
        weight = weight - RATE * back(one, a)
        return value

    return step
