"""`Batched` on several threads: the bits, reports and failures of one thread, and what may overlap does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.batching.histories import after
from tests.run.batching.trees import TreeLSTM, trees
from tests.run.counting import Boom, Counted, barrier, unregistered
from tests.run.divided import switching
from wengert import Do, errors
from wengert.graph.store import STORE
from wengert.plugins import SGD, Adam, LearningRate
from wengert.run import Batched, Sequential
from wengert.run.batching import bound
from wengert.run.fibers import TURN, in_turn
from wengert.run.threads.pool import Uses, needs_of
from wengert.run.threads.speculation import SpeculationTuner
from wengert.run.threads.tasks import Terms


class WithAdam(Adam, LearningRate): ...


@pytest.fixture(autouse=True)
def lanes_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Launches are on lanes from the second run on, and nothing is too small for threads, which switch often."""
    terms = Terms(handoff=0.0, timed=1, tried=0)
    monkeypatch.setattr(bound.Pass.__init__, "__defaults__", (terms,))
    monkeypatch.setattr(SpeculationTuner, "pays", lambda self, of: True)
    with switching():
        yield


def test_steps_in_turn_wait_for_their_turn_after_each_answer() -> None:
    """Between two answers trainings write to one evaluation: in a wave on several threads none may go on."""
    met: list[object] = []

    def training() -> Any:
        met.append((yield "values"))
        try:
            yield "more"
        except ValueError as failure:
            met.append(str(failure))
        return "loss"

    steps: Any = in_turn(training())
    assert [next(steps), next(steps), steps.send(1)] == [TURN, "values", TURN]
    assert met == []
    assert [steps.send(None), met] == ["more", [1]]
    assert steps.throw(ValueError("refused")) is TURN
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert (end.value.value, met) == ("loss", [1, "refused"])


class Ensemble:
    """Two tree networks with weights of their own, and one loss."""

    def __init__(self, settings: Any = None) -> None:  # Any: settings have no common type
        self.models = [TreeLSTM(4, np.float32, settings) for _ in range(2)]

    def loss(self, seed: int) -> Any:  # Any: a scalar layer
        a, b = (model.loss(trees(seed, 6)) for model in self.models)
        return a * b

    def data(self) -> list[bytes]:
        return [w.data.tobytes() for model in self.models for w in model.weights]


def trained(executor: Any, settings: Any = None, steps: int = 4) -> tuple[list[Any], list[bytes]]:
    model = Ensemble(settings)
    kept = model.loss(0)
    found = [kept.train().run(executor) for _ in range(steps)]
    found += [model.loss(k % 2).train().run(executor) for k in range(steps)]
    found += [model.loss(k % 2).predict().run(executor) for k in range(steps)]
    found += [x.tobytes() for x in wg.gradients(kept, tuple(model.models[0].weights)).run(executor)]
    return found, model.data()


@pytest.mark.parametrize("settings", [None, WithAdam(learning_rate=1e-2)], ids=["sgd", "adam"])
def test_launches_on_lanes_have_the_bits_and_the_report_of_one_thread(settings: Any) -> None:
    one, several = Batched(), Batched(threads=3)
    assert trained(one, settings) == trained(several, settings)
    assert not several.report.unbatched
    assert [*one.report.lines] == [*several.report.lines]
    for line, other in zip(one.report.lines.values(), several.report.lines.values(), strict=True):
        assert (line.launches, line.rows, line.views, line.gathers) == (
            other.launches, other.rows, other.views, other.gathers,
        )  # fmt: skip


def test_they_run_on_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[int] = []
    usual = bound.Pass._on_lanes

    def noticed(self: Any, launch: Any, of: Any) -> None:  # Any: as of the usual one
        tasks.append(len(of.parts))
        usual(self, launch, of)

    monkeypatch.setattr(bound.Pass, "_on_lanes", noticed)
    trained(Batched(threads=2))
    assert len(tasks) > 8
    assert min(tasks) > 1


