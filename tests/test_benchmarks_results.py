"""The page of results has each figure of a run, says which bars are missed, and why what is slower is slower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks import report, results
from benchmarks.nets import NUMPY
from benchmarks.timing import Spread
from benchmarks.workload import OURS

FAST, SLOW = Spread(0.5, 0.4, 0.6), Spread(1.25, 1.2, 1.5)


def figures() -> dict[str, Any]:  # Any: as JSON has it
    lines = [
        report.Line("net-mlp", "torch", "ms a step", FAST, SLOW, FAST, 0.85),
        report.Line("net-cnn", "torch", "ms a step", SLOW, FAST, SLOW, 1.0),
        report.Line("new-one", "torch", "us", SLOW, FAST, SLOW, None),
    ]
    limit = report.Limit("memory: net-cnn", "peak", "MB", SLOW, 1.0)
    return report.as_json([*lines, limit], {"jax.jit": "not installed"})


def test_each_figure_is_on_the_page() -> None:
    page = results.text(figures(), "pictures/results.svg")
    assert "| 0.5 ms a step | torch: 1.25 ms a step | 0.50 (0.40 to 0.60) | 0.85, met |" in page
    assert "1.25 (1.20 to 1.50) | 1, **missed** |" in page
    assert "| memory: net-cnn: peak | 1.25 MB | 1, **missed** |" in page
    assert "Left out: jax.jit: not installed." in page
    assert f"net-mlp: {OURS}" in page


def test_what_is_slower_has_a_reason_or_says_that_none_is_known() -> None:
    _, why = results.text(figures(), "picture").split("## What is slower, and why")
    assert "net-mlp" not in why
    assert f"- `net-cnn`, 1.25 of torch: {results.REASONS['net-cnn']}." in why
    assert f"- `new-one`, 1.25 of torch: {results.UNKNOWN}." in why


def test_a_variant_has_a_reason_of_its_own() -> None:
    without = f"{OURS}{NUMPY}"
    made = report.as_json([report.Line("net-cnn", "torch", "ms a step", SLOW, FAST, SLOW, 1.25, without)], {})
    _, why = results.text(made, "picture").split("## What is slower, and why")
    assert f"- `net-cnn: {without}`, 1.25 of torch: {results.IN_PASSES}." in why


def test_of_several_files_the_later_has_the_last_word() -> None:
    again = report.as_json([report.Line("net-cnn", "torch", "ms a step", FAST, SLOW, FAST, 1.0)], {})
    joined = results.joined([figures(), again])
    assert [(x["workload"], x["met"]) for x in joined["lines"]] == [
        ("net-mlp", True),
        ("net-cnn", True),
        ("new-one", None),
    ]
    assert joined["left out"] == {"jax.jit": "not installed"}


def test_the_picture_lies_beside_the_page(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="of the extra `benchmarks`")
    results.write(figures(), tmp_path / "results.md")
    assert "](pictures/results.svg)" in (tmp_path / "results.md").read_text()
    assert (tmp_path / "pictures" / "results.svg").read_text().rstrip().endswith("</svg>")
