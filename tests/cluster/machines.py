"""Ray on several machines, which are raylets here: one is killed, one joins; and campaigns of random schedules.

`test_rays` runs this file in a process of its own, as it does `rays`.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.models import trained
from tests.cluster.rays import workers
from wengert.cluster import Cluster, Distributed
from wengert.errors import ClusterError
from wengert.run import Sequential

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@pytest.fixture
def machines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Any]:  # Any: Ray's, which has no types
    """A head without workers; raylets are added by the test."""
    token = tmp_path / "token"
    token.write_text(secrets.token_hex(32))
    token.chmod(0o600)
    for name, value in {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_USAGE_STATS_ENABLED": "0",
        **dict.fromkeys(THREADS, "1"),
    }.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster as Machines

    made: Any = Machines(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    yield made
    made.shutdown()


def until_there(cluster: Cluster, workers: int) -> bool:
    """Whether the cluster has so many workers: soon, but not at once."""
    deadline = time.monotonic() + 60.0
    while cluster.workers != workers and time.monotonic() < deadline:
        time.sleep(0.1)
    return cluster.workers == workers


def test_a_machine_is_killed_and_one_joins(machines: Any) -> None:  # Any: as above
    first = machines.add_node(num_cpus=1)
    machines.add_node(num_cpus=1)
    with Cluster(machines.address) as cluster:

        def change(step: int) -> None:
            if step == 6:
                machines.remove_node(first, allow_graceful=False)
            if step == 12:
                assert until_there(cluster, 1)  # Ray knows by now that it is gone
                machines.add_node(num_cpus=1)
            if step == 20:
                assert until_there(cluster, 2)

        assert until_there(cluster, 2)
        executor = Distributed(cluster, patience=20.0)
        assert trained(executor, 40, 4, before=change) == trained(Sequential(), 40, 4)


@pytest.mark.parametrize(
    ("address", "said"),
    [("127.0.0.1:1", r"there is no cluster at 127\.0\.0\.1:1: .*refused"), ("head", "expected the address")],
)
def test_no_cluster_at_the_address(address: str, said: str) -> None:
    with pytest.raises(ClusterError, match=said):
        Cluster(address)


@pytest.mark.nightly
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_random_schedules_of_kills_and_stops(count: int) -> None:
    """25 trainings for each number of workers, each with up to four events at random steps."""
    chance = np.random.default_rng(count)
    with Cluster(workers=count) as cluster:
        for number in range(25):
            shards, steps = int(chance.integers(1, 9)), 12
            events = {int(chance.integers(steps)): str(chance.choice(["kill", "stop"])) for _ in range(4)}
            stopped: list[int] = []

            def happen(step: int, events: dict[int, str] = events, stopped: list[int] = stopped) -> None:
                there = [pid for pid in workers() if pid not in stopped]
                if step not in events or not there:
                    return
                pid = int(chance.choice(there))
                stops = events[step] == "stop" and len(stopped) < count - 1
                os.kill(pid, signal.SIGSTOP if stops else signal.SIGKILL)
                stopped.extend([pid] * stops)

            found = trained(Distributed(cluster, patience=3.0), steps, shards, before=happen)
            for pid in stopped:
                os.kill(pid, signal.SIGKILL)
            assert found == trained(Sequential(), steps, shards), (number, shards, events)
