"""The page of the array API standard, function by function, against the library; names of numpy and their advice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import wengert as wg
from wengert.ops.absent import ABSENT

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "array_api.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([\w.]+)` \| (yes|no) \| ?(.*?) ?\|$", PAGE, re.MULTILINE)
RENAMED = {name: said for name, said in ABSENT.items() if said.startswith("write wg.")}


def found(name: str) -> object:
    """What a dotted name means."""
    here: object = wg
    for part in name.split("."):
        here = getattr(here, part)
    return here


def test_the_count_is_that_of_the_rows() -> None:
    here = [name for name, state, _ in ROWS if state == "yes"]
    assert f"{len(here)} of {len(ROWS)}." in PAGE
    assert len({name for name, *_ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("name", "state", "said"), ROWS)
def test_a_function_is_there_or_says_why_not(name: str, state: str, said: str) -> None:
    if state == "yes":
        assert callable(found(name))
        return
    with pytest.raises(AttributeError, match=re.escape(f"'{name.split('.')[0]}': {said}")):
        found(name)


@pytest.mark.parametrize("name", RENAMED)
def test_the_advice_names_something_that_is_there(name: str) -> None:
    (advised,) = re.findall(r"^write wg\.([\w.]+\w)", RENAMED[name])
    assert callable(found(advised))
    with pytest.raises(AttributeError, match=re.escape(advised)):
        getattr(wg, name)


def test_any_other_name_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'wengert' has no attribute 'no_such_name'$"):
        found("no_such_name")
