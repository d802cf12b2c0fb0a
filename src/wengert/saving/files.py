"""One file replaced at once: there is always the old content or the new one, whole, whatever is killed when.

Knows: a file beside it, locked while it is written, fsync, rename, and fsync of the folder; that what a killed process
has left beside it is locked by nobody.
Refuses to know: what is in the file.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from contextlib import suppress
from errno import EEXIST
from typing import Final

from wengert.errors import CheckpointWriteError
from wengert.site import user_position

if sys.platform != "win32":
    import fcntl

_HEX: Final = re.compile(r"[0-9a-f]{16}")
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_PRIVATE: Final = 0o600  # of a file that becomes another one: who may not read that cannot open this either
_NEW: Final = 0o666  # of which the umask takes what it takes


def replace(path: str, content: bytes) -> None:
    """Make `content` that of the file at `path`, which keeps its mode; CheckpointWriteError leaves what was there.

    A process that is killed in between leaves a file `.NAME.HEX.partial` in the folder, which the next one removes.
    """
    place = os.path.realpath(path)  # of a link, what it points to
    remove_partial(place)
    try:
        before = _before(place)
        while not _replaced(place, content, before):
            pass
    except OSError as error:
        raise _failure(path, error, "nothing was saved, and what was there is as it was") from error
    try:
        _sync_folder(os.path.dirname(place))
    except OSError as error:
        raise _failure(path, error, "it was replaced, but may be as it was after a loss of power") from error


def remove_partial(path: str) -> None:
    """Delete what processes that were killed while they wrote this file have left, as far as that is possible.

    Whoever writes holds a lock, which ends with the process: what can be locked is nobody's. What cannot be, for
    whatever reason, stays, as everything does on a system without such locks.
    """
    folder, name = os.path.split(os.path.realpath(path))
    names: list[str] = []
    with suppress(OSError):  # a folder that is not there, or is closed
        names = os.listdir(folder)
    head, tail = f".{name}.", ".partial"
    for other in names:
        if other.startswith(head) and other.endswith(tail) and _HEX.fullmatch(other[len(head) : -len(tail)]):
            _remove(os.path.join(folder, other))


def _remove(path: str) -> None:
    if sys.platform == "win32":
        return
    with suppress(OSError):  # somebody else was faster, or may, or writes it
        handle = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW)  # a pipe would be waited for
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        finally:
            os.close(handle)


def _before(place: str) -> os.stat_result | None:
    """The file that is replaced, if there is one; OSError for what is there and no file: a device would be lost."""
    try:
        found = os.lstat(place)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OSError(EEXIST, "what is there is no file, but a folder or a device")
    return found


def _replaced(place: str, content: bytes, before: os.stat_result | None) -> bool:
    """Replace a file; False where the file beside it was taken for one that a killed process has left."""
    folder, name = os.path.split(place)
    beside = os.path.join(folder, f".{name}.{secrets.token_hex(8)}.partial")
    try:
        handle = os.open(beside, _CREATE, _NEW if before is None else _PRIVATE)
        with open(handle, "wb") as file:
            if not _locked(handle, beside):
                return False
            file.write(content)
            file.flush()
            if before is not None:
                _keep_mode(handle, before)
            os.fsync(handle)
            if sys.platform != "win32":
                os.replace(beside, place)  # while it is locked
        if sys.platform == "win32":
            os.replace(beside, place)  # an open file has no other name there
    except BaseException:
        with suppress(OSError):  # it was not made, or is another name by now
            os.unlink(beside)
        raise
    return True


def _locked(handle: int, path: str) -> bool:
    """Lock a file so that nobody removes it; False where it was removed between its creation and its lock."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks, where nobody can have one
    return os.path.lexists(path)


def _keep_mode(handle: int, before: os.stat_result) -> None:
    """Give a file mode, group and owner of the one that it replaces, the latter two if that is allowed."""
    if sys.platform == "win32":
        return
    for owner, group in ((-1, before.st_gid), (before.st_uid, -1)):
        with suppress(OSError):
            os.fchown(handle, owner, group)
    now, mode = os.fstat(handle), before.st_mode & 0o777
    if now.st_gid != before.st_gid:
        mode &= ~0o070  # what one group may is nothing for another
    if now.st_mode & 0o777 != mode:
        os.fchmod(handle, mode)


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
