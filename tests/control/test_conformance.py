"""The ancestor's own cases for effects, in Wengert's terms."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import reduce
from typing import NoReturn

import pytest

from wengert.control import Do, UnitContinuation, gather

from .tracking import Boom, Ledger, Opening, Other


def boom(*_: object) -> NoReturn:
    raise Boom("told to")


def test_d136_a_nested_resource_is_closed_before_what_follows() -> None:
    ledger = Ledger()

    def look(b: Opening) -> list[str]:
        return [*ledger.open, *ledger.events]

    seen = ledger.resource("a").nested().flat_map(lambda _: ledger.resource("b")).map(look).run()
    assert seen == ["b", "open a", "close a", "open b"]
    assert ledger.events == ["open a", "close a", "open b", "close b"]


def test_d137_thirty_thousand_nested_flat_maps() -> None:
    def add(total: int, n: int) -> Do[int]:
        return Do.now(total) if n == 30_000 else Do.delay(lambda: n).flat_map(lambda k: add(total + k, n + 1))

    assert add(0, 0).run() == 449_985_000


def test_d138_a_resource_is_open_inside_a_started_run_only() -> None:
    ledger = Ledger()
    inside = ledger.resource("r").map(lambda r: r.is_open).start().result(10)
    assert inside is True
    assert ledger.open == []
    assert ledger.events == ["open r", "close r"]


def test_d139_a_shared_resource_in_two_nested_flat_maps_is_one_instance() -> None:
    ledger = Ledger()
    shared = ledger.numbered().shared()
    same = shared.flat_map(lambda a: shared.map(lambda b: (a is b, a.is_open, b.name))).run()
    assert same == (True, True, "0")
    assert ledger.events == ["open 0", "close 0"]


def test_d140_gather_of_one_shared_resource_opens_it_once() -> None:
    ledger = Ledger()
    shared = ledger.numbered().shared()
    assert gather(shared, shared).map(lambda pair: pair[0].name + pair[1].name).run() == "00"
    assert ledger.events == ["open 0", "close 0"]


def test_d141_a_failing_branch_beside_a_shared_resource() -> None:
    ledger = Ledger()
    called: list[object] = []
    failure = Boom("branch")
    with pytest.raises(Boom) as caught:
        gather(ledger.numbered().shared(), Do.fail(failure)).map(called.append).run()
    assert caught.value is failure
    assert called == []
    assert ledger.events == ["open 0", "close 0"]


@contextmanager
def opened_elsewhere(ledger: Ledger, name: str, delay: float) -> Generator[str]:
    """Opened, and slowly closed, by other threads."""

    def on_another_thread(event: str) -> None:
        def work() -> None:
            time.sleep(delay)
            ledger.note(event)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    on_another_thread(f"open {name}")
    yield name
    on_another_thread(f"close {name}")


def elsewhere(delay: float) -> tuple[Ledger, Do[tuple[str, str, str]]]:
    ledger = Ledger()
    numbers = iter("01")
    resource = Do.resource(lambda: opened_elsewhere(ledger, next(numbers), delay))
    shared = resource.shared()
    return ledger, gather(resource, shared, shared)


def test_d142_resources_opened_by_other_threads() -> None:
    ledger, three = elsewhere(0.0)
    assert "".join(three.run()) == "011"
    assert ledger.events == ["open 0", "open 1", "close 1", "close 0"]


def test_d143_the_run_returns_after_the_last_slow_close() -> None:
    ledger, three = elsewhere(0.01)
    assert "".join(three.start().result(10)) == "011"
    assert ledger.events == ["open 0", "open 1", "close 1", "close 0"]


def test_d144_two_resources_by_flat_map_are_both_open_inside() -> None:
    ledger = Ledger()
    both = ledger.resource("a").flat_map(lambda _: ledger.resource("b").map(lambda _: ledger.open))
    assert both.run() == ["a", "b"]
    assert ledger.events == ["open a", "open b", "close b", "close a"]


def test_d145_an_unshared_resource_used_twice_is_two_instances() -> None:
    ledger = Ledger()
    resource = ledger.numbered()
    assert resource.flat_map(lambda a: resource.map(lambda b: (a.name, b.name))).run() == ("0", "1")
    assert ledger.events == ["open 0", "open 1", "close 1", "close 0"]


def test_d146_a_resource_of_a_fixed_id_fails_at_its_second_opening() -> None:
    taken: set[str] = set()

    @contextmanager
    def exclusive() -> Generator[str]:
        if "id" in taken:
            raise Boom("id is open already")
        taken.add("id")
        try:
            yield "id"
        finally:
            taken.remove("id")

    resource = Do.resource(exclusive)
    with pytest.raises(Boom, match="open already"):
        resource.flat_map(lambda _: resource).run()
    assert taken == set()


def test_d147_map_raises_after_opening() -> None:
    ledger = Ledger()

    def fail(_: Opening) -> None:
        ledger.note("error")
        raise Boom("in map")

    with pytest.raises(Boom, match="in map"):
        ledger.resource("r").map(fail).run()
    assert ledger.events == ["open r", "error", "close r"]


def test_d148_map_and_exit_raise() -> None:
    ledger = Ledger(r=Other("in exit"))
    with pytest.raises(ExceptionGroup) as caught:
        ledger.resource("r").map(boom).run()
    assert [type(member) for member in caught.value.exceptions] == [Boom, Other]
    assert ledger.events == ["open r", "close r"]


def test_d149_a_resource_is_itself_the_result() -> None:
    ledger = Ledger()
    assert ledger.resource("r").run() is ledger.openings[0]
    assert ledger.events == ["open r", "close r"]


def test_d150_two_branches_finished_from_outside() -> None:
    first, second = threading.Event(), threading.Event()
    joined: list[int] = []

    def after(event: threading.Event) -> Do[int]:
        return Do.delay(lambda: event.wait(10)).map(int)

    future = gather(after(first), after(second)).map(lambda pair: joined.append(sum(pair))).start()
    second.set()
    time.sleep(0.01)
    assert joined == []
    first.set()
    future.result(10)
    assert joined == [2]


def test_d151_unit_continuations_of_40_and_2() -> None:
    forty, two = UnitContinuation.now(40), UnitContinuation.delay(lambda: 2)
    assert forty.flat_map(lambda a: two.map(lambda b: a + b)).run() == 42


def test_d152_a_counting_delay_is_performed_at_each_use() -> None:
    counts: list[int] = []

    def count() -> int:
        counts.append(len(counts) + 1)
        return counts[-1]

    once = Do.delay(count)
    assert once.flat_map(lambda a: once.flat_map(lambda b: once.map(lambda c: (a, b, c)))).run() == (1, 2, 3)


def test_d153_a_future_keeps_its_one_result() -> None:
    counts: list[int] = []
    future = Do.delay(lambda: counts.append(1)).map(lambda _: len(counts)).start()
    assert [future.result(10) for _ in range(3)] == [1, 1, 1]


def test_d154_map_of_a_known_value() -> None:
    assert Do.now(3).map(lambda n: n * n).run() == 9
    with pytest.raises(Boom):
        Do.now(3).map(boom).run()


def test_d155_failures_wait_for_the_run() -> None:
    delayed, failed = Do.delay(boom), Do.fail(Boom("given"))
    with pytest.raises(Boom, match="told to"):
        delayed.run()
    with pytest.raises(Boom, match="given"):
        failed.run()


def test_d156_recover_raises_the_same_error() -> None:
    failure = Boom("again")

    def again(met: Exception) -> Do[int]:
        raise met

    with pytest.raises(Boom) as caught:
        Do.fail(failure).recover(again).run()
    assert caught.value is failure


def test_d157_a_loop_stops_at_its_failing_step() -> None:
    steps: list[int] = []

    def step(n: int) -> Do[int]:
        steps.append(n)
        return Do.delay(boom).flat_map(lambda _: step(n + 1))

    with pytest.raises(Boom):
        Do.now(0).flat_map(step).run()
    assert steps == [0]


def test_d158_a_loop_of_10_000_steps() -> None:
    def step(n: int) -> Do[int]:
        return Do.now(n) if n == 10_000 else Do.delay(lambda: n + 1).flat_map(step)

    assert step(0).run() == 10_000
    left: Do[int] = reduce(lambda do, _: do.flat_map(lambda n: Do.now(n + 1)), range(10_000), Do.now(0))
    assert left.run() == 10_000


def test_d159_gather_of_one() -> None:
    assert gather(Do.now(1)).run() == (1,)


def test_d160_a_gathered_function_is_applied() -> None:
    def apply(function: Do[type[str]]) -> str:
        return gather(Do.now(1), function).map(lambda pair: pair[1](pair[0])).run()

    assert apply(Do.now(str)) == "1"
    with pytest.raises(Boom):
        gather(Do.now(1), Do.now(boom)).map(lambda pair: pair[1](pair[0])).run()
