"""Binds and branches that go on at the same time, past their questions: with the bits and the order of one thread."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial, reduce
from operator import add
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.attacked import OPTIMIZERS
from tests.run.counting import Boom, Counted, barrier, left, unregistered
from tests.run.divided import identical, switching
from tests.run.drawn import MAKERS, Draw, Layer, network
from tests.run.planned import plain, trained
from tests.run.test_leaks import growth
from tests.run.waiting import NAMES, bind, counting_maker
from wengert import Do, DoubleLayer, Tape, gather
from wengert.errors import Failures
from wengert.graph.operand import external
from wengert.graph.store import STORE
from wengert.plugins import SGD
from wengert.run import Parallel, Sequential
from wengert.run.fibers import Fiber
from wengert.run.threads import speculation, tasks
from wengert.run.threads.pool import ThreadPool
from wengert.run.threads.speculation import SpeculationTuner, SpeculativeEvaluation, functions_of


def weight(value: float = 1.0) -> wg.DoubleWeight:
    return SGD(learning_rate=0.125).double_weight(value)


def ahead(threads: int = 2) -> Parallel:
    """An interpreter that never takes anything for too small."""
    executor = Parallel(threads, compiled=False)
    executor.tuner.learn = lambda of, alone: None  # type: ignore[method-assign] # what the test is about
    return executor


def waiting(d: Draw, pool: list[Layer]) -> Layer:
    """A bind whose tape is the evaluation's own."""
    x, y = d.pick(pool), d.pick(pool)

    async def asks() -> Layer:
        return wg.tanh(x) if float(np.asarray(await wg.sum(y))) > 0 else x * 0.5

    return external(Do.coroutine(asks).flat_map(lambda layer: layer.forward), x.kind)


def run_all(pool: ThreadPool, works: Any, tasks: Any) -> bool:  # Any: as of `run`
    """A job that is open from the beginning, and lasts."""
    usual_run(pool, works, tasks)
    return False


usual_run = ThreadPool.run


@contextmanager
def helped_at_once() -> Generator[None]:
    """No job is given a moment to end alone, and threads change as often as Python lets them."""
    usual = ThreadPool.run
    with (
        patch.object(ThreadPool, "run", lambda self, works, tasks, deferred=False: usual(self, works, tasks)),
        switching(),
    ):
        yield


def drawn(seed: int, executor: Any) -> tuple[list[Any], object]:  # Any: an interpreter; losses and data
    """Four steps of a random network with binds, and how often a rule in it was called."""
    counted = Counted()
    makers = (*MAKERS, *[bind] * 9, counting_maker(counted))
    made = network(seed, OPTIMIZERS[NAMES[seed % len(NAMES)]], makers)
    with helped_at_once():
        return trained(made, executor, 4), counted.calls


def differs(a: list[Any], b: list[Any]) -> bool:  # Any: losses and data
    """Whether `identical` says so."""
    try:
        identical(a, b)
    except AssertionError:
        return True
    return False


@wg.differentiable
async def meeting(x: DoubleLayer, *meets: Callable[[], object]) -> DoubleLayer:
    """Asks for a value before each meeting."""
    for meet in meets:
        await (x * 2.0)
        meet()
    return x * await x


