"""Tests of a real Ray, each file in a process of its own: what Ray leaves in a process would change later tests there.

Knows: that Ray reads its token once in a process, and leaves threads, handlers of signals and variables.
Refuses to know: what is tested; see `rays`, `machines`, `partition` and `campaign`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.campaign import SCHEDULES, schedule_of
from tests.cluster.partition import REFUSED, allowed

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def rerun(path: Path, marks: str, timeout: float) -> subprocess.CompletedProcess[str]:
    """pytest of one file in a process of its own."""
    options = ["-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=short", "-m", marks]
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "RAY_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(path)],
        cwd=ROOT,
        env={**outer, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_in_a_process_of_its_own() -> None:
    ran = rerun(HERE / "rays.py", "not nightly", 600.0)
    assert ran.returncode == 0 and "passed" in ran.stdout, ran.stdout[-8000:] + ran.stderr[-2000:]


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="as above")
@pytest.mark.parametrize("name", ["rays", "machines", "partition"])
def test_machines_come_go_stop_and_are_cut_off(name: str) -> None:
    if name == "partition" and not allowed():
        pytest.skip(REFUSED)
    ran = rerun(HERE / f"{name}.py", "nightly", 600.0)
    assert ran.returncode == 0 and "passed" in ran.stdout, ran.stdout[-8000:] + ran.stderr[-2000:]


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="as above")
def test_the_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each schedule took, and every traceback, stay in the folder of this test, also where it passes."""
    monkeypatch.setenv("WENGERT_CAMPAIGN", str(tmp_path / "steps.jsonl"))
    ran = rerun(HERE / "campaign.py", "nightly", 7200.0)
    (tmp_path / "output").write_text(ran.stdout + ran.stderr)
    assert ran.returncode == 0 and "100 passed" in ran.stdout, f"{tmp_path}: {ran.stdout[-8000:]}"


def test_schedules_are_drawn_from_their_numbers_and_have_every_kind_of_event() -> None:
    drawn = [schedule_of(count, number) for count in (1, 2, 3, 4) for number in range(SCHEDULES)]
    assert len({*drawn}) == len(drawn) == 100 and drawn[7] == schedule_of(1, 7)
    assert {event.kind for x in drawn for event in x.events} == {"kill", "stop", "join", "leave"}


def test_a_failure_inside_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "failing.py"
    path.write_text("def test_one() -> None:\n    assert 1 == 2\n")
    ran = rerun(path, "", 60.0)
    assert ran.returncode == 1 and "assert 1 == 2" in ran.stdout
