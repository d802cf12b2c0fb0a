"""Dimensions that a program computes where it states them: `4 * 6 * 6`, `heads * width`, `size // 2`.

Knows: Python's operators on integers, whose results mypy calls `int` and nothing more.
Refuses to know: what the dimension is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from mypy.nodes import Expression, OpExpr
from mypy.plugin import CheckerPluginInterface
from mypy.types import Type

from wengert_mypy.dimensions import stated_dim
from wengert_shapes.algebra import Dim, floor_divide
from wengert_shapes.rules import Size

_OPERATORS: Final[Mapping[str, Callable[[Dim, Dim], Size]]] = {
    "+": Dim.__add__,
    "-": Dim.__sub__,
    "*": Dim.__mul__,
    "//": floor_divide,
}


def dim_at(api: CheckerPluginInterface, x: Expression, t: Type | None = None) -> Size:
    """The dimension of an expression of type `t`: what the type states, else what its operands' dimensions make."""
    dim = stated_dim(api.get_expression_type(x) if t is None else t)
    if dim is not None or not isinstance(x, OpExpr) or x.op not in _OPERATORS:
        return dim
    left, right = dim_at(api, x.left), dim_at(api, x.right)
    return None if left is None or right is None else _OPERATORS[x.op](left, right)
