"""`profile`: the right rows with the right counts, own times that add up, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import threading
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from tests.run.counting import Counted
from tests.run.planned import untimed
from wengert import run
from wengert.control import Context, Steps, replace_executors
from wengert.plugins import SGD, Backend, Logging, Plugin
from wengert.profiling import Profile, Row, profile
from wengert.run import Batched, Sequential

Weight = wg.ArrayWeight[Any, np.float32]


def weight() -> Weight:
    return SGD(learning_rate=0.01).array_weight(np.ones((8, 4), np.float32), name="w")


def rows(p: Profile) -> dict[str, Row]:
    """By operation; those that stand on one line only."""
    return {row.operation: row for row in p.rows}


def calls(row: Row) -> tuple[int, int, int, int]:
    return row.forward.calls, row.backward.calls, row.update.calls, row.plan.calls


def test_each_operation_has_its_line_and_its_counts() -> None:
    w = weight()
    with profile() as p:
        for _ in range(20):  # more than a plan needs
            loss = wg.mean(wg.exp(w))
            line = inspect.stack()[0].lineno - 1
            loss.train().run()
        wg.exp(w).predict().run()
    found = {(row.operation, row.line): calls(row) for row in p.rows}
    assert found["mean", f"{__file__}:{line}"] == (20, 20, 0, 0)
    assert found["exp", f"{__file__}:{line}"] == (20, 20, 0, 0)
    assert found["exp", f"{__file__}:{line + 3}"] == (1, 0, 0, 0)
    assert found["update by SGD", w.site] == (0, 0, 20, 0)
    assert found["commit", ""] == (0, 0, 20, 0)


def test_values_are_those_without_a_profile() -> None:
    w, v = weight(), weight()
    with profile():
        for _ in range(3):
            wg.mean(wg.square(w * 0.5)).train().run()
    for _ in range(3):
        wg.mean(wg.square(v * 0.5)).train().run()
    assert w.data.tobytes() == v.data.tobytes()
    with profile() as p:
        (found,) = wg.gradients(wg.sum(w * w), (w,)).run()
    assert np.array_equal(found, 2 * w.data)
    assert calls(rows(p)["multiply"]) == (1, 1, 0, 0)


def test_own_times_add_up_to_no_more_than_the_whole() -> None:
    w = weight()

    @wg.cell
    def inner(x: wg.ArrayLayer) -> wg.ArrayLayer:
        return wg.tanh(wg.exp(x))

    @wg.cell
    def outer(x: wg.ArrayLayer) -> wg.ArrayLayer:
        return inner(inner(x)) * 2.0

    with profile() as p:
        for _ in range(5):
            wg.sum(outer(wg.sin(w))).train().run()
    found = rows(p)
    assert 0.0 < sum(row.seconds for row in p.rows) <= p.seconds
    assert all(cost.seconds >= 0.0 for row in p.rows for cost in row.costs.values())
    assert calls(found["outer"]) == calls(found["sin"]) == (5, 5, 0, 0)
    assert calls(found["inner"]) == calls(found["tanh"]) == calls(found["exp"]) == (10, 10, 0, 0)


def test_what_a_bind_chooses_is_told_and_its_waiting_is_nobodys_time() -> None:
    w = weight()

    @wg.differentiable
    async def chosen(x: wg.ArrayLayer) -> wg.ArrayLayer:
        value = await x
        return wg.exp(x) if value[0, 0] > 0.0 else wg.log(x)

    with profile() as p:
        for _ in range(3):
            wg.sum(chosen(wg.sin(w))).train().run()
    found = rows(p)
    assert calls(found["bind"]) == (3, 0, 0, 0)
    assert found["bind"].seconds == 0.0
    assert calls(found["exp"]) == calls(found["sum"]) == (3, 3, 0, 0)
    assert "log" not in found


def test_several_threads_are_summed() -> None:
    w = weight()
    loss = wg.sum(wg.exp(w))

    def work() -> None:
        for _ in range(10):
            loss.predict().run()

    threads = [threading.Thread(target=work) for _ in range(3)]
    with profile() as p:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert calls(rows(p)["exp"]) == (30, 0, 0, 0)
    assert "on 3 threads" in p.table()


@pytest.mark.parametrize("executor", [run.Sequential(compiled=False), run.Parallel(threads=2)])
def test_an_executor_that_is_named_is_timed_too(executor: Any) -> None:
    w = weight()
    with profile() as p:
        wg.sum(wg.exp(w)).train().run(executor)
    assert calls(rows(p)["exp"]) == (1, 1, 0, 0)
    assert p.missed == {}


def test_runs_that_are_started_and_awaited_are_timed() -> None:
    w = weight()

    async def awaited() -> None:
        await wg.sum(wg.exp(w)).train()

    with profile() as p:
        wg.sum(wg.exp(w)).train().start().result()
        asyncio.run(awaited())
    assert sum(row.forward.calls for row in p.rows if row.operation == "exp") == 2
    assert sum(row.update.calls for row in p.rows if row.operation == "update by SGD") == 2


class Absolute(Plugin):
    rules: ClassVar[dict[Any, Any]] = {wg.relu: lambda case, x: abs(x)}


class Settings(Absolute, Backend, SGD): ...


def test_rules_that_settings_bring_keep_their_meaning_and_have_their_rows() -> None:
    v, w = (Settings(learning_rate=0.5).array_weight(np.array([-1.0, 2.0], np.float64)) for _ in range(2))

    @wg.differentiable
    async def twice(x: Any) -> wg.ArrayLayer[tuple[()], np.float64]:
        seen = await wg.sum(wg.relu(x))
        made: wg.ArrayLayer[tuple[()], np.float64] = wg.sum(wg.relu(x * 2.0)) * float(seen)
        return made

    for _ in range(3):
        twice(v).train().run()
    with profile() as p:
        assert wg.relu(w).predict().run().tolist() == [1.0, 2.0]
        for _ in range(3):
            twice(w).train().run()
    assert v.data.tobytes() == w.data.tobytes()
    assert sum(row.forward.calls for row in p.rows if row.operation == "relu") == 7
    assert sum(row.backward.calls for row in p.rows if row.operation == "relu") == 3
    assert "unless its operations have other rules" in p.table()
    with profile(compiled=True) as p:
        for _ in range(12):
            wg.relu(w).predict().run()
    assert "No structure had a plan" in p.table()


def test_other_rules_keep_their_meaning() -> None:
    executor = run.Sequential(rules={wg.relu: lambda case, x: abs(x)})
    with profile() as p:
        assert wg.relu(wg.lift(-2.0)).predict().run(executor) == 2.0
    assert calls(rows(p)["relu"]) == (1, 0, 0, 0)


class OnesOwn(Sequential):
    """An executor of somebody who changes what a prediction is."""

    def predict(self, expression: object, context: Context, /) -> Steps[Any]:
        return (yield from super().predict(expression, context)) + 1.0


def test_an_executor_of_others_is_left_alone_and_counted() -> None:
    with profile() as p:
        assert wg.exp(wg.lift(0.0)).predict().run(OnesOwn()) == 2.0
    assert p.missed == {"OnesOwn": 1}
    assert p.rows == ()
    assert "1 runs by OnesOwn were not timed." in p.table()


def test_what_ran_batched_is_told_by_its_report_and_not_by_a_plan_that_never_was() -> None:
    with profile() as p:
        assert wg.exp(wg.lift(0.0)).predict().run(Batched()) == 1.0
    assert "1 runs by Batched were not timed; print its `report`." in p.table()
    assert "node by node" not in p.table()


def test_forward_by_hand_is_timed_with_its_commit() -> None:
    w = SGD(learning_rate=0.5).double_weight(2.0)
    with profile() as p:
        (w * 3.0).forward.flat_map(lambda tape: tape.backward(wg.Do.now(1.0)).run() or wg.Do.now(0)).run()
    assert w.data == 0.5
    assert calls(rows(p)["multiply"]) == (1, 1, 0, 0)
    assert calls(rows(p)["update by SGD"]) == (0, 0, 1, 0)


class Told(Logging, SGD): ...


def test_runs_that_are_logged_are_timed_too(caplog: pytest.LogCaptureFixture) -> None:
    w = Told(learning_rate=0.5).double_weight(2.0)
    with caplog.at_level(logging.DEBUG, "wengert"), profile() as p:
        wg.exp(w).train().run()
    assert len(caplog.records) == 3
    assert calls(rows(p)["exp"]) == (1, 1, 0, 0)
    assert calls(rows(p)["update by Told"]) == (0, 0, 1, 0)


class Boom(Exception): ...


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("celled", [False, True])
def test_a_failure_is_the_same_and_is_counted_once(direction: str, celled: bool) -> None:
    w = SGD(learning_rate=0.5).array_weight(np.ones(2, np.float32))
    counted = Counted(forward_failure=Boom) if direction == "forward" else Counted(backward_failure=Boom)
    function = wg.cell(lambda x: counted.apply(wg.exp(x))) if celled else counted.apply
    loss = wg.sum(function(w))
    with pytest.raises(Boom) as plain:
        loss.train().run()
    with pytest.raises(Boom) as timed, profile() as p:
        loss.train().run()
    assert timed.value.__notes__ == plain.value.__notes__
    assert w.data.tolist() == [1.0, 1.0]
    assert calls(rows(p)["counted"]) == ((1, 0, 0, 0) if direction == "forward" else (1, 1, 0, 0))


@pytest.mark.parametrize("executor", [untimed(run.Sequential()), untimed(run.Parallel(threads=2))])
def test_plans_run_and_are_rows_where_they_are_asked_for(executor: Any) -> None:
    w = weight()
    with profile(compiled=True) as p:
        for _ in range(20):
            wg.mean(wg.exp(w)).train().run(executor)
    found = rows(p)
    assert calls(found["making a plan"]) == (0, 0, 0, 1)
    interpreted = found["exp"].forward.calls
    assert 0 < interpreted < 10
    assert calls(found["plan of train"]) == (0, 0, 0, 20 - interpreted)
    assert "by their plans" in p.table()
    with profile(compiled=True) as p:
        wg.mean(wg.exp(w)).train().run(executor)
    own = {row.operation for row in p.rows}
    assert own == {"plan of train", "changes of a plan"}, "the executor's own plans are used"


def test_what_runs_in_batches_is_left_alone_and_counted() -> None:
    with profile() as p:
        assert wg.exp(wg.lift(0.0)).predict().run(run.Batched()) == 1.0
    assert p.missed == {"Batched": 1}


def test_a_plan_that_was_made_before_is_not_used_and_is_used_afterwards() -> None:
    w = weight()
    loss = wg.mean(wg.exp(w))
    for _ in range(12):
        loss.train().run()
    with profile() as p:
        loss.train().run()
    assert calls(rows(p)["exp"]) == (1, 1, 0, 0)
    loss.train().run()
    assert calls(rows(p)["exp"]) == (1, 1, 0, 0), "after the block nothing is recorded"


def test_the_scope_is_left_by_a_failure_and_the_outer_one_goes_on() -> None:
    w = weight()
    with profile() as outer:
        with suppress(KeyError), profile() as inner:
            wg.exp(w).predict().run()
            raise KeyError
        wg.sin(w).predict().run()
    assert set(rows(inner)) == {"exp"}
    assert set(rows(outer)) == {"sin"}
    assert replace_executors(None) is None


def test_a_record_holds_no_expression() -> None:
    w = weight()
    with profile() as p:
        wg.exp(w).predict().run()
        gc.collect()
        live = [
            x
            for x in gc.get_objects()
            if issubclass(type(x), wg.ArrayLayer) and x.site and x.site in rows(p)["exp"].line
        ]
    assert live == []


def test_the_table_is_cut_with_the_rest_in_a_line() -> None:
    w = weight()
    with profile() as p:
        wg.sum(wg.exp(wg.sin(w))).train().run()
    whole, cut = p.table(None).splitlines(), p.table(2).splitlines()
    assert len(whole) == 1 + len(p.rows) + 2
    assert cut[3].startswith(f"... and {len(p.rows) - 2} rows of ")
    assert cut[:3] == whole[:3] or len(cut[1]) != len(whole[1])  # columns are as wide as what is in them
    assert sum(float(line.split()[-1].rstrip("%")) for line in whole[1:-2]) == pytest.approx(100.0, abs=0.5)
