"""What all tests need of their process.

Knows: that the shell starts a job in the background with interrupts ignored, and that tests raise them.
Refuses to know: any test.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def interrupts_heard() -> Iterator[None]:
    """Ctrl-C is a `KeyboardInterrupt`, in a background job too; a test that waits for one would wait for ever."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
