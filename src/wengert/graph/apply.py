"""Applying operations: a node for each call, made on the user's line.

Knows: that building is the hottest path of all (a few hundred nanoseconds a node), so numbers and expressions
of kinds already met are looked up at once, and everything else goes the long way through `apply`.
Refuses to know: what any operation computes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

from wengert.arrays import ARRAY_CLASS
from wengert.errors import ArgumentError, WengertError
from wengert.graph.index import indices
from wengert.graph.kinds import NUMBER, Family, Kind, with_family
from wengert.graph.node import Expression, Node, next_serial
from wengert.graph.operand import OWN, described, found_kind, operand, shown
from wengert.graph.operation import Attributes, Operation, Signature
from wengert.site import OURS, outside, user_position

_getframe = sys._getframe
_new = object.__new__  # the layer classes' own `__new__` is the door for a `Do` of a tape


def _own(function: Any) -> Any:  # Any: as in `of_one`
    """A copy of the function with code of its own, whose inline caches see the classes of one operation only.

    A node takes 0.13 us, and 0.21 where one code makes nodes of several classes.
    """
    return FunctionType(function.__code__.replace(), function.__globals__, closure=function.__closure__)


def of_one(operation: Operation) -> Callable[[Any], Any]:  # Any: typed by the public functions, and operators
    """The function that makes nodes of a unary operation without attributes; public, or a method."""
    signatures = operation.signatures

    def node_of(x: Any, /) -> Any:  # Any: as above
        try:
            signature = signatures[x.kind]
        except (KeyError, AttributeError):
            return apply(operation, (x,))
        frame = _getframe(1)
        code = frame.f_code
        if OURS[code.co_filename]:  # a layer of `nn`, say
            frame = outside(frame)
            code = frame.f_code
        node = _new(signature.cls)
        node.kind = signature.kind
        node.signature = signature
        node.operands = (x,)
        node.serial = next_serial()
        node.code = code
        node.offset = frame.f_lasti
        return node

    made: Callable[[Any], Any] = _own(node_of)  # Any: as above
    return made


def of_two(operation: Operation) -> Callable[[Any, Any], Any]:  # Any: as in `of_one`
    """The function that makes nodes of a binary operation without attributes; public, or a method."""
    signatures = operation.signatures

    def node_of(a: Any, b: Any, /) -> Any:  # Any: as above
        try:
            signature = signatures[
                NUMBER if a.__class__ is float else a.kind, NUMBER if b.__class__ is float else b.kind
            ]
        except (KeyError, AttributeError):
            return apply(operation, (a, b))
        frame = _getframe(1)
        code = frame.f_code
        if OURS[code.co_filename]:
            frame = outside(frame)
            code = frame.f_code
        node = _new(signature.cls)
        node.kind = signature.kind
        node.signature = signature
        node.operands = (a, b)
        node.serial = next_serial()
        node.code = code
        node.offset = frame.f_lasti
        return node

    made: Callable[[Any, Any], Any] = _own(node_of)  # Any: as above
    return made


def methods(
    operation: Operation,
) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:  # Any: above
    """The two methods of an operator, the second for operands that come the other way round."""
    signatures = operation.signatures
    node_of = of_two(operation)

    def reflected(b: Any, a: Any, /) -> Any:  # Any: as in `of_one`
        try:
            signature = signatures[NUMBER if a.__class__ is float else a.kind, b.kind]
        except (KeyError, AttributeError):
            return apply(operation, (a, b))
        return _node(signature, (a, b), _getframe(1))

    return node_of, reflected


def unary(operation: Operation, a: Any) -> Any:  # Any: operands and results are typed by the public functions
    """The node of a unary operation without attributes, called by a function that the user calls."""
    try:
        signature = operation.signatures[a.kind]
    except (KeyError, AttributeError):
        return apply(operation, (a,))
    return _node(signature, (a,), _getframe(2))


def binary(operation: Operation, a: Any, b: Any) -> Any:  # Any: as in `unary`
    """The node of a binary operation without attributes, called by a function that the user calls."""
    try:
        signature = operation.signatures[
            NUMBER if a.__class__ is float else a.kind, NUMBER if b.__class__ is float else b.kind
        ]
    except (KeyError, AttributeError):
        return apply(operation, (a, b))
    return _node(signature, (a, b), _getframe(2))


# Any: as in `unary`
def indexing(operation: Operation, x: Any, given: Any, attribute: int | str, name: str = "axis") -> Any:
    """The node of an operation on an array, integers in any form, and one attribute, called as `binary` is.

    Each word of a text is one: it takes 0.6 us, and 1.4 by `apply`.
    """
    try:
        value, of = operand(given if given.__class__ is ARRAY_CLASS else indices(given))
        signature = operation.signatures[x.kind, of, name, attribute, attribute.__class__]
    except (KeyError, AttributeError, TypeError, WengertError):
        return apply(operation, (x, indices(given)), ((name, attribute),))
    return _node(signature, (x, value), _getframe(2))


# Any: as above
def apply(operation: Operation, operands: tuple[Any, ...], attributes: Attributes = ()) -> Any:
    """The node of any operation; errors name operation, operands and the user's line."""
    values: list[Any] = []  # Any: as above
    kinds: list[Kind] = []
    family: Family | None = None
    try:
        for x in operands:
            known = isinstance(x, Expression) and x.kind.role is not OWN
            value, of = (x, x.kind) if known else operand(x)
            if of.family is not None:
                family, of = family or of.family, with_family(of, None)
            values.append(value)
            kinds.append(of)
    except WengertError as error:
        raise _refused(operation, error, described(operands)) from None
    try:
        signature = operation.signature(tuple(kinds), attributes)
    except WengertError as error:
        raise _refused(operation, error, described(values, kinds)) from None
    except (TypeError, ValueError) as error:  # operands have been checked, so it is an argument: axis=[0]
        given = ", ".join(f"{name}={shown(value)}" for name, value in attributes)
        wrong = ArgumentError(f"cannot be used with {given}: {error}")
        raise _refused(operation, wrong, described(values, kinds)) from error
    node = _node(signature, tuple(values), _getframe(2))
    return node if family is None else family.layer_of(node)


def _node(signature: Signature, operands: tuple[Any, ...], frame: FrameType) -> Node:  # Any: as above
    """A node that a frame, or whoever called it from outside, has asked for: `new_node` in place."""
    code = frame.f_code
    if OURS[code.co_filename]:
        frame = outside(frame)
        code = frame.f_code
    node: Node = _new(signature.cls)
    node.kind, node.signature, node.operands = signature.kind, signature, operands
    node.serial, node.code, node.offset = next_serial(), code, frame.f_lasti
    return node


def _refused(operation: Operation, error: WengertError, operands: str) -> WengertError:
    """The error with everything that a person needs: operation, operands, and the line that was written."""
    return type(error)(f"{operation.name}: {error}{operands}\n  at {user_position()}")


def resolve(node: Node, values: tuple[Any, ...]) -> Signature:  # Any: data of every type
    """The signature of a node whose operands' kinds were open when it was built and now have values."""
    signature = node.signature
    kinds = tuple(
        of if of.known else found_kind(of, value) for of, value in zip(signature.kinds, values, strict=True)
    )
    try:
        return signature.operation.signature(kinds, signature.attributes)
    except WengertError as error:
        where = f"\n  built at {node.site}"
        raise type(error)(
            f"{signature.operation.name}: {error}{described(node.operands, kinds)}{where}"
        ) from None
