"""Layers that build the same nodes for every operand of a kind, and so build them again from what they have learnt.

Knows: that what they make is mostly a chain, of which each node reads the one before; that checks and look-ups are made
once for a kind, that operations may get other rules at any time, and that a copy may get other weights.
Refuses to know: any layer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from wengert.arrays import ARRAY_CLASS, freeze
from wengert.graph.kinds import Kind
from wengert.graph.node import Expression, Node, next_serial
from wengert.graph.operand import host_kind
from wengert.graph.operation import EXTERNAL, Operation, Signature
from wengert.ops.families import operation_of
from wengert.site import OURS, outside

_MOST_KINDS: Final = (
    64  # of one function, such as batches of different sizes; beyond it the table starts afresh
)
_LONGEST: Final = 256  # nodes of a chain
_getframe = sys._getframe
_new = object.__new__  # as in `apply`

_ALONE: Final = object()  # in the place of a second operand that is not there

# class, kind, signature and second operand; Any: operands of nodes are of every type
Link = tuple[type[Node], Kind, Signature, Any]


class Steady:
    """Base of frozen functions of one operand whose nodes depend on its kind, and on nothing else."""

    # A slot is no attribute of a structure, as `models` and files see it.
    __slots__ = ("_chains",)
    # By kind, each with the count of changes of rules when it was learnt; None: what the function makes is no chain
    _chains: dict[Kind, tuple[int, tuple[Link, ...] | None]]

    def __getstate__(self) -> dict[str, object]:
        """Without what was learnt: a copy may get other weights."""
        return vars(self)

    @property
    def steady(self) -> bool:
        """False where a part is somebody else's, who may do something different in each call."""
        return True

    def _again(self, x: Any, function: Callable[[Any], Any]) -> Any:  # Any: an operand, and a layer
        """The layer that `function` makes of `x`, for the method that a user calls."""
        literal = x.__class__ is ARRAY_CLASS
        of = host_kind(x.shape, x.dtype) if literal else x.kind if isinstance(x, Expression) else None
        try:
            changes, links = self._chains[of]  # type: ignore[index] # None is no key
        except (AttributeError, KeyError):
            changes, links = -1, None
        if changes != Operation.changes:
            return function(x) if of is None else self._learnt(of, freeze(x) if literal else x, function)
        if links is None:
            return function(x)
        frame = _getframe(2)
        code = frame.f_code
        if OURS[code.co_filename]:
            frame = outside(frame)
            code = frame.f_code
        offset = frame.f_lasti
        node = freeze(x) if literal else x
        for cls, kind, signature, other in links:
            before, node = node, _new(cls)
            node.kind = kind
            node.signature = signature
            node.operands = (before,) if other is _ALONE else (before, other)
            node.serial = next_serial()
            node.code = code
            node.offset = offset
        return node

    def _learnt(self, of: Kind, x: Any, function: Callable[[Any], Any]) -> Any:  # Any: as above
        changes, made = Operation.changes, function(x)
        known = getattr(self, "_chains", None)
        if known is None or len(known) >= _MOST_KINDS:
            known = {}
            object.__setattr__(self, "_chains", known)  # the way of frozen dataclasses
        known[of] = changes, _links(x, made) if self.steady else None
        return made


def _links(x: object, made: object) -> tuple[Link, ...] | None:
    """The chain from `x` to what was made of it; None where that is something else than a chain."""
    links: list[Link] = []
    node = made
    while node is not x:
        if not isinstance(node, Node) or node.kind.family is not None or len(links) == _LONGEST:
            return None
        signature, (before, *others) = node.signature, node.operands
        if signature.mode == EXTERNAL or len(others) > 1 or any(isinstance(y, Node) for y in others):
            return None
        links.append((type(node), node.kind, signature, others[0] if others else _ALONE))
        node = before
    return tuple(links[::-1])


def is_steady(part: object) -> bool:
    """True if the nodes that a part of a network makes depend on the kind of its operand alone.

    >>> from wengert import relu
    >>> is_steady(relu), is_steady(lambda x: relu(x))
    (True, False)
    """
    if isinstance(part, Steady):
        return part.steady
    of = operation_of(part)
    return of is not None and of.listed  # a cell is none
