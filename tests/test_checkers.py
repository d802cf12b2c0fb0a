"""What pyrefly and pyright say of the public surface: the examples are clean, the type cases as they are marked.

The marks are those of mypy without the plugin. Where another checker differs, `typecheck/exceptions.toml` lists
the case with its reason, and nothing else may differ.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from wengert.testing.typecases import EXPECTED, cases_in

ROOT = Path(__file__).resolve().parent.parent
CASES = sorted(path for path in (ROOT / "typecheck").glob("*.py") if path.name != "conftest.py")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SCRIPTS = Path(sysconfig.get_path("scripts"))


class Said(NamedTuple):
    """One error: the lines that it is about, and its text."""

    first: int
    last: int
    text: str


Answers = Mapping[Path, Sequence[Said]]


def answer(*command: str | Path) -> Any:
    """What a checker prints as JSON; Any: each has a format of its own."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return json.loads(done.stdout)


def collected(errors: Iterator[tuple[str, Said]]) -> Answers:
    answers: dict[Path, list[Said]] = {path: [] for path in (*CASES, *EXAMPLES)}
    for path, error in errors:
        answers[(ROOT / path).resolve()].append(error)
    return answers


def pyrefly() -> Answers:
    options = ("--output-format", "json", "--python-interpreter-path", sys.executable)
    said = answer(SCRIPTS / "pyrefly", "check", *options, *CASES, *EXAMPLES)
    return collected(
        (e["path"], Said(e["line"], e["stop_line"], e["description"]))
        for e in said["errors"]
        if e["severity"] == "error"
    )


def pyright() -> Answers:
    based = SCRIPTS / "basedpyright"  # brings a node of its own
    program = str(based) if based.exists() else shutil.which("pyright")
    if program is None:
        pytest.skip("pyright is not installed; `pip install basedpyright`")
    said = answer(program, "--outputjson", "--pythonpath", sys.executable)
    return collected(
        (e["file"], Said(e["range"]["start"]["line"] + 1, e["range"]["end"]["line"] + 1, e["message"]))
        for e in said["generalDiagnostics"]
        if e["severity"] == "error"
    )


CHECKERS = {"pyrefly": pyrefly, "pyright": pyright}


def differing(path: Path, errors: Sequence[Said]) -> Iterator[tuple[str, str]]:
    """The cases of a file in which marks and errors differ, each with a line that says how."""
    lines = path.read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if EXPECTED.search(line)}
    refused = {number for e in errors for number in range(e.first, e.last + 1)}
    differences = [(number, "accepted, but must be refused") for number in sorted(marked - refused)]
    for e in errors:
        if not marked & set(range(e.first, e.last + 1)):
            differences.append((e.first, f"refused: {e.text}"))
    for number, how in differences:
        case = next((c.name for c in cases_in(path) if c.first <= number <= c.last), "outside the cases")
        where = f"examples/{path.name}" if path in EXAMPLES else f"{path.name}::{case}"
        yield where, f"{path.name}:{number}: {how}: {lines[number - 1].strip()}"


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKERS)
def test_another_checker_differs_only_where_that_is_listed(name: str) -> None:
    answers = CHECKERS[name]()
    listed = tomllib.loads((ROOT / "typecheck" / "exceptions.toml").read_text(encoding="utf-8"))[name]
    differences = [d for path in (*CASES, *EXAMPLES) for d in differing(path, answers[path])]
    unlisted = [how for case, how in differences if case not in listed]
    assert not unlisted, "\n".join(unlisted)
    stale = set(listed) - {case for case, _ in differences}
    assert not stale, f"no longer an exception: {sorted(stale)}"


def test_the_comparison_fails_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "cases.py"
    path.write_text(
        "x = 1\ndef case_one() -> None:\n    f(\n        1\n    )  # E\n    g()\n", encoding="utf-8"
    )
    assert list(differing(path, [Said(3, 5, "wrong")])) == []
    accepted = [case for case, _ in differing(path, [])]
    assert accepted == ["cases.py::case_one"]
    refused = dict(differing(path, [Said(3, 5, "wrong"), Said(6, 6, "g"), Said(1, 1, "x")]))
    assert set(refused) == {"cases.py::case_one", "cases.py::outside the cases"}
    assert refused["cases.py::case_one"] == "cases.py:6: refused: g: g()"


def test_every_exception_has_a_reason() -> None:
    listed = tomllib.loads((ROOT / "typecheck" / "exceptions.toml").read_text(encoding="utf-8"))
    assert set(listed) == set(CHECKERS)
    assert all(len(reason) > 20 for reasons in listed.values() for reason in reasons.values())
