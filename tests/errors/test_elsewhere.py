"""Attributes of other libraries: each is refused with what to write, on arrays and on models."""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.elsewhere import OF_NN, Elsewhere, ModelNames, TensorNames, Write
from wengert.nn import BatchNorm, Dropout, Linear, Sequential
from wengert.ops.absent import ABSENT
from wengert.plugins import SGD
from wengert.training import evaluate, fit

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


PACKAGES = [("wengert", name) for name in ABSENT] + [("wengert.nn", name) for name in OF_NN]


@pytest.mark.parametrize(("module", "name"), PACKAGES)
def test_a_package_says_what_to_write_in_place_of_a_name_of_another(module: str, name: str) -> None:
    with pytest.raises(AttributeError, match=rf"^module '{module}' has no attribute '{name}': .+") as caught:
        getattr(import_module(module), name)
    for advised in re.findall(r"wengert((?:\.\w+)+)", str(caught.value).partition(": ")[2]):
        here: object = wg
        for part in advised[1:].split("."):
            here = getattr(here, part)


def test_data_of_a_weight_are_set_by_assign() -> None:
    number, array = SETTINGS.double_weight(1.0), SETTINGS.array_weight(np.ones(2, np.float32))
    for weight, value in ((number, 2.0), (array, np.zeros(2, np.float32))):
        with pytest.raises(
            AttributeError, match=r"write wengert\.assign\(\{weight: value\}\)\.run\(\)\n  at "
        ):
            setattr(weight, "data", value)  # noqa: B010 -- checkers know that it is read-only
    wg.assign({number: 2.0}).run()
    assert (number.data, array.data.tolist()) == (2.0, [1.0, 1.0])


def test_a_step_that_nobody_ran_is_no_number_to_print() -> None:
    step = wg.square(SETTINGS.double_weight(1.0)).train()
    with pytest.raises(TypeError, match=r"a Do has no number to be written as '\.3f'; write do\.run\(\)"):
        f"{step:.3f}"
    assert f"{step}" == repr(step)


def test_a_list_of_layers_is_unpacked_and_a_name_is_the_function() -> None:
    make: Any = Sequential
    with pytest.raises(wg.errors.ArgumentError, match=r"write Sequential\(\*layers\)\n"):
        make([wg.relu, wg.tanh])
    with pytest.raises(wg.errors.ArgumentError, match=r"layer 1 is 'relu'; write wengert\.relu\n"):
        make(wg.tanh, "relu")


@pytest.mark.parametrize("measure", [evaluate, partial(fit, seed=0, epochs=1)])
def test_a_loss_without_a_seed_is_refused_before_anything_is_computed(measure: Any) -> None:
    with pytest.raises(
        wg.errors.ArgumentError, match=r"a batch and of a seed, `def loss\(batch, seed\)`; got "
    ):
        measure(lambda batch: wg.mean(batch), [])
