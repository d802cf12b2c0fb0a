"""Registered values as arguments, and the reason where a value is refused.

Knows: that a parameter takes a raw value whose evidence is visible when it takes the layer that the value is
lifted to; what to write where there is none.
Refuses to know: where evidence comes from; shapes.
"""

from __future__ import annotations

from typing import TypeAlias

from mypy.nodes import Expression, FloatExpr, IntExpr
from mypy.plugin import FunctionSigContext, MethodSigContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    Overloaded,
    Type,
    TypeOfAny,
    get_proper_type,
)

from wengert_mypy.checker import accepts, as_base, changed, inferred, mentioned, widened
from wengert_mypy.evidence import Found, Registry
from wengert_mypy.names import ANY_ARRAY, ARRAY_LITERAL, DIFFERENTIABLE, EXPRESSION, NDARRAY
from wengert_mypy.refusals import Refusal, not_differentiable, wrong_elements

SignatureContext: TypeAlias = FunctionSigContext | MethodSigContext


def takes_expressions(callee: Type | None) -> bool:
    """Whether some parameter of a function takes whatever is differentiable."""
    t = None if callee is None else get_proper_type(callee)
    if isinstance(t, Overloaded):
        return any(takes_expressions(item) for item in t.items)
    return isinstance(t, CallableType) and any(_is_expression(formal) for formal in t.arg_types)


def _is_expression(formal: Type) -> bool:
    return any(mentioned(formal, name) is not None for name in (DIFFERENTIABLE, ARRAY_LITERAL))


class Signature:
    """The signature of one call, or of one overload of it, before mypy compares arguments with it."""

    def __init__(
        self, registry: Registry, ctx: SignatureContext, all_of: Overloaded | None, lifts: bool
    ) -> None:
        self._registry = registry
        self._ctx = ctx
        self._all_of = all_of
        self._lifts = lifts  # the function lifts by itself: its parameters name layers, not what is lifted

    def adapted(self) -> CallableType:
        """With raw values where evidence is visible, and with Any where the reason of a refusal has been given."""
        signature = self._ctx.default_signature
        raw: dict[int, tuple[Instance, Type]] = {}
        refused: set[int] = set()
        for i, given in enumerate(self._ctx.args):
            t = self._foreign(i, given)
            if t is None:
                continue
            lifted, refusal = self._judged(i, t)
            if lifted is not None:
                raw[i] = (t, lifted)
            elif refusal is not None:
                self._ctx.api.fail(refusal.text, given[0], code=refusal.code)
                if refusal.code is not ANY_ARRAY:  # which agrees with every parameter as it is
                    refused.add(i)
        if raw:
            signature = self._with_raw(signature, raw)
        if not refused:
            return signature
        anything = AnyType(TypeOfAny.from_error)
        formals = [anything if i in refused else formal for i, formal in enumerate(signature.arg_types)]
        # which overload was meant nobody knows, and its result would only make more errors
        result = signature.ret_type if self._all_of is None else anything
        return changed(signature, arg_types=formals, ret_type=result)

    def _foreign(self, i: int, given: list[Expression]) -> Instance | None:
        """The type of an argument for an expression that is none of ours; None where mypy's answer stands."""
        signature = self._ctx.default_signature
        if len(given) != 1 or isinstance(given[0], IntExpr | FloatExpr) or signature.arg_kinds[i].is_star():
            return None
        if not self._lifts and not _is_expression(signature.arg_types[i]):
            return None
        t = get_proper_type(self._ctx.api.get_expression_type(given[0]))
        if not isinstance(t, Instance) or t.type.has_base(EXPRESSION) or t.type.is_protocol:
            return None
        return None if t.type.fullname.startswith("builtins.") else t

    def _judged(self, i: int, t: Instance) -> tuple[Type | None, Refusal | None]:
        """The layer that a value is lifted to, or why it is refused, or neither."""
        formal = self._ctx.default_signature.arg_types[i]
        array = as_base(t, NDARRAY)
        if array is not None:
            literal = mentioned(formal, ARRAY_LITERAL)
            refusal = None if literal is None else wrong_elements(array, literal, self._ctx.api.options)
            if refusal is not None:
                return None, refusal
        if array is not None or accepts(formal, t):
            return None, None
        found = self._registry.found(self._ctx.api, t)
        layers = [layer for f in found if (layer := self._registry.lifted(f)) is not None]
        if len(found) == 1 and len(layers) == 1 and accepts(formal, layers[0]):
            return layers[0], None
        return None, self._refusal(i, t, found, layers)

    def _refusal(self, i: int, t: Instance, found: list[Found], layers: list[Type]) -> Refusal | None:
        formals = [self._ctx.default_signature.arg_types[i]]
        if self._all_of is not None:
            skipped = int(isinstance(self._ctx, MethodSigContext))  # `self`
            formals = [
                item.arg_types[i + skipped]
                for item in self._all_of.items
                if len(item.arg_types) > i + skipped
            ]
        if self._lifts:
            return None  # products are lifted too, and mypy's own list of overloads says what else
        # another overload may take what this one does not
        takes = [t] if len(found) != 1 else [t, *layers]
        if any(accepts(formal, taken) for formal in formals for taken in takes):
            return None
        return not_differentiable(t, formals, found, self._ctx.api.options)

    def _with_raw(self, signature: CallableType, raw: dict[int, tuple[Instance, Type]]) -> CallableType:
        """The signature solved as if the layers had been given, then opened for the raw values."""
        if signature.variables:
            given = [
                [raw[i][1] if i in raw else self._ctx.api.get_expression_type(x) for x in expressions]
                for i, expressions in enumerate(self._ctx.args)
            ]
            signature = inferred(self._ctx.api, signature, given)
        formals = [
            widened(formal, raw[i][0]) if i in raw else formal for i, formal in enumerate(signature.arg_types)
        ]
        return changed(signature, arg_types=formals)
