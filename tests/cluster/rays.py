"""Ray: workers are killed, stopped and refused, machines die and join; the bits are those of one process.

`test_rays` runs this file in a process of its own, as a process that has had one Ray keeps its token and more of it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from cloudpickle import register_pickle_by_value, unregister_pickle_by_value

import wengert as wg
from tests.cluster.experts import Expert, Left, Settings, loss_of
from tests.cluster.experts import here as in_one_process
from tests.cluster.machines import raylets_beside, until_there
from tests.cluster.models import W, failing, stopping, trained
from tests.often import few
from tests.test_examples import example
from wengert import nn
from wengert.cluster import Cluster, Distributed, Local, Node, Nodes
from wengert.cluster.part import digest_of
from wengert.cluster.rays import Rays, descendants
from wengert.errors import ArgumentError, ClusterError, NodeLostError
from wengert.run import Sequential

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
]


def processes() -> dict[int, str]:
    """The names of the processes of Ray that this one has started, and no others: some get killed."""
    found: dict[int, str] = {}
    for pid, _ in descendants():
        with suppress(OSError):  # it has ended
            found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
    return found


def workers() -> list[int]:
    """The processes that compute shards: a raylet's agents are left alone, as it dies with them."""
    return sorted(pid for pid, words in processes().items() if re.match(r"ray::ShardWorker\b", words))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """The one Ray of all tests here: to start it takes longer than most of them."""
    before = set(processes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_object_manager_pull_timeout_ms", "1000")  # as docs/distributed.md says
        with Cluster(workers=2) as made:
            yield made
    deadline = time.monotonic() + 60.0
    while set(processes()) - before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not set(processes()) - before, "a process is left"


@pytest.mark.parametrize("steps", few([60, 200], 1, 1))
def test_a_worker_is_killed_every_twenty_steps(cluster: Cluster, steps: int) -> None:
    killed: list[int] = []

    def kill(step: int) -> None:
        if step % 20 == 10:
            killed.append(workers()[0])
            os.kill(killed[-1], signal.SIGKILL)

    assert trained(Distributed(cluster), steps, 4, before=kill) == trained(Sequential(), steps, 4)
    assert len(set(killed)) == steps // 20 and cluster.workers == 2


def test_a_stale_training_with_deaths_is_repeated_by_the_order_of_its_commits(cluster: Cluster) -> None:
    def kill(step: int) -> None:
        if step in (5, 15):
            os.kill(workers()[0], signal.SIGKILL)

    executor = Distributed(cluster, stale=2)
    found = trained(executor, 25, 4, before=kill)
    executor.drain()
    order = executor.commits
    assert all(0 <= now - version <= 2 for now, commit in enumerate(order) for version, _ in commit)
    assert sorted(x for commit in order for x in commit) == [(k, i) for k in range(25) for i in range(4)]
    assert trained(Distributed(Local(1), stale=2, order=order), 25, 4) == found


def test_a_stopped_worker_is_not_waited_for(cluster: Cluster, tmp_path: Path) -> None:
    """It stops with a shard, which it has never answered."""
    executor, path = Distributed(cluster, patience=3.0), tmp_path / "stopped"
    loss = wg.shards(partial(stopping, str(path)), [1.0, 2.0, 3.0], 3)
    try:
        assert loss.predict().run(executor) == 2.0
        assert Path(f"/proc/{path.read_text()}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        assert trained(executor, 8, 4) == trained(Sequential(), 8, 4)
    finally:
        with suppress(OSError):
            os.kill(int(path.read_text()), signal.SIGKILL)


def test_a_failure_of_a_loss_comes_back_as_it_is(cluster: Cluster) -> None:
    loss = wg.shards(failing, [1.0, 1.0, 5.0], 3)
    with pytest.raises(LookupError, match="above 1") as failure:
        loss.train().run(Distributed(cluster))
    notes = failure.value.__notes__
    assert "in shard 2 of 3" in notes and any("models.py" in note for note in notes) and W.data == 1.0


class Elsewhere:
    """What a machine with other code cannot read."""

    def __reduce__(self) -> tuple[Any, ...]:  # Any: as pickle has it
        return import_module, ("a_module_of_the_driver",)


def test_a_message_that_a_worker_cannot_read_says_why(cluster: Cluster) -> None:
    future = cluster.engine.submit(print, Elsewhere())
    assert cluster.engine.wait([future], 60.0)
    with pytest.raises(
        ClusterError, match=r"could not be read there: .*a_module_of_the_driver.*the same code"
    ):
        future.result()


def test_what_cannot_be_sent_is_named(cluster: Cluster) -> None:
    for send in (cluster.engine.put, partial(cluster.engine.submit, print)):
        with pytest.raises(
            ArgumentError, match=r"(?s)cannot be sent to another process.*field 'held' of Held"
        ):
            send(Held())
    assert trained(Distributed(cluster), 2, 2) == trained(Sequential(), 2, 2)


class Held:
    def __init__(self) -> None:
        self.held = Lock()


class Counter:
    def __init__(self, start: int) -> None:
        self.n = start

    def add(self, n: int) -> int:
        self.n += n
        return os.getpid() if n == 0 else self.n


def asked(engine: Any, place: Any, n: int) -> int:  # Any: engines and places of every class
    future = place.call("add", n)
    assert engine.wait([future], 60.0) == {future}
    found: int = future.result()
    return found


def lost(engine: Any, place: Any) -> bool:  # Any: as above
    """Whether a message fails, as its process has died: soon, but not at once."""
    try:
        for _ in range(1000):
            asked(engine, place, 1)
    except NodeLostError as failure:
        return str(failure).startswith("counter has died")
    return False


def test_a_place_is_made_anew_after_its_death(cluster: Cluster) -> None:
    engine = cluster.engine
    place = engine.place("counter", Counter, 5, restarts=1)
    assert asked(engine, place, 1) == 6
    os.kill(asked(engine, place, 0), signal.SIGKILL)
    assert lost(engine, place)
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        try:
            assert asked(engine, place, 1) == 6
            break
        except NodeLostError:  # it is being made
            time.sleep(0.1)
    assert "counter" in engine.deaths()
    place.close()
    assert lost(engine, place)


def test_a_value_is_shared_and_cannot_be_written_to(cluster: Cluster) -> None:
    ref = cluster.engine.put({"x": np.zeros(3)})
    future = cluster.engine.submit(lambda got: got["ref"].read()["x"].flags.writeable, {"ref": ref})
    assert cluster.engine.wait([future], 60.0) and future.result() is False


def test_nobody_without_the_token_is_answered_and_nothing_listens_elsewhere(cluster: Cluster) -> None:
    import ray

    address = ray.get_runtime_context().gcs_address
    token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
    assert token.stat().st_mode & 0o777 == 0o600 and token.parent.stat().st_mode & 0o777 == 0o700
    code = (
        "import sys, ray._raylet as r\n"
        "client = r.GcsClient(address=sys.argv[1])\n"
        "print(len(client.get_all_node_info(timeout=5)))"
    )
    alone = {k: v for k, v in os.environ.items() if not k.startswith("RAY_AUTH")}
    for auth, answered in (
        ({}, False),
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}, False),
        ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}, True),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, address],
            env=alone | auth,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode == 0) is answered, done.stderr[-2000:]
    ours = {*processes(), os.getpid()}
    addresses = [where for pid, where in listening() if pid in ours]
    assert addresses and all(where in ("127.0.0.1", "::ffff:127.0.0.1", "::1") for where in addresses)


