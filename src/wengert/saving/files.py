"""One file replaced at once: there is always the old content or the new one, whole, whatever is killed when.

Knows: a file beside it, fsync, rename, and fsync of the folder.
Refuses to know: what is in the file.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from errno import EEXIST
from glob import escape, glob

from wengert.errors import CheckpointWriteError
from wengert.graph.site import user_position


def replace(path: str, content: bytes) -> None:
    """Make `content` that of the file at `path`; CheckpointWriteError leaves what was there.

    A process that is killed in between leaves a file `.NAME.HEX.partial` in the folder, which may be deleted.
    """
    place = os.path.realpath(path)  # of a link, what it points to
    folder, name = os.path.split(place)
    beside = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.partial")
    try:
        _check(place)
        _write(beside, content)
        os.replace(beside, place)
    except BaseException as error:
        with suppress(OSError):  # it was not made, or is another name by now
            os.unlink(beside)
        if isinstance(error, OSError):
            raise _failure(path, error, "nothing was saved, and what was there is as it was") from error
        raise
    try:
        _sync_folder(folder)
    except OSError as error:
        raise _failure(path, error, "it was replaced, but may be as it was after a loss of power") from error


def remove_partial(path: str) -> None:
    """Delete what processes that were killed while they wrote this file have left; none may be writing it now."""
    folder, name = os.path.split(os.path.realpath(path))
    for left in glob(os.path.join(escape(folder), f".{escape(name)}.{'[0-9a-f]' * 16}.partial")):
        with suppress(FileNotFoundError):  # somebody else was faster
            os.unlink(left)


def _check(place: str) -> None:
    """OSError for what is there and no file: a device would be lost."""
    if os.path.lexists(place) and not os.path.isfile(place):
        raise OSError(EEXIST, "what is there is no file, but a folder or a device")


def _write(path: str, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: str) -> None:
    if not hasattr(os, "O_DIRECTORY"):
        return  # a system where folders cannot be opened
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _failure(path: str, error: OSError, so: str) -> CheckpointWriteError:
    failure = CheckpointWriteError(
        f"{path} could not be written: {error.strerror or error}; {so}\n  at {user_position()}"
    )
    failure.errno = error.errno
    return failure
