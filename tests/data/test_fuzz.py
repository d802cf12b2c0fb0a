"""Data files that a stranger made: each is read or is one DataError, within a second and 200 MB."""

from __future__ import annotations

import gzip
import io
import pickle
import struct
import sys
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.data.images import COARSE, FINE, PIXELS, binary, held, of_python_2, pickled
from tests.hostile import LENGTHS, Place, Target, attacked, mutated, scratch
from tests.often import few
from wengert.data import cifar100, sst
from wengert.errors import DataError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="its guards are those of Linux")

# -- pickles --------------------------------------------------------------------------------------

NAMES = (b"numpy\nndarray", b"numpy\ndtype", b"numpy.core.multiarray\n_reconstruct", b"_codecs\nencode")
OTHER_NAMES = (b"os\nsystem", b"builtins\ngetattr", b"numpy\nload", b"copyreg\n_reconstructor", b"\xff\n")
TEXTS = (b"data", b"coarse_labels", b"fine_labels", b"u1", b"latin1", b"", b"\xff\xfe", b"x" * 200)
# opcodes without an argument, those that nothing needs among them; the first are the ones that make containers
BARE = [
    bytes([code]) for code in b"()]}\x85\x86\x87tldaesub.NR0112\x88\x89\x8f\x90\x91\x92\x93\x94\x81oQ\x97\x98"
]


def argument(code: bytes, chance: Random) -> bytes:
    """An opcode with what has to follow it, or nearly."""
    text = chance.choice(TEXTS)
    number = chance.choice((*LENGTHS, chance.randrange(20), chance.randrange(100)))
    lie = chance.random() < 0.1
    match code:
        case b"c" | b"i":
            return code + chance.choice((*NAMES, *NAMES, *OTHER_NAMES)) + b"\n"
        case b"g" | b"p" | b"I" | b"L" | b"F" | b"P":
            return (
                code + chance.choice((str(number).encode(), b"1e999", b"9" * 5000, b"01", b"-", b"")) + b"\n"
            )
        case b"S" | b"V":
            return code + chance.choice((b"'" + text + b"'", text, rb"'\x'", rb"\ud800", b"'")) + b"\n"
        case b"U" | b"C" | b"\x8c" | b"\x8a":
            return code + bytes([number % 256 if lie else len(text)]) + text
        case b"T" | b"B" | b"X" | b"\x8b":
            return code + struct.pack("<I", number if lie else len(text)) + text
        case b"\x8d" | b"\x8e" | b"\x96" | b"\x95":
            return code + struct.pack("<Q", number << 32 if lie else len(text)) + text
        case b"K" | b"h" | b"q" | b"\x80" | b"\x82":
            return code + bytes([number % 256])
        case b"M" | b"\x83":
            return code + struct.pack("<H", number % 65536)
        case _:  # J G j r and what is no opcode
            return code + struct.pack("<Q" if code == b"G" else "<I", number)


TAKING = [bytes([code]) for code in b"cigpILFPSVUC\x8c\x8aTBX\x8b\x8d\x8e\x96\x95Khq\x80\x82M\x83JGjr\xff"]


def parts(chance: Random) -> list[bytes]:
    """Opcodes as the grammar has them, a few of them many times: made once, for that takes longer than to read them."""
    made = [argument(chance.choice(TAKING), chance) for _ in range(1500)]
    made += [chance.choice(BARE[:16] if chance.random() < 0.7 else BARE) for _ in range(1500)]
    made += [
        b"U" + bytes([len(text)]) + text + chance.choice((b"", b"Ns")) for text in TEXTS for _ in range(40)
    ]
    return made + [part * times for times in (2, 50, 2000) for part in chance.sample(made, 40)]


PARTS = parts(Random(0))


def of_opcodes(chance: Random) -> bytes:
    """Some opcodes after each other, often in a dictionary as the data have."""
    made = chance.choices(PARTS, k=chance.choice((3, 10, 40)))
    return b"\x80\x02}" + b"".join(made) + b"s" * chance.randrange(3) + b"."


def small(protocol: int) -> bytes:
    """An image, for which an input need not be long."""
    changes = {"data": PIXELS[:1], "fine_labels": [1], "coarse_labels": [2], "filenames": [b"a"]}
    return pickle.dumps(held(**changes), protocol=protocol)


def archived(files: dict[str, bytes], format_: int = tarfile.PAX_FORMAT) -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w", format=format_) as made:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 0.5
            made.addfile(member, io.BytesIO(content))
    return into.getvalue()


def summed(content: bytes) -> bytes:
    """An archive whose headers have the sums that belong to them."""
    made = bytearray(content)
    for start in range(0, len(made) - 511, 512):
        if made[start + 257 : start + 262] == b"ustar":
            made[start + 148 : start + 156] = b" " * 8
            made[start + 148 : start + 156] = b"%06o\0 " % sum(made[start : start + 512])
    return bytes(made)


