"""Launches: one operation or `@cell` for many rows at once, forward and backward.

Knows: that a launch is made once for a signature and for which operands are shared, and then serves any number of
rows, always in one way, so that a run has the bits of the next one: by a program; where none is for any number of
rows, by its graph; or, without a batching rule, row by row.
Refuses to know: which rows come together, and where their values lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Final

from wengert.arrays import Value
from wengert.errors import combine, raise_all
from wengert.graph.kinds import Column
from wengert.graph.node import Expression
from wengert.graph.operation import Signature
from wengert.lazy import LazyDelta, dense
from wengert.run.batching.kernel import BatchedKernel, NoKernel, Residuals
from wengert.run.batching.rules import (
    BatchedGraph,
    Each,
    NoBatchingRule,
    Rowwise,
    batched,
    one_by_one,
    result_kinds,
)
from wengert.run.batching.workspace import Workspace
from wengert.run.loops import Failure, Values, accumulate, backward, forward

_MOST_GRAPHS: Final = 8  # one for each number of rows met lately
_MOST_WORKSPACES: Final = 2  # kept for later runs
_MOST_SPARE: Final = 4  # times as many rows as needed: what a kept workspace may have
_BEFORE: Final = 0


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
    """One operation or cell for many rows. `reason`: why it goes row by row, if it does.

    `note`: why it has no program, if it has none. It is asked for one unless `compiles` is false.
    """

    def __init__(self, signature: Signature, shared: tuple[bool, ...], *, compiles: bool = True) -> None:
        self.signature = signature
        self.shared = shared
        self.reason: str | None = None
        self.note: str | None = None
        self._rowwise: Rowwise | None = None
        self._kernel: BatchedKernel | None = None
        self._compiling = Lock()
        self._graphs: dict[int, BatchedGraph] = {}
        self._workspaces: list[Workspace] = []
        try:
            self._graph(2)
        except NoBatchingRule as refusal:
            self.reason = str(refusal)
            self._rowwise = Rowwise(signature, shared)
        self._asks = compiles and self._rowwise is None  # until it is known whether there is a program

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
        if self._asks:
            self._compile()
        if self._kernel is not None:
            return self._kernel.forward(rows, operands, out, workspace, keep)
        if self._rowwise is not None:
            results, kept = self._rowwise.forward(rows, operands, each)
            return _into(results, out), kept
        graph = self._graph(rows)
        values: Values = dict(zip(graph.parameters, map(_dtyped, graph.parameters, operands), strict=True))
        failed: dict[Expression, Failure] = {}
        if forward(graph.nodes, values, failed) < len(graph.nodes):
            raise combine(next(iter(failed.values())))
        return _into(tuple(values[x] for x in graph.results), out), (graph, values)

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
        if self._rowwise is not None:
            assert isinstance(kept, list), "rows one by one have kept this"
            return self._rowwise.backward(kept, deltas, each)
        assert isinstance(kept, tuple), "a graph has kept this"
        graph, values = kept
        sent: Values = {}
        for x, delta in zip(graph.results, deltas, strict=True):
            if delta is not None:
                accumulate(sent, x, delta)
        failures: list[Exception] = []
        backward(graph.nodes, values, sent, failures)
        raise_all(failures)
        return [
            sent.get(x) if one else dense(sent.get(x))
            for x, one in zip(graph.parameters, self.shared, strict=True)
        ]

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
        with self._compiling:  # whoever comes meanwhile waits: by its graph the bits might be others
            if not self._asks:
                return
            able = tuple(k.trainable and k.column is not Column.MASK for k in result_kinds(self.signature))
            try:
                self._kernel = BatchedKernel(self.signature, self.shared, able)
                self._graphs.clear()
            except NoKernel as refusal:
                self.note = str(refusal)
            except Exception as failure:  # of a rule, on the numbers that a program is made with
                self.note = f"{type(failure).__name__}: {failure}"
            self._asks = False

    def _graph(self, rows: int) -> BatchedGraph:
        found = self._graphs.get(rows)
        if found is None:
            found = batched(self.signature, self.shared, rows)
            if len(self._graphs) >= _MOST_GRAPHS:
                self._graphs.pop(next(iter(self._graphs)), None)
            self._graphs[rows] = found
        return found


def _dtyped(parameter: Expression, x: Value) -> Value:
    """Rows of Python numbers take on the dtype of what they meet, as each of them does."""
    dtype = parameter.kind.dtype
    return x.astype(dtype) if dtype is not None and getattr(x, "dtype", dtype) != dtype else x


def _into(results: tuple[Value, ...], out: Sequence[Value | None] | None) -> tuple[Value, ...]:
    if out is None:
        return results
    for buffer, result in zip(out, results, strict=True):
        if buffer is not None:
            buffer[...] = result
    return tuple(y if b is None else b for b, y in zip(out, results, strict=True))
