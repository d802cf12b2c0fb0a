"""The README runs: its Python blocks in order, and the messages that it shows are the messages that come."""

from __future__ import annotations

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
from tests.documents import FENCE, ROOT, Page, checked, environment, mypy, run_python
from wengert_mypy import names

README = ROOT / "README.md"
PAGE = Page(README)


def blocks(language: str) -> list[str]:
    return [block.source for block in PAGE.blocks(language)]


def programs() -> dict[str, tuple[str, str]]:
    """By file name: each program, and what mypy says of it, nothing where no block follows."""
    found = [block for block in PAGE.blocks("py") if block.is_program]
    return {str(block.name): (block.source, block.shown or "") for block in found}


def configured() -> str:
    """The block that switches the plugin on."""
    (found,) = [block for block in blocks("toml") if "wengert_mypy" in block]
    return found


def test_every_python_block_runs_and_prints_what_the_text_block_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # it saves a model
    assert len(blocks("python")) >= 5
    run_python(PAGE, monkeypatch)


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


LINKED = (
    *("numpy", "cupy", "mypy", "plugin of mypy", "PyPI", "DeepLearning.scala", "Monadic Deep Learning"),
    *("TensorFlow Fold", "Deep Learning with Dynamic Computation Graphs", "scikit-learn", "pytest"),
    *("array API standard", "safetensors", "Perfetto", "chrome://tracing", "Mermaid", "DOT", "rich"),
    *("matplotlib", "TensorBoard", "CIFAR-100", "Stanford Sentiment Treebank"),
)


def unlinked(text: str, names: tuple[str, ...]) -> list[str]:
    """The names that prose does not link to an address where it first has them."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    return [
        name
        for name in names
        if (found := re.search(rf"(?<![\w/.]){re.escape(name)}(?!\w)", prose)) is None
        or re.match(r"\]\(https://[^)\s]+\)", prose[found.end() :]) is None
    ]


def test_papers_ancestors_and_tools_are_links_where_they_are_first_named() -> None:
    assert unlinked(README.read_text(), LINKED) == []


def test_a_name_without_an_address_is_found() -> None:
    text = "mypy and [numpy](https://numpy.org/), `cupy`\n\n```py\nrich\n```\n"
    assert unlinked(text, ("mypy", "numpy", "cupy", "rich")) == ["mypy", "cupy", "rich"]


def test_the_extra_examples_brings_all_that_the_page_configures_and_calls() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    brought = {Requirement(line).name for line in project["optional-dependencies"]["examples"]}
    configured = {name for block in blocks("toml") for name in tomllib.loads(block)["tool"]}
    called = set(re.findall(r"\.venv/bin/(\w+)", "".join(blocks("console")))) - {"python", "pip"}
    assert configured == called == {"mypy", "pytest"}
    assert called <= brought


@pytest.mark.slow
def test_the_type_cases_are_what_pytest_finds(tmp_path: Path) -> None:
    PAGE.write(tmp_path)
    (tmp_path / "tests").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_says_of_each_program_what_is_shown(tmp_path: Path) -> None:
    found = checked(tmp_path, [PAGE], configured())
    for name, said, shown in found:
        assert said == shown, name
    assert sum(": error: " in said for _, said, _ in found) == 5


@pytest.mark.slow
def test_without_the_plugin_the_canary_is_refused_and_wrong_sizes_are_not(tmp_path: Path) -> None:
    without = configured().replace('plugins = ["wengert_mypy"]\n', "")
    said = {name: said for name, said, _ in checked(tmp_path, [PAGE], without)}
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
