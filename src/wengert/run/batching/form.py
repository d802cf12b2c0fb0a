"""What a schedule has to know of an operation: which operands are rows, what it gives, where deltas go.

Knows: that two operations of one form are scheduled alike, so schedules are kept by forms and hold on to no weight.
Refuses to know: what any operation computes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from wengert.graph.kinds import Column, Kind, Role
from wengert.graph.operation import EXTERNAL, UNRESOLVED, Signature
from wengert.graph.template import CellSignature

_STACKED = (Column.DOUBLE, Column.FLOAT, Column.ARRAY, Column.MASK)


class Way(IntEnum):
    """How the rows of one signature come about."""

    GIVEN = 0  # values from before
    OPERATION = 1
    CELL = 2
    SUM = 3  # a tree of additions, as one
    ALONE = 4  # one by one: no table can hold an operand or a result


class Form(NamedTuple):
    """One operation on operands of known kinds, as far as a schedule depends on it."""

    way: Way
    rows: tuple[int, ...]  # which operands are values of nodes
    sends: tuple[bool, ...]  # which of those get deltas
    weights: tuple[int, ...]  # which operands are weights; those that a cell has captured not counted
    literals: tuple[int, ...]
    results: tuple[Kind, ...]


def stackable(of: Kind) -> bool:
    """Whether values of this kind can be the rows of a table."""
    return of.column in _STACKED and of.known and of.device == "cpu"


def form_of(signature: Signature) -> Form:
    """The form of nodes with this signature, found once."""
    try:
        found: Form = signature.form
    except AttributeError:
        found = signature.form = _form_of(signature)
    return found


def _form_of(signature: Signature) -> Form:
    roles = [k.role for k in signature.kinds]
    at = {role: tuple(i for i, r in enumerate(roles) if r is role) for role in Role}
    rows = tuple(i for i, r in enumerate(roles) if r in (Role.CONSTANT, Role.LAYER))
    weights = at[Role.WEIGHT]
    if isinstance(signature, CellSignature):
        template = signature.template
        way, results = Way.CELL, tuple(x.kind for x in template.results)
        weights = tuple(i for i in weights if i < len(template.parameters))
        trains = any(k.trainable for k in results)
        sends = tuple(trains and signature.kinds[i].trainable for i in rows)
    else:
        way, results = Way.OPERATION, (signature.kind,)
        pulled = {i for i, _ in signature.pulls}
        sends = tuple(i in pulled for i in rows)
    operands = [k for k in signature.kinds if k.role is not Role.LITERAL]
    literals = [signature.kinds[i] for i in at[Role.LITERAL]]
    if (
        signature.mode in (EXTERNAL, UNRESOLVED)
        or not all(map(stackable, (*operands, *results)))
        or not all(_literal(k) for k in literals)
    ):
        way = Way.ALONE
    if way is Way.ALONE:
        results = (signature.kind,)
    return Form(way, rows, sends, weights, at[Role.LITERAL], results)


def why_alone(signature: Signature) -> str:
    """The reason for the report."""
    if signature.mode == UNRESOLVED:
        return "its kinds are known in the run only"
    if any(of.device != "cpu" for of in (*signature.kinds, signature.kind)):
        return "its arrays are on a GPU, where rows have no tables yet"
    return "a table of rows cannot hold its values"


def _literal(of: Kind) -> bool:
    return of.column in (Column.NUMBER, Column.INDEX) or stackable(of)


def given_form(of: Kind) -> Form:
    """The form of values from before."""
    return Form(Way.GIVEN, (), (), (), (), (of,))


def sum_form(of: Kind) -> Form:
    """The form of a sum of any number of values of one kind."""
    return Form(Way.SUM, (0,), (of.trainable,), (), (), (of,))
