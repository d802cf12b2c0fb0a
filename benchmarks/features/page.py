"""What the page of the comparison claims of other libraries, against the probes.

Knows: the tables of the page, and how a cell begins that claims nothing.
Refuses to know: what a probe does.
"""

from __future__ import annotations

import re

from benchmarks.features.probes import LIBRARIES, Kind, Written, probes_of

MOST = 30  # lines that are still "a few lines of a user's own"
LEAST = 20  # letters of a reason


def tables(page: str) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The cells of each row by its first one, and the tests of each row."""
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in page.splitlines()
        if line.startswith("| ") and not line.startswith("| what |")
    ]
    compared = {title: cells for title, *cells in rows if len(cells) != 1}
    return compared, {row[0]: row[1] for row in rows if len(row) == 2}


def claimed(cell: str) -> Kind:
    """The kind of answer that a cell claims, by its words."""
    if re.match(r"no\b", cell):
        return Kind.NO
    if "not run" in cell:
        return Kind.NOT_RUN
    return Kind.BY_HAND if re.match(r"by hand\b", cell) else Kind.WORKS


def disagreements(page: str) -> list[str]:
    """Cells of the page without a probe, of another kind than their probe, or with a name that it does not call."""
    compared, _ = tables(page)
    found = []
    for column, library in enumerate(LIBRARIES, start=1):
        probes = {probe.title: probe for probe in probes_of(library)}
        found += [f"{library}: a probe of {title}, and no row" for title in probes if title not in compared]
        for title, cells in compared.items():
            if title not in probes:
                found.append(f"{title}: nothing tries {library}")
            elif column < len(cells):
                found += [f"{title}: {library}: {said}" for said in faults(cells[column], probes[title])]
    return found


def faults(cell: str, probe: Written) -> list[str]:
    """How a cell and its probe disagree."""
    kind = claimed(cell)
    if kind is not probe.kind:
        return [f"the page says {kind.value}, and the probe {probe.kind.value}"]
    if kind in (Kind.NO, Kind.NOT_RUN):
        return [] if len(probe.reason) >= LEAST else ["no reason"]
    if not probe.asserts:
        return ["nothing is asserted"]
    if kind is Kind.BY_HAND:
        return [f"{probe.lines} lines are more than a few"] * (probe.lines > MOST)
    words = {word for name in re.findall(r"`([^`]+)`", cell) for word in re.findall(r"[^\W\d_]\w+", name)}
    return [f"the probe does not call {word}" for word in sorted(words) if word not in probe.source]
