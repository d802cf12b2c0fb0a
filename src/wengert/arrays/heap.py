"""Memory that a run has used, kept for the next one.

Knows: that glibc gives the free end of its heap back to the system once it is longer than 128 KB. The values of a run
die together, so all of it would go back after each run, and come again page by page in the next: that is 1 us for
each 16x64 of float32, as much as a product of two takes.
Refuses to know: what lies there.
"""

from __future__ import annotations

__all__ = ["keep_heap"]

_SIZE = 4096  # bytes: more than Python takes from blocks of its own
_last = [bytearray()]


def keep_heap() -> None:
    """Put a small block behind the values of a run, which are about to be let go of; the one before is free then."""
    _last[0] = bytearray(_SIZE)
