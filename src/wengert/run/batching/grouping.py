"""Which nodes run together, and in which order: the chain quotient of a graph.

Knows: that nodes of one entry with one count are independent; that where groups need each other in a circle, they
are split by depth, and only there.
Refuses to know: rows, operations, and values.

Source: fold.md, B4.
"""

from __future__ import annotations

from wengert.arrays.places import Flags, Places, flags, occurring, span
from wengert.run.batching.circles import circles_in, needed_by, order_of
from wengert.run.batching.counting import Counting


def grouped(counting: Counting) -> Places | None:
    """For each node the place of its group in the order of launches; -1 for what is inside a sum.

    None for a graph so narrow that nothing would be gained.
    """
    own = counting.own()
    if own is None:
        return None
    groups = _numbered(counting.entry * (int(own.max()) + 1) + own, counting.entry >= 0)
    size = int(groups.max()) + 1
    needs = needed_by(groups[counting.sources], groups[counting.readers], size)
    order = order_of(needs)
    if order is None:
        split = flags(size)
        split[circles_in(needs)] = True
        apart = (groups >= 0) & split[groups]
        depths = counting.depths()
        groups = _numbered(groups * (int(depths.max()) + 1) + depths * apart, groups >= 0)
        size = int(groups.max()) + 1
        order = order_of(needed_by(groups[counting.sources], groups[counting.readers], size))
    assert order is not None, "groups without circles have an order"
    place = flags(size + 1, -1)  # the last one is of what has no group
    place[order] = span(0, size)
    return place[groups]


def _numbered(groups: Places, known: Flags) -> Places:
    """Numbers without gaps, in the same order; -1 for what is not `known`."""
    size = int(groups.max()) + 1
    used = occurring(groups[known], size)
    if size <= 4 * len(groups) + 64:
        numbers = flags(size + 1, -1)  # the last one is of what is not known
        numbers[used] = span(0, len(used))
        return numbers[groups * known + (known * 1 - 1)]
    found: Places = (used.searchsorted(groups) + 1) * known - 1
    return found
