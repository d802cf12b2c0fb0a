"""No step stands still: the longest step of a chain while its plan is made, over a step of the interpreter's.

Knows: chains, the bar, and that the steps of a making depend on nothing but the run that they are in.
Refuses to know: when a plan pays; here it is made at the eighth run, whatever that takes.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import Any, Final

import numpy as np

import wengert as wg
from benchmarks.report import Limit
from benchmarks.timing import Spread
from benchmarks.workload import OURS
from wengert.plugins import SGD
from wengert.run import Sequential
from wengert.run.compiled.plans import WORTH, Plans

NAME: Final = "standing-still"
MOST: Final = 10.0
STEPS: Final = 40  # until any plan is ready
TIMES: Final = 5  # that a plan is made
Loss = Callable[[], Any]  # Any: an expression


def at_known_runs() -> Sequential:
    """The default executor, but that a structure gets its plan after as many runs, whatever that takes."""
    executor = Sequential()
    executor.engine = executor.engine._replace(plans=Plans(WORTH, in_steps=True))
    return executor


def chain(nodes: int, arrays: bool) -> Loss:
    """`x = x * a; x = x + b` on floats, or on arrays of 16x64 float32."""
    settings = SGD(learning_rate=1e-6)
    a: Any = settings.array_weight(np.ones((16, 64), np.float32)) if arrays else settings.double_weight(1.0)

    def loss() -> Any:
        x = a
        for _ in range(nodes // 2):
            x = x * a
            x = x + 0.5
        return wg.mean(x) if arrays else x

    return loss


CHAINS: Final[dict[str, Loss]] = {
    f"{nodes} {'arrays' if arrays else 'scalars'}": chain(nodes, arrays)
    for nodes in (100, 1000)
    for arrays in (False, True)
}


def steps(loss: Loss, executor: Sequential, count: int) -> list[float]:
    """CPU seconds of each of so many steps."""
    found = []
    for _ in range(count):
        begun = time.process_time()
        loss().train().run(executor)
        found.append(time.process_time() - begun)
    return found


def worst(loss: Loss, count: int = STEPS, times: int = TIMES) -> list[float]:
    """The longest step over the interpreter's usual one, of each time that a plan is made."""
    steps(loss, at_known_runs(), WORTH)  # loads what makes plans
    interpreter, found = Sequential(compiled=False), []
    for _ in range(times):
        gc.collect()
        usual = median(steps(loss, interpreter, 15))
        found.append(max(steps(loss, at_known_runs(), count)[1:]) / usual)
    return found


def asked(quick: bool) -> list[Limit]:
    """All chains, printed as they are measured; quickly: that each takes a few steps."""
    found = []
    for name, loss in CHAINS.items():
        if quick:
            worst(loss, 2, 1)
            print(f"ran: {NAME}: {name}", flush=True)
            continue
        found.append(Limit(f"{NAME}: {name}", f"{OURS}, longest step", "runs", Spread.of(worst(loss)), MOST))
        print(found[-1].text(), flush=True)
    return found
