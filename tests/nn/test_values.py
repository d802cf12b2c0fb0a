"""What each layer computes and its derivatives, against formulas written out in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.plugins import SGD
from wengert.testing import check_gradients

Array = np.ndarray[Any, np.dtype[np.float64]]
settings = SGD(learning_rate=0.1)
F64 = np.float64


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng((seed, *shape)).standard_normal(shape)


def sigmoid(x: Array) -> Array:
    y: Array = 1.0 / (1.0 + np.exp(-x))
    return y


def close(layer: wg.ArrayLayer[Any, np.float64], expected: Array) -> None:
    value = layer.predict().run()
    assert value.shape == expected.shape == layer.shape
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (4, 2, 3), (2, 2, 2, 3), (0, 3), (0, 2, 3)])
def test_linear(shape: tuple[int, ...]) -> None:
    layer = nn.Linear.make(settings, 3, 4, seed=0, dtype=F64)
    x = drawn(*shape)
    close(layer(x), x @ layer.weight.data + layer.bias.data)
    close(nn.Linear(layer.weight)(x), x @ layer.weight.data)


def test_embedding() -> None:
    layer = nn.Embedding.make(settings, 10, 4, seed=0, dtype=F64)
    indices = np.array([[1, 9, 1], [0, 3, 3]])
    close(layer(indices), layer.table.data[indices])
    close(layer([2, 5]), layer.table.data[[2, 5]])


def normalized(x: Array, scale: Array, offset: Array, eps: float) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    made: Array = centred / np.sqrt(x.var(-1, keepdims=True) + eps) * scale + offset
    return made


def test_layer_norm() -> None:
    layer = nn.LayerNorm(settings.array_weight(drawn(4)), settings.array_weight(drawn(4, seed=1)), eps=1e-3)
    x = drawn(2, 3, 4)
    close(layer(x), normalized(x, layer.scale.data, layer.offset.data, 1e-3))


def lstm(cell: nn.LSTMCell[Any, Any, np.float64], x: Array, h: Array, c: Array) -> tuple[Array, Array]:
    i, f, g, o = np.split(x @ cell.inputs.data + h @ cell.hidden.data + cell.bias.data, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_lstm(batch: tuple[int, ...]) -> None:
    cell = nn.LSTMCell.make(settings, 3, 4, seed=0, dtype=F64)
    x, h, c = drawn(*batch, 3), drawn(*batch, 4), drawn(*batch, 4, seed=1)
    for made, expected in zip(cell(x, (h, c)), lstm(cell, x, h, c), strict=True):
        close(made, expected)
    nothing = np.zeros((*batch, 4))
    for made, expected in zip(cell(x), lstm(cell, x, nothing, nothing), strict=True):
        close(made, expected)


def gru(cell: nn.GRUCell[Any, Any, np.float64], x: Array, h: Array) -> Array:
    r, z, n = np.split(x @ cell.inputs.data + cell.bias.data, 3, axis=-1)
    r_h, z_h, n_h = np.split(h @ cell.hidden.data, 3, axis=-1)
    u = sigmoid(z + z_h)
    made: Array = (1 - u) * np.tanh(n + sigmoid(r + r_h) * (n_h + cell.hidden_bias.data)) + u * h
    return made


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_gru(batch: tuple[int, ...]) -> None:
    made = nn.GRUCell.make(settings, 3, 4, seed=0, dtype=F64)
    cell = nn.GRUCell(made.inputs, made.hidden, made.bias, settings.array_weight(drawn(4)))
    x, h = drawn(*batch, 3), drawn(*batch, 4)
    close(cell(x, h), gru(cell, x, h))
    close(cell(x), gru(cell, x, np.zeros((*batch, 4))))


def test_tree_lstm() -> None:
    tree = nn.TreeLSTM.make(settings, 3, 4, seed=0, dtype=F64)
    x = drawn(2, 3)
    i, o, u = np.split(x @ tree.inputs.data + tree.bias.data, 3, axis=-1)
    c = sigmoid(i) * np.tanh(u)
    h = sigmoid(o) * np.tanh(c)
    leaf = tree.leaf(x)
    close(leaf[0], h)
    close(leaf[1], c)
    right = drawn(2, 4), drawn(2, 4, seed=1)
    z = h @ tree.left.data + right[0] @ tree.right.data + tree.node_bias.data
    i, f, k, o, u = np.split(z, 5, axis=-1)
    both = sigmoid(i) * np.tanh(u) + sigmoid(f) * c + sigmoid(k) * right[1]
    node = tree.node(leaf, right)
    close(node[1], both)
    close(node[0], sigmoid(o) * np.tanh(both))


def attended(
    layer: nn.MultiHeadAttention[Any, Any, np.float64],
    q: Array,
    k: Array,
    v: Array,
    mask: np.ndarray[Any, np.dtype[np.bool]] | None,
) -> Array:
    """Head by head, line by line."""

    def mapped(linear: nn.Linear[Any, Any, np.float64], x: Array) -> Array:
        made: Array = x @ linear.weight.data + (0.0 if linear.bias is None else linear.bias.data)
        return made

    width = layer.query.weight.shape[0] // layer.heads
    q, k, v = mapped(layer.query, q), mapped(layer.key, k), mapped(layer.value, v)
    heads = []
    for n in range(layer.heads):
        part = slice(n * width, (n + 1) * width)
        scores = q[..., part] @ np.swapaxes(k[..., part], -1, -2) / math.sqrt(width)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        heads.append(weights / weights.sum(-1, keepdims=True) @ v[..., part])
    return mapped(layer.output, np.concatenate(heads, -1))


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize("heads", [1, 2, 4])
def test_attention(batch: tuple[int, ...], heads: int) -> None:
    layer = nn.MultiHeadAttention.make(settings, 8, heads, seed=0, dtype=F64)
    x, k, v = drawn(*batch, 5, 8), drawn(*batch, 3, 8), drawn(*batch, 3, 8, seed=1)
    close(layer(x), attended(layer, x, x, x, None))
    close(layer(x, k), attended(layer, x, k, k, None))
    close(layer(x, k, v), attended(layer, x, k, v, None))
    time = np.arange(5.0)
    causal = wg.greater_equal(wg.literal(time.reshape(5, 1)), wg.literal(time.reshape(1, 5)))
    close(layer(x, mask=causal), attended(layer, x, x, x, time[:, None] >= time))


def test_a_line_that_may_attend_to_nothing_is_finite_and_so_is_its_derivative() -> None:
    layer = nn.MultiHeadAttention.make(settings, 4, 2, seed=0, dtype=F64)
    nothing = wg.greater(wg.literal(np.zeros((3, 3))), 1.0)
    loss = wg.sum(layer(drawn(3, 4), mask=nothing))
    assert all(np.isfinite(g).all() for g in wg.gradients(loss, list(nn.weights(layer).values())).run())


def test_convolution() -> None:
    layer = nn.Conv2d.make(settings, 2, 3, 3, stride=2, padding=1, seed=0, dtype=F64)
    x = drawn(2, 2, 5, 7)
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    expected = np.zeros((2, 3, 3, 4))
    for i in range(3):
        for j in range(4):
            window = wide[:, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
            expected[:, :, i, j] = np.einsum("bcuv,ocuv->bo", window, layer.kernel.data)
    close(layer(x), expected)
    biased = nn.Conv2d(layer.kernel, settings.array_weight(drawn(3)), 2, 1)
    close(biased(x), expected + biased.bias.data[:, None, None])


def test_dropout_acts_only_where_it_is_given_a_seed() -> None:
    drop, x = nn.Dropout(0.5), np.ones(1000)
    close(drop(x), x)
    trained = drop(x, seed=3).predict().run()
    assert set(np.unique(trained)) == {0.0, 2.0}
    np.testing.assert_array_equal(trained, drop(x, seed=3).predict().run())
    assert (trained != drop(x, seed=4).predict().run()).any()


def test_sequential_is_composition_and_gives_each_layer_a_seed_of_its_own() -> None:
    first = nn.Linear.make(settings, 3, 200, seed=0, dtype=F64)
    net = nn.Sequential(first, wg.relu, nn.Dropout(0.5))
    x = drawn(2, 3)
    close(net(x), wg.relu(first(x)).predict().run())
    assert net.layers == (first, wg.relu, nn.Dropout(0.5))
    ones = np.ones(1000, np.float32)
    inner = nn.Sequential(nn.Dropout(0.5))
    twice = nn.Sequential(nn.Dropout(0.5), inner)
    trained = twice(ones, seed=1).predict().run()
    assert set(np.unique(trained)) == {0.0, 4.0}
    assert 0.2 < (trained == 4.0).mean() < 0.3, "two masks: one would keep a half"
    np.testing.assert_array_equal(trained, twice(ones, seed=1).predict().run())


def test_sequential_begins_with_indices_where_its_first_layer_takes_them() -> None:
    table = nn.Embedding.make(settings, 10, 3, seed=0, dtype=F64)
    layer = nn.Linear.make(settings, 3, 2, seed=0, dtype=F64)
    indices = np.array([1, 2, 1])
    close(nn.Sequential(table, layer)(indices), layer(table(indices)).predict().run())


def layers() -> dict[str, tuple[Callable[..., Any], tuple[Array, ...]]]:
    """Each layer as a function of its operands and its weights."""

    def attention(x: Any, w: Any, b: Any, v: Any) -> Any:
        one, other = nn.Linear(w, b), nn.Linear(v)
        return nn.MultiHeadAttention(one, other, one, other, 2)(x)

    x, h, c = drawn(2, 3), drawn(2, 4), drawn(2, 4, seed=1)
    return {
        "linear": (lambda x, w, b: nn.Linear(w, b)(x), (x, drawn(3, 4), drawn(4))),
        "linear of three axes": (lambda x, w: nn.Linear(w)(x), (drawn(2, 2, 3), drawn(3, 4))),
        "embedding": (lambda t: nn.Embedding(t)([0, 2, 0]), (drawn(3, 2),)),
        "layer norm": (lambda x, s, o: nn.LayerNorm(s, o)(x), (x, drawn(3), drawn(3, seed=1))),
        "convolution": (
            lambda x, k, b: nn.Conv2d(k, b, 1, 1)(x),
            (drawn(1, 2, 3, 3), drawn(2, 2, 3, 3), drawn(2)),
        ),
        "lstm": (
            lambda x, h, c, w, u, b: wg.concat(list(nn.LSTMCell(w, u, b)(x, (h, c)))),
            (x, h, c, drawn(3, 16), drawn(4, 16), drawn(16)),
        ),
        "lstm at the start": (
            lambda x, w, b: nn.LSTMCell(w, settings.array_weight(drawn(4, 16)), b)(x)[0],
            (x, drawn(3, 16), drawn(16)),
        ),
        "gru": (
            lambda x, h, w, u, b, d: nn.GRUCell(w, u, b, d)(x, h),
            (x, h, drawn(3, 12), drawn(4, 12), drawn(12), drawn(4, seed=2)),
        ),
        "tree": (
            lambda x, h, c, w, b, l, r, d: wg.concat(
                list((tree := nn.TreeLSTM(w, b, l, r, d)).node(tree.leaf(x), (h, c)))
            ),
            (x, h, c, drawn(3, 12), drawn(12), drawn(4, 20), drawn(4, 20, seed=1), drawn(20)),
        ),
        "attention": (attention, (drawn(3, 4), drawn(4, 4), drawn(4), drawn(4, 4, seed=1))),
    }


@pytest.mark.parametrize("name", layers())
def test_derivatives_of_operands_and_weights(name: str) -> None:
    function, operands = layers()[name]
    assert check_gradients(function, *operands).worst < 1e-9


@pytest.mark.parametrize(
    "layer",
    [
        nn.Linear.make(settings, 3, 4, seed=0),
        nn.LayerNorm.make(settings, 3),
        nn.LSTMCell.make(settings, 3, 4, seed=0),
        nn.GRUCell.make(settings, 3, 4, seed=0),
        nn.TreeLSTM.make(settings, 3, 4, seed=0).leaf,
        nn.MultiHeadAttention.make(settings, 3, 1, seed=0),
        nn.Sequential(nn.Dropout(0.5), nn.Linear.make(settings, 3, 4, seed=0)),
    ],
    ids=lambda layer: str(getattr(layer, "__qualname__", type(layer).__name__)),
)
def test_float32_stays_float32(layer: Any) -> None:
    x = drawn(2, 3).astype(np.float32)
    made = layer(x)
    for part in made if isinstance(made, tuple) else (made,):
        assert part.dtype == part.predict().run().dtype == np.float32
