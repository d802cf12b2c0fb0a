"""Layers that act at random in training, fractal networks, and examples that are wired before they are built."""

from __future__ import annotations

import importlib
import pickle
from typing import Any

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from wengert import fold as td
from wengert import nn
from wengert.errors import WengertError
from wengert.plugins import SGD

Unchecked = Any  # these tests also write what a checker refuses
made: Unchecked = td


def data_of(layer: Any) -> Any:
    return np.asarray(layer.predict().run()).tolist()


def test_numbers_are_dropped_in_training_only() -> None:  # F81
    ones = np.full((64, 64), 1.0, np.float32)
    block = made.Vector(64) >> td.FC(64, None, ones, input_keep_prob=0.5)
    x = [1.0] * 64
    assert data_of(block.build(x)) == [64.0] * 64
    first, again, other = (data_of(block.build(x, seed=s)) for s in (1, 1, 2))
    assert first == again != other
    assert first[0] == pytest.approx(64.0, abs=32.0)
    dropped = data_of((made.Vector(64) >> td.FC(64, None, ones, output_keep_prob=0.75)).build(x, seed=(3, 4)))
    assert sorted(set(dropped)) == pytest.approx([0.0, 64 / 0.75])
    assert block.max_depth(x) == 1


def test_each_use_and_each_example_drops_others() -> None:
    layer = td.FC(64, None, np.eye(64, dtype=np.float32), input_keep_prob=0.5)
    x = [1.0] * 64
    block = made.Vector(64) >> made.AllOf(layer, layer)
    a, b = block.build(x, seed=1)
    assert data_of(a) != data_of(b)
    (batch, _) = td.Compiler.create(block).build([x, x], seed=1).output_tensors
    first, second = data_of(batch)
    assert first != second


def test_normalization_stands_before_the_activation() -> None:  # F81
    twos = np.full((2, 1), 2.0, np.float32)
    seen: list[Any] = []

    def shifted(y: Any) -> Any:
        seen.append(y)
        return y - 5.0

    block = made.Vector(2) >> td.FC(1, wg.relu, twos, normalization_fn=shifted)
    assert [block.eval(x).item() for x in ([1, 1], [2, 2])] == [0.0, 3.0]
    linear = made.Vector(2) >> td.FC(1, None, twos, normalization_fn=shifted)
    assert linear.eval([1, 1]).item() == 4.0


def test_a_cell_of_nn_is_a_layer() -> None:  # F84
    linear = nn.Linear.make(SGD(learning_rate=0.1), 2, 2, seed=0, name="linear")
    layer: Unchecked = td.ScopedLayer(linear, name="shared")
    a, b = (made.Vector(2) >> made.AllOf(layer, layer)).build([1, 2])
    (delta,) = wg.gradients(wg.sum(a + b), (linear.weight,)).run()
    assert np.asarray(delta).tolist() == [[2.0, 2.0], [4.0, 4.0]]


def test_a_fractal_network_has_all_its_paths() -> None:  # F83
    built: list[int] = []

    def layer() -> Unchecked:
        built.append(1)
        return made.Function(lambda x: x + 1.0)

    net = made.FractalNet(1, 2, layer)
    assert len(built) == 1 + 2 + 4
    block = made.Scalar() >> net
    # f0 = 1, f1 = (1 + 2) / 2, f2 = (1 + 3) / 2
    assert block.eval(0) == 2.0
    assert made.FractalNet(3, 0, layer).set_input_type([]).output_type == td.TensorType(())
    assert (made.Scalar() >> made.FractalNet(2, 1, layer, mixer=wg.maximum)).eval(0) == 4.0


def test_paths_are_dropped_in_training_only() -> None:  # F83
    def paths(local: float, **chances: float) -> set[float]:
        net = made.FractalNet(
            1, 2, lambda: made.Function(lambda x: x + 1.0), drop_path=True, p_local_drop_path=local, **chances
        )
        block = made.Scalar() >> net
        assert block.eval(0) == 2.0
        return {data_of(block.build(0, seed=s)) for s in range(40)}

    assert paths(0.0) == {1.0, 2.0, 4.0}
    assert paths(1.0, p_drop_base_case=1.0) == {4.0}
    assert paths(1.0, p_drop_base_case=0.0, p_drop_recursive_case=1.0) == {1.0}
    assert len(paths(1.0)) > 3


def test_a_fractal_network_learns_by_layers_with_weights() -> None:
    net = made.FractalNet(1, 1, lambda: td.FC(2, None, settings=SGD(learning_rate=0.1)))
    loss = wg.sum(wg.square((made.Vector(2) >> net).build([1, 2])))
    before = loss.train().run()
    assert loss.predict().run() < before


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: made.FC(2, input_keep_prob=0.0),
            ValueError,
            "a probability to keep is more than 0, at most 1",
        ),
        (lambda: made.FC(2, output_keep_prob=1.5), ValueError, "not 1.5"),
        (
            lambda: made.FractalNet(0, 1, made.Identity),
            ValueError,
            "the number of blocks is at least 1, not 0",
        ),
        (
            lambda: made.FractalNet(1, -1, made.Identity),
            ValueError,
            "the number of levels is at least 0, not -1",
        ),
        (
            lambda: made.FractalNet(1, 1, made.Identity, p_local_drop_path=2.0),
            ValueError,
            "from 0 to 1, not 2.0",
        ),
        (lambda: made.Vector(3) >> made.FractalNet(1, 1, lambda: made.FC(2)), TypeError, r"float32 \(2,\)"),
        (
            lambda: td.Compiler.create(made.Scalar()).multiprocessing_pool(0),
            ValueError,
            "at least one process",
        ),
    ],
)
def test_what_is_no_layer(make: Unchecked, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}.*test_training.py:") as caught:
        make()
    assert isinstance(caught.value, WengertError)


