"""The pages of `docs/` run, mypy says of them what they show, and what they name is there."""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import wengert
from tests.documents import ROOT, Block, Page, checked, run_console, run_python
from tests.mypy_plugin.checking import WITHOUT_PLUGIN
from tests.test_readme import configured
from wengert import fold as td
from wengert.training import fit

DOCS = ROOT / "docs"
PAGES = [Page(path) for path in sorted(DOCS.glob("*.md"))]
NAME = re.compile(r"`(wg|wengert)((?:\.\w+)+)")
LINK = re.compile(r"\]\(([^)#:]+)\)")
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.stem)


@every_page
def test_every_python_block_runs_and_prints_what_is_shown(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_python(page, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if p.blocks("console")], ids=lambda page: page.path.stem)
def test_every_command_says_what_is_shown(page: Page, tmp_path: Path) -> None:
    run_console(tmp_path, page)


@pytest.mark.slow
def test_mypy_says_of_every_page_what_is_shown(tmp_path: Path) -> None:
    for source, said, shown in checked(tmp_path, PAGES, configured()):
        assert said == shown, source


@every_page
def test_every_name_and_every_link_is_there(page: Page) -> None:
    for _, names in NAME.findall(page.text):
        missing(names[1:].split("."))
    for link in LINK.findall(page.text):
        assert (page.path.parent / link).exists(), link


def missing(names: list[str]) -> None:
    """Raise where `wengert` has no such name; a module is imported on the way."""
    at: object = wengert
    for name in names:
        if not hasattr(at, name):
            at = importlib.import_module(f"{getattr(at, '__name__', '')}.{name}")
        else:
            at = getattr(at, name)


def unused_blocks(page: Page) -> set[str]:
    """The public blocks of `wengert.fold` that no Python of a page reads as `td.Name`; bases have no use there."""
    blocks = {
        name for name in td.__all__ if isinstance(x := getattr(td, name), type) and issubclass(x, td.Block)
    }
    blocks = blocks - {"Block", "Layer"} | {"Compiler", "ForwardDeclaration", "composition"}
    nodes = (node for block in page.blocks("python") for node in ast.walk(ast.parse(block.source)))
    return blocks - {n.attr for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "td"}


def test_every_block_is_used_in_code_on_its_page() -> None:
    assert unused_blocks(Page(DOCS / "fold.md")) == set()


def test_a_block_that_stands_in_the_text_only_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(
        (DOCS / "fold.md").read_text().replace("td.NGrams(2)", "td.Identity()") + "\n`td.NGrams(2)`\n"
    )
    assert unused_blocks(Page(tmp_path / "page.md")) == {"NGrams"}


