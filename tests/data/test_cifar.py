"""CIFAR-100 in both formats, as file, folder and archive; and whatever can be wrong with them."""

from __future__ import annotations

import io
import pickle
import random
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert.data import Cifar100, cifar100, narrow
from wengert.data import files as data_files
from wengert.errors import ArgumentError, DataError

COUNT = 7
chance = np.random.default_rng(0)
PIXELS = chance.integers(0, 256, (COUNT, 3072), np.uint8)
COARSE = chance.integers(0, 20, COUNT)
FINE = chance.integers(0, 100, COUNT)


def binary() -> bytes:
    labels = np.stack([COARSE, FINE], axis=1).astype(np.uint8)
    return np.concatenate([labels, PIXELS], axis=1).tobytes()


def held(**changes: Any) -> dict[Any, Any]:  # Any: what a pickle may hold
    whole: dict[Any, Any] = {
        b"filenames": [b"a.png"] * COUNT,
        b"batch_label": b"training batch 1 of 1",
        b"fine_labels": FINE.tolist(),
        b"coarse_labels": COARSE.tolist(),
        b"data": PIXELS,
    }
    return {**whole, **{name.encode(): x for name, x in changes.items()}}


def pickled(**changes: Any) -> bytes:
    return pickle.dumps(held(**changes), protocol=2)


def of_python_2() -> bytes:
    """A pickle as Python 2 wrote it, opcode by opcode: texts are bytes, and the array has its module's old name."""

    def text(x: bytes) -> bytes:
        return b"T" + len(x).to_bytes(4, "little") + x

    def numbers(xs: Any) -> bytes:
        return b"](" + b"".join(b"K" + bytes([x]) for x in xs) + b"e"

    dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R" + b"(K\x03" + text(b"|")
    dtype += b"NNN" + 2 * b"J\xff\xff\xff\xff" + b"K\x00tb"
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n"
        + b"cnumpy\nndarray\n"
        + b"K\x00\x85"
        + text(b"b")
        + b"\x87R"
    )
    array += (
        b"(K\x01"
        + b"K"
        + bytes([COUNT])
        + b"M\x00\x0c\x86"
        + dtype
        + b"\x89"
        + text(PIXELS.tobytes())
        + b"tb"
    )
    entries = (
        text(b"data")
        + array
        + text(b"coarse_labels")
        + numbers(COARSE)
        + text(b"fine_labels")
        + numbers(FINE)
    )
    return b"\x80\x02}(" + entries + b"u."


def check(found: Cifar100) -> None:
    assert type(found) is Cifar100 and len(found) == COUNT
    assert (found.images == PIXELS).all() and found.images.dtype == np.uint8
    assert (found.coarse == COARSE).all() and (found.fine == FINE).all() and found.fine.dtype == np.int64
    pixels = found.pixels()
    assert pixels.dtype == np.float32 and np.abs(pixels - (PIXELS / 255 - 0.5)).max() < 1e-6
    some = found.take(np.array([5, 2]))
    assert (some.images == PIXELS[[5, 2]]).all() and some.images.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        found.images[0, 0] = 0


CONTENTS = {"binary": binary, "python": pickled, "python 2": of_python_2}


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


def refused(path: Path, *words: str) -> None:
    with pytest.raises(DataError) as caught:
        cifar100(path)
    assert isinstance(caught.value, ValueError)
    for word in (str(path), *words):
        assert word in str(caught.value), caught.value


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


# -- python ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"data": PIXELS[:, :100]}, "'data' is no array of bytes with 3,072 in a row"),
        ({"data": PIXELS.astype(np.int16)}, "'data' is no array of bytes"),
        ({"data": np.asfortranarray(PIXELS)}, "'data' is no array of bytes"),
        ({"data": [1, 2]}, "'data' is no array of bytes"),
        ({"data": PIXELS.astype(object)}, "'data' is no array of bytes"),
        ({"fine_labels": [0] * 6}, "'fine_labels' is a list of 6, and should be a list of 7 classes"),
        ({"fine_labels": FINE}, "'fine_labels' is a PickledArray"),
        ({"coarse_labels": [0, 0, 20, 0, 0, 0, 0]}, "coarse_labels[2] is 20, and should be a class, 0 to 19"),
        ({"fine_labels": [-1] * 7}, "fine_labels[0] is -1"),
        ({"fine_labels": [True] * 7}, "fine_labels[0] is True"),
        ({"fine_labels": ["1"] * 7}, "fine_labels[0] is '1'"),
    ],
)
def test_a_pickle_of_something_else_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = tmp_path / "train"
    path.write_bytes(pickled(**changes))
    refused(path, said)


