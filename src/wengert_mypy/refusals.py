"""Reasons why a value is no expression, and what to write instead.

Knows: the texts and their error codes.
Refuses to know: calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mypy.errorcodes import ErrorCode
from mypy.nodes import CallExpr, Expression, OpExpr, UnaryExpr
from mypy.options import Options
from mypy.plugin import CheckerPluginInterface
from mypy.types import AnyType, Instance, Type, get_proper_type

from wengert_mypy.checker import as_base, mentioned, shown
from wengert_mypy.dimensions import is_number
from wengert_mypy.evidence import Found
from wengert_mypy.names import (
    ANY_ARRAY,
    ARRAY_LITERAL,
    DTYPE,
    NDARRAY,
    NOT_DIFFERENTIABLE,
    NUMPY_FLOATING,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One error."""

    text: str
    code: ErrorCode


def element_type(array: Instance) -> Type | None:
    """The element type of a numpy array; None where it is not stated."""
    dtype = get_proper_type(array.args[1])
    element = get_proper_type(dtype.args[0]) if isinstance(dtype, Instance) and dtype.args else dtype
    return None if isinstance(element, AnyType) else element


def wrong_elements(array: Instance, options: Options) -> Refusal | None:
    """An array of numbers that are not floating, or of an element type that nobody knows."""
    given = element_type(array)
    if given is None:
        return Refusal(
            "an array of unknown element type cannot be checked; state it, as in numpy.array(x, numpy.float32)",
            ANY_ARRAY,
        )
    if isinstance(given, Instance) and not given.type.has_base(NUMPY_FLOATING):
        why = "only arrays of floating-point elements are; write x.astype(numpy.float32)"
        return Refusal(f"{shown(array, options)} is not a differentiable array: {why}", NOT_DIFFERENTIABLE)
    return None


def floats_for_integers(array: Instance, called: str) -> Refusal | None:
    """An array of floats for a parameter that takes integers; `called` names the operation."""
    given = element_type(array)
    if not isinstance(given, Instance) or not given.type.has_base(NUMPY_FLOATING):
        return None
    what = "labels" if called.startswith("cross_entropy") else "indices"
    return Refusal(
        f"{called}{what} are integers, not {dtype_name(given)}; write x.astype(numpy.int64)", DTYPE
    )


def keeps_floats(api: CheckerPluginInterface, x: Expression) -> bool:
    """Tell whether numpy computes a value element by element from arrays of floats: its stubs forget their type."""
    waiting, found = [x], False
    while waiting:
        part = waiting.pop()
        if isinstance(part, CallExpr):
            callee = get_proper_type(api.get_expression_type(part.callee))
            if isinstance(callee, Instance) and callee.type.has_base("numpy.ufunc"):
                waiting += part.args[:1]
                continue
        if isinstance(part, UnaryExpr):
            waiting.append(part.expr)
            continue
        if isinstance(part, OpExpr):
            waiting += [part.left, part.right]
            continue
        t = get_proper_type(api.get_expression_type(part))
        array = as_base(t, NDARRAY) if isinstance(t, Instance) else None
        if array is not None and (element_type(array) is None or wrong_elements(array, api.options)):
            return False
        if array is None and not is_number(t):
            return False
        found = found or array is not None
    return found


def dtype_name(element: Type) -> str:
    """The name of an element type: numpy's stubs have float32 as floating[_32Bit]."""
    t = get_proper_type(element)
    bits = get_proper_type(t.args[0]) if isinstance(t, Instance) and t.args else t
    name = bits.type.name if isinstance(bits, Instance) else "?"
    return f"float{name.strip('_').removesuffix('Bit')}" if name.endswith("Bit") else name


def not_differentiable(
    t: Instance, formals: Sequence[Type], found: Sequence[Found], options: Options
) -> Refusal:
    """A value of a class without fitting evidence."""
    if t.type.has_base(NUMPY_FLOATING):
        return Refusal(
            f"dtypes do not mix, and this number is a {dtype_name(t)}; "
            "write float(x) for a double, numpy.float32(x) for a float",
            DTYPE,
        )
    what, name = shown(t, options), t.type.name
    arrays = [mentioned(formal, ARRAY_LITERAL) is not None for formal in formals]
    wanted = "array" if all(arrays) else "value" if any(arrays) else "scalar"
    if len(found) > 1:
        why = f"{len(found)} registrations are in scope ({', '.join(f.fullname for f in found)}); import one of them"
    elif found:
        why = f"{found[0].fullname} registers it as {shown(found[0].type, options)}"
    else:
        why = f"no Instance[{name}, ...] in scope (@register({name}) or import it)"
    return Refusal(f"{what} is not a differentiable {wanted}: {why}", NOT_DIFFERENTIABLE)
