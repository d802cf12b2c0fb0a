"""Batching rules that many operations share, and what rules are written with.

Knows: their names.
Refuses to know: which operation asks.
"""

from __future__ import annotations

from wengert.graph.ragged import EXAMPLES, SHARED, Ragged, RowAxis
from wengert.ops.batching.indices import batched_add_at, batched_getitem, batched_take
from wengert.ops.batching.ragged import by_elements, by_lines, gathered, over_rows, reducing, summed
from wengert.ops.batching.shapes import (
    REPEATED,
    SHAPED,
    aligned,
    all_stacked,
    along,
    behind,
    deepened,
    moved,
    reduced,
    repeated,
    reshaped,
    shaped,
)

__all__ = [
    "EXAMPLES",
    "REPEATED",
    "SHAPED",
    "SHARED",
    "Ragged",
    "RowAxis",
    "aligned",
    "all_stacked",
    "along",
    "batched_add_at",
    "batched_getitem",
    "batched_take",
    "behind",
    "by_elements",
    "by_lines",
    "deepened",
    "gathered",
    "moved",
    "over_rows",
    "reduced",
    "reducing",
    "repeated",
    "reshaped",
    "shaped",
    "summed",
]
