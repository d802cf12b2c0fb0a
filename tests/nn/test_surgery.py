"""Freezing, tying, replacing, other settings: what trains, what is saved, what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import nn, saving
from wengert.errors import ArgumentError, DTypeError, ShapeError
from wengert.plugins import SGD, Adam, AdamW, LearningRate

SETTINGS = SGD(learning_rate=0.1)
X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


class First(Adam, LearningRate): ...


class Second(AdamW, LearningRate): ...


@dataclass(frozen=True)
class Model:
    words: nn.Embedding[Any, Any]
    body: nn.Linear[Any, Any]
    out: nn.Linear[Any, Any]

    def __call__(self, indices: Any) -> Any:
        return self.out(wg.tanh(self.body(self.words(indices))))


def model(settings: Any = SETTINGS) -> Model:
    return Model(
        nn.Embedding.make(settings, 9, 4, seed=0),
        nn.Linear.make(settings, 4, 4, seed=1),
        nn.Linear.make(settings, 4, 9, seed=2),
    )


def step(it: Model) -> float:
    loss = wg.cross_entropy(it(np.array([1, 2, 3])), np.array([2, 3, 4]))
    return float(loss.train().run())


def values(it: object) -> dict[str, Any]:
    return {name: weight.ref.data.copy() for name, weight in nn.weights(it).items()}


def moved(it: Model) -> set[str]:
    before = values(it)
    step(it)
    return {name for name, x in values(it).items() if not np.array_equal(x, before[name])}


def test_frozen_weights_stay_and_are_saved() -> None:
    whole = model()
    frozen = nn.freeze(whole, "body")
    assert moved(frozen) == {"words.table", "out.weight", "out.bias"}
    assert list(nn.weights(frozen)) == ["words.table", "out.weight", "out.bias", "body.weight", "body.bias"]
    assert frozen.words is whole.words and isinstance(frozen, Model)
    file, other = BytesIO(), nn.freeze(model(), lambda m: m.body)
    step(whole)
    saving.save(file, whole)
    saving.load(BytesIO(file.getvalue()), other)
    assert all(np.array_equal(x, values(whole)[name]) for name, x in values(other).items())


def test_freezing_twice_or_nothing_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no weight to freeze"):
        nn.freeze(nn.freeze(model()))
    with pytest.raises(ArgumentError, match="no weight to freeze"):
        nn.freeze({"a": 3})


def test_a_tied_weight_is_one() -> None:
    tied = nn.tie(model(), "out.weight", to="words.table")
    assert list(nn.weights(tied)) == ["words.table", "body.weight", "body.bias", "out.bias"]
    assert tied.out.weight.shape == (4, 9)
    assert moved(tied) == set(nn.weights(tied))
    with pytest.raises(
        ShapeError, match=r"tie: 'body\.weight' has shape \(4, 4\), what is put there \(9, 4\)"
    ):
        nn.tie(tied, "body.weight", to="words.table")


def test_replacing_a_weight_by_an_expression_and_a_layer_by_a_layer() -> None:
    base = model()
    down, up = (
        SETTINGS.array_weight(np.ones((4, 2), np.float32)),
        SETTINGS.array_weight(np.zeros((2, 4), np.float32)),
    )
    low_rank = wg.stop_gradient(base.body.weight) + wg.matmul(down, up)
    adapted = nn.replace(base, lambda m: m.body.weight, low_rank)
    assert "body.weight.0" in nn.weights(adapted) and len(nn.weights(adapted)) == 7
    assert np.array_equal(adapted(np.array([1])).predict().run(), base(np.array([1])).predict().run())
    before = base.body.weight.data
    step(adapted)
    assert np.array_equal(base.body.weight.data, before) and up.data.any()
    wider = nn.replace(base, "out", nn.Linear.make(SETTINGS, 4, 2, seed=5))
    assert wider(np.array([1])).shape == (1, 2)


def test_a_layer_holds_an_expression_from_its_making_on() -> None:
    kernel = SETTINGS.array_weight(np.ones((3, 2), np.float32), 3, 2)
    layer = nn.Linear(wg.stop_gradient(kernel) * 2.0)
    assert layer(X).shape == (5, 2)


def test_what_does_not_fit_is_refused() -> None:
    it = model()
    with pytest.raises(
        ShapeError,
        match=r"replace: 'out\.bias' has shape \(9,\), what is put there \(3,\)\n  at .*test_surgery",
    ):
        nn.replace(it, "out.bias", np.ones(3, np.float32))
    with pytest.raises(DTypeError, match="is float32, what is put there float64"):
        nn.replace(it, "out.bias", np.ones(9))
    with pytest.raises(
        ArgumentError, match=r"replace: the model has no part at 'out\.kernel'; .*'out\.weight'"
    ):
        nn.replace(it, "out.kernel", 3)
    with pytest.raises(ArgumentError, match="one weight is tied to"):
        nn.tie(it, "out.weight", to="body")
    with pytest.raises(ArgumentError, match="map_weights: there is no weight"):
        nn.map_weights([1, 2], lambda w: w)


def test_map_weights_calls_once_for_each_and_keeps_what_is_shared() -> None:
    layer = nn.Linear.make(SETTINGS, 3, 3, seed=0)
    seen = list[object]()

    def noted(weight: Any) -> Any:
        seen.append(weight)
        return weight * 1.0

    both = nn.map_weights((layer, {"again": layer}, [layer.weight]), noted)
    assert len(seen) == 2
    assert both[0] is both[1]["again"] and both[2][0] is both[0].weight


def test_other_settings_have_the_values_and_the_state() -> None:
    it = model(First(learning_rate=0.1))
    step(it)
    other = nn.with_settings(it, "*.bias", Second(learning_rate=0.0, weight_decay=0.0))
    assert [type(w.optimizer.settings).__name__ for w in nn.weights(other).values()] == [
        "First",
        "First",
        "Second",
        "First",
        "Second",
    ]
    old, new = it.out.bias, other.out.bias
    assert old is not None and new is not None
    assert new is not old and np.array_equal(new.data, old.data)
    assert {k: np.array(v).tolist() for k, v in new.optimizer.kept().items()} == {
        k: np.array(v).tolist() for k, v in old.optimizer.kept().items()
    }
    assert moved(other) == {"words.table", "body.weight", "out.weight"}
    with pytest.raises(ArgumentError, match="with_settings: the model has no part"):
        nn.with_settings(it, "nowhere", SETTINGS)
