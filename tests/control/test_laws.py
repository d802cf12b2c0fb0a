"""The laws of `Do` on every constructor, and each law's checker where it must fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.often import examples
from wengert.control import Context, Do, Steps, gather, laws
from wengert.control.laws import Events, Make, Tracked

from .tracking import Boom, Other

IntMake = Make[int]


def noted(events: Events, event: str, value: int) -> int:
    events.append(event)
    return value


def program(events: Events, inner: IntMake) -> Do[int]:
    def steps(context: Context) -> Steps[int]:
        first = yield inner(events)
        events.append("between")
        second = yield Do.now(1)
        return int(first) + int(second)

    return Do.program(steps)


def coroutine(events: Events, inner: IntMake) -> Do[int]:
    async def body() -> int:
        try:
            return await inner(events) + 1
        except Boom:
            events.append("caught Boom")
            return await Do.now(-1)

    return Do.coroutine(body)


def twice(make: IntMake, events: Events) -> Do[int]:
    """One shared object, used twice."""
    shared = make(events).shared()
    return shared.flat_map(lambda a: shared.map(lambda b: a + b))


def opened(events: Events, number: int, failure: Exception | None) -> Do[int]:
    name = f"r{number}"
    return Do.resource(lambda: Tracked(events, name, failure)).map(lambda _: number)


small = st.integers(-5, 5)
failures = st.sampled_from([Boom("generated"), Other("generated")])
leaves: st.SearchStrategy[IntMake] = st.one_of(
    small.map(lambda n: lambda e: Do.now(n)),
    small.map(lambda n: lambda e: Do.delay(lambda: noted(e, f"delay {n}", n))),
    failures.map(lambda x: lambda e: Do.fail(x)),
    st.tuples(small, st.none() | failures).map(lambda p: lambda e: opened(e, *p)),
)


def grow(inner: st.SearchStrategy[IntMake]) -> st.SearchStrategy[IntMake]:
    wraps: list[Callable[[IntMake], IntMake]] = [
        lambda m: lambda e: Do.defer(lambda: m(e)),
        lambda m: lambda e: m(e).map(lambda n: noted(e, "map", n + 1)),
        lambda m: lambda e: m(e).recover(lambda x: Do.delay(lambda: noted(e, f"recover {x}", 0))),
        lambda m: lambda e: m(e).nested(),
        lambda m: lambda e: m(e).shared(),
        lambda m: lambda e: twice(m, e),
        lambda m: lambda e: Do.within("here", m(e)),
        lambda m: lambda e: program(e, m),
        lambda m: lambda e: coroutine(e, m),
    ]
    joins: list[Callable[[IntMake, IntMake], IntMake]] = [
        lambda m, k: lambda e: m(e).flat_map(lambda n: k(e).map(lambda o: n + o)),
        lambda m, k: lambda e: m(e).recover(lambda x: k(e)),
        lambda m, k: lambda e: gather(m(e), k(e)).map(sum),
    ]
    return st.one_of(
        st.tuples(st.sampled_from(wraps), inner).map(lambda p: p[0](p[1])),
        st.tuples(st.sampled_from(joins), inner, inner).map(lambda p: p[0](p[1], p[2])),
    )


makes = st.recursive(leaves, grow, max_leaves=6)
thens = makes.map(lambda m: lambda e, n: m(e).map(lambda o: n + o))
handlers = makes.map(lambda m: lambda e, x: m(e).map(lambda n: noted(e, f"handled {x}", n)))


@pytest.mark.slow
@given(makes, thens, thens, handlers, handlers, small, failures)
@examples(300)
def test_d8_monad_and_recover_laws(
    make: IntMake,
    then: laws.Then[int, int],
    after: laws.Then[int, int],
    handler: laws.Handler[int],
    other: laws.Handler[int],
    value: int,
    failure: Exception,
) -> None:
    laws.left_identity(value, then)
    laws.right_identity(make)
    laws.associativity(make, then, after)
    laws.map_is_flat_map(make, lambda n: n * 2)
    laws.recover_of_fail(failure, handler)
    laws.recover_of_now(make, handler)
    laws.recover_is_associative(make, handler, other)
    laws.failure_stops(failure, then)


@given(makes)
@examples(50)
def test_d11_whatever_is_opened_is_closed_once(make: IntMake) -> None:
    laws.releases(make)


@given(makes)
@examples(50)
def test_gather_of_one_changes_nothing_but_the_tuple(make: IntMake) -> None:
    laws.gather_keeps(make)


class Broken(Do[int]):
    """A `Do` that goes wrong in whichever method it is told to."""

    __slots__ = ("inner", "wrong")

    def __init__(self, inner: Do[int], wrong: str) -> None:
        self.inner = inner
        self.wrong = wrong

    def _begin(self, machine: Any) -> Do[Any]:  # Any: as in Do, and this one never looks at it
        return self.inner.map(lambda n: n + 1) if self.wrong == "gather" else self.inner

    def map(self, transform: Callable[[int], Any]) -> Do[Any]:  # Any: broken for all results
        return Do.fail(Boom("map")) if self.wrong == "map" else self.inner.map(transform)

    def flat_map(self, then: Callable[[int], Do[Any]]) -> Do[Any]:  # Any: broken for all results
        if self.wrong == "forgets":
            return Do.now(0)
        if self.wrong == "twice":
            return self.inner.flat_map(then).flat_map(lambda _: self.inner.flat_map(then))
        if self.wrong == "nested":
            return Broken(self.inner.flat_map(then), "forgets")
        return self.inner.flat_map(then)

    def recover(self, handler: Callable[[Exception], Do[Any]]) -> Do[Any]:  # Any: broken for all results
        if self.wrong == "deaf":
            return self
        if self.wrong == "eager" and handler is not Do.fail:
            return self.inner.flat_map(lambda _: handler(Boom("eager")))
        if self.wrong == "always":
            return handler(Boom("always"))
        if self.wrong == "deaf later":
            return Broken(self.inner.recover(handler), "deaf")
        return self.inner.recover(handler)


def delayed(events: Events) -> Do[int]:
    return Do.delay(lambda: noted(events, "delay", 3))


def add_one(events: Events, n: int) -> Do[int]:
    return Do.now(n + 1)


def zero(events: Events, failure: Exception) -> Do[int]:
    return Do.now(0)


def again(events: Events, failure: Exception) -> Do[int]:
    return Do.fail(Other("again"))


def failing_checks() -> dict[str, Callable[[], None]]:
    def broken(wrong: str, inner: IntMake = delayed) -> IntMake:
        return lambda e: Broken(inner(e), wrong)

    def failed(events: Events) -> Do[int]:
        return Do.fail(Boom("x"))

    def changing(values: list[int]) -> IntMake:
        return lambda e: Do.now(values.pop(0))

    return {
        "left identity": lambda: laws.left_identity(1, add_one, lambda n: Broken(Do.now(n), "forgets")),
        "right identity": lambda: laws.right_identity(broken("twice")),
        "associativity": lambda: laws.associativity(broken("nested"), add_one, add_one),
        "map": lambda: laws.map_is_flat_map(broken("map"), str),
        "recover with fail": lambda: laws.recover_of_now(broken("always"), zero),
        "recover of a success": lambda: laws.recover_of_now(broken("eager"), zero),
        "associativity of recover": lambda: laws.recover_is_associative(
            broken("deaf later", failed), again, zero
        ),
        "failure stops": lambda: laws.failure_stops(
            Boom("x"), add_one, lambda x: Broken(Do.fail(x), "forgets")
        ),
        "gather of one": lambda: laws.gather_keeps(broken("gather")),
        "gather with now": lambda: laws.gather_keeps(changing([3, 3, 4, 5])),
    }


@pytest.mark.parametrize("law", failing_checks())
def test_each_checker_fails_where_its_law_is_broken(law: str) -> None:
    with pytest.raises(AssertionError, match=f"^{law} does not hold:\n  left: .*\n  right: "):
        failing_checks()[law]()


def test_the_checker_of_recover_fails_on_a_handler_that_differs_between_calls() -> None:
    answers = iter(range(10))
    with pytest.raises(AssertionError, match="recover of fail does not hold"):
        laws.recover_of_fail(Boom("x"), lambda e, x: Do.now(next(answers)))
