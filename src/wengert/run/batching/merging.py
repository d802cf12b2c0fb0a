"""Signatures that differ only in where literals stand: a start state of zeros does not split a chain.

Knows: that a literal may be one more row, if other nodes of the same operation have a node there.
Refuses to know: rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wengert.graph.kinds import Column, Kind, Role, with_role
from wengert.graph.operation import Signature
from wengert.graph.template import CellSignature
from wengert.run.batching.form import stackable


def joined(
    signatures: Iterable[Signature], literal: Callable[[Signature, int], bool]
) -> dict[Signature, Signature]:
    """For each signature that another one here can stand for, that one.

    `literal` tells whether all nodes of a signature have literals at an operand, be they nodes of their own.
    """
    families: dict[object, list[Signature]] = {}
    for signature in signatures:
        families.setdefault(_family(signature), []).append(signature)
    found: dict[Signature, Signature] = {}
    for family in families.values():
        for signature in family:
            wider = [
                other for other in family if other is not signature and _covers(other, signature, literal)
            ]
            if wider:
                found[signature] = max(wider, key=_rank)
    return found


def _family(signature: Signature) -> object:
    captured = tuple(map(id, signature.template.captured)) if isinstance(signature, CellSignature) else ()
    return (signature.operation, signature.attributes, signature.kind, captured, *map(_data, signature.kinds))


def _data(of: Kind) -> object:
    if of.role is Role.WEIGHT or not stackable(of) or of.column is Column.NUMBER:
        return of
    return with_role(of, Role.CONSTANT)


def _covers(wide: Signature, narrow: Signature, literal: Callable[[Signature, int], bool]) -> bool:
    """Whether each operand has the same role in both, or is a literal in the narrow one only."""
    return all(
        a.role is b.role or (a.role in (Role.CONSTANT, Role.LAYER) and a.role > b.role and literal(narrow, i))
        for i, (a, b) in enumerate(zip(wide.kinds, narrow.kinds, strict=True))
    )


def _rank(signature: Signature) -> tuple[int, tuple[Role, ...]]:
    """How many nodes may be operands; of several such, the one that does not depend on who was met first."""
    roles = tuple(k.role for k in signature.kinds)
    return sum(roles), roles
