"""Weights kept in two bytes: their memory, their numbers, their steps, their files, under every executor."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn
from wengert.arrays import Narrow
from wengert.control import Executor
from wengert.errors import DTypeError, NonFiniteError, PluginError
from wengert.plugins import SGD, Adam, ExponentialMovingAverage, LearningRate, StoredAs, WeightDecay
from wengert.saving import load, save

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "sequential": wg.run.Sequential,
    "loops": lambda: wg.run.Sequential(compiled=False),
    "parallel": lambda: wg.run.Parallel(threads=2),
    "batched": wg.run.Batched,
}
TYPES = ("float16", "bfloat16")


class Plain(ExponentialMovingAverage, WeightDecay, Adam, LearningRate): ...


class Settings(ExponentialMovingAverage, WeightDecay, Adam, StoredAs, LearningRate): ...


class Simple(StoredAs, SGD): ...


def rounded(x: Any, dtype: str) -> Any:
    """Another way to the nearest number of two bytes: the two neighbours, and the nearer, else the even one."""
    if dtype == "float16":
        return x.astype(np.float16).astype(np.float32)
    low = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
    high = ((x.view(np.uint32) & 0xFFFF0000) + 0x10000).view(np.float32)
    down, up = np.abs(x.astype(np.float64) - low), np.abs(high.astype(np.float64) - x)
    even = (low.view(np.uint32) >> 16) % 2 == 0
    return np.where((down < up) | ((down == up) & even), low, high)


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_are_rounded_to_the_nearest_and_to_even(dtype: str) -> None:
    random = np.random.default_rng(0)
    x = (random.standard_normal(10_000) * 10.0 ** random.integers(-6, 4, 10_000)).astype(np.float32)
    x[:1000] = (x[:1000].view(np.uint32) & 0xFFFF0000 | 0x8000).view(np.float32)  # ties of bfloat16
    assert np.array_equal(Narrow.of(x, dtype).widened(), rounded(x, dtype))
    special = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0], np.float32)
    back = Narrow.of(special, dtype).widened()
    assert np.array_equal(back, special, equal_nan=True)
    assert np.signbit(back[3])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_training_is_that_of_float32_with_rounded_weights(dtype: Any, executor: str) -> None:
    """SGD by hand: the weight is rounded after each step, everything between is float32; the same bits twice."""
    random, run = np.random.default_rng(1), EXECUTORS[executor]()
    begin, x = random.standard_normal((3, 2)).astype(np.float32), np.ones((4, 3), np.float32)
    results = []
    for _ in range(2):
        w = Simple(stored_as=dtype, learning_rate=0.1).array_weight(begin)
        by_hand = rounded(begin, dtype)
        for _ in range(6):
            plain = SGD(learning_rate=0.1).array_weight(by_hand)
            loss = wg.mean(wg.square(wg.tanh(x @ w)))
            expected = wg.mean(wg.square(wg.tanh(x @ plain)))
            assert loss.train().run(run) == expected.predict().run()
            (delta,) = wg.gradients(expected, (plain,)).run()
            by_hand = rounded(by_hand - np.float32(0.1) * delta, dtype)
            np.testing.assert_array_equal(w.predict().run(), by_hand)
        results.append(w.predict().run())
    np.testing.assert_array_equal(results[0], results[1])
    assert results[0].dtype == np.float32


def model(settings: Any) -> Any:
    return nn.Sequential(
        nn.Linear.make(settings, 6, 8, seed=0, name="a"),
        wg.tanh,
        nn.Linear.make(settings, 8, 2, seed=1, name="b"),
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_every_part_of_an_optimizer_steps_it_and_a_file_goes_on_with_the_same_bits(
    dtype: Any, tmp_path: Path
) -> None:
    how = {"decay_of_average": 0.9, "weight_decay": 0.1, "learning_rate": 0.05}
    ours, plain = model(Settings(stored_as=dtype, **how)), model(Plain(**how))
    x = np.random.default_rng(2).standard_normal((5, 6)).astype(np.float32)

    def step(of: Any) -> float:
        loss: float = wg.mean(wg.square(of(x) - 1.0)).train().run()
        return loss

    losses = [(step(ours), step(plain)) for _ in range(30)]
    assert losses[-1][0] == pytest.approx(losses[-1][1], abs=0.02)
    assert losses[-1][0] < losses[0][0] / 4
    save(tmp_path / "half.safetensors", ours)
    again = model(Settings(stored_as=dtype, **how))
    load(tmp_path / "half.safetensors", again)
    assert [step(again) for _ in range(3)] == [step(ours) for _ in range(3)]
    load(tmp_path / "half.safetensors", plain, optimizer=False)  # the file has float32
    for a, b in zip(
        nn.weights(plain).values(), nn.weights(pickle.loads(pickle.dumps(ours))).values(), strict=True
    ):
        assert a.data.shape == b.data.shape


def peak(work: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("executor", ["sequential", "loops", "parallel"])
@pytest.mark.parametrize("frozen", [False, True])
def test_weights_take_half_of_the_memory_and_a_prediction_two_layers_more(
    executor: str, frozen: bool
) -> None:
    run, size, layers = EXECUTORS[executor](), 400, 10
    whole = size * size * 4 * layers
    made: list[Any] = []

    def make() -> None:
        settings = Simple(learning_rate=0.1)
        made.extend(nn.Linear.make(settings, size, size, seed=i, bias=False) for i in range(layers))

    assert peak(make) < whole / 2 + 4 * whole / layers
    assert sum(w.data.nbytes for w in nn.weights(made).values()) == whole / 2
    net = nn.freeze(made) if frozen else made

    def predict() -> None:
        h: Any = np.ones((2, size), np.float32)
        for layer in net:
            h = wg.tanh(layer(h))
        h.predict().run(run)

    predict()
    assert peak(predict) < 2.5 * whole / layers


def test_files_and_places_are_those_of_the_weight() -> None:
    net = model(Simple(stored_as="bfloat16", learning_rate=0.1))
    assert list(nn.weights(net)) == ["layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"]
    assert "bfloat16" in nn.summary(net)
    assert "74 elements, 148 bytes" in nn.summary(net)
    w = nn.weights(net)["layers.0.bias"]
    wg.assign({w: w.data.from_array(np.full(8, 0.5, np.float32))}).run()  # type: ignore[attr-defined] # is a Narrow
    assert net.layers[0].bias.predict().run().tolist() == [0.5] * 8
    slow = nn.with_settings(
        nn.with_settings(net, "layers.0.*", SGD(learning_rate=0.0)), "layers.2.*", Simple(learning_rate=0.2)
    )
    assert [type(x.data).__name__ for x in nn.weights(slow).values()] == ["ndarray"] * 2 + ["Narrow"] * 2
    twice = nn.map_weights(net, lambda weight: weight * 2.0)
    assert twice.layers[0].bias.predict().run().tolist() == [1.0] * 8
    assert not nn.freeze(net).layers[0](np.ones((1, 6), np.float32)).kind.trainable
    (delta,) = wg.gradients(wg.sum(net.layers[0].bias * 3.0), (w,)).run()
    assert delta.dtype == np.float32
    assert delta.tolist() == [3.0] * 8


def test_a_loss_needs_no_scale() -> None:
    """Deltas that float16 would lose arrive, with the bits that a scale of 2^16 and its inverse give."""
    w = Simple(learning_rate=1.0).array_weight(np.ones(3, np.float32))
    tiny = wg.sum(w * np.float32(1e-9))
    (plain,) = wg.gradients(tiny, (w,)).run()
    (scaled,) = wg.gradients(tiny * 65536.0, (w,)).run()
    assert np.float16(1e-9) == 0.0
    assert plain.tolist() == [np.float32(1e-9)] * 3
    np.testing.assert_array_equal(plain, scaled / 65536.0)


def test_refused() -> None:
    with pytest.raises(
        PluginError, match=r'stored_as=\'int8\' is not kept in two bytes; write stored_as="float16"'
    ):
        Simple(stored_as="int8", learning_rate=0.1)  # type: ignore[arg-type] # is refused by checkers, too
    settings = Simple(learning_rate=1.0)
    with pytest.raises(DTypeError, match=r"an array of float64 is not kept as float16.*write array.astype"):
        settings.array_weight(np.ones(2))
    with pytest.raises(
        NonFiniteError, match=r"100000\.0 is too large for float16, which ends at 65504; bfloat16 has"
    ):
        settings.array_weight(np.full(2, 1e5, np.float32))
    w, u = settings.array_weight(np.full(2, 6e4, np.float32)), SGD(learning_rate=1.0).float_weight(1.0)
    with pytest.raises(NonFiniteError, match="too large for float16"):
        (wg.sum(w) * -1e5 + u).train().run()  # and no weight has changed
    assert [*w.predict().run().tolist(), float(u.data)] == [6e4, 6e4, 1.0]
