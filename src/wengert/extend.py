"""For authors of operations, types and plugins: everything that the library's own modules are made with.

Knows: the names behind the public ones that an extension needs.
Refuses to know: who extends.
"""

from __future__ import annotations

from wengert.arrays import HOST, Namespace
from wengert.delta import Additive, Parameter, zero
from wengert.graph import index
from wengert.graph.apply import apply, binary, indexing, unary
from wengert.graph.batch import Batch, rowwise
from wengert.graph.expressions import ArrayOperand, Index, ScalarOperand
from wengert.graph.kinds import Column, Kind, Role, Shape, kind
from wengert.graph.operand import unlifted
from wengert.graph.operation import Case, Operation, Rule, Rules
from wengert.graph.weights import Update, Weight, data_of
from wengert.lazy import LazyDelta, Product, Replacement, Rows, dense, scaled
from wengert.ops import batching, kinds, specification, windows
from wengert.ops.backward import add_at, unwindows
from wengert.ops.classification import Reduced, reduced_loss
from wengert.ops.families import (
    Broadcasting,
    Comparison,
    Custom,
    Elementwise,
    Predicate,
    Reduction,
    broadcasting,
    comparison,
    composed,
    defined,
    dressed,
    elementwise,
    operation,
    predicate,
    reduced_by,
    reduction,
    rule_for,
    spread,
)
from wengert.plugins.inject import provide
from wengert.plugins.layers import LayerPart
from wengert.plugins.making import WeightPart
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.rate import Rated
from wengert.site import user_position

__all__ = [
    "HOST",
    "Additive",
    "ArrayOperand",
    "Batch",
    "Broadcasting",
    "Case",
    "Column",
    "Comparison",
    "Custom",
    "Elementwise",
    "Index",
    "Kind",
    "LayerPart",
    "LazyDelta",
    "Namespace",
    "Operation",
    "Optimizer",
    "Parameter",
    "Predicate",
    "Product",
    "Rated",
    "Reduced",
    "Reduction",
    "Replacement",
    "Role",
    "Rows",
    "Rule",
    "Rules",
    "ScalarOperand",
    "Shape",
    "Update",
    "Weight",
    "WeightPart",
    "add_at",
    "apply",
    "batching",
    "binary",
    "broadcasting",
    "comparison",
    "composed",
    "data_of",
    "defined",
    "dense",
    "dressed",
    "elementwise",
    "index",
    "indexing",
    "kind",
    "kinds",
    "operation",
    "predicate",
    "provide",
    "reduced_by",
    "reduced_loss",
    "reduction",
    "rowwise",
    "rule_for",
    "scaled",
    "specification",
    "spread",
    "unary",
    "unlifted",
    "unwindows",
    "user_position",
    "windows",
    "zero",
]
