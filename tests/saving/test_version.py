"""One version: that of the package, that of the project, and that which a file is given."""

from __future__ import annotations

import tomllib
from pathlib import Path

import wengert


def test_the_version_is_that_of_the_project() -> None:
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == wengert.__version__
