"""Tools around a model: profiles and drawings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import wengert as wg
from wengert.drawing import dot, mermaid, svg
from wengert.nn import Linear
from wengert.profiling import Cost, Profile, Row, profile


def case_a_profile(loss: wg.DoubleLayer, path: Path) -> None:
    with profile(compiled=True, most_events=10) as p:
        loss.train().run()
    assert_type(p, Profile)
    assert_type(p.rows, tuple[Row, ...])
    assert_type(p.rows[0].forward, Cost)
    assert_type(p.rows[0].forward.calls, int)
    assert_type(p.seconds, float)
    assert_type(p.table(), str)
    p.table(None)
    p.trace(path)
    p.trace("trace.json")
    p.trace(3)  # E: incompatible type "int"
    p.rows[0].forward.calls = 1  # E: is read-only
    profile(True)  # E: Too many positional arguments


def case_an_interpreter(loss: wg.DoubleLayer) -> None:
    assert_type(loss.train().run(wg.run.Sequential(stacked=False)), float)
    assert_type(loss.train().run(wg.run.Parallel(2, stacked=False)), float)
    wg.run.Sequential(stacked=3)  # E: incompatible type "int"
    wg.run.Sequential(True, False)  # E: Too many positional arguments


def case_a_drawing(x: wg.ArrayLayer, w: wg.DoubleWeight, mask: wg.Mask[Any], model: Linear) -> None:
    assert_type(mermaid(x), str)
    assert_type(dot((x, (w, mask)), cells=True), str)
    assert_type(svg(model, most=10), str)
    mermaid(3.0)  # E: incompatible type "float"
    dot([x])  # E: incompatible type "list
    svg(x, True)  # E: Too many positional arguments