class TestOverlap:
    def test_binds_that_meet_between_their_questions(self) -> None:
        w, twin = weight(3.0), weight(3.0)
        for _ in range(10):
            first, second = barrier(), barrier()
            meets = (first.wait, second.wait)
            loss = (meeting(w * 2.0, *meets) + meeting(w * 0.5, *meets)).train().run(Parallel(threads=2))
            assert loss == (meeting(twin * 2.0) + meeting(twin * 0.5)).train().run(Sequential())
            assert w.data == twin.data

    def test_a_bind_and_an_operation_that_depends_on_another_bind(self) -> None:
        met, w = barrier(), weight(2.0)
        meet = unregistered("meet", lambda case, x: (met.wait(), x * 1.0)[1], lambda case, g, y, x: g)
        loss = meet(meeting(w * 1.0)) + meeting(w * 3.0, met.wait)
        assert loss.train().run(Parallel(threads=2)) == 4.0 + 36.0
        assert w.data == 2.0 - 0.125 * (2.0 + 18.0)

    def test_binds_in_binds_that_meet(self) -> None:
        met, w = barrier(3), weight(2.0)

        @wg.differentiable
        async def leaf(x: DoubleLayer) -> DoubleLayer:
            await x
            met.wait()
            return x * 2.0

        @wg.differentiable
        async def fork(x: DoubleLayer, y: DoubleLayer) -> DoubleLayer:
            return x * await leaf(y)

        loss = fork(w * 1.0, w * 2.0) + fork(w * 3.0, w * 4.0) + leaf(w * 5.0)
        assert loss.predict().run(Parallel(threads=3)) == 2.0 * 8.0 + 6.0 * 16.0 + 20.0

    def test_branches_of_gathers_in_binds_meet_after_their_questions(self) -> None:
        met, w = barrier(4), weight(2.0)

        def branch(x: DoubleLayer) -> Do[float]:
            return Do.now(x).flat_map(lambda x: x.forward).map(lambda tape: (met.wait(), tape.data)[1])

        @wg.differentiable
        async def fork(x: DoubleLayer, y: DoubleLayer) -> DoubleLayer:
            a, b = await gather(branch(x), branch(y))
            return x * a + y * b

        loss = fork(w * 1.0, w * 2.0) + fork(w * 3.0, w * 4.0)
        assert loss.train().run(Parallel(threads=4)) == 2.0**2 * (1 + 4 + 9 + 16)
        assert w.data == 2.0 - 0.125 * 2.0 * (1 + 4 + 9 + 16)

    def test_what_two_binds_ask_for_is_computed_once(self) -> None:
        f, w, met = Counted("f"), weight(2.0), barrier()
        shared = f.apply(w * 3.0)

        @wg.differentiable
        async def asks(x: DoubleLayer) -> DoubleLayer:
            met.wait()
            return x * await shared

        for _ in range(20):
            (asks(w * 1.0) + asks(w * 2.0)).predict().run(Parallel(threads=2))
        assert f.calls == (20, 0)

    @pytest.mark.parametrize("own", [False, True])
    def test_what_has_gone_ahead_is_not_computed_again_for_what_is_made_of_it(self, own: bool) -> None:
        f, w = Counted("f"), weight(2.0)
        shared = f.apply(w * 3.0)

        @wg.differentiable
        async def in_turn(x: DoubleLayer) -> DoubleLayer:
            await wg.gradients(x, (w,))  # which has its turn only
            return x * await (shared * 2.0)

        @wg.differentiable
        async def asks(x: DoubleLayer) -> DoubleLayer:
            return x * await shared

        def loss() -> DoubleLayer:
            return in_turn(w * 1.0) + asks(w * 2.0)

        async def by_hand() -> None:
            tape = await loss().forward
            await Do.now(tape.backward(Do.now(1.0)).run())

        trains: Do[Any] = Do.coroutine(by_hand) if own else loss().train()
        with helped_at_once():
            for runs in range(1, 6):
                trains.run(ahead())
                assert f.calls == (runs, 0)


