"""Learning curves, batched and node by node: they agree, and a difference as large as another seed's is found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import curves
from tests.models.test_sentiment import MODULE, WORDS, trees


@pytest.fixture(scope="module")
def found() -> dict[str, curves.Curve]:
    """The curves of a small network on a few trees."""
    return curves.compared(
        lambda seed: MODULE.Sentiment(WORDS, 6, seed), trees(20, 0), trees(10, 1), epochs=3, batch=6
    )


@pytest.mark.slow
def test_only_another_seed_changes_a_curve(found: dict[str, curves.Curve]) -> None:
    batched, alone, other = (found[name].losses for name in (curves.BATCHED, curves.ALONE, curves.OTHER))
    assert len(batched) == 12
    assert curves.apart(batched, alone) < 1e-5 < 1e-2 < curves.apart(batched, other)
    assert found[curves.BATCHED].accuracies == found[curves.ALONE].accuracies
    first, *epochs = curves.said(found).splitlines()
    assert first.startswith("12 steps: losses lie apart by ") and len(epochs) == 9


@pytest.mark.slow
def test_an_executor_that_learns_something_else_is_found(found: dict[str, curves.Curve]) -> None:
    wrong = {**found, curves.ALONE: found[curves.OTHER], curves.OTHER: found[curves.ALONE]}
    with pytest.raises(AssertionError, match="the executor changes a loss by"):
        curves.said(wrong)


def test_curves_are_drawn(found: dict[str, curves.Curve], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="of the extra `benchmarks`")
    curves.draw(found, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_there_is_no_picture(
    found: dict[str, curves.Curve], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SystemExit, match=r"--plot: .* is not installed"):
        curves.draw(found, tmp_path / "curves.png")


@pytest.mark.slow
def test_the_command_reads_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for part, seed in (("train", 0), ("dev", 1), ("test", 2)):
        (tmp_path / f"{part}.txt").write_text("".join(f"{tree}\n" for tree in trees(12, seed)))
    curves.main(tmp_path, size=4, most=8, epochs=1, batch=4, plot=None)
    assert capsys.readouterr().out.startswith("2 steps: losses lie apart by ")
