"""The README's programs run, and its messages, and those of the page on static checking, are the messages that come."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from mypy.errorcodes import ErrorCode
from packaging.requirements import Requirement

import wengert as wg
from tests.documents import FENCE, ROOT, Page, checked, mypy
from tests.mypy_plugin.checking import ADVISED, WITHOUT_PLUGIN
from wengert_mypy import names

README = ROOT / "README.md"
PAGE = Page(README)
CHECKING = Page(ROOT / "docs" / "checking.md")


def blocks(language: str) -> list[str]:
    return [block.source for block in PAGE.blocks(language)]


def programs() -> dict[str, tuple[str, str]]:
    """By file name: each program, and what mypy says of it, nothing where no block follows."""
    found = [block for block in PAGE.blocks("py") if block.is_program]
    return {str(block.name): (block.source, block.shown or "") for block in found}


def configured() -> str:
    """The block that switches the plugin on."""
    (found,) = [block for block in blocks("toml") if "wengert_mypy" in block]
    assert found == ADVISED, "the cache of the library is made with it"
    return found


def test_the_readme_is_short_and_has_a_picture_of_its_first_program() -> None:
    assert len(README.read_text().splitlines()) < 200
    (picture,) = re.findall(r"!\[[^]]+\]\((docs/pictures/\w+\.svg)\)", README.read_text())
    assert (ROOT / picture).with_suffix(".py").exists()
    drawn = html.unescape((ROOT / picture).read_text()).replace("\xa0", " ")
    first = next(iter(PAGE))
    assert first.shown is not None and first.shown.strip() in drawn, (
        "draw it anew: python docs/pictures/first_minute.py"
    )
    assert "@font-face" not in drawn, "a picture downloads nothing"


def test_the_first_screen_is_a_sentence_a_program_mypys_error_and_the_install_line() -> None:
    first, second, *_ = PAGE
    sentence = README.read_text().partition("```")[0].partition("\n")[2]
    assert sentence.count(". ") == 0 and sentence.strip().endswith(".")
    assert first.name == "scores.py" and (first.shown or "").startswith("scores.py:10: error: ")
    assert 8 <= len(first.source.splitlines()) <= 12
    assert second.source == "$ pip install '.[mypy]'\n"
    assert len(README.read_text().partition("pip install")[0].splitlines()) <= 40


def test_the_first_program_fails_on_that_line_and_runs_with_the_number_mended() -> None:
    source = programs()["scores.py"][0]
    assert "768" in source.splitlines()[6], "the text says line 7"
    with pytest.raises(wg.errors.ShapeError, match="inner dimensions 784 and 768 differ"):
        exec(compile(source, "scores.py", "exec", dont_inherit=True), {"__name__": "scores"})
    mended: dict[str, object] = {"__name__": "scores"}
    exec(compile(source.replace("768", "784"), "scores.py", "exec", dont_inherit=True), mended)
    assert isinstance(mended["w"], wg.ArrayWeight) and mended["w"].data.shape == (784, 10)


LINKED = {
    "README.md": (
        *(
            "numpy",
            "cupy",
            "mypy",
            "plugin of mypy",
            "PyPI",
            "PyTorch",
            "DeepLearning.scala",
            "Monadic Deep Learning",
        ),
        *(
            "TensorFlow Fold",
            "Deep Learning with Dynamic Computation Graphs",
            "scikit-learn",
            "pytest",
            "rich",
        ),
        *("safetensors", "array API standard", "JAX"),
    ),
    "docs/getting_started.md": (
        *("array API standard", "safetensors", "Perfetto", "chrome://tracing", "Mermaid", "DOT"),
    ),
    "docs/training.md": ("matplotlib", "TensorBoard"),
    "docs/data.md": ("CIFAR-100", "Stanford Sentiment Treebank"),
}


def unlinked(text: str, names: tuple[str, ...]) -> list[str]:
    """The names that prose does not link to an address where it first has them."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    return [
        name
        for name in names
        if (found := re.search(rf"(?<![\w/.]){re.escape(name)}(?!\w)", prose)) is None
        or re.match(r"\]\(https://[^)\s]+\)", prose[found.end() :]) is None
    ]


