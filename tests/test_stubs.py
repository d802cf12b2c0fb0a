"""The stubs of cupy say what cupy is: mypy's stubtest compares them with the installed package, without a GPU.

Knows: how stubtest is started, and mistakes that it has to find.
Refuses to know: what is in the stubs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

STUBS = Path(__file__).resolve().parent.parent / "stubs"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("cupy") is None,
        reason="cupy is not installed; the extra `test` brings it where it has wheels",
    ),
]


def stubtest(stubs: Path) -> subprocess.CompletedProcess[str]:
    """What stubtest says of the stubs in a folder; parts of cupy that they leave out are no mistake."""
    return subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "cupy", "--ignore-missing-stub", "--concise"],
        cwd=stubs,
        env={**os.environ, "MYPYPATH": str(stubs)},
        capture_output=True,
        text=True,
    )


def test_the_stubs_agree_with_cupy() -> None:
    done = stubtest(STUBS)
    assert done.returncode == 0, done.stdout + done.stderr


MISTAKES = [
    ("__init__.pyi", "def take_along_axis(", "def take_along_an_axis(", "cupy.take_along_an_axis"),
    ("__init__.pyi", "def broadcast_to(array:", "def broadcast_to(a:", "cupy.broadcast_to"),
    ("cuda/__init__.pyi", "def wait_event(self, event", "def wait_event(self, which", "Stream.wait_event"),
]


def test_wrong_stubs_are_found(tmp_path: Path) -> None:
    stubs = shutil.copytree(STUBS / "cupy", tmp_path / "cupy")
    for file, right, wrong, _ in MISTAKES:
        text = (stubs / file).read_text()
        assert right in text
        (stubs / file).write_text(text.replace(right, wrong))
    done = stubtest(tmp_path)
    assert done.returncode == 1
    for *_, found in MISTAKES:
        assert found in done.stdout, done.stdout + done.stderr
