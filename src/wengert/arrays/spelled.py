"""Shorter ways to make a call, once shapes and element types are known: for plans, which make it many times.

Knows: for a few functions, what they come to for arrays of one axis.
Refuses to know: who calls, and where results lie.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from wengert.arrays.kernels import picked
from wengert.arrays.namespace import Shape, Value
from wengert.arrays.scatter import places, starts

__all__ = ["SPELLED", "Spelled"]

Flat = Callable[[Value], Value]  # the elements of an array as one axis
# reason for Any: functions of numpy and of `host`, and their arguments
Spelled = tuple[Callable[..., Any], tuple[Any, ...]] | None


def _places(flat: Flat, labels: Value, classes: int) -> Spelled:
    # no look at the labels: they are literals, and whoever built the node has looked
    if labels.ndim != 1 or labels.dtype != np.intp:
        return None
    return np.add, (starts(labels.shape[0], classes), labels)


def _picked(flat: Flat, x: Value, at: Value, shape: Shape) -> Spelled:
    return (operator.getitem, (flat(x), at)) if len(shape) == 1 else None


SPELLED: Final[Mapping[Callable[..., Any], Callable[..., Spelled]]] = {places: _places, picked: _picked}