OPCODES = (
    *BARE,
    *(argument(code, Random(code[0])) for code in TAKING if code not in b"FILgpP"),
    *NAMES,
    *OTHER_NAMES,
)
TAR = (
    b"00000000000",
    b"77777777777",
    b"L",
    b"K",
    b"x",
    b"g",
    b"S",
    b"5",
    b"\x80\0\0\0",
    b"11 size=1\n",
    b"ustar\0",
)


def cifar(folder: Path) -> Target:
    place = scratch(folder)
    pickles = [small(protocol) for protocol in range(5)] + [of_python_2(), pickled()]
    one = bytes([COARSE[0], FINE[0]]) + PIXELS[0].tobytes()
    tars = [
        archived({"cifar-100-binary/x": b"1", "cifar-100-binary/train.bin": one}, tarfile.GNU_FORMAT),
        archived({"a" * 200: b"1", "b" * 300: b"", "train": pickles[2]}, tarfile.GNU_FORMAT),
        archived({"a" * 200: b"1", "train": pickles[2]}),
    ]
    zipped = [gzip.compress(tar, 1) for tar in tars]

    def make(chance: Random) -> bytes:
        """The first byte says under which name the rest is a file."""
        match chance.randrange(10):
            case 0:
                return b"b" + mutated(chance.choice((one, binary())), chance, (b"\0", b"\xff"), one)
            case 1:
                return b"z" + mutated(
                    chance.choice(zipped), chance, (b"\x1f\x8b\x08\0", b"\0"), chance.choice(zipped)
                )
            case 2:
                changed = summed(mutated(chance.choice(tars), chance, TAR, chance.choice(tars)))
                return b"z" + gzip.compress(changed, 1)
            case n if n < 6:
                return b"p" + of_opcodes(chance)
            case _:
                return b"p" + mutated(chance.choice(pickles), chance, OPCODES, chance.choice(pickles))

    places = {b"b": Place(place / "x.bin"), b"z": Place(place / "x.tar.gz"), b"p": Place(place / "x")}

    def read(content: bytes) -> None:
        found = cifar100(places[content[:1]].holding(content[1:]))
        assert found.images.shape == (len(found), 3072) and found.fine.shape == found.coarse.shape == (
            len(found),
        )
        assert not len(found) or 0 <= found.fine.min() <= found.fine.max() < 100

    return Target(make, read, DataError)


# -- trees ----------------------------------------------------------------------------------------

LINES = (
    b"(3 (2 a) (4 film))\n(1 (1 not) (3 good))\n",
    "(2 8\xa01)\r\n\n(0 (1 é) (2 (3 b) (4 c)))".encode(),
    b"(1 " * 300 + b"(2 a)" + b")" * 300,
)
WORDS = (
    b"(",
    b")",
    b" ",
    b"\n",
    b"\r",
    b"\t",
    b"\0",
    b"(2 a)",
    b"\xff",
    b"99999999999",
    b"-1",
    b"\xc2\xa0",
    b"5",
)


def trees(folder: Path) -> Target:
    place = Place(scratch(folder) / "x.txt")

    def make(chance: Random) -> bytes:
        if chance.random() < 0.3:
            return b"".join(chance.choices(WORDS, k=chance.choice((3, 10, 100))))
        return mutated(chance.choice(LINES), chance, WORDS, chance.choice(LINES))

    def read(content: bytes) -> None:
        for tree in sst(place.holding(content)):
            assert 0 <= tree.label < 5 and str(tree).startswith(f"({tree.label} ")

    return Target(make, read, DataError)


# -- samples --------------------------------------------------------------------------------------


def survived(target: Callable[[Path], Target], folder: Path, seed: int, count: int) -> Counter[str]:
    found = attacked(__name__, target.__name__, folder, seed, count)
    assert found.total() == count and min(found["read"], found["refused"]) > count / 200, found
    return found


@pytest.mark.parametrize("target", few([cifar, trees], 1))
def test_hostile_files_are_read_or_refused(tmp_path: Path, target: Callable[[Path], Target]) -> None:
    survived(target, tmp_path, 0, 200)


@pytest.mark.slow
@pytest.mark.parametrize("target", [cifar, trees])
def test_many_hostile_files_are_read_or_refused(tmp_path: Path, target: Callable[[Path], Target]) -> None:
    survived(target, tmp_path, 1, 4000)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("target", [cifar, trees])
def test_a_million_hostile_files_are_read_or_refused(
    tmp_path: Path, target: Callable[[Path], Target], part: int
) -> None:
    survived(target, tmp_path, 100 + part, 100_000)
