"""Runs on a device that numpy stands for: several devices in one graph, no memory, no compiler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wengert as wg
from benchmarks import gpu, nets_ours
from benchmarks.nets_data import Sizes
from tests.arrays.cuda_host import has_compiler
from tests.arrays.device import Fake, OutOfMemoryError, device_over
from tests.program.test_cuda import NETS
from tests.run.planned import eager
from wengert import nn, saving
from wengert.errors import ArgumentError, DeviceError, NonFiniteError, PluginError
from wengert.plugins import SGD, FailOnNonFinite, LearningRate, Momentum, OnDevice
from wengert.run import Batched, Sequential

SETTINGS = SGD(learning_rate=0.5)
needs_gpp = pytest.mark.skipif(not has_compiler(), reason="g++ executes kernels where there is no device")


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    with device_over(tmp_path) as made:
        yield made


class TestToDevice:
    def test_there_and_back(self, fake: Fake) -> None:
        x = wg.lift(np.array([1.0, 2.0], np.float64))
        there = wg.to_device(x, fake.device(1))
        assert there.device == fake.device(1)
        moved = there.predict().run()
        assert type(moved) is fake.array
        assert moved.device == fake.device(1)
        assert_array_equal(wg.to_device(there, "cpu").predict().run(), [1.0, 2.0])
        assert wg.to_device(x, "cpu").predict().run().tolist() == [1.0, 2.0]

    def test_a_mask_is_made_for_the_device_of_attention(self, fake: Fake) -> None:
        there = nn.causal_mask(3, begin=1, device=fake.device(1))
        assert there.device == fake.device(1)
        assert_array_equal(fake.read(there.predict().run()), [[True, True, False], [True, True, True]])

    def test_the_delta_comes_back(self, fake: Fake) -> None:
        """One weight on the host, one on each of two devices; all three change."""
        near = SETTINGS.array_weight(np.array([1.0, 2.0], np.float64))
        first = SETTINGS.array_weight(fake.on(np.array([3.0, 4.0])))
        second = SETTINGS.array_weight(fake.on(np.array([5.0, 6.0]), fake.device(1)))
        executor, _ = eager()
        for _ in range(3):
            h: Any = wg.to_device(near, fake.device(0)) * first
            h = wg.to_device(h, fake.device(1)) * second
            loss = wg.sum(h)
            found = wg.gradients(loss, (near, first, second)).run(executor)
            assert [type(x) for x in found] == [np.ndarray, fake.array, fake.array]
            assert [getattr(x, "device", None) for x in found[1:]] == [fake.device(0), fake.device(1)]
            assert_array_equal(found[0], [15.0, 24.0])
            assert_array_equal(fake.read(found[2]), [3.0, 8.0])
        loss.train().run(executor)
        assert_array_equal(near.data, [1.0 - 7.5, 2.0 - 12.0])
        assert_array_equal(fake.read(second.data), [5.0 - 1.5, 6.0 - 4.0])

    def test_second_derivative(self, fake: Fake) -> None:
        w = SETTINGS.array_weight(np.array([2.0, 3.0], np.float64))
        gradient = wg.gradients(wg.sum(wg.square(wg.to_device(wg.square(w), "cpu"))), w).layers
        assert_allclose(wg.gradients(wg.sum(gradient), w).run(), 12.0 * np.array([4.0, 9.0]))

    def test_what_is_no_device(self) -> None:
        with pytest.raises(ArgumentError, match='to_device: expected "cpu" or a device'):
            wg.to_device(np.ones(2), "cuda:0")  # type: ignore[call-overload] # the point


@needs_gpp
@pytest.mark.slow
@pytest.mark.parametrize("how", ["plans", "interpreter", "batched"])
def test_a_run_needs_no_device_around_it(how: str, fake: Fake) -> None:
    """All of a graph is on the second device, where deltas that meet are added, while the first is the present one."""
    executor = {"plans": eager()[0], "interpreter": Sequential(compiled=False), "batched": Batched()}[how]
    device = fake.device(1)
    w = SETTINGS.array_weight(fake.on(np.array([1.0, 2.0]), device))
    near = SETTINGS.array_weight(np.array([1.0, 2.0], np.float64))
    for _ in range(2):
        for x in (w, near):
            h: Any = wg.tanh(x)
            wg.sum(h * h + h * x + x).train().run(executor)
    assert w.data.device == device
    assert_allclose(fake.read(w.data), near.data, rtol=1e-12)


def test_devices_do_not_mix(fake: Fake) -> None:
    near, far = wg.lift(np.ones(2)), wg.lift(fake.on(np.ones(2)))
    with pytest.raises(DeviceError, match=r"devices cpu and .* do not mix; copy one operand"):
        near + far


class Placed(Momentum, LearningRate, OnDevice):
    """Settings whose weights lie where they say."""


class TestOnDevice:
    """Weights that settings place; the present device is another."""

    def test_weights_and_buffers_lie_there_wherever_their_arrays_were(self, fake: Fake) -> None:
        settings = Placed(learning_rate=0.1, momentum=0.9, device=fake.device(1))
        for x in (
            np.ones((2, 3), np.float32),
            fake.on(np.ones((2, 3), np.float32)),
            fake.on(np.ones(2), fake.device(1)),
        ):
            for made in (settings.array_weight(x), settings.buffer(x)):
                assert made.device == fake.device(1)
                assert made.data.device == fake.device(1)
                assert_array_equal(fake.read(made.data), fake.read(x))
        assert settings.double_weight(2.0).data == 2.0
        size: Any = 0
        with pytest.raises(wg.errors.ShapeError, match=r"array_weight: the array has shape \(2,\)"):
            settings.array_weight(np.ones(2), size + 3)
        with pytest.raises(wg.errors.DTypeError, match="array_weight: expected an array"):
            settings.array_weight([1.0])  # type: ignore[arg-type] # the point

    def test_layers_have_the_numbers_of_the_host_there(self, fake: Fake) -> None:
        settings = Placed(learning_rate=0.1, momentum=0.9, device=fake.device(1))
        near = nn.MLP.make(SETTINGS, 3, 4, 2, seed=5)
        far = nn.MLP.make(settings, 3, 4, 2, seed=5)
        for mine, theirs in zip(nn.weights(far).values(), nn.weights(near).values(), strict=True):
            assert mine.device == fake.device(1)
            assert_array_equal(fake.read(mine.data), theirs.data)
        with pytest.raises(DeviceError, match="do not mix"):
            far(np.ones((5, 3), np.float32))  # type: ignore[device] # the point

    @needs_gpp
    @pytest.mark.slow
    @pytest.mark.parametrize("how", ["plans", "interpreter", "batched"])
    def test_parts_of_a_model_on_two_devices_train_as_on_the_host(self, how: str, fake: Fake) -> None:
        def losses(first: Any, second: Any) -> list[float]:
            places: Any = [getattr(settings, "device", "cpu") for settings in (first, second)]
            model = nn.MLP.make(first, 3, 4, seed=1), nn.Linear.make(second, 4, 2, seed=2)
            executor = {"plans": eager()[0], "interpreter": Sequential(compiled=False), "batched": Batched()}[
                how
            ]
            x, found = np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3), []
            for _ in range(3):
                h: Any = model[0](wg.to_device(x, places[0]))
                y = model[1](wg.to_device(wg.tanh(h), places[1]))
                found.append(float(fake.read(wg.mean(wg.square(y)).train().run(executor))))
            return found

        class Near(Momentum, LearningRate):
            """The same on the host."""

        on = [Placed(learning_rate=0.1, momentum=0.9, device=fake.device(i)) for i in range(2)]
        here = Near(learning_rate=0.1, momentum=0.9)
        assert_allclose(losses(on[0], on[1]), losses(here, here), rtol=1e-5)
        assert_allclose(losses(on[1], on[1]), losses(here, here), rtol=1e-5)

    def test_a_model_moves_by_a_file(self, fake: Fake, tmp_path: Path) -> None:
        settings = Placed(learning_rate=0.1, momentum=0.9, device=fake.device(1))
        near = nn.Linear.make(SETTINGS, 3, 2, seed=0)
        far = nn.Linear.make(settings, 3, 2, seed=1)
        with pytest.raises(
            DeviceError, match="is on cpu, these settings put weights on cuda:1; make a model with them"
        ):
            nn.with_settings(near, "weight", settings)
        saving.save(tmp_path / "model", near)
        saving.load(tmp_path / "model", far, optimizer=False)
        assert far.weight.data.device == fake.device(1)
        assert_array_equal(fake.read(far.weight.data), near.weight.data)

    def test_what_is_no_device_is_refused(self) -> None:
        with pytest.raises(
            PluginError, match=r"Placed: device is one of cupy's, as cupy.cuda.Device\(1\); got 'cuda:1'"
        ):
            Placed(learning_rate=0.1, momentum=0.9, device="cuda:1")  # type: ignore[arg-type] # the point


def trained(x: Any, w: Any, executor: Any) -> Any:
    return wg.mean(wg.square(wg.tanh(wg.lift(x) @ w) - 0.5)).train().run(executor)


@needs_gpp
@pytest.mark.slow
@pytest.mark.parametrize("how", ["plans", "interpreter"])
def test_without_memory_nothing_changes(how: str, fake: Fake) -> None:
    w = SETTINGS.array_weight(fake.on(np.ones((4, 3), np.float32)))
    x = fake.on(np.ones((64, 4), np.float32))
    executor = eager()[0] if how == "plans" else Sequential(compiled=False)
    for _ in range(3):
        trained(x, w, executor)
    before = fake.read(w.data).copy()
    fake.limit = fake.bytes + 2000
    with pytest.raises(DeviceError) as caught:
        trained(x, w, executor)
    said = str(caught.value)
    assert "cuda:0 has no memory left for" in said
    assert "no weight has changed" in said
    assert ("float32[64, 4] of an input" if how == "plans" else "float32[4, 3] of a weight") in said
    assert "the pool holds" in said
    assert isinstance(caught.value.__cause__, OutOfMemoryError)
    assert_array_equal(fake.read(w.data), before)
    fake.limit = float("inf")
    trained(x, w, executor)
    assert not np.array_equal(fake.read(w.data), before)


LACKS = {
    "no NVRTC": "libnvrtc.so.12: cannot open shared object file\nsecond line",
    "an old driver": "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version",
}


@pytest.mark.parametrize("lacks", LACKS)
def test_without_a_compiler_an_error_says_what_to_write(lacks: str, fake: Fake) -> None:
    w = SETTINGS.array_weight(fake.on(np.ones((4, 3), np.float32)))
    x = fake.on(np.ones((64, 4), np.float32))
    fake.failure = RuntimeError(LACKS[lacks])
    executor, _ = eager()
    with pytest.raises(
        DeviceError, match=r"(?s)no kernel.*(cannot open|version is ins).*doctor.*compiled=False"
    ) as caught:
        trained(x, w, executor)
    assert caught.value.__cause__ is fake.failure
    assert_array_equal(fake.read(w.data), np.ones((4, 3)))
    trained(x, w, Sequential(compiled=False))
    assert not np.array_equal(fake.read(w.data), np.ones((4, 3)))


@needs_gpp
@pytest.mark.slow
def test_memory_does_not_grow(fake: Fake) -> None:
    w = SETTINGS.array_weight(fake.on(np.ones((4, 3), np.float32)))
    x = fake.on(np.ones((64, 4), np.float32))
    executor, _ = eager()
    held = []
    for _ in range(12):
        trained(x, w, executor)
        held.append(fake.bytes)
    assert held[4] == held[-1]


@needs_gpp
@pytest.mark.slow
def test_the_benchmark_of_devices_runs(
    fake: Fake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with gpu.on_device(fake.on):
        step = nets_ours.mlp(Sizes(batch=4, widths=(6, 5, 3)))
    assert gpu.timed(step, rounds=2, warm=1) > 0.0
    assert fake.launches["matmul"]
    assert {*gpu.NETS} == {*NETS}
    monkeypatch.setattr(gpu, "gpus", lambda: None)
    assert gpu.main() == 1
    assert "cupy is not installed" in capsys.readouterr().out


class Guarded(FailOnNonFinite, SGD):
    """Refuses what is not finite."""


@needs_gpp
@pytest.mark.slow
@pytest.mark.parametrize("how", ["plans", "interpreter", "batched"])
def test_a_step_asks_the_device_once_whether_all_is_finite(how: str, fake: Fake) -> None:
    """One flag for the loss and the deltas of all weights, of whatever settings; the host reads nothing else."""
    guarded = Guarded(learning_rate=0.1)
    u, v = (guarded.array_weight(fake.on(np.ones(3, np.float32)), name=name) for name in "uv")
    other = SGD(learning_rate=0.1).array_weight(fake.on(np.ones(3)), name="w")  # of another element type
    executor = {"plans": eager()[0], "interpreter": Sequential(compiled=False), "batched": Batched()}[how]

    def loss(scale: float) -> Any:
        return wg.mean(wg.square(u * v)) + wg.mean(wg.astype(wg.sqrt(other * scale), np.float32))

    for _ in range(4):
        fake.reset()
        loss(1.0).train().run(executor)
        assert fake.reads == 1
        assert (fake.launches["finite_float"], fake.launches["finite_double"]) == (1, 1)
    before = [fake.read(x.data).copy() for x in (u, v, other)]
    with pytest.raises(NonFiniteError, match="the delta of <ArrayWeight 'w'"):
        loss(0.0).train().run(executor)
    assert_array_equal([fake.read(x.data) for x in (u, v, other)], before)
