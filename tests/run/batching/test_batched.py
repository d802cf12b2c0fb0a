"""`run.Batched()` gives what `run.Sequential()` gives (S9): trees, shared parts, drawn graphs, cells, all questions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.batching.trees import Layer, TreeLSTM, close, sequential, trained, trees
from tests.run.drawn import network
from wengert import run
from wengert.control import Executor
from wengert.plugins import SGD, Adam, LearningRate, Momentum


class Moving(Momentum, LearningRate): ...


class Adapting(Adam, LearningRate): ...


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_trees_train_as_one_by_one(dtype: Any, count: int) -> None:  # Any: an element type
    found = []
    for executor in (sequential(), run.Batched()):
        model = TreeLSTM(dtype=dtype)
        found.append(trained(model, lambda step: model.loss(trees(step, count)), executor))
    close(found[0], found[1], 1e-12 if dtype is np.float64 else 1e-5)


@pytest.mark.parametrize("settings", [Moving(learning_rate=0.1, momentum=0.5), Adapting(learning_rate=0.01)])
def test_a_weight_is_updated_once_a_run(settings: Any) -> None:  # Any: settings have no common type
    found = []
    for executor in (sequential(), run.Batched()):
        model = TreeLSTM(settings=settings)
        found.append(trained(model, lambda step: model.loss(trees(step, 4)), executor))
    close(found[0], found[1], 1e-10)


def drawn_run(seed: int, executor: Executor) -> list[Any]:  # Any: numbers and arrays
    weights, loss = network(seed, lambda: Moving(learning_rate=0.05, momentum=0.5))()
    seen: list[Any] = []
    for step in range(2):
        parts = [loss(10 * step + i) for i in range(1 + seed % 4)]
        total: Layer = 0.0
        for part in parts:
            total = total + part
        seen.append(float((total / len(parts)).train().run(executor)))
    return [*seen, *(w.data for w in weights), *wg.gradients(total, weights).run(executor)]


@pytest.mark.parametrize("seed", few(range(25), 3))
def test_drawn_graphs_agree(seed: int) -> None:
    batched = run.Batched()
    found = drawn_run(seed, sequential()), drawn_run(seed, batched)
    close(found[0], found[1], 1e-10 if np.asarray(found[0][2]).dtype == np.float64 else 3e-4)
    assert not any("failed" in one.reason for one in batched.report.unbatched.values())


def test_predict_gives_a_tuple_in_one_batch() -> None:
    model, batched = TreeLSTM(), run.Batched()
    several = tuple(model.state(tree)[0] for tree in trees(1, 6))
    found = wg.predict(several).run(batched)
    close(found, wg.predict(several).run(sequential()))
    widest = max(line.rows / line.launches for line in batched.report.lines.values())
    assert batched.report.runs == 1 and widest > 2


def test_gather_of_many_is_one_batch() -> None:
    model, batched = TreeLSTM(), run.Batched()
    several = [model.state(tree)[0] for tree in trees(1, 6)]
    found = wg.gather(*several).run(batched)
    close(found, [x.predict().run(sequential()) for x in several])
    assert batched.report.runs == 1


def test_gradients_at_inner_nodes_and_at_parts() -> None:
    model = TreeLSTM()
    h, c = model.state(((1, 2), (3, 4)))
    loss = wg.sum(h * 2.0) + wg.sum(wg.square(c)) + wg.sum(h * c)
    targets = (h, c, model.gates)
    close(wg.gradients(loss, targets).run(run.Batched()), wg.gradients(loss, targets).run(sequential()))


def test_gradients_inside_a_sum() -> None:
    w = SGD(learning_rate=0.1).double_weight(0.5)
    parts = [wg.square(w * float(i)) for i in range(5)]
    inner = parts[0] + parts[1] + parts[2]
    loss = inner + parts[3] + parts[4]
    found = wg.gradients(loss, (inner, parts[0], w)).run(run.Batched())
    assert found == (1.0, 1.0, 30.0)


def test_different_shapes_and_shared_parts_in_one_batch() -> None:
    def model(executor: Executor) -> list[Any]:  # Any: numbers and arrays
        settings = SGD(learning_rate=0.1)
        chance = np.random.default_rng(0)
        weights = [settings.array_weight(chance.normal(size=(n, n)) * 0.5) for n in (2, 3)]
        total: Layer = 0.0
        for n, w in zip((2, 3), weights, strict=True):
            for _ in range(3):
                x = np.ones(n)
                y = wg.tanh(x @ w)
                z = wg.tanh(y @ w)  # y is read three times
                total = total + wg.sum(z * y) + wg.mean(y)
        loss = float(total.train().run(executor))
        return [loss, *(w.data for w in weights)]

    close(model(sequential()), model(run.Batched()))


def test_a_dead_branch_gets_no_delta() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.array([1.0, 2.0], np.float64))
    dead = [wg.log(wg.stop_gradient(w) * 0.0) for _ in range(3)]  # -inf, and 0 times infinity is NaN
    total: Layer = 0.0
    for x in dead:
        total = total + wg.sum(wg.where(wg.greater(x, 0.0), x, 0.0)) + wg.sum(w)
    (found,) = wg.gradients(total, (w,)).run(run.Batched())
    np.testing.assert_array_equal(found, [3.0, 3.0])


def test_what_is_computed_before_a_dead_end_is_not_differentiated() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.array([0.0, 2.0], np.float64))
    total: Layer = 0.0
    for _ in range(3):
        y = 1.0 / (w * 1.0)  # its derivative is infinite where nothing may arrive
        total = total + wg.sum(wg.stop_gradient(y * 0.0 + 1.0)) + wg.sum(w)
    (found,) = wg.gradients(total, (w,)).run(run.Batched())
    np.testing.assert_array_equal(found, [3.0, 3.0])


def test_common_values_are_given_once() -> None:
    settings = SGD(learning_rate=0.1)
    w = settings.array_weight(np.random.default_rng(0).normal(size=(3, 3)))

    def loss() -> Layer:
        table = wg.tanh(w @ w)
        total: Layer = 0.0
        for i in range(4):
            total = total + wg.sum(wg.tanh(np.full(3, float(i), np.float64) @ table))
        return total

    close(
        [loss().predict().run(run.Batched()), *wg.gradients(loss(), (w,)).run(run.Batched())],
        [loss().predict().run(sequential()), *wg.gradients(loss(), (w,)).run(sequential())],
    )


def test_scalars_and_float32_numbers() -> None:
    settings = SGD(learning_rate=0.1)

    def model(executor: Executor) -> tuple[Any, ...]:  # Any: numbers
        w, v = settings.double_weight(0.5), settings.float_weight(0.25)
        a: Any = 0.0
        b: Any = 0.0
        for i in range(5):
            a = a + wg.square(w * float(i) - 1.0)
            b = b + wg.tanh(v * np.float32(i)) * v
        first, second = a.train().run(executor), b.train().run(executor)
        assert type(first) is float and type(second) is np.float32
        return first, second, w.data, v.data

    close(model(sequential()), model(run.Batched()), 1e-6)


def test_an_expression_that_is_kept_runs_again() -> None:
    model, batched = TreeLSTM(), run.Batched()
    loss = model.loss(trees(0, 5))
    other = TreeLSTM()
    same = other.loss(trees(0, 5))
    found = [float(loss.train().run(batched)) for _ in range(4)]
    expected = [float(same.train().run(sequential())) for _ in range(4)]
    close(found, expected)
    close([loss.predict().run(batched)], [same.predict().run(sequential())])


def test_a_weight_that_is_lifted_learns_in_every_run_of_a_kept_loss() -> None:
    def after_three(executor: Executor) -> Any:  # Any: an array
        w = SGD(learning_rate=0.1).array_weight(np.array([1.0, 2.0, -3.0], np.float64))
        scaled = w * np.array([2.0, 0.5, 1.0], np.float64)
        loss = wg.sum(scaled * wg.lift(w)) + wg.sum(scaled)  # two sums in a launch; the weight is a row
        for _ in range(3):
            loss.train().run(executor)
        return w.data

    close(after_three(run.Batched()), after_three(sequential()))


def test_a_weight_that_is_lifted_is_a_row_like_others() -> None:
    def after(executor: Executor) -> Any:  # Any: an array
        settings = SGD(learning_rate=0.1)
        first, w = (settings.array_weight(np.array(x, np.float64)) for x in ([1.0, 2.0], [0.5, -0.5]))
        turn = wg.cell(lambda h, x: wg.tanh((h + x) * w))

        def read(length: int) -> Layer:
            h: Layer = wg.lift(first)
            for i in range(length):
                h = turn(h, np.full(2, float(i)))
            return h

        for _ in range(3):
            wg.sum(wg.stack([read(n) for n in (1, 2, 3)])).train().run(executor)
        return first.data, w.data

    batched = run.Batched()
    close(after(batched), after(sequential()))
    assert not batched.report.unbatched
    (turns,) = [one for one in batched.report.lines.values() if "lambda" in one.name]
    assert (turns.launches, turns.rows) == (9, 18), "three a run: the first of all read the weight"


def test_a_structure_that_is_rebuilt_has_other_literals() -> None:
    model, batched = TreeLSTM(), run.Batched()
    for words in ((1, 2, 3), (4, 5, 6), (0, 0, 0)):
        a, b, c = words
        loss = model.loss([((a, b), c), (c, (b, a))])
        close([loss.predict().run(batched)], [loss.predict().run(sequential())])


def test_a_weight_and_a_literal_predict() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.ones(3))
    batched = run.Batched()
    np.testing.assert_array_equal(w.predict().run(batched), np.ones(3))
    assert wg.lift(2.0).predict().run(batched) == 2.0
    assert wg.predict((w, wg.lift(2.0))).run(batched)[1] == 2.0


def test_backward_by_hand_trains() -> None:
    w = SGD(learning_rate=0.1).double_weight(1.0)
    loss = wg.square(w * 2.0) + wg.square(w * 3.0)
    loss.forward.flat_map(lambda tape: wg.Do.delay(lambda: tape.backward(wg.Do.now(1.0)).run())).run(
        run.Batched()
    )
    assert w.data == pytest.approx(1.0 - 0.1 * 26.0)


def test_infinity_below_a_dead_end_leaves_no_nan() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.array([1000.0, 2.0], np.float64))
    total: Layer = 0.0
    for _ in range(3):
        y = wg.exp(w * 1.0)  # infinite: 0 times it is NaN
        total = total + wg.sum(wg.stop_gradient(1.0 / y)) + wg.sum(w)
    (found,) = wg.gradients(total, (w,)).run(run.Batched())
    np.testing.assert_array_equal(found, [3.0, 3.0])


def test_a_later_round_differentiates_what_was_a_dead_end_before() -> None:
    def model(executor: Executor) -> tuple[float, float]:
        w = SGD(learning_rate=0.1).double_weight(0.5)

        @wg.differentiable
        async def late(x: wg.DoubleLayer) -> wg.DoubleLayer:
            y = wg.exp(x * w)
            z = y * w
            await (wg.stop_gradient(y) + z)
            return y * z

        total: Layer = 0.0
        for i in range(4):
            total = total + late(wg.lift(float(i)))
        return total.train().run(executor), w.data

    close(model(sequential()), model(run.Batched()))


def test_what_is_no_agreement_is_seen() -> None:
    with pytest.raises(AssertionError):
        close([1.0], [1.0 + 1e-9])
    with pytest.raises(AssertionError):
        close([1.0, 2.0], [1.0])


def test_equal_operands_in_a_row_are_written_once_in_a_report() -> None:
    batched = run.Batched()
    w = SGD(learning_rate=0.1).array_weight(np.ones(3))
    rows = [w * float(i) for i in range(100)]
    wg.predict(wg.stack(rows)).run(batched)
    assert "stack(100 x (3,) float64)" in str(batched.report)
    assert max(map(len, str(batched.report).splitlines())) < 120
