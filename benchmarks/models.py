"""Source of models to be type-checked: as long as one likes, of layers with literal and named dimensions.

Knows: what a page of a user's model looks like, and that no two of its layers have the same sizes.
Refuses to know: who checks it, and how long that takes.
"""

from __future__ import annotations

import ast
from itertools import count

HEADER = '''"""A generated model."""

from typing import Any, Literal

import numpy as np

import wengert as wg
from wengert.plugins import Adam, LearningRate

Floats = np.ndarray[Any, np.dtype[np.float32]]
Integers = np.ndarray[Any, np.dtype[np.int64]]
chance = np.random.default_rng(0)


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


class Batch(int):
    """How many examples."""


class Time(int):
    """How many steps of each."""


settings = Settings(learning_rate=1e-3)


def drawn(*shape: int) -> Floats:
    return chance.standard_normal(shape, np.float32)
'''

BLOCK = '''

Steps{i} = wg.ArrayLayer[tuple[Batch, Time, Literal[{width}]]]
Rows{i} = wg.ArrayLayer[tuple[Batch, Literal[{width}]]]
Scores{i} = wg.ArrayLayer[tuple[Batch, Literal[{classes}]]]
Heads{i} = wg.ArrayLayer[tuple[Batch, Literal[{heads}], Time, Literal[{size}]]]
Square{i} = wg.ArrayWeight[tuple[Literal[{width}], Literal[{width}]]]


class Attention{i}:
    """{heads} heads over {width} features, with a residual path."""

    def __init__(self) -> None:
        self.query = settings.array_weight(drawn({width}, {width}), {width}, {width}, name="query{i}")
        self.key = settings.array_weight(drawn({width}, {width}), {width}, {width}, name="key{i}")
        self.value = settings.array_weight(drawn({width}, {width}), {width}, {width}, name="value{i}")
        self.out = settings.array_weight(drawn({width}, {width}), {width}, {width}, name="out{i}")

    def split(self, x: Steps{i}, w: Square{i}) -> Heads{i}:
        batch, time, _ = x.shape
        return wg.permute_dims(wg.reshape(x @ w, (batch, time, {heads}, {size})), (0, 2, 1, 3))

    def __call__(self, x: Steps{i}) -> Steps{i}:
        batch, time, _ = x.shape
        q, k, v = self.split(x, self.query), self.split(x, self.key), self.split(x, self.value)
        scores = q @ wg.permute_dims(k, (0, 1, 3, 2)) * {size}**-0.5
        mixed = wg.permute_dims(wg.softmax(scores) @ v, (0, 2, 1, 3))
        return x + wg.reshape(mixed, (batch, time, {width})) @ self.out


class Cell{i}:
    """A recurrent cell of {width} features that remembers and forgets."""

    def __init__(self) -> None:
        self.gates = settings.array_weight(drawn({twice}, {four}), {twice}, {four}, name="gates{i}")
        self.bias = settings.array_weight(drawn({four}), {four}, name="gate_bias{i}")
        self.scale = settings.array_weight(drawn({width}), {width}, name="scale{i}")
        self.shift = settings.array_weight(drawn({width}), {width}, name="shift{i}")

    def normalised(self, x: Rows{i}) -> Rows{i}:
        centred = x - wg.mean(x, axis=-1, keepdims=True)
        variance = wg.mean(wg.square(centred), axis=-1, keepdims=True)
        return centred / wg.sqrt(variance + 1e-5) * self.scale + self.shift

    def __call__(self, x: Rows{i}, h: Rows{i}, c: Rows{i}) -> tuple[Rows{i}, Rows{i}]:
        z = wg.concat([self.normalised(x), h], axis=-1) @ self.gates + self.bias
        i, f = wg.sigmoid(z[:, 0:{width}]), wg.sigmoid(z[:, {width}:{twice}])
        g, o = wg.tanh(z[:, {twice}:{three}]), wg.sigmoid(z[:, {three}:{four}])
        kept = f * c + i * g
        return o * wg.tanh(kept) + 0.1 * h, kept

    def unrolled(self, x: Rows{i}) -> Rows{i}:
        h, c = self(x, 0.0 * x, 0.0 * x)
        h, c = self(x - h, wg.tanh(h), wg.minimum(c, 1.0))
        h, c = self(x - 0.5 * h, wg.maximum(h, 0.01 * h), wg.maximum(c, -1.0))
        return h + wg.relu(c) / (1.0 + wg.abs(c))


class Gated{i}:
    """{width} to {hidden} features and back; a gate says how much of each is used."""

    def __init__(self) -> None:
        self.up = settings.array_weight(drawn({width}, {hidden}), {width}, {hidden}, name="up{i}")
        self.up_bias = settings.array_weight(drawn({hidden}), {hidden}, name="up_bias{i}")
        self.gate = settings.array_weight(drawn({width}, {hidden}), {width}, {hidden}, name="gate{i}")
        self.down = settings.array_weight(drawn({hidden}, {width}), {hidden}, {width}, name="down{i}")
        self.mix = settings.double_weight(0.5)
        self.rate = settings.double_weight(0.01)

    def __call__(self, x: Rows{i}) -> Rows{i}:
        up = wg.relu(x @ self.up + self.up_bias)
        gate = wg.sigmoid(x @ self.gate) * 0.9 + 0.1
        kept = gate * up + (1.0 - gate) * wg.tanh(up)
        smooth = kept * wg.sigmoid(1.702 * kept) + 0.5 * kept * (1.0 + wg.tanh(0.8 * kept))
        strong = wg.where(wg.greater(smooth, 0.0), smooth, 0.1 * wg.exp(smooth) - 0.1)
        return x + wg.maximum(strong, -1.0) @ self.down

    def fade(self, step: float) -> wg.DoubleLayer:
        early = wg.exp(-(self.mix * self.mix) * step) / (1.0 + wg.square(self.mix) * step)
        late = self.rate * wg.log(1.0 + self.rate * self.rate * step) - self.mix * self.rate
        return wg.maximum(early * (1.0 - self.rate), 0.0) + wg.minimum(late / (2.0 + step), 1.0)


class Classifier{i}:
    """Scores of {classes} classes, and the loss."""

    def __init__(self) -> None:
        self.attention = Attention{i}()
        self.cell = Cell{i}()
        self.gated = Gated{i}()
        self.head = settings.array_weight(drawn({twice}, {classes}), {twice}, {classes}, name="head{i}")
        self.bias = settings.array_weight(drawn({classes}), {classes}, name="bias{i}")

    def logits(self, x: Steps{i}) -> Scores{i}:
        seen = self.attention(x)
        last, most = wg.mean(seen, axis=1), wg.max(seen, axis=1)
        both = wg.concat([self.cell.unrolled(last) + last, self.gated(most - last)], axis=-1)
        return both @ self.head + self.bias

    def loss(self, x: Steps{i}, labels: Integers) -> wg.ArrayLayer[tuple[()]]:
        logits = self.logits(x)
        entropy = -wg.mean(wg.sum(wg.softmax(logits) * wg.log_softmax(logits), axis=-1))
        spread = wg.mean(wg.square(logits - wg.mean(logits, axis=0)))
        decay = wg.sum(wg.square(self.head)) + wg.sum(wg.square(self.gated.down))
        decay = decay + wg.sum(wg.square(self.gated.up)) + wg.sum(wg.abs(self.cell.gates))
        return wg.cross_entropy(logits, labels) + 0.01 * entropy + 0.1 * spread + 1e-4 * decay


def step{i}(model: Classifier{i}, x: Floats, labels: Integers) -> float:
    loss = model.loss(wg.literal(x, Batch, Time, {width}), labels)
    return float(loss.train().run())
'''