def test_a_pickle_without_an_entry_or_of_no_dictionary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train"
    path.write_bytes(pickle.dumps({b"labels": []}, protocol=2))
    refused(path, "it has no 'data', but b'labels'")
    path.write_bytes(pickle.dumps([1, 2], protocol=2))
    refused(path, "it holds a list, and should hold a dictionary")


RAN: list[str] = []


class Hostile:
    """Would run when it is unpickled."""

    def __init__(self, what: Any, *given: Any) -> None:
        self.what, self.given = what, given

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.what, self.given


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "what",
    [(RAN.append, "ran"), (exec, "raise SystemExit"), (getattr, "", "format"), (np.load, "x"), (open, "x")],
)
def test_nothing_in_a_pickle_is_run(tmp_path: Path, what: tuple[Any, ...], protocol: int) -> None:
    path = tmp_path / "train"
    path.write_bytes(pickle.dumps({b"data": Hostile(*what)}, protocol=protocol))
    refused(path, "it is no pickle that can be read safely: it asks for ")
    assert not RAN


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x02c_codecs\nencode\n}(X\x01\x00\x00\x00aK\x01ub.",  # attributes of a function
        b"\x80\x02c_codecs\nencode\nN}(X\x0c\x00\x00\x00__defaults__K\x01\x85u\x86b.",
        b"\x80\x02cnumpy\ndtype\n}b.",  # the class itself as an instance
        b"\x80\x04\x8c\x05numpy\x8c\x12ndarray.__init__\x93.",
        b"\x80\x02cnumpy\nndarray.__class__\n.",
        b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86R.",
        b"\x80\x02P1\n.",
        b"\x80\x02\x82\x01.",
    ],
)
def test_nothing_in_a_pickle_changes_what_reads_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "train"
    before = {name: dict(vars(x)) for name, x in vars(narrow).items() if isinstance(x, type)}
    path.write_bytes(content)
    refused(path, "it is no pickle that can be read safely")
    assert {name: dict(vars(x)) for name, x in vars(narrow).items() if isinstance(x, type)} == before
    path.write_bytes(pickled())
    check(cifar100(path))


def attacked(path: Path, count: int, seed: int) -> Counter[str]:
    """How many damaged pickles were read and how many refused; any other exception fails."""
    draw, found = random.Random(seed), Counter[str]()
    contents = [pickled(data=PIXELS[:1], fine_labels=[1], coarse_labels=[2]), of_python_2()]
    for _ in range(count):
        made = bytearray(draw.choice(contents))
        for _ in range(draw.randint(1, 3)):
            start = draw.choice((draw.randrange(300), draw.randrange(len(made))))
            made[start : start + draw.randint(0, 3)] = draw.randbytes(draw.randint(0, 3))
        path.write_bytes(made[: draw.choice((len(made), len(made), draw.randrange(len(made))))])
        try:
            found["read"] += len(cifar100(path)) > 0
        except DataError:
            found["refused"] += 1
    return found


@pytest.mark.slow
def test_damaged_pickles_are_read_or_refused(tmp_path: Path) -> None:
    found = attacked(tmp_path / "train", 2000, seed=0)
    assert found["refused"] > 500 and found["read"] > 50, found


def test_the_attack_finds_a_reader_that_believes_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "wengert.data.cifar.unpickled", lambda content, place: pickle.loads(content, encoding="bytes")
    )
    with pytest.raises(Exception) as caught:  # noqa: PT011 # of whatever kind, but none of ours
        attacked(tmp_path / "train", 2000, seed=0)
    assert not isinstance(caught.value, DataError)


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
