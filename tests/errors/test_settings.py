"""Weights and settings: what cannot be made, and how it is called wrongly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wengert.plugins import SGD, Adam, Factory, LearningRate, Names, RMSprop

from .golden import Unchecked, d, ones, said, wg

sgd: Unchecked = SGD(learning_rate=0.1)
Sgd: Unchecked = SGD
rmsprop: Unchecked = RMSprop


class Named(Names, SGD): ...


names: Unchecked = Named(learning_rate=0.1)
first: Unchecked = names.double_weight(1.0, name="twin")


def wrong_order() -> Unchecked:
    class Settings(LearningRate, Adam): ...  # type: ignore[settings] # refused there too

    return Settings


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "other dims": (
        lambda: sgd.array_weight(ones(2, 3), 3, 2),
        "ShapeError: array_weight: the array has shape (2, 3), the stated dimensions are (3, 2)\n  at here",
    ),
    "other rank": (
        lambda: sgd.array_weight(ones(2, 3), 2),
        "ShapeError: array_weight: the array has shape (2, 3), the stated dimensions are (2)\n  at here",
    ),
    "a text for a dimension": (
        lambda: sgd.array_weight(ones(2, 3), "2", 3),
        "ArgumentError: array_weight: a dimension is an int, or a class or NewType of int that names it; "
        "got '2'\n  at here",
    ),
    "integer array": (
        lambda: sgd.array_weight(np.ones((2, 3), np.int64)),
        "DTypeError: array_weight: an array of int64 is not differentiable; use "
        "float32 or float64, as in x.astype(numpy.float32)\n"
        "  at here",
    ),
    "boolean array": (
        lambda: sgd.array_weight(np.ones(2, bool)),
        "DTypeError: array_weight: an array of bool is not differentiable; use "
        "float32 or float64, as in x.astype(numpy.float32)\n"
        "  at here",
    ),
    "array of objects": (
        lambda: sgd.array_weight(np.ones(2, object)),
        "DTypeError: array_weight: an array of object is not differentiable; use "
        "float32 or float64, as in x.astype(numpy.float32)\n"
        "  at here",
    ),
    "list": (
        lambda: sgd.array_weight([1.0, 2.0]),
        "DTypeError: array_weight: expected an array, got [1.0, 2.0]\n  at here",
    ),
    "masked array as the data of a weight": (
        lambda: sgd.array_weight(np.ma.ones(2)),
        "NotDifferentiableError: array_weight: numpy.ma.MaskedArray is not used as an array, "
        "because its operations mean something else; write numpy.asarray(x), or "
        "x.filled(value) for a masked array\n"
        "  at here",
    ),
    "layer as the data of an array weight": (
        lambda: sgd.array_weight(d),
        "DTypeError: array_weight: expected an array, got <DoubleWeight 'd' () float64>\n  at here",
    ),
    "layer as the data of a double weight": (
        lambda: sgd.double_weight(d),
        "DTypeError: double_weight: expected a number, got <DoubleWeight 'd' () float64>\n  at here",
    ),
    "unknown keyword of a weight": (
        lambda: sgd.double_weight(1.0, nam="w"),
        "PluginError: DoubleWeight does not know nam; its keywords: name\n  at here",
    ),
    "one name twice": (
        lambda: names.double_weight(1.0, name="twin"),
        "PluginError: two weights are named 'twin': one made at test_settings.py:N, one at "
        "here; give one of them another `name=`",
    ),
    "hyperparameter missing": (
        lambda: Sgd(),
        "PluginError: SGD misses learning_rate: float; its keywords: learning_rate: float",
    ),
    "hyperparameter unknown": (
        lambda: Sgd(learning_rate=0.1, momentum=0.9),
        "PluginError: SGD got unknown momentum (a keyword of Momentum: write class "
        "Settings(Momentum, SGD): ... and make Settings(...)); its keywords: learning_rate: float",
    ),
    "hyperparameter misspelt": (
        lambda: Sgd(learning_rat=0.1),
        "PluginError: SGD misses learning_rate: float and got unknown learning_rat (did you "
        "mean learning_rate?); its keywords: learning_rate: float",
    ),
    "hyperparameter by PyTorch's name": (
        lambda: rmsprop(alpha=0.9),
        "PluginError: RMSprop got unknown alpha (did you mean rho?); its keywords: rho: float = 0.99, "
        "eps: float = 1e-08",
    ),
    "weight decay of PyTorch's": (
        lambda: Sgd(learning_rate=0.1, weight_decay=0.1),
        "PluginError: SGD got unknown weight_decay (a keyword of WeightDecay: write class Settings(WeightDecay, SGD): "
        "... and make Settings(...)); PyTorch's optimizers but AdamW mean L2Regularization and l2= by it; "
        "its keywords: learning_rate: float",
    ),
    "hyperparameter positional": (
        lambda: Sgd(0.1),
        "PluginError: SGD takes keywords only and got 0.1 without a keyword; its keywords: "
        "learning_rate: float",
    ),
    "hyperparameter missing in a factory": (
        lambda: Factory(Sgd).new_instance(),
        "PluginError: SGD misses learning_rate: float; its keywords: learning_rate: float",
    ),
    "order of plugins": (
        lambda: wrong_order(),
        "PluginError: Settings: LearningRate stands left of Adam, so it would act first; Adam"
        " must act before LearningRate: write `class Settings(Adam, LearningRate)`",
    ),
    "register of a value": (
        lambda: wg.register(first),
        "ArgumentError: register: expected a class, got <DoubleWeight 'twin' () float64>; write "
        "@register(type(x)) for the class of a value\n"
        "  at here",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    action, text = CASES[name]
    assert said(action) == text
