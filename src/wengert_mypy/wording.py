"""Calls as other libraries have them, refused in one line that says what to write here.

Knows: `dim=`, a comparison where a mask is wanted, a layer made of sizes, a loss that is no scalar, and `x.T`.
Refuses to know: what the calls mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mypy.errorcodes import ARG_TYPE, ATTR_DEFINED, CALL_ARG, OPERATOR
from mypy.nodes import ARG_STAR, ARG_STAR2, CallExpr, ComparisonExpr, IntExpr, MemberExpr
from mypy.plugin import FunctionContext, MethodContext, MethodSigContext
from mypy.types import (
    AnyType,
    CallableType,
    FunctionLike,
    Instance,
    LiteralType,
    Type,
    TypeOfAny,
    get_proper_type,
)

from wengert_mypy.checker import as_base, changed, failed, retract
from wengert_mypy.dimensions import Unknown, shape_in
from wengert_mypy.mixing import named
from wengert_mypy.names import ARRAY_OPERAND, EXPRESSION, SHAPE
from wengert_mypy.symbolic import SignatureContext
from wengert_shapes.rules import text

_KEYWORDS: Final[Mapping[str, str]] = {"dim": "axis", "keepdim": "keepdims", "dims": "axes"}
_COMPARISONS: Final[Mapping[str, str]] = {
    ">": "greater",
    ">=": "greater_equal",
    "<": "less",
    "<=": "less_equal",
}
_LEFT: Final = "write_mean_of_the_loss"  # a keyword of the overload of `train` that is for no loss
_ANYTHING: Final = AnyType(TypeOfAny.from_error)


def reworded(ctx: SignatureContext) -> CallableType | None:
    """The signature after such a refusal, which takes what is given; None where there is none."""
    return _renamed(ctx) or _one_by_one(ctx) or _compared(ctx)


def refused(ctx: FunctionContext | MethodContext) -> bool:
    """True if `reworded` has said all there is to say of a call; mypy's own error of a comparison goes then."""
    x = ctx.args[0][0] if ctx.args and len(ctx.args[0]) == 1 else None
    if isinstance(x, ComparisonExpr) and _meant(ctx, x) is not None:
        retract(ctx.api, x, OPERATOR)  # in words that do not tell what to write
        return True
    return ctx.callee_arg_names[-1:] == ["more"] and bool(ctx.args[-1])


def _one_by_one(ctx: SignatureContext) -> CallableType | None:
    """With the numbers of a shape one by one, which `*more` takes in order to be refused."""
    signature = ctx.default_signature
    if signature.arg_names[-1:] != ["more"] or not ctx.args[-1] or len(ctx.args[-2]) != 1:
        return None
    name, what = named(ctx.context).removesuffix(": "), signature.arg_names[-2]
    numbers = [str(x.value) if isinstance(x, IntExpr) else "..." for x in (*ctx.args[-2], *ctx.args[-1])]
    why = f"{name}: {what} is one tuple; write {name}(x, ({', '.join(numbers)}))"
    ctx.api.fail(why, ctx.context, code=CALL_ARG)
    types = [*signature.arg_types[:-2], _ANYTHING, _ANYTHING]
    return changed(signature, arg_types=types, ret_type=_ANYTHING)


def _renamed(ctx: SignatureContext) -> CallableType | None:
    """With the keywords of another library for those of this one."""
    signature = ctx.default_signature
    given = ctx.context.arg_names if isinstance(ctx.context, CallExpr) else []
    foreign = [name for name in given if name is not None and name not in signature.arg_names]
    meant = {_KEYWORDS[name]: name for name in foreign if name in _KEYWORDS}
    meant = {name: wrong for name, wrong in meant.items() if name in signature.arg_names}
    if not meant:
        return None
    said = " and ".join(f"`{name}`, not `{wrong}`" for name, wrong in meant.items())
    ctx.api.fail(f"{named(ctx.context)}the keyword is {said}", ctx.context, code=CALL_ARG)
    pairs = zip(signature.arg_names, signature.arg_types, strict=True)
    return changed(
        signature,
        arg_types=[_ANYTHING if name in meant else t for name, t in pairs],
        arg_names=[name if name is None else meant.get(name, name) for name in signature.arg_names],
        ret_type=_ANYTHING,
    )


