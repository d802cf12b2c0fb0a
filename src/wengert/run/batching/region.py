"""The nodes of a region as arrays of numbers, grouped by signature: what a schedule is made of.

Knows: that nodes are numbered by serial, which is a topological order, and found again by it; that nodes of one
signature with the same weights are one group; that groups of one form are scheduled alike; that a tree of additions is
one sum, and a stack a read of rows; that nodes which no delta reaches stay apart.
Refuses to know: how the nodes were found, which of them run together, values, and what an operation computes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeAlias

from wengert.arrays import Value
from wengert.arrays.places import (
    Places,
    argsort,
    concatenate,
    counted,
    cumulated,
    distinct,
    flags,
    marked,
    places,
    ranges,
    span,
    spread,
    spread_evenly,
)
from wengert.arrays.rows import constant, joined_rows, stacked, taken
from wengert.graph.kinds import Column, Kind, Role, device_among
from wengert.graph.node import Expression, Node
from wengert.graph.operation import EXTERNAL, UNRESOLVED, Signature
from wengert.graph.template import PART, CellSignature
from wengert.ops.joining import STACK
from wengert.site import position

BITS: Final = 20  # of a code: the number of a node, and below it which of its results
MASK: Final = (1 << BITS) - 1
Name: TypeAlias = tuple[Any, ...]  # Any: a signature, and the identities of weights
_STACKED = (Column.DOUBLE, Column.FLOAT, Column.ARRAY, Column.MASK, Column.INDEX)
_UNMET: Final = sys.maxsize


# -- forms ------------------------------------------------------------------------------------------


class RowSource(IntEnum):
    """The origin of the rows of one group."""

    GIVEN = 0  # values from before
    OPERATION = 1
    CELL = 2
    SUM = 3  # a tree of additions, as one
    ALONE = 4  # one by one: no table can hold an operand or a result
    RAGGED = 5  # one cell for examples of unlike sizes
    STACK = 6  # rows of others, side by side
    OPEN = 7  # calls of a cell that gets its template in the run: no table can hold them, either


class GroupForm(NamedTuple):
    """One operation on operands of known kinds, as far as a schedule depends on it: it holds on to no weight."""

    source: RowSource
    rows: tuple[int, ...]  # which operands are values of nodes
    sends: tuple[bool, ...]  # which of those get deltas
    weights: tuple[int, ...]  # which operands are weights; those that a cell has captured not counted
    literals: tuple[int, ...]
    results: tuple[Kind, ...]


def stackable(of: Kind) -> bool:
    """True if values of this kind can be the rows of a table."""
    return of.column in _STACKED and of.known


def form_of(signature: Signature) -> GroupForm:
    """The form of nodes with this signature, found once."""
    try:
        found: GroupForm = signature.form
    except AttributeError:
        found = signature.form = _form_of(signature)
    return found


def result_kinds(signature: Signature) -> tuple[Kind, ...]:
    """The kinds of what one row gives: several for a cell that returns a tuple."""
    if isinstance(signature, CellSignature):
        return signature.template.kinds
    return (signature.kind,)


def _form_of(signature: Signature) -> GroupForm:
    roles = [k.role for k in signature.kinds]
    at = {role: tuple(i for i, r in enumerate(roles) if r is role) for role in Role}
    rows = tuple(i for i, r in enumerate(roles) if r in (Role.CONSTANT, Role.LAYER))
    weights = tuple(i for i, r in enumerate(roles) if r in (Role.WEIGHT, Role.BUFFER))
    results = result_kinds(signature)
    if isinstance(signature, CellSignature):
        template = signature.template
        source = RowSource.CELL
        weights = tuple(i for i in weights if i < len(template.parameters))
        trains = any(k.trainable for k in results)
        sends = tuple(trains and signature.kinds[i].trainable for i in rows)
    else:
        source = RowSource.OPERATION
        sends = tuple(i in signature.sends for i in rows)
    operands = [k for k in signature.kinds if k.role is not Role.LITERAL]
    literals = [signature.kinds[i] for i in at[Role.LITERAL]]
    if (
        signature.mode in (EXTERNAL, UNRESOLVED)
        or _device_of(signature) is None
        or not all(map(stackable, (*operands, *results)))
        or not all(k.column in (Column.NUMBER, Column.INDEX) or stackable(k) for k in literals)
    ):
        is_open = source is RowSource.CELL and signature.mode == UNRESOLVED
        source, results = RowSource.OPEN if is_open else RowSource.ALONE, (signature.kind,)
    return GroupForm(source, rows, sends, weights, at[Role.LITERAL], results)


def _device_of(signature: Signature) -> Any:  # Any: as a kind has it
    """The device of all rows of a launch; None if there are several, as the delta of a number beside arrays there."""
    kinds = (*signature.kinds, *result_kinds(signature))
    found = device_among(kinds)
    near = found != "cpu" and any(k.trainable and k.column in (Column.DOUBLE, Column.FLOAT) for k in kinds)
    return None if near else found


def why_alone(signature: Signature) -> str:
    """The reason why nodes of a signature run one by one, for the report."""
    if signature.mode == UNRESOLVED:
        return "its kinds are known in the run only"
    if _device_of(signature) is None:
        return "its operands are on several devices"
    return "a table of rows cannot hold its values"


# -- groups and the region --------------------------------------------------------------------------


class Literals:
    """The literals at one operand of several nodes, and as a table, which is made once."""

    __slots__ = ("_table", "shared", "values")

    def __init__(self, values: list[Value]) -> None:
        self.values = values
        self.shared = len({*map(id, values)}) == 1
        self._table: Value = None

    @property
    def table(self) -> Value:
        """All literals as the rows of a table."""
        if self._table is None:
            self._table = stacked(self.values)
        return self._table


@dataclass(slots=True, eq=False)
class Group:
    """The nodes of one signature, with the same weights as operands; or, while a region is found, a part of them, by
    the numbers given when they were met, or by their places in a subgraph.
    """

    form: GroupForm
    signature: Signature | None  # None: given values, and sums
    weights: tuple[Any, ...] = ()  # Any: weights of every kind, in the order of `form.weights`
    members: Places = field(default_factory=lambda: places([]))  # numbers of nodes, ascending
    refs: Places = field(default_factory=lambda: places([]))  # codes of operands: a row a member
    order: Places = field(default_factory=lambda: places([]))  # of each, its place in `given` and `literals`
    given: list[Any] = field(default_factory=list)  # Any: values from before, and nodes that have one
    literals: list[tuple[Literals, ...]] = field(default_factory=list)  # in pieces, by operand in each
    at: tuple[Any, int] = ("", 0)  # Any: where the user built one of them, as a node has it
    counts: Places | None = None  # of sums and stacks: how many operands each member has, `refs` being flat
    signatures: list[Signature] = field(default_factory=list)  # of each, where they differ, as `given`

    @property
    def name(self) -> Name:
        """The identity of the group, equal in all its parts."""
        return (self.signature, *map(id, self.weights))

    @property
    def site(self) -> str:
        """`file:line` where the user built one of them."""
        return position(*self.at)

    def keep(self, which: Places) -> None:
        """Drop all members but those given by place."""
        self.members, self.refs, self.order = self.members[which], taken(self.refs, which), self.order[which]

    def each_literal(self, operand: int, order: Places) -> list[Any]:  # Any: as in `Literals`
        """The literals at one operand, of members in an order."""
        at = self.form.literals.index(operand)
        values = [x for piece in self.literals for x in piece[at].values]
        return [values[i] for i in self.order[order].tolist()]

    def literals_at(self, operand: int, order: Places) -> tuple[bool, Any]:  # Any: a literal, or a table
        """The literals at one operand, of members in an order: whether all have one, and that; else the table.

        Numbers are compared by their bits, not only by identity.
        """
        assert self.signature is not None
        at = self.form.literals.index(operand)
        pieces = [piece[at] for piece in self.literals]
        first = pieces[0].values[0]
        if all(piece.shared and piece.values[0] is first for piece in pieces):
            return True, first
        table = joined_rows([piece.table for piece in pieces])
        if self.signature.kinds[operand].column is Column.NUMBER and constant(table):
            return True, first
        return False, taken(table, self.order[order])


@dataclass(slots=True, eq=False, weakref_slot=True)
class Subgraph:
    """All below a node that somebody keeps, numbered in the order of serials, and that node as the last.

    It hangs on that node and dies with it, and holds on to none.
    """

    serials: Places
    parts: list[Group]  # whose numbers and codes are in `packed`
    packed: Places  # numbers and codes of each part, one after the other: near each other in memory
    sizes: Places  # how many of each
    given: list[tuple[Kind, Places, list[Any]]]  # Any: literals
    names: tuple[Name, ...]  # of the parts
    leads: Places  # of each part, its first node
    # of its nodes, as groupings found them
    counts: dict[object, Sequence[Places]] = field(default_factory=dict)


def unpacked(subgraphs: Sequence[Subgraph], firsts: Sequence[int]) -> Iterator[tuple[Places, Places]]:
    """Numbers and codes of each part of subgraphs that have the same names.

    `firsts`: for each subgraph, what its numbers count from.
    """
    sizes: Places = stacked([subgraph.sizes for subgraph in subgraphs])
    kinds = sizes.shape[1]
    first = places([*firsts])
    added = concatenate([first, first << BITS])  # to numbers, and to codes
    counts = sizes.T.reshape(-1)
    starts = cumulated(sizes.reshape(-1))[:-1].reshape(sizes.shape)
    at = ranges(starts.T.reshape(-1), counts)
    more = spread(concatenate([added] * (kinds // 2)), counts)
    values = concatenate([subgraph.packed for subgraph in subgraphs]).take(at) + more
    ends = cumulated(sizes.sum(0)).tolist()
    for part in range(0, kinds, 2):
        begin, middle, end = ends[part : part + 3]
        yield values[begin:middle], values[middle:end].reshape(middle - begin, -1)


@dataclass(slots=True, eq=False)
class Region(list[Node]):
    """All nodes below some roots, which it lists, and their groups in the order of their first members."""

    serials: Places  # of nodes by number
    groups: list[Group]
    codes: dict[Expression, int]  # of nodes and parts that were met one by one, by the numbers given when met
    order: Places  # of each number, that given when met
    ranks: Places  # the other way round
    met: list[Any]  # Any: these nodes
    complete: bool  # all nodes were met
    absorbed: Places | None = None  # of each node, whether it is inside a sum
    numbers: Places | None = None  # of nodes by serial, where nodes have other numbers than serials say
    # whose nodes follow those that were met; none, where their parts are no longer in one group each
    subgraphs: Sequence[Subgraph] = ()
    bound: tuple[Any] | None = None  # Any: its `BoundSchedule` or None, once that has been looked for

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.serials)

    def node(self, number: int) -> Any:  # Any: as `met`
        """A node that was met."""
        return self.met[int(self.order[number])]

    def binds(self) -> list[Node]:
        """The nodes whose values come from a `Do` that has not run."""
        groups = [g for g in self.groups if g.signature is not None and g.signature.mode == EXTERNAL]
        return [self.node(number) for group in groups for number in group.members.tolist()]

    def numbers_below(self) -> Places:
        """The numbers of the nodes of subgraphs, one subgraph after the other."""
        met = len(self.met)
        numbers: Places = self.ranks[met : met + sum([len(each.serials) for each in self.subgraphs])]
        return numbers

    def renumber(self, new: Places) -> None:
        """Take on other numbers, given by number; those in groups are left to the caller."""
        self.numbers = new
        self.ranks = new[self.ranks]
        self.order = self.order[argsort(new)]

    def edges(self) -> tuple[Places, Places]:
        """Both ends of every operand that is the value of a node: that node, and its reader."""
        readers = [
            spread(g.members, g.counts)
            if g.counts is not None
            else spread_evenly(g.members, len(g.form.rows))
            for g in self.groups
        ]
        return concatenate([g.refs.reshape(-1) for g in self.groups]) >> BITS, concatenate(readers)

    def code(self, x: Expression) -> int | None:
        """The code of the value of `x`; None if it is not here."""
        if not isinstance(x, Node):
            return None
        number, part = self._number(x), 0
        if number is None and x.signature.operation is PART:
            number, part = self._number(x.operands[0]), x.signature.attributes[0][1]
        if number is None or (self.absorbed is not None and self.absorbed[number]):
            return None
        return number << BITS | part

    def _number(self, x: Node) -> int | None:
        met = self.codes.get(x, _UNMET) >> BITS
        if met < len(self.met):
            return self.ranks.item(met)
        if self.complete:
            return None
        number = int(self.serials.searchsorted(x.serial))
        if number == self.size or self.serials[number] != x.serial:
            return None
        return number if self.numbers is None else self.numbers.item(number)


# -- rewrites ---------------------------------------------------------------------------------------


def rewrite(region: Region, roots: Sequence[int], back: bool) -> None:
    """Have as few launches as there can be; `roots` are asked for, and send deltas if there is a way `back`."""
    if back:
        with_dead(region, roots)
    with_sums(region, roots)
    with_stacks(region)


def with_dead(region: Region, roots: Iterable[int]) -> None:
    """Split groups by whether deltas from the roots, given as numbers, arrive at their nodes.

    Where no delta arrives, 0 times infinity would be sent on.
    """
    if not any(map(_stops, region.groups)):
        return
    live = flags(region.size)
    stack = [*roots]
    live[stack] = True
    below = _sent_to(region)
    while stack:
        for number in below.get(stack.pop(), ()):
            if not live[number]:
                live[number] = True
                stack.append(number)
    groups: list[Group] = []
    for group in region.groups:
        reached = live[group.members]
        if group.form.source is RowSource.GIVEN or not any(group.form.sends) or reached.all():
            groups.append(group)
            continue
        for part in (reached, ~reached):
            if part.any():
                some = replace(group)
                some.keep(marked(part))
                groups.append(some)
        region.subgraphs = ()
    region.groups = groups


def _stops(group: Group) -> bool:
    """True if a trainable operand gets no delta from these nodes."""
    if group.signature is None or group.form.source is RowSource.ALONE:
        return False
    kinds = group.signature.kinds
    return any(
        kinds[i].trainable and not sends for i, sends in zip(group.form.rows, group.form.sends, strict=True)
    )


def _sent_to(region: Region) -> dict[int, list[int]]:
    """For each node the operands that it sends deltas to."""
    found: dict[int, list[int]] = {}
    for group in region.groups:
        alone = group.form.source is RowSource.ALONE
        columns = [i for i, sends in enumerate(group.form.sends) if sends or alone]
        if columns:
            operands = (group.refs[:, columns] >> BITS).tolist()
            found.update(zip(group.members.tolist(), operands, strict=True))
    return found


def with_stacks(region: Region) -> None:
    """Put a read of rows in place of each stack: the columns of a batch cost one gather, however many examples."""
    region.groups = [_as_read(group) if _stacks(group) else group for group in region.groups]


def _stacks(group: Group) -> bool:
    """True if these nodes put values of one kind, all of them of nodes, along a new first axis."""
    signature, form = group.signature, group.form
    if signature is None or signature.operation is not STACK or form.source is not RowSource.OPERATION:
        return False
    of = {(k.column, k.shape, k.dtype) for k in signature.kinds}
    return dict(signature.attributes)["axis"] == 0 and len(form.rows) == len(signature.kinds) and len(of) == 1


def _as_read(stacks: Group) -> Group:
    form = stacks.form
    read = GroupForm(RowSource.STACK, (0,), (any(form.sends),), (), (), form.results)
    counts = flags(len(stacks.members), len(form.rows))
    return replace(stacks, form=read, refs=stacks.refs.reshape(-1), counts=counts)


def with_sums(region: Region, kept: Iterable[int]) -> None:
    """Put one sum in place of each tree of additions that nobody else reads; the nodes `kept` are asked for.

    The losses of a batch cost one launch, however they are added up.
    """
    adding = [group for group in region.groups if _adds(group)]
    if not adding:
        return
    sources, _ = region.edges()
    readers = counted(sources, region.size)
    for number in kept:
        readers[number] += 2
    region.absorbed = flags(region.size)
    for group in adding:
        _collapse(region, group, region.absorbed, readers)
    region.groups = [group for group in region.groups if len(group.members)]


def _adds(group: Group) -> bool:
    """True if these nodes add two values of the kind that they give."""
    signature, form = group.signature, group.form
    return (
        signature is not None
        and signature.adds
        and form.source is RowSource.OPERATION
        and signature.kinds == (form.results[0], form.results[0])
        and form.sends in ((True, True), (False, False))
    )


def _collapse(region: Region, adding: Group, absorbed: Places, readers: Places) -> None:
    members, operands = adding.members, adding.refs >> BITS
    place = flags(region.size, -1)  # of a node among the additions
    place[members] = span(0, len(members))
    inner = (place[operands] >= 0) & (readers[operands] == 1)
    upper = span(0, len(members))  # of an inner addition its reader, of all others themselves
    upper[place[operands[inner]]] = spread_evenly(upper, 2).reshape(-1, 2)[inner]
    while ((following := upper[upper]) != upper).any():
        upper = following
    tops = members[upper]
    inside = tops != members
    if not inside.any():
        return
    absorbed[members[inside]] = True
    if absorbed[region.numbers_below()].any():
        region.subgraphs = ()
    summed = flags(region.size)
    summed[tops[inside]] = True
    rest = ~summed[tops]
    outer = ~(inner | rest[:, None]).reshape(-1)
    tops, codes = spread_evenly(tops, 2)[outer], adding.refs.reshape(-1)[outer]
    sums, counts = distinct(tops)
    of = adding.form.results[0]
    form = GroupForm(RowSource.SUM, (0,), (of.trainable,), (), (), (of,))
    order = argsort(tops)
    region.groups.append(Group(form, None, members=sums, refs=codes[order], counts=counts))
    adding.keep(marked(rest))
