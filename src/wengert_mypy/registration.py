"""Registered values as arguments, and the reason where a value is refused.

Knows: that a parameter takes a raw value whose evidence is visible when it takes the layer that the value is
lifted to; what to write where there is none.
Refuses to know: where evidence comes from; shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Final

from mypy.nodes import (
    CallExpr,
    Expression,
    FloatExpr,
    IntExpr,
    NameExpr,
    OpExpr,
    SliceExpr,
    StrExpr,
    TupleExpr,
    UnaryExpr,
    Var,
)
from mypy.plugin import MethodSigContext
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    LiteralType,
    NoneType,
    Overloaded,
    Type,
    TypeOfAny,
    UnionType,
    get_proper_type,
)

from wengert_mypy.checker import (
    accepts,
    as_base,
    bound,
    changed,
    inferred,
    mentioned,
    outright,
    taken,
    widened,
)
from wengert_mypy.dimensions import with_stated_shape
from wengert_mypy.evidence import Found, Registry
from wengert_mypy.mixing import agree, mixed, named
from wengert_mypy.names import (
    ANY_ARRAY,
    ARRAY_LITERAL,
    CUPY_ARRAY,
    DIFFERENTIABLE,
    EXPRESSION,
    INTEGER_ARRAY,
    MASK,
    NDARRAY,
)
from wengert_mypy.refusals import (
    Refusal,
    floats_for_integers,
    keeps_floats,
    not_differentiable,
    wrong_elements,
)
from wengert_mypy.symbolic import SignatureContext
from wengert_mypy.wording import reworded

_EXPRESSIONS: Final = (DIFFERENTIABLE, ARRAY_LITERAL)
_OPERANDS: Final = (*_EXPRESSIONS, MASK)
_NUMBERS: Final = (IntExpr, FloatExpr)  # expressions of which mypy's answer always stands


def takes_expressions(callee: Type | None) -> bool:
    """Tell whether some parameter of a function takes whatever is differentiable, or arrays of integers."""
    t = None if callee is None else get_proper_type(callee)
    if isinstance(t, Overloaded):
        return any(takes_expressions(item) for item in t.items)
    return isinstance(t, CallableType) and any(
        _is_expression(formal) or mentioned(formal, INTEGER_ARRAY) is not None for formal in t.arg_types
    )


def _is_expression(formal: Type) -> bool:
    return mentioned(formal, *_EXPRESSIONS) is not None


def _is_foreign(t: Instance) -> bool:
    """Tell whether values of a type are no expressions, so that lifting them takes a registration."""
    known = t.type.has_base(EXPRESSION) or t.type.is_protocol
    return not known and not t.type.fullname.startswith("builtins.")


def _never(signature: CallableType) -> CallableType:
    """A signature that no call fits, for an overload that is not meant."""
    return changed(signature, arg_types=[], arg_kinds=[], arg_names=[])


class Signature:
    """The signature of one call, or of one overload of it, before mypy compares arguments with it."""

    def __init__(
        self, registry: Registry, ctx: SignatureContext, all_of: Overloaded | None, lifts: bool, own: bool
    ) -> None:
        self._registry = registry
        self._ctx = ctx
        self._all_of = all_of
        self._lifts = lifts  # the function lifts by itself: its parameters name layers, not what is lifted
        self._own = own  # an operation of the library, which asks for no element type and no device
        self._types: dict[int, Instance | None] = {}  # of arguments that have been asked for

    def adapted(self) -> CallableType:
        """With raw values where evidence is visible, and with Any where the reason of a refusal has been given."""
        meant = reworded(self._ctx)
        if meant is not None:
            return meant
        if self._all_of is not None and self._own and self._impossible():
            return _never(self._ctx.default_signature)
        signature = self._worded(self._ctx.default_signature)
        raw: dict[int, tuple[Instance, Type]] = {}
        refused: set[int] = set()
        operands: dict[int, Instance] = {}
        for i, given in enumerate(self._ctx.args):
            if len(given) != 1 or isinstance(given[0], _NUMBERS):
                continue
            t = self._type(i, given)
            if t is None:
                if self._floats_for_integers(i, given[0]):
                    refused.add(i)
                continue
            operands[i] = t
            if not _is_foreign(t) or not (self._lifts or _is_expression(signature.arg_types[i])):
                continue
            lifted, refusal = self._judged(i, t, given[0])
            if lifted is not None:
                raw[i] = (t, lifted)
            elif refusal is not None:
                self._ctx.api.fail(refusal.text, given[0], code=refusal.code)
                if refusal.code is not ANY_ARRAY:  # which agrees with every parameter as it is
                    refused.add(i)
        signature = self._shaped(signature, operands)
        if raw:
            signature = self._with_raw(signature, raw)
        where = self._ctx.context
        mix = None
        if not refused and not (self._own and self._agree(operands)):
            reflected = isinstance(where, OpExpr) and self._ctx.args[0] != [where.right]
            mix = mixed(self._ctx.default_signature, self._overloads, operands, where, reflected)
        if mix is not None:
            i, why = mix
            with outright(self._ctx.api, where) if self._all_of is None else nullcontext():
                self._ctx.api.fail(why.text, self._ctx.args[i][0], code=why.code)
            refused.update(operands)
        if not refused:
            return signature
        anything = AnyType(TypeOfAny.from_error)
        formals = [anything if i in refused else formal for i, formal in enumerate(signature.arg_types)]
        # which overload was meant nobody knows, and its result would only make more errors
        result = signature.ret_type if self._all_of is None else anything
        return changed(signature, arg_types=formals, ret_type=result)

    def _impossible(self) -> bool:
        """Tell whether this overload cannot be meant, so that mypy need not infer the arguments once more for it.

        It would do so for calls within calls too, in time that is a power of how deep they are.
        """
        signature = self._ctx.default_signature
        for i, given in enumerate(self._ctx.args):
            if len(given) != 1:
                continue
            x, formal = given[0], get_proper_type(signature.arg_types[i])
            if isinstance(formal, NoneType) and isinstance(x, IntExpr | TupleExpr | UnaryExpr):
                return True
            is_true = isinstance(x, NameExpr) and x.fullname == "builtins.True"
            if is_true and isinstance(formal, LiteralType) and formal.value is False:
                return True
            if i == 0 and isinstance(x, CallExpr):
                t = self._type(i, given)
                fits = t is None or not t.type.has_base(EXPRESSION) or accepts(formal, t)
                if not fits and any(
                    len(o.arg_types) and accepts(o.arg_types[0], t) for o in self._overloads() if t
                ):
                    return True
        return False

    def _worded(self, signature: CallableType) -> CallableType:
        """With `str` for a parameter that takes just the word which is given, as in `reduction="none"`.

        mypy sees no likeness between a word and its literal type, so that a refusal in the overload that is meant
        would become one of all overloads.
        """
        formals = list(signature.arg_types)
        for i, given in enumerate(self._ctx.args):
            if self._all_of is None or len(given) != 1 or not isinstance(given[0], StrExpr):
                continue
            formal = get_proper_type(formals[i])
            words = formal.items if isinstance(formal, UnionType) else [formal]
            for word in map(get_proper_type, words):
                if isinstance(word, LiteralType) and word.value == given[0].value:
                    formals[i] = word.fallback
        return signature if formals == signature.arg_types else changed(signature, arg_types=formals)

    def _shaped(self, signature: CallableType, operands: Mapping[int, Instance]) -> CallableType:
        """With the shape that a call in an argument has by itself, where a parameter takes every shape.

        That parameter is the context in which mypy infers the call, and Any would be its dimensions.
        """
        calls = {i: t for i, t in operands.items() if isinstance(self._ctx.args[i][0], CallExpr)}
        if not calls:
            return signature
        formals = list(signature.arg_types)
        for i, t in calls.items():
            formals[i] = with_stated_shape(formals[i], t)
        # a parameter that stays is the same object
        return signature if formals == signature.arg_types else changed(signature, arg_types=formals)

    def _agree(self, operands: Mapping[int, Instance]) -> bool:
        """Tell whether operands and receiver state one element type and one device, as in most calls."""
        receiver = get_proper_type(self._ctx.type) if isinstance(self._ctx, MethodSigContext) else None
        types = [t for t in operands.values() if not t.type.fullname.startswith("builtins.")]
        if isinstance(receiver, Instance) and receiver.type.has_base(EXPRESSION):
            types.append(receiver)
        return agree(types)

    def _overloads(self) -> list[CallableType]:
        if self._all_of is None:
            return [self._ctx.default_signature]
        receiver = get_proper_type(self._ctx.type) if isinstance(self._ctx, MethodSigContext) else None
        items = self._all_of.items
        return [bound(item, receiver) for item in items] if isinstance(receiver, Instance) else items

    def _type(self, i: int, given: list[Expression]) -> Instance | None:
        """The type of an argument for an expression; None where mypy's answer stands."""
        if i not in self._types:
            self._types[i] = self._inferred(i, given)
        return self._types[i]

    def _inferred(self, i: int, given: list[Expression]) -> Instance | None:
        signature = self._ctx.default_signature
        if len(given) != 1 or isinstance(given[0], _NUMBERS) or signature.arg_kinds[i].is_star():
            return None
        if not self._lifts and mentioned(signature.arg_types[i], *_OPERANDS) is None:
            return None
        x = given[0]
        stated = x.node.type if isinstance(x, NameExpr) and isinstance(x.node, Var) else None
        t = None if stated is None else get_proper_type(stated)
        if isinstance(t, Instance) and t.type.has_base(EXPRESSION):
            return (
                t  # no condition makes another of it, and asking mypy takes as long as all that is done here
            )
        t = get_proper_type(self._ctx.api.get_expression_type(x))
        return t if isinstance(t, Instance) else None

    def _floats_for_integers(self, i: int, given: Expression) -> bool:
        """Tell whether an array of floats stands for one of integers, and say so; mypy's context would hide it."""
        signature = self._ctx.default_signature
        if signature.arg_kinds[i].is_star():
            return False
        takes = {t.type.fullname for t in taken(signature.arg_types[i])}
        if INTEGER_ARRAY not in takes or not takes.isdisjoint(_OPERANDS):
            return False
        if any(mentioned(formal, *_OPERANDS) is not None for formal in self._formals(i)):
            return False  # of a comparison, whose other overloads take floats
        called = named(self._ctx.context)
        for x in given.items if isinstance(given, TupleExpr) else [given]:
            if not isinstance(x, IntExpr | SliceExpr):
                t = get_proper_type(self._ctx.api.get_expression_type(x))
                array = as_base(t, NDARRAY) if isinstance(t, Instance) else None
                refusal = None if array is None else floats_for_integers(array, called)
                if refusal is not None:
                    self._ctx.api.fail(refusal.text, x, code=refusal.code)
                    return True
        return False

    def _judged(self, i: int, t: Instance, x: Expression) -> tuple[Type | None, Refusal | None]:
        """The layer that a value is lifted to, or why it is refused, or neither."""
        formal = self._ctx.default_signature.arg_types[i]
        array = as_base(t, NDARRAY) or as_base(t, CUPY_ARRAY)
        integers = mentioned(formal, INTEGER_ARRAY)
        if array is not None and (integers is None or not accepts(integers, t)):
            literal = mentioned(formal, ARRAY_LITERAL)
            refusal = None if literal is None else wrong_elements(array, self._ctx.api.options)
            if refusal is not None and refusal.code is ANY_ARRAY and keeps_floats(self._ctx.api, x):
                refusal = None
            if refusal is not None:
                return None, None if self._compares_integers(i, t) else refusal
        if array is not None or accepts(formal, t):
            return None, None
        found = self._registry.found(self._ctx.api, t)
        layers = [layer for f in found if (layer := self._registry.lifted(f)) is not None]
        if len(found) == 1 and len(layers) == 1 and accepts(formal, layers[0]):
            return layers[0], None
        return None, self._refusal(i, t, found, layers)

    def _formals(self, i: int) -> list[Type]:
        """The parameters in that place of all overloads."""
        return [item.arg_types[i] for item in self._overloads() if len(item.arg_types) > i]

    def _compares_integers(self, i: int, t: Instance) -> bool:
        """True if another overload takes integers here, and what is given in the other places."""
        given = [
            t if j == i else self._ctx.api.get_expression_type(x[0])
            for j, x in enumerate(self._ctx.args)
            if len(x) == 1
        ]
        return any(
            len(item.arg_types) >= len(given)
            and mentioned(item.arg_types[i], INTEGER_ARRAY) is not None
            and all(map(accepts, item.arg_types, given))
            for item in self._overloads()
        )

    def _refusal(self, i: int, t: Instance, found: list[Found], layers: list[Type]) -> Refusal | None:
        if self._lifts:
            return None  # products are lifted too, and mypy's own list of overloads says what else
        formals = self._formals(i)
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
