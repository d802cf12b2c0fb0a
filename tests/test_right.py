"""Right programs, ports of well-known models: no checker refuses a line of them, and they run.

Each checker is asked once for all. What is not installed is skipped: pip install basedpyright.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import judges
from benchmarks.timing import ROOT
from tests.mypy_plugin.checking import advised_cache

FOLDER = ROOT / "typecheck" / "right"
FILES = sorted(FOLDER.glob("*.py"))
LEAST = 93


def module(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"right_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    sys.modules[spec.name] = made  # dataclasses look their module up
    spec.loader.exec_module(made)
    return made


def refusals(answers: judges.Answers) -> list[str]:
    return [f"{name}:{x.line}: [{x.code}] {x.text}" for name, said in answers.items() for x in said]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in FILES:
        shutil.copy(path, tmp_path)
    return tmp_path


@pytest.mark.slow
def test_each_one_trains() -> None:
    ports = [port for path in FILES for name, port in vars(module(path)).items() if name.startswith("port_")]
    assert len(ports) >= LEAST
    for port in ports:
        assert port().train().run().shape == ()


@pytest.mark.slow
def test_mypy_with_the_plugin_refuses_none_but_a_wrong_one(folder: Path) -> None:
    text = (folder / "perceptrons.py").read_text(encoding="utf-8")
    wrong = text.replace("MLP(784, 64, 10)", "MLP(785, 64, 10)")
    (folder / "wrong.py").write_text(wrong, encoding="utf-8")
    advised_cache(folder.parent, to=folder / "cache_with_plugin")
    (said,) = refusals(judges.mypy(folder, True, folder))
    assert re.match(r"wrong\.py:\d+: \[arg-type\]", said)


@pytest.mark.slow
def test_pyrefly_refuses_none(folder: Path) -> None:
    assert refusals(judges.pyrefly(folder)) == []


@pytest.mark.slow
def test_basedpyright_refuses_none(folder: Path) -> None:
    program = Path(sysconfig.get_path("scripts")) / "basedpyright"
    if not program.exists():
        pytest.skip("basedpyright is not installed; `pip install basedpyright`")
    settings = {"extraPaths": [str(p) for p in judges.SOURCES], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [str(program), "--outputjson", "--level", "error", "--pythonpath", sys.executable]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert json.loads(done.stdout)["generalDiagnostics"] == []
