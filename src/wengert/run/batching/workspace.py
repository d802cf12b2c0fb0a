"""Room for the launches of one run: what backward needs from forward, row after row, and what is used again.

Knows: that the rows of all launches of a run lie one after the other, so that a weight's delta is one product of
all of them.
Refuses to know: what is computed, and in which order.
"""

from __future__ import annotations

from typing import Final

from wengert.arrays import Value
from wengert.arrays.abstract import RowCount, sizes_for
from wengert.arrays.kernels import new_buffer
from wengert.lazy import LazyDelta, Product
from wengert.program.emit import Kernel
from wengert.program.memory import Allocation

_MOST_FRAMES: Final = 512


class Workspace:
    """Buffers for so many rows. What a launch has given lies in it until the run is over, or, of backward, until
    the next launch.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.expected = capacity  # rows of this run
        self.used = 0
        self.shares: dict[object, Value] = {}  # of all rows, by what they are for
        self.lent: dict[object, Value] = {}  # the same, of a run with one launch, where it lies anyway
        self._wholes: dict[Kernel, list[Value | None]] = {}  # what its buffers are parts of
        self._widest = 0
        self._frames: dict[tuple[Kernel, int, int], tuple[Value, ...]] = {}
        self.products: dict[
            tuple[int, object, object], list[tuple[int, int]]
        ] = {}  # rows that have been there

    def begin(self, rows: int) -> None:
        """Another run, of so many rows: nothing lies here."""
        self.expected = rows
        self.used = 0
        self.products.clear()
        self.lent.clear()

    def claim(self, rows: int) -> int:
        """First place of the next rows."""
        start, self.used = self.used, self.used + rows
        return start

    def frame(self, function: Kernel, start: int, rows: int) -> tuple[Value, ...]:
        """The buffers of one launch, and the views of them."""
        key = (function, start, rows)
        found = self._frames.get(key)
        if found is None:
            if rows > self._widest:
                self._widest = rows
                self._wholes.clear()
                self._frames.clear()
            elif len(self._frames) >= _MOST_FRAMES:
                self._frames.clear()
            wholes = self._wholes.get(function)
            if wholes is None:
                wholes = self._wholes[function] = [*map(self._whole, function.buffers)]
            found = self._frames[key] = function.frame(start, rows, *wholes)
        return found

    def part(self, home: Allocation, start: int, rows: int) -> Value:
        """View of these rows of the array with a key."""
        times = _lines_a_row(home) or 1
        return self._share(home)[start * times : (start + rows) * times]

    def bring(self, home: Allocation, x: Value, start: int, rows: int) -> None:
        """Have these rows lie there. The values of a single launch stay where they are until the run is over."""
        if rows == self.expected:
            self.lent[home.key] = x
        elif x.base is not self._share(home):
            self.part(home, start, rows)[...] = x

    def _whole(self, buffer: Allocation) -> Value | None:
        """Array of which a buffer is a part; None where each launch has its own."""
        if buffer.key is None:
            return new_buffer(sizes_for(buffer.shape, self._widest), buffer.dtype)
        return None if _lines_a_row(buffer) is None else self._share(buffer)

    def _share(self, buffer: Allocation) -> Value:
        """Array for all rows of a buffer with a key."""
        found = self.shares.get(buffer.key)
        if found is None:
            found = new_buffer(sizes_for(buffer.shape, self.capacity), buffer.dtype)
            self.shares[buffer.key] = found
        return found

    def note(self, operand: int, left: object, right: object, start: int, rows: int) -> None:
        """A product of these rows belongs to the delta of an operand."""
        self.products.setdefault((operand, left, right), []).append((start, rows))

    def deltas(self, operands: int) -> list[LazyDelta | None]:
        """For each operand the sum of the products noted, as few as possible."""
        terms: list[list[Product]] = [[] for _ in range(operands)]
        for (operand, left, right), spans in self.products.items():
            for start, rows in joined(spans):
                x, d = (self._lines(side, start, rows) for side in (left, right))
                terms[operand].append(Product(x, d))
        return [LazyDelta(found) if found else None for found in terms]

    def _lines(self, key: object, start: int, rows: int) -> Value:
        """The lines of rows of what has a key."""
        found = self.lent.get(key)
        if found is not None:
            return found
        share = self.shares[key]
        times = len(share) // self.capacity
        return share[start * times : (start + rows) * times]


def joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans (start, count), those that follow each other as one.

    >>> joined([(5, 2), (0, 3), (3, 2), (9, 1)])
    [(0, 7), (9, 1)]
    """
    found: list[tuple[int, int]] = []
    for start, count in sorted(spans):
        if found and sum(found[-1]) == start:
            found[-1] = found[-1][0], found[-1][1] + count
        else:
            found.append((start, count))
    return found


def _lines_a_row(buffer: Allocation) -> int | None:
    """The lines of a buffer that belong to a row; None where its first axis is not of rows."""
    size = buffer.shape[0]
    return size.times if isinstance(size, RowCount) else None
