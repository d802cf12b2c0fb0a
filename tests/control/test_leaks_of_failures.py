"""S13: with the cycle collector off no failure stays alive, though its traceback holds all frames that it passed."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import pytest

from wengert.control import Do, Run, gather

from .tracking import Boom, in_run

pytestmark = pytest.mark.usefixtures("collector_off")


class Failure(Boom):
    """Its end is watched."""


class Interrupt(KeyboardInterrupt):
    """Its end is watched too."""


Held = list[BaseException]  # one, which whoever raises it takes out: the test's own frames must not hold it


def give(held: Held) -> NoReturn:
    raise held.pop()


def again(failure: BaseException) -> NoReturn:
    try:
        raise failure
    finally:
        del failure


class Closing:
    """Fails when it is closed."""

    def __init__(self, held: Held) -> None:
        self.held = held

    def __enter__(self) -> None: ...

    def __exit__(self, *failure: object) -> None:
        give(self.held)


async def caught(source: Callable[[], Do[Any]]) -> None:  # Any: the value is not looked at
    with suppress(Failure, Interrupt):
        await source()


async def closing(held: Held, source: Callable[[], Do[Any]]) -> None:  # Any: as above
    try:
        await source()
    finally:
        give(held)


def failing(held: Held) -> Do[Any]:  # Any: as above
    return Do.delay(lambda: give(held))


def closes(held: Held) -> Do[Any]:  # Any: as above
    return Do.resource(lambda: Closing(held))


def other() -> Do[Any]:  # Any: as above
    return Do.fail(Boom("other"))


SOURCES: dict[str, Callable[[Held], Do[Any]]] = {  # Any: as above
    "step": failing,
    "step in a coroutine": lambda held: Do.coroutine(lambda: caught(lambda: failing(held))),
    "step in a nested part": lambda held: failing(held).nested(),
    "step in a shared part": lambda held: gather(shared := failing(held).shared(), shared),
    "handler": lambda held: other().recover(lambda _: give(held)),
    "handler that raises it again": lambda held: failing(held).recover(again),
    "handler of a handler": lambda held: failing(held).recover(again).recover(again).recover(again),
    "exit": closes,
    "exit of a nested part": lambda held: closes(held).nested(),
    "exit of a shared part": lambda held: gather(shared := closes(held).shared(), shared.nested()),
    "exit of a part that fails": lambda held: closes(held).flat_map(lambda _: other()).nested(),
    "exit before a handler": lambda held: closes(held).flat_map(lambda _: other()).recover(again),
    "exit in a cancelled run": lambda held: closes(held).flat_map(lambda _: in_run(Run.cancel)),
    "close of a coroutine": lambda held: Do.coroutine(lambda: closing(held, lambda: in_run(Run.cancel))),
    "close of a coroutine that fails": lambda held: Do.coroutine(lambda: closing(held, other)),
}


def run(source: Callable[[], Do[Any]]) -> None:  # Any: as above
    source().run()


def start(source: Callable[[], Do[Any]]) -> None:  # Any: as above
    source().start().result(10)


def in_asyncio(source: Callable[[], Do[Any]]) -> None:  # Any: as above
    asyncio.run(caught(source))


@pytest.mark.parametrize("perform", [run, start])
@pytest.mark.parametrize("kind", [Failure, Interrupt])
@pytest.mark.parametrize("name", SOURCES)
def test_s13_no_failure_is_kept(
    name: str, kind: type[BaseException], perform: Callable[[Callable[[], Do[Any]]], None]
) -> None:
    held: Held = [kind("x")]
    kept = weakref.ref(held[0])
    with suppress(Boom, Interrupt, ExceptionGroup):
        perform(lambda: SOURCES[name](held))
    assert held == [] and gone(kept)


@pytest.mark.parametrize("perform", [run, start, in_asyncio, lambda f: Do.coroutine(lambda: caught(f)).run()])
def test_s13_a_do_that_holds_its_failure_is_no_cycle(
    perform: Callable[[Callable[[], Do[Any]]], None],
) -> None:
    held = [Failure("x")]
    kept = weakref.ref(held[0])
    with suppress(Failure):
        perform(lambda: Do.fail(held.pop()))
    assert gone(kept)


def gone(kept: weakref.ref[Any]) -> bool:  # Any: as above
    """Now, or when the thread of a started run has ended."""
    for _ in range(100):
        if kept() is None:
            return True
        time.sleep(0.01)
    return False
