"""Memory that a run has used: kept for the next one, or given back to the system.

Knows: that glibc gives the free end of its heap back to the system once it is longer than 128 KB. The values of a run
die together, so all of it would go back after each run, and come again page by page in the next: that is 1 us for
each 16x64 of float32, as much as a product of two takes. That the heap below something that stays is given back only
when somebody asks for it; and that the greatest block that was ever mapped by itself and freed doubles as the measure
of what glibc keeps: twice its size.
Refuses to know: what lies there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from numpy import empty, uint8

__all__ = ["give_back", "keep_heap", "keep_workspaces"]

_SIZE = 4096  # bytes: more than Python takes from blocks of its own
_last = [bytearray()]


def keep_heap() -> None:
    """Put a small block behind the values of a run, which are about to be let go of; the one before is free then."""
    _last[0] = bytearray(_SIZE)


@cache
def keep_workspaces() -> None:
    """Have glibc keep up to 16 MB at the heap's free end, as it does in any process that once freed an array of 8 MB.

    A step of batches frees tables of deltas that the next one asks for again: 3,000 pages of trees of 128, a tenth of
    their time. Nothing is written to the block, so that it never takes memory.
    """
    empty((8 << 20,), uint8)


def give_back() -> None:
    """Give all that is free back to the system, after something that is seldom done and takes more than a run."""
    if _trim is not None:
        _trim(0)


def _trimming() -> Callable[[int], object] | None:
    """glibc's function for it; others have none, or need none."""
    try:
        found: Callable[[int], object] = ctypes.CDLL(None).malloc_trim
    except (
        AttributeError,
        OSError,
        TypeError,
    ):  # another C library; Windows, which has no program's own names
        return None
    return found


_trim = _trimming()
