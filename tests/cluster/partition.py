"""Ray on two machines between which the network is cut: network namespaces, joined by a pair of virtual devices.

`test_rays` runs this file in a process of its own at night, where this user may make namespaces.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.cluster.machines import secured, until_there
from tests.cluster.models import trained
from wengert.cluster import Cluster, Distributed
from wengert.errors import ClusterError
from wengert.run import Sequential

HERE: Final = "10.213.7.1"
THERE: Final = "10.213.7.2"
PORT: Final = 6397


def told(*words: str) -> subprocess.CompletedProcess[str]:
    """What a command says."""
    return subprocess.run(words, capture_output=True, text=True)


def allowed() -> bool:
    """Whether this user may make a network namespace, and a device in it."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    with suppress(OSError):  # without the command
        space, device = f"wengert-try-{os.getpid()}", f"t{os.getpid()}"
        made = told("ip", "netns", "add", space).returncode == 0
        joined = told("ip", "link", "add", f"{device}a", "type", "veth", "peer", "name", f"{device}b")
        told("ip", "link", "del", f"{device}a")
        told("ip", "netns", "del", space)
        return made and joined.returncode == 0
    return False


REFUSED: Final = "needs the right to make network namespaces"
pytestmark = pytest.mark.nightly


class Network(NamedTuple):
    """A namespace, and its end of the cable."""

    space: str
    device: str

    def cut(self) -> None:
        """Have what is sent in either direction vanish, and nobody be told."""
        self._set("down")

    def mend(self) -> None:
        """Have it arrive again."""
        self._set("up")

    def _set(self, state: str) -> None:
        done = told("ip", "-n", self.space, "link", "set", self.device, state)
        assert done.returncode == 0, done.stderr


@contextmanager
def network() -> Generator[Network]:
    """Two machines: this one, which is `HERE`, and one that is `THERE`."""
    made = Network(f"wengert-{os.getpid()}", f"w{os.getpid()}b")
    near = f"w{os.getpid()}a"
    try:
        for words in (
            f"netns add {made.space}",
            f"link add {near} type veth peer name {made.device} netns {made.space}",
            f"addr add {HERE}/24 dev {near}",
            f"link set {near} up",
            f"-n {made.space} addr add {THERE}/24 dev {made.device}",
            f"-n {made.space} link set {made.device} up",
            f"-n {made.space} link set lo up",
        ):
            done = told("ip", *words.split())
            assert done.returncode == 0, (words, done.stderr)
        yield made
    finally:
        for pid in told("ip", "netns", "pids", made.space).stdout.split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        told("ip", "link", "del", near)
        told("ip", "netns", "del", made.space)


@contextmanager
def ray(log: Path, *words: str, within: tuple[str, ...] = ()) -> Generator[None]:
    """Processes of one machine."""
    program = str(Path(sys.executable).parent / "ray")
    options = ("--block", "--num-cpus=1", "--disable-usage-stats")
    with log.open("w") as file:
        process = subprocess.Popen(
            [*within, program, "start", *words, *options], stdout=file, stderr=subprocess.STDOUT
        )
        try:
            yield
        finally:
            process.terminate()  # with --block it ends those that it has started
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def address() -> str:
    """Where this is computed, which takes so long that another worker gets the next message."""
    time.sleep(0.3)
    there: Any = import_module("ray.util")
    found: str = there.get_node_ip_address()
    return found


def until_both_answer(cluster: Cluster) -> None:
    """Wait until a worker of either machine has begun."""
    deadline, engine, found = time.monotonic() + 120.0, cluster.engine, set[str]()
    while found != {HERE, THERE}:
        assert time.monotonic() < deadline, found
        asked = {engine.submit(address) for _ in range(4)}
        left = {*asked}
        while left:
            left -= engine.wait(left, 60.0)
        found = {future.result() for future in asked}


def joined() -> Cluster:
    """The cluster, as soon as its head is there."""
    deadline = time.monotonic() + 90.0
    while True:
        try:
            return Cluster(f"{HERE}:{PORT}")
        except ClusterError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def test_a_machine_that_the_network_does_not_reach_is_not_waited_for(tmp_path: Path) -> None:
    """The network comes back only after steps that were done without it."""
    if not allowed():
        pytest.skip(REFUSED)
    with ExitStack() as stack:
        net = stack.enter_context(network())
        stack.enter_context(secured(tmp_path))
        head = (f"--node-ip-address={HERE}", f"--port={PORT}", "--include-dashboard=false")
        stack.enter_context(ray(tmp_path / "head", "--head", *head))
        other = (f"--address={HERE}:{PORT}", f"--node-ip-address={THERE}")
        stack.enter_context(ray(tmp_path / "there", *other, within=("ip", "netns", "exec", net.space)))
        cluster = stack.enter_context(joined())
        assert until_there(cluster, 2)
        until_both_answer(cluster)

        def change(step: int) -> None:
            if step == 6:
                net.cut()
            if step == 20:
                net.mend()

        executor = Distributed(cluster, patience=3.0)
        assert trained(executor, 30, 4, before=change) == trained(Sequential(), 30, 4)
