"""What a device alone can show: for whoever has one, by `pytest -m gpu`; the log goes into `benchmarks/`.

Knows: every function of the namespace beside the host's, five networks, trees in batches, `fit`, memory over many
steps, the same bits twice.
Refuses to know: speed.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.arrays.test_gpu import CALLS, mapped
from tests.program.test_cuda import NETS, losses_of
from tests.run.batching.test_devices import tree_model
from tests.run.batching.trees import trees
from tests.run.planned import eager
from tests.training.test_on_device import NETS as FITTED
from tests.training.test_on_device import fitted
from wengert import nn
from wengert.arrays import HOST
from wengert.arrays.dispatch import gpus
from wengert.plugins import SGD, OnDevice
from wengert.run import Batched, Sequential

pytestmark = pytest.mark.gpu
STEPS = 1000
MATRICES = ("inv", "solve", "det", "logabsdet", "cholesky", "pinv", "eigh", "svd", "qr")


@pytest.fixture(scope="module")
def cupy() -> Any:
    """cupy, with a device."""
    found = gpus()
    if found is None or not found.names:
        pytest.fail(f"`-m gpu` is for machines with a device: {found}")
    return import_module("cupy")


class Placed(SGD, OnDevice):
    """Settings whose weights lie on a device."""


def read(cupy: Any, x: Any) -> Any:
    return mapped(cupy.asnumpy, cupy.ndarray, x)


@pytest.mark.parametrize("name", CALLS)
def test_every_function_beside_the_host(name: str, cupy: Any) -> None:
    space: Any = import_module("wengert.arrays.gpu")
    close = 100.0 if name in MATRICES else 1.0  # which are ill-conditioned by as much
    for dtype, tolerance in ((np.float32, 1e-5 * close), (np.float64, 1e-12 * close)):
        given = mapped(
            lambda x, to=dtype: x.astype(to) if x.dtype.kind == "f" else x, np.ndarray, CALLS[name]
        )
        expected = getattr(HOST, name)(*given)
        found = read(cupy, getattr(space, name)(*mapped(cupy.asarray, np.ndarray, given)))
        if name in ("eigh", "svd", "qr"):  # the sign of a vector is the library's
            found, expected = np.abs(found), np.abs(expected)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def trained(name: str, on: Any, steps: int, patch: pytest.MonkeyPatch) -> list[Any]:
    executor, _ = eager()
    losses = losses_of(name, on, patch)
    return [next(losses).train().run(executor) for _ in range(steps)]


@pytest.mark.parametrize("name", NETS)
def test_networks_train_as_on_the_host(name: str, cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = trained(name, np.asarray, 12, monkeypatch)
    found = read(cupy, trained(name, cupy.asarray, 12, monkeypatch))
    again = read(cupy, trained(name, cupy.asarray, 12, monkeypatch))
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    assert [x.tobytes() for x in found] == [x.tobytes() for x in again], "the same bits twice on one device"


def test_trees_are_launched_together(cupy: Any) -> None:
    far, near = (tree_model(on, np.float32) for on in (cupy.asarray, None))
    executor = Batched()
    for seed in (1, 1, 2):
        expected = near.loss(trees(seed, 6)).train().run(Sequential(compiled=False))
        found = far.loss(trees(seed, 6)).train().run(executor)
        np.testing.assert_allclose(read(cupy, found), expected, rtol=1e-5)
    assert "one by one" not in str(executor.report), executor.report


@pytest.mark.parametrize("name", FITTED)
def test_fit_has_the_losses_of_the_host(name: str, cupy: Any) -> None:
    np.testing.assert_allclose(fitted(name, cupy.asarray), fitted(name, np.asarray), rtol=1e-4)


def test_settings_say_where_weights_lie(cupy: Any) -> None:
    settings = Placed(learning_rate=0.1, device=cupy.cuda.Device(cupy.cuda.runtime.getDeviceCount() - 1))
    far = nn.MLP.make(settings, 3, 4, 2, seed=1)
    near = nn.MLP.make(SGD(learning_rate=0.1), 3, 4, 2, seed=1)
    x = np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3)
    for _ in range(3):
        found = (
            wg.mean(wg.square(far(wg.to_device(x, settings.device)))).train().run(Sequential(compiled=False))
        )
        expected = wg.mean(wg.square(near(x))).train().run()
        assert found.device == settings.device
        np.testing.assert_allclose(read(cupy, found), expected, rtol=1e-5)


def test_the_pool_is_flat_over_a_thousand_steps(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    executor, _ = eager()
    losses = losses_of("mlp", cupy.asarray, monkeypatch)
    pool, held, loss = cupy.get_default_memory_pool(), [], next(losses)
    for _ in range(STEPS):
        loss.train().run(executor)
        held.append(pool.total_bytes())
    assert held[50] == held[-1]


def test_moving_between_the_host_and_the_device(cupy: Any) -> None:
    x = wg.lift(np.array([1.0, 2.0], np.float64))
    there = wg.to_device(x, cupy.cuda.Device(0)) * 2.0
    assert isinstance(there.predict().run(), cupy.ndarray)
    np.testing.assert_array_equal(wg.to_device(there, "cpu").predict().run(), [2.0, 4.0])