def arguments_of_fit(page: str) -> set[str]:
    """The names in the first column of the table of `fit`'s arguments."""
    rows = page.partition("`fit(loss, data, *, seed, …)` takes:")[2].partition("\n\nThe `History`")[0]
    return {name for row in rows.splitlines() if row for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_each_argument_of_fit_is_on_its_page() -> None:
    page = (DOCS / "training.md").read_text()
    assert arguments_of_fit(page) == set(inspect.signature(fit).parameters)
    assert "patience" not in arguments_of_fit(page.replace("`patience`, ", ""))


def test_every_floor_has_a_page() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    floors = {name.strip() for layer in contracts[0]["layers"] for name in layer.split("|")} - {"__main__"}
    index = (DOCS / "README.md").read_text()
    rows = [line for line in index.splitlines() if line.startswith("| ") and ".md" in line]
    assert floors <= {name for row in rows for name in re.findall(r"`wengert\.(\w+)`", row)}


def test_every_page_is_in_the_index() -> None:
    index = set(LINK.findall((DOCS / "README.md").read_text()))
    assert {page.path.name for page in PAGES} - {
        "README.md",
        "index.md",
        "examples.md",
    } <= index  # these are the site's


def test_every_example_has_a_line() -> None:
    folder = ROOT / "examples"
    listed = LINK.findall((folder / "README.md").read_text())
    there = {
        path.name for path in folder.iterdir() if path.suffix == ".py" or (path / "pyproject.toml").exists()
    }
    assert sorted(listed) == sorted(there)


def third_party(source: str) -> set[str]:
    """The packages that a file imports, but for Python's own and Wengert's."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names - {"wengert"}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_the_extra_examples_brings_what_an_example_imports(path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = ("examples", "serving") if path.stem == "service" else ("examples",)
    asked = [
        *project["dependencies"],
        *(line for name in extras for line in project["optional-dependencies"][name]),
    ]
    assert third_party(path.read_text()) <= {Requirement(line).name for line in asked}


def argument_needed() -> set[str]:
    """The examples whose row says that they need an argument."""
    rows = (ROOT / "examples" / "README.md").read_text().splitlines()
    return {link for row in rows if "**Needs an argument**" in row for link in LINK.findall(row)}


class Began(Exception):
    """Raised in place of the work of an example that accepts its arguments."""


def called_by_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("name", sorted(argument_needed()))
def test_an_example_needs_the_argument_that_its_row_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="2"):
        called_by_its_name(ROOT / "examples" / name, monkeypatch)


PARSING = {path.name for path in (ROOT / "examples").glob("*.py") if "parse_args" in path.read_text()}


@pytest.mark.parametrize("name", sorted(PARSING - argument_needed()))
def test_an_example_needs_no_argument_where_its_row_names_none(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse_args = argparse.ArgumentParser.parse_args

    def begin(parser: argparse.ArgumentParser, arguments: list[str] | None = None) -> None:
        parse_args(parser, arguments)
        raise Began

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", begin)
    with pytest.raises(Began):
        called_by_its_name(ROOT / "examples" / name, monkeypatch)


# -- the checks themselves --------------------------------------------------------------------------


def page_of(folder: Path, text: str) -> Page:
    (folder / "page.md").write_text(text)
    return Page(folder / "page.md")


def test_blocks_and_what_they_show(tmp_path: Path) -> None:
    page = page_of(tmp_path, "```python\n1\n```\n\n```text\na\n```\n\nwords\n\n```py\n# b.py\n2\n```\n")
    assert list(page) == [Block("python", "1\n", "a\n"), Block("py", "# b.py\n2\n", None)]
    assert page.files == {"b.py": "# b.py\n2\n", "pyproject.toml": ""}


def test_a_text_that_nobody_checks_is_refused(tmp_path: Path) -> None:
    page = page_of(tmp_path, "```python\n1\n```\n\nwords\n\n```text\na\n```\n")
    with pytest.raises(AssertionError, match="nobody checks this text"):
        list(page)


@pytest.mark.parametrize("text", ["```python\n1 / 0\n```\n", "```python\nprint(1)\n```\n\n```text\n2\n```\n"])
def test_a_block_that_is_wrong_fails(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((ZeroDivisionError, AssertionError)):
        run_python(page_of(tmp_path, text), monkeypatch)


def test_a_command_that_says_something_else_fails(tmp_path: Path) -> None:
    run_console(tmp_path, page_of(tmp_path, "```console\n$ echo a; echo b\na\n...\n```\n"))
    with pytest.raises(AssertionError, match="echo a"):
        run_console(tmp_path, page_of(tmp_path, "```console\n$ echo a\nb\n```\n"))


@pytest.mark.slow
def test_what_mypy_says_is_that_of_its_lines(tmp_path: Path) -> None:
    page = page_of(
        tmp_path,
        "```python\nx = 1\n```\n\n```py\nreveal_type(x)\n```\n\n```python\ny: str = 2\n```\n\n"
        "```py\n# own.py\nz: str = 3\n```\n",
    )
    said = [said for _, said, _ in checked(tmp_path, [page], WITHOUT_PLUGIN)]
    assert said == [
        'page_page.py:4: error: Incompatible types in assignment (expression has type "int", variable has type "str")  '
        "[assignment]\n",
        'note: Revealed type is "int"\n',
        'own.py:2: error: Incompatible types in assignment (expression has type "int", variable has type "str")  '
        "[assignment]\n",
    ]


def test_a_name_that_is_not_there_fails() -> None:
    missing(["fold", "Map"])
    with pytest.raises((AttributeError, ImportError)):
        missing(["fold", "Mapp"])
