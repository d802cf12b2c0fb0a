"""No other module of the library imports an array library, and cupy is not imported unless it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import wengert.arrays

SOURCES = Path(wengert.arrays.__file__).parents[1]
LIBRARIES = {"numpy", "cupy"}


def imports_of_array_libraries(source: str) -> list[str]:
    """The array libraries that a module's text imports, by statement or by `import_module`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.append(node.module or "")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if called in ("import_module", "__import__"):
                found += [str(a.value) for a in node.args if isinstance(a, ast.Constant)]
    return [name for name in found if name.partition(".")[0] in LIBRARIES]


def offenders(root: Path) -> dict[str, list[str]]:
    paths = (path for path in root.rglob("*.py") if path.relative_to(root).parts[0] != "arrays")
    found = {
        str(path.relative_to(root)): imports_of_array_libraries(path.read_text("utf-8")) for path in paths
    }
    return {path: names for path, names in found.items() if names}


@pytest.mark.slow
def test_nobody_else_imports_an_array_library() -> None:
    assert offenders(SOURCES) == {}


def test_the_scan_finds_what_it_looks_for(tmp_path: Path) -> None:
    (tmp_path / "arrays").mkdir()
    (tmp_path / "ops").mkdir()
    (tmp_path / "arrays" / "host.py").write_text("import numpy as np\n", "utf-8")
    (tmp_path / "ops" / "bad.py").write_text("import os, numpy.linalg\n", "utf-8")
    (tmp_path / "ops" / "worse.py").write_text("def f():\n    from cupy.cuda import Device\n", "utf-8")
    (tmp_path / "sly.py").write_text("import importlib\nimportlib.import_module('numpy')\n", "utf-8")
    (tmp_path / "good.py").write_text("from wengert.arrays import numpy\nimport numpydoc\n", "utf-8")
    assert offenders(tmp_path) == {
        "ops/bad.py": ["numpy.linalg"],
        "ops/worse.py": ["cupy.cuda"],
        "sly.py": ["numpy"],
    }


@pytest.mark.slow
def test_importing_and_computing_does_not_import_cupy() -> None:
    program = (
        "import sys; import wengert.arrays as a; a.HOST.exp(1.0); a.is_array(object()); "
        "isinstance(1, a.Gpu); sys.exit(any(m.partition('.')[0] in ('cupy', 'scipy') for m in sys.modules))"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)
