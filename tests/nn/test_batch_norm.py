"""`BatchNorm`: what it computes, when its buffers change, and that files, surgery and every executor know of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager
from tests.run.test_assignment import RUNS, each
from wengert import nn, saving
from wengert.errors import ArgumentError, CheckpointError, ShapeError
from wengert.plugins import SGD, Adam, LearningRate
from wengert.testing import check_gradients

Array = np.ndarray[Any, np.dtype[np.float64]]
SHAPES = [(5, 3), (4, 3, 6), (2, 3, 4, 5)]
shapes = pytest.mark.parametrize("shape", SHAPES)
settings = SGD(learning_rate=0.1)


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng((seed, *shape)).normal(0.5, 2.0, shape)


def layer_of(width: int = 3, rate: float = 0.1) -> nn.BatchNorm[Any, np.float64]:
    norm = nn.BatchNorm.make(settings, width, dtype=np.float64, rate=rate, name="norm")
    wg.assign({norm.scale: drawn(width, seed=1), norm.offset: drawn(width, seed=2)}).run()
    return norm


def statistics(x: Array) -> tuple[Array, Array, int]:
    """Mean and variance of each feature, and of how many values."""
    features = np.moveaxis(x, 1, 0).reshape(x.shape[1], -1)
    return features.mean(1), features.var(1), features.shape[1]


def normalized(norm: nn.BatchNorm[Any, np.float64], x: Array, mean: Array, variance: Array) -> Array:
    def aligned(of: Array) -> Array:
        return of.reshape(-1, *[1] * (x.ndim - 2))

    y = (x - aligned(mean)) / np.sqrt(aligned(variance) + norm.eps)
    made: Array = y * aligned(norm.scale.data) + aligned(norm.offset.data)
    return made


@shapes
def test_values_in_training_and_in_evaluation(shape: tuple[int, ...]) -> None:
    norm, x = layer_of(), drawn(*shape)
    mean, variance, _ = statistics(x)
    np.testing.assert_allclose(
        norm(x, seed=0).predict().run(), normalized(norm, x, mean, variance), rtol=1e-12, atol=1e-12
    )
    wg.assign({norm.mean: mean, norm.variance: 2.0 * variance}).run()
    np.testing.assert_allclose(
        norm(x).predict().run(), normalized(norm, x, mean, 2.0 * variance), rtol=1e-12, atol=1e-12
    )


@shapes
@pytest.mark.parametrize("seed", [None, 1])
def test_derivatives(shape: tuple[int, ...], seed: int | None) -> None:
    norm = layer_of()
    weights = settings.array_weight(drawn(*shape))
    target = drawn(*shape, seed=3)
    check_gradients(lambda x: wg.mean(wg.square(norm(x, seed=seed) - target)), weights.data)


@each
@shapes
def test_buffers_move_with_each_training(executor: wg.run.Sequential, shape: tuple[int, ...]) -> None:
    norm = layer_of(rate=0.25)
    wanted_mean, wanted_variance = np.zeros(3), np.ones(3)
    for run in range(RUNS):
        x = drawn(*shape, seed=run)
        mean, variance, count = statistics(x)
        wanted_mean = wanted_mean + 0.25 * (mean - wanted_mean)
        wanted_variance = wanted_variance + 0.25 * (variance * count / (count - 1) - wanted_variance)
        wg.mean(wg.square(norm(x, seed=run))).train().run(executor)
        wg.mean(wg.square(norm(x))).train().run(executor)  # without a seed: they stay
        np.testing.assert_allclose(norm.mean.data, wanted_mean, rtol=1e-11)
        np.testing.assert_allclose(norm.variance.data, wanted_variance, rtol=1e-11)


def classifier(seed: int = 0) -> nn.Sequential[Any, Any, Any]:
    class Settings(Adam, LearningRate): ...

    made, chance = Settings(learning_rate=0.05), np.random.default_rng(seed)
    net: nn.Sequential[Any, Any, Any] = nn.Sequential(
        nn.Linear.make(made, 4, 8, seed=chance),
        nn.BatchNorm.make(made, 8),
        wg.relu,
        nn.Linear.make(made, 8, 2, seed=chance),
    )
    return net


def step(net: nn.Sequential[Any, Any, Any], seed: int, executor: Any = None) -> float:  # Any: of every class
    x = np.random.default_rng(seed).normal(size=(16, 4)).astype(np.float32)
    labels = (x[:, 0] > x[:, 1]).astype(np.int64)
    return float(wg.cross_entropy(net(x, seed=seed), labels).train().run(executor))


def held(net: object) -> Sequence[Any]:  # Any: arrays
    return [*(x.data for x in nn.weights(net).values()), *(x.data for x in nn.buffers(net).values())]


def test_a_training_has_a_plan_with_the_bits_of_the_interpreter() -> None:
    ours, theirs = classifier(), classifier()
    executor, plans = eager(worth=3)
    for seed in range(12):
        assert step(ours, seed, executor) == step(theirs, seed, wg.run.Sequential(compiled=False))
        for x, y in zip(held(ours), held(theirs), strict=True):
            assert np.array_equal(x, y)
    loss = wg.cross_entropy(ours(np.ones((16, 4), np.float32), seed=1), np.zeros(16, np.int64))
    bound = plans.find(loss, "train")
    assert bound is not None
    assert bound.plan.updating


def test_a_file_has_the_buffers_and_training_goes_on_from_it(tmp_path: Path) -> None:
    first, second = classifier(), classifier(1)
    for seed in range(5):
        step(first, seed)
    saving.save(tmp_path / "w", first)
    assert saving.names(tmp_path / "w")[2:6] == [
        *("layers.1.scale", "layers.1.offset", "layers.1.mean", "layers.1.variance")
    ]
    saving.load(tmp_path / "w", second)
    for seed in range(5, 15):
        assert step(first, seed) == step(second, seed)
    for x, y in zip(held(first), held(second), strict=True):
        assert np.array_equal(x, y)
    without = BytesIO()
    saving.save(without, nn.weights(first))
    with pytest.raises(CheckpointError, match=r"it lacks 'layers\.1\.mean', 'layers\.1\.variance'"):
        saving.load(BytesIO(without.getvalue()), first)


def test_the_derivative_by_a_network_has_its_buffers_as_they_are() -> None:
    net = classifier()
    loss = wg.mean(net(np.ones((4, 4), np.float32), seed=0))
    found: Any = wg.gradients(loss, net).run()  # Any: arrays in the places of weights
    norm: Any = net.layers[1]  # Any: as above
    assert found.layers[1].mean is norm.mean
    assert found.layers[1].scale.shape == (8,)
    assert not norm.mean.data.any()


def test_surgery_leaves_buffers_as_they_are() -> None:
    net = classifier()
    assert [*nn.buffers(net)] == ["layers.1.mean", "layers.1.variance"]
    assert not nn.weights(net).keys() & nn.buffers(net).keys()
    changed = nn.with_settings(nn.map_weights(net, lambda w: w), "*", SGD(learning_rate=0.0))
    for made in (nn.freeze(net), changed):
        for x, y in zip(nn.buffers(made).values(), nn.buffers(net).values(), strict=True):
            assert x is y
    frozen, before = nn.freeze(net), [x.data for x in nn.weights(net).values()]
    step(frozen, 0)
    for w, data in zip(nn.weights(net).values(), before, strict=True):
        assert np.array_equal(w.data, data)
    assert nn.buffers(net)["layers.1.mean"].data.any()


def test_a_network_of_averages() -> None:
    """A network with buffers in the place of weights, which each training moves towards those."""
    net = classifier()
    average = nn.map_weights(net, lambda w: settings.buffer(w.data))
    averages, wanted = nn.buffers(average), {place: w.data for place, w in nn.weights(net).items()}
    assert averages.keys() == nn.weights(net).keys() | nn.buffers(net).keys()
    x = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)
    for seed in range(RUNS):
        loss = wg.cross_entropy(net(x, seed=seed), np.zeros(16, np.int64))
        for place, w in nn.weights(net).items():
            loss = wg.with_update(loss, averages[place], w, rate=0.1)
            wanted[place] = wanted[place] + 0.1 * (w.data - wanted[place])
        loss.train().run()
    for place, data in wanted.items():
        np.testing.assert_allclose(averages[place].data, data, rtol=1e-5, atol=1e-6)
    at = {w: averages[place].data for place, w in nn.weights(net).items()}
    by_them, by_data = average(x).predict().run(), net(x).predict(at=at).run()
    assert np.array_equal(by_them, by_data)
    assert not np.allclose(by_them, net(x).predict().run(), rtol=1e-2)


@pytest.mark.parametrize("shape", [(3,), (5, 4), (3, 5), ()])
def test_another_shape_is_refused_where_it_is_called(shape: tuple[int, ...]) -> None:
    norm = layer_of()
    with pytest.raises(ShapeError, match=re.escape(f"BatchNorm: expected axis 1 of size 3, got {shape}")):
        norm(np.ones(shape))


def test_what_cannot_be_normalized_is_refused() -> None:
    norm = layer_of()
    with pytest.raises(
        ShapeError, match=r"one value of each feature has no variance to train with, got \(1, 3\)"
    ):
        norm(np.ones((1, 3)), seed=0)
    assert norm(np.ones((1, 3))).shape == (1, 3)
    with pytest.raises(ShapeError, match="got a shape that only the run tells"):
        norm(wg.ArrayLayer(norm.scale.forward))
    with pytest.raises(ArgumentError, match="BatchNorm: width is a positive integer; got 0"):
        nn.BatchNorm.make(settings, 0)
    with pytest.raises(ShapeError, match=r"BatchNorm: expected a variance of shape \(3,\), got \(2,\)"):
        nn.BatchNorm(norm.scale, norm.offset, norm.mean, settings.buffer(np.ones(2)))
