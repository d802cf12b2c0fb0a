"""Documents that run: what is written in their blocks happens, and what is shown is what comes.

Knows: what each kind of block promises.
- `python` runs, the blocks of a page one after the other in one module, and prints the `text` block below it.
- `py` that begins with `# name.py` is a file by itself; other `py` is a few lines below the page's Python. mypy
  says of it what the `text` block below shows, and nothing where there is none. `# typecheck/name.py` are type cases,
  for a command.
- `console` runs in a folder with the page's files and `toml`; `...` stands for anything, a line `...` for any lines.
Refuses to know: what any page is about.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from types import ModuleType

import pytest

from tests.mypy_plugin.checking import advised_cache

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# ((?:typecheck/)?\w+\.py)\n")
SAID = re.compile(r"(\w+)\.py:(\d+): (.*\n)")


@dataclass(frozen=True)
class Block:
    """A block and the `text` that follows it; None where none does."""

    language: str
    source: str
    shown: str | None

    @property
    def name(self) -> str | None:
        """The file that a `py` block is."""
        found = NAMED.match(self.source) if self.language == "py" else None
        return found and found[1]

    @property
    def is_program(self) -> bool:
        """Whether it is a file of which mypy says what is shown."""
        return self.name is not None and "/" not in self.name


@dataclass(frozen=True)
class Page:
    """A Markdown file."""

    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def __iter__(self) -> Iterator[Block]:
        text, end = self.text, 0
        fences = list(FENCE.finditer(text))
        for fence, after in zip(fences, [*fences[1:], None], strict=False):  # of none there is none
            language, source = fence.groups()
            if language != "text":
                follows = (
                    after is not None and after[1] == "text" and not text[fence.end() : after.start()].strip()
                )
                yield Block(language, source, after[2] if after is not None and follows else None)
                end = after.end() if after is not None and follows else fence.end()
            else:
                assert fence.end() == end, f"{self.path.name}: nobody checks this text:\n{source}"

    def blocks(self, language: str) -> list[Block]:
        return [block for block in self if block.language == language]

    @property
    def files(self) -> dict[str, str]:
        """By name: the programs, and the configuration that holds for them."""
        found = {block.name: block.source for block in self if block.name is not None}
        return {**found, "pyproject.toml": "\n".join(block.source for block in self.blocks("toml"))}

    def write(self, folder: Path) -> None:
        """Make the page's files."""
        for name, source in self.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(source)


def run_python(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the Python of a page, each block as a user would who writes them one after the other."""
    module = ModuleType(f"{page.path.stem}_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in page.blocks("python"):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.source, page.path.name, "exec", dont_inherit=True), vars(module))
        assert printed.getvalue() == (block.shown or ""), block.source


def module_of(page: Page) -> tuple[str, list[Block | None]]:
    """The Python of a page and its short programs as one module, and of each line the program that it is of."""
    parts: list[str] = []
    owners: list[Block | None] = []
    for number, block in enumerate(page):
        if block.language == "python" or (block.language == "py" and block.name is None):
            short = block.language == "py"
            part = f"def _{number}() -> None:\n{indent(block.source, '    ')}" if short else block.source
            parts.append(part)
            owners += [block if short else None] * part.count("\n")
    return "".join(parts), owners


def checked(folder: Path, pages: Iterable[Page], configuration: str) -> list[tuple[str, str, str]]:
    """What mypy says in one run over all pages: (name or source, what is said, what is shown) of each program.

    The Python that runs is one program a page, of which nothing is shown.
    """
    (folder / "pyproject.toml").write_text(configuration)
    found: dict[tuple[str, Block | None], list[str]] = {}
    owners: dict[str, list[Block | None]] = {}
    for page in pages:
        name = f"{page.path.stem}_page"
        text, owners[name] = module_of(page)
        (folder / f"{name}.py").write_text(text)
        found[name, None] = []
        found |= {(name, block): [] for block in owners[name] if block is not None}
        for block in page:
            if block.name is not None and block.is_program:
                (folder / block.name).write_text(block.source)
                owners[block.name[:-3]] = [block] * block.source.count("\n")
                found[block.name[:-3], block] = []
    for line in mypy(folder, [f"{name}.py" for name in owners]).splitlines(keepends=True):
        said = SAID.fullmatch(line)
        assert said is not None, line
        name, number, message = said.groups()
        owner = owners[name][int(number) - 1]
        whole = owner is None or owner.name is not None  # a file has lines that a reader can count
        found[name, owner].append(line if whole else message)
    return [
        (
            name if block is None else str(block.name or block.source),
            "".join(said),
            "" if block is None else block.shown or "",
        )
        for (name, block), said in found.items()
    ]


def mypy(folder: Path, files: Iterable[str]) -> str:
    """What mypy says of files with the configuration of their folder."""
    cache = advised_cache(folder.parent, "wengert_mypy" in (folder / "pyproject.toml").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(cache), *files],
        cwd=folder,
        env={**environment(), "MYPYPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "stubs")])},
        capture_output=True,
        text=True,
    )
    assert not done.stderr, done.stderr
    return done.stdout


def environment() -> dict[str, str]:
    """That of a user who has installed Wengert."""
    scripts = str(Path(sys.executable).parent)
    path = os.pathsep.join([scripts, os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}


def wanted(line: str) -> str:
    """The expression that matches a line that is shown, whatever its columns are wide."""
    if line == "...\n":
        return "(?s:.*)"
    return " +".join(re.escape(x).replace(re.escape("..."), ".*") for x in re.split(" +", line))


def run_console(folder: Path, page: Page) -> None:
    """Run each command of a page's consoles and compare what it writes."""
    page.write(folder)
    for block in page.blocks("console"):
        for part in re.split(r"^\$ ", block.source, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            done = subprocess.run(
                command, shell=True, cwd=folder, env=environment(), capture_output=True, text=True
            )
            said, lines = done.stdout + done.stderr, shown.splitlines(keepends=True)
            assert re.fullmatch("".join(map(wanted, lines)), said), f"{command}\n{said}"
