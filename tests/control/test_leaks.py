"""S13: with the cycle collector off nothing of a run stays alive."""

from __future__ import annotations

import asyncio
import tracemalloc
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from wengert.control import Context, Do, Steps, gather
from wengert.control.laws import Tracked

from .tracking import Boom, raising


class Kept:
    """What must not be kept."""


def catching(source: Do[Any]) -> None:  # Any: the value is not looked at
    with suppress(Exception, KeyboardInterrupt):
        source.run()


def tracked() -> Do[str]:
    return Do.resource(lambda: Tracked([], "r"))


class BadlyClosed:
    """Not a `contextlib.contextmanager`: from Python 3.12 on, one that raises leaves a cycle by itself."""

    def __enter__(self) -> str:
        return "r"

    def __exit__(self, *failure: object) -> None:
        raise Boom("y")


class InterruptedExit(BadlyClosed):
    """Ctrl-C comes while it is closed."""

    def __exit__(self, *failure: object) -> None:
        raise KeyboardInterrupt


def cancelling(context: Context) -> Steps[None]:
    context.run.cancel()
    yield Do.now(None)


async def awaiting(source: Do[Any]) -> object:  # Any: the value is not looked at
    return await source


async def rescuing(source: Do[Any]) -> object:  # Any: the value is not looked at
    try:
        return await source
    except Boom:
        return await Do.now(1)


async def failing_close(source: Do[Any]) -> object:  # Any: the value is not looked at
    try:
        return await source
    finally:
        raise Boom("z")


def boom() -> object:
    raise Boom("x")


def interrupt() -> object:
    raise KeyboardInterrupt


def sources() -> dict[str, Callable[[], Do[Any]]]:  # Any: the values are not looked at
    failing = Do.delay(boom)
    return {
        "value": lambda: Do.delay(Kept).map(lambda k: k),
        "failure": lambda: failing,
        "failure in a shared part": lambda: gather(shared := failing.shared(), shared),
        "failures": lambda: gather(failing, failing, Do.delay(lambda: raising(Boom("y")))),
        "recover": lambda: failing.recover(lambda x: Do.fail(x)).recover(lambda _: Do.now(1)),
        "recover that raises it again": lambda: failing.recover(raising),  # type: ignore[arg-type]  # a misuse
        "coroutine": lambda: Do.coroutine(partial(awaiting, Do.delay(Kept))),
        "failing coroutine": lambda: Do.coroutine(partial(awaiting, failing)),
        "failing coroutine in coroutine": lambda: Do.coroutine(
            partial(awaiting, Do.coroutine(partial(awaiting, failing)))
        ),
        "rescuing coroutine": lambda: Do.coroutine(partial(rescuing, failing)),
        "shared resource": lambda: gather(shared := tracked().shared(), shared.nested()),
        "failing with a resource": lambda: tracked().flat_map(lambda _: failing).nested(),
        "failing exit": lambda: Do.resource(BadlyClosed).flat_map(lambda _: failing),
        "failing exit alone": lambda: Do.resource(BadlyClosed),
        "failing exit while cancelled": lambda: Do.resource(BadlyClosed).flat_map(
            lambda _: Do.coroutine(partial(failing_close, Do.program(cancelling)))
        ),
        "interrupted": lambda: tracked().flat_map(
            lambda _: Do.coroutine(partial(awaiting, Do.delay(interrupt)))
        ),
        "interrupted and failing": lambda: Do.resource(BadlyClosed).flat_map(
            lambda _: Do.coroutine(partial(failing_close, Do.delay(interrupt)))
        ),
        "interrupted exit": lambda: Do.resource(InterruptedExit).flat_map(lambda _: failing),
        "interrupted exit of a nested part": lambda: Do.resource(InterruptedExit).nested(),
        "interrupted exit while cancelled": lambda: Do.coroutine(
            partial(awaiting, Do.resource(InterruptedExit).flat_map(lambda _: Do.program(cancelling)))
        ),
        "cancelled": lambda: tracked().flat_map(lambda _: Do.program(cancelling)),
        "foreign await": lambda: Do.coroutine(partial(awaiting, 3)),  # type: ignore[arg-type]  # a misuse
        "sleep": lambda: Do.coroutine(partial(asyncio.sleep, 1)),
    }


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("name", sources())
def test_s13_a_run_leaves_nothing(name: str) -> None:
    kept: list[weakref.ref[Kept]] = []

    def watch(context: Context) -> Steps[object]:
        local = context.run.local("kept", Kept)
        kept.append(weakref.ref(local))
        yield Do.now(None)
        return local

    watched = Do.program(watch)
    for _ in range(3):
        catching(watched.flat_map(lambda _: sources()[name]()))
    assert len(kept) == 3
    assert [ref() for ref in kept] == [None] * 3


@pytest.mark.slow
@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("name", sources())
@pytest.mark.parametrize("how", ["run", "start"])
def test_s13_a_thousand_runs_grow_nothing(name: str, how: str) -> None:
    def once() -> None:
        source = sources()[name]()
        if how == "run":
            catching(source)
        else:
            with suppress(Exception, KeyboardInterrupt):
                source.start().result(10)

    for _ in range(50):
        once()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(300):
        once()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 30_000


@pytest.mark.usefixtures("collector_off")
def test_s13_awaiting_in_asyncio_leaves_nothing() -> None:
    kept: list[weakref.ref[Kept]] = []

    def make() -> Kept:
        made = Kept()
        kept.append(weakref.ref(made))
        return made

    async def main() -> None:
        for _ in range(3):
            assert isinstance(await Do.delay(make), Kept)
            with suppress(Boom):
                await Do.delay(make).map(lambda k: raising(Boom("x")))

    asyncio.run(main())
    assert len(kept) == 6
    assert [ref() for ref in kept] == [None] * 6
