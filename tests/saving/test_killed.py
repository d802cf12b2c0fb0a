"""A process that is killed in the middle of `save` leaves the old file or the new one, never a broken one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills need fork")

KILLS = """
import os, random, signal, sys, time
import numpy as np
from wengert.errors import CheckpointError
from wengert.plugins import SGD
from wengert.saving import files, load, save

folder, count, naive = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "naive"
path, chance = os.path.join(folder, "w"), random.Random(0)
settings = SGD(learning_rate=0.1)
numbers = [settings.array_weight(np.full(20_000, float(i)), name="w") for i in range(8)]

def in_place(path, content):
    with open(path, "wb", buffering=0) as file:
        for i in range(0, len(content), 4096):
            file.write(content[i : i + 4096])

if naive:
    files.replace = in_place
    import wengert.saving.checkpoint as checkpoint
    checkpoint.replace = in_place

save(path, [numbers[0]], step=0)
met, broken, midway = set(), 0, 0
for _ in range(count):
    child = os.fork()
    if child == 0:
        while True:
            for i, w in enumerate(numbers):
                save(path, [w], step=i)
    time.sleep(chance.uniform(0.001, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    into = settings.array_weight(np.zeros(20_000), name="w")
    midway += any(name.endswith(".partial") for name in os.listdir(folder))
    try:
        step = load(path, [into]).step
        broken += not bool((into.data == float(step)).all())
        met.add(step)
    except CheckpointError as error:
        broken += 1
    assert os.listdir(folder) == ["w"], "what a killed process has left is removed by whoever loads"
print(len(met), broken, midway)
"""


def killed(folder: Path, count: int, how: str = "atomic") -> tuple[int, int, int]:
    """How many different contents were met, how many files were broken, how many kills came in mid-write."""
    done = subprocess.run(
        [sys.executable, "-c", KILLS, str(folder), str(count), how], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    met, broken, midway = map(int, done.stdout.split())
    return met, broken, midway


@pytest.mark.slow
def test_no_kill_leaves_a_broken_file(tmp_path: Path) -> None:
    _, broken, midway = killed(tmp_path, 30)
    assert broken == 0
    assert midway > 0, "no kill came in the middle of a save"


@pytest.mark.nightly
def test_none_of_a_thousand_kills_leaves_a_broken_file(tmp_path: Path) -> None:
    met, broken, midway = killed(tmp_path, 1000)
    assert broken == 0
    assert midway >= 200 and met > 2


@pytest.mark.slow
def test_the_kills_find_a_file_that_is_written_in_place(tmp_path: Path) -> None:
    _, broken, _ = killed(tmp_path, 30, "naive")
    assert broken > 0
