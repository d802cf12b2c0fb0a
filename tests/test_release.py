"""Versions agree, hosted CI runs what the repository says, and a release needs a tree that is ready."""

from __future__ import annotations

import doctest
import re
import subprocess
import tomllib
from pathlib import Path

import docstrings
import pytest

import wengert
from tests.documents import ROOT
from wengert.__main__ import main

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text()


def test_the_version_is_printed_and_is_the_same_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"wengert {wengert.__version__}\n"
    assert PROJECT["version"] == wengert.__version__
    assert f"\nversion: {wengert.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {wengert.__version__} (" in (ROOT / "CHANGELOG.md").read_text()


def test_the_wheel_names_its_authors_and_papers_as_the_citation_does() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"authors:\n  - name: {PROJECT['authors'][0]['name']}\n" in citation
    papers = [link for name, link in PROJECT["urls"].items() if name.startswith("Paper")]
    assert papers == re.findall(r"url: (.*)", citation)


def test_hosted_ci_runs_each_supported_python_and_what_the_readme_says() -> None:
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    (matrix,) = re.findall(r"python: \[(.*)\]", WORKFLOW)
    assert re.findall(r'"(.*?)"', matrix) == supported
    assert "run: .ci/run\n" in WORKFLOW
    assert "-m sphinx -W --keep-going -b html docs" in WORKFLOW


def test_the_oldest_versions_of_ci_are_those_of_the_project() -> None:
    lowest = {
        re.split(r"[<>=]", line)[0]: line.partition(">=")[2].partition(",")[0]
        for line in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["mypy"]]
    }
    for name in ("numpy", "mypy"):
        assert f"'{name}=={lowest[name]}.*'" in WORKFLOW


@pytest.mark.parametrize(
    ("version", "date", "said"),
    [
        ("9.9.9", "unreleased", "src/wengert/version.py has another version than 9.9.9"),
        (
            wengert.__version__,
            "unreleased",
            f"CHANGELOG.md needs a line '## {wengert.__version__} (YYYY-MM-DD)'",
        ),
        (
            wengert.__version__,
            "2026-01-31",
            "pyproject.toml needs a line 'Repository = \"https://…\"' below [project.urls]",
        ),
    ],
)
def test_a_tree_that_is_not_ready_is_not_released(version: str, date: str, said: str, tmp_path: Path) -> None:
    for name in (".ci/release", "pyproject.toml", "CITATION.cff", "CHANGELOG.md", "src/wengert/version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    changelog = (tmp_path / "CHANGELOG.md").read_text()
    heading = f"## {wengert.__version__} ({date})"
    (tmp_path / "CHANGELOG.md").write_text(
        re.sub(rf"^## {re.escape(wengert.__version__)} \(.*\)$", heading, changelog, flags=re.M)
    )
    project = (tmp_path / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(re.sub(r"^Repository = .*\n", "", project, flags=re.M))
    (tmp_path / ".ci" / "release").chmod(0o755)
    for command in (
        ["init"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "a"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True, capture_output=True)
    done = subprocess.run([".ci/release", version], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"release: {said}\n")
    (tmp_path / "new").write_text("")
    done = subprocess.run([".ci/release", version], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == "release: the tree has changes; commit them first\n"


def test_docstrings_become_restructured_text() -> None:
    failed, tried = doctest.testmod(docstrings)
    assert (failed, tried > 0) == (0, True)
    assert (
        docstrings.restructured("x: the\n    data of `Do`s and w_")
        == "- **x**: the data of ``Do``\\ s and w\\_\n"
    )
    assert docstrings.restructured("a.\n>>> f(1)\n2\n\nb") == "a.\n\n>>> f(1)\n2\n\nb\n"
    assert docstrings.restructured("a.\n\n    y = f(x)") == "a.\n\n::\n\n    y = f(x)\n"
