"""Nodes of one signature with the same weights, by the numbers given when they were met.

Knows: that weights and literals are looked at once; that a literal may be one more row, if other nodes of the same
operation have a node there.
Refuses to know: which other nodes there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from wengert.arrays.places import Places, places
from wengert.graph.operation import Signature
from wengert.run.batching.form import Form
from wengert.run.batching.literals import Literals
from wengert.run.batching.walk import Info

Name: TypeAlias = tuple[Any, ...]  # Any: a signature, and the identities of weights


class Draft(NamedTuple):
    """Nodes that will be in one entry."""

    signature: Signature
    form: Form
    weights: tuple[Any, ...]  # Any: weights of every kind
    numbers: Places
    refs: Places  # codes of operands, a row a node
    literals: tuple[Literals, ...]  # by operand
    site: tuple[Any, int]  # Any: code or text, as a node has it

    @property
    def name(self) -> Name:
        """The same for all drafts that are in one entry wherever they are."""
        return (self.signature, *map(id, self.weights))


def drafts_of(signature: Signature, info: Info, met: Sequence[Any]) -> Iterator[Draft]:  # Any: nodes
    """The nodes of one signature, apart by the weights that they are given."""
    form, operands = info.form, info.operands
    numbers = places(info.numbers)
    refs = places(info.refs).reshape(len(numbers), -1)
    columns = [[*map(id, map(itemgetter(i), operands))] for i in form.weights]
    if all(len({*column}) == 1 for column in columns):
        yield _draft(signature, form, numbers, refs, operands, met)
        return
    groups: dict[object, list[int]] = {}
    for at, name in enumerate(zip(*columns, strict=True)):
        groups.setdefault(name, []).append(at)
    for several in groups.values():
        these = places(several)
        yield _draft(signature, form, numbers[these], refs[these], [operands[at] for at in several], met)


def _draft(
    signature: Signature,
    form: Form,
    numbers: Places,
    refs: Places,
    operands: Sequence[tuple[Any, ...]],  # Any: as in `Node`
    met: Sequence[Any],  # Any: nodes
) -> Draft:
    weights = tuple([operands[0][i] for i in form.weights])
    literals = tuple([Literals([given[i] for given in operands]) for i in form.literals])
    first = met[numbers[0]]
    return Draft(signature, form, weights, numbers, refs, literals, (first.code, first.offset))
