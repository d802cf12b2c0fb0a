"""Signs of expressions, by layers that are written in the data and by layers that are chosen in the run.

Knows: the formula of both networks.
Refuses to know: how they are run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.test_examples import example
from wengert.data import Items
from wengert.run import Batched, Sequential

MODULE = example("calculator")
NAMES = ["+", "-", "*", "÷"]


def expressions(count: int, seed: int) -> Any:  # Any: the example's own types, here and below
    chance = np.random.default_rng(seed)
    return Items(MODULE.expression(chance) for _ in range(count))


def in_numpy(model: Any, x: Any) -> Any:
    """The state of an expression."""

    def applied(layer: Any, row: Any) -> Any:
        return row @ layer.weight.data + layer.bias.data

    if isinstance(x, int):
        return np.tanh(applied(model.leaf, np.eye(10)[x]))
    left, right = in_numpy(model, x[0]), in_numpy(model, x[2])
    place = NAMES.index(x[1])
    if not isinstance(model, MODULE.Chosen):
        return np.tanh(applied(model.layers[place], np.concatenate([left, right])))
    scores = np.exp(applied(model.chooser, np.concatenate([np.eye(4)[place], left, right])))
    likeliest = np.argsort(scores)[-2:]
    states = [np.tanh(applied(model.layers[i], np.concatenate([left, right]))) for i in likeliest]
    return np.average(states, axis=0, weights=scores[likeliest])


@pytest.mark.parametrize(
    ("x", "result"),
    [
        (7, 7),
        ((7, "÷", 0), 0),
        ((7, "÷", 2), 3),
        (((0, "-", 7), "÷", 2), -4),
        ((2, "*", (3, "+", 4)), 14),
    ],
)
def test_what_expressions_come_to(x: Any, result: int) -> None:
    assert MODULE.value(x) == result


def test_expressions_are_no_deeper_than_5() -> None:
    def depth(x: Any) -> int:
        return 0 if isinstance(x, int) else 1 + max(depth(x[0]), depth(x[2]))

    assert {depth(x) for x in expressions(300, 0)} == set(range(6))


@pytest.mark.parametrize("kind", ["Written", "Chosen"])
def test_a_batch_equals_plain_numpy(kind: str) -> None:
    model, data = getattr(MODULE, kind)(seed=1), expressions(20, 1)
    found = wg.predict(tuple(model.state(x) for x in data)).run(Batched())
    for x, state in zip(data, found, strict=True):
        np.testing.assert_allclose(state, in_numpy(model, x), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", few(["Written", "Chosen"], 1))
def test_batched_trains_as_one_by_one(kind: str) -> None:
    trained = []
    for executor in (Sequential(), Batched()):
        model = getattr(MODULE, kind)(seed=2)
        losses = [float(model.loss(expressions(8, seed)).train().run(executor)) for seed in range(4)]
        trained.append((losses, [layer.weight.data for layer in (model.leaf, *model.layers, model.sign)]))
    (losses, weights), (other_losses, other_weights) = trained
    np.testing.assert_allclose(other_losses, losses, rtol=1e-4)
    for x, y in zip(weights, other_weights, strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-3, atol=1e-5)


def test_only_what_is_chosen_is_run_and_learns() -> None:
    model = MODULE.Chosen(seed=0)
    data = Items([(1, "+", 2), 6])
    before = [layer.weight.data.copy() for layer in model.layers]
    model.loss(data).train().run(Batched())
    (likeliest,) = (choice for _, choice in model.used)
    changed = [(x != y.weight.data).any() for x, y in zip(before, model.layers, strict=True)]
    assert sum(changed) == 2 and changed[likeliest], "the two likeliest"


def test_expressions_wait_for_their_choices_together() -> None:
    model, batched = MODULE.Chosen(seed=0), Batched()
    model.loss(expressions(30, 3)).train().run(batched)
    choices = [line for line in batched.report.lines.values() if line.name == "Chosen.chances"]
    assert sum(line.launches for line in choices) <= 2 * 5, "level by level"
    assert sum(line.rows for line in choices) > 5 * sum(line.launches for line in choices)


@pytest.mark.slow
def test_signs_are_learned(capsys: pytest.CaptureFixture[str]) -> None:
    written, chosen = MODULE.main(count=400, epochs=2)
    assert min(written, chosen) > 0.5
    lines = capsys.readouterr().out.splitlines()
    assert sum("at +: " in line for line in lines) == 1
    for line in (line for line in lines if "loss" in line):
        first, last = line.split("loss ")[1].split(";")[0].split(", then ")
        assert float(last) < float(first)
