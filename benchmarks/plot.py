"""The ratios as a picture: `python -m benchmarks.plot figures.json picture.png`, or `--plot` of the benchmarks.

A panel for each workload, a line for each peer: the median of ours over theirs, with the least and the
greatest. Left of 1 ours is faster. An upright stroke is a bar: the mark should not be right of it.

Knows: how ratios are drawn, and that matplotlib is an extra.
Refuses to know: what was measured, and how.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any, Final

from benchmarks.workload import ADVICE

Panel = list[Mapping[str, Any]]  # Any: a line of the figures, as JSON has it
COLUMNS: Final = 3
INCHES: Final = (5.2, 0.27)  # a panel's width, a line's height
EDGE: Final = 0.95  # inches of a panel that are no lines
SMALL: Final = 8  # points
MANY, FEW, WIDE = (1.0, 2.0, 5.0), (1.0,), 1000.0  # ticks in a decade: few where the panel is wide
COLOURS: Final = ("#1b6ca8", "#e07b39", "#4f9d4f", "#8a5aa8", "#777777")


def draw(figures: Mapping[str, Any], path: Path) -> None:
    """Write the picture of what `report.as_json` gives; its ending says which format."""
    panels: dict[str, Panel] = {}
    for line in figures["lines"]:
        panels.setdefault(line["workload"], []).append(line)
    if not panels:
        raise SystemExit("--plot: no ratio has been measured; choose a workload, and leave out --quick")
    try:
        module, ticker = import_module("matplotlib.figure"), import_module("matplotlib.ticker")
    except ModuleNotFoundError as absent:
        raise SystemExit(f"--plot: matplotlib is not installed ({ADVICE})") from absent
    colours = _colours(panels)
    rows = [list(panels.items())[i : i + COLUMNS] for i in range(0, len(panels), COLUMNS)]
    heights = [EDGE + INCHES[1] * max(len(_peers(panel)) for _, panel in row) for row in rows]
    top = 0.3 + 0.2 * ceil(len(colours) / COLUMNS)
    wide = min(COLUMNS, len(panels))
    figure = module.Figure(figsize=(INCHES[0] * wide, sum(heights) + top), layout="constrained")
    axes = figure.subplots(len(rows), wide, squeeze=False, height_ratios=heights)
    for row, line in zip(axes, rows, strict=True):
        for ax, (name, panel) in zip(row, line, strict=False):
            _panel(ax, ticker, name, panel, colours)
        for ax in row[len(line) :]:
            ax.set_visible(False)
    marks = [
        axes[0][0].errorbar([], [], fmt="o", color=colour, label=name) for name, colour in colours.items()
    ]
    figure.legend(handles=marks, loc="outside upper center", ncols=COLUMNS, fontsize=SMALL, frameon=False)
    figure.savefig(path, dpi=110)


def _colours(panels: Mapping[str, Panel]) -> dict[str, str]:
    names = dict.fromkeys(line["variant"] for panel in panels.values() for line in panel)
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def _peers(panel: Panel) -> list[str]:
    return list(dict.fromkeys(line["peer"] for line in panel))


def _panel(
    ax: Any, ticker: Any, name: str, panel: Panel, colours: Mapping[str, str]
) -> None:  # Any: of matplotlib, which is optional
    peers, variants = _peers(panel), list(dict.fromkeys(line["variant"] for line in panel))
    step = 0.6 / max(len(variants), 2)
    for line in panel:
        ratio, colour = line["ratio"], colours[line["variant"]]
        y = peers.index(line["peer"]) + step * (variants.index(line["variant"]) - (len(variants) - 1) / 2)
        spread = [[ratio["median"] - ratio["low"]], [ratio["high"] - ratio["median"]]]
        ax.errorbar([ratio["median"]], [y], xerr=spread, fmt="o", color=colour, markersize=4, capsize=2)
        if line["bar"] is not None:
            ax.vlines(line["bar"], y - step / 2, y + step / 2, color=colour, linewidth=2)
    ax.axvline(1.0, color="#999999", linewidth=0.8)
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=FEW if high > WIDE * low else MANY))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    ax.set_yticks(range(len(peers)), peers, fontsize=SMALL)
    ax.set_ylim(len(peers) - 0.5, -0.5)
    ax.tick_params(axis="x", which="both", labelsize=SMALL)
    ax.grid(axis="x", which="major", color="#eeeeee")
    ax.set_title(name, fontsize=SMALL + 1, loc="left")
    ax.set_xlabel("ours over theirs: left of 1 ours is faster; strokes are bars", fontsize=SMALL - 1)


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
