"""What a rule may ask about its operands before any value is there, and rules with that filled in.

Knows: that the kinds of operands decide the namespace, and what is left of a delta where an operand has stretched.
Refuses to know: operations, and which rule is whose.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType
from typing import Any, Final

from wengert.arrays import isolated, namespace_for
from wengert.graph.kinds import Column, Kind, Shape

Rule = Callable[..., Any]  # Any: rules take and give data of every registered type, and expressions

_ARRAYS: Final = frozenset({Column.FLOAT, Column.ARRAY, Column.INDEX})


class Case:
    """What a rule may ask about its operands before any value is there."""

    __slots__ = ("kinds", "result", "xp")

    def __init__(self, kinds: tuple[Kind, ...], result: Kind) -> None:
        self.kinds = kinds
        self.result = result
        self.xp: Any = (
            namespace_for(  # Any: a Namespace, or the operations themselves for derivatives of derivatives
                result.device,
                any(k.column in _ARRAYS or (k.column is Column.MASK and k.shape) for k in (*kinds, result)),
            )
        )

    def shape(self, index: int) -> Shape:
        """The shape of one operand."""
        shape = self.kinds[index].shape
        assert shape is not None, "cases are made of known kinds only"
        return shape


def bound(rule: Rule, case: Case, options: dict[str, Any]) -> Rule:
    """The rule with its case and attributes filled in; a built-in function is a rule that needs neither."""
    if isinstance(rule, BuiltinFunctionType):
        return rule
    return partial(rule, case, **options)


def guarded(rule: Rule, case: Case, options: dict[str, Any]) -> Rule:
    """`bound`, for a rule that has promised nothing: what it is given cannot be written to, what it keeps is a copy."""
    return isolated(bound(rule, case, options))


def summed(rule: Rule, case: Case, index: int) -> Rule:
    """The rule, and then the delta of broadcasting: the sum over every axis along which the operand stretched."""
    shape, sum_to = case.shape(index), case.xp.sum_to
    if case.kinds[index].column is Column.DOUBLE:
        item, dtype = case.xp.item, case.kinds[index].dtype
        return lambda g, y, *operands: item(sum_to(rule(g, y, *operands), ()), dtype)
    return lambda g, y, *operands: sum_to(rule(g, y, *operands), shape)
