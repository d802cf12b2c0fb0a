"""Every example in a docstring runs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import wengert
from tests.arrays.pretended import OVER_CUPY

MODULES = [
    info.name
    for info in pkgutil.walk_packages(wengert.__path__, "wengert.")
    if info.name not in OVER_CUPY  # cupy is optional
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wengert", *MODULES])
def test_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.failed == 0


def test_most_modules_have_an_example() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) > 60


def test_a_wrong_example_would_be_found() -> None:
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    assert doctest.DocTestRunner(verbose=False).run(wrong, out=lambda text: None).failed == 1
