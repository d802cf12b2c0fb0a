"""Plans and optimizers: other settings, states that are not there yet, and parts of somebody else."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam, WithMomentum
from tests.run.attacked import alike, interruptions
from tests.run.planned import eager, plain, same
from wengert.extend import Optimizer, dense
from wengert.plugins import SGD, Names, Plugin


def test_a_fresh_weight_in_an_old_structure_begins_at_its_own_first_step() -> None:
    """A plan needs the state that the first step makes; the interpreter makes it, then the plan goes on."""
    executor, plans = eager(worth=2)
    settings = WithAdam(learning_rate=0.1)
    ours, theirs = ([settings.array_weight(np.ones(3)) for _ in range(3)] for _ in range(2))
    with interruptions() as found:
        for step, (i, j) in enumerate([(0, 1), (0, 1), (0, 1), (0, 2), (2, 0), (2, 1), (1, 2)]):
            for weights, by in ((ours, executor), (theirs, plain())):
                wg.sum(wg.square(weights[i]) * weights[j] * float(step)).train().run(by)
    same([np.array(w.data) for w in ours], [np.array(w.data) for w in theirs])
    assert len(found) == 1
    assert plans.made == 1


@pytest.mark.parametrize("last", [SGD(learning_rate=0.125), WithMomentum(learning_rate=0.5)])
def test_weights_of_several_settings_in_all_places(last: Any) -> None:
    executor, plans = eager(worth=2)
    kinds = [SGD(learning_rate=0.5), SGD(learning_rate=0.25), last]
    ours, theirs = ([each.array_weight(np.ones(2)) for each in kinds] for _ in range(2))
    for _ in range(4):
        for a, b in itertools.permutations(range(3), 2):
            for weights, by in ((ours, executor), (theirs, plain())):
                wg.sum(weights[a] * weights[b] * 0.5).train().run(by)
    same([np.array(w.data) for w in ours], [np.array(w.data) for w in theirs])
    assert plans.made >= 1


class Admits(Optimizer):
    def admit(self, loss: Any, delta: Any, weight: Any) -> None:
        ADMITTED.append((float(loss), np.array(dense(delta)).tolist()))
        super().admit(loss, delta, weight)


class Admitting(Plugin):
    """Somebody else's `admit`, which is to be asked for every weight in each run."""

    optimizer: ClassVar[type[Optimizer]] = Admits


ADMITTED: list[Any] = []


class WithAdmitting(Admitting, SGD): ...


def test_a_plugins_admit_is_asked_in_each_run() -> None:
    asked = []
    for by in (eager()[0], plain()):
        ADMITTED.clear()
        settings = WithAdmitting(learning_rate=0.5)
        w, v = settings.array_weight(np.ones((2, 2))), settings.double_weight(1.0)
        for i in range(5):
            wg.sum(np.ones((2, 2)) @ w * v * float(i)).train().run(by)
        asked.append([*ADMITTED])
    assert asked[0] == asked[1]
    assert len(asked[0]) == 10


class Rated(Optimizer):
    def step(self, delta: Any, weight: Any) -> Any:
        return super().step(RATE[0] * dense(delta), weight)


class Scheduled(Plugin):
    """Somebody else's part that reads what changes outside."""

    optimizer: ClassVar[type[Optimizer]] = Rated


RATE = [1.0]


class WithScheduled(Scheduled, SGD): ...


def test_a_part_that_reads_a_global_reads_it_in_each_run() -> None:
    found = []
    for by in (eager()[0], plain()):
        w = WithScheduled(learning_rate=1.0).double_weight(0.0)
        for i in range(5):
            RATE[0] = float(i)
            (w * 1.0).train().run(by)
        found.append(w.data)
    assert found == [-10.0, -10.0]


class Named(Names, SGD): ...


def test_named_weights_are_trained_by_plans() -> None:
    def network() -> Any:
        settings = Named(learning_rate=0.5)
        w, v = settings.array_weight(np.ones(2), name="w"), settings.double_weight(1.0, name="v")
        return (w, v), lambda i: wg.sum(w * v * float(i))

    alike(network, worth=1)
