"""Saving and loading beside a training: data and state are of one moment, and no update is lost."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from tests.saving.models import Settings
from wengert import DoubleLayer, DoubleWeight
from wengert.graph.store import Store
from wengert.saving import load, save


def descending() -> list[DoubleWeight]:
    """Weights that Adam moves by 1 a step, so that each is minus the count in its optimizer's state."""
    settings = Settings(learning_rate=1.0, eps=0.0)
    return [settings.double_weight(0.0, name=f"w{i}") for i in range(20)]


def total(weights: list[DoubleWeight]) -> DoubleLayer:
    loss = weights[0] * 1.0
    for w in weights[1:]:
        loss = loss + w
    return loss


def moment(weights: list[DoubleWeight]) -> int:
    """How many steps all of them have made."""
    counts = {vars(w.optimizer).get("count", 0) for w in weights} | {round(-w.data) for w in weights}
    assert len(counts) == 1, f"weights of different moments: {counts}"
    count: int = counts.pop()
    return count


def saved_beside_a_training(path: Path, rounds: int) -> None:
    trained, other = descending(), descending()
    done = threading.Event()

    def train() -> None:
        while not done.is_set():
            total(trained).train().run()

    thread, before = threading.Thread(target=train), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        met: set[int] = set()
        done_rounds = 0
        while done_rounds < rounds or len(met) < 3:
            done_rounds += 1
            save(path, trained)
            load(path, other)
            met.add(moment(other))
            if done_rounds % 10 == 0:
                load(path, trained)
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(before)
    moment(trained)


@pytest.mark.slow
def test_a_file_is_of_one_moment_and_a_load_comes_between_two_trainings(tmp_path: Path) -> None:
    saved_beside_a_training(tmp_path / "w", 40)


@pytest.mark.slow
def test_what_is_taken_in_the_middle_of_a_training_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "alone", lambda store, work: work())
    with pytest.raises(AssertionError, match="different moments"):
        saved_beside_a_training(tmp_path / "w", 5000)
