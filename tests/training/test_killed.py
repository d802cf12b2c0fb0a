"""A training that is killed at any moment, and resumed, ends where the undisturbed one does, bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = """
import os, random, shutil, signal, sys, time
from functools import partial
from tests.saving.models import told
from tests.training.models import Model, points
from wengert.saving import load
from wengert.training import fit, keeping

folder, wanted, forgetful = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "forgetful"
if forgetful:
    keeping.load = partial(load, optimizer=False)
chance, place = random.Random(0), os.path.join(folder, "run")

def child():
    # train to the end in a process of its own, which leaves the hash of its weights in a file
    found = os.fork()
    if found:
        return found
    model = Model()
    fit(
        model.loss, points(400), seed=3, epochs=12, batch_size=16, validation=points(50, 1), weights=model,
        checkpoint=os.path.join(place, "w"), every=5, resume=True,
    )
    with open(os.path.join(folder, "ending"), "w") as file:
        file.write(told(model.net))
    os._exit(0)

def ended():
    with open(os.path.join(folder, "ending")) as file:
        text = file.read()
    os.unlink(os.path.join(folder, "ending"))
    return text

def begin():
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place)

begin()
start = time.monotonic()
assert os.waitpid(child(), 0)[1] == 0
lasted, whole = time.monotonic() - start, ended()
kills = midway = same = 0
while kills < wanted:
    begin()
    one = child()
    time.sleep(chance.uniform(0.0, lasted))
    os.kill(one, signal.SIGKILL)
    if os.waitpid(one, 0)[1] == 0:
        ended()  # before it was killed
        continue
    kills += 1
    midway += os.path.exists(os.path.join(place, "w"))
    assert os.waitpid(child(), 0)[1] == 0
    same += ended() == whole
print(kills, midway, same)
"""


def killed(folder: Path, kills: int, how: str = "whole") -> tuple[int, int]:
    """How many kills came when there was a checkpoint, and after how many the end was that of the undisturbed one."""
    done = subprocess.run(
        [sys.executable, "-c", KILLS, str(folder), str(kills), how],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    count, midway, same = map(int, done.stdout.split())
    assert count == kills
    return midway, same


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills need fork")


@needs_fork
@pytest.mark.slow
def test_five_kills_change_nothing(tmp_path: Path) -> None:
    midway, same = killed(tmp_path, 5)
    assert same == 5 and midway >= 2


@needs_fork
@pytest.mark.nightly
def test_a_hundred_kills_change_nothing(tmp_path: Path) -> None:
    midway, same = killed(tmp_path, 100)
    assert same == 100 and midway >= 50


@needs_fork
@pytest.mark.slow
def test_the_kills_find_a_training_that_forgets_its_optimizer(tmp_path: Path) -> None:
    midway, same = killed(tmp_path, 5, "forgetful")
    assert same <= 5 - midway
