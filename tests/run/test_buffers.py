"""`settings.buffer`, `update` and `with_update`: what a run computes and commits, and no derivative sees."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager
from tests.run.test_assignment import RUNS, each
from wengert.errors import ArgumentError, DTypeError, NonFiniteError, NotDifferentiableError, ShapeError
from wengert.plugins import SGD, FailOnNonFinite

X = np.random.default_rng(0).normal(size=(5, 3))
Parts = tuple[wg.ArrayWeight[Any, np.float64], wg.Buffer[Any, np.float64]]


def _parts() -> Parts:
    settings = SGD(learning_rate=0.1)
    weight = settings.array_weight(np.linspace(-1.0, 1.0, 12).reshape(3, 4), name="weight")
    return weight, settings.buffer(np.zeros(4), name="seen")


def _loss(weight: Any, seen: Any, rate: float = 0.5) -> Any:  # Any: a weight and a buffer
    h = X @ weight
    return wg.mean(wg.square(wg.with_update(h - seen, seen, wg.mean(h, axis=0), rate=rate)))


@each
def test_only_a_training_changes_it_and_to_what_its_run_computed(executor: wg.run.Sequential) -> None:
    weight, seen = _parts()
    wanted = np.zeros(4)
    for _ in range(RUNS):
        loss, held = _loss(weight, seen), seen.data.copy()
        before = loss.predict().run(executor)
        wg.gradients(loss, (weight,)).run(executor)
        assert np.array_equal(seen.data, held)
        wanted = wanted + 0.5 * ((X @ weight.data).mean(axis=0) - wanted)
        assert loss.train().run(executor) == pytest.approx(before, rel=1e-12)
        np.testing.assert_allclose(seen.data, wanted, rtol=1e-12)


@each
def test_no_derivative_goes_by_way_of_it(executor: wg.run.Sequential) -> None:
    weight, seen = _parts()
    wg.assign({seen: np.arange(4.0)}).run()
    h = X @ weight - np.arange(4.0)
    (wanted,) = wg.gradients(wg.mean(wg.square(h)), (weight,)).run(executor)
    loss = _loss(weight, seen)
    for _ in range(RUNS):
        (found,) = wg.gradients(loss, (weight,)).run(executor)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    (layer,) = wg.gradients(loss, (weight,)).layers
    np.testing.assert_allclose(layer.predict().run(executor), wanted, rtol=1e-12)
    with pytest.raises(NotDifferentiableError, match=r"<Buffer 'seen'.*has no derivative: it is a buffer"):
        wg.gradients(loss, (seen,))  # type: ignore[arg-type] # what is refused


@each
def test_what_a_training_does_not_depend_on_changes_nothing(executor: wg.run.Sequential) -> None:
    weight, seen = _parts()
    for _ in range(RUNS):
        (wg.stop_gradient(_loss(weight, seen)) + wg.mean(weight)).train().run(executor)
    assert not seen.data.any()


@each
def test_a_frozen_network_counts(executor: wg.run.Sequential) -> None:
    _, seen = _parts()
    for _ in range(RUNS):
        wg.sum(wg.with_update(X, seen, np.ones(4), rate=0.5)).train().run(executor)
    np.testing.assert_allclose(seen.data, 1.0 - 0.5**RUNS)


@each
def test_several_updates_at_one_rate_are_as_many_steps_to_their_mean(executor: wg.run.Sequential) -> None:
    weight, seen = _parts()
    for _ in range(RUNS):
        wg.assign({seen: np.zeros(4)}).run(executor)
        y = weight * 1.0
        for i in (1.0, 2.0, 6.0):
            y = wg.with_update(y * 1.5, seen, np.full(4, i, np.float64), rate=0.1)
        wg.sum(y).train().run(executor)
        np.testing.assert_allclose(seen.data, 3.0 * (1.0 - 0.9**3), rtol=1e-12)


@each
@pytest.mark.parametrize("rates", [(1.0, 1.0), (0.5, 0.1), (1.0, 0.1)])
def test_updates_that_are_not_one_step_are_refused(
    executor: wg.run.Sequential, rates: tuple[float, float]
) -> None:
    weight, seen = _parts()
    before = weight.data
    for _ in range(RUNS):
        with pytest.raises(
            ArgumentError, match="the data of a weight or buffer are set in this run, and set"
        ):
            (_loss(weight, seen, rates[0]) + _loss(weight, seen, rates[1])).train().run(executor)
        with pytest.raises(ArgumentError, match="set in this run"):
            wg.gather(_loss(weight, seen).train(), wg.assign({seen: np.zeros(4)})).run(executor)
    assert not seen.data.any()
    assert np.array_equal(weight.data, before)


@each
def test_an_update_is_part_of_the_transaction_around_it(executor: wg.run.Sequential) -> None:
    weight, seen = _parts()
    for _ in range(RUNS):
        total = wg.sum(weight, axis=0)
        got, _, then = wg.gather(wg.mean(weight).train(), wg.update(seen, total), total.predict()).run(
            executor
        )
        assert np.array_equal(seen.data, then)
        assert got == pytest.approx(then.sum() / 12.0)
    before, kept = weight.data, seen.data
    wrong = wg.take(weight, np.array([7]))
    for parts in (
        wg.gather(_loss(weight, seen).train(), wrong.predict()),
        wg.gather(wg.update(seen, wg.sum(weight, axis=0)), wrong.predict()),
    ):
        with pytest.raises(IndexError):
            parts.run(executor)
    assert np.array_equal(seen.data, kept)
    assert np.array_equal(weight.data, before)


@each
def test_a_refused_step_leaves_it_as_it_was(executor: wg.run.Sequential) -> None:
    class Settings(FailOnNonFinite, SGD): ...

    settings = Settings(learning_rate=0.1)
    weight, seen = settings.array_weight(np.zeros(4)), settings.buffer(np.zeros(4))
    kept = seen.data
    for factor in (1.0,) * RUNS + (np.inf,):
        loss = wg.sum(wg.with_update(weight, seen, weight + 1.0)) * factor
        if factor == 1.0:
            loss.train().run(executor)
            kept = seen.data
        else:
            with pytest.raises(NonFiniteError):
                loss.train().run(executor)
    assert np.array_equal(seen.data, kept)
    assert kept.any()


def test_updates_of_many_threads_are_serial() -> None:
    counter = SGD(learning_rate=0.1).buffer(np.zeros(()))
    counting = wg.update(counter, counter + 1.0)
    with ThreadPoolExecutor(4) as threads:
        for future in [threads.submit(counting.run) for _ in range(100)]:
            future.result()
    assert counter.data == 100.0


def test_a_training_with_updates_has_a_plan_that_makes_them() -> None:
    weight, seen = _parts()
    executor, plans = eager(worth=2)
    for _ in range(4):
        loss = _loss(weight, seen)
        loss.train().run(executor)
    bound = plans.find(_loss(weight, seen), "train")
    assert bound is not None
    assert bound.plan.updating
    assert any(x is seen for x in bound.weights)


@each
def test_a_bind_in_the_way(executor: wg.run.Sequential) -> None:
    weight, seen = _parts()

    @wg.differentiable
    async def chosen(h: wg.ArrayLayer[Any, np.float64]) -> wg.ArrayLayer[Any, np.float64]:
        return wg.with_update(h, seen, wg.mean(h, axis=0), rate=0.5) if (await h).any() else h

    for _ in range(RUNS):
        wanted = seen.data + 0.5 * ((X @ weight.data).mean(axis=0) - seen.data)
        wg.mean(wg.square(chosen(X @ weight))).train().run(executor)
        np.testing.assert_allclose(seen.data, wanted, rtol=1e-12)


@each
def test_other_data_for_a_run(executor: wg.run.Sequential) -> None:
    weight, seen = _parts()
    loss = _loss(weight, seen)
    ones = np.ones(4)
    wanted = np.mean((X @ weight.data - ones) ** 2)
    for _ in range(RUNS):
        assert loss.predict(at={seen: ones}).run(executor) == pytest.approx(wanted, rel=1e-12)
    assert not seen.data.any()


def test_it_keeps_a_copy_and_shows_one_that_stays() -> None:
    given = np.zeros(4)
    seen = SGD(learning_rate=0.1).buffer(given, 4, name="seen")
    given[:] = 1.0
    shown = seen.data
    wg.update(seen, np.full(4, 2.0, np.float64)).run()
    assert not shown.any()
    assert (seen.data == 2.0).all()
    with pytest.raises(ValueError, match="read-only"):
        seen.data[0] = 1.0
    assert repr(seen) == "<Buffer 'seen' (4,) float64>"


def test_buffers_and_updates_go_through_pickle() -> None:
    _, seen = _parts()
    again = pickle.loads(pickle.dumps(wg.update(seen, seen + 1.0, rate=0.5)))
    again.run()
    assert not seen.data.any()
    copy = pickle.loads(pickle.dumps(seen))
    wg.update(copy, np.ones(4)).run()
    assert (copy.data == 1.0).all()


def test_what_is_no_update_is_refused_where_it_is_written() -> None:
    weight, seen = _parts()
    wrong: Any = weight
    with pytest.raises(
        ArgumentError, match=r"update: operand 1 is no buffer; settings\.buffer.*\n.*\n.*weight 'weight'"
    ):
        wg.update(wrong, weight)
    with pytest.raises(ShapeError, match=r"update: a value of shape \(5, 4\) for a buffer of \(4,\)"):
        wg.update(seen, X @ weight)
    narrow: Any = np.zeros(4, np.float32)
    with pytest.raises(DTypeError, match="update: a value of float32 for a buffer of float64; use astype"):
        wg.with_update(weight, seen, narrow)
    for rate in (0.0, 1.5, float("nan"), "x"):
        given: Any = rate
        with pytest.raises(ArgumentError, match="update: the rate is a number above 0, and at most 1; got"):
            wg.update(seen, np.zeros(4), rate=given)
    with pytest.raises(ArgumentError, match=r"apply: <Buffer 'seen'.*has no optimizer"):
        wg.apply({seen: np.zeros(4)})
    whole: Any = np.zeros(4, np.int64)
    with pytest.raises(DTypeError, match="buffer: an array of int64 is not differentiable"):
        SGD(learning_rate=0.1).buffer(whole)


@each
def test_numbers_are_counted_and_bring_updates(executor: wg.run.Sequential) -> None:
    """A scalar loss may bring an update, and a buffer of shape () takes the value of a scalar."""
    settings = SGD(learning_rate=0.1)
    number, small = settings.double_weight(2.0), settings.float_weight(3.0)
    count, seen = settings.buffer(np.zeros(())), settings.buffer(np.zeros(4, np.float32))
    for step in range(1, RUNS + 1):
        wg.update(count, count + 1.0).run(executor)
        assert count.data == step
        before = number.data
        loss = wg.with_update(number * number, seen, np.full(4, step, np.float32))
        assert loss.train().run(executor) == before * before
        assert seen.data.tolist() == [step] * 4
        before = number.data
        wg.with_update(number * number, count, number * 3.0).train().run(executor)
        assert count.data == before * 3.0
        wg.assign({count: np.array(float(step))}).run(executor)
        wg.with_update(small * small, seen, np.ones(4, np.float32), rate=0.5).train().run(executor)
        assert seen.data.tolist() == [(step + 1.0) / 2.0] * 4
    narrow: Any = settings.buffer(np.zeros((), np.float32))
    with pytest.raises(DTypeError, match="a value of float64 for a buffer of float32"):
        wg.with_update(number, narrow, number)
