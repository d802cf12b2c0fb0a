"""The house rules that a machine can check: floors, public names, sizes, types, lint, the built wheel."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import wengert
from tests.wheel import built_wheel
from wengert import extend

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
SCRIPTS = Path(sysconfig.get_path("scripts"))


def run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)


def lint_imports(cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    path = os.pathsep.join([str(cwd / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.slow
def test_every_module_imports_only_from_floors_below() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_the_floor_check_fails_when_a_floor_is_broken(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    module = tmp_path / "src" / "wengert" / "delta.py"
    module.write_text(module.read_text() + "\nfrom wengert.graph.node import Node as Node\n")
    result = lint_imports(tmp_path)
    assert result.returncode != 0
    assert "wengert.delta -> wengert.graph.node" in result.stdout


@pytest.mark.slow
def test_a_module_on_no_floor_is_refused(tmp_path: Path) -> None:
    copy_sources(tmp_path)
    (tmp_path / "src" / "wengert" / "utils.py").write_text("")
    assert lint_imports(tmp_path).returncode != 0


def copy_sources(to: Path) -> None:
    for path in [ROOT / "pyproject.toml", *SOURCES]:
        target = to / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text())


def test_the_public_names_are_the_written_list() -> None:
    public = {name for name in dir(wengert) if not name.startswith("_")}
    modules = {info.name for info in pkgutil.iter_modules(wengert.__path__)} | {
        "annotations",
        "TYPE_CHECKING",
    }
    assert public - modules == set(wengert.__all__) - modules
    assert callable(wengert.differentiable), "the module of that name is the decorator, too"
    assert vars(wengert)["differentiable"] is importlib.import_module("wengert.differentiable")
    for package in ("ops", "plugins", "run", "extend", "testing"):
        module = importlib.import_module(f"wengert.{package}")
        assert all(hasattr(module, name) for name in module.__all__)


DOOR = {"families.py", "kinds.py", "__init__.py"}  # what makes the door is not behind it


@pytest.mark.parametrize(
    "path", [p for p in SOURCES if p.parent.name == "ops" and p.name not in DOOR], ids=lambda p: p.name
)
def test_built_in_operations_use_the_door_that_users_have(path: Path) -> None:
    from_below = {"wengert.graph", "wengert.delta", "wengert.lazy", "wengert.ops"}
    modules = (extend.kinds, extend.index, extend.batching, extend.specification, extend.windows)
    open_to_all = {
        *extend.__all__,
        *wengert.__all__,
        *wengert.linalg.__all__,
        *wengert.fft.__all__,
        *(name for module in modules for name in dir(module)),
    }
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and any(node.module.startswith(m) for m in from_below)
        ):
            for alias in node.names:
                declared = node.module == "wengert.graph.operators"
                assert declared or alias.name in open_to_all, f"{alias.name} is a privilege"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_is_small_says_what_it_knows_and_hides_no_import(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert len(text.splitlines()) <= 640, "a file that knows one thing is shorter; 600 is usual"
    docstring = ast.get_docstring(tree) or ""
    assert docstring, "a module says what it knows"
    if "wengert_mypy" not in path.parts:
        assert "Knows:" in docstring
        assert "Refuses to know:" in docstring
    nodes = list(ast.walk(tree))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            end = node.end_lineno or 0
            for inner in (x for x in imports if node.lineno <= x.lineno <= end):
                above = text.splitlines()[inner.lineno - 2]
                assert above.strip().startswith("# "), f"{node.name} hides an import without a reason"
            assert end - node.lineno < 70, f"{node.name} does not fit a screen"
    for imported in imports:
        assert all(alias.name != "*" for alias in imported.names)


def test_every_ignore_names_its_code_and_its_reason() -> None:
    for path in SOURCES:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if "type: ignore" in line:
                assert re.search(r"# type: ignore\[[\w-]+(, [\w-]+)*\]  ?# \S", line), (
                    f"{path}:{number}: {line}"
                )


@pytest.mark.slow
def test_import_needs_no_optional_package() -> None:
    optional = (
        "cupy",
        "rich",
        "scipy",
        "mypy",
        "asyncio",
        "sklearn",
        "matplotlib",
        "tensorboardX",
        "numpy.random",
    )
    code = f"import sys, wengert; print([m for m in {optional} if m in sys.modules])"
    result = run(sys.executable, "-c", code)
    assert result.stdout.strip() == "[]", result.stdout + result.stderr


@pytest.mark.slow
def test_mypy_strict_passes_over_everything() -> None:
    result = run(sys.executable, "-m", "mypy")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_pyrefly_passes_over_everything() -> None:
    result = run(SCRIPTS / "pyrefly", "check", "--python-interpreter-path", sys.executable)
    assert result.returncode == 0, result.stdout + result.stderr


def test_ruff_finds_nothing() -> None:
    for command in (["check"], ["format", "--check"]):
        result = run(
            SCRIPTS / "ruff", *command, "src", "tests", "examples", "benchmarks", "docs", "typecheck"
        )
        assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_the_built_wheel_works_with_the_sources_out_of_the_way(tmp_path: Path) -> None:
    wheel = built_wheel(tmp_path)
    assert wheel.stat().st_size < 1_250_000
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "wengert/py.typed",
        "wengert_mypy/py.typed",
        "wengert_shapes/py.typed",
        "cupy-stubs/__init__.pyi",
    } <= names
    home = tmp_path / "elsewhere"
    venv.create(home, with_pip=False, system_site_packages=False)
    (python,) = home.glob("bin/python")
    packages = next(home.glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(packages)
    there = Path(importlib.import_module("numpy").__file__ or "").parent.parent
    (packages / "dependencies.pth").write_text(f"{there}\n")
    code = "import wengert as wg; print(wg.__file__, (wg.lift(2.0) * 3.0).predict().run())"
    result = run(python, "-I", "-c", code, cwd=tmp_path)
    assert result.stdout.split() == [str(packages / "wengert" / "__init__.py"), "6.0"], result.stderr
