"""cupy itself over what stands for CUDA: the tests and the benchmark of a device, in a process of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.arrays.cuda_host import has_compiler

pytestmark = [
    pytest.mark.skipif(find_spec("cupy") is None, reason="cupy is for Linux on x86-64"),
    pytest.mark.skipif(not has_compiler(), reason="g++ executes kernels where there is no device"),
]
ROOT = Path(__file__).parents[2]


def ran(*command: str) -> str:
    """What a command of Python has said."""
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def outcome(*options: str) -> tuple[int, int]:
    """How many tests marked `gpu` have passed, and how many were skipped."""
    plugin = ("-p", "tests.arrays.cupy_host", "-n", "0", "-p", "no:randomly", "-p", "no:cacheprovider")
    said = ran("-m", "pytest", *plugin, "-m", "gpu", "tests/test_on_a_gpu.py", "-q", *options)
    passed, skipped = (re.search(rf"(\d+) {what}", said) for what in ("passed", "skipped"))
    assert passed is not None, said
    return int(passed[1]), int(skipped[1]) if skipped else 0


@pytest.mark.slow
def test_a_network_trains_over_cupy() -> None:
    assert outcome("-k", "networks and mlp or moving") == (2, 0)


@pytest.mark.nightly
def test_all_that_is_for_a_device_passes() -> None:
    passed, skipped = outcome()
    assert skipped == 11, "functions of cuSOLVER and cuFFT"
    assert passed >= 100


@pytest.mark.nightly
def test_the_benchmark_fills_its_table() -> None:
    run = "cupy_host.install(Path(mkdtemp())); from benchmarks import gpu; gpu.main(2, 1)"
    said = ran(
        "-c",
        "import os; from pathlib import Path; from tempfile import mkdtemp; from tests.arrays import cupy_host; "
        f"{run}; print(end='', flush=True); os._exit(0)",
    )
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \|", said, re.M)
    assert [name for name, _ in rows] == ["mlp", "vae", "lstm", "transformer", "images"]
    assert all(float(ms) > 0.0 for _, ms in rows)
