"""Expressions as data: nodes, literals, weights, layers.

Knows: their public names.
Refuses to know: how anything is computed.
"""

from __future__ import annotations

import copyreg
from typing import Final

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
from wengert.later import later

__all__ = [
    "ArrayExpression",
    "ArrayLayer",
    "ArrayOperand",
    "ArrayWeight",
    "Buffer",
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

_BUNDLED: Final = later(
    "wengert.graph.bundle", "bundled"
)  # which is loaded with the first node that is pickled
for _cls in (DoubleLayer, FloatLayer, ArrayLayer, Mask, Indices, Layer):
    copyreg.pickle(_cls, _BUNDLED)
