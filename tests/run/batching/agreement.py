"""A launch against rows one by one: the same results, and the deltas that the rows' deltas stack or add up to.

Knows: that the loop over rows is the meaning, and how operands of every column are given for many rows.
Refuses to know: how a launch computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from wengert.arrays import all_quiet
from wengert.graph.kinds import Column, Kind
from wengert.graph.operation import Signature
from wengert.graph.template import CellSignature, Parts
from wengert.lazy import dense
from wengert.run.batching.execution import ComputedRow, row_of
from wengert.run.batching.kernel import BatchedKernel, batched_kernel
from wengert.run.batching.region import result_kinds

ROWS = (1, 2, 7)
TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}


class Rowwise:
    """One operation or cell, for one row after the other: what a kernel means."""

    def __init__(self, signature: Signature, shared: tuple[bool, ...]) -> None:
        self.signature, self.shared = signature, shared
        self.kinds = result_kinds(signature)
        self.several = isinstance(signature, CellSignature) and not signature.template.single

    def forward(self, rows: int, operands: Sequence[Any]) -> tuple[tuple[Any, ...], list[ComputedRow]]:
        """The results, each with an axis of rows, and the rows."""
        done = [self._row(i, operands) for i in range(rows)]
        found = [row.value if self.several else (row.value,) for row in done]
        return tuple(np.asarray(x) for x in zip(*found, strict=True)), done

    def _row(self, i: int, operands: Sequence[Any]) -> ComputedRow:
        given = zip(operands, self.signature.kinds, self.shared, strict=True)
        return ComputedRow.of(self.signature, [x if one else row_of(x, i, k) for x, k, one in given])

    def backward(self, rows: int, done: list[ComputedRow], deltas: Sequence[Any]) -> list[Any]:
        """The delta of each operand, with an axis of rows or summed over them."""
        sent = [self._sent(done[i], i, deltas) for i in range(rows)]
        return [self._joined(i, [found[i] for found in sent if i in found]) for i in range(len(self.shared))]

    def _sent(self, row: ComputedRow, i: int, deltas: Sequence[Any]) -> Any:
        parts = {at: row_of(d, i, self.kinds[at]) for at, d in enumerate(deltas) if d is not None}
        return row.sent(Parts(parts) if self.several else parts[0]) if parts else {}

    def _joined(self, index: int, found: Sequence[Any]) -> Any:
        if not found:
            return None
        return reduce(add, found) if self.shared[index] else np.asarray([*map(dense, found)])


def near(found: Any, expected: Any) -> None:  # Any: numbers and arrays
    """Equal but for rounding; in float32 against the greatest element, as sums are made in other orders."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    tolerance = TOLERANCE[found.dtype]
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max()) if finite.size else 1.0
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * max(scale, 1.0))


def varied(x: Any, of: Kind, i: int) -> Any:  # Any: data of every column
    """Another operand of the same domain for row `i`: elements in another order, as far as they may differ."""
    if of.column in (Column.NUMBER, Column.DOUBLE, Column.FLOAT):
        return x
    return np.roll(x, i) if of.column in (Column.ARRAY, Column.INDEX, Column.MASK) else x


def stacked(rows: Sequence[Any], of: Kind) -> Any:  # Any: as above
    """The rows as a launch takes them."""
    if of.column in (Column.NUMBER, Column.DOUBLE):
        return np.array(rows, np.float64)
    return np.array(rows) if of.column is Column.FLOAT else np.stack(rows)


def agrees(
    signature: Signature,
    values: Sequence[Any],
    shared: tuple[bool, ...],
    rows: int,
    launch: BatchedKernel | None = None,
) -> BatchedKernel:  # Any: as above
    """Check one kernel, if it has a program; `values` are one row's operands."""
    launch = batched_kernel(signature, shared) if launch is None else launch
    if launch.reason is not None:
        return launch
    definition = Rowwise(signature, shared)
    operands = [
        x if one else stacked([varied(x, k, i) for i in range(rows)], k)
        for x, k, one in zip(values, signature.kinds, shared, strict=True)
    ]
    chance = np.random.default_rng(0)
    with all_quiet():
        expected, done = definition.forward(rows, operands)
        room = [np.empty_like(y) if i % 2 == 0 else None for i, y in enumerate(expected)]
        found, kept = launch.forward(rows, operands, room)
        for y, z, out in zip(found, expected, room, strict=True):
            near(y, z)
            assert out is None or y is out
        for y, z in zip(launch.forward(rows, operands, keep=False)[0], expected, strict=True):
            near(y, z)
        for pattern in patterns(definition.kinds):
            deltas = [
                chance.uniform(0.5, 1.5, np.shape(y)).astype(y.dtype) if given else None
                for y, given in zip(expected, pattern, strict=True)
            ]
            wanted = definition.backward(rows, done, deltas)
            sent = launch.backward(rows, kept, deltas)
            _, kept = launch.forward(rows, operands)
            for of, one, a, b in zip(signature.kinds, shared, sent, wanted, strict=True):
                assert (a is None) == (b is None)
                if b is not None:
                    assert of.trainable
                    near(dense(a), np.asarray(dense(b)).reshape(np.shape(dense(a))) if one else dense(b))
    return launch


def patterns(kinds: Sequence[Kind]) -> list[tuple[bool, ...]]:
    """Which results get a delta: all, and each one alone."""
    able = [k.column not in (Column.MASK, Column.INDEX) and k.trainable for k in kinds]
    if not any(able):
        return []
    alone = [tuple(i == j for j in range(len(able))) for i, one in enumerate(able) if one]
    return list(dict.fromkeys([tuple(able), *alone]))
