"""The benchmarks run, compute what they say they compute, and their checks can fail. Nothing here is timed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import (
    agreement,
    bookkeeping,
    checking,
    distributed,
    memory,
    memory_of_plans,
    models,
    nets,
    quiet,
    report,
    standing,
    timing,
)
from benchmarks.__main__ import CHECKING, known, main
from benchmarks.columns import FUSED
from benchmarks.columns_by_hand import one_by_one
from benchmarks.columns_ours import Ours
from benchmarks.network import RATE, Network
from benchmarks.overhead import KEPT, REBUILT
from benchmarks.registry import WORKLOADS
from benchmarks.timing import ROOT, Spread, Times, environment, measure
from benchmarks.workload import BY_HAND, INTERPRETED, OURS, Step, Variant, Workload
from benchmarks.workload import agreement as agreement_of
from tests.mypy_plugin.checking import advised_cache
from wengert.run import Parallel, Sequential


def idle() -> Step:
    return lambda: 1.0


def workload(*variants: Variant, name: str = "w", cores: int = 1, bar: float = 0.4) -> Workload:
    return Workload(name, "", "us", 1e-6, 10, variants, {(OURS, "torch"): bar}, cores=cores)


@pytest.mark.slow
def test_every_step_runs(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    named = [name for name in known() if name != CHECKING]
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--json", str(file), *named],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for name, each in WORKLOADS.items():
        for variant in each.variants:
            missing = variant.missing() is not None or variant.slow
            assert missing or f"ran: {name}: {variant.name}\n" in ran.stdout
    for columns in (1, 2, 4):
        for name in (f"columns-{columns}", f"columns-{columns}-no-skip"):
            for kind in ("", "-two-cores"):
                assert f"{name}{kind}: after 20 steps all weights lie within" in ran.stdout
    for name in ("trees-256-64", "table-1-1024-32-predict", "sst"):
        assert f"{name}: the losses of 18 steps lie within" in ran.stdout
    assert f"{bookkeeping.NAME}: " in ran.stdout
    assert find_spec("torch") is None or "ran: columns-1: torch.compile\n" in ran.stdout
    assert f"ran: memory: columns-4-no-skip: {OURS}" in ran.stdout or not memory.STATUS.exists()
    assert not memory.STATUS.exists() or all(
        f"ran: {memory_of_plans.NAME}: {name}\n" in ran.stdout for name in memory_of_plans.NETWORKS
    )
    assert f"ran: {distributed.NAME}\n" in ran.stdout
    assert all(f"ran: {standing.NAME}: {name}\n" in ran.stdout for name in standing.CHAINS)
    kept = json.loads(file.read_text())
    assert kept["machine"]["numpy"]
    assert {line["workload"] for line in kept["lines"]} == {"import"}


@pytest.mark.slow
@pytest.mark.parametrize("skip", [True, False])
def test_a_rate_wrong_by_a_thousandth_is_found(skip: bool) -> None:
    network, wrong = Network(1, skip), RATE * 1.001
    makers: agreement.Makers = {
        OURS: lambda: Ours(network, Sequential(), wrong),
        INTERPRETED: lambda: Ours(network, Sequential(compiled=False), wrong),
        "2 threads": lambda: Ours(network, Parallel(threads=2), wrong),
        FUSED: lambda: one_by_one(network, fused=True, column_rate=wrong),
    }
    for far in agreement.apart(network, makers).values():
        assert far > 100 * agreement.CLOSE
    with pytest.raises(AssertionError, match="w: weights of 'by hand, fused' lie"):
        agreement.check_agreement("w", network, {FUSED: makers[FUSED]})


def test_a_dead_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "LIVING", 1.1)
    with pytest.raises(AssertionError, match="dead network"):
        agreement.apart(Network(1), {}, steps=1)


def test_who_computes_something_else_is_left_out_unless_it_is_ours() -> None:
    each = workload(*(Variant(name, idle) for name in (OURS, "torch", BY_HAND)))
    assert each.wrong({OURS: 1.0, "torch": 1.0, BY_HAND: 1.0}) == {}
    assert each.wrong({OURS: 1.0, "torch": float("nan"), BY_HAND: 1.0}) == {"torch": "computes nan, not 1"}
    with pytest.raises(AssertionError, match=r"w: wengert computes 1\.001, not 1"):
        each.wrong({OURS: 1.001, "torch": 1.0, BY_HAND: 1.0})


@pytest.mark.slow
def test_slices_go_round_in_processes_of_their_own() -> None:
    chain = replace(WORKLOADS["scalar-chain"], settles=0.0)
    names = [REBUILT, KEPT, BY_HAND]
    times = measure(chain, names, rounds=2, seconds=0.001)
    assert {name: len(seconds) for name, seconds in times.rounds.items()} == dict.fromkeys(names, 2)
    assert all(seconds > 0 for several in times.rounds.values() for seconds in several)
    made = report.lines(chain, times)
    assert [(line.variant, line.peer) for line in made] == [(REBUILT, BY_HAND), (KEPT, BY_HAND)]
    (kept,) = report.limits(chain, times)
    assert (kept.what, kept.most) == (KEPT, chain.most[KEPT])


@pytest.mark.slow
def test_who_gives_no_answer_is_left_out() -> None:
    times = measure(WORKLOADS["scalar-chain"], [BY_HAND], rounds=1, seconds=0.001, patience=0.0)
    assert times == Times({}, {BY_HAND: "gave no answer within 0 s"})


def test_two_cores_are_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(quiet, "idle_cores", lambda: 1.9)
    quiet.wait(2)
    monkeypatch.setattr(quiet, "idle_cores", lambda: 1.5)
    with pytest.raises(quiet.NeverQuiet, match=r"2 cores were not idle within 0 s; 1\.5 were at"):
        quiet.wait(2, patience=0.0)
    monkeypatch.setattr(quiet, "wait", partial(quiet.wait, patience=0.0))
    monkeypatch.setattr(timing, "Process", _Slice)
    each = workload(Variant(OURS, idle), cores=2)
    monkeypatch.setitem(WORKLOADS, "w", each)
    main(["w"])
    assert "left out: w: 2 cores were not idle" in capsys.readouterr().out


class _Slice:
    """A process that has an answer at once."""

    def __init__(self, workload: Workload, variant: Variant) -> None:
        self.variant = variant

    def answers(self, seconds: float) -> bool:
        return True

    def line(self) -> str:
        return "1.0"

    def end(self) -> None:
        pass


@pytest.mark.skipif(not quiet.STAT.exists(), reason="this system does not count idle time")
def test_idle_cores_are_a_number_of_cores() -> None:
    assert 0 <= quiet.idle_cores(0.02) <= 1024


@pytest.mark.slow
@pytest.mark.skipif(not memory.STATUS.exists(), reason="this system does not count a process's memory")
def test_a_leak_and_a_peak_are_seen() -> None:
    leaked: list[bytearray] = []

    def leaking() -> Step:
        def step() -> float:
            leaked.append(bytearray(b"1" * 100_000))
            return 1.0

        return step

    def greedy() -> Step:
        return lambda: float(len(bytearray(b"1" * 50_000_000)))

    most = memory.QUESTIONS[0]
    assert memory.taken(leaking, warm=10, steps=100).growth > 9e6
    found = memory.taken(greedy, warm=1, steps=3)
    assert found.peak > 49e6
    assert found.growth < 1e6
    assert [limit.met for limit in most.limits(OURS, found)] == [False, True]
    assert [limit.met for limit in most.limits("torch", found)] == [None, None]


def test_a_peak_above_that_of_the_peer_is_seen() -> None:
    question = next(each for each in memory.QUESTIONS if each.peer)
    mine, theirs = memory.Taken(3e6, 0.0), memory.Taken(2e6, 0.0)
    (over,) = question.over({OURS: mine, question.peer: theirs})
    assert "1.500 times" in over.text()
    assert over.met is False
    assert [each.met for each in question.over({OURS: theirs, question.peer: mine})] == [True]
    assert question.over({OURS: mine}) == []


def test_losses_that_differ_are_refused() -> None:
    right, wrong = Variant(OURS, idle), Variant("torch", lambda: lambda: 1.001)
    assert agreement_of([right, right]).startswith("losses of 4 steps agree with")
    with pytest.raises(AssertionError, match=r"torch: a loss of 1\.001, not 1 as wengert"):
        agreement_of([right, wrong])


@pytest.mark.parametrize("net", nets.NETS, ids=[net.name for net in nets.NETS])
def test_a_network_that_people_train_takes_the_same_steps_elsewhere(net: nets.Net) -> None:
    small = net.workload(net.small)
    ours = [
        variant for variant in small.variants if variant.name != nets.JAX
    ]  # which compiles for a second each
    assert agreement_of(ours)


def test_a_network_without_loops_of_c_has_a_quarter_more() -> None:
    bars = WORKLOADS["net-cnn"].bars
    assert bars[f"{OURS}{nets.NUMPY}", nets.TORCH] == nets.SLOWER * bars[OURS, nets.TORCH]
    without = [name for name in WORKLOADS if (f"{OURS}{nets.NUMPY}", nets.TORCH) in WORKLOADS[name].bars]
    assert len(without) == 9


@pytest.mark.slow
@pytest.mark.skipif(not memory.STATUS.exists(), reason="this system does not count a process's memory")
@pytest.mark.parametrize("name", memory_of_plans.NETWORKS)
def test_making_a_plan_takes_the_memory_of_a_step(name: str) -> None:
    bar, *_ = memory_of_plans.limits(name, memory_of_plans.measured(name, memory_of_plans.MAKES))
    assert bar.met, bar.text()


def test_a_plan_that_takes_more_memory_than_a_step_is_seen() -> None:
    bar, *rest = memory_of_plans.limits("w", {7: (100, 50), 8: (116, 60), 20: (120, 60)})
    assert bar.met is False
    assert len(rest) == 6


def test_a_ratio_is_the_median_of_the_ratios_of_each_round() -> None:
    times = Times({OURS: [1.0, 6.0, 2.0], "torch": [2.0, 2.0, 4.0]})
    assert times.ratio(OURS, "torch") == Spread(0.5, 0.5, 3.0)
    each = workload(Variant(OURS, idle), Variant("torch", idle))
    (line,) = report.lines(each, times)
    assert line.met is False
    assert "MISSED" in line.text()
    assert line.ours.median == pytest.approx(2e5)
    assert "0.500 (0.500 to 3.000), bar 0.4: MISSED" in report.table([line])
    assert report.summary([line]).startswith("bars: 0 met, 1 missed\n  w: ")


def test_each_of_ours_is_compared_with_each_peer_and_among_themselves_where_there_is_a_bar() -> None:
    names = (OURS, INTERPRETED, "torch", BY_HAND)
    each = Workload(
        "w", "", "us", 1e-6, 1, tuple(Variant(name, idle) for name in names), {(OURS, INTERPRETED): 1.0}
    )
    assert each.pairs(names[:3]) == [(OURS, INTERPRETED), (OURS, "torch"), (INTERPRETED, "torch")]


def test_bars_are_of_variants_that_there_are() -> None:
    for each in WORKLOADS.values():
        names = {variant.name for variant in each.variants}
        assert names.issuperset(name for pair in each.bars for name in pair)
        assert names.issuperset(each.most)
    for question in memory.QUESTIONS:
        assert {v.name for v in WORKLOADS[question.workload].variants}.issuperset(question.variants)


def test_an_absent_peer_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = Variant("peer", idle, ("no_such_module",))
    monkeypatch.setitem(WORKLOADS, "w", workload(Variant(OURS, idle), peer))
    main(["w", "--quick"])
    assert "left out: peer: no_such_module not installed" in capsys.readouterr().out


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["no-such-workload"])
    assert "unknown: no-such-workload; known: scalar-chain" in capsys.readouterr().err


def libraries(home: Path) -> dict[bool, Path]:
    """The library as mypy has read it, with the plugin and without it."""
    return {plugin: advised_cache(home, plugin) for plugin in (True, False)}


@pytest.mark.slow
def test_every_step_of_checking_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checking.quick(libraries(tmp_path.parent))
    said = capsys.readouterr().out
    assert "checking: a wrong size in the model is found: matmul: cannot multiply" in said
    assert f"ran: checking: {checking.WITH}\n" in said and f"ran: checking: {checking.WITHOUT}\n" in said


@pytest.mark.slow
def test_checking_is_not_timed_where_the_plugin_finds_nothing_or_refuses_the_model(tmp_path: Path) -> None:
    home = checking.Home(tmp_path, libraries(tmp_path.parent))
    right = models.model(1)
    with pytest.raises(AssertionError, match="a wrong size passes"):
        checking.check_finding(home, right)
    wrong = checking.Project(home, "wrong", models.spoiled(right), plugin=True)
    with pytest.raises(AssertionError, match="the model is refused"):
        wrong.state(checking.WARM)


def test_a_plugin_that_costs_too_much_misses_the_bar() -> None:
    ours, theirs = [checking.Taken(2.0, 2.5)] * 3, [checking.Taken(1.5, 1.5)] * 3
    found = {(checking.WITH, checking.TOUCHED): ours, (checking.WITHOUT, checking.TOUCHED): theirs}
    line = checking.line("model", found, checking.TOUCHED)
    assert line.met is False
    assert "MISSED" in line.text()
    assert "at most 1: MISSED" in checking.most(ours, 1.0)
