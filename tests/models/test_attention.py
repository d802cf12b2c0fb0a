"""Attention over sequences of mixed lengths: equal to a padded and masked network in numpy, and learned.

Knows: the formula of the model.
Refuses to know: how it is run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.test_examples import example
from wengert.data import Items
from wengert.run import Batched, Sequential

MODULE = example("attention")


def masked(model: Any, data: Any) -> Any:  # Any: the example's own classes, and arrays
    """The model for all sequences at once: padded to the longest, with weights of 0 where there is no step."""

    def linear(layer: Any, x: Any) -> Any:
        return x @ layer.weight.data.astype(np.float64) + layer.bias.data.astype(np.float64)

    longest = max(len(steps) for steps, _ in data)
    x, mask = np.zeros((len(data), longest, 2)), np.zeros((len(data), longest, 1))
    for i, (steps, _) in enumerate(data):
        x[i, : len(steps)], mask[i, : len(steps)] = steps, 1.0
    h = np.maximum(linear(model.state, x), 0.0)
    e = np.where(mask > 0, np.tanh(linear(model.weight, h)), -np.inf)
    a = np.exp(e - e.max(axis=1, keepdims=True))
    mean = (a * h).sum(axis=1) / a.sum(axis=1)
    return linear(model.answer, np.maximum(linear(model.top, mean), 0.0))


def answers(model: Any, data: Any, executor: Any) -> Any:
    return wg.predict(wg.stack([model(steps) for steps, _ in data])).run(executor)


def test_lengths_mix_as_if_they_were_padded_and_masked() -> None:
    model, data = MODULE.Attention(16, seed=1), MODULE.sequences(20, 2, 30, 0)
    assert len({len(steps) for steps, _ in data}) > 10
    batched = Batched()
    found = answers(model, data, batched)
    np.testing.assert_allclose(found, masked(model, data), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found, answers(model, data, Sequential()), rtol=1e-5, atol=1e-6)
    (step,) = (line for line in batched.report.lines.values() if line.name == "Attention.step")
    assert (step.launches, step.rows) == (1, sum(len(steps) for steps, _ in data)), "nothing is padded"


def test_the_order_of_steps_says_nothing() -> None:
    model, data = MODULE.Attention(16, seed=1), MODULE.sequences(10, 10, 50, 0)
    chance = np.random.default_rng(0)
    mixed = Items((steps[chance.permutation(len(steps))], y) for steps, y in data)
    np.testing.assert_allclose(
        answers(model, data, Batched()), answers(model, mixed, Batched()), rtol=1e-4, atol=1e-6
    )


def test_a_long_sequence_needs_no_stack() -> None:
    model, data = MODULE.Attention(4, seed=0), MODULE.sequences(1, 10_000, 10_000, 0)
    np.testing.assert_allclose(answers(model, data, Batched()), masked(model, data), rtol=1e-3, atol=1e-4)


def test_the_answers_of_the_task() -> None:
    for steps, y in MODULE.sequences(20, 10, 50, 3):
        assert 10 <= len(steps) <= 50 and steps[:, 1].sum() == 2.0
        assert y == pytest.approx(0.5 + float((steps[:, 0] * steps[:, 1]).sum()) / 4.0)
        assert steps[: len(steps) // 2, 1].sum() == 1.0


@pytest.mark.slow
def test_sums_are_learned(capsys: pytest.CaptureFixture[str]) -> None:
    assert MODULE.main(count=600, epochs=10, batch=20, shortest=4, longest=8, size=32) > 0.5
    assert "of the sums are right" in capsys.readouterr().out
