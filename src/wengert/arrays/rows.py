"""Tables of rows: an array whose first axis counts values of one kind, read and written by the places of rows.

Knows: that neighbours are a view, that rows which repeat are sorted and summed in runs, that `add.at` is slow; that the
tables of a device are in its own hands, and places on the host.
Refuses to know: what a row is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wengert.arrays.dispatch import device_launches, is_array
from wengert.arrays.kernels import new_buffer
from wengert.arrays.namespace import Shape, Value
from wengert.arrays.places import Places

__all__ = [
    "add_rows",
    "add_runs",
    "constant",
    "filled",
    "joined_rows",
    "new_rows",
    "new_table",
    "ones",
    "put_rows",
    "repeated",
    "row_sums",
    "run_sums",
    "stacked",
    "taken",
]


def new_table(shape: Shape, dtype: Value, device: Value = "cpu") -> Value:
    """An array with any content, on a device of cupy's or aligned for the host."""
    return new_buffer(shape, dtype) if device == "cpu" else device_launches().new(shape, dtype, device)


def new_rows(count: int, shape: Shape, dtype: Value, device: Value = "cpu") -> Value:
    """A table with any content."""
    whole = (count, *shape)
    return np.empty(whole, dtype) if device == "cpu" else device_launches().new(whole, dtype, device)


def filled(count: int, shape: Shape, dtype: Value, device: Value = "cpu") -> Value:
    """A table of zeros."""
    whole = (count, *shape)
    return np.zeros(whole, dtype) if device == "cpu" else device_launches().new(whole, dtype, device, True)


def ones(count: int, dtype: Value) -> Value:
    """So many ones, for reading: they are a part of what is kept, for new ones take 2 us.

    >>> ones(2, np.float32)
    array([1., 1.], dtype=float32)
    """
    kept = _ones.get(dtype)
    if kept is None or len(kept) < count:
        kept = np.ones(2 * count, dtype)
        kept.flags.writeable = False
        _ones[dtype] = kept
    return kept[:count]


_ones: dict[Value, Value] = {}


def stacked(values: Sequence[Value], dtype: Value = None) -> Value:
    """Values of one shape as the rows of a table.

    >>> stacked([1.0, 2.0], np.float32)
    array([1., 2.], dtype=float32)
    """
    if _is_far(values[0]) if len(values) else False:
        return device_launches().stacked(values)
    return np.array(values, dtype)


def constant(table: Value) -> bool:
    """Tell whether all rows are equal, bit by bit.

    >>> constant(np.array([0.0, -0.0])), constant(np.array([np.nan, np.nan]))
    (False, True)
    """
    return bool(table.tobytes() == table[:1].tobytes() * len(table))


def taken(table: Value, at: Places) -> Value:
    """The rows at these places, as a table of their own."""
    return device_launches().taken(table, at) if _is_far(table) else table.take(at, 0)


def joined_rows(tables: Sequence[Value]) -> Value:
    """The rows of all tables, in order."""
    if len(tables) == 1:
        return tables[0]
    return device_launches().joined(tables) if _is_far(tables[0]) else np.concatenate(tables)


def row_sums(table: Value) -> Value:
    """The sum of all rows."""
    return np.add.reduce(table, axis=0)


def repeated(table: Value, times: Places) -> Value:
    """Each row as often as `times` says."""
    if _is_far(table):
        return taken(table, np.repeat(np.arange(len(times)), times))
    return np.repeat(table, times, axis=0)


def run_sums(table: Value, starts: Places) -> Value:
    """The sums of runs of rows, each from its start to that of the next.

    >>> run_sums(np.array([1.0, 2.0, 3.0]), np.array([0, 2])).tolist()
    [3.0, 3.0]
    """
    if _is_far(table):
        sums = filled(len(starts), table.shape[1:], table.dtype, table.device)
        add_runs(sums, (np.arange(len(table)), starts, np.arange(len(starts))), table)
        return sums
    return np.add.reduceat(table, starts, axis=0)


def add_rows(table: Value, at: Places | slice, g: Value) -> None:
    """Add `g` at rows of which no two are one."""
    if _is_far(table):
        device_launches().add_rows(table, at, g)
    else:
        table[at] += g


def put_rows(table: Value, at: Places | slice, g: Value) -> None:
    """Write `g` at rows that are 0, of which no two are one: less than half of the time that adding takes."""
    if _is_far(table):
        device_launches().add_rows(table, at, g)
    else:
        table[at] = g


def add_runs(table: Value, plan: tuple[Places, Places, Places], g: Value) -> None:
    """Add `g` at rows that repeat: `plan` is what `runs_of` found.

    >>> table = np.zeros(2)
    >>> add_runs(table, (np.array([1, 0, 2]), np.array([0, 1]), np.array([0, 1])), np.array([1.0, 2.0, 4.0]))
    >>> table.tolist()
    [2.0, 5.0]
    """
    order, starts, targets = plan
    if _is_far(table):
        device_launches().add_runs(table, order, starts, targets, g)
        return
    table[targets] += np.add.reduceat(g.take(order, axis=0), starts, axis=0)


def _is_far(table: Value) -> bool:
    """True for arrays of a device."""
    return not isinstance(table, np.ndarray) and is_array(table)
