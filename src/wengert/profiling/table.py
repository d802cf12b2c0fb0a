"""A profile as text.

Knows: columns, and what has to be said beside the numbers: how the runs went, and what was not seen.
Refuses to know: where the numbers come from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from wengert.profiling.rows import Column, Row

_COLUMNS: Final[tuple[Column, ...]] = ("forward", "backward", "update", "plan")


def table(
    rows: Sequence[Row],
    seconds: float,
    threads: int,
    missed: Mapping[str, int],
    compiled: bool,
    most: int | None,
) -> str:
    """The rows under their heads, longest first, and the sums."""
    total = sum(row.seconds for row in rows)
    columns = [c for c in _COLUMNS if any(row.costs[c].calls for row in rows)]
    shown = rows if most is None else rows[:most]
    lines = [_head(columns), *([_line(row.operation, row, columns, total) for row in shown])]
    cells = [list(column) for column in zip(*lines, strict=True)]
    widths = [max(map(len, column)) for column in cells]
    text = [_aligned(line, widths) for line in lines]
    if len(shown) < len(rows):
        rest = sum(row.seconds for row in rows[len(shown) :])
        text.append(f"... and {len(rows) - len(shown)} rows of {rest * 1e3:.3f} ms together")
    return "\n".join([*text, *_notes(total, seconds, threads, missed, compiled)])


def _head(columns: Sequence[Column]) -> list[str]:
    return ["operation", "line", *(word for c in columns for word in (c, "ms")), "total ms", "share"]


def _line(operation: str, row: Row, columns: Sequence[Column], total: float) -> list[str]:
    numbers = []
    for column in columns:
        cost = row.costs[column]
        numbers += [f"{cost.calls:,}", f"{cost.seconds * 1e3:,.3f}"] if cost.calls else ["", ""]
    share = row.seconds / total if total else 0.0
    return [operation, _near(row.line), *numbers, f"{row.seconds * 1e3:,.3f}", f"{share:.1%}"]


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    words = [
        f"{word:{width}}" if i < 2 else f"{word:>{width}}"
        for i, (word, width) in enumerate(zip(line, widths, strict=True))
    ]
    return "  ".join(words).rstrip()


def _near(line: str) -> str:
    """Name a `file:line` as seen from the present folder where the file is in it."""
    here = os.getcwd() + os.sep
    return line.removeprefix(here)


def _notes(
    total: float, seconds: float, threads: int, missed: Mapping[str, int], compiled: bool
) -> list[str]:
    share = f" ({total / seconds:.0%})" if threads <= 1 and seconds else f" on {threads} threads"
    notes = [
        f"{total * 1e3:,.3f} ms in these rows, of {seconds * 1e3:,.3f} ms{share}; the rest builds expressions, runs "
        "binds and the program, and measures.",
    ]
    if compiled:
        notes.append("Structures that came back ran by their plans, a row for each; others ran node by node.")
    elif total:
        notes.append(
            "Every run went node by node on the interpreter; by itself a structure that comes back runs by a plan."
        )
    for executor, runs in missed.items():
        own = "; print its `report`" if executor == "Batched" else ""
        notes.append(f"{runs:,} runs by {executor} were not timed{own}.")
    return notes
