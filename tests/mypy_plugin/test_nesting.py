"""Calls within calls are checked in time that grows with how deep they are, and not with a power of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mypy_plugin.checking import project

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("call", ["wg.sum({}, axis=1, keepdims=True)", "wg.mean({}, axis=1, keepdims=True)"])
def test_thirty_calls_within_calls_are_checked(tmp_path: Path, call: str) -> None:
    """Four times as long for each call more, as mypy alone takes, would be longer than anybody waits."""
    expression = "x"
    for _ in range(30):
        expression = call.format(expression)
    text = f"""
from typing import Literal
import wengert as wg

def deep(x: wg.ArrayLayer[tuple[Literal[2], Literal[3]]]) -> wg.ArrayLayer[tuple[Literal[3]]]:
    return {expression}
"""
    (said,) = project(tmp_path / "deep", {"main.py": text})
    assert 'got "ArrayLayer[tuple[Literal[2], Literal[1]]' in said
