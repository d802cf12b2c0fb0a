"""Launches: one operation or `@cell` for many rows at once, forward and backward.

Knows: that a launch is made once for a signature and for which operands are shared, and then serves any number of
rows, always in one way, so that a run has the bits of the next one: by a program, or, without a batching rule, one
row after the other, which is the meaning of every launch.
Refuses to know: which rows come together, and where their values lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add
from threading import Lock
from typing import Final, Protocol, TypeVar

from wengert.arrays import FLOAT32, Value, host_array, is_array, namespace_of
from wengert.errors import combine, raise_all
from wengert.graph.kinds import Column, Kind
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operand import lift_any
from wengert.graph.operation import Signature
from wengert.graph.template import CellSignature, Parts
from wengert.lazy import LazyDelta, dense
from wengert.run.batching.kernel import (
    BatchedKernel,
    NoBatchingRule,
    NoKernel,
    Residuals,
    Workspace,
    batched,
)
from wengert.run.batching.region import result_kinds
from wengert.run.loops import Failure, Values, backward, forward

Row = tuple[Node, Values]  # the one node of a row, and what it has computed
A = TypeVar("A")


class Each(Protocol):
    """Calls a function for each number below `count`, perhaps on several threads."""

    def __call__(self, call: Callable[[int], A], count: int, /) -> list[A]: ...


def one_by_one(call: Callable[[int], A], count: int) -> list[A]:
    """One call after the other."""
    return [call(i) for i in range(count)]


def row_of(x: Value, i: int, of: Kind) -> Value:
    """Row `i` of an array of rows, as the data of a node by itself."""
    if of.column in (Column.NUMBER, Column.DOUBLE):
        return float(x[i])
    if of.column is Column.FLOAT:
        return FLOAT32.type(x[i])
    return x[i, ...] if of.shape == () else x[i]


def rows_of(found: Sequence[Value]) -> Value:
    """The data of all rows as one array; a list where they are no numbers and no arrays."""
    if is_array(found[0]):
        return namespace_of(found[0]).stack(found, axis=0)
    return host_array(found) if isinstance(found[0], (float, FLOAT32.type, bool)) else found


class Rowwise:
    """One operation or cell, for one row after the other."""

    def __init__(self, signature: Signature, shared: tuple[bool, ...]) -> None:
        self.signature = signature
        self.shared = shared
        self.kinds = result_kinds(signature)
        self.several = isinstance(signature, CellSignature) and not signature.template.single
        # stand for those operands that are nodes
        self.places: dict[int, Expression] = {i: lift_any(0.0) for i in signature.nodes}

    def forward(
        self, rows: int, operands: Sequence[Value], each: Each = one_by_one
    ) -> tuple[tuple[Value, ...], list[Row]]:
        """The results of all rows, and what backward needs."""
        done = each(lambda i: self._row(i, operands), rows)
        found = [values[node] if self.several else (values[node],) for node, values in done]
        return tuple(map(rows_of, zip(*found, strict=True))), done

    def _row(self, i: int, operands: Sequence[Value]) -> Row:
        signature = self.signature
        own = [
            x if one else row_of(x, i, k)
            for x, k, one in zip(operands, signature.kinds, self.shared, strict=True)
        ]
        values: Values = {x: own[at] for at, x in self.places.items()}
        given = tuple(self.places.get(at, x) for at, x in enumerate(own))
        node = new_node(signature.cls, signature.kind, signature, given, "one of many rows", 0)
        failed: dict[Expression, Failure] = {}
        if not forward([node], values, failed):
            raise combine(next(iter(failed.values())))
        return node, values

    def backward(
        self, done: list[Row], deltas: Sequence[Value | None], each: Each = one_by_one
    ) -> list[Value | None]:
        """The deltas of all operands: stacked, or summed over the rows where an operand is shared."""
        sent = each(lambda i: self._sent(*done[i], i, deltas), len(done))
        return [
            self._joined(i, [] if x is None else [found.get(x) for found in sent])
            for i, x in enumerate(map(self.places.get, range(len(self.shared))))
        ]

    def _sent(self, node: Node, values: Values, i: int, deltas: Sequence[Value | None]) -> Values:
        parts = {
            at: row_of(delta, i, k)
            for at, (delta, k) in enumerate(zip(deltas, self.kinds, strict=True))
            if delta is not None
        }
        if not parts:
            return {}
        sent: Values = {node: Parts(parts) if self.several else parts[0]}
        failures: list[Exception] = []
        backward([node], values, sent, failures)
        raise_all(failures)
        return sent

    def _joined(self, index: int, found: Sequence[Value | None]) -> Value | None:
        present = [d for d in found if d is not None]
        if not present:
            return None
        if not self.shared[index]:
            return rows_of(list(map(dense, present)))
        return reduce(add, present)


_MOST_WORKSPACES: Final = 2  # kept for later runs
_MOST_SPARE: Final = 4  # times as many rows as needed: what a kept workspace may have


def launch_of(signature: Signature, shared: tuple[bool, ...]) -> Launch:
    """The launch of a signature; `shared[i]`: all rows have one operand `i`.

    Any other operand is given with a leading axis of rows, scalars too.
    """
    try:
        launches: dict[tuple[bool, ...], Launch] = signature.launches
    except AttributeError:
        launches = signature.launches = {}
    found = launches.get(shared)
    if found is None:
        # A copy, which does not remember launches: with the signature itself they would make a cycle (S13).
        found = launches[shared] = Launch(signature.copy(), shared)
    return found


class Launch:
    """One operation or cell for many rows. `reason`: why it goes row by row, if it does."""

    def __init__(self, signature: Signature, shared: tuple[bool, ...]) -> None:
        self.signature = signature
        self.shared = shared
        self.reason: str | None = None
        self._rowwise: Rowwise | None = None
        self._kernel: BatchedKernel | None = None
        self._compiling = Lock()
        self._workspaces: list[Workspace] = []
        try:
            batched(signature, shared, 2)
        except NoBatchingRule as refusal:
            self._without(str(refusal))

    def forward(
        self,
        rows: int,
        operands: Sequence[Value],
        out: Sequence[Value | None] | None = None,
        workspace: Workspace | None = None,
        keep: bool = True,
        each: Each = one_by_one,
    ) -> tuple[tuple[Value, ...], object]:
        """The results, each with a leading axis of rows and written into `out[i]` if that is given; and what
        `backward` needs, which reads operands and results once more.

        In a `workspace` the launches of a run lie side by side; without `keep` nothing is left for backward.
        `each` calls rows, where they go one by one.
        """
        if self._kernel is None and self._rowwise is None:
            self._compile()
        if self._kernel is not None:
            return self._kernel.forward(rows, operands, out, workspace, keep)
        assert self._rowwise is not None, "it has one of the two"
        results, kept = self._rowwise.forward(rows, operands, each)
        return _into(results, out), kept

    def backward(
        self, rows: int, kept: object, deltas: Sequence[Value | None], each: Each = one_by_one
    ) -> list[Value | LazyDelta | None]:
        """The delta of each operand: of rows, or summed over them where the operand is shared; None where none goes.

        With a workspace, the deltas of rows lie in it until the next launch, and products that are deltas of shared
        matrices are left to `Workspace.deltas`.
        """
        if isinstance(kept, Residuals):
            assert self._kernel is not None, "it has kept this"
            return self._kernel.backward(rows, kept, deltas)
        assert self._rowwise is not None and isinstance(kept, list), "rows one by one have kept this"
        return self._rowwise.backward(kept, deltas, each)

    def workspace(self, rows: int) -> Workspace:
        """A workspace for so many rows that no other run uses now; `give_back` when the run is over."""
        for _ in range(len(self._workspaces)):
            try:
                workspace = self._workspaces.pop()
            except IndexError:  # another thread was faster
                break
            if rows <= workspace.capacity <= _MOST_SPARE * rows:
                workspace.begin(rows)
                return workspace
        return Workspace(rows)

    def give_back(self, workspace: Workspace) -> None:
        """Nothing in the workspace is needed any more."""
        workspace.begin(0)
        if len(self._workspaces) < _MOST_WORKSPACES:
            self._workspaces.append(workspace)

    def homes(self, rows: int, workspace: Workspace) -> Mapping[int, Value]:
        """Arrays for operands of the next launch in a workspace, so that they need not be brought there."""
        return (
            {} if self._kernel is None or rows == workspace.expected else self._kernel.homes(rows, workspace)
        )

    def _compile(self) -> None:
        with self._compiling:  # whoever comes meanwhile waits: row by row the bits might be others
            if self._kernel is not None or self._rowwise is not None:
                return
            able = tuple(k.trainable and k.column is not Column.MASK for k in result_kinds(self.signature))
            try:
                self._kernel = BatchedKernel(self.signature, self.shared, able)
            except NoKernel as refusal:
                self._without(str(refusal))
            except Exception as failure:  # of a rule, on the symbols that a program is made with
                self._without(f"{type(failure).__name__}: {failure}")

    def _without(self, reason: str) -> None:
        """Go row by row."""
        self.reason = reason
        self._rowwise = Rowwise(self.signature, self.shared)


def _into(results: tuple[Value, ...], out: Sequence[Value | None] | None) -> tuple[Value, ...]:
    if out is None:
        return results
    for buffer, result in zip(out, results, strict=True):
        if buffer is not None:
            buffer[...] = result
    return tuple(y if b is None else b for b, y in zip(out, results, strict=True))
