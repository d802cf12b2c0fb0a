"""No program makes the plugin fail: mutants of the cases, checked by one run of mypy.

Knows: how to spoil a program so that it still parses.
Refuses to know: what mypy says of it, as long as it says something.
"""

from __future__ import annotations

import ast
import random
import re
import warnings
from pathlib import Path

import pytest

from tests.mypy_plugin.checking import ROOT, project

pytestmark = pytest.mark.slow
CASES = ROOT / "typecheck" / "plugin"
SHARED = {"given.py": (CASES / "given.py").read_text(encoding="utf-8")}  # what the cases import
TOKEN = re.compile(r"[A-Za-z_]\w*|-?\d+(?:\.\d+)?|\*\*|//|[-+*/@,:()\[\]]")
SPOILS = (
    *(
        "0",
        "-1",
        "7",
        "99999999999999999999",
        "None",
        "...",
        "x",
        "w",
        "named",
        "data",
        "unknown_name",
        "int",
        "Any",
        "[]",
        "()",
    ),
    *(
        "x.shape",
        "*x.shape",
        "lambda: 0",
        "1.5",
        "'axis'",
        "True",
        "x[0]",
        "wg",
        "wg.relu",
        "Batch",
        "B",
        "H",
    ),
    *(
        "Add[B, H]",
        "Mul[B]",
        "FloorDiv[H, Literal[0]]",
        "[x for x in [x]]",
        "(x if data is None else w)",
        "axis=1",
    ),
)


def pieces(name: str) -> tuple[str, list[str]]:
    """What a file of cases defines for all of them, and its cases."""
    text = re.sub(r"  # E.*|  # type: ignore.*", "", (CASES / f"{name}.py").read_text(encoding="utf-8"))
    lines = text.splitlines()
    cases: list[str] = []
    header: list[str] = []
    for node in ast.parse(text).body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        source = "\n".join(lines[first - 1 : node.end_lineno])
        (cases if getattr(node, "name", "").startswith("case_") else header).append(source)
    return "\n".join(header), cases


def spoiled(draw: random.Random, source: str) -> str | None:
    """The source with one to three tokens replaced or doubled; None if it no longer parses."""
    for _ in range(draw.randint(1, 3)):
        found = draw.choice(list(TOKEN.finditer(source)))
        by = draw.choice(
            [draw.choice(SPOILS), found.group() * 2, f"{found.group()}, {draw.choice(SPOILS)}", ""]
        )
        source = source[: found.start()] + by + source[found.end() :]
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return None
    return source


@pytest.mark.parametrize("name", ["multiplying", "joining", "contracting", "symbolic", "registered"])
def test_mutants_are_checked_without_an_internal_error(name: str, tmp_path: Path) -> None:
    draw = random.Random(f"{name} 7")
    header, cases = pieces(name)
    compile(header, "header", "exec")
    mutants: list[str] = []
    while len(mutants) < 210:
        made = spoiled(draw, draw.choice(cases))
        if made is not None:
            mutants.append(made)
    # in functions of their own, since a name that is defined twice is not looked into
    bodies = [re.sub(r"\bcase_\w+", f"case_{i}", body, count=1) for i, body in enumerate(mutants)]
    sources = {**SHARED, "mutants.py": "\n\n".join([header, *bodies])}
    said = project(tmp_path / "p", sources)  # RuntimeError if mypy fails
    assert len(said) > 100
