"""The examples that choose by computed values: what they learn, and their search beside an exact one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.test_examples import example
from wengert import fold as td


def test_the_tagger_knows_which_letters_come_again() -> None:
    assert example("tagger").main(count=800, epochs=20, longest=5, size=16) > 0.85


def test_nodes_near_the_marked_one_are_found() -> None:
    assert example("graphs").main(count=80, epochs=10) > 0.9


def test_the_pointer_sorts_with_its_own_choices() -> None:
    assert example("pointer").main(count=150, epochs=25, longest=3) > 0.5


def test_a_beam_finds_more_than_a_greedy_search() -> None:
    greedy, beam = example("beams").main(count=100, epochs=8)
    assert beam > greedy + 0.05


@pytest.mark.parametrize("executor", [wg.run.Sequential(), wg.run.Batched()])
def test_a_wide_beam_is_the_exact_search(executor: Any) -> None:
    """Any: executors have no common type. Three steps, of which a beam of 36 paths keeps all."""
    module = example("beams")
    network, chance = module.Chain(), np.random.default_rng(5)
    follow, emit = chance.normal(size=(6, 6)), chance.normal(size=(6, 6))
    wg.assign({network.follow: follow.astype(np.float32), network.emit: emit.astype(np.float32)}).run()

    def log_softmax(x: Any) -> Any:  # Any: arrays
        return x - np.log(np.exp(x).sum(axis=1, keepdims=True))

    follow, emit = log_softmax(follow), log_softmax(emit)
    emitted = [2, 0, 5]

    def score(path: tuple[int, ...]) -> float:
        steps = zip((0, *path), path, emitted, strict=False)
        return float(sum(follow[a, b] + emit[b, c] for a, b, c in steps))

    best = max(itertools.product(range(6), repeat=3), key=score)
    (column,) = td.Compiler.create(network.search(36)).build([emitted]).output_tensors
    assert tuple(column.predict().run(executor)[0, -3:]) == best
