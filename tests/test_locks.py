"""The hashed list of what CI can install: every file by its hash, and all that the project asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
_LINE = re.compile(r"(?P<name>[a-z0-9._-]+)==(?P<version>[^ ]+) --hash=sha256:[0-9a-f]{64}")


def locked(text: str) -> dict[str, str]:
    """The version of each package of a lock; refused where a line has none, or no hash."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        read = _LINE.fullmatch(line)
        assert read is not None, f"not `name==version --hash=sha256:...`: {line!r}"
        found[_normal(read["name"])] = read["version"]
    return found


def missing(lock: dict[str, str], wanted: list[str]) -> list[str]:
    """What is asked for and not locked in its range."""
    asked = [Requirement(text) for text in wanted]
    return [
        str(x)
        for x in asked
        if _normal(x.name) not in lock or not x.specifier.contains(lock[_normal(x.name)])
    ]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _wanted() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    named = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in ("test", "examples", "saving", "proto", "images"):
        named += [text for text in extras[extra] if not text.startswith("wengert")]
    return named


def test_all_that_the_tests_ask_for_is_locked_with_its_hash() -> None:
    lock = locked((ROOT / ".ci" / "requirements.lock").read_text())
    assert missing(lock, _wanted()) == []


def test_a_lock_that_is_wrong_is_found() -> None:
    assert missing({"numpy": "1.26.4"}, ["numpy>=2.2,<3", "ruff>=0.8"]) == ["numpy<3,>=2.2", "ruff>=0.8"]
    with pytest.raises(AssertionError, match="numpy"):
        locked("numpy==2.4.6")
