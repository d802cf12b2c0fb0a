"""The README runs: its Python blocks in order, and the message that it shows is the message that comes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)


def test_every_python_block_runs_and_prints_what_the_text_block_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict[str, object] = {"__name__": "readme"}
    assert len(blocks("python")) >= 5
    for block in blocks("python"):
        # a code block has its own line numbers and annotations are looked up in the module it makes
        exec(compile(block, "README.md", "exec"), names)
    assert capsys.readouterr().out == blocks("text")[0]


def test_the_two_commands_are_the_first_two_shell_blocks() -> None:
    first, second = blocks("sh")
    assert first.endswith("examples/digits.py\n")
    assert second.endswith("pytest\n")


def test_ci_calls_the_readmes_test_command() -> None:
    script = (README.parent / ".ci" / "run").read_text()
    assert "README.md" in script
    assert "pip install" not in script.replace("README's", ""), "the install step is the README's own"
