"""What a misuse says, whole, and that it loses nothing.

Knows: how an exception is written down so that it can be compared, and which weights must not have changed.
Refuses to know: which text is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.graph.store import STORE
from wengert.plugins import Adam, LearningRate

Unchecked = Any  # the tests that use these names do what a type checker refuses, on purpose

wg: Unchecked = wengert


class Settings(Adam, LearningRate): ...


SETTINGS: Unchecked = Settings(learning_rate=0.1)
ones: Unchecked = lambda *shape, dtype=np.float32: np.ones(shape, dtype)  # noqa: E731  # one line of data
w: Unchecked = SETTINGS.array_weight(ones(2, 3), name="w")
v: Unchecked = SETTINGS.array_weight(ones(2, 3, dtype=np.float64), name="v")
column: Unchecked = SETTINGS.array_weight(ones(5, 1), name="column")
logits: Unchecked = SETTINGS.array_weight(ones(4, 3), name="logits")
d: Unchecked = SETTINGS.double_weight(2.0, name="d")
f: Unchecked = SETTINGS.float_weight(2.0, name="f")
x: Unchecked = ones(4, 5)
WEIGHTS = (w, v, column, logits, d, f)


class Boom(Exception):
    """A failure of the user's own."""


def raising(*ignored: object) -> Unchecked:
    """A user's function that fails."""
    raise Boom("of my own")


def state() -> list[object]:
    """Data and optimizer state of every weight here."""
    return [
        [np.asarray(weight.data).tolist()]
        + [(k, np.asarray(s).tolist()) for k, s in vars(weight.optimizer).items() if k != "settings"]
        for weight in WEIGHTS
    ]


def said(action: Callable[[], object]) -> str:
    """Kind, text and notes of what `action` raises; nothing is lost by it: no data, no state, no lock."""
    before = state()
    with pytest.raises(Exception) as caught:  # noqa: PT011  # every kind; the caller compares it
        action()
    assert state() == before
    assert not any(STORE.readers.values())
    assert not STORE._training.locked()
    notes = [f"+ {note}" for note in getattr(caught.value, "__notes__", ())]
    text = "\n".join([f"{type(caught.value).__name__}: {caught.value}", *notes])
    assert text.count("\n") < 12, "a text of more than 12 lines is not read"
    return normalised(text, action.__code__)


def normalised(text: str, code: CodeType) -> str:
    """Positions inside `code` as `here`, others without path and number; addresses without digits."""
    here = {f"{Path(code.co_filename).name}:{line}" for line in lines(code)}

    def shortened(match: re.Match[str]) -> str:
        name, _, line = match.group().rpartition(":")
        place = f"{Path(name).name}:{line}"
        return "here" if place in here else f"{Path(name).name}:N"

    return re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"[^\s'(,]+\.py:\d+", shortened, text))


def lines(code: CodeType) -> Iterator[int]:
    """The lines of a function and of all functions written in it."""
    for _, _, line in code.co_lines():
        if line is not None:
            yield line
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from lines(part)
