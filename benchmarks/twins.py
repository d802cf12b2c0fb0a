"""Seeded bugs: programs with one mistake each, written beside what is right.

A file of `typecheck/bugs/` is the right program. Its first line says the mistake in one sentence; a comment
`# bug: ...` has the wrong text of the line below it, and without a text leaves that line out:

    # bug: scores = x @ w
    scores = x @ wg.permute_dims(w, (1, 0))

A checker finds a mistake where it was made, or where it shows: on a line that ends with `# shows`. What it says
of other lines does not count.

Knows: how both programs are read from one file.
Refuses to know: who judges them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import ROOT

FOLDER = ROOT / "typecheck" / "bugs"
BUG = re.compile(r"(?P<indent>\s*)# bug:(?P<text>.*)")
SHOWS = re.compile(r"# shows$")


@dataclass(frozen=True)
class Twin:
    """A right program, the wrong one, and the lines where the mistake is to be found."""

    name: str
    says: str
    right: str
    wrong: str
    lines: frozenset[int]


def read(path: Path) -> Twin:
    """The two programs of one file; ValueError if it has no mistake to make or does not say which."""
    right = path.read_text(encoding="utf-8")
    says = (ast.get_docstring(ast.parse(right)) or "").partition("\n")[0]
    wrong = right.splitlines()
    lines = set()
    for above, text in enumerate(right.splitlines()):
        bug = BUG.fullmatch(text)
        if bug is not None:
            said = bug["text"].strip()
            wrong[above + 1] = bug["indent"] + said if said else ""
            lines.add(above + 2)  # the line below, counted from 1
        elif SHOWS.search(text):
            lines.add(above + 1)
    if not says or wrong == right.splitlines():
        raise ValueError(f"{path.name}: a sentence on the first line and a `# bug:` are needed")
    return Twin(path.stem, says, right, "\n".join(wrong) + "\n", frozenset(lines))


def all_in(folder: Path, names: Sequence[str] = ()) -> list[Twin]:
    """The twins of a folder, or those of these names."""
    paths = [folder / f"{name}.py" for name in names] or sorted(folder.glob("*.py"))
    return [read(path) for path in paths]
