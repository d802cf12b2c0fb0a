"""Schedules that are remembered: by structure, and by the identity of an expression that is kept.

Knows: that a schedule is numbers only and holds on to nothing; that what an expression remembers dies with it (S13).
Refuses to know: how a schedule is made and run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from wengert.arrays.places import equal, glance
from wengert.graph.node import Expression, Node
from wengert.graph.operation import EXTERNAL
from wengert.run.batching.counting import Counting
from wengert.run.batching.entries import recorded
from wengert.run.batching.execution import BoundSchedule
from wengert.run.batching.form import Way, why_alone
from wengert.run.batching.grouping import grouped
from wengert.run.batching.living import with_dead
from wengert.run.batching.record import BITS, Record
from wengert.run.batching.report import Report
from wengert.run.batching.schedule import Schedule, scheduled
from wengert.run.batching.sums import with_sums
from wengert.run.batching.walk import Values
from wengert.run.compiled.cache import Cache, Item
from wengert.run.templates import is_open

_NODE: Final = 105  # bytes of a schedule for each node, and for each launch; measured
_LAUNCH: Final = 1300
_ROWS = (Way.OPERATION, Way.CELL)


class Library:
    """All schedules of one executor."""

    def __init__(self) -> None:
        self.report = Report()
        self._schedules: Cache[_Structure, _Schedule] = Cache()
        self.latest = 0  # the greatest serial of what has been recorded

    def record(self, roots: Sequence[Node], known: Values | None, before: int) -> Record:
        """The nodes below `roots` that have no value yet; `before` is what `latest` was when the run began."""
        latest = max([node.serial for node in roots], default=0)
        self.latest = max(latest, self.latest)
        return recorded(roots, known, 0 if len(roots) == 1 and latest <= before else before)

    def bound(self, record: Record, kept: Iterable[Expression], back: bool = True) -> BoundSchedule | None:
        """The schedule of a record; None where nothing would run together. `kept` are asked for by themselves.

        One without a way `back` uses rows again: in the end only the `kept` have values.
        """
        open_ = any(e.signature is not None and is_open(e.signature) for e in record.entries)
        if open_ or not any(len(e.members) > 1 for e in record.entries if e.form.way in _ROWS):
            self._ran_alone(record)
            return None
        codes = [code for x in kept if (code := record.code(x)) is not None]
        roots = [code >> BITS for code in codes]
        if back:
            with_dead(record, roots)
        with_sums(record, roots)
        own = None if back else (*codes,)
        key = _Structure(record, own)
        layout = self._layout(key, record, own)
        if layout is None:
            site = record.entries[-1].site
            self.report.alone("a chain", "less than two of its nodes are on a level", site, record.size)
            self.report.runs += 1
            return None
        return BoundSchedule(record, layout, self.report)

    def _ran_alone(self, record: Record) -> None:
        """Nothing of a record runs together: one launch a node."""
        own = [e for e in record.entries if e.signature is not None and e.signature.mode != EXTERNAL]
        self.report.runs += len(own) > 0
        apart = Counter(
            (e.signature.operation.name, e.signature.kinds) for e in own if e.signature is not None
        )
        for e in own:
            signature, count = e.signature, len(e.members)
            assert signature is not None
            key = signature.operation.name, signature.kinds
            line = self.report.line(*key)
            line.add_single(count)
            line.apart = max(line.apart, apart[key])
            if e.form.way is Way.ALONE and count > 1:
                self.report.alone(signature.operation.name, why_alone(signature), e.site, count)

    def _layout(self, key: _Structure, record: Record, own: Sequence[int] | None) -> Schedule | None:
        for schedule in self._schedules.of(key):
            self._schedules.use(key, schedule)
            return schedule.layout
        made = _Schedule(_laid_out(record, own), record.size)
        self._schedules.keep(key, made)
        return made.layout


class _Schedule(Item):
    """What is remembered of a structure; None in place of a layout where nothing would run together."""

    __slots__ = ("_bytes", "layout")

    def __init__(self, layout: Schedule | None, nodes: int) -> None:
        super().__init__()
        self.layout = layout
        self._bytes = _NODE * nodes + (_LAUNCH * len(layout.steps) if layout is not None else 0)

    def size(self) -> int:
        return self._bytes


def _laid_out(record: Record, kept: Sequence[int] | None) -> Schedule | None:
    groups = grouped(Counting(record))
    return None if groups is None else scheduled(record, groups, kept)


class _Structure:
    """Everything that a schedule is made of: equal where it is the same exactly, with a hash of a part of it.

    A batch that has not been there before is told apart by a glance; bytes of all of it take 0.3 ms of 64 sentences.
    """

    __slots__ = ("_arrays", "_hash", "_plain")

    def __init__(self, record: Record, own: object) -> None:
        entries = record.entries
        self._plain = (own, *[(e.form, e.dead, e.counts is None) for e in entries])
        several = [
            (e.members, e.refs) if e.counts is None else (e.members, e.refs, e.counts) for e in entries
        ]
        self._arrays = [x for arrays in several for x in arrays]
        self._hash = hash((self._plain, *map(glance, self._arrays)))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Structure) or self._plain != other._plain:
            return False
        return all(map(equal, self._arrays, other._arrays))
