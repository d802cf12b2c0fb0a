"""What tests of files ask for by name.

Knows: a file that was saved as it should be.
Refuses to know: what becomes of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.saving.models import adam, network, step
from wengert.saving import save


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a network that has had a step."""
    model = network(adam())
    step(model)
    save(tmp_path / "model", model, step=3)
    return tmp_path / "model"
