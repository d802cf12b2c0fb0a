"""Schedules that are remembered: by structure, and by the identity of an expression that is kept.

Knows: that a schedule is numbers only and holds on to nothing; that what an expression remembers dies with it (S13).
Refuses to know: how a schedule is made and run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from wengert.graph.node import Expression
from wengert.graph.operation import EXTERNAL
from wengert.run.batching.bound import Bound
from wengert.run.batching.counting import counts_of
from wengert.run.batching.form import Way, why_alone
from wengert.run.batching.grouping import grouped
from wengert.run.batching.layout import Layout, laid_out
from wengert.run.batching.living import with_dead
from wengert.run.batching.record import BITS, Record
from wengert.run.batching.report import Report
from wengert.run.batching.sums import with_sums

_MOST_NODES: Final = 2_000_000  # of all remembered schedules together
_ROWS = (Way.OPERATION, Way.CELL)


class Library:
    """All schedules of one executor."""

    def __init__(self) -> None:
        self.report = Report()
        self._layouts: dict[object, Layout | None] = {}
        self._nodes = 0

    def bound(self, record: Record, kept: Iterable[Expression]) -> Bound | None:
        """The schedule of a record; None where nothing would run together. `kept` are asked for by themselves."""
        if not any(len(e.members) > 1 for e in record.entries if e.form.way in _ROWS):
            self._tell_alone(record)
            return None
        codes = [code for x in kept if (code := record.code(x)) is not None]
        roots = [code >> BITS for code in codes]
        with_dead(record, roots)
        with_sums(record, roots)
        key = _key(record)
        if key in self._layouts:
            layout = self._layouts[key]
        else:
            layout = self._remember(key, _laid_out(record), len(record.nodes))
        if layout is None:
            last = record.nodes[-1]
            self.report.alone(
                "a chain", "less than two of its nodes are on a level", last.site, len(record.nodes)
            )
            return None
        return Bound(record, layout, self.report)

    def _tell_alone(self, record: Record) -> None:
        for e in record.entries:
            signature = e.signature
            if signature is None or signature.mode == EXTERNAL or e.form.way is not Way.ALONE:
                continue
            if len(e.members) > 1:
                site = record.nodes[int(e.members[0])].site
                self.report.alone(signature.operation.name, why_alone(signature), site, len(e.members))

    def _remember(self, key: object, layout: Layout | None, nodes: int) -> Layout | None:
        self._nodes += nodes
        if self._nodes > _MOST_NODES:
            self._layouts, self._nodes = {}, nodes
        self._layouts[key] = layout
        return layout


def _laid_out(record: Record) -> Layout | None:
    counts = counts_of(record)
    return None if counts is None else laid_out(record, grouped(record, counts))


def _key(record: Record) -> object:
    """Everything that a schedule is made of, exactly."""
    return tuple(
        (
            e.form,
            e.dead,
            e.members.tobytes(),
            e.refs.tobytes(),
            None if e.counts is None else e.counts.tobytes(),
        )
        for e in record.entries
    )
