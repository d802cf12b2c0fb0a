"""docs/rules.md: written from the operations, current, and wrong as soon as one of them is."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest

from benchmarks.timing import ROOT
from wengert import ops


@pytest.fixture(scope="module")
def rules() -> ModuleType:
    spec = spec_from_file_location("docs_rules", ROOT / "docs" / "rules.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def test_the_page_is_current(rules: ModuleType) -> None:
    assert rules.PAGE.read_text(encoding="utf-8") == rules.page(), "run `python docs/rules.py`"


def test_each_operation_has_a_row_with_what_its_rule_gives(rules: ModuleType) -> None:
    rows = [line for line in rules.page().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == sorted(ops.__all__)
    (matmul,) = (row for row in rows if row.startswith("| `matmul`"))
    assert "`matmul(float64 (2, 3), float64 (3, 4)) → float64 (2, 4)` | `ops.linear` |" in matmul


def test_an_operation_that_does_not_say_its_rule_is_refused(
    rules: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        ops.tanh, "__doc__", "The hyperbolic tangent.\n\n>>> tanh(0.0).predict().run()\n0.0\n"
    )
    with pytest.raises(AssertionError, match="tanh says no `Shapes:`"):
        rules.page()
    monkeypatch.setattr(ops.tanh, "__doc__", "The hyperbolic tangent.\n\nShapes: that of x.\n")
    with pytest.raises(ValueError, match="tanh: no call in its docstring"):
        rules.page()