class TestOrder:
    @pytest.mark.parametrize("seed", few(range(2, 26), 2))
    def test_random_graphs_with_binds_have_the_bits_of_one_thread(self, seed: int) -> None:
        found, calls = drawn(seed, plain())
        for executor in (ahead(2 + seed % 3), ahead(4)):
            others, their_calls = drawn(seed, executor)
            identical(found, others)
            assert calls == their_calls

    @pytest.mark.nightly
    @pytest.mark.parametrize("first", range(26, 402, 47))
    def test_nor_do_hundreds_of_them_differ_with_plans_and_without(self, first: int) -> None:
        for seed in range(first, first + 47):
            found, calls = drawn(seed, plain())
            for threads in (2, 4):
                others, their_calls = drawn(seed, ahead(threads))
                identical(found, others)
                assert calls == their_calls
                identical(found, drawn(seed, Parallel(threads))[0])

    @pytest.mark.slow
    def test_random_graphs_find_deltas_that_are_added_as_they_come(self) -> None:
        def backwards(sent: list[tuple[int, Any]]) -> Any:  # Any: deltas
            return reduce(add, [delta for _, delta in sorted(sent, key=lambda pair: -pair[0])])

        # whether a graph has a sum of three that threads have a part in is a matter of moments: one of many has
        with patch.object(tasks, "_sum", backwards):
            differ = (differs(drawn(seed, plain())[0], drawn(seed, ahead(4))[0]) for seed in range(2, 402))
            assert any(differ)

    def test_deltas_are_added_in_the_order_of_one_thread(self) -> None:
        @wg.differentiable
        async def slow(x: DoubleLayer, scale: float, wait: float) -> DoubleLayer:
            threading.Event().wait(wait)
            await (x * scale)
            threading.Event().wait(wait)
            return x * (scale * await x)

        w, twin = (SGD(learning_rate=1e-3).double_weight(0.1) for _ in range(2))
        for _ in range(5):
            for x, by in ((w, Parallel(threads=4)), (twin, plain())):
                parts = [slow(x * 1.0, 10.0 ** (k - 4) * 0.3, 0.002 * (6 - k)) for k in range(7)]
                sum(parts[1:], parts[0]).train().run(by)
            assert w.data == twin.data

    def test_trainings_in_binds_take_turns(self) -> None:
        def trains(executor: Any) -> list[float]:  # Any: an interpreter
            w = weight(1.0)

            def branch(k: float) -> Do[float]:
                return (
                    Do.delay(lambda: None).flat_map(lambda _: (w * w * k).train()).map(lambda x: x + w.data)
                )

            return [*gather(branch(1.0), branch(2.0), branch(-3.0)).run(executor), w.data]

        with helped_at_once():
            for _ in range(20):
                assert trains(ahead()) == trains(Sequential())

    def test_what_is_opened_is_released_as_by_one_thread(self) -> None:
        def events(executor: Any) -> list[str]:  # Any: an interpreter
            found: list[str] = []
            w = weight(2.0)

            def asking(name: str) -> DoubleLayer:
                held = Do.resource(lambda: left(found, name)).flat_map(lambda _: (w * 1.0).forward)
                return DoubleLayer(
                    held.flat_map(lambda _: Do.resource(lambda: left(found, f"{name}, later"))).flat_map(
                        lambda _: (w * 3.0).forward
                    )
                )

            assert (asking("a") * asking("b") + asking("c")).train().run(executor) == 42.0
            return found

        with helped_at_once():
            assert events(ahead()) == events(Sequential())


def lasting(x: float) -> float:
    """The same, after long enough to be worth threads."""
    threading.Event().wait(0.005)
    return x * 1.0


