"""The README runs: its Python blocks in order, and the messages that it shows are the messages that come."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mypy.errorcodes import ErrorCode

from wengert_mypy import names

README = Path(__file__).resolve().parent.parent / "README.md"
PROGRAM = re.compile(r"^```py\n# (\w+\.py)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OUTPUT = re.compile(r"\s*^```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(), re.DOTALL | re.MULTILINE)


def programs() -> dict[str, tuple[str, str]]:
    """By file name: each program that is only checked, and what mypy says of it, nothing where no block follows."""
    text, found = README.read_text(), {}
    for program in PROGRAM.finditer(text):
        output = OUTPUT.match(text, program.end())
        name, source = program.groups()
        found[name] = f"# {name}\n{source}", "" if output is None else output[1]
    return found


def checked(folder: Path, configuration: str) -> dict[str, str]:
    """What mypy says of each program, all in one run with the README's own configuration."""
    (folder / "pyproject.toml").write_text(configuration)
    for name, (source, _) in programs().items():
        (folder / name).write_text(source)
    sources = [str(README.parent / part) for part in ("src", "stubs")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", *programs()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": sources[0], "MYPYPATH": os.pathsep.join(sources)},
        capture_output=True,
        text=True,
    )
    assert not done.stderr, done.stderr
    lines = done.stdout.splitlines(keepends=True)
    return {name: "".join(x for x in lines if x.startswith(f"{name}:")) for name in programs()}


def configured() -> str:
    """The block that switches the plugin on."""
    (found,) = [block for block in blocks("toml") if "wengert_mypy" in block]
    return found


def test_every_python_block_runs_and_prints_what_the_text_block_shows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # it saves a model
    names: dict[str, object] = {"__name__": "readme"}
    assert len(blocks("python")) >= 5
    for block in blocks("python"):
        # a code block has its own line numbers and annotations are looked up in the module it makes
        exec(compile(block, "README.md", "exec"), names)
    shown = [
        text for text in blocks("text") if not re.match(r"\w+\.py:", text)
    ]  # the others are what mypy says
    assert capsys.readouterr().out == "".join(shown)


@pytest.mark.slow
def test_mypy_says_of_each_program_what_is_shown(tmp_path: Path) -> None:
    said = checked(tmp_path, configured())
    assert said == {name: shown for name, (_, shown) in programs().items()}
    assert sum(": error: " in output for output in said.values()) == 5


@pytest.mark.slow
def test_without_the_plugin_the_canary_is_refused_and_wrong_sizes_are_not(tmp_path: Path) -> None:
    said = checked(tmp_path, configured().replace('plugins = ["wengert_mypy"]\n', ""))
    assert "Literal[False]" in said["canary.py"]
    assert said["heads.py"] == said["scores.py"] == ""


def test_the_table_of_codes_has_those_of_the_plugin() -> None:
    lines = [line for line in README.read_text().splitlines() if line.startswith("| `[")]
    shown = {code for line in lines for code in re.findall(r"`\[([\w-]+)\]`", line.split("|")[1])}
    assert shown == {value.code for value in vars(names).values() if isinstance(value, ErrorCode)}


def test_the_two_commands_are_the_first_two_shell_blocks() -> None:
    first, second = blocks("sh")
    assert first.endswith("examples/digits.py\n")
    assert second.endswith("pytest\n")


def test_ci_calls_the_readmes_test_command() -> None:
    script = (README.parent / ".ci" / "run").read_text()
    assert "README.md" in script
    assert "pip install" not in script.replace("README's", ""), "the install step is the README's own"
