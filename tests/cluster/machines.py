"""Ray on several machines, which are raylets here: beside a Ray that is there, or with a head that has no workers.

`test_rays` runs this file in a process of its own at night, as it does `campaign`.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.models import trained
from wengert.cluster import Cluster, Distributed
from wengert.run import Sequential

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def secured(folder: Path) -> Generator[None]:
    """What all processes of a cluster read: its token, and one thread of BLAS. Put back afterwards."""
    token = folder / "token"
    token.write_text(secrets.token_hex(32))
    token.chmod(0o600)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_object_manager_pull_timeout_ms": "1000",  # as docs/distributed.md says
            **dict.fromkeys(THREADS, "1"),
        }.items():
            patch.setenv(name, value)
        yield


@contextmanager
def started(folder: Path) -> Generator[Any]:  # Any: Ray's, which has no types
    """A head without workers; raylets are added by the test. All are ended, and what was set here is put back."""
    with secured(folder):
        from ray.cluster_utils import Cluster as Machines

        made: Any = Machines(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        try:
            yield made
        finally:
            made.shutdown()


def raylets_beside() -> Any:  # Any: as above
    """Raylets that are added to the Ray of this process, and removed from it."""
    import ray
    from ray.cluster_utils import Cluster as Machines

    made: Any = Machines()
    made.head_node = ray._private.worker.global_worker.node
    return made


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:  # Any: as above
    """Raylets of all tests here, as Ray reads a token once in a process."""
    with started(tmp_path_factory.mktemp("ray")) as made:
        yield made


def until_there(cluster: Cluster, workers: int) -> bool:
    """Whether the cluster has so many workers: soon, but not at once."""
    deadline = time.monotonic() + 60.0
    while cluster.workers != workers and time.monotonic() < deadline:
        time.sleep(0.1)
    return cluster.workers == workers


def test_machines_come_and_go_under_a_head_without_workers(machines: Any) -> None:  # Any: as above
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


def test_a_machine_that_is_stopped_is_not_waited_for(machines: Any) -> None:  # Any: as above
    """Its raylet and its workers answer nobody, and go on only after steps that were done without them."""
    stopped, other = machines.add_node(num_cpus=1), machines.add_node(num_cpus=1)
    with Cluster(machines.address) as cluster:
        assert until_there(cluster, len(machines.worker_nodes))
        assert trained(Distributed(cluster), 4, 4) == trained(Sequential(), 4, 4)
        pids = of_machine(stopped)

        def change(step: int) -> None:
            for pid in pids if step in (6, 20) else ():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP if step == 6 else signal.SIGCONT)

        try:
            executor = Distributed(cluster, patience=3.0)
            assert trained(executor, 30, 4, before=change) == trained(Sequential(), 30, 4)
        finally:
            change(20)
            for node in (stopped, other):
                machines.remove_node(node, allow_graceful=False)


def of_machine(node: Any) -> list[int]:  # Any: as above
    """Processes of a machine: its raylet's and those that this has started."""
    raylets = {x.process.pid for x in node.all_processes["raylet"]}
    found = {*raylets}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) in raylets:
                found.add(int(path.parent.name))
    assert len(found) > 1
    return sorted(found)


def test_a_wrong_token_is_refused_and_named(machines: Any, tmp_path: Path) -> None:  # Any: as above
    """Ray tries it for twenty seconds."""
    wrong = tmp_path / "wrong"
    wrong.write_text("0" * 64)
    code = "import sys; from wengert.cluster import Cluster; Cluster(sys.argv[1])"
    ran = subprocess.run(
        [sys.executable, "-c", code, machines.address],
        env={**os.environ, "RAY_AUTH_TOKEN_PATH": str(wrong)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ran.returncode == 1
    said = ran.stderr.splitlines()[-1]
    assert said.startswith("wengert.errors.ClusterError: there is no cluster at")
    assert f"another token than that of RAY_AUTH_TOKEN_PATH, {wrong}" in said
