"""The nodes below some roots as arrays of numbers: what a schedule is made of.

Knows: that a node is numbered when it is met, and again by its serial, which is a topological order; that a part
of what a cell gave is no node but a column of that cell; that weights and literals are looked at once.
Refuses to know: which nodes run together, and values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from wengert.arrays.places import Places, argsort, concatenate, places, spread, spread_evenly
from wengert.arrays.rows import joined_rows
from wengert.graph.kinds import Kind, Role
from wengert.graph.node import Expression, Node
from wengert.graph.operand import LITERAL, value_kind
from wengert.graph.operation import UNRESOLVED, Signature
from wengert.run.batching.form import Form, Way, form_of, given_form
from wengert.run.batching.merging import joined
from wengert.run.batching.resolving import resolved
from wengert.run.cell import PART

BITS: Final = 20  # of a code: the number of a node, and below it which of its results
MASK: Final = (1 << BITS) - 1


@dataclass(slots=True, eq=False)
class Entry:
    """The nodes of one signature, with the same weights as operands."""

    form: Form
    signature: Signature | None  # None: given values, and sums
    weights: tuple[Any, ...] = ()  # Any: weights of every kind, in the order of `form.weights`
    members: Places = field(default_factory=lambda: places([]))  # numbers of nodes, ascending
    refs: Places = field(default_factory=lambda: places([]))  # codes of operands: a row a member
    counts: Places | None = None  # of a sum: how many operands each member has, `refs` being flat
    dead: bool = False  # no delta comes from the roots


@dataclass(slots=True, eq=False)
class Record:
    """All nodes: by number in the order of their serials; entries in the order in which they were met."""

    nodes: list[Any]  # Any: nodes, and literals that stand where other calls have nodes
    entries: list[Entry]
    codes: dict[Expression, int]  # of all nodes and parts that were met, by the numbers given when met
    ranks: Places  # from those numbers to numbers by serial
    absorbed: Places | None = None  # of each node, whether it is inside a sum

    def edges(self) -> tuple[Places, Places]:
        """From which node to which, for every operand that is the value of a node."""
        readers = [
            spread(e.members, e.counts)
            if e.counts is not None
            else spread_evenly(e.members, len(e.form.rows))
            for e in self.entries
        ]
        return concatenate([e.refs.reshape(-1) for e in self.entries]) >> BITS, concatenate(readers)

    def code(self, x: Expression) -> int | None:
        """Where the value of `x` is; None if it is not here."""
        code = self.codes.get(x)
        if code is None:
            if not (isinstance(x, Node) and x._signature.operation is PART):
                return None
            cell = self.codes.get(x._operands[0])
            if cell is None:
                return None
            code = cell | x._signature.attributes[0][1]
        number = int(self.ranks[code >> BITS])
        if self.absorbed is not None and self.absorbed[number]:
            return None
        return number << BITS | code & MASK


def record(roots: Iterable[Expression], known: Values | None = None) -> Record:
    """The nodes below `roots`; one that is `known` is a given value, and nothing below it is looked at."""
    walk = _Walk(known)
    walk.go(roots)
    return walk.recorded()


class Values(Protocol):
    """What has a value already."""

    def __contains__(self, x: object, /) -> bool: ...

    def __getitem__(self, x: Expression, /) -> Any: ...  # Any: data of every type


class _Info(NamedTuple):
    """What the walk has to know of a signature, and what it finds."""

    rows: tuple[int, ...]  # operands that are values of nodes
    numbers: list[int]  # of its nodes
    refs: list[int]  # codes of their operands, node by node
    part: int  # which result of a cell it is; -1 for none
    cell: bool  # whether its results are columns
    literal: bool


class _Walk:
    """One pass with an explicit stack (S8), which sees every node once."""

    def __init__(self, known: Values | None) -> None:
        self.known = known  # None: nothing
        self.nodes: list[Any] = []  # Any: as in `Record`
        self.codes: dict[Expression, int] = {}
        self.forms: dict[Signature, Form] = {}
        self.infos: dict[Signature, _Info] = {}
        self.given: dict[Kind, list[int]] = {}  # numbers of given values, by kind
        self.numbers: dict[int, int] = {}  # of literals that stand where other calls have nodes, by identity

    def info(self, signature: Signature) -> _Info:
        """The same for all nodes of a signature."""
        found = self.infos.get(signature)
        if found is None:
            form = self.forms[signature] = form_of(signature)
            part = signature.attributes[0][1] if signature.operation is PART else -1
            literal = signature.operation is LITERAL
            found = _Info(form.rows, [], [], part, form.way is Way.CELL, literal)
            self.infos[signature] = found
        return found

    def go(self, roots: Iterable[Expression]) -> None:
        """Number everything below the roots, and take down the codes of all operands."""
        infos, codes, nodes = self.infos, self.codes, self.nodes
        stack = [number for root in roots if (number := self._met(root)) is not None]
        while stack:
            number = stack.pop()
            node = nodes[number]
            operands = node._operands
            rows, numbers, refs, _, _, _ = infos[node._signature]
            numbers.append(number)
            for i in rows:
                x = operands[i]
                code = codes.get(x)
                if code is None:
                    number_of_new = self._met(x)
                    if number_of_new is not None:
                        stack.append(number_of_new)
                    code = codes[x]
                refs.append(code)

    def _met(self, x: Any) -> int | None:  # Any: a node
        """Give `x` its code; the number of a new node whose operands are to be looked at."""
        codes, nodes, known = self.codes, self.nodes, self.known
        if x in codes:
            return None
        number = len(nodes)
        if known is not None and x in known:
            codes[x] = number << BITS
            nodes.append(x)
            self.given.setdefault(self._kind_given(x), []).append(number)
            return None
        info = self.infos.get(x._signature) or self.info(x._signature)
        if info.part >= 0 and (known is None or x._operands[0] not in known):
            cell = x._operands[0]
            of = self.infos.get(cell._signature) or self.info(cell._signature)
            if of.cell:
                code = codes.get(cell)
                if code is not None:
                    codes[x] = code | info.part
                    return None
                codes[x] = number << BITS | info.part
                x, info = cell, of
        codes[x] = number << BITS
        nodes.append(x)
        if info.literal:
            self.given.setdefault(x._kind, []).append(number)
        elif info.rows:
            return number
        else:
            info.numbers.append(number)
        return None

    def _kind_given(self, x: Node) -> Kind:
        """The kind of what is known, be it known from its value only."""
        of = x._kind
        if of.known or self.known is None or x not in self.known:
            return of
        return value_kind(self.known[x], of.role)

    def resolve(self) -> None:
        """The signatures of nodes whose kinds were open when they were made."""
        open_ = [(s, info) for s, info in self.infos.items() if s.mode == UNRESOLVED and info.numbers]
        if not open_:
            return
        nodes = []
        for _, info in open_:
            width = len(info.rows)
            for at, number in enumerate(info.numbers):
                operands = [code >> BITS for code in info.refs[at * width : (at + 1) * width]]
                nodes.append((number, self.nodes[number], operands))
            info.numbers.clear()
            info.refs.clear()
        found = resolved(nodes, lambda number: self._kind_given(self.nodes[number]))
        for number, node, _ in nodes:
            info = self.info(found.get(number, node._signature))
            info.numbers.append(number)
            info.refs.extend([self.codes[node._operands[i]] for i in info.rows])

    def recorded(self) -> Record:
        self.resolve()
        own = {signature: info.numbers for signature, info in self.infos.items() if info.numbers}
        merged = joined(own, self._all_literal)
        drafts: dict[Signature, list[Draft]] = {}
        for signature, numbers in own.items():
            target = merged.get(signature, signature)
            drafts.setdefault(target, []).extend(self._drafts(target, signature, numbers))
        order = argsort(places([getattr(x, "_serial", 0) for x in self.nodes]))
        ranks = argsort(order)  # the inverse of a permutation
        entries: list[Entry] = []
        for of, numbers in self.given.items():
            none = places([]).reshape(len(numbers), 0)
            entries.append(_entry(given_form(of), None, [Draft((), places(numbers), none)], ranks))
        for signature, several in drafts.items():
            groups: dict[tuple[int, ...], list[Draft]] = {}
            for draft in several:
                groups.setdefault(tuple(map(id, draft.weights)), []).append(draft)
            entries += [_entry(self.forms[signature], signature, group, ranks) for group in groups.values()]
        return Record([self.nodes[i] for i in order.tolist()], entries, self.codes, ranks)

    def _all_literal(self, signature: Signature, index: int) -> bool:
        if signature.kinds[index].role is Role.LITERAL:
            return True
        nodes = self.nodes
        found = {nodes[number]._operands[index]._signature for number in self.infos[signature].numbers}
        return all(each.operation is LITERAL for each in found)

    def _drafts(self, target: Signature, signature: Signature, numbers: list[int]) -> Iterable[Draft]:
        """The nodes of one signature, apart by the weights that they are given."""
        form = self.forms[target]
        refs = places(self.infos[signature].refs).reshape(len(numbers), -1)
        if target is not signature:
            refs = self._widened(form, signature, numbers, refs)
        if not form.weights:
            yield Draft((), places(numbers), refs)
            return
        groups: dict[tuple[int, ...], list[int]] = {}
        for at, number in enumerate(numbers):
            operands = self.nodes[number]._operands
            groups.setdefault(tuple([id(operands[i]) for i in form.weights]), []).append(at)
        every = places(numbers)
        for several in groups.values():
            operands = self.nodes[numbers[several[0]]]._operands
            at_these = places(several)
            yield Draft(tuple(operands[i] for i in form.weights), every[at_these], refs[at_these])

    def _widened(self, form: Form, narrow: Signature, numbers: list[int], refs: Places) -> Places:
        """The operands of nodes that have literals where others have nodes."""
        own = {i: at for at, i in enumerate(self.forms[narrow].rows)}
        columns = []
        for i in form.rows:
            if i in own:
                columns.append(refs[:, own[i]])
            else:
                literals = [self.nodes[number]._operands[i] for number in numbers]
                columns.append(self._literals(literals, narrow.kinds[i]))
        return concatenate(columns).reshape(len(columns), len(numbers)).T

    def _literals(self, column: Sequence[Any], of: Kind) -> Places:  # Any: arrays
        found, nodes, codes = self.numbers, self.nodes, []
        new = self.given.setdefault(of, [])
        for x in column:
            number = found.get(id(x))
            if number is None:
                number = found[id(x)] = len(nodes)
                nodes.append(x)
                new.append(number)
            codes.append(number << BITS)
        return places(codes)


class Draft(NamedTuple):
    """Nodes that will be in one entry, by the numbers given when met."""

    weights: tuple[Any, ...]  # Any: weights of every kind
    numbers: Places
    refs: Places  # codes of operands, a row a node


def _entry(form: Form, signature: Signature | None, drafts: list[Draft], ranks: Places) -> Entry:
    members = ranks[concatenate([draft.numbers for draft in drafts])]
    order = argsort(members)
    refs = _recoded(joined_rows([draft.refs for draft in drafts]), ranks)
    return Entry(form, signature, drafts[0].weights, members[order], refs[order])


def _recoded(codes: Places, ranks: Places) -> Places:
    """The same with numbers by serial."""
    found: Places = (ranks[codes >> BITS] << BITS) | (codes & MASK)
    return found
