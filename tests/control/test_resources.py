"""What is opened is closed: once, in order, whatever fails meanwhile."""

from __future__ import annotations

from typing import NoReturn

import pytest

from wengert.control import Do, gather
from wengert.errors import Failures

from .tracking import Boom, Ledger, Opening, Other, raising


def boom(*_: object) -> NoReturn:
    raise Boom("told to")


def test_d11_latest_opened_is_closed_first_and_sees_the_failure() -> None:
    ledger = Ledger()
    with pytest.raises(Boom) as caught:
        ledger.resource("a").flat_map(lambda _: ledger.resource("b")).map(boom).run()
    assert ledger.events == ["open a", "open b", "close b", "close a"]
    assert [opening.seen for opening in ledger.openings] == [caught.value] * 2


def test_d11_without_a_failure_none_is_seen() -> None:
    ledger = Ledger()
    ledger.resource("a").run()
    assert ledger.openings[0].seen is None


def test_d11_a_resource_that_is_not_reached_is_not_opened() -> None:
    ledger = Ledger()
    with pytest.raises(Boom):
        Do.delay(boom).flat_map(lambda _: ledger.resource("a")).run()
    assert ledger.events == []


def test_d11_a_failing_enter_is_not_exited() -> None:
    class Shut(Opening):
        def __enter__(self) -> Opening:
            raise Boom("cannot open")

    with pytest.raises(Boom, match="cannot open"):
        Do.resource(lambda: Shut(Ledger(), "r")).run()


def test_d12_a_failing_exit_stops_no_other_release_and_fails_the_run() -> None:
    failure = Other("b's exit")
    ledger = Ledger(b=failure)
    three = ledger.resource("a").flat_map(
        lambda _: ledger.resource("b").flat_map(lambda _: ledger.resource("c"))
    )
    with pytest.raises(Other) as caught:
        three.run()
    assert caught.value is failure
    assert ledger.events[3:] == ["close c", "close b", "close a"]
    assert [opening.seen for opening in ledger.openings] == [failure, None, None]


def test_d12_all_failures_come_in_one_flat_group() -> None:
    ledger = Ledger(a=Other("a"), b=Other("b"))
    with pytest.raises(Failures) as caught:
        ledger.resource("a").flat_map(lambda _: ledger.resource("b")).map(boom).run()
    assert [str(member) for member in caught.value.exceptions] == ["told to", "b", "a"]


def test_d12_an_exit_that_raises_the_failure_it_saw_adds_nothing() -> None:
    class Again(Opening):
        def __exit__(self, kind: object, failure: BaseException | None, trace: object) -> bool:
            super().__exit__(None, failure, None)
            assert failure is not None
            raise failure

    ledger = Ledger()
    with pytest.raises(Boom, match="told to"):
        Do.resource(lambda: Again(ledger, "r")).map(boom).run()


def test_an_interrupt_in_an_exit_stops_no_other_release() -> None:
    ledger = Ledger(b=KeyboardInterrupt("in exit"))
    with pytest.raises(KeyboardInterrupt) as caught:
        ledger.resource("a").flat_map(lambda _: ledger.resource("b")).map(boom).run()
    assert ledger.open == []
    assert ledger.events == ["open a", "open b", "close b", "close a"]
    assert "Boom: told to" in caught.value.__notes__[0]


def test_an_interrupt_in_an_exit_of_a_nested_part_ends_the_run() -> None:
    ledger = Ledger(b=KeyboardInterrupt("in exit"))
    met: list[Exception] = []
    source = ledger.resource("a").flat_map(lambda _: ledger.resource("b").map(boom).nested())
    with pytest.raises(KeyboardInterrupt):
        source.recover(lambda x: Do.delay(lambda: met.append(x))).run()
    assert met == []
    assert ledger.events == ["open a", "open b", "close b", "close a"]


def test_an_exit_that_fails_after_an_interrupt_is_noted_on_it() -> None:
    ledger = Ledger(a=Other("a's exit"))
    with pytest.raises(KeyboardInterrupt) as caught:
        ledger.resource("a").map(lambda _: raising(KeyboardInterrupt())).run()
    assert "Other: a's exit" in caught.value.__notes__[0]


def test_d13_flat_map_holds_and_nested_releases() -> None:
    ledger = Ledger()
    a, b = ledger.resource("a"), ledger.resource("b")
    assert a.flat_map(lambda _: b).map(lambda _: ledger.open).run() == ["a", "b"]
    assert a.flat_map(lambda _: b.nested()).map(lambda _: ledger.open).run() == ["a"]
    assert a.flat_map(lambda _: b).nested().map(lambda _: ledger.open).run() == []


def test_d13_a_nested_part_whose_release_fails_is_a_failure_there() -> None:
    failure = Other("exit")
    ledger = Ledger(a=failure)
    assert ledger.resource("a").nested().recover(Do.now).run() is failure


