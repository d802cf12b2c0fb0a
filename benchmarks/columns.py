"""The network of columns and heads, of which a step builds one fine head only (skip), in four variants.

Columns: dense 3072-64, ReLU, dense 64-64, ReLU, added up. Coarse head: dense 64-20, softmax cross-entropy.
Fine head of the batch's coarse class, one of 20: dense 64-64, ReLU, 64-64, ReLU, 64-5, softmax cross-entropy.
Batch 16, float32, SGD with rate 0.01.

Knows: weights and batches from a seed, the step of each variant, and how far two variants' weights lie apart.
Refuses to know: how time is taken, and the derivative written by hand, which `columns_by_hand` has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

import wengert as wg
from benchmarks.columns_by_hand import ByHand, Floats, Integers, Parameters
from benchmarks.workload import OURS, Step, Variant, Workload
from wengert.plugins import SGD

PIXELS, WIDTH, CLASSES, FINE, BATCH = 3072, 64, 20, 5, 16
RATE = 0.01
MS = 1e-3


class Batch(NamedTuple):
    """Images of one coarse class; `frozen` is `x` as a literal, which is copied once and not each step."""

    x: Floats
    frozen: wg.ArrayLayer[Any, np.float32]
    coarse: int
    labels: Integers  # the coarse class, once a line
    fine: Integers


def batches(count: int = 40, seed: int = 1) -> list[Batch]:
    """Random images around 0: with all pixels positive the first layer's units would die."""
    chance = np.random.default_rng(seed)
    made = []
    for i in range(count):
        x = (chance.random((BATCH, PIXELS)) - 0.5).astype(np.float32)
        coarse = i % CLASSES
        labels, fine = np.full(BATCH, coarse), chance.integers(0, FINE, BATCH)
        made.append(Batch(x, wg.literal(x), coarse, labels, fine))
    return made


def parameters(columns: int, seed: int = 0) -> Parameters:
    """Every dense layer as (matrix, bias): columns two each, then the coarse head, then three a fine head."""
    chance = np.random.default_rng(seed)
    sizes = [(PIXELS, WIDTH), (WIDTH, WIDTH)] * columns + [(WIDTH, CLASSES)]
    sizes += [(WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH, FINE)] * CLASSES
    return [
        ((chance.standard_normal((n, m)) / np.sqrt(n)).astype(np.float32), np.zeros(m, np.float32))
        for n, m in sizes
    ]


class Ours:
    """The network as a user of Wengert writes it."""

    def __init__(self, columns: int, column_rate: float = RATE) -> None:
        self.columns = columns
        slow, other = SGD(learning_rate=column_rate), SGD(learning_rate=RATE)
        self.dense = [
            (settings.array_weight(w), settings.array_weight(b))
            for i, (w, b) in enumerate(parameters(columns))
            for settings in (slow if i < 2 * columns else other,)
        ]

    def apply(
        self, index: int, x: Any
    ) -> wg.ArrayLayer[Any, np.float32]:  # Any: an array or a layer of any shape
        w, b = self.dense[index]
        y: wg.ArrayLayer[Any, np.float32] = x @ w + b
        return y

    def step(self, batch: Batch) -> float:
        x, head = batch.frozen, 2 * self.columns
        outputs = [wg.relu(self.apply(2 * i + 1, wg.relu(self.apply(2 * i, x)))) for i in range(self.columns)]
        h = outputs[0]
        for output in outputs[1:]:
            h = h + output
        coarse = wg.cross_entropy(self.apply(head, h), batch.labels)
        first = head + 1 + 3 * batch.coarse
        h = wg.relu(self.apply(first + 1, wg.relu(self.apply(first, h))))
        loss = coarse + wg.cross_entropy(self.apply(first + 2, h), batch.fine)
        return float(loss.train().run())

    def weights(self) -> Parameters:
        return [(w.data, b.data) for w, b in self.dense]


class Torch:
    """The same in PyTorch, without modules and optimizer objects: the faster way to write it."""

    def __init__(self, columns: int) -> None:
        self.library: Any = import_module("torch")  # Any: benchmarks type-check where no peer is installed
        self.library.set_num_threads(1)
        self.columns = columns
        self.dense = [
            tuple(self.library.tensor(p, requires_grad=True) for p in pair) for pair in parameters(columns)
        ]

    def step(self, batch: Batch) -> float:
        torch, head, used = self.library, 2 * self.columns, list(range(2 * self.columns + 1))
        entropy = torch.nn.functional.cross_entropy

        def apply(index: int, x: Any) -> Any:
            w, b = self.dense[index]
            return torch.addmm(b, x, w)

        x = torch.from_numpy(batch.x)
        h = sum(apply(2 * i + 1, apply(2 * i, x).relu()).relu() for i in range(self.columns))
        first = head + 1 + 3 * batch.coarse
        used += [first, first + 1, first + 2]
        loss = entropy(apply(head, h), torch.from_numpy(batch.labels))
        h = apply(first + 1, apply(first, h).relu()).relu()
        loss = loss + entropy(apply(first + 2, h), torch.from_numpy(batch.fine))
        loss.backward()
        with torch.no_grad():
            for p in (p for index in used for p in self.dense[index]):
                p.sub_(p.grad, alpha=RATE)
                p.grad = None
        return float(loss.detach())

    def weights(self) -> Parameters:
        return [(w.detach().numpy(), b.detach().numpy()) for w, b in self.dense]


def by_hand(columns: int, fused: bool, column_rate: float = RATE) -> ByHand:
    """The derivative written out in numpy."""
    return ByHand(parameters(columns), columns, RATE, column_rate, fused=fused)


def trained(model: Ours | Torch | ByHand, steps: int, given: Sequence[Batch]) -> list[float]:
    """The losses of `steps` steps."""
    around = cycle(given)
    return [model.step(next(around)) for _ in range(steps)]


def distance(a: Iterable[tuple[Floats, Floats]], b: Iterable[tuple[Floats, Floats]]) -> float:
    """The greatest difference between any two elements."""
    pairs = ((p, q) for left, right in zip(a, b, strict=True) for p, q in zip(left, right, strict=True))
    return max(float(np.abs(p - q).max()) for p, q in pairs)


def _steps(make: Callable[[], Ours | Torch | ByHand]) -> Step:
    model, around = make(), cycle(batches())
    return lambda: model.step(next(around))


def _workload(columns: int) -> Workload:
    return Workload(
        f"columns-{columns}",
        f"{columns} column{'s' * (columns > 1)} of 3072-64-64, coarse head, one of 20 fine heads, batch 16",
        unit="ms a step",
        seconds_in_unit=MS,
        parts=1,
        variants=(
            Variant(OURS, partial(_steps, partial(Ours, columns))),
            Variant("by hand, fused", partial(_steps, partial(by_hand, columns, True))),
            Variant("by hand", partial(_steps, partial(by_hand, columns, False))),
            Variant("torch", partial(_steps, partial(Torch, columns)), ("torch",)),
        ),
        bars={"by hand, fused": 1.35},  # of the interpreter alone
    )


WORKLOADS = (_workload(1), _workload(4))
