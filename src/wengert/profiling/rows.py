"""The rows of a profile: calls and time of each operation on each line, forward, backward and in updates.

Knows: that what was done on all threads is summed by operation and line; that a weight's update is a step and a
change, and that what a commit does besides is a row of its own.
Refuses to know: how time is taken and how rows are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, Literal, TypeAlias

from wengert.profiling.programs import plain
from wengert.profiling.record import Part, ProfileRecord
from wengert.site import position

Column: TypeAlias = Literal["forward", "backward", "update", "plan"]

_COLUMNS: Final[Mapping[Part, Column]] = {
    "forward": "forward",
    "bind": "forward",
    "backward": "backward",
    "step": "update",
    "change": "update",
    "commit": "update",
    "plan": "plan",
}
_seconds = attrgetter("seconds")


@dataclass(frozen=True)
class Cost:
    """Number of times something was done, and the time of its own that it took."""

    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Row:
    """One operation on one line; `line` is `file:line`, or empty for what nobody wrote."""

    operation: str
    line: str
    forward: Cost = Cost()
    backward: Cost = Cost()
    update: Cost = Cost()
    plan: Cost = Cost()

    @property
    def seconds(self) -> float:
        """All of it."""
        return sum(cost.seconds for cost in self.costs.values())

    @property
    def costs(self) -> dict[Column, Cost]:
        """By column."""
        return {"forward": self.forward, "backward": self.backward, "update": self.update, "plan": self.plan}


def rows_of(record: ProfileRecord) -> tuple[Row, ...]:
    """All rows, the one that took longest first."""
    found: dict[tuple[str, str], dict[Column, Cost]] = {}
    for thread in tuple(record.threads):
        for (part, name, _, _), total in tuple(thread.sums.items()):
            if part not in _COLUMNS:
                continue
            line = position(*total.origin)
            costs = found.setdefault((plain(name), line), {})
            before = costs.get(_COLUMNS[part], Cost())
            calls = 0 if part == "change" else total.calls  # the second half of an update
            costs[_COLUMNS[part]] = Cost(before.calls + calls, before.seconds + total.nanoseconds / 1e9)
    rows = [Row(name, line, **costs) for (name, line), costs in found.items()]
    return tuple(sorted(rows, key=_seconds, reverse=True))
