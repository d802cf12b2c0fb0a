"""`Parallel` gives what `Sequential` gives, and what can overlap does (D42, S5, S6, S7, S9, S10)."""

from __future__ import annotations

import threading
from collections.abc import Generator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam
from tests.run.counting import Boom, Counted, state_of, unregistered
from tests.run.divided import columns, dividing, identical, programs
from wengert import Do
from wengert.errors import ArgumentError, Failures
from wengert.plugins import SGD
from wengert.run import Parallel, Sequential
from wengert.run.threads.tasks import ScheduledProgram


def meeting(count: int = 2) -> Any:
    """The identity, each of whose rules waits until `count` threads are in it."""
    forth, back = threading.Barrier(count, timeout=10), threading.Barrier(count, timeout=10)

    def rule(case: Any, x: Any) -> Any:
        forth.wait()
        return x * 1.0

    def derivative(case: Any, g: Any, y: Any, x: Any) -> Any:
        back.wait()
        return g

    return unregistered("meet", rule, derivative)


class TestOverlap:
    """D42: operations that meet at a barrier finish, without notation, forward and backward."""

    def test_products_that_meet(self) -> None:
        meet, executor, settings = meeting(), Parallel(threads=2), SGD(learning_rate=0.125)
        a, b, c, d = (settings.double_weight(float(i)) for i in range(1, 5))
        twins = [settings.double_weight(float(i)) for i in range(1, 5)]
        for _ in range(12):  # more runs than a structure needs for a plan
            loss = (meet(a * b) + meet(c * d)).train().run(executor)
            e, f, g, h = twins
            assert loss == (e * f + g * h).train().run(Sequential(compiled=False))
        assert [w.data for w in (a, b, c, d)] == [w.data for w in twins]
        wanted = wg.gradients(e * f + g * h, (e, h)).run()
        assert wg.gradients(meet(a * b) + meet(c * d), (a, d)).run(executor) == wanted
        wanted_sum = (e * f + g * h).predict().run()
        assert (meet(a * b) + meet(c * d)).predict().run(executor) == wanted_sum

    def test_three_that_meet_need_three_threads(self) -> None:
        meet, w = meeting(3), SGD(learning_rate=0.5).double_weight(1.0)
        loss = meet(w * 1.0) + meet(w * 2.0) + meet(w * 3.0)
        assert loss.train().run(Parallel(threads=3)) == 6.0
        assert w.data == -2.0

    def test_deltas_are_added_in_the_order_of_one_thread(self) -> None:
        def late(case: Any, g: Any, y: Any, x: Any) -> Any:
            threading.Event().wait(0.001 * (x > 1.0))
            return g

        slow = unregistered("slow", lambda case, x: x * 1.0, late)
        w, twin = (SGD(learning_rate=1.0).double_weight(0.1) for _ in range(2))
        executor = Parallel(threads=4)
        for i in range(10):
            for x, by in ((w, executor), (twin, Sequential(compiled=False))):
                parts = [slow(x * (0.1 * k + i)) * 10.0 ** (k - 4) for k in range(9)]
                sum(parts[1:], parts[0]).train().run(by)
            assert w.data == twin.data


class TestFailures:
    """S6 and S7: several failing branches are one group, each with its note; nothing has changed."""

    @pytest.mark.parametrize("where", ["forward_failure", "backward_failure"])
    def test_both_branches_fail(self, where: str) -> None:
        met = threading.Barrier(2, timeout=10)

        def boom() -> Exception:
            met.wait()
            return Boom()

        f, g = Counted("f"), Counted("g")
        setattr(f, where, boom)
        setattr(g, where, boom)
        w = WithAdam(learning_rate=0.1).double_weight(1.0)
        before = state_of(w)
        with pytest.raises(Failures) as failure:
            (f.apply(w * 2.0) * g.apply(w * 3.0)).train().run(Parallel(threads=2))
        assert [type(x) for x in failure.value.exceptions] == [Boom, Boom]
        assert all(any(__file__ in note for note in x.__notes__) for x in failure.value.exceptions)
        assert state_of(w) == before

    def test_one_branch_fails_and_the_other_is_done(self) -> None:
        f, g, h = Counted("f"), Counted("g"), Counted("h")
        f.forward_failure = Boom
        w = SGD(learning_rate=0.1).double_weight(1.0)
        with pytest.raises(Boom):
            (f.apply(w * 2.0) * h.apply(g.apply(w * 3.0))).train().run(Parallel(threads=2))
        assert (f.calls, g.calls, h.calls) == ((1, 0), (1, 0), (1, 0))
        assert w.data == 1.0

    def test_in_a_divided_plan(self) -> None:
        executor, f = dividing(), Counted("f")
        weights, loss = columns(SGD(learning_rate=0.1))

        def run(i: int) -> None:
            (f.apply(wg.mean(weights[0])) * 0.1 + loss(i)).train().run(executor)

        for i in range(4):
            run(i)
        assert any(isinstance(p.chosen, ScheduledProgram) for p in programs(executor))
        before = [np.array(w.data) for w in weights]
        for where in ("forward_failure", "backward_failure"):
            setattr(f, where, Boom)
            with pytest.raises(Boom) as failure:
                run(5)
            assert any(__file__ in note for note in failure.value.__notes__)
            identical([np.array(w.data) for w in weights], before)
            setattr(f, where, None)
        run(6)
        assert (np.array(weights[0].data) != before[0]).any()

    def test_a_cancelled_run_stops_and_releases(self) -> None:
        inside, go_on, released, after = threading.Barrier(3, timeout=10), threading.Event(), [], Counted()

        def rule(case: Any, x: Any) -> Any:
            inside.wait()
            go_on.wait(10)
            return x * 1.0

        @contextmanager
        def opened() -> Generator[None]:
            try:
                yield
            finally:
                released.append(True)

        waits = unregistered("waits", rule, lambda case, g, y, x: g)
        w = SGD(learning_rate=0.1).double_weight(1.0)
        loss = after.apply(waits(w * 2.0)) * after.apply(waits(w * 3.0))
        started = Do.resource(opened).flat_map(lambda _: loss.train()).start(Parallel(threads=2))
        inside.wait()
        started.cancel()
        go_on.set()
        with pytest.raises(CancelledError):
            started.result(10)
        assert (released, after.forward, w.data) == ([True], [], 1.0)


def test_the_number_of_threads_is_one_or_more() -> None:
    for threads in (0, -1, 1.5):
        with pytest.raises(ArgumentError, match="from 1 on"):
            Parallel(threads=threads)  # type: ignore[arg-type] # 1.5 is what is tested
    assert Parallel().threads >= 1