class TestBackward:
    """Deltas overlap, too, where binds have lasted."""

    @pytest.mark.parametrize("seed", few(range(2, 26), 4))
    def test_deltas_of_random_graphs_have_the_bits_of_one_thread(self, seed: int) -> None:
        found: list[Any] = []  # Any: losses and data
        sent: list[bool] = []
        usual = tasks.backward_on

        def noticed(*arguments: Any) -> bool:  # Any: as of the usual one
            sent.append(usual(*arguments))
            return sent[-1]

        for executor in (plain(), ahead(2 + seed % 3)):
            made = network(seed, OPTIMIZERS[NAMES[seed % len(NAMES)]], (*MAKERS, *[waiting] * 6))
            with (
                helped_at_once(),
                patch.object(speculation, "backward_on", noticed),
                patch.object(tasks, "_cost", lambda of, node: 1.0),
                patch.object(
                    ThreadPool, "run", lambda self, works, tasks, deferred=False: run_all(self, works, tasks)
                ),
            ):
                found.append(trained(made, executor, 4))  # type: ignore[arg-type] # as good
        identical(found[0], found[1])
        assert all(sent)

    @pytest.mark.parametrize("seed", range(10))
    def test_what_binds_send_is_added_after_what_operations_send(self, seed: int) -> None:
        """To an operation, a weight and a bind, each of which others use, too: in every other order of theirs."""

        @wg.differentiable
        async def same(x: DoubleLayer) -> DoubleLayer:
            lasting(await x)
            return x

        def trains(executor: Any) -> float:  # Any: an interpreter
            chance = np.random.default_rng(seed)
            w = weight(0.3)
            shared = [w * 1.0, same(w * 0.7)]
            parts: list[Any] = []  # Any: layers
            for _ in range(16):
                x = shared[chance.integers(2)]
                used = same(x) if chance.random() < 0.6 else x
                parts.append(used * (10.0 ** float(chance.integers(-9, 9)) / 3.0))
            sum(parts[1:], parts[0]).train().run(executor)
            return w.data

        with patch.object(tasks, "_cost", lambda of, node: 1.0):
            assert trains(Parallel(threads=2)) == trains(plain())

    def test_they_are_sent_by_several_threads(self) -> None:
        back, w = barrier(), weight(2.0)
        meet = unregistered("meet", lambda case, x: lasting(x), lambda case, g, y, x: (back.wait(), g)[1])

        @wg.differentiable
        async def bind(x: DoubleLayer) -> DoubleLayer:
            return meet(x * await x)

        assert (bind(w * 1.0) + bind(w * 2.0)).train().run(Parallel(threads=2)) == 4.0 + 16.0
        assert w.data == 2.0 - 0.125 * (2.0 + 8.0)

    def test_a_failure_is_told_as_by_one_thread(self) -> None:
        def told(executor: Any) -> list[str]:  # Any: an interpreter
            f, w = Counted("f"), weight(2.0)

            @wg.differentiable
            async def bind(x: DoubleLayer) -> DoubleLayer:
                lasting(await x)
                return f.apply(x * 3.0)

            f.backward_failure = Boom
            with pytest.raises(Failures) as failure:
                (bind(w * 1.0) + bind(w * 2.0)).train().run(executor)
            assert w.data == 2.0
            return [note for x in failure.value.exceptions for note in x.__notes__]

        assert told(Parallel(threads=2)) == told(plain())

    def test_tapes_of_a_user_get_their_deltas_in_turn(self) -> None:
        def trains(executor: Any) -> tuple[float, float]:  # Any: an interpreter
            w = weight(2.0)

            def bind(x: DoubleLayer) -> DoubleLayer:
                held = x.forward.flat_map(
                    lambda tape: Do.delay(lambda: lasting(tape.data)).map(lambda _: tape)
                )
                twice = held.map(
                    lambda tape: Tape(tape.data, lambda d: tape.backward(d.map(lambda g: 2.0 * g)))
                )
                return DoubleLayer(twice)

            return (bind(w * 1.0) * bind(w * 2.0)).train().run(executor), w.data

        assert trains(Parallel(threads=2)) == trains(plain()) == (8.0, 2.0 - 0.125 * 2.0 * 8.0)


