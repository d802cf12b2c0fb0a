"""Bytes of messages: functions, arguments, answers and failures, as cloudpickle carries them.

Knows: that what cannot be imported elsewhere is carried whole; that an exception keeps its type and its notes.
Refuses to know: who carries the bytes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pickle import PickleBuffer
from typing import Any, Final, NamedTuple

from wengert.errors import ArgumentError, WengertError
from wengert.graph.operand import shown
from wengert.packages import optional
from wengert.saving.portable import holder_of
from wengert.site import user_position

_UNCARRIED: Final = pickle.PicklingError, AttributeError, TypeError


class Failed(NamedTuple):
    """An answer that is a failure; an exception that cannot be carried is told in words."""

    packed: bytes

    def exception(self) -> Exception:
        """The exception as it was raised."""
        found: Exception = pickle.loads(self.packed)
        return found


@contextmanager
def carried(*values: object) -> Generator[None]:
    """Raise ArgumentError for what cannot be pickled within, with the field of `values` that keeps it from that."""
    try:
        yield
    except _UNCARRIED as failure:
        what = ", ".join(map(shown, values)) or "a message"
        raise ArgumentError(
            f"{what} cannot be sent to another process: {failure!s:.200}{holder_of(values)}\n  at {user_position()}"
        ) from failure


def packed(x: object, buffers: Callable[[PickleBuffer], object] | None = None) -> bytes:
    """A value as bytes. Raises ArgumentError for what cannot be pickled, and PackageError without cloudpickle."""
    dumps = optional("cloudpickle", "cloudpickle", "wengert.cluster", "cluster").dumps
    with carried(x):
        found: bytes = dumps(x, protocol=5, buffer_callback=buffers)
    return found


def answer(function: Callable[..., object], args: tuple[Any, ...]) -> object:  # Any: what the function takes
    """Result of a function, in the process that was asked; a failure is an answer, too."""
    try:
        return function(*args)
    except Exception as failure:
        try:
            words = packed(failure)
            pickle.loads(words)  # some can be written, and not be read
        except Exception:
            told = WengertError(f"{type(failure).__name__}: {failure}")
            for note in getattr(failure, "__notes__", ()):
                told.add_note(note)
            words = packed(told)
        return Failed(words)
