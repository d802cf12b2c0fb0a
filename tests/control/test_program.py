"""What interpreters build on: programs and environments."""

from __future__ import annotations

from concurrent.futures import CancelledError

import pytest

from wengert.control import Context, Do, Run, Steps, gather
from wengert.errors import NotAwaitableError

from .tracking import Boom, Ledger, in_run, raising


def environment(context: Context) -> Steps[object]:
    """A program that tells what it sees."""
    return context.environment
    yield  # makes it a generator


sees = Do.program(environment)


def test_a_program_is_sent_values_and_begins_afresh_in_each_run() -> None:
    begun: list[int] = []

    def steps(context: Context) -> Steps[int]:
        begun.append(1)
        total = 0
        for n in range(3):
            total += yield Do.delay(lambda: n)
        return total

    source = Do.program(steps)
    assert (source.run(), source.run(), len(begun)) == (3, 3, 2)


def test_a_program_may_catch_what_its_wish_failed_with_after_its_releases() -> None:
    ledger = Ledger()

    def steps(context: Context) -> Steps[list[str]]:
        yield ledger.resource("held")
        try:
            yield ledger.resource("failed").flat_map(lambda _: Do.fail(Boom("x")))
        except Boom:
            return ledger.open
        return []

    assert Do.program(steps).run() == ["held"]
    assert ledger.events == ["open held", "open failed", "close failed", "close held"]


def test_a_program_that_asks_for_something_else_is_told_where_it_asked() -> None:
    def steps(context: Context) -> Steps[str]:
        try:
            yield 3  # type: ignore[misc]  # the misuse that is tested
        except NotAwaitableError as failure:
            return str(failure)
        return "nothing"

    assert Do.program(steps).run() == (
        "what was awaited is 3 (int), not a Do; await a layer, a Do or a gather of these; "
        "wrap other work in Do.delay(function)"
    )


def test_within_reaches_into_everything_and_ends_with_its_source() -> None:
    every = gather(sees, sees.nested(), sees.shared(), Do.defer(lambda: sees), sees.recover(Do.fail))
    assert every.run() == (None,) * 5
    inside = Do.within("inner", every)
    assert inside.run() == ("inner",) * 5
    assert gather(sees, inside.map(lambda t: t[0]), sees).run() == (None, "inner", None)
    assert Do.within("a", inside.flat_map(lambda _: sees)).run() == "a"


def test_within_ends_with_a_failure_too() -> None:
    failing: Do[object] = Do.within("inner", Do.fail(Boom("x")))
    assert failing.recover(lambda _: sees).run() is None
    assert Do.within("outer", failing.recover(lambda _: sees)).run() == "outer"
    assert gather(failing.recover(lambda _: Do.now(1)), sees).run() == (1, None)


def test_a_program_is_closed_when_its_run_is_cancelled() -> None:
    ledger = Ledger()

    def steps(context: Context) -> Steps[int]:
        yield ledger.resource("before")
        try:
            yield ledger.resource("in").flat_map(lambda _: in_run(Run.cancel)).map(str)
        finally:
            ledger.note("closing")
        return 1

    with pytest.raises(CancelledError):
        Do.program(steps).run()
    assert ledger.events == ["open before", "open in", "close in", "closing", "close before"]


def test_a_program_that_fails_while_it_is_closed_is_heard() -> None:
    def steps(context: Context) -> Steps[int]:
        try:
            yield in_run(Run.cancel).map(str)
        finally:
            raising(Boom("in finally"))
        return 1

    with pytest.raises(Boom, match="in finally"):
        Do.program(steps).run()
