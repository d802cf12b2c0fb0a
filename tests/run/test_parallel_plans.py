"""Plans in tasks give what plans in a line give, bit for bit, and are taken where they are faster (S6, S9, S10)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.optimizers import WithAdam, WithMomentum
from tests.run.attacked import none_interrupted
from tests.run.divided import F32, FREE, columns, dividing, identical, programs, switching
from tests.run.drawn import network
from tests.run.planned import eager, trained
from wengert.plugins import SGD
from wengert.run import Sequential
from wengert.run.threads.tasks import Choice, ScheduledProgram, Terms

SETTINGS: dict[str, Callable[[], Any]] = {  # Any: settings classes take different keywords
    "SGD": lambda: SGD(learning_rate=0.1),
    "Adam": lambda: WithAdam(learning_rate=0.01),
    "Momentum": lambda: WithMomentum(learning_rate=0.05),
}


class TestPlans:
    @pytest.mark.parametrize("optimizer", few(SETTINGS, 1))
    def test_200_steps_are_those_of_one_thread_bit_for_bit(self, optimizer: str) -> None:
        made = lambda: columns(SETTINGS[optimizer]())  # noqa: E731 # each run makes its own
        wanted = trained(made, eager(2)[0], 200)
        executor = dividing(worth=2)
        with switching():
            identical(trained(made, executor, 200), wanted)  # type: ignore[arg-type] # an executor as good
        (program,) = programs(executor)
        assert isinstance(program.chosen, ScheduledProgram)
        assert program.source.count("def ") > 4

    @pytest.mark.parametrize("seed", few(range(60), 2, 20))
    def test_random_graphs_are_those_of_one_thread_bit_for_bit(self, seed: int) -> None:
        drawn = network(seed, SETTINGS[sorted(SETTINGS)[seed % len(SETTINGS)]])
        wanted = trained(drawn, eager(2)[0], 10)
        executor = dividing(2 + seed % 3, worth=2)
        with switching(), none_interrupted():
            identical(trained(drawn, executor, 10), wanted)  # type: ignore[arg-type] # as above
        assert any(isinstance(program.chosen, ScheduledProgram) for program in programs(executor))

    @pytest.mark.parametrize("threads", [1, 3, 5])
    def test_any_number_of_threads(self, threads: int) -> None:
        made = lambda: columns(SETTINGS["SGD"](), 5)  # noqa: E731 # as above
        wanted = trained(made, eager()[0], 8)
        identical(trained(made, dividing(threads), 8), wanted)  # type: ignore[arg-type] # as above

    def test_predictions_and_gradients(self) -> None:
        executor, (weights, loss) = dividing(), columns(SETTINGS["SGD"]())
        one = eager()[0]
        for i in range(6):
            identical([loss(i).predict().run(executor)], [loss(i).predict().run(one)])
            asked = wg.gradients(loss(i), [*weights])
            identical(list(map(np.asarray, asked.run(executor))), list(map(np.asarray, asked.run(one))))
        assert any(isinstance(p.chosen, ScheduledProgram) for p in programs(executor))

    @pytest.mark.slow
    def test_callers_on_many_threads(self) -> None:
        executor, (_, loss) = dividing(), columns(SETTINGS["SGD"]())
        wanted = [loss(i).predict().run(Sequential(compiled=False)).tobytes() for i in range(10)]
        wrong: list[int] = []

        def asks(i: int) -> None:
            for _ in range(30):
                if not np.allclose(loss(i).predict().run(executor), np.frombuffer(wanted[i], F32), 1e-5):
                    wrong.append(i)

        callers = [threading.Thread(target=asks, args=(i,)) for i in range(6)]
        with switching():
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join()
        assert not wrong

    def test_trainings_on_many_threads_lose_no_update(self) -> None:
        executor = dividing()
        a, b = (SGD(learning_rate=1.0).array_weight(np.zeros((4, 4))) for _ in range(2))

        def trains() -> None:
            for _ in range(100):
                (wg.sum(a * -1.0) + wg.sum(b * -1.0)).train().run(executor)

        callers = [threading.Thread(target=trains) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert (a.data == 400.0).all()
        assert (b.data == 400.0).all()

    def test_small_regions_stay_on_one_thread(self) -> None:
        executor = dividing(terms=Terms())
        trained(lambda: columns(SETTINGS["SGD"](), 2, 4), executor, 8)  # type: ignore[arg-type] # as above
        (program,) = programs(executor)
        assert not isinstance(program.chosen, ScheduledProgram)

    @pytest.mark.parametrize(("gain", "chosen"), [(0.0, False), (1e9, True)])
    def test_the_clock_chooses(self, gain: float, chosen: bool) -> None:
        executor = dividing(terms=FREE._replace(tried=3, gain=gain))
        trained(lambda: columns(SETTINGS["SGD"]()), executor, 12)  # type: ignore[arg-type] # as above
        (program,) = programs(executor)
        assert isinstance(program.chosen, ScheduledProgram) == chosen
        assert program.chosen is not None

    def test_a_choice_is_made_again(self) -> None:
        executor = dividing(terms=FREE._replace(tried=2, gain=0.0, again=20))
        _, loss = columns(SETTINGS["SGD"]())

        def steps(count: int) -> None:
            for i in range(count):
                loss(i).train().run(executor)

        steps(10)
        (program,) = programs(executor)
        assert program.chosen is program._ways[0]
        program.choice.terms = FREE._replace(tried=2, gain=1e9, again=20)  # as if the cores were idle now
        steps(8)
        assert program.chosen is program._ways[0]
        steps(16)
        assert isinstance(program.chosen, ScheduledProgram)


def test_threads_that_end_the_timing_at_once_divide_once() -> None:
    choice, divided = Choice(FREE), list[list[float]]()

    def divide(costs: list[float]) -> bool:
        divided.append(costs)
        return True

    choice.timed([2.0, 1.0])
    with ThreadPoolExecutor(2) as pool:
        with choice._lock:  # both have seen that it is time
            found = [pool.submit(choice.next, divide) for _ in range(2)]
            sleep(0.1)
        assert [way.result() for way in found] == [1, 1]
    choice.timed([9.0, 9.0])
    assert choice.next(divide) == 1
    assert divided == [[2.0, 1.0]]
