"""The picture of the ratios is drawn, and says what it lacks where it cannot be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import plot, report
from benchmarks.timing import Spread
from benchmarks.workload import BY_HAND, INTERPRETED, OURS

RATIO = Spread(0.5, 0.4, 0.6)


def test_ratios_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="of the extra `benchmarks`")
    lines = [
        report.Line(f"columns-{i}", peer, "ms", RATIO, RATIO, RATIO, bar, variant)
        for i in (1, 2, 3, 4)
        for peer, bar in (("torch", 0.5), (BY_HAND, None))
        for variant in (OURS, INTERPRETED)
    ]
    plot.draw(report.as_json(lines, {}), tmp_path / "ratios.png")
    assert (tmp_path / "ratios.png").read_bytes().startswith(b"\x89PNG")


def test_without_ratios_or_matplotlib_there_is_no_picture(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    line = report.Line("w", "torch", "ms", RATIO, RATIO, RATIO, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SystemExit, match=r"--plot: .* is not installed"):
        plot.draw(report.as_json([line], {}), tmp_path / "ratios.png")
    with pytest.raises(SystemExit, match="no ratio has been measured"):
        plot.draw(report.as_json([], {}), tmp_path / "ratios.png")
