"""Weights of a user's type: stepped by their optimizer inside the commit, assigned, saved and resumed."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from tests.test_examples import example
from wengert import Do, Tape, UnitContinuation, nn
from wengert.control import Executor
from wengert.extend import Optimizer, WeightPart, kinds, operation
from wengert.plugins import SGD, Adam, FailOnNonFinite, LearningRate, Momentum, Plugin
from wengert.saving import load, save
from wengert.testing import check_type_laws

EXECUTORS: dict[str, Callable[[], Executor]] = {
    "sequential": wg.run.Sequential,
    "loops": lambda: wg.run.Sequential(compiled=False),
    "parallel": lambda: wg.run.Parallel(threads=2),
    "batched": wg.run.Batched,
}


@dataclass(frozen=True)
class Angle:
    """A number that is the same after a whole turn."""

    value: float

    def zero_delta(self) -> float:
        return 0.0

    def stepped(self, step: float, /) -> Angle:
        return Angle((self.value - step) % 360.0)

    def to_array(self) -> float:
        return self.value

    def from_array(self, array: float, /) -> Angle:
        return Angle(array)


@wg.register(Angle)
def angle(x: Angle) -> Do[Tape[Angle, float]]:
    return Do.now(Tape(x, lambda delta: UnitContinuation.now(None)))


@operation(kinds.of(float), lambda case, x: x.value, lambda case, g, y, x: g)
def degrees(x: wg.Differentiable[Angle, float], /) -> wg.DoubleLayer:
    raise NotImplementedError


class Settings(Adam, LearningRate): ...


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_weight_takes_the_step_that_its_type_says(executor: str) -> None:
    run = EXECUTORS[executor]()
    w, u = SGD(learning_rate=1.0).data_weight(Angle(350.0)), SGD(learning_rate=1.0).double_weight(2.0)
    for _ in range(10):  # with a plan at last, where there is one
        before, factor = w.data, u.data
        assert (degrees(w) * u).train().run(run) == before.value * factor
        assert w.data == Angle((before.value - factor) % 360.0)
        assert u.data == factor - before.value
        wg.assign({u: 2.0}).run(run)
    assert wg.gradients(degrees(w) * u, (w,)).run(run) == (2.0,)
    assert wg.gradients(wg.square(u), (w, u)).run(run) == (0.0, 4.0)


def test_a_rotations_delta_is_that_of_small_turns() -> None:
    module, random = example("rotation"), np.random.default_rng(0)
    points, wanted = random.standard_normal((2, 7, 3))
    q = random.standard_normal((2, 4))
    a, b = (SGD(learning_rate=1.0).data_weight(module.Rotation(x / np.linalg.norm(x))) for x in q)
    loss = wg.sum(module.turned(points, a * b) * wanted)
    deltas = wg.gradients(loss, (a, b)).run()
    for w, delta in zip((a, b), deltas, strict=True):
        for direction in np.eye(3) * 1e-6:
            there, here = (
                loss.predict(at={w: w.data.stepped(sign * direction)}).run() for sign in (-1.0, 1.0)
            )
            assert (there - here) / 2e-6 == pytest.approx(float(delta @ direction) * 1e6, abs=1e-7)


def test_the_example_learns_and_its_checkpoint_goes_on_bit_for_bit() -> None:
    model, resumed = example("rotation").main()
    points, wanted, wide = example("rotation").points_of(0)
    error = np.square(points @ (model.second.data * model.first.data).matrix() - wanted).mean()
    assert error < 1e-3
    vectors = np.linalg.eigh(wide.T @ wide)[1]
    spread = np.linalg.svd(vectors[:, -2:].T @ model.plane.data.x)[1]
    assert spread.min() > 0.999  # the plane of the two greatest eigenvalues
    for ours, theirs in zip(nn.weights(model).values(), nn.weights(resumed).values(), strict=True):
        assert np.array_equal(ours.data.to_array(), theirs.data.to_array())  # type: ignore[attr-defined] # of a DataWeight


def test_a_run_that_fails_has_moved_nothing() -> None:
    class Finite(FailOnNonFinite, SGD): ...

    w, u = Finite(learning_rate=1.0).data_weight(Angle(10.0)), SGD(learning_rate=1.0).double_weight(0.0)
    with pytest.raises(wg.errors.NonFiniteError):
        (degrees(w) + wg.log(u)).train().run()
    assert w.data == Angle(10.0)

    class Wide(Optimizer):
        def step(self, delta: Any, weight: Any) -> Any:
            return np.zeros(2)

    class Widening(Plugin):
        optimizer: ClassVar[type[Optimizer]] = Wide

    class Wrong(Widening, SGD): ...

    wrong = Wrong(learning_rate=1.0).data_weight(Angle(10.0))
    with pytest.raises(wg.errors.ShapeError, match=r"a step of shape \(2,\) for .*, whose deltas have \(\)"):
        (degrees(wrong) + degrees(w)).train().run()
    assert w.data == wrong.data == Angle(10.0)


def test_assign_apply_and_at() -> None:
    w = SGD(learning_rate=0.5).data_weight(Angle(10.0), name="w")
    assert degrees(w).predict(at={w: Angle(3.0)}).run() == 3.0
    wg.assign({w: Angle(20.0)}).run()
    wg.apply({w: 30.0}).run()
    assert w.data == Angle(5.0) and w.name == "w"
    with pytest.raises(wg.errors.DTypeError, match=r"assign: <DataWeight 'w' Angle> takes a Angle, got 1.0"):
        wg.assign({w: 1.0})
    with pytest.raises(
        wg.errors.ShapeError, match=r"apply: a delta of shape \(2,\) for .*, whose deltas have \(\)"
    ):
        wg.apply({w: np.zeros(2)})


def test_a_file_has_the_array_and_the_optimizers_state(tmp_path: Path) -> None:
    class Heavy(Momentum, LearningRate): ...

    def trained(model: dict[str, wg.DataWeight[Angle, float]], steps: int) -> list[float]:
        return [wg.square(degrees(model["w"]) - 40.0).train().run() for _ in range(steps)]

    for settings in (Heavy(learning_rate=0.01), Settings(learning_rate=1.0)):
        model, other = ({"w": settings.data_weight(Angle(x))} for x in (10.0, 90.0))
        trained(model, 3)
        save(tmp_path / "model.safetensors", model)
        load(tmp_path / "model.safetensors", other)
        assert trained(model, 5) == trained(other, 5)
    file = io.BytesIO()
    save(file, {"w": SGD(learning_rate=1.0).double_weight(7.0)})
    load(io.BytesIO(file.getvalue()), model, strict=False, optimizer=False)
    assert model["w"].data == Angle(7.0)
    assert "1 element" in nn.summary(model) or "1 elements" in nn.summary(model)
    moved = nn.with_settings(model, lambda m: m["w"], SGD(learning_rate=2.0))
    (degrees(moved["w"]) * 1.0).train().run()
    assert moved["w"].data == Angle(5.0)


class Number(Angle):
    """Registered with Data of another class."""


@wg.register(Number)
def number(x: Number) -> Do[Tape[float, float]]:
    return Do.now(Tape(x.value, lambda delta: UnitContinuation.now(None)))


def test_what_no_weight_can_hold_is_refused() -> None:
    settings: Any = SGD(learning_rate=1.0)

    class Half:
        """Registered, and nothing else."""

    @wg.register(Half)
    def half(x: Half) -> Do[Tape[float, float]]:
        return Do.now(Tape(0.5, lambda delta: UnitContinuation.now(None)))

    with pytest.raises(wg.errors.NotDifferentiableError, match="data_weight: object is not differentiable"):
        settings.data_weight(object())
    with pytest.raises(wg.errors.ArgumentError, match="has no zero_delta, stepped, to_array, from_array"):
        settings.data_weight(Half())
    with pytest.raises(wg.errors.ArgumentError, match=r"Number is registered with Data .* float64"):
        settings.data_weight(Number(1.0))


@dataclass(frozen=True)
class Drifting(Angle):
    """Moves without a step."""

    def stepped(self, step: float, /) -> Drifting:
        return Drifting(self.value - step + 1.0)


@dataclass(frozen=True)
class Rounded(Angle):
    """Its array is not all of it."""

    def to_array(self) -> float:
        return round(self.value)

    def stepped(self, step: float, /) -> Rounded:
        return Rounded(self.value - step)

    def from_array(self, array: float, /) -> Rounded:
        return Rounded(array)


def test_the_laws_are_checked() -> None:
    check_type_laws(angle, [Angle(10.0)], deltas=[1.0, -400.0])

    with pytest.raises(AssertionError, match="a step of zero makes"):
        check_type_laws(angle, [Drifting(1.0)])

    with pytest.raises(AssertionError, match=r"neither a number nor an array|after to_array and from_array"):
        check_type_laws(angle, [Rounded(1.5)])


def test_settings_make_one_by_its_other_name_beside_parts_of_weights() -> None:
    class Part(WeightPart):
        step: int = 0

    class Parted(Plugin):
        weight = Part

    class Both(Parted, SGD): ...

    assert Both.weight is Part and SGD.weight is None
    for settings in (SGD(learning_rate=1.0), Both(learning_rate=1.0)):
        made = settings.weight(Angle(10.0), name="north")
        assert (made.data, made.name) == (Angle(10.0), "north")
        assert isinstance(made, Part) == isinstance(settings, Both)
