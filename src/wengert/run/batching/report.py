"""The report of batched runs: launches by operation, their widths and times, and the nodes that ran one by one.

Knows: counts and times by operation and kinds of operands; the user's line and the reason for what did not run batched.
Refuses to know: nodes and weights, which it would keep alive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from wengert.graph.kinds import Kind, Role
from wengert.run.batching.region import Group, RowSource
from wengert.run.batching.schedule import Launch

Key = tuple[str, tuple[Kind, ...]]  # the name of an operation, and the kinds of its operands
Alone = tuple[str, str, str, int]  # name, reason, site and count of nodes that run one by one


def counted_keys(groups: Iterable[Group]) -> list[tuple[Key, int] | None]:
    """The keys of groups, each with how many groups have it; None for given values."""
    keys: list[Key | None] = []
    for group in groups:
        of = group.signature
        added = ("sum of additions", group.form.results) if group.form.source is RowSource.SUM else None
        keys.append(added if of is None else (of.operation.name, of.kinds))
    counts = Counter(keys)
    return [None if key is None else (key, counts[key]) for key in keys]


@dataclass(slots=True)
class Line:
    """All launches of one operation on operands of certain kinds."""

    name: str
    kinds: tuple[Kind, ...]
    launches: int = 0
    rows: int = 0
    gathers: int = 0  # operands that were put together from several places
    views: int = 0  # operands that lay together
    apart: int = 1  # groups in one run that do not mix: other weights, cells, or what is no expression
    seconds: float = 0.0  # forward and backward; 0 where nothing was timed by itself

    @property
    def width(self) -> float:
        """Rows a launch."""
        return self.rows / self.launches if self.launches else 0.0

    def add(self, launch: Launch) -> None:
        """One more launch."""
        self.launches += 1
        self.rows += launch.width
        for read in launch.reads:
            if isinstance(read.at, slice) or read.one:
                self.views += 1
            else:
                self.gathers += 1

    def add_single(self, count: int) -> None:
        """So many more launches of one row each, whose operands lie where they are."""
        self.launches += count
        self.rows += count


@dataclass(slots=True)
class Unbatched:
    """An operation that ran node by node: how often, why, and where it was first written."""

    name: str
    reason: str
    site: str
    count: int = 0


@dataclass(slots=True)
class Report:
    """All runs of an executor so far; `clear()` begins anew.

    Where examples wait for values, each round is a run. `bookkeeping` is the time in seconds for recording and
    scheduling; building expressions and updating weights is in no figure. Printed, it is a line an operation:
    launches, their rows, rows a launch; `apart`, the most groups in one run that could not mix; how many operands
    were gathered from several places, and how many lay together (`views`); milliseconds forward and backward, `-`
    where nodes ran by themselves and were not timed. Then what ran node by node, and why.
    """

    lines: dict[Key, Line] = field(default_factory=dict)
    unbatched: dict[tuple[str, str, str], Unbatched] = field(default_factory=dict)
    runs: int = 0
    bookkeeping: float = 0.0

    @property
    def launches(self) -> int:
        """Of all operations."""
        return sum(line.launches for line in self.lines.values())

    def line(self, name: str, kinds: tuple[Kind, ...]) -> Line:
        """The line of one operation."""
        key = (name, kinds)
        found = self.lines.get(key)
        if found is None:
            found = self.lines[key] = Line(name, kinds)
        return found

    def begin(self, keys: Sequence[tuple[Key, int] | None], alone: Iterable[Alone]) -> list[Line | None]:
        """One more run: the lines of its groups, by `counted_keys`, and what of it runs node by node."""
        self.runs += 1
        for several in alone:
            self.alone(*several)
        lines = [None if found is None else self.line(*found[0]) for found in keys]
        for line, found in zip(lines, keys, strict=True):
            if line is not None and found is not None:
                line.apart = max(line.apart, found[1])
        return lines

    def alone(self, name: str, reason: str, site: str, count: int) -> None:
        """Nodes that ran one by one."""
        key = (name, reason, site)
        if key not in self.unbatched:
            self.unbatched[key] = Unbatched(name, reason, site)
        self.unbatched[key].count += count

    def clear(self) -> None:
        """Forget all runs so far."""
        self.lines.clear()
        self.unbatched.clear()
        self.runs, self.bookkeeping = 0, 0.0

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("operation", "launches", "rows", "width", "apart", "gathers", "views", "ms")
        ]
        for line in sorted(_together(self.lines.values()), key=lambda line: -line.seconds):
            counts = (line.launches, line.rows, f"{line.width:.1f}", line.apart, line.gathers, line.views)
            seconds = f"{1e3 * line.seconds:.2f}" if line.seconds else "-"
            rows.append((_shown(line), *map(str, counts), seconds))
        text = [
            f"{self.runs} runs, {self.launches} launches, {1e3 * self.bookkeeping:.2f} ms of bookkeeping",
            *_table(rows),
        ]
        if self.unbatched:
            text.append("node by node:")
        for one in sorted(self.unbatched.values(), key=lambda one: -one.count):
            site = f", built at {one.site}" if one.site else ""
            text.append(f"  {one.count} x {one.name}: {one.reason}{site}")
        return "\n".join(text)


def _together(lines: Iterable[Line]) -> Iterable[Line]:
    """Lines that would read alike as one: what is a literal, and what is computed, is not shown."""
    found: dict[str, Line] = {}
    for line in lines:
        one = found.setdefault(_shown(line), Line(line.name, line.kinds))
        one.launches += line.launches
        one.rows += line.rows
        one.gathers += line.gathers
        one.views += line.views
        one.apart = max(one.apart, line.apart)
        one.seconds += line.seconds
    return found.values()


def _shown(line: Line) -> str:
    runs = ((kind, len(list(like))) for kind, like in groupby(map(_operand, line.kinds)))
    return f"{line.name}({', '.join(kind if n == 1 else f'{n} x {kind}' for kind, n in runs)})"


def _operand(of: Kind) -> str:
    return f"weight {of.text()}" if of.role is Role.WEIGHT else of.text()


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if not i else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
