"""Expressions apart, and plain pickle of models."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.saving.models import adam, told
from wengert import nn, saving
from wengert.errors import ArgumentError


def net(seed: int = 0) -> Any:  # Any: a network of layers of any kind
    return nn.Sequential(
        nn.Linear.make(adam(), 64, 256, seed=seed), wg.relu, nn.Linear.make(adam(), 256, 10, seed=seed + 1)
    )


def loss(model: Any, seed: int) -> Any:  # Any: an expression
    chance = np.random.default_rng(seed)
    return wg.cross_entropy(
        model(chance.normal(size=(32, 64)).astype(np.float32)), chance.integers(0, 10, 32)
    )


def test_a_step_of_the_digits_network_has_a_small_structure_which_does_not_change() -> None:
    model = net()
    first = saving.portable(loss(model, 0))
    loss(model, 0).train().run()
    second, other = saving.portable(loss(model, 1)), saving.portable(wg.mean(loss(model, 1)) * 2.0)
    assert first.digest == second.digest != other.digest
    assert len(first.structure) < 10_000
    assert set(first.weights) == set(nn.weights(model).values())
    assert [np.shape(x) for x in first.literals] == [(32, 64), (32,)]


def test_what_is_put_together_again_trains_as_the_first_does() -> None:
    here, there = net(), net()
    parts = saving.portable(loss(here, 3))
    places = {id(w): name for name, w in nn.weights(here).items()}
    others = [nn.weights(there)[places[id(w)]] for w in parts.weights]
    sent: saving.Portable[Any] = saving.Portable(parts.digest, parts.structure, parts.literals, ())
    with pytest.raises(ArgumentError, match="it has 0 weights, and 4 are given"):
        sent.expression(weights=others)
    assert parts.expression(weights=others).train().run() == loss(here, 3).train().run()
    assert told(there) == told(here)


def test_a_do_and_a_function_that_cannot_be_imported() -> None:
    w = adam().double_weight(3.0)
    by = 2.0
    doubled = saving.portable((w * 1.0).predict().map(lambda x: x * by))
    assert doubled.expression().run() == 6.0


def test_what_cannot_be_pickled() -> None:
    with pytest.raises(ArgumentError, match=r"portable: .* cannot be pickled.*\n  at .*test_portable\.py:"):
        saving.portable(wg.Do.now(x for x in [1]))


def test_plain_pickle_of_settings_models_and_questions() -> None:
    model = net()
    loss(model, 0).train().run()
    copy, settings, do = pickle.loads(pickle.dumps((model, adam(), loss(model, 0).predict())))
    assert told(copy) == told(model)
    assert settings.learning_rate == adam().learning_rate
    assert do.run() == loss(model, 0).predict().run()
