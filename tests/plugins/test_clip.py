"""D85: one norm for all deltas of a commit that reach the plugin, measured where it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager
from wengert.extend import Update
from wengert.plugins import (
    SGD,
    Adam,
    AdamW,
    ClipByGlobalNorm,
    L2Regularization,
    LearningRate,
    Momentum,
    Plugin,
    WeightDecay,
)
from wengert.plugins.optimizer import Optimizer
from wengert.run import Batched, Parallel, Sequential

F32 = np.float32


class Clipped(ClipByGlobalNorm, LearningRate): ...


def test_the_check() -> None:
    w = Clipped(learning_rate=1.0, max_norm=1.0).double_weight(1.0)
    for d in (1.0, 2.0):
        (w * d).train().run()
    assert w.data == -1.0


def test_the_norm_is_that_of_all_weights_of_every_kind() -> None:
    settings = Clipped(learning_rate=1.0, max_norm=1.0)
    a, f = settings.double_weight(0.0), settings.float_weight(0.0)
    v, m = settings.array_weight(np.zeros(3)), settings.array_weight(np.zeros((2, 2)))
    table = settings.array_weight(np.zeros((4, 1)))
    x = np.ones((1, 2))
    scalars = wg.sum(v * np.array([1.0, 2.0, 2.0], np.float64)) + a * 4.0
    lazy = wg.sum(wg.matmul(x, m)) + wg.sum(wg.take(table, [1, 1, 3]))
    (scalars + lazy + wg.sum(wg.multiply(v, 0.0))).train().run()
    n = np.sqrt(9.0 + 16.0 + 4.0 + 5.0)
    assert a.data == pytest.approx(-4.0 / n)
    assert np.allclose(v.data, -np.array([1.0, 2.0, 2.0], np.float64) / n)
    assert np.allclose(m.data, -np.ones((2, 2)) / n)
    assert np.allclose(table.data.ravel(), -np.array([0.0, 2.0, 0.0, 1.0]) / n)
    (f * 3.0).train().run()
    assert f.data == F32(-1.0) and type(f.data) is F32


class Decayed(ClipByGlobalNorm, AdamW, LearningRate): ...


class Plain(ClipByGlobalNorm, Adam, LearningRate): ...


class Both(ClipByGlobalNorm, Momentum, LearningRate): ...


EXECUTORS: dict[str, Callable[[], Any]] = {  # Any: executors have no type in common
    "interpreter": lambda: Sequential(compiled=False),
    "plans": lambda: eager(worth=2)[0],
    "two threads": lambda: Parallel(threads=2),
    "batched": Batched,
}


def test_the_weights_of_several_settings_objects_have_one_norm() -> None:
    one, other = (Clipped(learning_rate=rate, max_norm=1.0) for rate in (1.0, 0.5))
    a, b = one.double_weight(0.0), other.double_weight(0.0)
    (a * 3.0 + b * 4.0).train().run()
    assert a.data == pytest.approx(-0.6) and b.data == pytest.approx(-0.4)


def test_each_has_its_own_most() -> None:
    one, other = (Clipped(learning_rate=1.0, max_norm=most) for most in (1.0, 10.0))
    a, b = one.double_weight(0.0), other.double_weight(0.0)
    (a * 3.0 + b * 4.0).train().run()
    assert a.data == pytest.approx(-0.6) and b.data == -4.0


def test_weights_of_settings_without_the_plugin_are_neither_measured_nor_clipped() -> None:
    a = Clipped(learning_rate=1.0, max_norm=2.0).double_weight(0.0)
    b = SGD(learning_rate=1.0).double_weight(0.0)
    for _ in range(2):
        (a * 1.5 + b * 100.0).train().run()
    assert (a.data, b.data) == (-3.0, -200.0)


@pytest.mark.parametrize("how", EXECUTORS)
@pytest.mark.parametrize("classes", [(Decayed, Plain), (Both, Both)], ids=["two classes", "one class"])
def test_groups_train_as_by_the_formula_on_every_executor(classes: Any, how: str) -> None:
    """A matrix with a lazy delta and a bias, 12 steps; the same as one settings object with the factor by hand."""
    executor, chance = EXECUTORS[how](), np.random.default_rng(3)
    start, bias = chance.standard_normal((4, 3)), chance.standard_normal(3)
    inputs = [chance.standard_normal((5, 4)) * 4.0 for _ in range(12)]
    keywords: list[dict[str, float]] = [{"weight_decay": 0.1}, {}] if classes[0] is Decayed else [{}, {}]
    groups = [c(learning_rate=0.05, max_norm=0.5, **k) for c, k in zip(classes, keywords, strict=True)]
    w, b = groups[0].array_weight(start), groups[1].array_weight(bias)

    class Unclipped(*classes[0].__bases__[1:]): ...  # type: ignore[misc] # the same without the plugin

    class UnclippedToo(*classes[1].__bases__[1:]): ...  # type: ignore[misc] # as above

    hand: list[Any] = [Unclipped, UnclippedToo]
    free = [c(learning_rate=0.05, **k) for c, k in zip(hand, keywords, strict=True)]
    v, c = free[0].array_weight(start), free[1].array_weight(bias)

    def loss(x: Any, w: Any, b: Any, factor: float = 1.0) -> Any:  # Any: arrays and weights
        return wg.mean(wg.square(wg.matmul(x, w) + b)) * factor

    for x in inputs:
        deltas = wg.gradients(loss(x, v, c), (v, c)).run()
        n = np.sqrt(sum(float(np.sum(np.square(d))) for d in deltas))
        assert n > 0.5
        loss(x, w, b).train().run(executor)
        loss(x, v, c, 0.5 / n).train().run(Sequential(compiled=False))
        np.testing.assert_allclose(w.data, v.data, rtol=1e-12)
        np.testing.assert_allclose(b.data, c.data, rtol=1e-12)


def test_two_groups_are_clipped_as_torch_does() -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch comes with the extra `benchmarks` only")
    chance = np.random.default_rng(4)
    starts, noise = [chance.standard_normal(s) for s in ((4, 3), (3,))], []
    groups = [Clipped(learning_rate=rate, max_norm=0.5) for rate in (0.1, 0.01)]
    weights = [g.array_weight(w) for g, w in zip(groups, starts, strict=True)]
    theirs = [torch.tensor(w, requires_grad=True) for w in starts]
    optimizer = torch.optim.SGD(
        [{"params": [t], "lr": rate} for t, rate in zip(theirs, (0.1, 0.01), strict=True)]
    )
    for _ in range(20):
        noise = [chance.standard_normal(w.shape) for w in starts]
        (wg.sum(weights[0] * noise[0]) + wg.sum(weights[1] * noise[1])).train().run()
        optimizer.zero_grad()
        loss: Any = sum((t * torch.tensor(g)).sum() for t, g in zip(theirs, noise, strict=True))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs, 0.5)
        optimizer.step()
    for w, t in zip(weights, theirs, strict=True):
        np.testing.assert_allclose(w.data, t.detach().numpy(), rtol=1e-5)


def test_what_a_part_to_the_left_is_told_counts_in_every_group() -> None:
    """`together` of all settings objects is called before any step; a part finds its own weights by `settings`."""

    class Halving(Optimizer[Any]):
        _halves = False

        def together(self, updates: Sequence[Update]) -> None:
            told.append(len(updates))
            for update in updates:
                if update.optimizer.settings is self.settings:
                    vars(update.optimizer)["_halves"] = True
            super().together(updates)

        def step(self, delta: Any, weight: Any) -> Any:
            return super().step(delta * 0.5 if self._halves else delta, weight)

    class Halved(Plugin):
        optimizer: ClassVar[type[Optimizer]] = Halving

    class Settings(Halved, ClipByGlobalNorm, LearningRate): ...

    told: list[int] = []
    a, b = (Settings(learning_rate=1.0, max_norm=1.0).double_weight(0.0) for _ in range(2))
    c = SGD(learning_rate=1.0).double_weight(0.0)
    for _ in range(2):
        (a * 6.0 + b * 8.0 + c).train().run()
    assert told == [3, 3, 3, 3]
    assert a.data == pytest.approx(-1.2) and b.data == pytest.approx(-1.6)


def test_a_part_that_hands_nothing_on_counts_as_zero() -> None:
    class Stopping(Optimizer[Any]):
        def step(self, delta: Any, weight: Any) -> Any:
            return delta * 0.0 if weight.name == "fixed" else super().step(delta, weight)

    class Stopped(Clipped):
        optimizer: ClassVar[type[Optimizer]] = Stopping

    settings = Stopped(learning_rate=1.0, max_norm=1.0)
    a, b = settings.double_weight(0.0), settings.double_weight(0.0, name="fixed")
    for _ in range(2):
        (a * 2.0 + b * 4.0).train().run()
    assert (a.data, b.data) == (-2.0, 0.0)


def test_below_the_norm_nothing_is_changed() -> None:
    w = Clipped(learning_rate=1.0, max_norm=5.0).array_weight(np.zeros(2))
    wg.sum(w * np.array([3.0, 4.0], np.float64)).train().run()
    assert w.data.tolist() == [-3.0, -4.0]
    wg.sum(w * 0.0).train().run()
    assert w.data.tolist() == [-3.0, -4.0]


def test_it_measures_what_reaches_it() -> None:
    class Before(ClipByGlobalNorm, L2Regularization, LearningRate): ...

    class After(L2Regularization, ClipByGlobalNorm, LearningRate): ...

    class Remembered(Momentum, ClipByGlobalNorm, LearningRate): ...

    ends = []
    for make in (Before, After):
        w = make(learning_rate=1.0, max_norm=1.0, l2=0.5).double_weight(4.0)
        (w * 3.0).train().run()
        ends.append(w.data)
    assert ends == [4.0 - (1.0 + 2.0), 4.0 - 1.0]
    w = Remembered(learning_rate=1.0, max_norm=1.0, momentum=0.5).double_weight(0.0)
    for d in (0.5, 0.5, 0.5):  # v = 0.5, 0.75, 0.875: measuring steps no state
        (w * d).train().run()
    assert w.data == -(0.5 + 0.75 + 0.875)


def test_decay_is_not_clipped_wherever_it_stands() -> None:
    class Left(WeightDecay, ClipByGlobalNorm, LearningRate): ...

    class Right(ClipByGlobalNorm, LearningRate, WeightDecay): ...

    for make in (Left, Right):
        w = make(learning_rate=0.5, max_norm=1.0, weight_decay=0.5).double_weight(4.0)
        (w * 3.0).train().run()
        assert w.data == 4.0 - 0.5 * 1.0 - 0.5 * 0.5 * 4.0


def test_no_square_is_too_large_for_the_dtype() -> None:
    settings = Clipped(learning_rate=1.0, max_norm=1.0)
    w, d = settings.array_weight(np.zeros(4, F32)), settings.double_weight(0.0)
    wg.sum(w * F32(3e30)).train().run()
    assert np.allclose(w.data, -0.5)
    (d * 1e200).train().run()
    assert d.data == -1.0


def test_what_is_not_finite_stays_so() -> None:
    settings = Clipped(learning_rate=1.0, max_norm=1.0)
    w = settings.array_weight(np.zeros(2))
    wg.sum(w * np.array([np.inf, 1.0], np.float64)).train().run()
    assert np.isnan(w.data[0])
    v = settings.array_weight(np.zeros(2))
    wg.sum(v * np.array([np.nan, 1.0], np.float64)).train().run()
    assert np.isnan(v.data[0])


def test_a_failure_to_the_left_changes_nothing() -> None:
    class Failing(Optimizer[Any]):
        def step(self, delta: Any, weight: Any) -> Any:
            if weight.name == "bad":
                raise ValueError("no")
            return super().step(delta, weight)

    class Bad(Clipped):
        optimizer: ClassVar[type[Optimizer]] = Failing

    settings = Bad(learning_rate=1.0, max_norm=1.0)
    a, b = settings.double_weight(0.0, name="good"), settings.double_weight(0.0, name="bad")
    with pytest.raises(ValueError, match="no"):
        (a + b).train().run()
    assert (a.data, b.data) == (0.0, 0.0)