SETTINGS = SGD(learning_rate=0.1)
WEIGHT = SETTINGS.array_weight(np.full((3,), 2.0, np.float32))


def cell(left: Any, right: Any) -> Any:
    return wg.tanh(left[0] * right[1] + WEIGHT), right[0]


def parity(x: Any) -> bool:
    return isinstance(x, tuple)


def model(calls: list[Any]) -> td.Block[Any, Any]:
    """A recursive network with a table, a constant, metrics and a mean."""

    def word(x: Any) -> Any:
        calls.append(x)
        return x

    tree: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    row = made.Scalar("int32") >> td.Embedding(5, 3, name="words", settings=SETTINGS)
    leaf = made.InputTransform(word) >> made.AllOf(row, made.Void() >> made.FromTensor(WEIGHT))
    node = made.Record((tree(), tree())) >> made.Function(cell)
    both = made.OneOf(parity, {True: node, False: leaf})
    tree.resolve_to(both)
    kept = made.Record([(0, made.Function(wg.sum)), (1, made.Identity())]) >> made.Metric("root")
    total = made.GetItem(0) >> td.FC(2, settings=SETTINGS, name="classes")
    block: td.Block[Any, Any] = made.AllOf(both, made.InputTransform(str)) >> made.AllOf(
        made.GetItem(0) >> total,
        made.AllOf(made.GetItem(0) >> made.GetItem(0), made.GetItem(1)) >> kept,
        made.GetItem(0) >> made.Map(made.Function(wg.sum)) >> made.Mean(),
        made.GetItem(0)
        >> made.Map(made.Identity())
        >> made.Stack()
        >> made.Function(lambda x: wg.mean(x, axis=0)),
    )
    return block


TREES: list[Any] = [3, (1, 2), ((0, 4), 1), 3]


def test_wired_examples_give_what_the_examples_give() -> None:  # F92
    calls: list[Any] = []
    compiler = td.Compiler.create(model(calls))
    wired = pickle.loads(pickle.dumps(compiler.build_loom_inputs(TREES)))
    calls.clear()
    here, there = compiler.build(wired, metric_labels=True), compiler.build(TREES, metric_labels=True)
    assert calls == [3, 1, 2, 0, 4, 1, 3]
    for a, b in zip(here.output_tensors, there.output_tensors, strict=True):
        np.testing.assert_array_equal(a.predict().run(), b.predict().run())
    assert here.metric_labels == there.metric_labels == {"root": [str(x) for x in TREES]}
    np.testing.assert_array_equal(data_of(here.metric_tensors["root"]), data_of(there.metric_tensors["root"]))


def test_wired_examples_train_the_blocks_own_weights() -> None:  # F92
    compiler = td.Compiler.create(model([]))
    _, first, _ = compiler.build(compiler.build_loom_inputs(TREES)).output_tensors
    _, second, _ = compiler.build(TREES).output_tensors
    ((a,), (b,)) = (wg.gradients(wg.sum(x), (WEIGHT,)).run() for x in (first, second))
    np.testing.assert_array_equal(a, b)
    assert np.any(np.asarray(a))


def test_wired_examples_are_dropped_out_when_they_are_built() -> None:
    compiler = td.Compiler.create(
        made.Vector(64) >> td.FC(64, None, np.eye(64, dtype=np.float32), input_keep_prob=0.5)
    )
    wired = compiler.build_loom_inputs([[1.0] * 64])
    (plain,), (dropped,) = (compiler.build(wired, seed=s).output_tensors for s in (None, 1))
    assert data_of(plain) == [[1.0] * 64] != data_of(dropped)


def test_wired_examples_belong_to_the_block_that_wired_them() -> None:
    wired = td.Compiler.create(made.Scalar() >> made.Function(wg.exp)).build_loom_inputs([1])
    with pytest.raises(ValueError, match=r"(?s)build them with the block that did.*test_training\.py:"):
        td.Compiler.create(made.Vector(1)).build(wired)


def test_examples_may_come_one_by_one() -> None:  # F91
    compiler = td.Compiler.create(made.Scalar())
    (batch,) = compiler.build(iter(range(5)), batch_size=2).output_tensors
    assert data_of(batch) == [0.0, 1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="at least one example"):
        compiler.build(iter([]), batch_size=2)


@pytest.mark.slow
def test_processes_wire_examples() -> None:  # F93
    compiler = td.Compiler.create(model([]))
    with compiler.multiprocessing_pool(2) as pool:
        wired = pool.build_loom_inputs(TREES, batch_size=2)
    for a, b in zip(compiler.build(wired).output_tensors, compiler.build(TREES).output_tensors, strict=True):
        np.testing.assert_array_equal(a.predict().run(), b.predict().run())


def test_blocks_survive_pickling() -> None:  # S14
    block = cloudpickle.loads(cloudpickle.dumps(model([])))
    assert repr(block) == repr(model([]))
    assert block.eval(TREES[2])[0].shape == (2,)


def test_a_block_that_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:  # F93
    def missing(name: str) -> None:
        raise ImportError(name)

    compiler = td.Compiler.create(made.InputTransform(lambda x: x) >> made.Scalar())
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(
        RuntimeError, match=r"(?s)cannot be sent to a process.*install cloudpickle.*test_training\.py:"
    ):
        compiler.multiprocessing_pool(1)
