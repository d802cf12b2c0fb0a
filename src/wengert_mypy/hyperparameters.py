"""Settings and numbers that a program states and the run refuses: the order of plugins, a rate, a range.

Knows: which plugins of the library act before a rate, which of them make steps of about 1, and the
ranges of their numbers and of `dropout` and `clip`, in the words of the run time.
Refuses to know: the ranges and orders that plugins of a user declare, and numbers that are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from mypy.nodes import (
    Expression,
    FloatExpr,
    IntExpr,
    RefExpr,
    TypeInfo,
    UnaryExpr,
    Var,
)
from mypy.plugin import ClassDefContext, FunctionContext
from mypy.types import Instance, Type, get_proper_type

from wengert_mypy.calls import Context
from wengert_mypy.checker import noted
from wengert_mypy.names import PLUGINS, RATED, SETTINGS, VALUE

FIRST: Final = frozenset(
    f"{PLUGINS}{name}"
    for name in (
        "adagrad.Adadelta",
        "adagrad.Adagrad",
        "adam.AMSGrad",
        "adam.Adam",
        "adam.Adamax",
        "adam.NAdam",
        "adam.RAdam",
        "clip.ClipByGlobalNorm",
        "clip.ClipByNorm",
        "clip.ClipByValue",
        "regularization.L1Regularization",
        "regularization.L2Regularization",
        "layerwise.Adafactor",
        "layerwise.LAMB",
        "layerwise.Muon",
        "noise.GradientNoise",
        "adagrad.RMSprop",
        "signs.Lion",
        "signs.Rprop",
    )
)
RATES: Final = frozenset({f"{PLUGINS}rate.LearningRate", f"{PLUGINS}schedule.LearningRateSchedule"})
UNSCALED: Final = frozenset(
    f"{PLUGINS}{name}"
    for name in (
        "adagrad.Adagrad",
        "adam.AMSGrad",
        "adam.Adam",
        "adam.Adamax",
        "adam.NAdam",
        "adam.RAdam",
        "layerwise.LAMB",
        "layerwise.Muon",
        "adagrad.RMSprop",
        "signs.Lion",
    )
)
CLIPS: Final = frozenset(name for name in FIRST if name.startswith(f"{PLUGINS}clip."))
BELOW: Final[Mapping[str, float]] = {  # what a hyperparameter has to be less than; none may be less than 0
    "beta1": 1.0,
    "beta2": 1.0,
    "decay": math.inf,
    "decay_of_average": 1.0,
    "eps": math.inf,
    "l1": math.inf,
    "l2": math.inf,
    "learning_rate": math.inf,
    "max_norm": math.inf,
    "max_norm_of_weight": math.inf,
    "max_value": math.inf,
    "momentum": math.inf,
    "momentum_decay": math.inf,
    "rho": 1.0,
    "weight_decay": math.inf,
}
POSITIVE: Final = frozenset({"max_norm", "max_norm_of_weight", "max_value"})


def ordered(ctx: ClassDefContext, base: str) -> None:
    """Refuse `class S(LearningRate, Adam)`, asked about each of its bases and answered with the first."""
    info = ctx.cls.info
    if not info.mro or not info.bases or info.bases[0].type.fullname != base:
        return
    found = [t for t in info.mro if t.fullname in FIRST | RATES]
    for place, then in enumerate(found):
        first = next((t for t in found[place + 1 :] if t.fullname in FIRST), None)
        if then.fullname in RATES and first is not None:
            bases = [b.type for b in info.bases]
            right = sorted(bases, key=lambda b: _has(b, RATES) and not _has(b, FIRST))
            advice = (
                f"write `class {info.name}({', '.join(b.name for b in right)})`"
                if right != bases
                else "no order of its bases does that"
            )
            why = (
                f"{info.name}: {then.name} stands left of {first.name}, so it would act first; "
                f"{first.name} must act before {then.name}: {advice}"
            )
            ctx.api.fail(why, ctx.cls, code=SETTINGS)
            return


def _has(info: TypeInfo, names: frozenset[str]) -> bool:
    return any(t.fullname in names for t in info.mro)


def settings_made(ctx: FunctionContext) -> Type:
    """Refuse numbers out of their ranges, and note that nothing scales the steps, where settings are made."""
    made = get_proper_type(ctx.default_return_type)
    if not isinstance(made, Instance):
        return made
    unscaled = next((t for t in made.type.mro if t.fullname in UNSCALED), None)
    if unscaled is not None and not made.type.has_base(RATED):
        noted(ctx.api, unrated(made.type.name, unscaled.name), ctx.context, SETTINGS)
    if unscaled is not None:
        right = made.type.mro[made.type.mro.index(unscaled) :]
        clip = next((t for t in right if t.fullname in CLIPS), None)
        if clip is not None:
            noted(ctx.api, late(made.type.name, clip.name, unscaled.name), ctx.context, SETTINGS)
    ours = [t for t in made.type.mro if t.fullname.startswith(PLUGINS)]
    for name, given in zip(ctx.callee_arg_names, ctx.args, strict=True):
        n = number_at(given[0]) if given else None
        if n is None or name is None or name not in BELOW or not any(name in t.names for t in ours):
            continue
        least, below = "<" if name in POSITIVE else "<=", BELOW[name]
        if not (n > 0.0 if name in POSITIVE else n >= 0.0) or not n < below:
            kind, limit = ("finite number", "") if below == math.inf else ("number", f" < {below:g}")
            why = f"{made.type.name}: {name} is {n}; it has to be a {kind} with 0 {least} {name}{limit}"
            ctx.api.fail(why, given[0], code=VALUE)
    return made


def unrated(settings: str, plugin: str) -> str:
    """Words of the warning, in which the run and mypy agree."""
    return (
        f"{settings}: a step of {plugin} is about 1, and no learning rate scales it; "
        f"write `class Settings({plugin}, LearningRate)`"
    )


def late(settings: str, clip: str, plugin: str) -> str:
    """Words of the warning of a clip that bounds steps."""
    return (
        f"{settings}: {clip} stands right of {plugin} and bounds its steps, which are about 1 "
        f"whatever the derivatives are; to bound derivatives write it on the left, "
        f"`class Settings({clip}, {plugin}, LearningRate)`"
    )


def number_at(x: Expression) -> float | None:
    """The number that an expression states; None where it is computed."""
    if isinstance(x, UnaryExpr) and x.op == "-":
        n = number_at(x.expr)
        return None if n is None else -n
    if isinstance(x, IntExpr | FloatExpr):
        return x.value
    final = x.node.final_value if isinstance(x, RefExpr) and isinstance(x.node, Var) else None
    return final if isinstance(final, int | float) else None


def _rate(ctx: Context, of: int, what: str) -> None:
    n = number_at(ctx.args[of][0]) if ctx.args[of] else None
    if n is not None and not 0.0 <= n < 1.0:
        why = f"{what}; got {n}"
        ctx.api.fail(why, ctx.args[of][0], code=VALUE)


def _dropout(ctx: Context) -> None:
    _rate(ctx, 1, "dropout: the rate is a number from 0 to less than 1, the part that is dropped")


def dropout_layer(ctx: FunctionContext) -> Type:
    """Refuse `Dropout(50)`."""
    _rate(ctx, 0, "Dropout: the rate is a number from 0 to less than 1")
    return ctx.default_return_type


def _clip(ctx: Context) -> None:
    low, high = (number_at(given[0]) if given else None for given in ctx.args[1:3])
    if low is not None and high is not None and low > high:
        ctx.api.fail(f"clip: min {low} is greater than max {high}", ctx.context, code=VALUE)


CHECKS: Final[Mapping[str, Callable[[Context], None]]] = {
    "wengert.ops.noise.dropout": _dropout,
    "wengert.ops.arithmetic.clip": _clip,
}
