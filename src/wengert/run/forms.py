"""What calls of a cell have in common: their nesting, the kinds of operands, and what is no operand.

Knows: which arguments are operands; that calls of one form, on operands of the same kinds, are one template.
Refuses to know: templates, and nodes that calls make.
"""

from __future__ import annotations

from typing import Any, Final

from wengert.arrays import ARRAY_CLASS, freeze, is_array, is_float32
from wengert.differentiable import registered
from wengert.errors import WengertError
from wengert.graph.kinds import Kind
from wengert.graph.node import Expression
from wengert.graph.operand import array_kind
from wengert.graph.products import is_product, parts_of

_MOST_KINDS: Final = 1024
_kinds: Final[dict[tuple[Any, Any], Kind]] = {}  # Any: shapes and element types of literal arrays


def is_operand(x: object) -> bool:
    """Whether a cell computes with `x`, so that calls may differ in it."""
    return (
        isinstance(x, Expression)
        or is_array(x)
        or is_float32(x)
        or (not isinstance(x, (int, float)) and registered(x))
    )


def form_of(x: object) -> object:
    """What two calls have in common: the nesting, and every argument that is no operand, by type and value."""
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


def _kind_of(x: Any) -> Kind:  # Any: an array
    """Its kind as a literal; a look-up where such arrays have been met."""
    key = (x.shape, x.dtype)
    found = _kinds.get(key)
    if found is None:
        found = array_kind(x)
        if len(_kinds) >= _MOST_KINDS:
            _kinds.clear()
        _kinds[key] = found
    return found


def flat(
    args: tuple[Any, ...],
) -> tuple[tuple[Any, ...] | None, tuple[Any, ...]]:  # Any: arguments of every type
    """What calls with such arguments have in common, and the operands; None for arguments of other forms."""
    key: list[Any] = []
    operands: list[Any] = []
    for x in args:
        several = x.__class__ is tuple
        for part in x if several else (x,):
            if isinstance(part, Expression):
                key.append(part._kind)
                operands.append(part)
            elif type(part) is ARRAY_CLASS:
                try:
                    of = _kind_of(part)
                except WengertError:
                    return None, ()  # the long way says where
                key.append(of)
                operands.append(freeze(part))
            else:
                return None, ()
        if several:
            key.append(len(x))
    return tuple(key), tuple(operands)
