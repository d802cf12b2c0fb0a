"""Applying operations: a node for each call, made on the user's line.

Knows: that building is the hottest path of all (a few hundred nanoseconds a node), so numbers and expressions
of kinds already met are looked up at once, and everything else goes the long way through `apply`.
Refuses to know: what any operation computes.
"""

from __future__ import annotations

import sys
from typing import Any

from wengert.errors import ArgumentError, WengertError
from wengert.graph.kinds import NUMBER
from wengert.graph.node import Expression, Node, next_serial
from wengert.graph.operand import described, operand, shown, value_kind
from wengert.graph.operation import Attributes, Operation, Signature
from wengert.graph.site import PACKAGE, user_frame, user_position

_getframe = sys._getframe
_new = object.__new__  # the layer classes' own `__new__` is the door for a `Do` of a tape


def unary(operation: Operation, a: Any) -> Any:  # Any: operands and results are typed by the public functions
    """The node of a unary operation without attributes, called by a function that the user calls."""
    try:
        signature = operation.signatures[a._kind]
    except (KeyError, AttributeError):
        return apply(operation, (a,))
    frame = _getframe(2)
    if frame.f_code.co_filename.startswith(PACKAGE):  # a layer of `nn`, say
        frame = user_frame()
    cls = signature.cls
    node = _new(cls)
    node._kind = signature.kind
    node._signature = signature
    node._operands = (a,)
    node._serial = next_serial()
    node._code = frame.f_code
    node._offset = frame.f_lasti
    return node


def binary(operation: Operation, a: Any, b: Any) -> Any:  # Any: as in `unary`
    """The node of a binary operation without attributes, called by a function that the user calls."""
    try:
        signature = operation.signatures[
            NUMBER if a.__class__ is float else a._kind, NUMBER if b.__class__ is float else b._kind
        ]
    except (KeyError, AttributeError):
        return apply(operation, (a, b))
    frame = _getframe(2)
    if frame.f_code.co_filename.startswith(PACKAGE):  # a layer of `nn`, say
        frame = user_frame()
    cls = signature.cls
    node = _new(cls)
    node._kind = signature.kind
    node._signature = signature
    node._operands = (a, b)
    node._serial = next_serial()
    node._code = frame.f_code
    node._offset = frame.f_lasti
    return node


def apply(
    operation: Operation, operands: tuple[Any, ...], attributes: Attributes = ()
) -> Any:  # Any: as above
    """The node of any operation; errors name operation, operands and the user's line."""
    values = operands
    # Any: a Kind each, or None for what is no expression yet
    kinds: tuple[Any, ...] = tuple([x._kind if isinstance(x, Expression) else None for x in operands])
    if None in kinds:
        try:
            values, kinds = zip(*map(operand, operands), strict=True)
        except WengertError as error:
            raise _refused(operation, error, described(operands)) from None
    try:
        signature = operation.signature(kinds, attributes)
    except WengertError as error:
        raise _refused(operation, error, described(values, kinds)) from None
    except (TypeError, ValueError) as error:  # operands have been checked, so it is an argument: axis=[0]
        given = ", ".join(f"{name}={shown(value)}" for name, value in attributes)
        wrong = ArgumentError(f"cannot be used with {given}: {error}")
        raise _refused(operation, wrong, described(values, kinds)) from error
    frame = user_frame()
    cls = signature.cls
    node = _new(cls)
    node._kind = signature.kind
    node._signature = signature
    node._operands = values
    node._serial = next_serial()
    node._code = frame.f_code
    node._offset = frame.f_lasti
    return node


def _refused(operation: Operation, error: WengertError, operands: str) -> WengertError:
    """The error with everything that a person needs: operation, operands, and the line that was written."""
    return type(error)(f"{operation.name}: {error}{operands}\n  at {user_position()}")


def resolve(node: Node, values: tuple[Any, ...]) -> Signature:  # Any: data of every type
    """The signature of a node whose operands' kinds were open when it was built and now have values."""
    signature = node._signature
    kinds = tuple(
        of if of.known else value_kind(value, of.role)
        for of, value in zip(signature.kinds, values, strict=True)
    )
    try:
        return signature.operation.signature(kinds, signature.attributes)
    except WengertError as error:
        where = f"\n  built at {node.site}"
        raise type(error)(
            f"{signature.operation.name}: {error}{described(node._operands, kinds)}{where}"
        ) from None
