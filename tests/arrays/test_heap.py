"""The memory of a run stays with the process for the next one."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_SCRIPT = """
import resource
import sys
import numpy as np
import wengert as wg
from wengert.plugins import SGD
from wengert.run import Sequential, evaluation

if sys.argv[1] == "returned":
    evaluation.keep_heap = lambda: None
weight = SGD(learning_rate=1e-9).array_weight(np.ones((16, 64), np.float32))
interpreter = Sequential(compiled=False)

def run():
    x = weight * 1.0
    for _ in range(500):
        x = x * 0.999
    wg.sum(x).train().run(interpreter)

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for _ in range(3):
    run()
before = faults()
for _ in range(4):
    run()
print((faults() - before) // 4)
"""


pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="others keep their memory as they like"
)


def _faults(how: str) -> int:
    """Pages that a run of 500 nodes gets from the system."""
    ran = subprocess.run([sys.executable, "-c", _SCRIPT, how], capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.slow
def test_a_run_gets_the_memory_of_the_one_before() -> None:
    assert _faults("returned") > 200, "this would find it out"
    assert _faults("kept") < 50
