"""What the laws are checked with: openings that are told to fail, and observations that differ where runs do."""

from __future__ import annotations

import pytest

from wengert.control import Do
from wengert.control.laws import Events, Observation, Tracked, agree, observe, releases

from .tracking import Boom, Other


def test_an_opening_is_told_to_fail_when_it_closes() -> None:
    events: Events = []
    with pytest.raises(Boom, match="closing"):
        Do.resource(lambda: Tracked(events, "file", Boom("closing"))).run()
    assert Do.resource(lambda: Tracked(events, "disk")).run() == "disk"
    assert events == ["open file", "close file", "open disk", "close disk"]


def test_an_observation_has_the_value_or_the_failure_and_the_events_until_then() -> None:
    def writing(events: Events, end: Do[int]) -> Do[int]:
        return Do.delay(lambda: events.append("begun")).flat_map(lambda _: end)

    assert observe(lambda e: writing(e, Do.now(3))) == Observation(3, None, ("begun",))
    assert observe(lambda e: writing(e, Do.fail(Boom("x", 1)))) == Observation(
        None, (Boom, ("x", 1)), ("begun",)
    )
    group = observe(lambda e: Do.fail(ExceptionGroup("two", [Boom("x"), Other("y")])))
    assert group.failure == (ExceptionGroup, ((Boom, ("x",)), (Other, ("y",))))


@pytest.mark.parametrize(
    "other",
    [
        lambda e: Do.now(2),
        lambda e: Do.fail(Boom("x")),
        lambda e: Do.delay(lambda: e.append("event")).map(lambda _: 1),
    ],
    ids=["value", "failure", "event"],
)
def test_sides_that_differ_do_not_agree(other: object) -> None:
    agree("the same", lambda e: Do.now(1), lambda e: Do.now(1))
    with pytest.raises(AssertionError, match=r"the law does not hold:\n  left:  .*\n  right: "):
        agree("the law", lambda e: Do.now(1), other)  # type: ignore[arg-type] # one of the three above


def test_failures_of_two_arguments_are_two() -> None:
    with pytest.raises(AssertionError, match="does not hold"):
        agree("failures", lambda e: Do.fail(Boom("x")), lambda e: Do.fail(Boom("y")))
    with pytest.raises(AssertionError, match="does not hold"):
        agree("failures", lambda e: Do.fail(Boom("x")), lambda e: Do.fail(Other("x")))


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (["open a", "open b", "close a"], "b was never closed"),
        (["open a", "open a", "close a"], "a was never closed"),
        (["open a", "open b"], "a, b was never closed"),
        (["open a", "close a", "close a"], "a was closed more often than opened"),
        (["close a", "open a"], "a was closed more often than opened"),
    ],
)
def test_what_is_opened_is_closed_once(events: Events, said: str) -> None:
    releases(lambda e: Do.delay(lambda: e.extend(["open a", "between", "close a", "open a", "close a"])))
    with pytest.raises(AssertionError, match=said):
        releases(lambda e: Do.delay(lambda: e.extend(events)))
