"""Expressions as data: nodes, literals, weights, layers.

Knows: their public names.
Refuses to know: how anything is computed.
"""

from __future__ import annotations

from wengert.graph.bundle import Bundle
from wengert.graph.detached import IndexExpression, Indices, Mask
from wengert.graph.expressions import (
    ArrayExpression,
    ArrayLayer,
    ArrayOperand,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
    Layer,
    ScalarOperand,
)
from wengert.graph.literals import literal
from wengert.graph.products import is_product
from wengert.graph.weights import ArrayWeight, Buffer, DataWeight, DoubleWeight, FloatWeight, Weight

__all__ = [
    "ArrayExpression",
    "ArrayLayer",
    "ArrayOperand",
    "ArrayWeight",
    "Buffer",
    "Bundle",
    "DataWeight",
    "DoubleExpression",
    "DoubleLayer",
    "DoubleWeight",
    "FloatExpression",
    "FloatLayer",
    "FloatWeight",
    "IndexExpression",
    "Indices",
    "Layer",
    "Mask",
    "ScalarOperand",
    "Weight",
    "is_product",
    "literal",
]