def listening() -> Iterator[tuple[int, str]]:
    """Which process listens for connections, and at which address of this machine."""
    sockets: dict[str, str] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                sockets[words[9]] = address_of(words[1].partition(":")[0])
    for path in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = os.readlink(path)
        except OSError:
            continue
        if target.startswith("socket:[") and target[8:-1] in sockets:
            yield int(path.parts[2]), sockets[target[8:-1]]


def address_of(text: str) -> str:
    words = bytes.fromhex(text)
    turned = b"".join(words[i : i + 4][::-1] for i in range(0, len(words), 4))
    import ipaddress

    found = ipaddress.ip_address(turned)
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found)


def test_addresses_are_read_as_the_kernel_writes_them() -> None:
    assert address_of("0100007F") == "127.0.0.1" and address_of("00000000") == "0.0.0.0"
    assert address_of("0000000000000000FFFF00000100007F") == "127.0.0.1"


def test_a_second_cluster_in_one_process_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ClusterError, match="in use in this process already"):
        Rays()
    assert trained(Distributed(cluster), 2, 2) == trained(Sequential(), 2, 2)


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 2, "address": "127.0.0.1:6379"}])
def test_wrong_options(options: dict[str, Any]) -> None:  # Any: what is refused
    with pytest.raises(ArgumentError, match="workers are 1 or more"):
        Cluster(**options)


