"""From the nodes that were met, and blocks of those that were not, to the entries of one record.

Knows: that a node is the same wherever its serial is; that signatures which differ only in where literals stand are
one entry. What comes of it does not depend on what was met and what was in blocks.
Refuses to know: which nodes run together, and values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from wengert.arrays.places import (
    Places,
    argsort,
    ascending,
    concatenate,
    cumulated,
    flags,
    places,
    span,
    starts_of_runs,
)
from wengert.arrays.rows import joined_rows, taken
from wengert.graph.kinds import Kind, Role
from wengert.graph.node import Node
from wengert.graph.operand import LITERAL
from wengert.graph.operation import Signature
from wengert.run.batching.blocks import APART, Blocks, recoded, unpacked
from wengert.run.batching.drafts import Draft, Name, drafts_of
from wengert.run.batching.form import Form, given_form
from wengert.run.batching.literals import Literals
from wengert.run.batching.merging import joined
from wengert.run.batching.record import BITS, MASK, Entry, Part, Record
from wengert.run.batching.walk import Values, Walk

_FIRST: Final = -(1 << 62)  # below all serials: literals that stand where other calls have nodes


def recorded(roots: Sequence[Node], known: Values | None = None, before: int = 0) -> Record:
    """The nodes below `roots`; one that is `known` is a given value, and nothing below it is looked at.

    What has a serial not above `before` may be kept by somebody.
    """
    walk, blocks = Walk(known), Blocks()
    walk.go(roots, before if known is None else 0, blocks)
    walk.resolve()
    made = _Entries(walk, blocks)
    found = made.recorded()
    blocks.check(found.size)
    return found


class _Piece(NamedTuple):
    """Nodes of one entry by number: those that were met, or those of several blocks."""

    signature: Signature
    form: Form
    weights: tuple[Any, ...]  # Any: weights of every kind
    numbers: Places
    refs: Places  # codes of operands, a row a node
    literals: list[tuple[Literals, ...]]  # one after the other, by operand
    site: tuple[Any, int]  # Any: as of drafts


class _Entries:
    def __init__(self, walk: Walk, blocks: Blocks) -> None:
        self.walk = walk
        order = sorted(range(len(blocks.used)), key=lambda at: int(blocks.used[at].serials[-1]))
        self.blocks = [blocks.used[at] for at in order]
        self.serials = [places(walk.serials), *[block.serials for block in self.blocks]]
        ends = cumulated(places([len(serials) for serials in self.serials]))[1:]
        self.next = int(ends[-1])
        self.firsts: list[int] = ends[:-1].tolist()  # what the numbers of each block count from
        self.lasts = flags(len(order), 0)  # numbers of the last nodes of blocks, as these were met
        self.lasts[order] = ends[1:] - 1
        self.families: dict[tuple[Name, ...], list[int]] = {}  # blocks that have the same names
        for at, block in enumerate(self.blocks):
            self.families.setdefault(block.names, []).append(at)
        self.pieces: dict[Signature, list[_Piece]] = {}
        self.given: dict[Kind, list[tuple[Places, list[Any]]]] = {}  # Any: numbers, and values or nodes
        self.added: dict[int, int] = {}  # numbers of literals that are rows, by identity
        self._take_met()
        self._take_blocks()
        self.literal: Places | None = None  # of each number, whether it is a literal's

    def _take_met(self) -> None:
        walk = self.walk
        for of, numbers in walk.given.items():
            if numbers:
                self.given[of] = [(places(numbers), [_value(walk.nodes[number]) for number in numbers])]
        for signature, info in walk.infos.items():
            if info.numbers and signature.operation is not LITERAL:
                for draft in drafts_of(signature, info, walk.nodes):
                    self._take([draft], draft.numbers, self._joined(draft.refs))

    def _joined(self, refs: Places) -> Places:
        """With the numbers that the last nodes of blocks have here."""
        apart = refs >= APART << BITS
        codes = refs[apart]
        if len(codes):
            refs[apart] = (self.lasts[(codes >> BITS) - APART] << BITS) | (codes & MASK)
        return refs

    def _take_blocks(self) -> None:
        for family in self.families.values():
            blocks, firsts = [self.blocks[at] for at in family], [self.firsts[at] for at in family]
            drafts = zip(*[block.drafts for block in blocks], strict=True)
            for several, (numbers, refs) in zip(drafts, unpacked(blocks, firsts), strict=True):
                self._take(several, numbers, refs)
        for block, first in zip(self.blocks, self.firsts, strict=True):
            for of, numbers, values in block.given:
                self.given.setdefault(of, []).append((numbers + first, values))

    def _take(self, drafts: Sequence[Draft], numbers: Places, refs: Places) -> None:
        """The nodes of drafts that have one name."""
        one, literals = drafts[0], [draft.literals for draft in drafts]
        piece = _Piece(one.signature, one.form, one.weights, numbers, refs, literals, one.site)
        self.pieces.setdefault(one.signature, []).append(piece)

    def recorded(self) -> Record:
        merged = joined(self.pieces, self._all_literal)
        forms = {signature: pieces[0].form for signature, pieces in self.pieces.items()}
        groups: dict[Name, tuple[Signature, list[_Piece]]] = {}
        for signature, pieces in self.pieces.items():
            target = merged.get(signature, signature)
            form = forms[target]
            for piece in pieces:
                if target is not signature and form.rows != piece.form.rows:
                    piece = self._widened(piece, form)
                key = (target, *map(id, piece.weights))
                groups.setdefault(key, (target, []))[1].append(piece)
        added = span(_FIRST, _FIRST + len(self.added))
        serials = concatenate([*self.serials, added])
        order, serials = _in_order(serials, len(self.walk.serials))
        starts = starts_of_runs(serials)
        ranks = flags(len(order), 0)
        several = len(starts) < len(ranks)
        if several:
            new = flags(len(order), 0)
            new[starts] = 1
            ranks[order] = new.cumsum() - 1
            serials, order = serials[starts], order[starts]
        else:
            ranks[order] = span(0, len(order))
        entries = [_given_entry(of, pieces, ranks) for of, pieces in self.given.items()]
        for target, pieces in groups.values():
            entries.append(_entry(target, forms[target], pieces, ranks))
        if several:
            for entry in entries:
                new = starts_of_runs(entry.members)
                if len(new) < len(entry.members):
                    entry.keep(new)
        entries.sort(key=lambda entry: int(entry.members[0]))
        parts = self._parts(ranks, merged)
        return Record(serials, entries, self.walk.codes, order, ranks, self.walk.nodes, parts)

    def _parts(self, ranks: Places, merged: Mapping[Signature, Signature]) -> list[Part]:
        found = []
        for family in self.families.values():
            signatures = [draft.signature for draft in self.blocks[family[0]].drafts]
            targets = tuple([merged.get(signature, signature) for signature in signatures])
            for at in family:
                block, first = self.blocks[at], self.firsts[at]
                found.append(Part(block, ranks[first : first + len(block.serials)], targets))
        return found

    def _all_literal(self, signature: Signature, index: int) -> bool:
        """Whether all nodes of a signature have literals at an operand."""
        if signature.kinds[index].role is Role.LITERAL:
            return True
        if self.literal is None:
            self.literal = flags(self.next)
            for pieces in self.given.values():
                for numbers, values in pieces:
                    self.literal[numbers] = not any(isinstance(x, Node) for x in values)
        several = self.pieces[signature]
        at = several[0].form.rows.index(index)
        return all(self.literal[piece.refs[:, at] >> BITS].all() for piece in several)

    def _widened(self, piece: _Piece, form: Form) -> _Piece:
        """With rows in place of literals where others have nodes."""
        own, columns = piece.form, []
        for i in form.rows:
            if i in own.rows:
                columns.append(piece.refs[:, own.rows.index(i)])
            else:
                at = own.literals.index(i)
                literals = [x for each in piece.literals for x in each[at].values]
                columns.append(self._rows(literals, piece.signature.kinds[i]))
        left = [own.literals.index(i) for i in form.literals]
        return piece._replace(
            form=form,
            refs=concatenate(columns).reshape(len(columns), -1).T,
            literals=[tuple([each[at] for at in left]) for each in piece.literals],
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


def _in_order(serials: Places, met: int) -> tuple[Places, Places]:
    """Their order, and they in it; blocks are in theirs already, behind so many nodes that are newer as a rule."""
    order = concatenate([span(met, len(serials)), argsort(serials[:met])])
    if not ascending(serials[order]):
        order = argsort(serials)
    return order, serials[order]


def _value(x: Node) -> Any:  # Any: a literal, or a node whose value is known
    return x.operands[0] if x.signature.operation is LITERAL else x


def _given_entry(of: Kind, pieces: list[tuple[Places, list[Any]]], ranks: Places) -> Entry:
    members = ranks[concatenate([numbers for numbers, _ in pieces])]
    order = argsort(members)
    given = [x for _, values in pieces for x in values]
    refs = places([]).reshape(len(members), 0)
    return Entry(given_form(of), None, members=members[order], refs=refs, order=order, given=given)


def _entry(signature: Signature, form: Form, pieces: Sequence[_Piece], ranks: Places) -> Entry:
    members = ranks[concatenate([piece.numbers for piece in pieces])]
    refs = recoded(joined_rows([piece.refs for piece in pieces]), ranks)
    if ascending(members):
        order = span(0, len(members))
    else:
        order = argsort(members)
        members, refs = members[order], taken(refs, order)
    return Entry(
        form,
        signature,
        pieces[0].weights,
        members,
        refs,
        order,
        literals=[each for piece in pieces for each in piece.literals],
        at=pieces[0].site,
    )
