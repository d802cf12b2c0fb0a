"""The page beside other libraries: each row that Wengert has names what there is and a test; each other one a reason.

Knows: the tables of the page.
Refuses to know: the columns of other libraries.
"""

from __future__ import annotations

import importlib
import re

import pytest

from tests.test_ancestor import ROOT, SHOWN, functions

PAGE = ROOT / "docs" / "comparison.md"
LIBRARIES = 6
NAME = re.compile(r"`(wengert(?:\.\w+)+)")


def tables(page: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The cells of each row by its first one, and the tests of each row."""
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in page.splitlines()
        if line.startswith("| ") and not line.startswith("| what |")
    ]
    compared = {title: cells for title, *cells in rows if len(cells) != 1}
    return compared, {row[0]: row[1] for row in rows if len(row) == 2}


def is_there(name: str) -> bool:
    """Whether a dotted name is a module or something that one has."""
    module, *parts = name.split(".")
    here: object = importlib.import_module(module)
    for i, part in enumerate(parts, start=1):
        try:
            here = getattr(here, part)
        except AttributeError:
            try:
                here = importlib.import_module(".".join([module, *parts[:i]]))
            except ImportError:
                return False
    return True


def faults(page: str) -> list[str]:
    """What is wrong with rows of the page."""
    compared, shown = tables(page)
    found = [f"{title}: a test, and no row" for title in shown if title not in compared]
    for title, (ours, *others) in compared.items():
        if len(others) != LIBRARIES - 1 or not all(others):
            found.append(f"{title}: not every library has a cell")
        found += [f"{title}: there is no {name}" for name in NAME.findall(ours) if not is_there(name)]
        if ours.startswith("no"):
            reason = ours.partition(": ")[2]
            found += [f"{title}: no reason"] * (len(reason) < 20) + [f"{title}: a test"] * (title in shown)
            continue
        if not re.search(r"`[^`]+`|\]\(", ours):
            found.append(f"{title}: nothing to write is named")
        tests = SHOWN.findall(shown.get(title, ""))
        if not tests:
            found.append(f"{title}: shown by nothing")
        for file, name in tests:
            if not (functions(ROOT / file).get(name) if name else (ROOT / file).is_file()):
                found.append(f"{title}: the daily suite has no {file}::{name}")
    return found


def test_each_row_names_what_there_is_and_a_test_or_a_reason() -> None:
    assert faults(PAGE.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("`wengert.nn.RNN`", "`wengert.nn.NNR`", "there is no wengert.nn.NNR"),
        ("test_summary`", "test_summit`", "the daily suite has no tests/nn/test_layers.py::test_summit"),
        ("test_five_kills_change_nothing", "test_a_hundred_kills_change_nothing", "the daily suite has no"),
        ("| no: arrays are numpy's and cupy's |", "| no: never |", "TPU: no reason"),
        ("| `wengert.scan` |", "| yes |", "nothing to write is named"),
        (
            "| A loop as one node | `tests",
            "| A loop as a node | `tests",
            "A loop as one node: shown by nothing",
        ),
        ("| `jax.lax.scan` | `keras.ops.scan`", "| `keras.ops.scan`", "not every library has a cell"),
    ],
)
def test_a_row_that_is_wrong_is_found(before: str, after: str, fault: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert before in page
    assert any(fault in said for said in faults(page.replace(before, after)))
