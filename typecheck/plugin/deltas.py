"""Derivatives by a model have its attributes, each with the type of its delta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, assert_type

import numpy as np

import wengert as wg
from wengert import nn

Seen = wg.Buffer[tuple[Literal[3]], np.float32]


@dataclass(frozen=True)
class Model:
    head: nn.Linear[Literal[3], Literal[2]]
    scale: wg.DoubleWeight
    several: list[wg.FloatWeight]
    by_name: dict[str, wg.DoubleWeight]
    two: tuple[wg.DoubleWeight, wg.FloatWeight]
    seen: Seen
    rate: float
    size: int | None


class Pair(NamedTuple):
    a: wg.DoubleWeight
    b: Model


class Called:
    def __init__(self, w: wg.DoubleWeight) -> None:
        self.w = w
        self.held: Any = w

    def __call__(self, x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x * self.w


def case_each_attribute_is_that_of_the_model(loss: wg.DoubleLayer, model: Model) -> None:
    g = wg.gradients(loss, model).run()
    assert_type(g.head.weight, np.ndarray[tuple[Literal[3], Literal[2]], np.dtype[np.float32]])
    assert_type(g.head.bias, np.ndarray[tuple[Literal[2]], np.dtype[np.float32]])
    assert_type(g.scale, float)
    assert_type(g.several, list[np.float32])
    assert_type(g.by_name, dict[str, float])
    assert_type(g.two, tuple[float, np.float32])
    assert_type(g.seen, Seen)
    assert_type(g.rate, float)
    assert_type(g.size, int | None)


def case_of_other_structures(loss: wg.DoubleLayer, pair: Pair, called: Called) -> None:
    p = wg.gradients(loss, pair).run()
    assert_type(p.a, float)
    assert_type(p.b.head.weight, np.ndarray[tuple[Literal[3], Literal[2]], np.dtype[np.float32]])
    assert_type(wg.gradients(loss, called).run().w, float)


def case_what_the_model_lacks(loss: wg.DoubleLayer, model: Model) -> None:
    g = wg.gradients(loss, model).run()
    print(g.haed)  # E[attr-defined]: "Model" has no attribute "haed"
    print(g.head.wieght)  # E[attr-defined]: maybe "weight"?
    g.scale.sum()  # E[attr-defined]: "float" has no attribute "sum"