def model(lines: int) -> str:
    """A model of about so many lines; what is cut off at the end is a whole block.

    >>> 190 < len(model(200).splitlines()) < 260
    True
    """
    text = HEADER
    for i in count():
        size = 8 + i
        width, hidden = 4 * size, 6 * size
        text += BLOCK.format(
            i=i,
            heads=4,
            size=size,
            width=width,
            twice=2 * width,
            three=3 * width,
            four=4 * width,
            hidden=hidden,
            classes=10 + i,
        )
        if len(text.splitlines()) >= lines:
            return text
    raise AssertionError("a block has lines")


def spoiled(source: str) -> str:
    """The same with one weight narrower than what it is multiplied with."""
    right = next(line for line in source.splitlines() if "self.head = " in line)
    rows = right.partition("drawn(")[2].partition(",")[0]
    return source.replace(right, right.replace(f"{rows}, ", f"{int(rows) - 1}, "), 1)


def operations(source: str) -> int:
    """How many operations a source writes down: operators, and calls of the library's functions."""
    found = 0
    for node in ast.walk(ast.parse(source)):
        function = node.func if isinstance(node, ast.Call) else None
        called = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
        named = called and isinstance(function, ast.Attribute) and ast.unparse(function.value) == "wg"
        found += isinstance(node, ast.BinOp) or named
    return found
