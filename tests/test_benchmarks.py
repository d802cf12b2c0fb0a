"""The benchmarks run, compute what they say they compute, and their check can fail. Nothing here is timed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import agreement, report
from benchmarks.__main__ import main
from benchmarks.columns import RATE
from benchmarks.registry import WORKLOADS
from benchmarks.timing import ROOT, Spread, Times, environment, measure
from benchmarks.workload import OURS, Step, Variant, Workload


def idle() -> Step:
    return lambda: None


@pytest.mark.slow
def test_every_step_runs_once(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--json", str(file)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for name in WORKLOADS:
        assert f"ran: {name}: {OURS}" in ran.stdout
    for name in ("columns-1", "columns-4"):
        assert f"{name}: after 200 steps all weights lie within" in ran.stdout
    kept = json.loads(file.read_text())
    assert kept["machine"]["numpy"]
    assert [line["workload"] for line in kept["lines"]] == ["import"]


@pytest.mark.slow
def test_a_rate_wrong_by_a_thousandth_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    far = agreement.apart(1, column_rate=RATE * 1.001)
    assert far > 100 * agreement.CLOSE
    monkeypatch.setattr(agreement, "apart", lambda columns: far)
    with pytest.raises(AssertionError, match="weights lie"):
        agreement.check_agreement(1)


def test_a_dead_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "LIVING", 1.1)
    monkeypatch.setattr(agreement, "STEPS", 1)
    with pytest.raises(AssertionError, match="dead network"):
        agreement.apart(1)


@pytest.mark.slow
def test_slices_go_round_in_processes_of_their_own() -> None:
    times = measure(WORKLOADS["scalar-chain"], [OURS, "by hand"], rounds=2, seconds=0.001)
    assert {name: len(seconds) for name, seconds in times.rounds.items()} == {OURS: 2, "by hand": 2}
    made = report.lines(WORKLOADS["scalar-chain"], times)
    assert [line.peer for line in made] == ["by hand"]
    assert all(seconds > 0 for seconds in times.rounds[OURS])


def test_a_ratio_is_the_median_of_the_ratios_of_each_round() -> None:
    times = Times({OURS: [1.0, 6.0, 2.0], "torch": [2.0, 2.0, 4.0]})
    assert times.ratio(OURS, "torch") == Spread(0.5, 0.5, 3.0)
    variants = (Variant(OURS, idle), Variant("torch", idle))
    workload = Workload("w", "", "us", 1e-6, 10, variants, {"torch": 0.4})
    (line,) = report.lines(workload, times)
    assert line.met is False
    assert "MISSED" in line.text()
    assert line.ours.median == pytest.approx(2e5)


def test_an_absent_peer_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = Variant("peer", idle, ("no_such_module",))
    workload = Workload("w", "", "us", 1e-6, 1, (Variant(OURS, idle), peer))
    monkeypatch.setitem(WORKLOADS, "w", workload)
    main(["w", "--quick"])
    assert "left out: peer: no_such_module not installed" in capsys.readouterr().out


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["no-such-workload"])
    assert "unknown: no-such-workload; known: scalar-chain" in capsys.readouterr().err
