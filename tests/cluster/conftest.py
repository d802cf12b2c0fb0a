"""What each test of clusters leaves of this process: nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wengert.graph.store import STORE


@pytest.fixture(autouse=True)
def nobody_reads() -> Iterator[None]:
    """Parts in this process end their runs when they die, as those in a process of their own do."""
    before = {*STORE.readers}
    yield
    left = {*STORE.readers} - before
    for reader in left:  # or each later test of this process would fail too
        STORE.end(reader)
    assert not left, "a run is still open in this process"
