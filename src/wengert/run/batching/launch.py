"""Launches: one operation or `@cell` for many rows at once, forward and backward.

Knows: that a launch is made once for a signature and for which operands are shared, and then serves any number of
rows, always in one way, so that a run has the bits of the next one: by a program, or, without a batching rule, one
row after the other, which is the meaning of every launch.
Refuses to know: which rows come together, and where their values lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from wengert.arrays import FLOAT32, Value, host_array, is_array, namespace_of
from wengert.errors import DeviceError, combine, raise_all
from wengert.graph.kinds import Column, Kind
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operation import Signature
from wengert.graph.template import CellSignature, Parts
from wengert.lazy import LazyDelta, dense
from wengert.program.build import NoProgram
from wengert.program.emit import Kernel
from wengert.run.batching.kernel import BatchedKernel, NoBatchingRule, Workspace, batched
from wengert.run.batching.region import result_kinds
from wengert.run.loops import Failure, Values, backward, forward

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


class ComputedRow(NamedTuple):
    """One row that has been computed by the ordinary rules, as the only node of a graph."""

    node: Node
    values: Values

    @classmethod
    def of(cls, signature: Signature, arguments: Sequence[Value]) -> ComputedRow:
        """Compute an operation or cell."""
        nodes = signature.nodes
        given = tuple([i if i in nodes else x for i, x in enumerate(arguments)])  # places stand for nodes
        values: Values = {i: arguments[i] for i in nodes}
        node = new_node(signature.cls, signature.kind, signature, given, "one of many rows", 0)
        failed: dict[Expression, Failure] = {}
        if not forward([node], values, failed):
            raise combine(next(iter(failed.values())))
        return cls(node, values)

    @property
    def value(self) -> Value:
        """Its value."""
        return self.values[self.node]

    def sent(self, g: Value) -> Values:
        """The deltas of its operands, by their places."""
        sent: Values = {self.node: g}
        failures: list[Exception] = []
        backward([self.node], self.values, sent, failures)
        raise_all(failures)
        return sent


class Rowwise:
    """One operation or cell, for one row after the other."""

    def __init__(self, signature: Signature, shared: tuple[bool, ...]) -> None:
        self.signature = signature
        self.shared = shared
        self.kinds = result_kinds(signature)
        self.device = "cpu"  # of a workspace, which it does not use
        self.several = isinstance(signature, CellSignature) and not signature.template.single

    def forward(
        self,
        rows: int,
        operands: Sequence[Value],
        out: Sequence[Value | None] | None = None,
        workspace: Workspace | None = None,
        keep: bool = True,
        each: Each = one_by_one,
    ) -> tuple[tuple[Value, ...], list[ComputedRow]]:
        """As `Launch`."""
        done = each(lambda i: self._row(i, operands), rows)
        found = [row.value if self.several else (row.value,) for row in done]
        results = tuple(map(rows_of, zip(*found, strict=True)))
        given = out or (None,) * len(results)
        for buffer, result in zip(given, results, strict=True):
            if buffer is not None:
                buffer[...] = result
        return tuple(y if b is None else b for b, y in zip(given, results, strict=True)), done

    def _row(self, i: int, operands: Sequence[Value]) -> ComputedRow:
        given = zip(operands, self.signature.kinds, self.shared, strict=True)
        return ComputedRow.of(self.signature, [x if one else row_of(x, i, k) for x, k, one in given])

    def backward(
        self, rows: int, kept: list[ComputedRow], deltas: Sequence[Value | None], each: Each = one_by_one
    ) -> list[Value | LazyDelta | None]:
        """As `Launch`."""
        sent = each(lambda i: self._sent(kept[i], i, deltas), rows)
        return [self._joined(i, [found[i] for found in sent if i in found]) for i in range(len(self.shared))]

    def _sent(self, row: ComputedRow, i: int, deltas: Sequence[Value | None]) -> Values:
        parts = {
            at: row_of(delta, i, k)
            for at, (delta, k) in enumerate(zip(deltas, self.kinds, strict=True))
            if delta is not None
        }
        return row.sent(Parts(parts) if self.several else parts[0]) if parts else {}

    def _joined(self, index: int, found: Sequence[Value]) -> Value | None:
        if not found:
            return None
        return reduce(add, found) if self.shared[index] else rows_of(list(map(dense, found)))


_MOST_WORKSPACES: Final = 2  # kept for later runs
_MOST_SPARE: Final = 4  # times as many rows as needed: what a kept workspace may have


def launch_of(signature: Signature, shared: tuple[bool, ...]) -> Launch:
    """The launch of a signature, which it remembers; `shared[i]`: all rows have one operand `i`.

    Any other operand is given with a leading axis of rows, scalars too.
    """
    try:
        launches: dict[tuple[bool, ...], Launch] = signature.launches
    except AttributeError:
        launches = signature.launches = {}
    found = launches.get(shared)
    if found is None:
        # A copy, which does not remember launches: with the signature itself they would make a cycle.
        found = launches.setdefault(shared, Launch(signature.copy(), shared))
    return found


class Launch:
    """One operation or cell for many rows. `reason`: why it goes row by row, if it does."""

    def __init__(
        self, signature: Signature, shared: tuple[bool, ...], make: Callable[..., Kernel] = Kernel
    ) -> None:
        self.signature = signature
        self.shared = shared
        self.reason: str | None = None
        self._workspaces: list[Workspace] = []
        self._made: BatchedKernel | Rowwise
        able = tuple(k.trainable and k.column is not Column.MASK for k in result_kinds(signature))
        try:
            self._made = BatchedKernel(signature, shared, able, make)
        except DeviceError:  # no compiler, or no driver that fits: whoever wants less speed says so
            raise
        except (NoBatchingRule, NoProgram) as refusal:
            self.reason = str(refusal)
        except Exception as failure:  # of a rule, on the symbols that a program is made with
            batched(signature, shared, 2)  # raises where a number in their place does not help
            self.reason = f"{type(failure).__name__}: {failure}"
        if self.reason is not None:
            self._made = Rowwise(signature, shared)

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
        return self._made.forward(rows, operands, out, workspace, keep, each)

    def backward(
        self,
        rows: int,
        kept: Any,  # Any: as `forward` gave it
        deltas: Sequence[Value | None],
        each: Each = one_by_one,
    ) -> list[Value | LazyDelta | None]:
        """The delta of each operand: of rows, or summed over them where the operand is shared; None where none goes.

        With a workspace, the deltas of rows lie in it until the next launch, and products that are deltas of shared
        matrices are left to `Workspace.deltas`.
        """
        return self._made.backward(rows, kept, deltas, each)

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
        return Workspace(rows, self._made.device)

    def give_back(self, workspace: Workspace) -> None:
        """Nothing in the workspace is needed any more."""
        workspace.begin(0)
        if len(self._workspaces) < _MOST_WORKSPACES:
            self._workspaces.append(workspace)
