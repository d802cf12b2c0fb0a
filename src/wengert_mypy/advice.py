"""Where mypy alone accepts a layer that the run would refuse, and the canary.

Knows: which functions ask for computed values; what numpy's stubs and typeshed let through.
Refuses to know: shapes, registrations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mypy.plugin import FunctionContext
from mypy.types import Instance, LiteralType, TupleType, Type, UnionType, get_proper_type

from wengert_mypy.names import EXPRESSION, LAZY, WEIGHT

_ARRAY: Final = (
    "a numpy array",
    "use functions of wengert, as in `wengert.exp(layer)`, or `layer.predict().run()` for its value",
)
_TRUTH: Final = ("the truth", "use `where(greater(layer, 0), ...)`, or `await` it and ask its value")

LAZY_FUNCTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "numpy.asarray": _ARRAY,
    "numpy.array": _ARRAY,
    "numpy._core.multiarray.asarray": _ARRAY,
    "numpy._core.multiarray.array": _ARRAY,
    "numpy.core.multiarray.asarray": _ARRAY,
    "numpy.core.multiarray.array": _ARRAY,
    "builtins.bool": _TRUTH,
    "builtins.any": _TRUTH,
    "builtins.all": _TRUTH,
}


def checked_lazy(ctx: FunctionContext, what: str, advice: str) -> Type:
    """Refuse expressions, also those in a list, for a function that would need their values."""
    for x in ctx.args[0] if ctx.args else []:
        # on its own, because as an argument a list of layers is a list of `object`
        found = next(_expressions(ctx.api.get_expression_type(x)), None)
        if found is not None:
            why = (
                "its value now is its `.data`"
                if found.type.has_base(WEIGHT)
                else "it has no value before a run"
            )
            ctx.api.fail(
                f'{what} of "{found.type.name}", which is an expression: {why}; {advice}',
                ctx.context,
                code=LAZY,
            )
    return ctx.default_return_type


def _expressions(t: Type) -> Iterator[Instance]:
    """The expression types in a type, and in what its lists and tuples hold."""
    waiting = [t]
    while waiting:
        proper = get_proper_type(waiting.pop())
        if isinstance(proper, TupleType | UnionType):
            waiting += proper.items
        elif isinstance(proper, Instance) and proper.type.has_base(EXPRESSION):
            yield proper
        elif isinstance(proper, Instance) and proper.type.has_base("typing.Iterable"):
            waiting += proper.args


def canary(ctx: FunctionContext) -> Type:
    """`plugin_active()` where this plugin is there to be asked."""
    return LiteralType(True, ctx.api.named_generic_type("builtins.bool", []))
