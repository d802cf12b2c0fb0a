"""Common parts of calls of a cell: their nesting, the kinds of operands, and arguments that are no operand.

Knows: which arguments are operands; that calls of one form, on operands of the same kinds, are one template.
Refuses to know: templates, and nodes that calls make.
"""

from __future__ import annotations

from wengert.arrays import is_array, is_float32
from wengert.differentiable import registered
from wengert.graph.node import Expression
from wengert.graph.operand import BUILT_IN
from wengert.graph.products import is_product, parts_of


def is_operand(x: object) -> bool:
    """Tell whether a cell computes with `x`, so that calls may differ in it."""
    return (
        isinstance(x, Expression)
        or is_array(x)
        or is_float32(x)
        or (type(x) not in BUILT_IN and registered(x))
    )


def form_of(x: object) -> object:
    """Key of calls alike: the nesting, and every argument that is no operand, by type and value."""
    items: list[object] = []
    todo: list[object] = [x]
    while todo:
        item = todo.pop()
        if is_product(item):
            parts, _ = parts_of(item)
            items.append((type(item), len(parts)))
            todo.extend(reversed(parts))
        else:
            items.append(None if is_operand(item) else (type(item), item))
    return tuple(items)
