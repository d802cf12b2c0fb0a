"""CIFAR-100 in both formats, as file, folder and archive; and whatever can be wrong with files and folders."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.data.images import CONTENTS, COUNT, PIXELS, binary, check, refused
from wengert.data import cifar100, sst
from wengert.data import files as data_files
from wengert.errors import ArgumentError, DataError


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_single_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("x.bin" if kind == "binary" else "x")
    path.write_bytes(CONTENTS[kind]())
    check(cifar100(path))


@pytest.mark.parametrize("kind", CONTENTS)
@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("where", ["folder", "above", "archive"])
def test_a_part_of_a_folder_or_archive(tmp_path: Path, kind: str, part: Any, where: str) -> None:
    name = "cifar-100-binary" if kind == "binary" else "cifar-100-python"
    folder = tmp_path / name
    folder.mkdir()
    for other in ("train", "test"):
        content = CONTENTS[kind]() if other == part else b"\x00"
        (folder / (f"{other}.bin" if kind == "binary" else other)).write_bytes(content)
    (folder / "meta").write_text("")
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as archive:
        archive.add(folder, name)
    check(cifar100({"folder": folder, "above": tmp_path, "archive": tmp_path / "c.tar.gz"}[where], part))


# -- binary ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 3073, 3075, COUNT * 3074 - 1])
def test_a_binary_file_cut_short_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "train.bin"
    path.write_bytes((binary() + b"\0")[:size])
    refused(path, f"it has {size:,} bytes", f"the record at byte {size - size % 3074:,} is not whole")


def test_a_label_that_is_no_class_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.bin"
    for offset, value, said in (
        (2 * 3074, 20, "coarse class, 0 to 19, that of image 2"),
        (3075, 100, "fine class"),
    ):
        content = bytearray(binary())
        content[offset] = value
        path.write_bytes(content)
        refused(path, f"byte {offset:,} is {value}, and should be a {said}")


def test_a_binary_file_is_mapped_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "train.bin"
    path.write_bytes(binary())
    found = cifar100(path)
    with path.open("r+b") as file:
        file.seek(2)
        file.write(bytes([PIXELS[0, 0] ^ 255]))
    assert found.images[0, 0] == PIXELS[0, 0] ^ 255


# -- files ----------------------------------------------------------------------------------------


def archive(path: Path, *files: tuple[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as made:
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))


def test_a_folder_or_archive_without_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    refused(tmp_path, "it has none of train.bin, train, cifar-100-binary/train.bin", "it has notes")
    path = tmp_path / "c.tar.gz"
    archive(path, ("x/train.bin", b""))
    refused(path, "it has none of train.bin", "it has x/train.bin")


def test_a_broken_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.tar.gz"
    archive(path, ("train.bin", binary()))
    whole = path.read_bytes()
    for content in (
        whole[:-9000],
        whole[:1000],
        b"",
        b"no archive",
        whole[:5000] + b"\0" * 50 + whole[5050:],
    ):
        path.write_bytes(content)
        refused(path, "it is no whole .tar.gz archive")


def test_an_entry_that_is_no_file_or_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.tar.gz"
    with tarfile.open(path, "w:gz") as made:
        link = tarfile.TarInfo("train.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(link)
    refused(path, "it has none of")
    archive(path, ("train.bin", binary()))
    monkeypatch.setattr(data_files, "_LARGEST", 1000)
    refused(path, "train.bin has 21,518 bytes; no more than 1,000 are read")


def zeros(path: Path, count: int, *files: tuple[str, bytes]) -> None:
    """An archive after whose files zeros follow, as many as it takes."""
    with gzip.open(path, "wb", compresslevel=1) as made:
        into = io.BytesIO()
        with tarfile.open(fileobj=into, mode="w") as inner:
            for name, content in files:
                member = tarfile.TarInfo(name)
                member.size = len(content)
                inner.addfile(member, io.BytesIO(content))
        made.write(into.getvalue())
        for _ in range(count >> 20):
            made.write(bytes(1 << 20))


def header(name: bytes, size: int, kind: bytes) -> bytes:
    block = bytearray(tarfile.TarInfo(name.decode()).tobuf(tarfile.USTAR_FORMAT))
    block[124:136], block[156:157], block[148:156] = b"%011o\0" % size, kind, b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def test_an_archive_that_inflates_without_end_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "c.tar.gz"
    monkeypatch.setattr(data_files, "_LARGEST", 4 << 20)
    zeros(path, 8 << 20, ("train.bin", binary()))
    refused(path, "it has more than 4,194,304 bytes without its compression")
    zeros(path, 8 << 20, ("x", bytes(6 << 20)), ("train.bin", binary()))
    refused(path, "it has more than 4,194,304 bytes without its compression")
    zeros(path, 2 << 20, ("train.bin", binary()))
    check(cifar100(path))


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K"])
def test_a_header_that_asks_for_much_memory_is_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "c.tar.gz"
    path.write_bytes(gzip.compress(header(b"a", 2**31, kind) + bytes(10 << 20)))
    tracemalloc.start()
    refused(path, "it has a name of 2,147,483,648 bytes; no more than 65,536 are read")
    assert tracemalloc.get_traced_memory()[1] < 5 << 20
    tracemalloc.stop()
    path.write_bytes(gzip.compress(header(b"train.bin", 2**27, b"0") + b"x" * 100))
    tracemalloc.start()
    refused(path, "it is no whole .tar.gz archive: it ends in the middle of a file")
    assert tracemalloc.get_traced_memory()[1] < 5 << 20
    tracemalloc.stop()


def test_very_many_files_or_pieces_are_not_gone_through(tmp_path: Path) -> None:
    path = tmp_path / "c.tar.gz"
    path.write_bytes(gzip.compress(header(b"a", 0, b"0") * 10_001, 1))
    refused(path, "it has more than 10,000 files")
    path.write_bytes(gzip.compress(b"") * 10_001)
    refused(path, "it was compressed in more than 10,000 pieces")
    whole = gzip.compress(header(b"x", 0, b"0"))
    path.write_bytes(
        whole + gzip.compress(header(b"train.bin", len(binary()), b"0")) + gzip.compress(binary()) + bytes(99)
    )
    check(cifar100(path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (header(b"x" * 90, 5, b"0")[:300], "it ends in the middle of a file"),
        (header(b"x" * 90, 5, b"0").replace(b"xxx", b"yyy", 1), "the sum of a header is wrong"),
        (header(b"x", 5, b"0")[:148] + b"zzzzzzzz" + bytes(356), "a header has a number that is none"),
        (header(b"x", 0, b"x") * 9, "headers follow on headers"),
        (header(b"x", 9, b"x") + b"99999 a=b".ljust(512, b"\0"), "a header has a line of a wrong length"),
        (header(b"x", 9, b"x") + b"0 a=b".ljust(512, b"\0"), "a header has a line of a wrong length"),
        (bytes(512), "it has no file"),
    ],
)
def test_a_broken_header_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "c.tar.gz"
    path.write_bytes(gzip.compress(content))
    refused(path, "it is no whole .tar.gz archive", said)


def test_a_file_with_holes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "c.tar.gz"
    text = b"22 GNU.sparse.major=1\n"
    sparse = header(b"p", len(text), b"x") + text.ljust(512, b"\0") + header(b"train.bin", 0, b"0")
    for content in (sparse, header(b"train.bin", 0, b"S")):
        path.write_bytes(gzip.compress(content + bytes(1024)))
        refused(path, "it has none of")


@pytest.mark.parametrize("format_", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names_of_any_length_are_read(tmp_path: Path, format_: int) -> None:
    path, long = tmp_path / "c.tar.gz", "a" * 90 + "/" + "b" * 90
    with tarfile.open(path, "w:gz", format=format_) as made:
        for name, content in ((long, b"1"), ("./cifar-100-binary//train.bin", binary())):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 0.5 if format_ == tarfile.PAX_FORMAT else 1
            made.addfile(member, io.BytesIO(content))
    check(cifar100(path))
    archive(path, (long, b"1"))
    refused(path, "it has " + "a" * 60)


def test_a_pipe_or_a_path_that_is_none_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    os.mkfifo(tmp_path / "x.tar.gz")
    for read in (cifar100, sst):
        for name in ("x", "x.tar.gz"):
            with pytest.raises(
                DataError, match=r"is a pipe or a device, and should be a file\n  at .*test_cifar\.py:"
            ):
                read(tmp_path / name)
        for wrong in ("a\0b", "\ud800"):
            with pytest.raises(DataError, match=r"no file can have the path '.*'\n  at .*test_cifar\.py:"):
                read(wrong)
        nothings: list[Any] = [None, b"x", 3, ["x"]]
        for nothing in nothings:
            with pytest.raises(
                ArgumentError, match=r"the path has to be a str or an os.PathLike of one; got "
            ):
                read(nothing)


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path: Path) -> None:
    for name in ("x.bin", "x", "x.tar.gz"):
        with pytest.raises(FileNotFoundError):
            cifar100(tmp_path / name)


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    part: Any = "dev"
    with pytest.raises(ArgumentError, match="part is 'train' or 'test'; got 'dev'"):
        cifar100(tmp_path, part)
