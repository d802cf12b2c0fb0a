"""How many names a reader follows from `run` to the first launch of a batch: a figure that may only fall."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import wengert as wg
from tests.way import names_on_the_way
from wengert.plugins import SGD
from wengert.run import Batched

ROOT = Path(__file__).parents[1]
MOST = 42  # 30 of them in `run.batching`


def test_the_way_to_a_launch_gets_no_longer() -> None:
    """In a process of its own, where no cache knows anything."""
    command = [sys.executable, "-m", "tests.way"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = done.stdout.split("\n")[:-1]
    assert names[-1] == "batching/kernel.py: BatchedKernel.forward"
    assert any(name.endswith(": scheduled") for name in names)
    assert len(names) <= MOST, done.stdout


def test_what_a_module_calls_of_itself_is_no_name_on_the_way_and_the_end_is_the_last() -> None:
    loss = wg.sum(SGD(learning_rate=0.1).array_weight(np.ones(3)) * 2.0)
    names = names_on_the_way(loss.predict().run, Batched(), lambda name: name.endswith("ScheduleCache.find"))
    assert names == [
        "sequential.py: Interpreter.predict",
        "loops.py: brought",
        "sequential.py: _predict",
        "sequential.py: _whole",
        "commit.py: Doubts.__init__",
        "batching/cache.py: ScheduleCache.find",
    ]
