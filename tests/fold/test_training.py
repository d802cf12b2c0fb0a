"""Layers that act at random in training, and fractal networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.fold.made import Unchecked, data_of, made
from wengert import fold as td
from wengert import nn
from wengert.errors import WengertError
from wengert.plugins import SGD


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
