"""`fit` in shards: here, by workers that die and join, from a checkpoint; and what is refused."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam
from wengert.cluster import Distributed, Fault, Local
from wengert.data import Digits, digits
from wengert.errors import ArgumentError, NodeLostError
from wengert.nn import Dropout, Linear, Seeds, Sequential
from wengert.training import History, fit


@cache
def data() -> Digits:
    """Few digits, read when a test first trains: to load their package takes longer than to collect all these tests."""
    return digits().take(np.arange(90))


class Network:
    def __init__(self) -> None:
        settings = WithAdam(learning_rate=0.01)
        self.layers = Sequential(
            Linear.make(settings, 64, 16, seed=0), Dropout(0.2), Linear.make(settings, 16, 10, seed=1)
        )

    def loss(self, batch: Digits, seed: Seeds | None) -> Any:  # Any: a scalar expression
        return wg.cross_entropy(self.layers(batch.images, seed=seed), batch.labels)

    def fit(self, **options: Any) -> History:  # Any: of `fit`
        options = {"steps": 8, "batch_size": 40, "shards": 4, **options}
        return fit(self.loss, data(), seed=0, validation=data(), **options)

    def bits(self) -> list[bytes]:
        return [weight.data.tobytes() for weight in wg.nn.weights(self.layers).values()]


def test_workers_change_no_bit_and_the_last_batch_is_divided_as_far_as_it_goes() -> None:
    here, there = Network(), Network()
    engine = Local(2, lambda message: Fault.DIED_AFTER if message.number % 7 == 3 else None)
    first, second = here.fit(), there.fit(executor=Distributed(engine))
    assert first == second and here.bits() == there.bits() and engine.deaths()
    assert [epoch.steps for epoch in first.epochs] == [3, 6, 8]  # of 40, 40 and 10 examples
    Network().fit(batch_size=89, steps=2)  # the last one has one example


def test_a_training_goes_on_from_its_checkpoint_after_all_workers_were_lost(tmp_path: Path) -> None:
    whole, parts, path = Network(), Network(), tmp_path / "model.safetensors"
    whole.fit()
    engine = Local(1, lambda message: Fault.DIED_BEFORE if message.number == 27 else None, replaced=False)
    kept: dict[str, Any] = {"weights": parts.layers, "checkpoint": path, "every": 1}
    with pytest.raises(NodeLostError, match="no worker is left") as failure:
        parts.fit(executor=Distributed(engine), **kept)
    assert any("of fit" in note for note in failure.value.__notes__)
    again = Network()
    again.fit(executor=Distributed(Local(3)), **{**kept, "weights": again.layers}, resume=True)
    assert again.bits() == whole.bits()


def test_weights_below_shards_are_known_to_the_checkpoint(tmp_path: Path) -> None:
    network, other = Network(), Linear.make(WithAdam(learning_rate=0.1), 2, 2, seed=0)
    with pytest.raises(ArgumentError, match="which `weights` does not have"):
        network.fit(weights=other, checkpoint=tmp_path / "x")


@pytest.mark.parametrize(
    ("shards", "said"),
    [
        (0, "shards is an integer from 1 on; got 0"),
        (41, "shards=41, and the first batch has 40"),
        (1.5, "got 1.5"),
    ],
)
def test_wrong_counts(shards: Any, said: str) -> None:  # Any: what is refused
    network = Network()
    before = network.bits()
    with pytest.raises(ArgumentError, match=said):
        network.fit(shards=shards)
    assert network.bits() == before


def test_results_besides_are_refused_and_no_weight_teaches_nothing() -> None:
    network = Network()
    with pytest.raises(ArgumentError, match="gives results besides"):
        fit(lambda b, s: (network.loss(b, s), network.loss(b, s)), data(), seed=0, steps=1, shards=2)
    with pytest.raises(ArgumentError, match="no weight is below the loss"):
        fit(lambda b, s: wg.mean(wg.lift(b.images)), data(), seed=0, steps=1, shards=2)


def test_the_line_says_how_many_workers_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    Network().fit(executor=Distributed(Local(3)), steps=2, show=True)
    said = capsys.readouterr().err
    assert "3 workers" in said
    Network().fit(steps=2, show=True)
    assert "worker" not in capsys.readouterr().err
