"""The canary, and layers where values are needed (T36, T69)."""

from __future__ import annotations

from typing import Literal, assert_type

import numpy as np
from given import data, w, x

import wengert as wg
from wengert.testing.plugin import plugin_active


def case_the_canary() -> None:  # T69
    assert_type(plugin_active(), Literal[True])


def case_arrays_of_layers(loss: wg.DoubleLayer) -> None:  # T36
    np.asarray(x)  # E[lazy]: ^a numpy array of "ArrayLayer", which is an expression: it has no value before
    np.array(x)  # E[lazy]: use functions of wengert, as in `wengert.exp\(layer\)`, or
    np.array([x, x])  # E[lazy]: of "ArrayLayer"
    np.array([loss])  # E[lazy]: of "DoubleLayer"
    np.asarray(w)  # E[lazy]: of "ArrayWeight", which is an expression: its value now is its `.data`;


def case_functions_of_numpy(loss: wg.DoubleLayer) -> None:
    np.mean(x)  # E[lazy]: ^numpy.mean of "ArrayLayer", which is an expression: it has no value
    np.argmax(x, axis=1)  # E[lazy]: `wengert.argmax` if there is one, or `layer.predict
    np.sum([loss, loss])  # E[lazy]: ^numpy.sum of "DoubleLayer"
    np.max(w)  # E[lazy]: of "ArrayWeight", which is an expression: its value now is its `.data`;
    assert_type(np.argmax(data), np.intp)


def case_the_truth_of_layers(loss: wg.DoubleLayer, f: wg.FloatWeight) -> None:  # T36
    bool(loss)  # E[lazy]: ^the truth of "DoubleLayer", which is an expression: it has no value
    bool(x)  # E[lazy]: use `where\(greater\(layer, 0\), ...\)`, or `await` it and ask its value$
    bool(f)  # E[lazy]: of "FloatWeight"
    bool(wg.greater(x, 0.0))  # E[lazy]: of "Mask"


def case_the_truth_of_many_layers() -> None:  # T36
    any([x])  # E[lazy]: the truth of "ArrayLayer"
    all((w, x))  # E[lazy]: the truth of "Array(Weight|Layer)"
    all(y for y in (x, x))  # E[lazy]: the truth of "ArrayLayer"


def case_ignored_advice() -> None:  # T36, T67
    np.asarray(x)  # type: ignore[lazy] # the mistake that this case is about
    np.asarray(data)  # type: ignore[lazy]  # E[unused-ignore]: Unused "type: ignore" comment


def case_values_are_no_layers(flag: object) -> None:  # T36
    np.asarray(x.predict().run())
    np.asarray(w.data)
    np.array([1.0, 2.0])
    bool(flag)
    bool([w])  # whether there are any
    any([True, False])
    all(y > 0 for y in (1, 2))
