"""Networks as people train them in JAX: a whole step compiled, with its weights and moments given away.

Knows: JAX, and Adam written out, which it lacks.
Refuses to know: sizes, and how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import cycle
from typing import Any

import numpy as np

from benchmarks import nets_data as data
from benchmarks.nets_data import DECAY, EPS, RATE, Given, Sizes
from benchmarks.workload import Step

Value = Any  # a traced array
Weights = dict[str, Value]
Loss = Callable[..., Value]  # of the weights and a batch


def _jax() -> Any:  # benchmarks type-check where no peer is installed
    return import_module("jax")


def _stepping(given: Given, loss: Loss, decay: float = 0.0) -> Step:
    """Adam, or AdamW with a decay."""
    jax = _jax()
    jnp: Any = jax.numpy
    over: Any = jax.tree_util.tree_map

    def whole(weights: Weights, moments: Value, number: Value, batch: Value) -> Value:
        value, deltas = jax.value_and_grad(loss)(weights, *batch)
        mean = over(lambda m, d: 0.9 * m + 0.1 * d, moments[0], deltas)
        square = over(lambda v, d: 0.999 * v + 0.001 * d * d, moments[1], deltas)
        first, second = 1.0 - 0.9**number, 1.0 - 0.999**number

        def stepped(w: Value, m: Value, v: Value) -> Value:
            return w - RATE * (m / first / (jnp.sqrt(v / second) + 1e-8) + decay * w)

        return value, over(stepped, weights, mean, square), (mean, square)

    compiled = jax.jit(whole, donate_argnums=(0, 1))
    weights = {name: jnp.asarray(x) for name, x in given.weights.items()}
    moments: Value = (over(jnp.zeros_like, weights), over(jnp.zeros_like, weights))
    batches, number = cycle([tuple(map(jnp.asarray, batch)) for batch in given.batches]), 0

    def step() -> float:
        nonlocal weights, moments, number
        number += 1
        value, weights, moments = compiled(weights, moments, np.float32(number), next(batches))
        return float(value)

    return step


def _linear(weights: Weights, name: str, x: Value) -> Value:
    return x @ weights[name] + weights[f"{name} bias"]


def _norm(weights: Weights, name: str, x: Value) -> Value:
    jnp: Any = _jax().numpy
    centred = x - x.mean(-1, keepdims=True)
    variance = jnp.square(centred).mean(-1, keepdims=True)
    return centred / jnp.sqrt(variance + EPS) * weights[name] + weights[f"{name} bias"]


def _cross_entropy(x: Value, labels: Value) -> Value:
    jax = _jax()
    return -jax.numpy.take_along_axis(jax.nn.log_softmax(x), labels[:, None], 1).mean()


def _dense(weights: Weights, x: Value) -> Value:
    names = sorted(name for name in weights if not name.endswith("bias"))
    for name in names[:-1]:
        x = _jax().nn.relu(_linear(weights, name, x))
    return _linear(weights, names[-1], x)


def mlp(sizes: Sizes) -> Step:
    return _stepping(data.mlp(sizes), lambda weights, x, labels: _cross_entropy(_dense(weights, x), labels))


def prediction(sizes: Sizes) -> Step:
    jax = _jax()
    given = data.mlp(sizes)
    weights = {name: jax.numpy.asarray(x) for name, x in given.weights.items()}
    compiled, batches = jax.jit(_dense), cycle([x for x, _ in given.batches])
    return lambda: float(np.asarray(compiled(weights, next(batches)))[0, 0])


def images(sizes: Sizes) -> Step:
    jax = _jax()
    given = data.images(sizes)
    kernels = [name for name in given.weights if name.startswith("kernel")]
    pooled = len(kernels) - 2

    def loss(weights: Weights, x: Value, labels: Value) -> Value:
        for i, name in enumerate(kernels):
            x = jax.nn.relu(jax.lax.conv_general_dilated(x, weights[name], (1, 1), ((1, 1), (1, 1))))
            if i >= pooled:
                x = jax.lax.reduce_window(x, -np.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        return _cross_entropy(_linear(weights, "dense", x.reshape(sizes.batch, -1)), labels)

    return _stepping(given, loss)


def lstm(sizes: Sizes) -> Step:
    jax = _jax()
    jnp: Any = jax.numpy
    (size,) = sizes.widths

    def loss(weights: Weights, words: Value, labels: Value) -> Value:
        def cell(state: Value, z: Value) -> Value:
            h, c = state
            i, f, g, o = jnp.split(z + h @ weights["hidden"], 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        start = jnp.zeros((sizes.batch, size), np.float32)
        (h, _), _ = jax.lax.scan(cell, (start, start), _linear(weights, "inputs", words))
        return _cross_entropy(_linear(weights, "dense", h), labels)

    return _stepping(data.lstm(sizes), loss)


def transformer(sizes: Sizes) -> Step:
    jax = _jax()
    (width,) = sizes.widths
    cut = (sizes.batch, sizes.time, sizes.heads, width // sizes.heads)

    def attention(weights: Weights, i: int, x: Value) -> Value:
        q, k, v = (
            _linear(weights, f"{part} {i}", x).reshape(cut).swapaxes(1, 2)
            for part in ("query", "key", "value")
        )
        scores = jax.nn.softmax(q @ k.swapaxes(-1, -2) / float(cut[-1]) ** 0.5)
        return _linear(weights, f"output {i}", (scores @ v).swapaxes(1, 2).reshape(x.shape))

    def loss(weights: Weights, x: Value, labels: Value) -> Value:
        h = weights["words"][x].reshape(-1, width)
        for i in range(sizes.layers):
            h = h + attention(weights, i, _norm(weights, f"first {i}", h))
            wide = _linear(weights, f"wide {i}", _norm(weights, f"second {i}", h))
            h = h + _linear(weights, f"narrow {i}", jax.nn.gelu(wide, approximate=False))
        return _cross_entropy(_linear(weights, "dense", _norm(weights, "last", h)), labels.reshape(-1))

    return _stepping(data.transformer(sizes), loss, DECAY)


def vae(sizes: Sizes) -> Step:
    jax = _jax()
    jnp: Any = jax.numpy

    def loss(weights: Weights, x: Value, noise: Value) -> Value:
        h = jax.nn.relu(_linear(weights, "encoder", x))
        m, v = _linear(weights, "mean", h), _linear(weights, "variance", h)
        code = m + jnp.exp(0.5 * v) * noise
        seen = _linear(weights, "pixels", jax.nn.relu(_linear(weights, "decoder", code)))
        entropy = jnp.sum(jax.nn.softplus(seen) - seen * x)
        return (entropy - 0.5 * jnp.sum(1.0 + v - jnp.square(m) - jnp.exp(v))) / sizes.batch

    return _stepping(data.vae(sizes), loss)