def _compared(ctx: SignatureContext) -> CallableType | None:
    """With a comparison of layers for a mask, which mypy has refused before."""
    x = ctx.args[0][0] if ctx.args and len(ctx.args[0]) == 1 else None
    meant = _meant(ctx, x) if isinstance(x, ComparisonExpr) else None
    if x is None or meant is None:
        return None
    of = next(op for op, name in _COMPARISONS.items() if name == meant)
    why = f"{named(ctx.context)}`{of}` of layers gives no mask; write wengert.{meant}(a, b)"
    ctx.api.fail(why, x, code=ARG_TYPE)
    others = ctx.default_signature.arg_types[1:]
    return changed(ctx.default_signature, arg_types=[_ANYTHING, *others])


def _meant(ctx: SignatureContext | FunctionContext | MethodContext, x: ComparisonExpr) -> str | None:
    """The function in the place of a comparison of expressions; None of any other."""
    if len(x.operators) != 1 or x.operators[0] not in _COMPARISONS:
        return None
    types = [get_proper_type(ctx.api.get_expression_type(side)) for side in x.operands]
    ours = any(isinstance(t, Instance) and t.type.has_base(EXPRESSION) for t in types)
    return _COMPARISONS[x.operators[0]] if ours else None


def of_weights(ctx: SignatureContext) -> FunctionLike:
    """Refuse `Linear(8, 16)`: a layer is put together from weights, and made by `make`."""
    signature = ctx.default_signature
    given = ctx.context.args if isinstance(ctx.context, CallExpr) else []
    if not given or not isinstance(given[0], IntExpr):
        return signature
    name = named(ctx.context).removesuffix(": ")
    pairs = zip(given, ctx.context.arg_names, strict=True) if isinstance(ctx.context, CallExpr) else ()
    sizes = ", ".join(str(x.value) for x, said in pairs if isinstance(x, IntExpr) and said is None)
    why = f"{name} is put together from weights; write {name}.make(settings, {sizes}, seed=0)"
    ctx.api.fail(why, ctx.context, code=ARG_TYPE)
    kinds = [ARG_STAR, ARG_STAR2]
    return changed(signature, arg_types=[_ANYTHING] * 2, arg_kinds=kinds, arg_names=[None] * 2)


def of_scalars(ctx: SignatureContext) -> CallableType:
    """Refuse `train` of a vector, for which each of the overloads of `train` would have a reason of its own."""
    x = ctx.args[0][0] if ctx.args and len(ctx.args[0]) == 1 else None
    if x is None or not _refused_loss(ctx, ctx.api.get_expression_type(x)):
        return ctx.default_signature
    signature = ctx.default_signature
    return changed(signature, arg_types=[_ANYTHING, *signature.arg_types[1:]], ret_type=_ANYTHING)


def of_scalar(ctx: MethodSigContext) -> CallableType:
    """Refuse `v.train()` of a vector, of which mypy has kept the overload that takes no loss."""
    if _LEFT not in ctx.default_signature.arg_names or not _refused_loss(ctx, ctx.type):
        return ctx.default_signature
    kinds = [ARG_STAR, ARG_STAR2]
    return changed(
        ctx.default_signature,
        arg_types=[_ANYTHING] * 2,
        arg_kinds=kinds,
        arg_names=[None] * 2,
        ret_type=_ANYTHING,
    )


def _refused_loss(ctx: SignatureContext, loss: Type) -> bool:
    t = get_proper_type(loss)
    operand = as_base(t, ARRAY_OPERAND) if isinstance(t, Instance) else None
    try:
        shape = () if operand is None else shape_in(operand.args[0])
    except Unknown:
        return False
    if not shape:
        return False
    why = f"a loss is a scalar, this one has shape {text(shape)}; reduce it first, as in train(mean(loss))"
    failed(ctx.api, f"train: {why}", ctx.context, SHAPE)
    return True


def of_elsewhere(ctx: MethodSigContext) -> CallableType:
    """Refuse an attribute of other libraries' arrays with the advice that its descriptor has in its type."""
    found = get_proper_type(ctx.type)
    advice = get_proper_type(found.args[0]) if isinstance(found, Instance) and found.args else None
    owner = get_proper_type(ctx.api.get_expression_type(ctx.args[0][0]))
    if not isinstance(advice, LiteralType) or not isinstance(owner, Instance):  # of the class itself
        return ctx.default_signature
    if isinstance(ctx.context, MemberExpr):  # else it is the definition of the attribute
        why = f"{owner.type.name} has no {ctx.context.name}: write {advice.value}"
        failed(ctx.api, why, ctx.context, ATTR_DEFINED)
    return changed(ctx.default_signature, arg_types=[_ANYTHING for _ in ctx.default_signature.arg_types])
