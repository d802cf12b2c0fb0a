"""What a node costs: chains and diamonds of additions and multiplications, on numbers and small arrays.

Knows: the same loop, handed a weight of each library, and the derivative written by hand.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.workload import OURS, Step, Variant, Workload
from wengert.plugins import SGD

Value = Any  # a number, an array, a layer, a tensor, a box: whatever has + and *
Network = Callable[[Value, Value, Value], Value]

RATE = 1e-9  # never 0: BLAS skips what is multiplied by 0
SHAPE = (16, 64)
US = 1e-6


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


def ours(network: Network, arrays: bool, array_constants: bool) -> Step:
    settings = SGD(learning_rate=RATE)
    a, b = constants(array_constants)
    if not arrays:
        scalar = settings.double_weight(start(False))
        return lambda: network(scalar, a, b).train().run()
    weight = settings.array_weight(start(True))
    if array_constants:
        a, b = wg.literal(a), wg.literal(b)  # copied once, as a constant of a model is
    return lambda: float(wg.sum(network(weight, a, b)).train().run())


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


def _workload(
    name: str,
    what: str,
    nodes: int,
    *,
    arrays: bool,
    bar: float | None,
    most: float,
    array_constants: bool = False,
) -> Workload:
    loop, back = (diamonds, diamonds_back) if "diamond" in name else (chain, chain_back)
    network = partial(loop, nodes)
    given = (network, arrays, array_constants)
    hand = partial(by_hand, network, partial(back, nodes), arrays, array_constants)
    return Workload(
        name,
        what,
        unit="us a node",
        seconds_in_unit=US,
        parts=nodes,
        variants=(
            Variant(OURS, partial(ours, *given)),
            Variant("torch", partial(torch, *given), ("torch",)),
            Variant("autograd", partial(autograd, *given), ("autograd",)),
            Variant("by hand", hand),
        ),
        bars={} if bar is None else {"torch": bar},
        most=most,
    )


_CHAIN = "x = x * a; x = x + b"
_DIAMOND = "x = (x + x) * 0.5"
WORKLOADS = (
    _workload("scalar-chain", f"{_CHAIN}, 1,000 nodes on floats", 1000, arrays=False, bar=0.25, most=1.2),
    _workload("scalar-diamond", f"{_DIAMOND}, 2,000 nodes on floats", 2000, arrays=False, bar=0.27, most=1.2),
    _workload("array-chain", f"{_CHAIN}, 1,000 nodes on 16x64 float32", 1000, arrays=True, bar=0.7, most=4.5),
    _workload(
        "array-chain-arrays",
        f"{_CHAIN}, 1,000 nodes on 16x64 float32, a and b arrays too",
        1000,
        arrays=True,
        bar=0.7,
        most=4.5,
        array_constants=True,
    ),
    _workload(
        "array-diamond", f"{_DIAMOND}, 2,000 nodes on 16x64 float32", 2000, arrays=True, bar=0.7, most=4.5
    ),
    _workload("deep-chain", f"{_CHAIN}, 100,000 nodes on floats", 100_000, arrays=False, bar=None, most=3.0),
)
