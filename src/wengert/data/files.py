"""The bytes of a data file, wherever it lies.

Knows: files that are mapped instead of read, folders, and archives that are read without being unpacked, within
bounds that no archive of these data reaches.
Refuses to know: what the bytes mean.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import BinaryIO, Final, NamedTuple

from wengert.errors import ArgumentError, DataError
from wengert.graph.paths import opened
from wengert.site import user_position

_LARGEST: Final = 2**28  # bytes of an archive without its compression; those of CIFAR-100 have 187 million
_MOST: Final = (
    10_000  # files in an archive, and pieces that are compressed alone; those of CIFAR-100 have 5, and 1
)
_CHUNK: Final = 1 << 16
_BLOCK: Final = 512  # bytes of a header; all that stands in an archive begins at a multiple of it
_NAME: Final = 1 << 16  # bytes of what a header is continued in, where a name is too long for it
# links, devices, folders and pipes: no bytes follow, whatever the size
_WITHOUT_BYTES: Final = frozenset(b"123456")


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
    with opened("data", path, DataError) as file:
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
    with opened("data", path, DataError) as file:
        archive = _Archive(file)
        try:
            for name, size, plain in archive.files():
                if plain and name in names:
                    return Content(f"{path}:{name}", archive.last(name, size))
                there.append(name)
        except (_Broken, zlib.error) as error:
            raise DataError(f"{path}: it is no whole .tar.gz archive: {error!s:.200}") from error
        except _TooLarge as error:
            raise DataError(f"{path}: {error}") from error
    raise _absent(path, names, there)


def _absent(path: str, names: Sequence[str], there: Sequence[str]) -> DataError:
    found = ", ".join(name[:60] for name in sorted(there)[:10]) or "nothing"
    return DataError(f"{path}: it has none of {', '.join(names)}; it has {found}")


class _Broken(Exception):
    """Reason why an archive is damaged."""


class _TooLarge(Exception):
    """Part of an archive that exceeds a bound."""


class _Inflated:
    """The bytes of a .gz file, a part at a time, with the sums that stand in it compared."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.pieces = 1
        self.left = _LARGEST
        self.machine = zlib.decompressobj(31)  # 31: as gzip writes

    def some(self, most: int) -> bytes:
        """At least a byte, and no more than `most`; none at the end."""
        while not (self.machine.eof and not self.next_piece()):
            fed = self.machine.unconsumed_tail or self.file.read(_CHUNK)
            found = self.machine.decompress(fed, most)
            self.left -= len(found)
            if self.left < 0:
                raise _TooLarge(
                    f"it has more than {_LARGEST:,} bytes without its compression; no more are read"
                )
            if found:
                return found
            if not fed and not self.machine.eof:
                raise _Broken("it was cut short")
        return b""

    def next_piece(self) -> bool:
        """Tell whether another piece follows; zeros may stand between."""
        fed = self.machine.unused_data.lstrip(b"\0")
        while not fed and (read := self.file.read(_CHUNK)):
            fed = read.lstrip(b"\0")
        if not fed:
            return False
        self.pieces += 1
        if self.pieces > _MOST:
            raise _TooLarge(f"it was compressed in more than {_MOST:,} pieces")
        self.file.seek(-len(fed), os.SEEK_CUR)
        self.machine = zlib.decompressobj(31)
        return True


class _Archive:
    """Reads tar, front to back: each block once, none kept, and no more of them than the bounds say.

    Not with `tarfile`, which takes as much memory as a header asks for, and for some time beyond proportion.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.whole = _Inflated(file)

    def files(self) -> Iterator[tuple[str, int, bool]]:
        """Name and size of each, and whether it is a file; after the one that is wanted comes `last`."""
        for count in range(_MOST):
            header = self.header()
            if header is None:
                if count == 0:
                    raise _Broken("it has no file")
                return
            yield header
            self.skip(_padded(header[1]))
        raise _TooLarge(f"it has more than {_MOST:,} files")

    def header(self) -> tuple[str, int, bool] | None:
        """Name, size, and whether it is a file; None at the end. A long name stands before it as if it were a file."""
        told: dict[str, bytes] = {}
        for _ in range(8):  # at most three of these belong to a file
            block = self.take(_BLOCK, may_end=True)
            if not any(block):
                return None
            size, kind = _checked(block), block[156]
            if kind not in b"LKxg":
                return _described(block, size, told)
            if size > _NAME:
                raise _TooLarge(f"it has a name of {size:,} bytes; no more than {_NAME:,} are read")
            text = self.take(_padded(size))[:size]
            if kind == ord("L"):
                told["path"] = text.rstrip(b"\0")
            elif kind == ord("x"):
                told.update(_records(text))
        raise _Broken("headers follow on headers")

    def last(self, name: str, size: int) -> bytes:
        """All bytes of the present file, after which the archive is gone through to its end."""
        if size > _LARGEST:
            raise _TooLarge(f"{name[:60]} has {size:,} bytes; no more than {_LARGEST:,} are read")
        content = self.take(size)
        while self.whole.some(_CHUNK):
            pass  # at its end stands a sum of all bytes, which shows whether one has changed
        return content

    def take(self, size: int, may_end: bool = False) -> bytes:
        """The next bytes, for which there is no room made before they are there."""
        into = BytesIO()
        while (left := size - into.tell()) and (found := self.whole.some(min(left, _CHUNK))):
            into.write(found)
        if left and not (may_end and left == size):
            raise _Broken("it ends in the middle of a file")
        return into.getvalue()

    def skip(self, size: int) -> None:
        """Go past bytes, one chunk of which is in memory."""
        while size:
            size -= len(self.take(min(size, _CHUNK)))


def _padded(size: int) -> int:
    """A file ends where a block does."""
    return -(-size // _BLOCK) * _BLOCK


def _checked(block: bytes) -> int:
    """The size that a header says, whose sum of bytes has to be right."""
    total = sum(block) - sum(block[148:156]) + 8 * ord(" ")
    if _octal(block[148:156]) != total:
        raise _Broken("the sum of a header is wrong")
    return _octal(block[124:136])


def _octal(field: bytes) -> int:
    text = field.split(b"\0")[0].strip()
    if text.strip(b"01234567"):
        raise _Broken("a header has a number that is none")
    return int(text or b"0", 8)


def _described(block: bytes, size: int, told: dict[str, bytes]) -> tuple[str, int, bool]:
    raw, kind = block[:100].split(b"\0")[0], block[156]
    prefix = block[345:500].split(b"\0")[0]
    if prefix and block[257:263] == b"ustar\0":
        raw = prefix + b"/" + raw
    name = os.path.normpath(told.get("path", raw).decode("utf-8", "replace"))
    stated = told.get("size", b"")
    if len(stated) < 20 and stated.isdigit():
        size = int(stated)
    plain = kind in b"\0" + b"07" and "sparse" not in told
    return name, 0 if kind in _WITHOUT_BYTES else size, plain


def _records(text: bytes) -> dict[str, bytes]:
    """Records "length key=value" of a file: its name, its size, and whether it has holes."""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(text):
        length = text[at : at + 8].split(b" ")[0]
        if not length.isdigit() or not len(length) < int(length) <= len(text) - at:
            raise _Broken("a header has a line of a wrong length")
        key, _, value = text[at + len(length) + 1 : at + int(length) - 1].partition(b"=")
        if key in (b"path", b"size"):
            found[key.decode()] = value
        elif key.startswith(b"GNU.sparse"):
            found["sparse"] = b""
        at += int(length)
    return found
