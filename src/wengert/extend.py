"""For authors of operations, types and plugins: everything that the library's own modules are made with.

Knows: the names behind the public ones that an extension needs.
Refuses to know: who extends.
"""

from __future__ import annotations

from wengert.delta import Additive, zero
from wengert.graph import index
from wengert.graph.apply import apply, binary, unary
from wengert.graph.expressions import ArrayOperand, Index, ScalarOperand
from wengert.graph.kinds import Column, Kind, Role, Shape, kind
from wengert.graph.operation import Case, Operation, Rule, Rules
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta, Product, Rows, dense, scaled
from wengert.ops import kinds
from wengert.ops.custom import Custom, operation
from wengert.ops.families import (
    Broadcasting,
    Comparison,
    Elementwise,
    broadcasting,
    comparison,
    defined,
    dressed,
    elementwise,
)
from wengert.plugins.inject import provide
from wengert.plugins.making import WeightPart
from wengert.plugins.optimizer import Optimizer

__all__ = [
    "Additive",
    "ArrayOperand",
    "Broadcasting",
    "Case",
    "Column",
    "Comparison",
    "Custom",
    "Elementwise",
    "Index",
    "Kind",
    "LazyDelta",
    "Operation",
    "Optimizer",
    "Product",
    "Role",
    "Rows",
    "Rule",
    "Rules",
    "ScalarOperand",
    "Shape",
    "Weight",
    "WeightPart",
    "apply",
    "binary",
    "broadcasting",
    "comparison",
    "defined",
    "dense",
    "dressed",
    "elementwise",
    "index",
    "kind",
    "kinds",
    "operation",
    "provide",
    "scaled",
    "unary",
    "zero",
]
