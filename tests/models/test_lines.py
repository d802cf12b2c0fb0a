"""Models are short: their lines as Fold's paper counts them (Table 3), and that the count can say no.

Knows: what is counted: 80 columns, no imports, docstrings, comments, blank lines, files and command lines.
Refuses to know: what the models do.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sysconfig
import tokenize
from pathlib import Path

import pytest

from tests.test_examples import EXAMPLES

LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
MODELS = [
    ("attention", ("Settings", "Attention"), 26),  # the module, as in the paper, and its loss
    ("sentiment", (), 119),  # all of it: the model, an epoch of training, what is measured
    ("weave", ("Weave",), 32),  # the module
]


def at_80_columns(text: str) -> str:
    """A program as the formatter writes it for that width."""
    ruff = str(Path(sysconfig.get_path("scripts")) / "ruff")
    command = [ruff, "format", "--isolated", "--line-length", "80", "-"]
    return str(subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout)


def lines(text: str, names: tuple[str, ...] = ()) -> int:
    """How many lines of code are in these definitions, or in the whole program."""
    text = at_80_columns(text)
    tree = ast.parse(text)
    wanted: set[int] = set()
    dropped: set[int] = set()
    for node in tree.body:
        if not names or getattr(node, "name", None) in names:
            wanted.update(range(node.lineno, (node.end_lineno or 0) + 1))
        command_line = isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)
        if isinstance(node, ast.Import | ast.ImportFrom) or command_line:
            dropped.update(range(node.lineno, (node.end_lineno or 0) + 1))
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant):
            dropped.update(range(inner.lineno, (inner.end_lineno or 0) + 1))
    written: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            written.update(range(token.start[0], token.end[0] + 1))
    return len(written & wanted - dropped)


@pytest.mark.parametrize(("name", "names", "most"), MODELS)
def test_a_model_is_not_longer_than_folds(name: str, names: tuple[str, ...], most: int) -> None:
    assert lines((EXAMPLES / f"{name}.py").read_text(), names) <= most


PROGRAM = '''"""Of three lines."""

import sys


class Counted:
    """One line, and

    this is none."""

    x = 1  # neither is this

    # nor this
    def f(self) -> None:
        print(self)


other = 2
if __name__ == "__main__":
    sys.exit(other)
'''


def test_what_is_a_line() -> None:
    assert lines(PROGRAM, ("Counted",)) == 4
    assert lines(PROGRAM) == 5


def test_the_count_finds_a_line_too_many_and_a_line_too_wide() -> None:
    assert lines(PROGRAM.replace("print(self)", "print(self)\n        print(self)"), ("Counted",)) == 5
    wide = PROGRAM.replace("print(self)", f"print(self, {'self, ' * 20}self)")
    assert lines(wide, ("Counted",)) > 4 + 20
    text = (EXAMPLES / "weave.py").read_text()
    assert lines(text, ("Weave", "Polar", "molecules")) > 32, "a longer model would be refused"
