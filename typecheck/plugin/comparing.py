"""Layers compared by == and shown in a form, which no class can forbid (T36)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from given import w, x

import wengert as wg

Labels = npt.NDArray[np.int64]


def case_equality_with_arrays(labels: Labels) -> None:  # T36
    print(x == labels)  # E[lazy]: ^comparison of "ArrayLayer", which is an expression: it has no value before
    print(labels == x)  # E[lazy]: use `wengert.equal\(a, b\)`, or `is` for identity$
    print(labels != w)  # E[lazy]: "ArrayWeight", which is an expression: its value now is its `.data`
    print(w != labels)  # E[lazy]: use `wengert.not_equal\(a, b\)`, or `is not` for identity$


def case_equality_with_expressions_and_scalars(loss: wg.DoubleLayer) -> None:  # T36
    print(x == w)  # E[lazy]: "ArrayLayer
    print(loss != loss)  # E[lazy]
    print(np.float32(1) == loss)  # E[lazy]


def case_layers_in_a_form(loss: wg.DoubleLayer, digits: int) -> None:  # T36
    print(f"{loss:.3f}")  # E[lazy]: ^the format '.3f' of "DoubleLayer", which is an expression: it has
    print(f"at {loss:.{digits}f}")  # E[lazy]: ^a format of "DoubleLayer".* use `layer.predict\(\).run\(\)`$


def case_values_are_compared_and_formatted(loss: wg.DoubleLayer, labels: Labels, digits: int) -> None:  # T36
    same = loss is loss and bool((labels == labels).all()) and bool((labels == 3).any())
    print(f"{loss} {loss!r:>40} {digits:>5} {same!r:>{digits}}")
