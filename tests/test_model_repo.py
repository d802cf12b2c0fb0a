"""A user's project passes its own CI with the built wheel, and its CI finds what it is there to find."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mypy_plugin.checking import advised_cache
from tests.wheel import ROOT, built_wheel, environment

PROJECT = ROOT / "examples" / "model_repo"

pytestmark = pytest.mark.slow

CI = Callable[[Path], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def ci(tmp_path_factory: pytest.TempPathFactory) -> CI:
    """Runs the CI script of a copy of the project, in an environment where only the wheel is Wengert."""
    home = tmp_path_factory.mktemp("ci")
    wheel = built_wheel(home)
    python = environment(home / "venv")
    known = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    here = {
        **known,
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",  # the other requirements are installed
    }

    def run(project: Path) -> subprocess.CompletedProcess[str]:
        script = ["bash", str(project / "ci.sh"), str(wheel)]
        plugin = "wengert_mypy" in (project / "pyproject.toml").read_text()
        cache = advised_cache(tmp_path_factory.getbasetemp(), plugin)
        known = {**here, "MYPY_CACHE_DIR": str(cache)}
        return subprocess.run(script, env=known, capture_output=True, text=True)

    return run


def changed(folder: Path, file: str, right: str, wrong: str) -> Path:
    """A copy of the project with a mistake."""
    project = shutil.copytree(PROJECT, folder / "project")
    text = (project / file).read_text()
    assert right in text
    (project / file).write_text(text.replace(right, wrong))
    return project


def test_the_project_passes(ci: CI, tmp_path: Path) -> None:
    done = ci(shutil.copytree(PROJECT, tmp_path / "project"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Success: no issues found" in done.stdout
    assert "failed" not in done.stdout


def test_mypy_is_red_where_a_size_is_wrong(ci: CI, tmp_path: Path) -> None:
    right, wrong = "Linear.make(settings, WIDTH, SENSORS", "Linear.make(settings, SENSORS, SENSORS"
    done = ci(changed(tmp_path, "forecast/__init__.py", right, wrong))
    assert done.returncode != 0
    assert "expected last axis 4, got (Batch, 16)" in done.stdout, done.stdout + done.stderr


def test_the_canary_is_red_where_the_plugin_is_off(ci: CI, tmp_path: Path) -> None:
    done = ci(changed(tmp_path, "pyproject.toml", 'plugins = ["wengert_mypy"]\n', ""))
    assert done.returncode != 0
    assert "FAILED typecheck/forecast_types.py::case_the_plugin_is_on" in done.stdout, (
        done.stdout + done.stderr
    )
