"""Entries of the symbol table for whatever is called.

Knows: how mypy keeps functions, classes, decorated and overloaded ones.
Refuses to know: calls and their arguments.
"""

from __future__ import annotations

from mypy.nodes import Decorator, FuncDef, OverloadedFuncDef, SymbolTableNode, TypeInfo, Var
from mypy.types import CallableType, Type, get_proper_type

from wengert_mypy.dimensions import has_computed


def type_of(symbol: SymbolTableNode | None) -> Type | None:
    """Its type, where it is stated; of a class that of `__init__`."""
    if symbol is not None and isinstance(symbol.node, TypeInfo):
        symbol = symbol.node.get("__init__")
    node = None if symbol is None else symbol.node
    if isinstance(node, Decorator):
        node = node.var
    found = node.type if isinstance(node, FuncDef | OverloadedFuncDef | Var) else None
    return None if found is None else get_proper_type(found)


def gives_computed(symbol: SymbolTableNode | None) -> bool:
    """Tell whether a function's result mentions a dimension that is computed from its arguments'."""
    node = None if symbol is None else symbol.node
    if isinstance(node, Decorator):
        node = node.func
    return (
        isinstance(node, FuncDef) and isinstance(node.type, CallableType) and has_computed(node.type.ret_type)
    )