class TestFailures:
    def test_a_bind_recovers_from_what_it_asked_for(self) -> None:
        def asks(executor: Any) -> tuple[float, float]:  # Any: an interpreter
            f, w = Counted("f"), weight(2.0)
            f.forward_failure = Boom

            @wg.differentiable
            async def tries(x: DoubleLayer) -> DoubleLayer:
                try:
                    return x * await f.apply(x * 3.0)
                except Boom:
                    return x * 0.5

            return (tries(w * 1.0) + tries(w * 2.0)).train().run(executor), w.data

        with helped_at_once():
            assert asks(ahead()) == asks(Sequential()) == (3.0, 2.0 - 0.125 * 1.5)

    def test_a_failure_after_a_question_changes_nothing(self) -> None:
        w = weight(2.0)

        @wg.differentiable
        async def fails(x: DoubleLayer) -> DoubleLayer:
            await x
            raise Boom

        with pytest.raises(Boom) as failure:
            (fails(w * 1.0) + meeting(w * 2.0)).train().run(ahead())
        assert any(__file__ in note for note in failure.value.__notes__)
        assert w.data == 2.0

    def test_who_waits_for_itself_is_told(self) -> None:
        layers: list[DoubleLayer] = []

        @wg.differentiable
        async def circle(x: DoubleLayer, other: int) -> DoubleLayer:
            await x
            return x * await layers[other]

        w = weight(2.0)
        layers += [circle(w * 1.0, 1), circle(w * 2.0, 0)]
        with pytest.raises(RecursionError, match="waits for itself"):
            (layers[0] + layers[1]).predict().run(ahead())

    @pytest.mark.parametrize("way", ["binds", "branches"])
    @pytest.mark.parametrize("stop", [KeyboardInterrupt, Boom])
    def test_a_stop_passes_whatever_fails_in_letting_go(self, stop: type[BaseException], way: str) -> None:
        w = weight()

        class Opened:
            def __enter__(self) -> None: ...

            def __exit__(self, *failure: object) -> None:
                raise ValueError("on leaving")

        def fail() -> None:
            raise stop

        def outcome(executor: Any) -> BaseException:  # Any: an interpreter
            held = Do.resource(Opened).flat_map(lambda _: (w * 1.0).forward)
            fails = (w * 2.0).forward.flat_map(lambda tape: Do.delay(fail).map(lambda _: tape))
            if way == "binds":
                question: Do[Any] = (DoubleLayer(held) + DoubleLayer(fails)).predict()
            else:
                question = gather(held, Do.delay(int).flat_map(lambda _: Do.delay(fail)))
            with pytest.raises((stop, Failures)) as failure:
                question.run(executor)
            return failure.value

        def told(failure: BaseException) -> tuple[object, ...]:
            parts = failure.exceptions if isinstance(failure, BaseExceptionGroup) else ()
            return (
                type(failure),
                getattr(failure, "__notes__", ())[-1:],
                sorted(type(x).__name__ for x in parts),
            )

        assert told(outcome(ahead())) == told(outcome(Sequential()))
        assert isinstance(outcome(ahead()), Failures if stop is Boom else KeyboardInterrupt)

    def test_an_interrupt_in_turn_passes_what_fails_in_letting_go_of_what_was_ahead(self) -> None:
        w, released = weight(), list[str]()

        @contextmanager
        def opened() -> Generator[None]:
            try:
                yield
            finally:
                released.append("ahead")
                raise ValueError("on leaving")

        def stop() -> None:
            raise KeyboardInterrupt

        in_turn = (
            wg.gradients(w * 1.0, (w,))
            .flat_map(lambda _: Do.delay(stop))
            .flat_map(lambda _: (w * 1.0).forward)
        )
        held = Do.resource(opened).flat_map(lambda _: (w * 2.0).forward)
        with pytest.raises(KeyboardInterrupt) as failure:
            (DoubleLayer(in_turn) + DoubleLayer(held)).predict().run(ahead())
        assert released == ["ahead"]
        assert "ValueError: on leaving" in failure.value.__notes__[-1]

    @pytest.mark.parametrize("stop", [KeyboardInterrupt, None])
    def test_a_run_that_stops_past_a_question_lets_go(self, stop: type[BaseException] | None) -> None:
        met, go_on, released, w = barrier(3), threading.Event(), list[int](), weight()

        def wait(i: int) -> None:
            if stop is None:
                met.wait()
                go_on.wait(10)
            elif i:
                raise stop

        def layer(i: int) -> DoubleLayer:
            held = Do.resource(lambda: left(released, i)).flat_map(lambda _: (w * 1.0).forward)
            return DoubleLayer(held.flat_map(lambda tape: Do.delay(lambda: wait(i)).map(lambda _: tape)))

        question = (layer(0) + layer(1)).train()
        if stop is not None:
            with pytest.raises(stop):
                question.run(ahead())
        else:
            started = question.start(ahead())
            met.wait()
            started.cancel()
            go_on.set()
            with pytest.raises(CancelledError):
                started.result(10)
        assert sorted(released) == [0, 1]
        assert w.data == 1.0
        assert not STORE.readers