def scaling(scale: Any) -> Any:  # Any: a weight, and a cell of one argument
    return wg.cell(lambda h: wg.tanh(h * scale + 0.3))


def scaled(executor: Any) -> list[bytes]:
    """The scales of two chains, to which every launch sends a sum of its own."""
    scales = [SGD(learning_rate=0.1).array_weight(np.linspace(0.4, 1.1, 5, dtype=np.float32)) for _ in "ab"]
    total: Any = 0.0  # Any: a scalar layer
    for scale in scales:
        cell = scaling(scale)
        for i in range(4):
            h: Any = wg.lift(np.linspace(i, 1.7, 5, dtype=np.float32))
            for _ in range(6):
                h = cell(h)
            total = total + wg.sum(h * h)
    for _ in range(4):
        total.train().run(executor)
    return [scale.data.tobytes() for scale in scales]


def test_a_sum_in_another_order_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent to a weight is added in the order of one thread: in the opposite one the bits are others."""
    expected = scaled(Batched())
    assert scaled(Batched(threads=2)) == expected
    monkeypatch.setattr("wengert.run.batching.execution._launched", lambda sent: -sent[0])
    assert scaled(Batched(threads=2)) != expected


@pytest.mark.parametrize("seed", few(range(8), 2))
def test_any_history_has_the_bits_of_one_thread(seed: int) -> None:
    acts = "tpkgtk"
    assert after(seed, acts, Batched) == after(seed, acts, lambda: Batched(threads=3))


def test_launches_that_use_the_same_rows_wait_for_each_other() -> None:
    use: Callable[..., Any] = Uses
    uses = [use(set(), {1}), use({1}, {2}), use({1}, {3}), use(set(), {1}), use({2, 3}, {4})]
    assert needs_of(uses) == [set(), {0}, {0}, {0, 1, 2}, {1, 2}]


def test_too_little_stays_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bound.Pass.__init__, "__defaults__", (Terms(handoff=10.0),))
    monkeypatch.setattr(bound.Pass, "_on_lanes", lambda *_: pytest.fail("handed to threads"))
    trained(Batched(threads=2))


def weight(value: float = 2.0) -> wg.DoubleWeight:
    return SGD(learning_rate=0.125).double_weight(value)


@wg.differentiable
async def asking(x: wg.DoubleLayer, wait: Callable[[], object]) -> wg.DoubleLayer:
    """Waits before, between and after questions."""
    wait()
    y = await (x * 2.0)
    wait()
    return x * y * await x


class TestFibers:
    def test_binds_and_what_is_in_them_overlap_from_the_first_run_on(self) -> None:
        w, twin = weight(), weight()
        for _ in range(5):
            wait = barrier(3).wait
            loss = asking(w * 1.0, wait) + asking(w * 0.5, wait) + asking(w * 3.0, wait)
            by_one = asking(twin * 1.0, int) + asking(twin * 0.5, int) + asking(twin * 3.0, int)
            assert loss.train().run(Batched(threads=3)) == by_one.train().run(Batched())
            assert w.data == twin.data

    def test_awaited_effects_overlap(self) -> None:
        w, met = weight(), barrier()

        @wg.differentiable
        async def effect(x: wg.DoubleLayer) -> wg.DoubleLayer:
            await Do.delay(met.wait)
            return x * await x

        assert (effect(w * 1.0) + effect(w * 2.0)).predict().run(Batched(threads=2)) == 4.0 + 16.0

    def test_trainings_in_branches_take_turns(self) -> None:
        def trains(executor: Any) -> list[Any]:  # Any: an interpreter, and what it gives
            w = weight(1.0)

            def branch(k: float) -> Do[float]:
                return Do.delay(int).flat_map(lambda _: (w * w * k).train()).map(lambda x: x + w.data)

            return [*wg.gather(branch(1.0), branch(2.0), branch(-3.0)).run(executor), w.data]

        for _ in range(10):
            assert trains(Batched(threads=3)) == trains(Sequential())

    def test_shared_effects_run_once(self) -> None:
        calls: list[int] = []
        once = Do.delay(lambda: calls.append(1)).shared()
        branches = [Do.delay(int).flat_map(lambda _: once) for _ in range(4)]
        wg.gather(*branches).run(Batched(threads=2))
        assert calls == [1]

    def test_many_rounds_before(self) -> None:
        w = weight(0.5)

        @wg.differentiable
        async def deep(x: wg.DoubleLayer, n: int) -> wg.DoubleLayer:
            for _ in range(n):
                x = x * 0.5 if await x > 0.1 else x + 1.0
            return x

        parts = [deep(w * float(k), 12) for k in range(1, 6)]
        loss = parts[0] + parts[1] + parts[2] * parts[3] + parts[4]
        assert loss.predict().run(Batched(threads=2)) == loss.predict().run(Batched())


class TestFaults:
    def test_a_launch_that_fails_changes_nothing_and_says_where(self) -> None:
        f, (a, b) = Counted("f"), (weight(), weight(3.0))
        f.forward_failure = Boom
        loss = f.apply(a * 1.0) + f.apply(b * 1.0) * 2.0
        for executor in (Batched(), Batched(threads=2)):
            with pytest.raises((Boom, errors.Failures)) as failure:
                loss.train().run(executor)
            inner = getattr(failure.value, "exceptions", [failure.value])
            assert all(any(__file__ in note for note in x.__notes__) for x in inner)
        assert (a.data, b.data) == (2.0, 3.0)

    def test_an_interrupt_in_a_launch_ends_the_run(self) -> None:
        calls: list[int] = []

        def rule(case: Any, x: Any) -> Any:  # Any: data
            calls.append(1)
            if len(calls) > 4:
                raise KeyboardInterrupt
            return x * 1.0

        f, a, b = unregistered("f", rule, lambda case, g, y, x: g), weight(), weight(3.0)
        loss = f(a * 1.0) * f(a * 2.0) + f(b * 1.0) * f(b * 2.0)
        executor = Batched(threads=2)

        def train() -> None:
            for _ in range(6):
                loss.train().run(executor)

        with pytest.raises(KeyboardInterrupt):
            train()
        calls.clear()
        assert not STORE.readers
        data = a.data, b.data
        assert loss.predict().run(executor) == 2.0 * (data[0] ** 2 + data[1] ** 2)

    def test_an_interrupt_in_a_fiber_lets_go(self) -> None:
        w = weight()

        def stop() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            (asking(w * 1.0, stop) + asking(w * 2.0, int)).train().run(Batched(threads=2))
        assert w.data == 2.0
        assert not STORE.readers

    def test_a_run_is_cancelled(self) -> None:
        w, met, go_on = weight(), barrier(3), threading.Event()

        def wait() -> None:
            met.wait()
            go_on.wait(10)

        started = (asking(w * 1.0, wait) + asking(w * 2.0, wait)).train().start(Batched(threads=2))
        met.wait()
        started.cancel()
        go_on.set()
        with pytest.raises(CancelledError):
            started.result(10)
        assert w.data == 2.0

    def test_runs_within_runs(self) -> None:
        w, other, executor = weight(), weight(3.0), Batched(threads=2)

        @wg.differentiable
        async def nested(x: wg.DoubleLayer, k: float) -> wg.DoubleLayer:
            inner = (other * k).predict().run(executor)
            return x * inner * await x

        found = (nested(w * 1.0, 2.0) + nested(w * 2.0, 3.0)).train().run(executor)
        assert found == 4.0 * 6.0 + 16.0 * 9.0

    @pytest.mark.parametrize("threads", [0, -1, 1.5, "two"])
    def test_what_is_no_number_of_threads_is_refused(self, threads: Any) -> None:
        with pytest.raises(errors.ArgumentError, match="Batched: `threads` is a number of threads"):
            Batched(threads=threads)
