"""A pytest plugin for type-level regression tests: the cases under any folder named `typecheck`.

    # pyproject.toml of a project that wants it
    [tool.pytest.ini_options]
    addopts = "-p wengert.testing.collector"
    testpaths = ["tests", "typecheck"]

    # typecheck/model.py
    def case_the_head_gives_ten_scores() -> None:
        assert_type(head(features), ArrayLayer[tuple[Batch, Literal[10]]])

    def case_images_are_no_features() -> None:
        head(images)  # E[shape]: inner dimensions 784 and 64 differ

Each top-level `case_*` is a test. A line marked `# E[code]: regex` (code and regex optional) has to be refused
so, every other line accepted; what stands outside the cases has to be clean. mypy runs once for all files, with
the project's own configuration and `--strict`, in the folder where pytest found its configuration.

A folder of cases with a `mypy.ini` of its own is checked with that configuration in a run of its own:
`typecheck/plain/mypy.ini` without the line `plugins = wengert_mypy` is for what holds without the plugin. Give
such a file a `cache_dir` of its own too, or the runs forget each other's answers. A relative `mypy_path` in it
starts where mypy runs; `$MYPY_CONFIG_FILE_DIR` is the folder of the file.

Knows: how cases become items of pytest, and which of them share a run of mypy.
Refuses to know: how mypy's answer is read and compared; `typecases` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from wengert.testing.typecases import Case, Error, cases_in, check, outside, problems

Answers = dict[Path, list[Error]]
Configuration = Path | None  # None: the project's own, which mypy finds by itself

_FILES: Final = pytest.StashKey[dict[Configuration, list[Path]]]()
_ANSWERS: Final = pytest.StashKey[dict[Configuration, Answers]]()
FOLDER: Final = "typecheck"
CONFIGURATION: Final = "mypy.ini"


class TypeProblem(Exception):
    """mypy's answer and the marks of a case differ."""


class TypeFile(pytest.File):
    """One file of cases."""

    def collect(self) -> Iterator[pytest.Item]:
        """An item a case, and one for what stands outside them."""
        files = self.config.stash.setdefault(_FILES, {})
        files.setdefault(configuration(self.path, self.config.rootpath), []).append(self.path)
        for case in cases_in(self.path):
            yield TypeCase.from_parent(self, name=case.name, case=case)
        yield Outside.from_parent(self, name="outside the cases")


class _Item(pytest.Item):
    def answers(self) -> Answers:
        """mypy's answer for all collected files of one configuration; asked for once."""
        root = self.config.rootpath
        known = self.config.stash.setdefault(_ANSWERS, {})
        by = configuration(self.path, root)
        if by not in known:
            options = [] if by is None else ["--config-file", str(by)]
            known[by] = check(self.config.stash[_FILES][by], root, *options)
        return known[by]

    def found(self) -> list[str]:
        """Problems of the case, a line each."""
        raise NotImplementedError

    def runtest(self) -> None:
        """Fail with all that is wrong."""
        found = self.found()
        if found:
            raise TypeProblem("\n".join(found))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """The problems alone: a traceback through this file would say nothing."""
        if isinstance(excinfo.value, (TypeProblem, RuntimeError)):
            return f"{self.path}:\n{excinfo.value}"
        return str(excinfo.getrepr())


class TypeCase(_Item):
    """One `case_*`."""

    def __init__(self, name: str, parent: pytest.Collector, case: Case) -> None:
        super().__init__(name, parent)
        self.case = case

    def found(self) -> list[str]:
        return problems(self.case, self.answers())

    def reportinfo(self) -> tuple[Path, int, str]:
        """Path and name of the case."""
        return self.path, self.case.first - 1, self.name


class Outside(_Item):
    """Imports and helpers of a file."""

    def found(self) -> list[str]:
        if not cases_in(self.path):
            return ["a file without cases in a folder of cases"]
        return outside(self.path, self.answers())


def configuration(path: Path, root: Path) -> Configuration:
    """The nearest `mypy.ini` from the folder of a file of cases up to the folder `typecheck` that it is in."""
    for folder in path.parents:
        if FOLDER not in folder.relative_to(root).parts:
            return None
        if (folder / CONFIGURATION).is_file():
            return folder / CONFIGURATION
    return None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Files under a folder `typecheck` of the project; pytest's own configuration files are none."""
    root = parent.config.rootpath
    if file_path.suffix != ".py" or file_path.name == "conftest.py" or not file_path.is_relative_to(root):
        return None
    if FOLDER not in file_path.relative_to(root).parts[:-1]:
        return None
    return TypeFile.from_parent(parent, path=file_path)
