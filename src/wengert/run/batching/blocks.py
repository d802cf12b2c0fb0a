"""What is below a node that somebody keeps, recorded once: an example that comes again with others beside it.

Knows: that a block hangs on the node whose operands it has recorded, holds on to none of them, and dies with it
(S13); that it is the same for every run, because nodes do not change; that blocks which have much in common cost
more than they save.
Refuses to know: what other nodes there are, and schedules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wengert.arrays.places import Places, argsort, concatenate, cumulated, places, ranges, spread
from wengert.arrays.rows import stacked
from wengert.graph.kinds import Kind
from wengert.graph.node import Node
from wengert.graph.operand import LITERAL
from wengert.run.batching.drafts import Draft, Name, drafts_of
from wengert.run.batching.form import Way
from wengert.run.batching.record import BITS, MASK, Targets
from wengert.run.batching.walk import Walk

APART: Final = 1 << 40  # numbers from here on stand for the last nodes of blocks
_SLACK: Final = 1000  # nodes that blocks may have in common besides
_ELSEWHERE: Final = places([])
_UNCOUNTED: Final[tuple[Targets, Places, Places]] = ((), places([]), places([]))


@dataclass(slots=True, eq=False, weakref_slot=True)
class Block:
    """Nodes by number in the order of their serials; the last one is that which the block hangs on."""

    serials: Places
    drafts: list[Draft]  # whose numbers and codes are in `packed`
    packed: Places  # numbers and codes of each draft, one after the other: near each other in memory
    sizes: Places  # how many of each
    given: list[tuple[Kind, Places, list[Any]]]  # Any: literals
    names: tuple[Name, ...]  # of the drafts
    # of nodes, for which entries, and depths, -1 for what is in no circle: they hold wherever all that is the same
    counts: tuple[Targets, Places, Places]


# for a node that is to have no block
NONE: Final = Block(places([]), [], places([]), places([]), [], (), _UNCOUNTED)


class Blocks:
    """Those that one record is made of."""

    def __init__(self) -> None:
        self.used: list[Block] = []
        self.size = 0  # of all together
        self._owners: list[Node] = []
        self._made = 0
        self._met: set[int] = set()  # serials of nodes in blocks that were made now

    def __call__(self, x: Node) -> int | None:
        """The code of a node that may be kept; None if it has no block."""
        if x.signature.operation is LITERAL:
            return None
        block: Block | None = getattr(x, "_block", None)
        if block is None:
            block = x._block = self._new(x)
        if block is NONE:
            return None
        self.used.append(block)
        self._owners.append(x)
        self.size += len(block.serials)
        return (APART + len(self.used) - 1) << BITS

    def check(self, distinct: int) -> None:
        """From now on do without these blocks if most of their nodes are in several of them."""
        if self.size > 2 * distinct + _SLACK:
            for owner in self._owners:
                owner._block = NONE

    def _new(self, owner: Node) -> Block:
        if self._made > 2 * len(self._met) + _SLACK:
            return NONE
        block = _recorded(owner)
        self._made += len(block.serials)
        self._met.update(block.serials.tolist())
        return block


def _recorded(owner: Node) -> Block:
    walk = Walk()
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
            info.sort(walk.serials)  # so that whatever has several blocks in turn need not
            drafts += drafts_of(signature, info, walk.nodes)
    given = [
        (of, ranks[places(numbers)], [walk.nodes[number].operands[0] for number in numbers])
        for of, numbers in walk.given.items()
    ]
    arrays = [x for d in drafts for x in (ranks[d.numbers], recoded(d.refs, ranks).reshape(-1))]
    packed, sizes = concatenate(arrays), places([len(x) for x in arrays])
    drafts = [d._replace(numbers=_ELSEWHERE, refs=_ELSEWHERE) for d in drafts]
    names = tuple([d.name for d in drafts])
    return Block(serials[order], drafts, packed, sizes, given, names, _UNCOUNTED)


def unpacked(blocks: Sequence[Block], firsts: Sequence[int]) -> Iterator[tuple[Places, Places]]:
    """Numbers and codes of each draft of blocks that have the same names.

    `firsts`: for each block, what its numbers count from.
    """
    sizes: Places = stacked([block.sizes for block in blocks])
    kinds = sizes.shape[1]
    first = places([*firsts])
    added = concatenate([first, first << BITS])  # to numbers, and to codes
    counts = sizes.T.reshape(-1)
    starts = cumulated(sizes.reshape(-1))[:-1].reshape(sizes.shape)
    at = ranges(starts.T.reshape(-1), counts)
    more = spread(concatenate([added] * (kinds // 2)), counts)
    values = concatenate([block.packed for block in blocks]).take(at) + more
    ends = cumulated(sizes.sum(0)).tolist()
    for draft in range(0, kinds, 2):
        begin, middle, end = ends[draft : draft + 3]
        yield values[begin:middle], values[middle:end].reshape(middle - begin, -1)


def recoded(codes: Places, ranks: Places) -> Places:
    """The same with other numbers."""
    found: Places = (ranks[codes >> BITS] << BITS) | (codes & MASK)
    return found
