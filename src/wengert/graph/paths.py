"""Paths that a user gives, and files that are opened by them.

Knows: that a path is a str or an os.PathLike of one, and that what lies there may be a pipe, which would be waited for.
Refuses to know: what a file holds, and what is done with it.
"""

from __future__ import annotations

import os
from typing import BinaryIO, TypeAlias

from wengert.errors import ArgumentError, WengertError
from wengert.graph.operand import shown
from wengert.site import user_position

Path: TypeAlias = str | os.PathLike[str]


def path_of(who: str, given: object, wrong: type[WengertError]) -> str:
    """The path as a str; ArgumentError for what is none, `wrong` for a text that no file can be named by.

    >>> from pathlib import Path
    >>> from wengert.errors import DataError
    >>> path_of("sst", Path("data") / "train.txt", DataError) == os.path.join("data", "train.txt")
    True
    >>> path_of("sst", None, DataError)
    Traceback (most recent call last):
    wengert.errors.ArgumentError: sst: the path has to be a str or an os.PathLike of one; got None
    ...
    """
    path = given.__fspath__() if isinstance(given, os.PathLike) else given
    if not isinstance(path, str):
        raise ArgumentError(
            f"{who}: the path has to be a str or an os.PathLike of one; got {shown(given)}\n  at {user_position()}"
        )
    try:
        named = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        named = False
    if not named:
        raise wrong(f"{who}: no file can have the path {path[:60]!r}\n  at {user_position()}")
    return path


def opened(who: str, path: str, wrong: type[WengertError]) -> BinaryIO:
    """The file, to be read; OSError where there is none, `wrong` for a pipe or a device, of which there is no end."""
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):
        raise wrong(f"{who}: {path} is a pipe or a device, and should be a file\n  at {user_position()}")
    return open(path, "rb")