def test_recover_comes_after_the_releases_and_keeps_what_was_open_before() -> None:
    ledger = Ledger(c=Other("c's exit"))
    inner = ledger.resource("b").flat_map(lambda _: ledger.resource("c")).map(boom)
    recovered = inner.recover(lambda failure: Do.now((str(failure), ledger.open)))
    text, still_open = ledger.resource("a").flat_map(lambda _: recovered).run()
    assert text == "2 failures in one run (2 sub-exceptions)"
    assert still_open == ["a"]


def test_gather_releases_a_failed_branch_at_once_and_the_others_at_the_end() -> None:
    ledger = Ledger()

    def after() -> list[str]:
        ledger.note("last branch")
        return ledger.open

    failed = ledger.resource("b").map(boom)
    with pytest.raises(Boom) as caught:
        gather(ledger.resource("a"), failed, Do.delay(after)).run()
    assert ledger.events == ["open a", "open b", "close b", "last branch", "close a"]
    assert ledger.openings[0].seen is caught.value


def test_d15_every_branch_runs_and_failures_are_flat() -> None:
    ran: list[str] = []
    first, second, third = Boom("1"), Boom("2"), Boom("3")

    def failing(failure: Exception) -> Do[object]:
        return Do.delay(lambda: ran.append(str(failure))).flat_map(lambda _: Do.fail(failure))

    inner = gather(failing(second), Do.delay(lambda: ran.append("fine")), failing(third))
    with pytest.raises(Failures) as caught:
        gather(failing(first), inner, failing(first)).map(lambda _: ran.append("mapped")).run()
    assert caught.value.exceptions == (first, second, third)
    assert ran == ["1", "2", "fine", "3", "1"]


def test_d15_one_failure_met_twice_is_itself() -> None:
    failure = Boom("x")
    shared = Do.fail(failure).shared()
    with pytest.raises(Boom) as caught:
        gather(shared, shared, Do.fail(failure)).run()
    assert caught.value is failure


def test_d15_a_users_own_group_stays_one_member() -> None:
    own = ExceptionGroup("mine", [Boom("1"), Boom("2")])
    with pytest.raises(Failures) as caught:
        gather(Do.fail(own), Do.fail(Boom("3"))).run()
    assert caught.value.exceptions[0] is own


def test_gather_of_nothing_is_the_empty_tuple() -> None:
    assert gather().run() == ()


def test_d14_runs_do_not_share() -> None:
    ledger = Ledger()
    shared = ledger.numbered().shared()
    assert (shared.run().name, shared.run().name) == ("0", "1")


def test_d14_a_shared_value_is_computed_once_though_two_shared_hold_it() -> None:
    ledger = Ledger()
    shared = ledger.numbered().shared()
    left, right = shared.map(lambda r: r.name), shared.map(lambda r: r.is_open)
    assert gather(left, right, shared.shared().map(lambda r: r.name)).run() == ("0", True, "0")
    assert ledger.events == ["open 0", "close 0"]


def test_d14_closed_after_the_last_holder_and_not_reopened() -> None:
    ledger = Ledger()
    shared = ledger.resource("s").shared()
    two = gather(shared, shared.nested()).map(lambda pair: ledger.note("both")).nested()

    def look(late: Opening) -> bool:
        ledger.note("late")
        return late.is_open

    assert two.flat_map(lambda _: shared).map(look).run() is False
    assert ledger.events == ["open s", "both", "close s", "late"]


def test_d14_a_user_outside_a_nested_part_keeps_it_open() -> None:
    ledger = Ledger()
    shared = ledger.resource("s").shared()
    source = gather(shared.map(lambda r: r.name).nested(), Do.now(0))
    held = shared.flat_map(lambda r: source.map(lambda _: r.is_open))
    assert held.run() is True
    assert ledger.events == ["open s", "close s"]


def test_d14_what_a_shared_part_holds_is_shared_too() -> None:
    ledger = Ledger()
    inner = ledger.resource("inner").shared()
    outer = inner.flat_map(lambda _: ledger.resource("outer")).shared()
    assert gather(outer.nested(), inner.map(lambda r: r.is_open)).run()[1] is False
    assert ledger.events == ["open inner", "open outer", "close outer", "close inner"]


def test_d14_a_failing_shared_part_fails_each_user_with_the_same_exception() -> None:
    ledger = Ledger()
    shared = ledger.resource("s").map(boom).shared()
    first = shared.recover(Do.now)
    assert len({id(failure) for failure in gather(first, first).run()}) == 1
    assert ledger.events == ["open s", "close s"]


def test_d14_a_shared_part_that_waits_for_itself_is_an_error() -> None:
    cyclic: Do[int] = Do.defer(lambda: cyclic.map(lambda n: n + 1)).shared()
    with pytest.raises(RecursionError, match="a shared Do waits for itself"):
        cyclic.run()


def test_a_release_that_fails_late_in_a_shared_part_reaches_the_caller() -> None:
    ledger = Ledger(s=Other("exit"))
    shared = ledger.resource("s").shared()
    with pytest.raises(Other):
        gather(shared, shared).run()
    assert ledger.events == ["open s", "close s"]
