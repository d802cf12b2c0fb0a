"""Which nodes a delta will reach: those that none does are kept apart, or 0 times infinity would be theirs.

Knows: that a delta goes from a root to every operand that a rule sends it to; that what a later round reads may get
one all the same.
Refuses to know: deltas.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from wengert.arrays.places import flags, marked
from wengert.run.batching.form import Way
from wengert.run.batching.record import BITS, Entry, Record


def with_dead(record: Record, roots: Iterable[int]) -> None:
    """Split entries by whether deltas from the roots, given as numbers, arrive at their nodes."""
    if not any(map(_stops, record.entries)):
        return
    live = flags(record.size)
    stack = [*roots]
    live[stack] = True
    below = _sent_to(record)
    while stack:
        for number in below.get(stack.pop(), ()):
            if not live[number]:
                live[number] = True
                stack.append(number)
    entries: list[Entry] = []
    for entry in record.entries:
        reached = live[entry.members]
        if entry.form.way is Way.GIVEN or not any(entry.form.sends) or reached.all():
            entries.append(entry)
            continue
        for part, dead in ((reached, False), (~reached, True)):
            if part.any():
                some = replace(entry, dead=dead)
                some.keep(marked(part))
                entries.append(some)
    record.entries = entries


def _stops(entry: Entry) -> bool:
    """Whether a trainable operand gets no delta from these nodes."""
    if entry.signature is None or entry.form.way is Way.ALONE:
        return False
    kinds = entry.signature.kinds
    return any(
        kinds[i].trainable and not sends for i, sends in zip(entry.form.rows, entry.form.sends, strict=True)
    )


def _sent_to(record: Record) -> dict[int, list[int]]:
    """For each node the operands that it sends deltas to."""
    found: dict[int, list[int]] = {}
    for entry in record.entries:
        alone = entry.form.way is Way.ALONE
        columns = [i for i, sends in enumerate(entry.form.sends) if sends or alone]
        if columns:
            operands = (entry.refs[:, columns] >> BITS).tolist()
            found.update(zip(entry.members.tolist(), operands, strict=True))
    return found
