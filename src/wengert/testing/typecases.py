"""Type cases: what a type checker must accept, and what it must refuse, written as Python files.

Knows: that a line with `# E[code]: regex` (code and regex optional) must be refused so and every other line
accepted, that one run of mypy answers for all files, and that a file mypy cannot follow proves nothing.
Refuses to know: what any case is about.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

EXPECTED = re.compile(r"#\s*E(?:\[(?P<code>[\w-]+)\])?(?::\s*(?P<text>.*?))?\s*$")
# With these, what a file imports is `Any`, and `Any` accepts everything: no case of that file says anything.
BLIND = frozenset({"import-not-found", "import-untyped", "syntax"})
# `assert_type(do, ...)` counts as a Do that nobody runs. A project may enable the code, which no option overrides;
# a line can be marked with it.
TOLERATED = "unused-awaitable"


@dataclass(frozen=True, slots=True)
class Error:
    """One error of mypy."""

    line: int
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """One top-level function or class `case_*`."""

    path: Path
    name: str
    first: int
    last: int


def cases_in(path: Path) -> list[Case]:
    """The cases of one file."""
    found = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name.startswith(
            "case_"
        ):
            found.append(Case(path, node.name, node.lineno, node.end_lineno or node.lineno))
    return found


def check(files: Sequence[Path], root: Path, *options: str) -> dict[Path, list[Error]]:
    """Run `mypy --strict` in `root` once over all the files; RuntimeError if mypy itself fails."""
    command = [sys.executable, "-m", "mypy", "--strict", "-O", "json"]
    done = subprocess.run(
        [*command, *options, *map(str, files)], capture_output=True, text=True, check=False, cwd=root
    )
    if done.returncode not in (0, 1) or done.stderr.strip():
        raise RuntimeError(f"mypy failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    errors: dict[Path, list[Error]] = {path: [] for path in files}
    for line in done.stdout.splitlines():
        said = json.loads(line)
        if said["severity"] == "error":
            where = (root / said["file"]).resolve()
            errors.setdefault(where, []).append(Error(said["line"], said["code"] or "", said["message"]))
    return errors


def blind(errors: Iterable[Error]) -> list[str]:
    """The errors that make a file worthless as evidence."""
    return [f"{e.line}: mypy cannot see: {e.text}" for e in errors if e.code in BLIND]


def problems(case: Case, errors: Mapping[Path, Sequence[Error]]) -> list[str]:
    """Differences between mypy's answer and the file's marks, one line each; none where the case holds."""
    lines = case.path.read_text(encoding="utf-8").splitlines()
    here = errors[case.path]
    found = blind(here)
    for number in range(case.first, case.last + 1):
        expected = EXPECTED.search(lines[number - 1])
        got = [e for e in here if e.line == number]
        if expected is None:
            found += [f"{number}: unexpected [{e.code}] {e.text}" for e in got if e.code != TOLERATED]
        elif not got:
            found.append(f"{number}: accepted, but must be refused: {lines[number - 1].strip()}")
        elif not any(fits(expected, e) for e in got):
            found += [f"{number}: differs: got [{e.code}] {e.text}" for e in got]
    return found


def outside(path: Path, errors: Mapping[Path, Sequence[Error]]) -> list[str]:
    """Errors of a file that belong to no case: helpers and imports must be clean."""
    spans = [(case.first, case.last) for case in cases_in(path)]
    return [
        f"{e.line}: unexpected [{e.code}] {e.text}"
        for e in errors[path]
        if e.code != TOLERATED and not any(first <= e.line <= last for first, last in spans)
    ]


def fits(expected: re.Match[str], error: Error) -> bool:
    """Tell whether an error is the one that a mark asks for."""
    code, text = expected["code"], expected["text"]
    return code in (None, error.code) and (not text or re.search(text, error.text) is not None)
