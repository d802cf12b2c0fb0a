"""`dataclasses.replace` of a layer takes what its constructor takes: an expression in the place of a weight."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, assert_type

import numpy as np

import wengert as wg
from wengert import nn

Layer = nn.Linear[Literal[3], Literal[4]]


@dataclasses.dataclass(frozen=True)
class Net:
    a: Layer
    rate: float = 1.0


def case_an_expression_for_a_weight(
    layer: Layer, norm: nn.LayerNorm[Any], table: nn.Embedding[Any, Any]
) -> None:
    frozen = dataclasses.replace(layer, weight=wg.stop_gradient(layer.weight))
    assert_type(frozen, Layer)
    assert_type(dataclasses.replace(layer, weight=layer.weight * 0.5, bias=None), Layer)
    assert_type(dataclasses.replace(layer), Layer)
    dataclasses.replace(norm, scale=wg.stop_gradient(norm.scale), eps=1e-3)
    dataclasses.replace(table, table=wg.stop_gradient(table.table))


def case_what_does_not_fit(layer: Layer, w: wg.ArrayWeight[tuple[Literal[4], Literal[3]]]) -> None:
    dataclasses.replace(layer, weight=w)  # E[arg-type]: Argument "weight" to "replace" of "Linear
    dataclasses.replace(layer, weight=1.0)  # E[arg-type]: Argument "weight" to "replace" of "Linear
    dataclasses.replace(layer, wieght=layer.weight)  # E[call-arg]: Unexpected keyword argument "wieght"
    dataclasses.replace(layer, weight=wg.astype(layer.weight, np.float64))  # E[arg-type]: incompatible type


def case_other_classes_are_as_they_were(net: Net, layer: Layer) -> None:
    assert_type(dataclasses.replace(net, a=layer), Net)
    dataclasses.replace(net, a=layer.weight)  # E[arg-type]: Argument "a" to "replace" of "Net"
    dataclasses.replace(net, rate="x")  # E[arg-type]: Argument "rate" to "replace" of "Net"
