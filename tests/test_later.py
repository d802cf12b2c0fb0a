"""Parts that are loaded with the first of their names: nothing can be seen of it but the time that importing takes."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wengert import ops
from wengert.later import LazyModules

SRC = Path(__file__).resolve().parent.parent / "src" / "wengert"


def printed(code: str, given: bytes = b"") -> str:
    """What a new process prints, in which nothing has been loaded."""
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        input=given,
        capture_output=True,
        check=False,
    )
    assert not done.returncode, done.stderr.decode()
    return done.stdout.decode().strip()


def test_importing_wengert_loads_no_family_of_operations_and_no_interpreter() -> None:
    code = "import sys, wengert; print(*(name for name in sys.modules if name.startswith('wengert.')))"
    loaded = printed(code).split()
    assert "wengert.graph.expressions" in loaded
    assert [x for x in loaded if x.startswith(("wengert.ops.", "wengert.run", "wengert.program"))] == []
    assert {"wengert.fft", "wengert.linalg", "wengert.plugins", "wengert.extend"}.isdisjoint(loaded)


def test_every_public_name_is_listed_before_it_is_loaded_and_is_found() -> None:
    code = """
import wengert, wengert.ops
for package in (wengert.ops, wengert):
    assert set(package.__all__) <= set(dir(package)), set(package.__all__) - set(dir(package))
    missing = [name for name in package.__all__ if not hasattr(package, name)]
    assert not missing, missing
    assert set(package.__all__) <= set(vars(package)), "the second look loads nothing"
print(wengert.erf is wengert.ops.activation.erf)
"""
    assert printed(code) == "True"


def test_a_checker_sees_each_name_of_operations_where_a_run_finds_it() -> None:
    tree = ast.parse((SRC / "ops" / "__init__.py").read_text())
    typed = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("wengert.ops.")
        for alias in node.names
    }
    assert set(typed) == set(ops.__all__)
    for name, module in typed.items():
        assert getattr(ops, name) is getattr(importlib.import_module(module), name)


def test_each_operator_loads_its_rules() -> None:
    code = """
import numpy as np, wengert as wg
def run(of):
    return np.asarray(of.predict().run()).tolist()
x = wg.literal(np.array([[4.0, -6.0]]))
print(run(x + 1.0), run(x - 1.0), run(2.0 * x), run(x / 2.0), run(x ** 2.0), run(x % 5.0))
print(run(x @ wg.literal(np.array([[1.0], [2.0]]))))
print(run(-x), run(abs(x)), run(x[0, 1]))
"""
    lines = printed(code).splitlines()
    assert lines[0] == (
        "[[5.0, -5.0]] [[3.0, -7.0]] [[8.0, -12.0]] [[2.0, -3.0]] [[16.0, 36.0]] [[4.0, 4.0]]"
    )
    assert lines[1] == "[[-8.0]]"
    assert lines[2] == "[[-4.0, 6.0]] [[4.0, 6.0]] -6.0"


def test_operations_from_another_process_load_their_families() -> None:
    giving = """
import pickle, wengert.ops
from wengert.graph.operation import OPERATIONS
wengert.ops.load_families()
print(pickle.dumps([(key, pickle.dumps(x)) for key, x in OPERATIONS.items()]).hex())
"""
    taking = """
import pickle, sys
given = pickle.load(sys.stdin.buffer)
print(len(given), {key for key, made in given if pickle.loads(made).key != key})
"""
    count, wrong = printed(taking, bytes.fromhex(printed(giving))).split()
    assert int(count) > 140
    assert wrong == "set()"


def test_an_executor_chosen_before_the_first_run_stays() -> None:
    code = """
import wengert as wg
from wengert.control import set_default_executor
from wengert.control.context import Run
set_default_executor(None)
import wengert.run
before = Run().chosen
set_default_executor(mine := wengert.run.Sequential())
print(before, Run().chosen is mine)
"""
    assert printed(code) == "None True"


def test_runs_without_an_executor_share_the_one_that_is_made_for_the_first() -> None:
    code = """
import sys, wengert
from wengert.control.context import Run
before = "wengert.run" in sys.modules
print(before, type(Run().executor).__name__, Run().executor is Run().executor)
"""
    assert printed(code) == "False Sequential True"


def test_a_name_that_nothing_has_is_an_error_in_the_name_of_the_package() -> None:
    with pytest.raises(AttributeError, match=r"module 'wengert\.ops' has no attribute 'fourth'"):
        LazyModules("wengert.ops", {"fourier": "", "linear": "matmul"}).find("fourth")
