"""Attributes of other libraries: each is refused with what to write, on arrays and on models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.elsewhere import Elsewhere, ModelNames, TensorNames, Write
from wengert.nn import BatchNorm, Dropout, Linear
from wengert.plugins import SGD

SETTINGS = SGD(learning_rate=0.1)
LAYERS = [Linear.make(SETTINGS, 3, 2, seed=0), BatchNorm.make(SETTINGS, 3), Dropout(0.5)]
LAYER = wg.lift(np.ones((2, 3), np.float32))
NAMES = [name for name, found in vars(TensorNames).items() if isinstance(found, Elsewhere)]
OF_MODELS = [name for name, found in vars(ModelNames).items() if isinstance(found, Elsewhere)]


@pytest.mark.parametrize("name", NAMES)
def test_an_array_says_what_to_write(name: str) -> None:
    with pytest.raises(
        AttributeError, match=rf"^<ArrayLayer .* has no {name}: write .+\n  at .+:\d+$"
    ) as caught:
        getattr(LAYER, name)
    assert caught.value.name == name
    assert not hasattr(LAYER, name)


@pytest.mark.parametrize("name", OF_MODELS)
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_a_model_says_what_to_write(name: str, layer: object) -> None:
    said = rf"^{type(layer).__name__} has no {name}: write .+\n  at .+:\d+$"
    with pytest.raises(AttributeError, match=said):
        getattr(layer, name)


def test_a_weight_has_data_and_other_names_say_nothing() -> None:
    weight = SETTINGS.array_weight(np.ones(2, np.float32))
    assert weight.data.tolist() == [1.0, 1.0]
    with pytest.raises(AttributeError, match=r"has no data: write layer\.predict"):
        getattr(LAYER, "data")  # noqa: B009 -- checkers know that it has none
    with pytest.raises(AttributeError, match="object has no attribute 'no_name'"):
        getattr(LAYER, "no_name")  # noqa: B009 -- as above


def test_the_class_has_the_descriptor_and_advice_has_no_values() -> None:
    assert isinstance(wg.ArrayLayer.T, Elsewhere)
    with pytest.raises(TypeError, match="has no values"):
        Write()


def test_a_layer_of_an_async_def_without_annotation_says_what_to_write() -> None:
    @wg.differentiable
    async def loss(x):  # type: ignore[no-untyped-def] # what is told about
        return wg.sum(x * 2.0)

    untyped: Any = loss
    layer = untyped(SETTINGS.array_weight(np.ones(2)))
    with pytest.raises(
        AttributeError, match=r"has no train: write train\(loss\); or annotate the `async def`"
    ):
        layer.train()
    assert wg.train(layer).run() == 4.0
