"""Graphs of which nothing runs together under `Batched`: plans run them, with the bits of the first run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.plugins import SGD
from wengert.run import Batched, Sequential


def chain(w: Any, x: Any, length: int) -> Any:  # Any: layers of every shape
    """A recurrent network over one list."""
    h = wg.tanh(x @ w)
    for _ in range(length):
        h = wg.tanh(h @ w + x)
    return wg.mean(h * h)


def test_a_chain_has_the_bits_of_sequential_in_every_run() -> None:
    x = np.random.default_rng(1).normal(size=(2, 4))
    found = []
    for executor in (Sequential(compiled=False), Batched()):
        w = SGD(learning_rate=0.1).array_weight(np.random.default_rng(0).normal(size=(4, 4)))
        kept = chain(w, x, 30)
        losses = [chain(w, x, 30).train().run(executor).tobytes() for _ in range(20)]
        losses += [kept.train().run(executor).tobytes() for _ in range(20)]
        losses += [kept.predict().run(executor).tobytes() for _ in range(20)]
        found.append((losses, w.data.tobytes()))
    assert found[0] == found[1]


def test_a_plan_serves_a_chain_and_no_forest() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.eye(2))
    batched, x = Batched(), np.ones((1, 2))
    for _ in range(30):
        chain(w, x, 30).predict().run(batched)
        (chain(w, x, 30) + chain(w, 2.0 * x, 30)).predict().run(batched)
    lines = str(batched.report).splitlines()
    (width,) = {line.split()[-6] for line in lines if line.startswith("tanh")}
    assert float(width) > 1.0, "those of two chains run in pairs"


def test_an_error_in_a_chain_says_where_it_is_when_a_plan_runs_it() -> None:
    batched, w = Batched(), SGD(learning_rate=0.1).array_weight(np.ones((4, 2)))
    places = [np.array(i) for i in [*range(4)] * 6]

    def walk(at: Any) -> Any:
        h: Any = wg.take(w, at)
        for _ in range(20):
            h = wg.tanh(h)
        return wg.sum(h)

    for at in places:
        walk(at).predict().run(batched)
    with pytest.raises(IndexError) as caught:
        walk(np.array(9)).predict().run(batched)
    assert any("take" in note and "test_alone.py" in note for note in caught.value.__notes__)
