"""The table of hooks: what mypy asks the plugin about, and who answers.

Knows: names.
Refuses to know: rules, types.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mypy.nodes import CallExpr, Decorator, FuncDef, RefExpr, SymbolNode, TypeInfo
from mypy.plugin import AnalyzeTypeContext, FunctionContext, MethodContext, Plugin
from mypy.types import AnyType, CallableType, Type, TypeOfAny

from wengert_mypy.advice import LAZY_FUNCTIONS, canary, checked_lazy
from wengert_mypy.calls import Context, Rule, called, sharpened
from wengert_mypy.dimensions import Writer, computed, dim_of, has_computed
from wengert_mypy.names import ARRAY_OPERAND, COMPUTED, MAKER, PLUGIN_ACTIVE, SCALAR_OPERAND, SHAPE
from wengert_mypy.operations import FAMILY_RULES, FUNCTION_RULES, MEMBER_RULES, OPERATOR_RULES, stated


class WengertPlugin(Plugin):
    """Shapes, registrations and advice for mypy, without a state of its own."""

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        return partial(self._annotated, fullname=fullname) if fullname in COMPUTED else None

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        rule = FUNCTION_RULES.get(fullname)
        if rule is not None:
            return partial(self._shaped, name=fullname.rpartition(".")[2], rule=rule)
        if fullname in LAZY_FUNCTIONS:
            what, advice = LAZY_FUNCTIONS[fullname]
            return partial(checked_lazy, what=what, advice=advice)
        if fullname == PLUGIN_ACTIVE:
            return canary
        found = self.lookup_fully_qualified(fullname)
        return self._computed if found is not None and _gives_computed(found.node) else None

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        class_name, _, method = fullname.rpartition(".")
        if method == "__call__":
            return self._family(class_name)
        if method in OPERATOR_RULES:
            if self._is_a(class_name, ARRAY_OPERAND) or self._is_a(class_name, SCALAR_OPERAND):
                name, rule = OPERATOR_RULES[method]
                return partial(self._shaped, name=name, rule=rule)
            return None
        if method == "array_weight" and self._is_a(class_name, MAKER):
            return partial(self._shaped, name=method, rule=lambda call: stated(call, "dims"))
        info = self._class(class_name)
        found = None if info is None else info.get(method)
        return self._computed if found is not None and _gives_computed(found.node) else None

    def _family(self, class_name: str) -> Callable[[MethodContext], Type] | None:
        info = self._class(class_name)
        rule = (
            None if info is None else next((r for b in info.mro if (r := FAMILY_RULES.get(b.fullname))), None)
        )
        if rule is not None:
            return partial(self._member, rule=rule)
        found = None if info is None else info.get("__call__")
        return self._computed if found is not None and _gives_computed(found.node) else None

    def _member(self, ctx: MethodContext, rule: Rule) -> Type:
        callee = ctx.context.callee if isinstance(ctx.context, CallExpr) else None
        fullname = callee.fullname if isinstance(callee, RefExpr) else ""
        return sharpened(self, ctx, called(ctx, "operation"), MEMBER_RULES.get(fullname, rule))

    def _shaped(self, ctx: Context, name: str, rule: Rule) -> Type:
        return sharpened(self, ctx, name, rule)

    def _computed(self, ctx: Context) -> Type:
        return Writer(self, ctx.api.named_generic_type).normalised(ctx.default_return_type)

    def _annotated(self, ctx: AnalyzeTypeContext, fullname: str) -> Type:
        """Add, Mul and FloorDiv in an annotation, in the order that results have."""
        if len(ctx.type.args) != 2:
            ctx.api.fail(
                f"{fullname} takes two dimensions, as in Add[Width, Literal[1]]", ctx.context, code=SHAPE
            )
            return AnyType(TypeOfAny.from_error)
        writer = Writer(self, ctx.api.named_type)
        a, b = (ctx.api.analyze_type(t) for t in ctx.type.args)
        dim = computed(fullname, dim_of(a), dim_of(b))
        return writer.computed(fullname, a, b) if dim is None else writer.dim_type(dim)

    def _class(self, fullname: str) -> TypeInfo | None:
        found = self.lookup_fully_qualified(fullname)
        return found.node if found is not None and isinstance(found.node, TypeInfo) else None

    def _is_a(self, fullname: str, base: str) -> bool:
        info = self._class(fullname)
        return info is not None and info.has_base(base)


def _gives_computed(node: SymbolNode | None) -> bool:
    """Whether a function's result mentions a dimension that is computed from its arguments'."""
    if isinstance(node, Decorator):
        node = node.func
    return (
        isinstance(node, FuncDef) and isinstance(node.type, CallableType) and has_computed(node.type.ret_type)
    )
