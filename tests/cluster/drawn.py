"""Networks, losses and trainings that are drawn, for what has to hold of every expression.

Knows: a recipe as plain numbers and names, so that a failing one reads as what it is, and can be built twice.
Refuses to know: who computes a step.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from hypothesis import strategies as st

import wengert as wg
from tests.cluster.models import SETTINGS
from wengert.cluster.part import digest_of
from wengert.control import Executor

WIDTH: Final = 4
CLASSES: Final = 3
Layer = Any  # Any: expressions of every shape, here and below


class Recipe(NamedTuple):
    """A training: how rows come in, the layers, the loss, and in how many shards batches of which size are divided."""

    entry: str
    layers: tuple[str, ...]
    loss: str
    dtype: str
    optimizers: tuple[str, ...]  # in turn, one for each weight
    seeded: bool
    size: int
    shards: int
    weigh: Literal["mean", "sum"]


class Model:
    """The weights of a recipe, each layer's by its place, and the loss of a part of a batch."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self.chance = recipe, np.random.default_rng(0)
        self.settings = [SETTINGS[name]() for name in recipe.optimizers]
        self.weights: dict[str, Any] = {}
        self.w = self.weight("shared", WIDTH, WIDTH)
        if recipe.entry == "table":
            self.weight("table", 20, WIDTH)
        for i, layer in enumerate(recipe.layers):
            if layer in ("linear", "residual", "chosen"):
                self.weight(f"{i} w", WIDTH, WIDTH)
                self.weight(f"{i} b", WIDTH)
            elif layer in ("scaled", "normed"):
                self.weight(f"{i} s", WIDTH)
            elif layer == "counted":
                zeros = np.zeros(WIDTH, recipe.dtype)
                self.weights[f"{i} seen"] = self.settings[0].buffer(zeros, name=f"seen {i}")
        self.weight("out", WIDTH, CLASSES)

    def weight(self, name: str, *shape: int) -> Any:
        settings = self.settings[len(self.weights) % len(self.settings)]
        data = self.chance.standard_normal(shape).astype(self.recipe.dtype)
        made = self.weights[name] = settings.array_weight(data, name=name)
        return made

    def loss(self, batch: Any, seed: Any) -> Layer:
        rows, labels, targets = batch
        if self.recipe.entry == "table":
            h = wg.take(self.weights["table"], rows)
        else:
            h = wg.lift(targets @ np.ones((CLASSES, WIDTH), self.recipe.dtype)) @ self.w
        for i, layer in enumerate(self.recipe.layers):
            h = LAYERS[layer](self, i, h, None if seed is None or not self.recipe.seeded else (*seed, i))
        return LOSSES[self.recipe.loss](h @ self.weights["out"], labels, targets)

    def linear(self, i: int, h: Layer) -> Layer:
        return h @ self.weights[f"{i} w"] + self.weights[f"{i} b"]

    def chosen(self, i: int, h: Layer) -> Layer:
        """One of two ways, by a value that only the run knows; of float32, which is what the annotation states."""
        if self.recipe.dtype != "float32":
            return self.linear(i, h)

        @wg.differentiable
        async def either(x: wg.ArrayLayer[tuple[int, int]]) -> wg.ArrayLayer[tuple[int, int]]:
            return wg.tanh(self.linear(i, x)) if float(np.sum(await x)) > 0.0 else x * 0.5

        return either(h)


LAYERS: Final[dict[str, Callable[[Model, int, Layer, Any], Layer]]] = {
    "linear": lambda model, i, h, seed: model.linear(i, h),
    "residual": lambda model, i, h, seed: h + wg.relu(model.linear(i, h)),
    "chosen": lambda model, i, h, seed: model.chosen(i, h),
    "shared": lambda model, i, h, seed: wg.sigmoid(h @ model.w),
    "scaled": lambda model, i, h, seed: h * model.weights[f"{i} s"],
    "normed": lambda model, i, h, seed: (h - wg.mean(h, axis=1, keepdims=True)) * model.weights[f"{i} s"],
    "tanh": lambda model, i, h, seed: wg.tanh(h),
    "gelu": lambda model, i, h, seed: wg.gelu(h),
    "softplus": lambda model, i, h, seed: wg.softplus(h),
    "dropped": lambda model, i, h, seed: h if seed is None else wg.dropout(h, 0.3, seed=seed),
    "counted": lambda model, i, h, seed: (
        h if seed is None else wg.with_update(h, model.weights[f"{i} seen"], wg.mean(h, axis=0), rate=0.1)
    ),
}
LOSSES: Final[dict[str, Callable[[Layer, Any, Any], Layer]]] = {
    "cross entropy": lambda y, labels, targets: wg.cross_entropy(y, labels),
    "squares": lambda y, labels, targets: wg.mean(wg.square(y - targets)),
    "sum": lambda y, labels, targets: wg.sum(wg.tanh(y) * targets),
    "huber": lambda y, labels, targets: wg.huber_loss(y, targets),
}


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """Any recipe."""
    return Recipe(
        draw(st.sampled_from(["rows", "table"])),
        tuple(draw(st.lists(st.sampled_from(sorted(LAYERS)), max_size=5))),
        draw(st.sampled_from(sorted(LOSSES))),
        draw(st.sampled_from(["float32", "float64"])),
        tuple(draw(st.lists(st.sampled_from(sorted(SETTINGS)), min_size=1, max_size=3))),
        draw(st.booleans()),
        draw(st.integers(1, 11)),
        draw(st.integers(1, 8)),
        draw(st.sampled_from(["mean", "sum"])),
    )


def left(recipe: Recipe, executor: Executor | None, steps: int = 2) -> str:
    """Digest of the losses, weights and states of a training."""
    model, found = Model(recipe), sha256()
    for step in range(steps):
        chance = np.random.default_rng(step)
        batch = (
            chance.integers(0, 20, recipe.size),
            chance.integers(0, CLASSES, recipe.size),
            chance.standard_normal((recipe.size, CLASSES)).astype(recipe.dtype),
        )
        loss = wg.shards(model.loss, batch, min(recipe.shards, recipe.size), seed=step, weigh=recipe.weigh)
        found.update(np.asarray(loss.train().run(executor)).tobytes())
    return found.hexdigest() + digest_of(model.weights)
