"""Batch normalization beside layer normalization: what running statistics, committed with the weights, cost a step.

Knows: a network of linear layers with norms, by ours and by PyTorch.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

import wengert as wg
from benchmarks.workload import OURS, Step, Variant, Workload
from wengert import nn
from wengert.plugins import SGD

BATCH_NORM, LAYER_NORM, TORCH = f"{OURS}, BatchNorm", f"{OURS}, LayerNorm", "torch"
DEPTH, WIDTH, ROWS = 4, 64, 32
RATE = 1e-3


def data(rows: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """What the network reads."""
    return np.random.default_rng(0).standard_normal((rows, WIDTH)).astype(np.float32)


def ours(norm: Any, rows: int) -> Step:  # Any: either class of norms
    """A training step, whose expression is built each time."""
    settings, x = SGD(learning_rate=RATE), data(rows)
    layers: list[Any] = []  # Any: layers and functions
    for i in range(DEPTH):
        layers += [nn.Linear.make(settings, WIDTH, WIDTH, seed=i), norm.make(settings, WIDTH), wg.tanh]
    net: Any = nn.Sequential(*layers)  # Any: of layers that no checker sees

    def step() -> float:
        return float(wg.mean(wg.square(net(x, seed=0) - 1.0)).train().run())

    return step


def torch(rows: int) -> Step:
    """PyTorch with batch normalization."""
    peer: Any = import_module("torch")  # an extra
    peer.set_num_threads(1)
    layers = [
        layer
        for _ in range(DEPTH)
        for layer in (peer.nn.Linear(WIDTH, WIDTH), peer.nn.BatchNorm1d(WIDTH), peer.nn.Tanh())
    ]
    net, x = peer.nn.Sequential(*layers), peer.tensor(data(rows))
    optimizer = peer.optim.SGD(net.parameters(), lr=RATE)

    def step() -> float:
        optimizer.zero_grad()
        loss = (net(x) - 1.0).square().mean()
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def _workload(rows: int, small: Workload | None = None) -> Workload:
    return Workload(
        "norms",
        f"{DEPTH} linear layers of {WIDTH} with a norm and tanh, {rows} rows",
        unit="us a layer",
        seconds_in_unit=1e-6,
        parts=DEPTH,
        variants=(
            Variant(BATCH_NORM, partial(ours, nn.BatchNorm, rows)),
            Variant(LAYER_NORM, partial(ours, nn.LayerNorm, rows)),
            Variant(TORCH, partial(torch, rows), ("torch",)),
        ),
        bars={(BATCH_NORM, LAYER_NORM): 1.25},
        warm=60,
        small=small,
    )


WORKLOADS = (_workload(ROWS, _workload(4)),)
