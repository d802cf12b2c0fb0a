"""The page beside other libraries: each row that Wengert has names what there is and a test; each other one a reason.

Knows: the tables of the page, and the files of the probes of other libraries, which are read and not run.
Refuses to know: those libraries.
"""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest

from benchmarks.features import probes
from benchmarks.features.__main__ import main
from benchmarks.features.page import claimed, disagreements, tables
from benchmarks.features.page import faults as cell_faults
from benchmarks.features.probes import LIBRARIES as OTHERS
from benchmarks.features.probes import Kind, Rows, Written, lacks_names, near, probes_of, refuses, written
from tests.test_ancestor import ROOT, SHOWN, functions

PAGE = ROOT / "docs" / "comparison.md"
LIBRARIES = 6
NAME = re.compile(r"`(wengert(?:\.\w+)+)")


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


# -- the other columns --------------------------------------------------------------------------------


def test_each_cell_of_another_library_agrees_with_its_probe() -> None:
    assert disagreements(PAGE.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("| `torch.fft` |", "| no |", "Fourier transforms: pytorch: the page says no, and the probe works"),
        ("| `torch.fft` |", "| by hand |", "pytorch: the page says by hand, and the probe works"),
        ("| `torch.fft` |", "| `torch.fft.rftf` |", "pytorch: the probe does not call rftf"),
        (
            "| `torch_xla` (not run) |",
            "| `torch_xla` |",
            "pytorch: the page says works, and the probe not run",
        ),
        ("| TPU | no", "| TPUs | no", "tinygrad: a probe of TPU, and no row"),
        ("| TPU | no", "| TPUs | no", "TPUs: nothing tries keras"),
    ],
)
def test_a_cell_that_says_something_else_is_found(before: str, after: str, fault: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert before in page
    assert any(fault in said for said in disagreements(page.replace(before, after)))


PROBES = """
@rows.works("a")
def a() -> None:
    x = np.exp(0)
    near(x, 1)

@rows.by_hand("b")
def b() -> None:
    x = 2
    x += 1

@rows.lacks("c", "for no reason at all here")
def c() -> None:
    lacks_names(np, "cc")

rows.absent("d", "short")
rows.not_run("e", "there is no such device here")
"""


def test_probes_are_read_with_their_lines_and_reasons() -> None:
    found = {probe.title: probe for probe in written(PROBES)}
    assert [(p.kind, p.lines, p.asserts) for p in found.values()] == [
        (Kind.WORKS, 1, True),
        (Kind.BY_HAND, 2, False),
        (Kind.NO, 0, True),
        (Kind.NO, 0, False),
        (Kind.NOT_RUN, 0, False),
    ]
    assert cell_faults("`exp`", found["a"]) == []
    assert cell_faults("by hand", found["b"]) == ["nothing is asserted"]
    assert cell_faults("no", found["c"]) == []
    assert cell_faults("no: never", found["d"]) == ["no reason"]
    assert cell_faults("by hand", Written("f", Kind.BY_HAND, "", 31, "", True)) == [
        "31 lines are more than a few"
    ]


def test_a_cell_is_an_answer_unless_it_says_otherwise() -> None:
    cells = ("no", "no: never", "notable", "by hand", "by hand: so", "x (not run)", "`x`, by hand")
    assert [claimed(cell).value for cell in cells] == [
        "no", "no", "works", "by hand", "by hand", "not run", "works"
    ]  # fmt: skip


def test_no_library_has_two_probes_of_a_row_in_a_file() -> None:
    for files in OTHERS.values():
        for file in files:
            titles = [
                probe.title for probe in written((probes.FOLDER / f"{file}.py").read_text(encoding="utf-8"))
            ]
            assert len(titles) == len(set(titles)), file
    assert {len({probe.title for probe in probes_of(library)}) for library in OTHERS} == {66}


def test_what_probes_assert_by_can_fail() -> None:
    for check in (
        lambda: near([1.0], [1.1]),
        lambda: lacks_names(np, "exp"),
        lambda: refuses(ValueError).__exit__(None, None, None),
    ):
        with pytest.raises(AssertionError):
            check()
    with pytest.raises(TypeError), refuses(ValueError):
        raise TypeError("another one")
    with refuses(ValueError):
        raise ValueError("this one")


def test_a_program_that_fails_is_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = Rows()
    rows.works("right")(lambda: near(1, 1))
    rows.by_hand("wrong")(lambda: near(1, 2))
    rows.absent("none", "nothing of the kind")
    monkeypatch.setitem(probes.LIBRARIES, "numbers", ())
    monkeypatch.setattr(
        "benchmarks.features.__main__.found", lambda library: (rows.probes, {"wrong": 3}, "numbers 1")
    )
    assert main(["--here", "numbers", "--only", "right"]) == 0
    assert main(["--here", "numbers"]) == 1
    said = capsys.readouterr().out
    assert "right: works" in said and "wrong: FAILED" in said and "none: no: nothing of the kind" in said
