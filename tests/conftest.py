"""What all tests need of their process.

Knows: that the shell starts a job in the background with interrupts ignored, and that tests raise them; that whoever
looks for what is left over walks through everything that is there; that machines are busy; that each ring draws as
many examples as it has time for.
Refuses to know: any test.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import scheduling
from tests.often import PROFILES, drawn, function_of, left_out, ring_of
from wengert.ops import load_families

HERE = Path(__file__).resolve().parent

# A hundred processes import the library: without its bytecode each compiles it, which takes twice as long.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

load_families()  # or the workers, which read files in orders of their own, collect other operations

# Without a clock: how long an example takes on a busy machine says nothing about it.
for name, most in PROFILES.items():
    settings.register_profile(name, deadline=None, max_examples=most)


@pytest.hookimpl(tryfirst=True)  # before Hypothesis looks at `--hypothesis-profile`
def pytest_configure(config: pytest.Config) -> None:
    """As many drawn examples as the ring asks for, from before the first test is read; workers share the cores."""
    settings.load_profile(ring_of(config.option.markexpr))
    if config.pluginmanager.hasplugin("xdist"):
        odd = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 2 == 1
        config.pluginmanager.register(scheduling.Plugin(backwards=odd))
        if config.option.numprocesses:
            scheduling.share_cores(os.environ)


@pytest.hookimpl(tryfirst=True)  # before pytest looks at `-m`
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark nightly tests as slow too: `-m "not slow"` takes the place of what leaves nightly ones out.

    At night, what is drawn by day is drawn again, many more times. Of many cases of a test the fast ring takes a
    few, but for the tests of this folder itself, where a case is a file of the repository.
    """
    at_night = ring_of(config.option.markexpr) == "nightly"
    for item in items:
        if at_night and drawn(item):
            item.add_marker("nightly")
        if item.get_closest_marker("nightly") or item.get_closest_marker("gpu"):
            item.add_marker("slow")
    many: dict[str, list[pytest.Item]] = {}
    below = {path for path in {item.path for item in items} if HERE in path.parent.parents}
    for item in items:
        if item.path in below and not item.get_closest_marker("slow"):
            many.setdefault(function_of(item), []).append(item)
    for cases in many.values():
        for item in left_out(cases):
            item.add_marker("slow")
            item.add_marker("sampled")


@pytest.fixture(scope="session", autouse=True)
def interrupts_heard() -> Iterator[None]:
    """Ctrl-C is a `KeyboardInterrupt`, in a background job too; a test that waits for one would wait for ever."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module", autouse=True)
def only_what_the_module_makes_is_collected() -> None:
    """What is there before stays anyway: tests that look for leaks need not walk through it, which takes longest."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def collector_off() -> Iterator[None]:
    """What dies, dies by reference counts alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def collector_on() -> Iterator[None]:
    """Python's collector runs in the beginning, and is as before in the end."""
    was_on = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_on else gc.disable)()
