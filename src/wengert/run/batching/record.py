"""The nodes below some roots as arrays of numbers: what a schedule is made of.

Knows: that nodes are numbered by serial, which is a topological order, and found again by it; that nodes of one
signature with the same weights are one entry.
Refuses to know: how the nodes were found, which of them run together, and values.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from wengert.arrays.places import Places, concatenate, places, spread, spread_evenly
from wengert.arrays.rows import taken
from wengert.graph.kinds import Column
from wengert.graph.node import Expression, Node
from wengert.graph.operation import Signature
from wengert.graph.template import PART
from wengert.run.batching.form import Form
from wengert.run.batching.literals import Literals, Shared, column_of
from wengert.site import position

if TYPE_CHECKING:
    from wengert.run.batching.blocks import Block

BITS: Final = 20  # of a code: the number of a node, and below it which of its results
MASK: Final = (1 << BITS) - 1
_UNMET: Final = sys.maxsize
Targets: TypeAlias = tuple[Signature, ...]


@dataclass(slots=True, eq=False)
class Entry:
    """The nodes of one signature, with the same weights as operands."""

    form: Form
    signature: Signature | None  # None: given values, and sums
    weights: tuple[Any, ...] = ()  # Any: weights of every kind, in the order of `form.weights`
    members: Places = field(default_factory=lambda: places([]))  # numbers of nodes, ascending
    refs: Places = field(default_factory=lambda: places([]))  # codes of operands: a row a member
    order: Places = field(
        default_factory=lambda: places([])
    )  # of each member, its place in `given` and `literals`
    given: list[Any] = field(default_factory=list)  # Any: values from before, and nodes that have one
    literals: list[tuple[Literals, ...]] = field(default_factory=list)  # in pieces, by operand in each
    at: tuple[Any, int] = ("", 0)  # Any: where the user built one of them, as a node has it
    counts: Places | None = None  # of a sum: how many operands each member has, `refs` being flat
    dead: bool = False  # no delta comes from the roots

    @property
    def site(self) -> str:
        """`file:line` where the user built one of them."""
        return position(*self.at)

    def keep(self, which: Places) -> None:
        """Only those members, given by place."""
        self.members, self.refs, self.order = self.members[which], taken(self.refs, which), self.order[which]

    def column(self, operand: int, order: Places) -> Shared:
        """The literals at one operand, of members in an order."""
        assert self.signature is not None
        number = self.signature.kinds[operand].column is Column.NUMBER
        at = self.form.literals.index(operand)
        return column_of([piece[at] for piece in self.literals], self.order[order], number)


class Part(NamedTuple):
    """Nodes that came as a block."""

    block: Block
    numbers: Places  # here
    targets: Targets  # of each draft of the block, the signature of the entry that it is in


@dataclass(slots=True, eq=False)
class Record:
    """All nodes, and their entries in the order of their first members."""

    serials: Places  # of nodes by number
    entries: list[Entry]
    codes: dict[Expression, int]  # of nodes and parts that were met one by one, by the numbers given when met
    order: Places  # of each number, that given when met
    ranks: Places  # the other way round
    met: list[Any]  # Any: these nodes
    parts: list[Part]  # what was not met
    absorbed: Places | None = None  # of each node, whether it is inside a sum

    @property
    def complete(self) -> bool:
        """Whether all nodes were met."""
        return not self.parts

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.serials)

    def node(self, number: int) -> Any:  # Any: as `met`
        """A node that was met."""
        return self.met[int(self.order[number])]

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
        return number if number < self.size and self.serials[number] == x.serial else None
