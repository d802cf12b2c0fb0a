"""CIFAR-100 in both formats, as file, folder and archive; and whatever can be wrong with files and folders."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.data.images import CONTENTS, COUNT, PIXELS, binary, check, refused
from wengert.data import cifar100
from wengert.data import files as data_files
from wengert.errors import ArgumentError


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


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path: Path) -> None:
    for name in ("x.bin", "x", "x.tar.gz"):
        with pytest.raises(FileNotFoundError):
            cifar100(tmp_path / name)


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    part: Any = "dev"
    with pytest.raises(ArgumentError, match="part is 'train' or 'test'; got 'dev'"):
        cifar100(tmp_path, part)
