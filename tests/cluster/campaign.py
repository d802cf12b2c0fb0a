"""A campaign: random schedules of kills, stops, and machines that come and go; each training has one process's bits.

Knows: that a schedule is drawn from its two numbers alone, so that one which fails can be run again by its name, as in
`pytest -m nightly tests/cluster/campaign.py -k 3-17`; how long the slowest step of each took.
Refuses to know: how a step is computed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import Timer
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pytest

from tests.cluster.machines import started, until_there
from tests.cluster.models import trained
from tests.cluster.rays import processes
from wengert.cluster import Cluster, Distributed
from wengert.run import Sequential

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]
STEPS: Final = 12
SCHEDULES: Final = 25  # of each number of workers
Kind = Literal["kill", "stop", "join", "leave"]


class Event(NamedTuple):
    """A fault before a step, or `after` so many seconds of it, to one of those who are there."""

    step: int
    after: float
    kind: Kind
    which: int


class Schedule(NamedTuple):
    """One training of the campaign: how many workers it begins with, in how many shards, and what happens."""

    workers: int
    shards: int
    events: tuple[Event, ...]


def schedule_of(count: int, number: int) -> Schedule:
    """The schedule with these numbers."""
    chance = np.random.default_rng((count, number))
    kinds: list[Kind] = ["kill", "stop", "join", "leave"]
    events = [
        Event(
            int(chance.integers(STEPS)),
            float(chance.choice([0.0, 0.01, 0.03, 0.1])),
            kinds[int(chance.choice(4, p=[0.4, 0.3, 0.15, 0.15]))],
            int(chance.integers(100)),
        )
        for _ in range(int(chance.integers(1, 5)))
    ]
    return Schedule(count, int(chance.integers(1, 9)), tuple(sorted(events)))


def processes_of_workers() -> set[int]:
    """Those that compute shards, and those that start to be one."""
    return {pid for pid, words in processes().items() if re.match(r"ray::(ShardWorker|IDLE)\b", words)}


class Machines:
    """Raylets of one worker each, as many as a schedule wants."""

    def __init__(self, started: Any, cluster: Cluster) -> None:  # Any: Ray's, which has no types
        self.started, self.cluster, self.nodes = started, cluster, list[Any]()
        self.stopped: list[int] = []
        self.log: list[tuple[int, str, int]] = []

    def become(self, count: int) -> None:
        """Have machines join or leave until there are so many."""
        while len(self.nodes) < count:
            self.nodes.append(self.started.add_node(num_cpus=1))
        while len(self.nodes) > count:
            self.started.remove_node(self.nodes.pop(), allow_graceful=False)
        assert until_there(self.cluster, count)

    def happen(self, event: Event) -> None:
        """Do what an event says; where no machine may come or go, a worker is killed instead."""
        if event.kind == "join" and len(self.nodes) < 4:
            self.nodes.append(self.started.add_node(num_cpus=1))
        elif event.kind == "leave" and len(self.nodes) > 1:
            self.started.remove_node(self.nodes.pop(event.which % len(self.nodes)), allow_graceful=False)
        elif there := sorted(processes_of_workers() - {*self.stopped}):
            pid = there[event.which % len(there)]
            stops = event.kind == "stop"
            with suppress(ProcessLookupError):  # it has ended by itself
                os.kill(pid, signal.SIGSTOP if stops else signal.SIGKILL)
            self.stopped.extend([pid] * stops)
            self.log.append((event.step, "stop" if stops else "kill", pid))

    def rest(self) -> None:
        """End those that are stopped."""
        for pid in self.stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.stopped.clear()
        self.log.clear()


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with started(tmp_path_factory.mktemp("ray")) as made:
        made.add_node(num_cpus=1)
        with Cluster(made.address) as cluster:
            found = Machines(made, cluster)
            found.nodes.extend(node for node in made.worker_nodes)
            yield found


@cache
def here(shards: int) -> str:
    return trained(Sequential(), STEPS, shards)


@pytest.mark.parametrize(
    ("count", "number"), [(count, number) for count in (1, 2, 3, 4) for number in range(SCHEDULES)]
)
def test_a_schedule(count: int, number: int, machines: Machines) -> None:
    schedule, steps = schedule_of(count, number), list[tuple[float, float]]()
    arrived = time.monotonic()
    machines.become(count)
    timers: list[Timer] = []

    def before(step: int) -> None:
        ended = time.monotonic()
        for event in schedule.events:
            if event.step == step and event.after and event.kind in ("kill", "stop"):
                timers.append(Timer(event.after, machines.happen, (event,)))
                timers[-1].start()
            elif event.step == step:
                machines.happen(event)
        steps.append((ended, time.monotonic()))

    try:
        found = trained(Distributed(machines.cluster, patience=3.0), STEPS, schedule.shards, before=before)
        assert found == here(schedule.shards), "other bits"
    except BaseException as failure:
        failure.add_note(f"{schedule}; signals {machines.log}; steps ended and began at {steps}")
        raise
    finally:
        steps.append((time.monotonic(), 0.0))
        for timer in timers:
            timer.join()
        machines.rest()
        took = [after[0] - before[1] for before, after in pairwise(steps)]
        tell(f"{count}-{number}", steps[0][0] - arrived, took)


def tell(name: str, prepared: float, took: list[float]) -> None:
    """Add a line to the file that WENGERT_CAMPAIGN names, if it does: seconds before the first step, and of each."""
    if path := os.environ.get("WENGERT_CAMPAIGN"):
        line = {"schedule": name, "load": os.getloadavg()[0], "prepared": round(prepared, 2)}
        with Path(path).open("a") as file:
            file.write(json.dumps({**line, "steps": [round(x, 2) for x in took]}) + "\n")
