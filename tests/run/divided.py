"""The parallel interpreter for tests: every structure gets a plan at once, and every plan is divided.

Also a pytest plugin: `pytest -p tests.run.divided` runs any tests with this executor as the default.
Knows: how an interpreter is told that threads cost nothing.
Refuses to know: what is tested.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.control import set_default_executor
from wengert.run import Parallel
from wengert.run.sequential import Interpreter
from wengert.run.threads.parallel import threaded
from wengert.run.threads.tasks import AutotunedProgram, Terms

F32 = np.float32
FREE = Terms(handoff=0.0, timed=1, tried=0)  # any region is worth a thread, without a trial


def dividing(threads: int = 2, worth: int = 1, terms: Terms = FREE) -> Parallel:
    """An interpreter whose plans come after `worth` runs and are divided after the next one."""
    executor = Parallel(threads)
    engine = threaded(executor.pool, executor.tuner, worth=worth, terms=terms)
    return executor.around(Interpreter(engine))


def programs(executor: Parallel) -> list[AutotunedProgram]:
    """Its programs."""
    plans: Any = executor.inner.engine.plans  # Any: None where nothing is compiled, which is not so here
    return [plan.program for plan in plans._plans.items()]


@contextmanager
def switching(every: float = 1e-6) -> Generator[None]:
    """Threads take turns every so many seconds; by default as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(every)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def columns(settings: Any, count: int = 3, width: int = 12) -> tuple[Sequence[Any], Any]:
    """Weights and losses of a network of columns whose outputs are added, and of some heads that share them."""
    chance = np.random.default_rng(0)

    def dense(n: int, m: int) -> Any:
        w = settings.array_weight((chance.standard_normal((n, m)) / np.sqrt(n)).astype(F32))
        return w, settings.array_weight(np.zeros(m, F32))

    body = [[dense(20, width), dense(width, width)] for _ in range(count)]
    heads = [dense(width, 4) for _ in range(3)]
    scale = settings.float_weight(0.5)
    xs = chance.standard_normal((10, 8, 20)).astype(F32)
    labels = chance.integers(0, 4, (10, 8))

    def loss(i: int) -> Any:
        total: Any = 0.0
        for column in body:
            h: Any = xs[i % 10]
            for w, b in column:
                h = wg.relu(h @ w + b)
            total = h + total
        every = [wg.cross_entropy(total @ w + b, labels[i % 10]) for w, b in heads]
        return sum(every[1:], every[0]) * scale + wg.mean(total * total)

    weights = [x for layer in (*[x for c in body for x in c], *heads) for x in layer]
    return (*weights, scale), loss


def identical(a: Sequence[Any], b: Sequence[Any]) -> None:
    """The same bits."""
    assert [x.tobytes() for x in a] == [x.tobytes() for x in b]


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin: the default executor of all tests."""
    set_default_executor(dividing())
