"""How layers begin, what they refuse, and that they are values."""

from __future__ import annotations

import ast
import copy
import dataclasses
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NewType

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from wengert import extend, nn, ops, plugins
from wengert.plugins import SGD, Adam, LearningRate

Unchecked = Any  # the tests that use these names do what a type checker refuses, on purpose
unchecked: Unchecked = nn


class Settings(Adam, LearningRate): ...


settings = Settings(learning_rate=0.1)


def ones(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.ones(shape, np.float32)


MADE: dict[str, Callable[..., Any]] = {
    "Linear": lambda **given: nn.Linear.make(settings, 3, 4, **given),
    "Embedding": lambda **given: nn.Embedding.make(settings, 3, 4, **given),
    "Conv2d": lambda **given: nn.Conv2d.make(settings, 3, 4, 5, **given),
    "LSTMCell": lambda **given: nn.LSTMCell.make(settings, 3, 4, **given),
    "GRUCell": lambda **given: nn.GRUCell.make(settings, 3, 4, **given),
    "TreeLSTM": lambda **given: nn.TreeLSTM.make(settings, 3, 4, **given),
    "MultiHeadAttention": lambda **given: nn.MultiHeadAttention.make(settings, 4, 2, **given),
}


def data(layer: object) -> list[Any]:
    """The numbers of a layer's weights."""
    return [getattr(w, "data", None) for w in nn.weights(layer).values()]


@pytest.mark.parametrize("kind", MADE)
def test_a_seed_says_what_a_layer_begins_with(kind: str) -> None:
    make = MADE[kind]
    for a, b in zip(data(make(seed=1)), data(make(seed=1)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(data(make(seed=1)), data(make(seed=2)), strict=True))
    for a, b in zip(data(make(seed=1)), data(make(seed=1, dtype=np.float64)), strict=True):
        assert (a.dtype, b.dtype) == (np.float32, np.float64)
        np.testing.assert_array_equal(a, b.astype(np.float32))


def test_a_generator_passes_on_and_is_used_up() -> None:
    chance = np.random.default_rng(0)
    first, second = (nn.Linear.make(settings, 3, 4, seed=chance) for _ in range(2))
    assert (first.weight.data != second.weight.data).all()
    np.testing.assert_array_equal(first.weight.data, nn.Linear.make(settings, 3, 4, seed=0).weight.data)


def test_weights_begin_in_the_range_that_is_stated() -> None:
    weight = nn.Linear.make(settings, 300, 200, seed=0, dtype=np.float64).weight.data
    limit = math.sqrt(6 / 500)
    assert 0.99 * limit < np.abs(weight).max() <= limit
    assert abs(weight.std() - limit / math.sqrt(3)) < 0.01 * limit
    kernel = nn.Conv2d.make(settings, 30, 40, 5, seed=0, dtype=np.float64).kernel.data
    assert abs(kernel.std() / math.sqrt(2 / (30 * 25)) - 1) < 0.02
    table = nn.Embedding.make(settings, 300, 100, seed=0).table.data
    assert abs(table.std() - 1) < 0.02
    cell = nn.LSTMCell.make(settings, 3, 2, seed=0)
    assert cell.bias.data.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    tree = nn.TreeLSTM.make(settings, 3, 1, seed=0)
    assert tree.node_bias.data.tolist() == [0, 1, 1, 0, 0]


def test_parts_are_named_after_their_layer() -> None:
    layer = nn.MultiHeadAttention.make(settings, 4, 2, seed=0, name="block1.attention")
    assert layer.query.weight.name == "block1.attention.query.weight"
    assert {w.name for w in nn.weights(nn.LSTMCell.make(settings, 3, 4, seed=0, name="cell")).values()} == {
        "cell.inputs",
        "cell.hidden",
        "cell.bias",
    }
    assert Path(__file__).name in nn.Linear.make(settings, 3, 4, seed=0).weight.name


@pytest.mark.parametrize("kind", MADE)
def test_a_layer_is_a_frozen_value_without_a_state(kind: str) -> None:
    layer = MADE[kind](seed=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(layer, dataclasses.fields(layer)[0].name, None)
    assert layer == layer
    assert len({layer, copy.copy(layer)}) == 2, "by identity, as weights are"
    assert repr(layer).startswith(f"{kind}(")


def test_named_sizes_are_sizes() -> None:
    Features = NewType("Features", int)

    class Hidden(int):
        """A class of sizes."""

    layer = nn.Linear.make(settings, Features(3), Hidden(4), seed=0)
    assert layer(ones(2, 3)).shape == (2, 4)
    assert nn.Linear.make(settings, layer(ones(2, 3)).shape[-1], 5, seed=0).weight.shape == (4, 5)


def test_a_layer_crosses_a_process_boundary() -> None:
    layer = nn.Linear.make(SGD(learning_rate=0.1), 3, 4, seed=0)
    there = cloudpickle.loads(cloudpickle.dumps(layer))
    np.testing.assert_array_equal(there(ones(3)).predict().run(), layer(ones(3)).predict().run())


def test_training_moves_every_weight_of_a_network_once() -> None:
    net = nn.Sequential(
        nn.Linear.make(settings, 3, 4, seed=0),
        nn.LayerNorm.make(settings, 4),
        nn.Linear.make(settings, 4, 2, seed=1),
    )
    before = data(net)
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    wg.cross_entropy(net(x, seed=0), np.array([0, 1])).train().run()
    assert all((a != b).any() for a, b in zip(before, data(net), strict=True))


x, y = ones(2, 3), ones(2, 4)
linear = nn.Linear.make(settings, 3, 4, seed=0)
cell = nn.LSTMCell.make(settings, 3, 4, seed=0)
gru = nn.GRUCell.make(settings, 3, 4, seed=0)
tree = nn.TreeLSTM.make(settings, 3, 4, seed=0)
attention = nn.MultiHeadAttention.make(settings, 4, 2, seed=0)
h, c = cell(x)
mask = wg.greater(wg.literal(ones(2, 3)), 0.0)

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "linear": (lambda: linear(y), "Linear: expected last axis 3, got (2, 4)"),
    "a class of settings": (
        lambda: unchecked.Linear.make(SGD, 3, 4, seed=0),
        "Linear: settings are an object that makes weights, as in SGD(learning_rate=0.1); got "
        "<class 'wengert.plugins.rate.SGD'>, which is a class: call it",
    ),
    "a layer that is none": (
        lambda: unchecked.Sequential(linear, "relu"),
        "Sequential: layers are called one after the other, and layer 1 is 'relu'; write wengert.relu",
    ),
    "linear of a scalar": (lambda: linear(np.array(1, np.float32)), "Linear: expected last axis 3, got ()"),
    "bias": (
        lambda: nn.Linear(linear.weight, settings.array_weight(ones(3))),
        "Linear: expected a bias of shape (4,), got (3,)",
    ),
    "layer norm": (
        lambda: nn.LayerNorm.make(settings, 3)(y),
        "LayerNorm: expected last axis 3, got (2, 4)",
    ),
    "channels": (
        lambda: nn.Conv2d.make(settings, 3, 4, 1, seed=0)(ones(1, 2, 5, 5)),
        "conv2d: cannot convolve (1, 2, 5, 5) with (4, 3, 1, 1): input has 2 channels, kernel expects 3",
    ),
    "kernel": (
        lambda: nn.Conv2d(settings.array_weight(ones(2, 2, 3, 5)), None, 1, 0),
        "Conv2d: expected a kernel of shape (2, 2, 3, 3), got (2, 2, 3, 5)",
    ),
    "lstm": (lambda: cell(y), "LSTMCell: expected last axis 3, got (2, 4)"),
    "lstm h": (lambda: cell(x, (x, c)), "LSTMCell: expected a state h of shape (2, 4), got (2, 3)"),
    "lstm c": (lambda: cell(x, (h, ones(4))), "LSTMCell: expected a state c of shape (2, 4), got (4,)"),
    "gru h": (lambda: gru(x, ones(3, 4)), "GRUCell: expected a state h of shape (2, 4), got (3, 4)"),
    "leaf": (lambda: tree.leaf(y), "TreeLSTM.leaf: expected last axis 3, got (2, 4)"),
    "node": (lambda: tree.node((x, x), (h, c)), "TreeLSTM.node: expected last axis 4, got (2, 3)"),
    "node c": (
        lambda: tree.node((h, c), (h, ones(1, 4))),
        "TreeLSTM.node: expected a right c of shape (2, 4), got (1, 4)",
    ),
    "attention": (lambda: attention(x), "MultiHeadAttention: expected last axis 4, got (2, 3)"),
    "attention of a vector": (
        lambda: attention(ones(4)),
        "MultiHeadAttention: expected (..., time, width), got (4,)",
    ),
    "value": (
        lambda: attention(y, y, ones(3, 4)),
        "MultiHeadAttention: expected a value of shape (2, 4), got (3, 4)",
    ),
    "batch": (
        lambda: attention(ones(5, 2, 4), ones(3, 2, 4)),
        "MultiHeadAttention: a query of shape (5, 2, 4) and a key of shape (3, 2, 4) differ in batch",
    ),
    "mask": (
        lambda: attention(y, mask=mask),
        "MultiHeadAttention: expected a mask that broadcasts to (2, 2, 2), got (2, 3)",
    ),
    "heads": (
        lambda: unchecked.MultiHeadAttention.make(settings, 4, 3, seed=0),
        "MultiHeadAttention: 3 heads do not divide a width of 4",
    ),
    "size": (
        lambda: nn.Linear.make(settings, 0, 4, seed=0),
        "Linear: inputs is a positive integer; got 0",
    ),
    "size of another kind": (
        lambda: unchecked.Embedding.make(settings, 3.5, 4, seed=0),
        "Embedding: rows is a positive integer; got 3.5",
    ),
    "a class as a size": (
        lambda: unchecked.Linear.make(settings, 3, int, seed=0),
        "Linear: outputs is a positive integer; got <class 'int'>",
    ),
    "seed": (
        lambda: unchecked.Linear.make(settings, 3, 4, seed=None),
        "Linear: seed is an integer from 0 on, or a generator; got None",
    ),
    "negative seed": (
        lambda: nn.LSTMCell.make(settings, 3, 4, seed=-1),
        "LSTMCell: seed is an integer from 0 on, or a generator; got -1",
    ),
    "dtype": (
        lambda: unchecked.Linear.make(settings, 3, 4, seed=0, dtype=np.int64),
        "Linear: int64 is not differentiable; use numpy.float32 or numpy.float64",
    ),
    "same": (
        lambda: unchecked.Conv2d.make(settings, 3, 4, 4, padding="same", seed=0),
        'Conv2d: padding "same" needs an odd kernel and a stride of 1, got 4 and 1',
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_error_names_the_layer_the_sizes_and_the_line(what: str) -> None:
    misuse, said = REFUSED[what]
    with pytest.raises(wg.errors.WengertError) as caught:
        misuse()
    first, *_, last = str(caught.value).splitlines()
    assert first == said
    assert re.fullmatch(rf"  at .*{Path(__file__).name}:\d+", last)


def test_dtypes_do_not_mix() -> None:
    with pytest.raises(wg.errors.DTypeError, match="float64 and float32 do not mix"):
        unchecked.Linear.make(settings, 3, 4, seed=0)(np.ones((2, 3)))


def test_a_shape_that_only_the_run_knows_is_checked_in_the_run() -> None:
    @wg.differentiable
    async def unknown(n: wg.DoubleLayer) -> wg.ArrayLayer[Any, np.float32]:
        return wg.literal(ones(2, 3 if await n > 0 else 4))

    assert linear(unknown(wg.lift(1.0))).predict().run().shape == (2, 4)
    with pytest.raises(wg.errors.ShapeError, match="inner dimensions 4 and 3 differ"):
        linear(unknown(wg.lift(-1.0))).predict().run()


def test_summary() -> None:
    model = {"table": nn.Embedding.make(settings, 1000, 8, seed=0), "layers": [linear, nn.Sequential(linear)]}
    assert nn.summary(model).splitlines() == [
        "table.table      (1000, 8)  float32  8,000",
        "layers.0.weight  (3, 4)     float32     12",
        "layers.0.bias    (4,)       float32      4",
        "3 weights, 8,016 elements, 32,064 bytes",
    ]
    assert nn.summary(object()) == "0 weights, 0 elements, 0 bytes"
    assert list(nn.weights(linear.weight)) == ["weight"]


@pytest.mark.slow
def test_weights_are_found_in_objects_and_in_deep_models_without_recursion() -> None:
    class Model:
        def __init__(self) -> None:
            self.head = linear
            self.name = "model"
            self.itself = self

    assert list(nn.weights(Model())) == ["head.weight", "head.bias"]
    deep: object = linear
    for _ in range(100_000):
        deep = (deep,)
    assert len(nn.weights(deep)) == 2


# `steady` is no layer: it makes again what a layer has made of public operations
SOURCES = sorted({*Path(nn.__file__).parent.glob("*.py")} - {Path(nn.steady.__file__)})


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.name))
def test_layers_are_made_of_public_names_only(path: Path) -> None:
    public = {*wg.__all__, *extend.__all__, *ops.__all__, *plugins.__all__}
    public.add("Placing")  # only a type: that of the settings in the signatures of `make`
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("wengert."):
            below = node.module.split(".")[1]
            if below in ("graph", "ops", "plugins", "delta", "lazy", "run"):
                assert {alias.name for alias in node.names} <= public, f"{path.name}: {node.module}"


def test_nodes_are_the_users_lines_also_of_signatures_that_are_known() -> None:
    x = np.ones((2, 3), np.float32)
    layers = [linear(x) for _ in range(2)]
    assert {layer.site.partition(":")[0] for layer in layers} == {__file__}


def test_an_error_within_a_sequential_says_in_which_layer() -> None:
    net = nn.Sequential(wg.relu, nn.Sequential(linear, nn.Linear.make(settings, 5, 2, seed=0)))
    for seed in (None, 0):
        with pytest.raises(wg.errors.ShapeError, match="expected last axis 5, got") as caught:
            _ = net(x, seed=seed)
        inner, outer = caught.value.__notes__
        assert inner.startswith("in layer 1 of a Sequential, Linear(weight=")
        assert outer.startswith("in layer 1 of a Sequential, Sequential(")
