"""The rings: how many examples each draws, and which cases of many the fast one takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.often import LEAST, MOST, PROFILES, WHOLE, examples, few, left_out, ring_of


def cases(name: str, count: int) -> list[Any]:  # Any: of an item of pytest the name is enough
    return [SimpleNamespace(nodeid=f"tests/{name}.py::test_{name}[{i:03}]") for i in range(count)]


@pytest.mark.parametrize(
    ("marks", "ring"),
    [
        ("", "daily"),
        ("not nightly and not gpu", "daily"),
        ("not slow", "fast"),
        ("sampled or not slow", "daily"),
        ("nightly", "nightly"),
    ],
)
def test_a_ring_has_its_profile(marks: str, ring: str) -> None:
    assert ring_of(marks) == ring


def test_as_many_examples_as_the_ring_asks_for() -> None:
    share = settings.default.max_examples / WHOLE if settings.default else 1.0
    assert examples(100).max_examples == round(100 * share)
    assert examples(1).max_examples == max(LEAST, round(share))
    assert PROFILES["fast"] < PROFILES["daily"] < PROFILES["whole"] == WHOLE < PROFILES["nightly"]


@given(st.integers(1, 60))
def test_a_few_cases_stay_and_lie_evenly(count: int) -> None:
    made = cases("one", count)
    gone = [case.nodeid for case in left_out(made)]
    kept = [i for i, case in enumerate(made) if case.nodeid not in gone]
    assert len(kept) == min(MOST, count)
    if count > MOST:
        apart = {(b - a) % count for a, b in zip(kept, [*kept[1:], kept[0]], strict=True)}
        assert apart <= {count // MOST, count // MOST + 1}


def test_two_laws_take_different_cases() -> None:
    kept = [{case.nodeid[-4:] for case in left_out(cases(name, 60))} for name in ("one", "two", "three")]
    assert len({frozenset(x) for x in kept}) > 1


def test_cases_are_of_three_rings() -> None:
    first, second, third = few("abc", 1, 2)
    assert first == "a"
    assert [second.marks[0].name, third.marks[0].name] == ["slow", "nightly"]  # type: ignore[attr-defined] # of pytest.param
