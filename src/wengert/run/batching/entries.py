"""From the nodes that were met, and blocks of those that were not, to the entries of one record.

Knows: that a node is the same wherever its serial is; that signatures which differ only in where literals stand are
one entry. What comes of it does not depend on what was met and what was in blocks.
Refuses to know: which nodes run together, and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from wengert.arrays.places import (
    Places,
    argsort,
    concatenate,
    flags,
    places,
    span,
    spread,
    starts_of_runs,
)
from wengert.arrays.rows import joined_rows
from wengert.graph.kinds import Kind, Role
from wengert.graph.node import Node
from wengert.graph.operand import LITERAL
from wengert.graph.operation import Signature
from wengert.run.batching.blocks import APART, Blocks, recoded
from wengert.run.batching.drafts import Draft, drafts_of
from wengert.run.batching.form import Form, given_form
from wengert.run.batching.merging import joined
from wengert.run.batching.record import BITS, Entry, Record
from wengert.run.batching.walk import Values, Walk

_FIRST: Final = -(1 << 62)  # below all serials: literals that stand where other calls have nodes


def recorded(roots: Sequence[Node], known: Values | None = None, before: int = 0) -> Record:
    """The nodes below `roots`; one that is `known` is a given value, and nothing below it is looked at.

    What has a serial not above `before` may be kept by somebody.
    """
    forms: dict[Signature, Form] = {}
    walk, blocks = Walk(known, forms), Blocks(forms)
    walk.go(roots, before if known is None else 0, blocks)
    walk.resolve()
    made = _Entries(walk, blocks)
    found = made.recorded()
    blocks.check(found.size)
    return found


class _Piece(NamedTuple):
    draft: Draft
    first: int  # what its numbers count from


class _Entries:
    def __init__(self, walk: Walk, blocks: Blocks) -> None:
        self.walk = walk
        self.blocks = blocks
        self.met = len(walk.nodes)
        self.serials = [places(walk.serials), *(b.serials for b in blocks.used)]
        self.pieces: dict[Signature, list[_Piece]] = {}
        self.given: dict[Kind, list[tuple[Places, list[Any]]]] = {}  # Any: numbers, and values or nodes
        self.added: dict[int, int] = {}  # numbers of literals that are rows, by identity
        self._take_met()
        first = self.met
        for block in blocks.used:
            for draft in block.drafts:
                self.pieces.setdefault(draft.signature, []).append(_Piece(draft, first))
            for of, numbers, values in block.given:
                self.given.setdefault(of, []).append((numbers + first, values))
            first += len(block.serials)
        self.next = first
        self.literal: Places | None = None  # of each number, whether it is a literal's

    def _take_met(self) -> None:
        walk = self.walk
        for of, numbers in walk.given.items():
            if numbers:
                self.given[of] = [(places(numbers), [_value(walk.nodes[number]) for number in numbers])]
        for signature, info in walk.infos.items():
            if info.numbers and signature.operation is not LITERAL:
                drafts = drafts_of(signature, info, walk.nodes)
                self.pieces[signature] = [_Piece(self._joined(draft), 0) for draft in drafts]

    def _joined(self, draft: Draft) -> Draft:
        """With the numbers that nodes of blocks have here."""
        if not self.blocks.used:
            return draft
        apart = draft.refs >= APART << BITS
        return draft._replace(refs=draft.refs - apart * ((APART - self.met) << BITS))

    def recorded(self) -> Record:
        merged = joined(self.pieces, self._all_literal)
        forms = {signature: pieces[0].draft.form for signature, pieces in self.pieces.items()}
        groups: dict[tuple[Any, ...], tuple[Signature, list[_Piece]]] = {}  # Any: a signature, and identities
        for signature, pieces in self.pieces.items():
            target = merged.get(signature, signature)
            form = forms[target]
            for piece in pieces:
                if target is not signature and form.rows != piece.draft.form.rows:
                    piece = self._widened(piece, form)
                key = (target, *map(id, piece.draft.weights))
                groups.setdefault(key, (target, []))[1].append(piece)
        added = span(_FIRST, _FIRST + len(self.added))
        serials = concatenate([*self.serials, added])
        order = argsort(serials)
        serials = serials[order]
        starts = starts_of_runs(serials)
        ranks = flags(len(order), 0)
        if len(starts) == len(order):
            ranks[order] = span(0, len(order))
        else:
            new = flags(len(order), 0)
            new[starts] = 1
            ranks[order] = new.cumsum() - 1
            serials, order = serials[starts], order[starts]
        several = len(starts) < len(ranks)
        entries = [_given_entry(of, pieces, ranks) for of, pieces in self.given.items()]
        for target, pieces in groups.values():
            entries.append(_entry(target, forms[target], pieces, ranks))
        if several:
            for entry in entries:
                new = flags(len(entry.members))
                new[starts_of_runs(entry.members)] = True
                entry.keep(new)
        entries.sort(key=lambda entry: int(entry.members[0]))
        return Record(serials, entries, self.walk.codes, order, self.walk.nodes, not self.blocks.used)

    def _all_literal(self, signature: Signature, index: int) -> bool:
        """Whether all nodes of a signature have literals at an operand."""
        if signature.kinds[index].role is Role.LITERAL:
            return True
        if self.literal is None:
            self.literal = flags(self.next)
            for pieces in self.given.values():
                for numbers, values in pieces:
                    self.literal[numbers] = not any(isinstance(x, Node) for x in values)
        at = self.pieces[signature][0].draft.form.rows.index(index)
        return all(
            self.literal[(draft.refs[:, at] >> BITS) + first].all() for draft, first in self.pieces[signature]
        )

    def _widened(self, piece: _Piece, form: Form) -> _Piece:
        """With rows in place of literals where others have nodes."""
        draft, first = piece
        columns = []
        for i in form.rows:
            if i in draft.form.rows:
                columns.append(draft.refs[:, draft.form.rows.index(i)] + (first << BITS))
            else:
                literals = draft.literals[draft.form.literals.index(i)].values
                columns.append(self._rows(literals, draft.signature.kinds[i]))
        refs = concatenate(columns).reshape(len(columns), -1).T
        literals_left = tuple(draft.literals[draft.form.literals.index(i)] for i in form.literals)
        return _Piece(
            draft._replace(form=form, numbers=draft.numbers + first, refs=refs, literals=literals_left), 0
        )

    def _rows(self, values: Sequence[Any], of: Kind) -> Places:  # Any: arrays
        codes, new = [], []
        for x in values:
            number = self.added.get(id(x))
            if number is None:
                number = self.added[id(x)] = self.next + len(self.added)
                new.append((number, x))
            codes.append(number << BITS)
        if new:
            numbers, given = zip(*new, strict=True)
            self.given.setdefault(of, []).append((places(numbers), [*given]))
        return places(codes)


def _value(x: Node) -> Any:  # Any: a literal, or a node whose value is known
    return x._operands[0] if x._signature.operation is LITERAL else x


def _given_entry(of: Kind, pieces: list[tuple[Places, list[Any]]], ranks: Places) -> Entry:
    members = ranks[concatenate([numbers for numbers, _ in pieces])]
    order = argsort(members)
    given = [x for _, values in pieces for x in values]
    refs = places([]).reshape(len(members), 0)
    return Entry(given_form(of), None, members=members[order], refs=refs, order=order, given=given)


def _entry(signature: Signature, form: Form, pieces: list[_Piece], ranks: Places) -> Entry:
    drafts = [draft for draft, _ in pieces]
    numbers = concatenate([draft.numbers for draft in drafts])
    refs = joined_rows([draft.refs for draft in drafts])
    if any(first for _, first in pieces):
        first = spread(
            places([first for _, first in pieces]), places([len(draft.numbers) for draft in drafts])
        )
        numbers = numbers + first
        refs = refs + (first << BITS)[:, None]
    members = ranks[numbers]
    order = argsort(members)
    return Entry(
        form,
        signature,
        drafts[0].weights,
        members[order],
        recoded(refs, ranks)[order],
        order,
        literals=[draft.literals for draft in drafts],
        at=drafts[0].site,
    )
