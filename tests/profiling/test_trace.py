"""The trace parses, its events nest on each thread, and its pairs close."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.plugins import SGD
from wengert.profiling import profile

Events = list[dict[str, Any]]


def nests(events: Events) -> bool:
    """Whether any two spans of one thread are apart or one in the other."""
    for thread in {event["tid"] for event in events}:
        ends: list[float] = []
        for event in sorted((e for e in events if e["tid"] == thread), key=lambda e: (e["ts"], -e["dur"])):
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            if ends and event["ts"] + event["dur"] > ends[-1] + 1e-3:  # a nanosecond: what a float has lost
                return False
            ends.append(event["ts"] + event["dur"])
    return True


def traced(path: Path, most_events: int = 1000) -> dict[str, Any]:
    w = SGD(learning_rate=0.01).array_weight(np.ones((8, 4), np.float32), name="w")

    @wg.cell
    def inner(x: wg.ArrayLayer) -> wg.ArrayLayer:
        return wg.tanh(x)

    @wg.differentiable
    async def chosen(x: wg.ArrayLayer) -> wg.ArrayLayer:
        return wg.exp(x) if (await x)[0, 0] > 0.0 else x

    with profile(most_events=most_events) as p:
        for _ in range(3):
            wg.sum(chosen(inner(wg.sin(w))), axis=(0, 1)).train().run()
    p.trace(path)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_spans_nest_with_cells_around_what_they_do(tmp_path: Path) -> None:
    spans = [e for e in traced(tmp_path / "trace.json")["traceEvents"] if e["ph"] == "X"]
    assert nests(spans)
    (cell, *_), (tanh, *_) = ([e for e in spans if e["name"] == name] for name in ("inner", "tanh"))
    assert cell["ts"] <= tanh["ts"]
    assert tanh["ts"] + tanh["dur"] <= cell["ts"] + cell["dur"] + 1e-3
    assert {e["cat"] for e in spans} == {"forward", "backward", "loop", "commit", "step", "change"}
    assert all(e["dur"] >= 0.0 and e["ts"] >= 0.0 for e in spans)


def test_the_check_of_nesting_can_fail() -> None:
    def span(start: float, length: float) -> dict[str, Any]:
        return {"tid": 1, "ts": start, "dur": length}

    assert nests([span(0, 10), span(1, 2), span(3, 7), span(10, 1)])
    assert not nests([span(0, 10), span(5, 10)])


def test_runs_and_binds_are_pairs(tmp_path: Path) -> None:
    events = traced(tmp_path / "trace.json")["traceEvents"]
    begun = {(e["id"], e["name"]): e["ts"] for e in events if e["ph"] == "b"}
    ended = {(e["id"], e["name"]): e["ts"] for e in events if e["ph"] == "e"}
    assert begun.keys() == ended.keys()
    assert all(ended[key] >= begun[key] for key in begun)
    assert sorted(name for _, name in begun) == ["bind"] * 3 + ["train"] * 3


def test_an_event_says_operands_result_arguments_and_line(tmp_path: Path) -> None:
    events = traced(tmp_path / "trace.json")["traceEvents"]
    first = next(e for e in events if e["name"] == "sin")
    assert first["args"]["operands"] == ["(8, 4) float32"]
    assert first["args"]["result"] == "(8, 4) float32"
    assert first["args"]["line"].startswith(f"{__file__}:")
    assert next(e for e in events if e["name"] == "tanh")["cat"] == "forward"
    names = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert names == {"wengert", threading.current_thread().name}


def test_events_beyond_the_limit_are_counted_and_the_table_is_whole(tmp_path: Path) -> None:
    found = traced(tmp_path / "trace.json", most_events=5)
    assert len([e for e in found["traceEvents"] if e["ph"] in "Xb"]) == 5
    assert found["otherData"]["events left out"] > 20


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with profile() as p:
        pass
    with pytest.raises(OSError, match="nowhere"):
        p.trace(tmp_path / "nowhere" / "trace.json")
