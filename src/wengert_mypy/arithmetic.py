"""Numbers that a program computes beside layers: dimensions as `4 * 6 * 6`, `size // 2`, and the root in `x / d**0.5`.

Knows: Python's operators on integers, whose results mypy calls `int` and nothing more; that a power and numpy's
functions of a number are `Any` to typeshed and numpy, and that a layer divided by `Any` is none.
Refuses to know: what the number is for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from mypy.nodes import Expression, OpExpr, TypeInfo
from mypy.plugin import CheckerPluginInterface, MethodContext, Plugin
from mypy.types import AnyType, Instance, LiteralType, Type, get_proper_type

from wengert_mypy.checker import imported, tree_of
from wengert_mypy.dimensions import is_number, stated_dim
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


_UFUNC: Final = "numpy._typing._ufunc._UFunc_Nin1_Nout1.__call__"
_FLOATING: Final = frozenset({"cos", "exp", "log", "log2", "log10", "log1p", "sin", "sqrt", "tanh"})
ROOTS: Final = frozenset({"builtins.float.__pow__", "builtins.float.__rpow__", _UFUNC})


def real(plugin: Plugin, ctx: MethodContext) -> Type:
    """The result of `d**0.5` and `numpy.sqrt(d)`: a float, in modules that import us; typeshed fears complex ones."""
    answer = ctx.default_return_type
    given = [t for types in ctx.arg_types for t in types]
    if not isinstance(get_proper_type(answer), AnyType) or not given or not is_number(given[0]):
        return answer
    receiver = get_proper_type(ctx.type)
    name = get_proper_type(receiver.args[0]) if isinstance(receiver, Instance) and receiver.args else None
    if name is not None and not (isinstance(name, LiteralType) and name.value in _FLOATING):
        return answer
    if not any(module.partition(".")[0] == "wengert" for module in imported(tree_of(ctx.api))):
        return answer
    made = plugin.lookup_fully_qualified("builtins.float" if name is None else "numpy.float64")
    return Instance(made.node, []) if made is not None and isinstance(made.node, TypeInfo) else answer
