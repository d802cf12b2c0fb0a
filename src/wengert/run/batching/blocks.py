"""What is below a node that somebody keeps, recorded once: an example that comes again with others beside it.

Knows: that a block hangs on the node whose operands it has recorded, holds on to none of them, and dies with it
(S13); that it is the same for every run, because nodes do not change; that blocks which have much in common cost
more than they save.
Refuses to know: what other nodes there are, and schedules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from wengert.arrays.places import Places, argsort, places
from wengert.graph.kinds import Kind
from wengert.graph.node import Node
from wengert.graph.operand import LITERAL
from wengert.graph.operation import Signature
from wengert.run.batching.drafts import Draft, drafts_of
from wengert.run.batching.form import Form, Way
from wengert.run.batching.record import BITS, MASK
from wengert.run.batching.walk import Walk

APART: Final = 1 << 40  # numbers from here on are of nodes that were not met one by one
_SLACK: Final = 1000  # nodes that blocks may have in common besides


@dataclass(slots=True, eq=False, weakref_slot=True)
class Block:
    """Nodes by number in the order of their serials; the last one is that which the block hangs on."""

    serials: Places
    drafts: list[Draft]
    given: list[tuple[Kind, Places, list[Any]]]  # Any: literals


NONE: Final = Block(places([]), [], [])  # for a node that is to have no block


class Blocks:
    """Those that one record is made of."""

    def __init__(self, forms: dict[Signature, Form]) -> None:
        self.forms = forms
        self.used: list[Block] = []
        self.size = 0  # of all together
        self._owners: list[Node] = []
        self._made = 0
        self._met: set[int] = set()  # serials of nodes in blocks that were made now

    def __call__(self, x: Node) -> int | None:
        """The code of a node that may be kept; None if it has no block."""
        if x._signature.operation is LITERAL:
            return None
        block: Block | None = getattr(x, "_block", None)
        if block is None:
            block = x._block = self._new(x)
        if block is NONE:
            return None
        self.used.append(block)
        self._owners.append(x)
        self.size += len(block.serials)
        return (APART + self.size - 1) << BITS

    def check(self, distinct: int) -> None:
        """From now on do without these blocks if most of their nodes are in several of them."""
        if self.size > 2 * distinct + _SLACK:
            for owner in self._owners:
                owner._block = NONE

    def _new(self, owner: Node) -> Block:
        if self._made > 2 * len(self._met) + _SLACK:
            return NONE
        block = _recorded(owner, self.forms)
        self._made += len(block.serials)
        self._met.update(block.serials.tolist())
        return block


def _recorded(owner: Node, forms: dict[Signature, Form]) -> Block:
    walk = Walk(None, forms)
    walk.go([owner])
    infos = [(signature, info) for signature, info in walk.infos.items() if info.numbers]
    if any(info.form.way is Way.ALONE for _, info in infos):
        return NONE
    serials = places(walk.serials)
    order = argsort(serials)
    ranks = argsort(order)
    drafts: list[Draft] = []
    for signature, info in infos:
        if signature.operation is not LITERAL:
            drafts += drafts_of(signature, info, walk.nodes)
    given = [
        (of, ranks[places(numbers)], [walk.nodes[number]._operands[0] for number in numbers])
        for of, numbers in walk.given.items()
    ]
    return Block(
        serials[order],
        [d._replace(numbers=ranks[d.numbers], refs=recoded(d.refs, ranks)) for d in drafts],
        given,
    )


def recoded(codes: Places, ranks: Places) -> Places:
    """The same with other numbers."""
    found: Places = (ranks[codes >> BITS] << BITS) | (codes & MASK)
    return found