# -- machines ----------------------------------------------------------------------------------------


def test_a_machine_is_killed_and_one_joins(cluster: Cluster, request: pytest.FixtureRequest) -> None:
    machines = raylets_beside()
    request.addfinalizer(lambda: [machines.remove_node(x) for x in [*machines.worker_nodes]])
    first = machines.add_node(wait=False)
    assert until_there(cluster, 3)

    def change(step: int) -> None:
        if step == 6:
            machines.remove_node(first, allow_graceful=False)
        if step == 12:
            assert until_there(cluster, 2)  # Ray knows by now that it is gone
            machines.add_node(wait=False)
        if step == 20:
            assert until_there(cluster, 3)

    executor = Distributed(cluster, patience=20.0)
    assert trained(executor, 40, 4, before=change) == trained(Sequential(), 40, 4)


def test_another_process_joins_by_the_address_and_the_token(cluster: Cluster) -> None:
    import ray

    code = (
        "import sys\nfrom tests.cluster.models import trained\n"
        "from wengert.cluster import Cluster, Distributed\n"
        "with Cluster(sys.argv[1]) as cluster:\n"
        "    print(cluster.workers, trained(Distributed(cluster), 4, 3))\n"
    )
    address = ray.get_runtime_context().gcs_address
    ran = subprocess.run([sys.executable, "-c", code, address], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert ran.stdout.split() == [str(cluster.workers), trained(Sequential(), 4, 3)]


# -- parts of a model elsewhere ----------------------------------------------------------------------


def signalled(node: Node, signum: int) -> None:
    """Have the operating system do something to the process of a node."""
    os.kill(node(wg.Do.delay(os.getpid)).run(), signum)


@pytest.mark.parametrize("steps", few([14, 24], 1, 1))
def test_parts_elsewhere_are_killed_and_stopped(cluster: Cluster, tmp_path: Path, steps: int) -> None:
    """One dies every sixth step, one hangs once: the bits are those of one process."""
    nodes = Nodes(cluster.engine, patience=3.0)
    try:
        first = nn.Linear.make(Settings(learning_rate=0.01), 2, 2, seed=9)
        one = nodes.node("one", restarts=9, checkpoint=str(tmp_path), checkpoint_every=5)
        two = nodes.node("two", restarts=9)
        a, b = one.place(Expert, 1), two.place(Expert, 2)
        losses = []
        for k in range(steps):
            if k % 6 == 3:
                signalled(one, signal.SIGKILL)
            if k == 12:
                signalled(two, signal.SIGSTOP)
            losses.append(float(loss_of(first, a, b, k).train().run()))
        found = Left(tuple(losses), (a.version, b.version), digest_of(first) + a.digest() + b.digest())
        assert found == in_one_process(steps)
    finally:
        nodes.close()


def test_a_mixture_of_experts_is_the_same_when_one_is_killed(
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    """The example, on the Ray that is there; at night as a script."""
    module = example("experts")
    register_pickle_by_value(module)  # as a script's own: nodes cannot import it
    request.addfinalizer(partial(unregister_pickle_by_value, module))
    monkeypatch.setattr(module, "Cluster", lambda: nullcontext(cluster))
    module.main()
    said = capsys.readouterr().out
    assert "second-2 is killed" in said and "the weights have the same bits" in said
