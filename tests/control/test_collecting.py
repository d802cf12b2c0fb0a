"""The collector is off where it is asked to be, and as it was afterwards."""

from __future__ import annotations

import gc
from threading import Event, Thread

import pytest

from wengert.control import without_collector

pytestmark = pytest.mark.usefixtures("collector_on")


@pytest.mark.parametrize("before", [True, False], ids=["on", "off"])
def test_the_collector_is_off_within_and_then_as_before(before: bool) -> None:
    (gc.enable if before else gc.disable)()
    with without_collector():
        assert not gc.isenabled()
    assert gc.isenabled() is before


def test_the_outermost_brings_it_back() -> None:
    gc.enable()
    with without_collector():
        with without_collector():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_failure_brings_it_back() -> None:
    gc.enable()
    with pytest.raises(ZeroDivisionError), without_collector():
        _ = 1 / 0
    assert gc.isenabled()


def test_the_last_of_several_threads_brings_it_back() -> None:
    gc.enable()
    inside, leave = Event(), Event()

    def other() -> None:
        with without_collector():
            inside.set()
            leave.wait(60)

    thread = Thread(target=other)
    with without_collector():
        thread.start()
        assert inside.wait(60)
    assert not gc.isenabled(), "the other thread is still without it"
    leave.set()
    thread.join()
    assert gc.isenabled()
