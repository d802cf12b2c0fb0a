"""What the tests that attack plans share: both ways of running a network, and proof that plans ran it.

Knows: how an interrupted plan is noticed.
Refuses to know: any network.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

import wengert as wg
from tests.optimizers import WithAdam, WithMomentum
from tests.run.planned import Network, Watched, eager, plain, same, trained
from wengert.plugins import SGD
from wengert.run.commit import Interrupted

OPTIMIZERS: dict[str, Callable[[], Any]] = {  # Any: settings classes take different keywords
    "SGD": lambda: SGD(learning_rate=0.1),
    "SGD of rate 1": lambda: SGD(learning_rate=1.0),
    "Momentum": lambda: WithMomentum(learning_rate=0.05),
    "Adam": lambda: WithAdam(learning_rate=0.01),
}


@contextmanager
def interruptions() -> Generator[list[Interrupted]]:
    """Every time that a plan gave up inside."""
    found: list[Interrupted] = []
    with patch.object(Interrupted, "__init__", lambda self: found.append(self)):
        yield found


@contextmanager
def none_interrupted() -> Generator[None]:
    """No plan may give up inside."""
    with interruptions() as found:
        yield
    assert not found, [repr(x.__cause__) for x in found]


def predicted(expression: object, runs: int = 3) -> None:
    """A plan gives an expression the data that the interpreter gives, as often as it is asked."""
    executor, plans = eager()
    wanted = [np.array(wg.predict(expression).run(plain()))]  # type: ignore[call-overload] # of any kind
    with none_interrupted():
        for _ in range(runs):
            same([np.array(wg.predict(expression).run(executor))], wanted)  # type: ignore[call-overload] # as above
    assert plans.made == 1


def alike(network: Network, steps: int = 4, worth: int = 2, plans: int | None = 1) -> Watched:
    """The same weights and losses with plans as without; no plan gives up."""
    executor, watched = eager(worth)
    wanted = trained(network, plain(), steps)
    with none_interrupted():
        found = trained(network, executor, steps)
    same(found, wanted)
    assert plans is None or watched.made == plans
    return watched


def weights_of(settings: Any, operands: Sequence[Any]) -> list[Any]:  # Any: numbers, arrays, weights
    """A weight of each operand, of its column."""
    return [
        settings.double_weight(x)
        if isinstance(x, float)
        else settings.float_weight(x)
        if isinstance(x, np.float32)
        else settings.array_weight(x)
        for x in operands
    ]
