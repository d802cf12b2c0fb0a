"""`Do`'s constructors and what they say when they are given the wrong thing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from wengert.control import Context, Do, gather
from wengert.errors import NotAwaitableError

from .tracking import Boom, Ledger, Other, raising


def count(calls: list[str], name: str, value: int = 0) -> int:
    calls.append(name)
    return value


def test_s1_building_performs_nothing() -> None:
    calls: list[str] = []
    ledger = Ledger()

    def step(name: str) -> Callable[..., Do[int]]:
        return lambda *_: Do.delay(lambda: count(calls, name))

    def program(context: Context) -> Any:  # Any: never run
        calls.append("program")
        yield Do.now(1)

    async def body() -> int:
        return count(calls, "coroutine")

    delay = Do.delay(lambda: count(calls, "delay"))
    gather(
        delay.map(lambda n: count(calls, "map")),
        Do.defer(step("defer")).flat_map(step("flat_map")).recover(step("recover")),
        ledger.resource("r").shared().nested(),
        Do.program(program),
        Do.coroutine(body),
        Do.within(1, delay),
    )
    assert calls == []
    assert ledger.openings == []


def test_d9_an_exception_in_any_function_becomes_the_failure() -> None:
    failure = Boom("in a function")

    def fail(*_: object) -> NoReturn:
        raise failure

    known = Do.now(1)
    sources: list[Do[Any]] = [  # Any: none of them has a value
        Do.delay(fail),
        Do.defer(fail),
        Do.resource(fail),
        known.map(fail),
        known.flat_map(fail),
        Do.fail(Other("first")).recover(fail),
        Do.program(fail),
        Do.coroutine(fail),
    ]
    for source in sources:
        assert source.recover(Do.now).run() is failure, source


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_d9_another_base_exception_releases_all_and_passes_through(kind: type[BaseException]) -> None:
    ledger = Ledger()
    met: list[Exception] = []
    interrupt = kind("stop")
    source = (
        ledger.resource("a")
        .flat_map(lambda _: ledger.resource("b").nested().shared())
        .flat_map(lambda _: gather(ledger.resource("c"), Do.delay(lambda: raising(interrupt))))
        .recover(lambda x: Do.delay(lambda: met.append(x)))
    )
    with pytest.raises(kind) as caught:
        source.run()
    assert caught.value is interrupt
    assert met == []
    assert ledger.events == ["open a", "open b", "close b", "open c", "close c", "close a"]
    assert ledger.openings[0].seen is interrupt


def test_d10_two_uses_perform_the_effects_twice() -> None:
    calls: list[str] = []
    once = Do.delay(lambda: count(calls, "delay"))
    gather(once, once).run()
    once.run()
    assert calls == ["delay"] * 3


def test_recover_leaves_a_success_alone_and_sees_a_failure() -> None:
    failure = Boom("x")
    assert Do.now(1).recover(lambda _: Do.now(2)).run() == 1
    assert Do.fail(failure).recover(Do.now).run() is failure


def test_a_failure_in_a_loop_of_runs_does_not_lengthen_its_traceback() -> None:
    failure = Boom("x")
    failing = Do.fail(failure)

    def depth() -> int:
        with pytest.raises(Boom):
            failing.run()
        length, trace = 0, failure.__traceback__
        while trace is not None:
            length, trace = length + 1, trace.tb_next
        return length

    assert len({depth() for _ in range(5)}) == 1


def test_the_traceback_names_the_users_line_once() -> None:
    def fails(n: int) -> int:
        raise Boom("here")

    deep = Do.now(1)
    for _ in range(100):
        deep = deep.recover(Do.fail).nested()
    with pytest.raises(Boom) as caught:
        deep.map(fails).nested().shared().run()
    assert [entry.name for entry in caught.traceback].count("fails") == 1
    assert len(caught.traceback) < 15


def test_a_function_that_returns_no_do_is_named_with_its_place() -> None:
    def plain(n: int) -> int:
        return n + 1

    with pytest.raises(NotAwaitableError) as caught:
        Do.now(1).flat_map(plain).run()  # type: ignore[arg-type]  # the misuse that is tested
    text = str(caught.value)
    assert "the function given to flat_map, " in text
    assert f"plain ({__file__}:{plain.__code__.co_firstlineno}), returned 2 (int), not a Do" in text


def test_every_place_for_a_do_refuses_another_value() -> None:
    def nothing(*_: object) -> Any:  # Any: the misuse that is tested
        return None

    for source in (
        Do.defer(nothing),
        Do.now(1).flat_map(nothing),
        Do.fail(Boom("x")).recover(nothing),
        Do.coroutine(nothing),
    ):
        with pytest.raises(NotAwaitableError, match=r"nothing \(.*\).* returned None \(NoneType\), not a Do"):
            source.run()


def test_a_coroutine_in_the_place_of_a_do_is_closed_and_named() -> None:
    async def body() -> int:
        return 1

    with pytest.raises(NotAwaitableError, match=r"returned a coroutine, not a Do; write Do\.coroutine"):
        Do.defer(body).run()  # type: ignore[arg-type]  # the misuse that is tested
    with pytest.raises(NotAwaitableError, match="argument 1 of gather is a coroutine, not a Do"):
        gather(Do.now(1), body())  # type: ignore[call-overload]  # the misuse that is tested


def test_gather_says_what_it_was_given() -> None:
    with pytest.raises(NotAwaitableError, match=r"argument 0 of gather is \[<Do: Now>\] \(list\), not a Do"):
        gather([Do.now(1)])  # type: ignore[call-overload]  # the misuse that is tested
    with pytest.raises(TypeError, match=r"argument 1 of gather is <class '.*Do'> \(type\)"):
        gather(Do.now(1), Do)  # type: ignore[call-overload]  # the misuse that is tested


def test_fail_refuses_what_is_no_exception() -> None:
    with pytest.raises(TypeError, match=r"Do.fail takes an exception, not 'x' \(str\)"):
        Do.fail("x")  # type: ignore[arg-type]  # the misuse that is tested
    with pytest.raises(TypeError, match=r"Do\.fail takes an exception, not <class"):
        Do.fail(Boom)  # type: ignore[arg-type]  # the misuse that is tested


def test_resource_refuses_what_is_no_context_manager() -> None:
    with pytest.raises(TypeError, match=r"returned 3 \(int\), not a context manager; use Do.delay"):
        Do.resource(lambda: 3).run()  # type: ignore[arg-type, return-value]  # the misuse that is tested


def test_long_values_are_cut_in_errors() -> None:
    with pytest.raises(NotAwaitableError) as caught:
        gather("x" * 1000)  # type: ignore[call-overload]  # the misuse that is tested
    assert len(str(caught.value)) < 250


def test_a_do_shows_its_kind() -> None:
    assert repr(Do.now(1).map(str)) == "<Do: Map>"
    with pytest.raises(NotImplementedError, match=r"made by Do\.now"):
        Do[int]().run()


def test_d89_run_inside_a_running_do_is_another_run() -> None:
    ledger = Ledger()
    shared = ledger.resource("s").shared()
    source = shared.flat_map(lambda _: Do.delay(lambda: shared.map(lambda r: r.name).run()))
    assert source.run() == "s"
    assert ledger.events == ["open s", "open s", "close s", "close s"]

    def tower(n: int) -> int:
        return n if n == 0 else Do.delay(lambda: tower(n - 1)).run() + 1

    assert tower(20) == 20


def test_d19_no_run_uses_the_stack_for_depth() -> None:
    limit = sys.getrecursionlimit()
    deep: Do[int] = Do.now(0)
    for n in range(limit * 2):
        deep = [deep.nested(), deep.recover(Do.fail), Do.within(n, deep), deep.shared()][n % 4]
    assert deep.run() == 0
