"""S8: depth costs memory and never the stack."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from tests.often import few
from wengert.control import Context, Do, Steps, gather

from .tracking import Boom, Ledger

MILLION = 1_000_000


def counted(n: int) -> Do[int]:
    return Do.now(n + 1)


@pytest.mark.slow
def test_d19_a_million_binds_nested_to_the_left() -> None:
    source = Do.now(0)
    for _ in range(MILLION // 2):
        source = source.flat_map(counted).map(lambda n: n + 1)
    assert source.run() == MILLION


@pytest.mark.slow
def test_d19_a_million_binds_nested_to_the_right() -> None:
    def loop(n: int) -> Do[int]:
        return Do.now(n) if n == MILLION else Do.now(n + 1).flat_map(loop)

    assert loop(0).run() == MILLION


@pytest.mark.slow
@pytest.mark.parametrize("depth", few([100_000, MILLION], 1, 1))
def test_d19_binds_within_each_other(depth: int) -> None:
    def inward(n: int) -> Do[int]:
        return Do.now(0) if n == 0 else Do.defer(lambda: inward(n - 1)).map(lambda total: total + 1)

    assert inward(depth).run() == depth


def wrapped(depth: int, wrap: Callable[[Do[object]], Do[object]], source: Do[object]) -> Do[object]:
    for _ in range(depth):
        source = wrap(source)
    return source


async def awaiting(source: Do[object]) -> object:
    return await source


def asking(source: Do[object], context: Context) -> Steps[object]:
    value: object = yield source
    return value


WRAPS: dict[str, Callable[[Do[object]], Do[object]]] = {
    "recover": lambda do: do.recover(Do.fail),
    "nested": lambda do: do.nested(),
    "shared": lambda do: do.shared(),
    "within": lambda do: Do.within(1, do),
    "gather": lambda do: gather(do),
    "coroutine": lambda do: Do.coroutine(partial(awaiting, do)),
    "program": lambda do: Do.program(partial(asking, do)),
}


@pytest.mark.slow
@pytest.mark.parametrize("failing_at", few([20_000, 100_000], 1, 1))
@pytest.mark.parametrize("wrap", WRAPS)
def test_s8_every_kind_nests_100_000_deep(wrap: str, failing_at: int) -> None:
    ledger = Ledger()
    opening = wrapped(100_000, WRAPS[wrap], ledger.resource("r"))
    opening.run()
    assert ledger.events == ["open r", "close r"]
    failure = Boom("deep")
    failing = wrapped(failing_at, WRAPS[wrap], ledger.resource("r").map(lambda _: 1 // 0))
    with pytest.raises(ZeroDivisionError):
        failing.run()
    with pytest.raises(Boom) as caught:
        wrapped(20_000, WRAPS[wrap], Do.fail(failure)).run()
    assert caught.value is failure
    assert ledger.open == []


@pytest.mark.slow
def test_s8_a_hundred_thousand_resources_are_released_without_recursion() -> None:
    ledger = Ledger()

    def loop(n: int) -> Do[int]:
        return Do.now(n) if n == 0 else ledger.resource("r").flat_map(lambda _: loop(n - 1))

    assert loop(100_000).run() == 0
    assert len(ledger.events) == 200_000
    assert ledger.open == []
