"""Layers with weights of their own, in blocks (F80, F81)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.fold.made import Id, Unchecked, made
from wengert import fold as td


def test_layers_share_weights_among_all_uses() -> None:  # F80
    layer = td.FC(2, name="shared", seed=1)
    block = made.Record((made.Vector(3) >> layer, made.Vector(3) >> layer))
    a, b = block.build(([1, 2, 3], [1, 2, 3]))
    before = layer.weights.data.copy()
    wg.sum(a + b).train().run()
    assert (layer.weights.data != before).any()
    with pytest.raises(
        TypeError, match=r"its weights are for float32 \(3,\), and its input is float32 \(4,\)"
    ):
        made.Vector(4) >> layer


def test_the_order_of_building_does_not_change_weights() -> None:  # F80
    def weights(order: list[str]) -> list[Any]:
        layers = {name: td.FC(2, name=name, seed=7) for name in order}
        for layer in layers.values():
            made.Vector(3) >> layer
        return [layers[name].weights.data for name in ("a", "b")]

    for x, y in zip(weights(["a", "b"]), weights(["b", "a"]), strict=True):
        np.testing.assert_array_equal(x, y)
    a, b = weights(["a", "b"])
    assert (a != b).any()


def test_fully_connected_layers() -> None:  # row 45
    twos = np.full((2, 1), 2.0, np.float32)
    plain = made.Vector(2) >> td.FC(1, None, twos)
    assert [plain.eval(x).item() for x in ([0, 0], [1, 0], [1, 1])] == [0.0, 2.0, 4.0]
    normed = made.Vector(2) >> td.FC(1, None, twos, weight_norm=True)
    found = [normed.eval(x).item() for x in ([0, 0], [1, 0], [1, 1])]
    assert found == pytest.approx([0.0, 2 / 8**0.5, 4 / 8**0.5])


@pytest.mark.parametrize(("activation", "factor"), [(wg.relu, 1.43), (wg.tanh, 1.15), (None, 1.0)])
def test_weights_begin_within_their_limit(activation: Unchecked, factor: float) -> None:  # F81
    layer = td.FC(200, activation, name="wide")
    made.Vector(50) >> layer
    limit = factor * (3 / 50) ** 0.5
    assert 0.98 * limit < abs(layer.weights.data).max() <= limit
    assert not layer.bias.data.any()
    assert layer.output_size == 200
    other = td.FC(200, wg.sigmoid, name="other")
    made.Vector(50) >> other
    assert 0.019 < abs(other.weights.data).max() <= 0.02


def test_embeddings() -> None:  # row 46
    table = np.array([[1, 2], [3, 4]], np.float32)
    for block in (td.Embedding(2, 2, table), td.Embedding(2, 2, lambda shape: table, trainable=False)):
        rows = made.Scalar("int32") >> block
        assert [rows.eval(i).tolist() for i in (0, 1, 7, -5)] == [[1, 2], [3, 4], [3, 4], [3, 4]]


def test_an_embedding_has_the_sizes_of_its_array() -> None:
    table = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    blocks = (
        td.Embedding(initializer=table),
        td.Embedding(num_units_out=3, initializer=table, trainable=False),
        td.Embedding(2, initializer=table),
    )
    for block in blocks:
        rows = made.Scalar("int32") >> block
        assert [rows.eval(i).tolist() for i in (0, 1, 7)] == [[1, 2, 3], [4, 5, 6], [4, 5, 6]]
        assert rows.output_type == td.TensorType((3,))


def test_an_embedding_of_no_known_size_is_refused() -> None:
    flat = np.zeros(3, np.float32)
    cases: list[tuple[Any, str]] = [
        (lambda: td.Embedding(), "it needs num_buckets and num_units_out; got None and None"),
        (lambda: td.Embedding(3), "it needs num_buckets and num_units_out; got 3 and None"),
        (lambda: td.Embedding(initializer=lambda shape: flat), "without an array as initializer"),
        (lambda: td.Embedding(initializer=flat), "an array of rows and columns; got"),
        (lambda: td.Embedding(5, initializer=np.zeros((3, 2), np.float32)), r"of shape \(5, 2\), got"),
        (lambda: td.Embedding(initializer=np.zeros((0, 2), np.float32)), "at least one row"),
    ]
    for make, text in cases:
        with pytest.raises(wg.errors.BlockValueError, match=rf"(?s){text}.*test_layers\.py:\d+"):
            make()


def test_only_touched_rows_are_trained() -> None:
    block = td.Embedding(3, 2, np.zeros((3, 2), np.float32))
    wg.sum((made.Scalar("int32") >> block).build(1)).train().run()
    assert block.weights.data.tolist() == [[0, 0], [pytest.approx(-0.01)] * 2, [0, 0]]


def test_a_layer_is_a_function_of_layers() -> None:
    layer = td.FC(3, name="called", seed=1)
    double = made.Vector(2) >> made.Function(lambda x: layer(x) * 2.0)
    alone = made.Vector(2) >> made.Function(layer)
    assert double.eval([1, 2]).tolist() == (2 * alone.eval([1, 2])).tolist()
    before = layer.weights.data.copy()
    wg.sum(double.build([1, 2])).train().run()
    assert (layer.weights.data != before).any()
    assert (
        layer(wg.literal(np.array([1, 2], np.float32))).predict().run().tolist()
        == alone.eval([1, 2]).tolist()
    )
    batched = td.Compiler.create(double).build([[1, 2], [3, 4]]).output_tensors[0]
    assert batched.predict().run(wg.run.Batched()).shape == (2, 3)


def test_every_block_of_tensors_is_a_function_of_layers() -> None:
    double = td.ScopedLayer(lambda x: x * 2.0)
    blocks: dict[str, td.Block[td.Tensors, td.Tensors]] = {
        "fractal": td.FractalNet(1, 1, lambda: td.FC(2, seed=1, name="path")),
        "scoped": double,
        "chain": td.FC(3, seed=2, name="first") >> td.FC(2, seed=3, name="second"),
        "function": td.Function(wg.negative),
    }
    for block in blocks.values():
        alone = (td.Vector(2) >> block).eval([1, 2])
        assert (td.Vector(2) >> td.Function(block)).eval([1, 2]).tolist() == alone.tolist()
        called = block(wg.literal(np.array([1, 2], np.float32))) * 2.0
        assert called.predict().run().tolist() == (alone * 2).tolist()
    minus = made.Function(wg.subtract)
    swapped = (made.Scalar(), made.Scalar()) >> made.Function(lambda x, y: minus(y, x) * 2.0)
    assert swapped.eval((1, 3)) == 4.0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: made.FC(3)(3),
            AssertionError,
            "was called with 3: in a td.Function",
        ),
        (lambda: made.FC(3)(wg.lift(np.float32(3))), TypeError, "it takes a vector"),
        (
            lambda: made.FC(3, input_keep_prob=0.5)(np.array([3], np.float32)),
            AssertionError,
            "use it as a block",
        ),
        (lambda: made.Scalar()(np.array(3, np.float32)), AssertionError, "use it as a block"),
        (
            lambda: made.AllOf(made.Metric("m"), Id())(np.array(3, np.float32)),
            AssertionError,
            "use it as a block",
        ),
    ],
)
def test_what_a_layer_is_not_called_with(call: Unchecked, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_a_layer_as_a_function_drops_numbers_in_training() -> None:
    block = made.Vector(40) >> made.Function(td.FC(40, None, input_keep_prob=0.5, seed=1, name="dropping"))
    ones = np.ones(40).tolist()
    plain = block.build(ones).predict().run()
    assert (block.build(ones, seed=3).predict().run() != plain).any()


def test_functions_in_a_chain_are_one_cell_unless_one_stands_elsewhere_too() -> None:
    first, second, names = td.FC(3, wg.tanh, name="first"), td.FC(3, name="second"), set[str]()
    alone, apart = td.Vector(3) >> first >> second, td.Vector(3) >> second
    for block in (alone, td.AllOf(alone, apart)):
        batched = wg.run.Batched()
        tensors = td.Compiler.create(block).build([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).output_tensors
        for x in tensors:
            np.testing.assert_allclose(x.predict().run(batched), x.predict().run(), rtol=1e-6)
        wg.predict(tensors[0] * 1.0 + tensors[-1]).run(batched)
        names = {line.name for line in batched.report.lines.values()}
        assert ("td.FC 'first' >> td.FC 'second'" in names) is (block is alone)
    assert {"td.FC 'first'", "td.FC 'second'"} <= names
    assert alone.max_depth([1, 2, 3]) == 2