@pytest.mark.parametrize(("page", "names"), LINKED.items(), ids=lambda value: str(value)[:30])
def test_papers_ancestors_and_tools_are_links_where_they_are_first_named(
    page: str, names: tuple[str, ...]
) -> None:
    assert unlinked((ROOT / page).read_text(), names) == []


def test_a_name_without_an_address_is_found() -> None:
    text = "mypy and [numpy](https://numpy.org/), `cupy`\n\n```py\nrich\n```\n"
    assert unlinked(text, ("mypy", "numpy", "cupy", "rich")) == ["mypy", "cupy", "rich"]


def test_the_extra_examples_brings_all_that_the_page_configures_and_calls() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    brought = {Requirement(line).name for line in project["optional-dependencies"]["examples"]}
    configured = {name for block in blocks("toml") for name in tomllib.loads(block)["tool"]}
    called = set(re.findall(r"\.venv/bin/(\w+)", "".join(blocks("console")))) - {"python", "pip"}
    assert configured == called == {"mypy"}
    assert called <= brought


@pytest.mark.slow
def test_mypy_says_of_each_program_what_is_shown(tmp_path: Path) -> None:
    found = checked(tmp_path, [PAGE], configured())
    for name, said, shown in found:
        assert said == shown, name
    assert sum(": error: " in said for _, said, _ in found) == 1


@pytest.mark.slow
def test_without_the_plugin_the_canary_is_refused_and_wrong_sizes_are_not(tmp_path: Path) -> None:
    said = {name: said for name, said, _ in checked(tmp_path, [PAGE, CHECKING], WITHOUT_PLUGIN)}
    assert "Literal[False]" in said["canary.py"]
    assert said["heads.py"] == said["scores.py"] == ""


def reader(folder: Path) -> subprocess.Popen[str]:
    """The README's classifier, begun in this folder."""
    folder.mkdir(exist_ok=True)
    (folder / "reader.py").write_text(programs()["reader.py"][0])
    return subprocess.Popen(
        [sys.executable, "reader.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(README.parent / "src"), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_the_classifier_is_killed_and_ends_as_the_undisturbed_one(tmp_path: Path) -> None:
    whole = reader(tmp_path / "whole")
    shown, _ = whole.communicate()
    killed = reader(tmp_path / "killed")
    while killed.poll() is None and not (tmp_path / "killed" / "best.safetensors").exists():
        time.sleep(0.01)
    killed.kill()
    assert killed.communicate()[0] == "" and killed.returncode < 0
    again = reader(tmp_path / "killed")
    assert again.communicate()[0] == shown and again.returncode == whole.returncode == 0
    steps, accuracy = re.fullmatch(r"(\d+) steps, test accuracy (\d+)%\n", shown).groups()  # type: ignore[union-attr] # fails if it is None
    assert f"{steps} steps, test accuracy " in README.read_text() and int(accuracy) >= 90
    files = [(tmp_path / name / "best.safetensors").read_bytes() for name in ("whole", "killed")]
    assert files[0] == files[1]


@pytest.mark.slow
def test_a_layer_of_the_wrong_size_is_found_in_the_classifier(tmp_path: Path) -> None:
    wrong = programs()["reader.py"][0].replace("settings, 64, 128", "settings, 63, 128")
    (tmp_path / "pyproject.toml").write_text(configured())
    (tmp_path / "mistaken_reader.py").write_text(wrong)
    said = mypy(tmp_path, ["mistaken_reader.py"])
    assert "error: Linear: expected last axis 63, got (?, 64)  [shape]" in said, said


def test_the_table_of_codes_has_those_of_the_plugin() -> None:
    lines = [line for line in CHECKING.text.splitlines() if line.startswith("| `[")]
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
