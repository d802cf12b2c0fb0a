"""Trees of additions as one sum each: the losses of a batch cost one launch, however they are added up.

Knows: that an addition which nobody else reads has no value of its own to show (S9 within rounding).
Refuses to know: who adds, and when sums are computed.
"""

from __future__ import annotations

from collections.abc import Iterable

from wengert.arrays.places import Places, argsort, counted, distinct, flags, marked, span, spread_evenly
from wengert.graph.operators import ADD
from wengert.run.batching.form import Way, sum_form
from wengert.run.batching.record import BITS, Entry, Record


def with_sums(record: Record, kept: Iterable[int]) -> None:
    """Put one sum in place of each tree of additions; the values of the nodes `kept` are asked for."""
    adding = [entry for entry in record.entries if _adds(entry)]
    if not adding:
        return
    sources, _ = record.edges()
    readers = counted(sources, record.size)
    for number in kept:
        readers[number] += 2
    record.absorbed = flags(record.size)
    for entry in adding:
        _collapse(record, entry, readers)
    record.entries = [entry for entry in record.entries if len(entry.members)]


def _adds(entry: Entry) -> bool:
    """Whether these nodes add two values of the kind that they give."""
    signature, form = entry.signature, entry.form
    return (
        signature is not None
        and signature.operation is ADD
        and form.way is Way.OPERATION
        and signature.kinds == (form.results[0], form.results[0])
        and form.sends in ((True, True), (False, False))
    )


def _collapse(record: Record, entry: Entry, readers: Places) -> None:
    assert record.absorbed is not None
    members, operands = entry.members, entry.refs >> BITS
    place = flags(record.size, -1)  # of a node among the additions
    place[members] = span(0, len(members))
    inner = (place[operands] >= 0) & (readers[operands] == 1)
    upper = span(0, len(members))  # of an inner addition its reader, of all others themselves
    upper[place[operands[inner]]] = spread_evenly(upper, 2).reshape(-1, 2)[inner]
    while ((following := upper[upper]) != upper).any():
        upper = following
    tops = members[upper]
    absorbed = tops != members
    if not absorbed.any():
        return
    record.absorbed[members[absorbed]] = True
    summed = flags(record.size)
    summed[tops[absorbed]] = True
    rest = ~summed[tops]
    outer = ~(inner | rest[:, None]).reshape(-1)
    _add_sum(record, entry, spread_evenly(tops, 2)[outer], entry.refs.reshape(-1)[outer])
    entry.keep(marked(rest))


def _add_sum(record: Record, adding: Entry, tops: Places, codes: Places) -> None:
    order = argsort(tops)
    members, counts = distinct(tops)
    form = sum_form(adding.form.results[0])
    record.entries.append(
        Entry(form, None, members=members, refs=codes[order], counts=counts, dead=adding.dead)
    )
