"""What tests of several files here ask for by name.

Knows: how often Python lets threads take turns.
Refuses to know: any test.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.run.divided import switching


@pytest.fixture
def switching_fast() -> Iterator[None]:
    """Threads take turns as often as they can."""
    with switching():
        yield
