"""The bytes of a data file, wherever it lies.

Knows: files that are mapped instead of read, folders, and archives that are read without being unpacked.
Refuses to know: what the bytes mean.
"""

from __future__ import annotations

import mmap
import os
import tarfile
import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from wengert.errors import ArgumentError, DataError
from wengert.graph.site import user_position

_LARGEST: Final = 2**31  # bytes in an archive that are read: no file of these is larger


class Content(NamedTuple):
    """Bytes, and where they are from, as an error says it."""

    place: str
    content: bytes | mmap.mmap


def check_part(who: str, part: str, parts: Sequence[str]) -> None:
    """ArgumentError for a part that there is none of."""
    if part not in parts:
        known = " or ".join(map(repr, parts))
        raise ArgumentError(f"{who}: part is {known}; got {part!r:.40}\n  at {user_position()}")


def mapped(path: str) -> Content:
    """A file, of which pages are read when they are used."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        # an empty file cannot be mapped
        return Content(path, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")


def in_folder(folder: str, names: Sequence[str]) -> str:
    """The first of these files that the folder has."""
    for name in names:
        if os.path.isfile(path := os.path.join(folder, name)):
            return path
    raise _absent(folder, names, os.listdir(folder))


def in_archive(path: str, names: Sequence[str]) -> Content:
    """The one of these files that the archive has, read into memory; nothing is written to disk."""
    there: list[str] = []
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                name = os.path.normpath(member.name)
                if member.isfile() and name in names:
                    return Content(f"{path}:{name}", _read(archive, member, path))
                there.append(name)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise DataError(f"{path}: it is no whole .tar.gz archive: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise  # the file cannot be opened or read
        raise DataError(f"{path}: it is no whole .tar.gz archive: {error}") from error
    raise _absent(path, names, there)


def _absent(path: str, names: Sequence[str], there: Sequence[str]) -> DataError:
    found = ", ".join(sorted(there)[:10]) or "nothing"
    return DataError(f"{path}: it has none of {', '.join(names)}; it has {found}")


def _read(archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> bytes:
    if member.size > _LARGEST:
        raise DataError(
            f"{path}: {member.name} has {member.size:,} bytes; no more than {_LARGEST:,} are read"
        )
    file, whole = archive.extractfile(member), archive.fileobj
    assert file is not None and whole is not None, "it is a regular file, in an archive that is open"
    content = file.read()
    while whole.read(1 << 20):
        pass  # at its end stands a sum of all bytes, which shows whether one has changed
    return content
