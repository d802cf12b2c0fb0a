"""`fit` with parts on nodes: a folder has all of a step, and a driver that is killed at a write goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from errno import ENOSPC
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.cluster.experts import Expert, Settings
from wengert import nn
from wengert.cluster import Fault, Local, Message, Nodes
from wengert.cluster.part import digest_of
from wengert.errors import ArgumentError, CheckpointError, CheckpointWriteError
from wengert.run import Batched
from wengert.training import fit

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = np.linspace(-1.0, 1.0, 24, dtype=np.float32).reshape(12, 2)
WHOLE = 6  # steps


class Driver:
    """A layer here, an expert on each of two nodes, and what a training of them leaves."""

    def __init__(self, faults: Callable[..., Fault | None] | None = None) -> None:
        self.engine = Local(2, faults)
        self.nodes = Nodes(self.engine)
        self.first = nn.Linear.make(Settings(learning_rate=0.01), 2, 2, seed=9)
        self.a = self.nodes.node("a", restarts=3).place(Expert, 1)
        self.b = self.nodes.node("b", restarts=3).place(Expert, 2)

    def loss(self, batch: Any, seed: object) -> Any:  # Any: rows of an array, a scalar expression
        h = self.first(batch)
        return wg.mean(wg.square(self.a(h) + self.b(h * 2.0, 0.5) - 1.0))

    def left(self) -> str:
        """The bits of all weights and states."""
        return digest_of(self.first) + self.a.digest() + self.b.digest()

    def fit(self, folder: str | None, resume: bool = False, **options: Any) -> str:  # Any: of `fit`
        checkpoint: Any = None if folder is None else self.nodes.folder(folder)  # Any: of `fit`
        given: dict[str, Any] = {"steps": WHOLE, "every": None if folder is None else 1, **options}
        batches = [EXAMPLES[i : i + 4] for i in (0, 4, 8)]
        fit(
            self.loss,
            lambda epoch: batches,
            seed=3,
            weights=self.first,
            checkpoint=checkpoint,
            resume=resume,
            show=False,
            **given,
        )
        found = self.left()
        self.nodes.close()
        return found


def killed_and_resumed(folder: str, writes: int) -> tuple[int, str]:
    """The signal that ended a driver at the how many-th write to the disk, and what the next one left."""
    ends: list[int] = []
    reading, writing = os.pipe()
    for resume in (False, True):
        child = os.fork()
        if child == 0:
            if not resume:
                left, sync = iter(range(writes)), os.fsync

                def killing(fd: Any) -> None:  # Any: of files
                    if next(left, None) is None:
                        os.kill(os.getpid(), signal.SIGKILL)
                    sync(fd)

                os.fsync = killing
            os.write(writing, Driver().fit(folder, resume).encode())
            os._exit(0)
        ends.append(os.WTERMSIG(os.waitpid(child, 0)[1]))
    os.close(writing)
    with os.fdopen(reading) as file:
        return ends[0], file.read()


def main(folder: str, every: int) -> None:
    """Have drivers killed at every so many-th write, until one is through before it."""
    wanted = Driver().fit(None)
    for writes in range(1, 1000, every):
        end, found = killed_and_resumed(os.path.join(folder, str(writes)), writes)
        assert found[-len(wanted) :] == wanted, f"other bits after {writes} writes"
        if end == 0:
            print(writes)
            break
        assert end == signal.SIGKILL


@pytest.mark.parametrize(
    "every", [pytest.param(9, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.nightly)]
)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills need fork")
def test_a_driver_that_is_killed_at_any_write_goes_on_with_the_same_bits(tmp_path: Path, every: int) -> None:
    code = f"from tests.cluster.test_resume import main; main({str(tmp_path)!r}, {every})"
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert int(ran.stdout) > 4 * WHOLE  # three files and a manifest at each step, and the log


def test_a_training_that_is_resumed_has_the_bits_of_one_that_is_not(tmp_path: Path) -> None:
    folder, wanted = str(tmp_path / "all"), Driver().fit(None)
    Driver().fit(folder, steps=4)
    assert Driver().fit(folder, resume=True) == wanted
    with pytest.raises(CheckpointError, match="all is there already; write resume=True"):
        Driver().fit(folder)


def test_what_a_folder_is_refused_for_changes_nothing(tmp_path: Path) -> None:
    folder, driver = str(tmp_path / "all"), Driver()
    Driver().fit(folder, steps=2)
    before = driver.left()
    (tmp_path / "file").write_text("")
    cases: list[tuple[dict[str, Any], str]] = [  # Any: of `fit`
        ({"seed": 4, "checkpoint": driver.nodes.folder(folder)}, "its seed is 3, and that of fit 4"),
        (
            {"seed": 3, "checkpoint": driver.nodes.folder(str(tmp_path / "file"))},
            "file is a file; name a folder",
        ),
        (
            {"seed": 3, "best": "x", "checkpoint": driver.nodes.folder(folder)},
            "best= is a file of the weights here",
        ),
    ]
    for options, said in cases:
        resume = "best" not in options
        with pytest.raises((ArgumentError, CheckpointError), match=said):
            fit(
                driver.loss,
                lambda epoch: [EXAMPLES],
                steps=2,
                weights=driver.first,
                resume=resume,
                show=False,
                **options,
            )
    assert driver.left() == before
    driver.nodes.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"checkpoint": "one.safetensors"}, r"one\.safetensors would have the weights of this process alone"),
        (
            {"best": "best.safetensors", "validation": lambda epoch: [EXAMPLES]},
            r"best\.safetensors would .*without best=",
        ),
        (
            {"accumulate": 2},
            r"accumulate=2 adds deltas of weights here, so those would not learn; leave it out",
        ),
        ({"checkpoint": "one.safetensors", "executor": Batched()}, r".*cluster\.folder\('one"),
    ],
)
def test_what_has_the_weights_of_this_process_alone_is_refused_before_a_step(
    options: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    driver = Driver()
    before = driver.left()
    with pytest.raises(ArgumentError, match=rf"fit: parts of the model are on nodes, 'a', 'b', and {said}"):
        fit(driver.loss, lambda epoch: [EXAMPLES, EXAMPLES], seed=3, steps=2, weights=driver.first, **options)
    assert driver.left() == before and [*tmp_path.iterdir()] == []
    driver.nodes.close()


def test_a_loss_in_shards_with_parts_on_nodes_has_the_bits_of_one_process(tmp_path: Path) -> None:
    here, there = Driver(), Driver()
    here.a, here.b = Expert(1), Expert(2)  # type: ignore[assignment] # called as the parts are
    losses = [
        [float(wg.shards(one.loss, EXAMPLES, 3, weigh=how).train().run()) for how in ("mean", "sum", "mean")]
        for one in (here, there)
    ]
    assert losses[0] == losses[1]
    assert there.left() == digest_of(here.first) + digest_of(here.a) + digest_of(here.b)
    there.nodes.close()


def test_a_node_that_cannot_be_reached_for_a_while_changes_no_bit(tmp_path: Path) -> None:
    """Every message to a node is lost for longer than the driver waits, so that it is given up and begun anew."""
    lost = range(10, 16)
    to_a: list[Message] = []

    def partition(message: Message) -> Fault | None:
        to_a.extend([message] * (message.to == "a"))
        return Fault.LOST_BEFORE if message.to == "a" and len(to_a) in lost else None

    driver = Driver(partition)
    assert driver.fit(str(tmp_path / "all")) == Driver().fit(None)
    assert len(to_a) > lost.stop and driver.engine.now > 10.0


def test_a_full_disk_ends_a_training_which_goes_on_from_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, wanted, sync = str(tmp_path / "all"), Driver().fit(None), os.fsync
    for full_at in (8, 13):
        writes = iter(range(full_at))

        def full(file: int, writes: Iterator[int] = writes) -> None:
            if next(writes, None) is None:
                raise OSError(ENOSPC, "No space left on device")
            sync(file)

        driver = Driver()
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(CheckpointWriteError, match="No space left"):
            driver.fit(folder, resume=full_at > 8)
        monkeypatch.setattr(os, "fsync", sync)
        driver.nodes.close()
    assert Driver().fit(folder, resume=True) == wanted
