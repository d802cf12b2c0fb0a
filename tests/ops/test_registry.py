"""Every operation that is registered is tested here, is public, and is described."""

from __future__ import annotations

import doctest
import inspect
import json
import os
import re
import subprocess
import sys

import pytest

from wengert import fft, linalg, ops
from wengert.ops.families import operation_of

from .backward import BACKWARD
from .subjects import SUBJECTS

PUBLIC = {
    name: getattr(module, name) for module in (fft, linalg, ops) for name in module.__all__ if name.islower()
}

INTERNAL = {
    "beside",
    "det_sign",  # with the next the two results of `slogdet`
    "forward",
    "literal",
    "logabsdet",
    "parameter",
    "part",
    "targets",  # of the losses of labels
    "update",
    "variable",
}  # how values enter a graph and leave a cell, what is asked for together, state; not public under these names


@pytest.mark.slow
def test_every_registered_operation_has_a_subject() -> None:
    """In a process of its own, where no test has registered anything."""
    listed = subprocess.run(
        [
            sys.executable,
            "-c",
            "import json, wengert.graph.operation as o, wengert.ops; "
            "wengert.ops.load_families(); print(json.dumps(list(o.OPERATIONS)))",
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    registered = set(json.loads(listed.stdout))
    composed = {name for name, function in PUBLIC.items() if operation_of(function) is None}
    assert registered - INTERNAL == set(SUBJECTS) - composed | set(BACKWARD)
    assert registered >= INTERNAL


def test_every_public_operation_has_a_subject() -> None:
    assert set(PUBLIC) == set(SUBJECTS)


@pytest.mark.parametrize("name", PUBLIC)
def test_the_docstring_is_whole_and_its_example_runs(name: str) -> None:
    text = inspect.cleandoc(PUBLIC[name].__doc__)  # Python 3.13 takes the indentation away by itself
    first, _, rest = text.partition("\n\n")
    assert first.endswith("."), "the first line says what it is, or is the formula"
    assert "\n" not in first
    for part in ("Derivative: ", "Shapes: ", "Source: "):
        assert len(re.findall(rf"^{part}\S", rest, re.MULTILINE)) == 1, f"one line `{part}...` is missing"
    example = doctest.DocTestParser().get_doctest(text, PUBLIC, name, None, None)
    assert [e for e in example.examples if e.want], "an example with numbers is missing"
    failed, _ = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(example)
    assert not failed


@pytest.mark.parametrize("name", PUBLIC)
def test_the_function_is_named_as_the_operation(name: str) -> None:
    function = PUBLIC[name]
    assert function.__name__ == function.__qualname__ == name
    assert function.__module__.startswith("wengert.ops.")