class TestTuner:
    def test_small_structures_take_turns_after_some_runs_and_are_looked_at_again(self) -> None:
        w, executor, begun = weight(2.0), Parallel(threads=2), list[int]()
        usual = Fiber.__init__

        def counted(self: Fiber, *arguments: Any) -> None:  # Any: as of the usual one
            begun.append(1)
            usual(self, *arguments)

        with patch.object(Fiber, "__init__", counted):
            for _ in range(520):
                (meeting(w * 1.0) + meeting(w * 2.0)).predict().run(executor)
        assert 16 <= len(begun) < 520

    def test_the_same_function_with_other_functions_is_another_structure(self) -> None:
        w, executor = weight(2.0), Parallel(threads=2)
        for _ in range(40):
            (meeting(w * 1.0, int) + meeting(w * 2.0, int)).predict().run(executor)
        met = barrier()
        (meeting(w * 1.0, met.wait) + meeting(w * 2.0, met.wait)).predict().run(executor)
        assert not met.broken, "both were met at once"

    def test_functions_among_keywords_count_as_well(self) -> None:
        @wg.differentiable
        async def meets(x: DoubleLayer, *, meet: Callable[[], object]) -> DoubleLayer:
            meet()
            return x * await x

        w, executor = weight(2.0), Parallel(threads=2)
        for _ in range(40):
            (meets(w * 1.0, meet=int) + meets(w * 2.0, meet=int)).predict().run(executor)
        met = barrier()
        (meets(w * 1.0, meet=met.wait) + meets(w * 2.0, meet=met.wait)).predict().run(executor)
        assert not met.broken, "both were met at once"

    def test_a_structure_that_gains_nothing_is_asked_for_now_and_then(self) -> None:
        seen, of, asked = SpeculationTuner(), (int,), list[int]()
        for i in range(2_000):
            if seen.pays(of):
                seen.learn(of, alone=True)
                asked.append(i)
        assert asked == [*range(8), 508, 1_009, 1_510]
        for i in range(8):
            seen.learn(of, alone=bool(i))
        assert [seen.pays(of) for _ in range(3)] == [True] * 3  # only seven in a row
        seen.learn(of, alone=True)
        assert [seen.pays(of) for _ in range(501)] == [False] * 500 + [True]

    def test_functions_are_known_by_what_they_hold(self) -> None:
        def holding(held: Any) -> Callable[[], object]:  # Any: whatever can be held
            return lambda: held

        def key(function: Any) -> tuple[int, ...]:  # Any: as above
            return tuple(map(id, functions_of([Do.delay(partial(function)).map(str)])))

        def before_it_is_filled() -> tuple[int, ...]:
            def reads() -> int:
                return later

            found = key(reads)
            later = 0
            return found

        functions: tuple[object, ...] = (
            math.sin,
            math.cos,
            [].append,
            set().add,
            self.key_of,
            self.another_key_of,
            barrier,
        )
        callables = (int, str, *functions)
        keys = [key(holding(x)) for x in (*callables, 1.0)]
        assert len({*keys}) == len(keys)
        assert keys == [key(holding(x)) for x in (*callables, 2.0)]
        assert key([].append) == key([1].append)  # a method of a type
        assert before_it_is_filled() == before_it_is_filled()
        deep: object = int
        for _ in range(9):
            deep = holding(deep)
        assert key(holding(holding(int))) != key(holding(holding(str)))
        assert id(int) not in key(deep)  # nobody looks as deep as that
        assert [*map(id, functions_of([1.0, 2]))] == [id(float), id(int)]

    def key_of(self) -> None: ...

    def another_key_of(self) -> None: ...

    def test_no_more_than_so_many_structures_are_remembered(self) -> None:
        seen, things = SpeculationTuner(), [object() for _ in range(9)]
        with patch.object(speculation, "_MOST", 8):
            for x in things:
                seen.learn([x], alone=True)
                assert len(seen._seen) <= 8

    def test_one_bind_alone_has_no_fiber(self) -> None:
        w = weight(2.0)
        with patch.object(SpeculativeEvaluation, "_speculate", side_effect=AssertionError):
            assert (meeting(w * 1.0) * 2.0).predict().run(Parallel(threads=2)) == 8.0


@pytest.mark.slow
def test_memory_does_not_grow() -> None:
    executor = ahead()
    w = SGD(learning_rate=1e-3).array_weight(np.ones((64, 64), np.float32))

    @wg.differentiable
    async def gated(x: wg.ArrayLayer) -> wg.ArrayLayer:
        return x * 2.0 if (await wg.sum(x)) > 0 else -x

    def step() -> None:
        wg.mean(gated(wg.tanh(w)) + gated(w * 2.0)).train().run(executor)

    with helped_at_once():
        assert growth(step, 200) < 300_000
