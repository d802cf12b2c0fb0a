"""CIFAR-100's pickles: damaged, hostile, or of something else; nothing in one is ever run."""

from __future__ import annotations

import pickle
import random
import re
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data.images import FINE, PIXELS, check, held, of_python_2, pickled, refused
from wengert.data import cifar100, narrow
from wengert.errors import DataError


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


def text(x: bytes) -> bytes:
    return b"U" + bytes([len(x)]) + x


DEEP = 50_000
BOMBS = {
    "a key is nested deeply": (
        b"}" + b")" + b"\x85" * DEEP + b"K\x01s.",
        "tuples within tuples within tuples",
    ),
    "a key is two of itself": (b"}" + b")" + b"2\x86" * 60 + b"K\x01s.", "the opcode b'2'"),
    "a key is two of itself by number": (
        b"})q\x00" + b"h\x00\x86q\x00" * 60 + b"K\x01s.",
        "tuples within tuples within tuples",
    ),
    "a value has a large number": (b"}r\xff\xff\xff\x07.", "numbers a value 134,217,727"),
    "a text form has a large number": (b"}p99999999999\n.", "numbers a value 99,999,999,999"),
    "a number has no end": (b"}I" + b"9" * 100_000 + b"\n.", "does not end within"),
    "a number has many digits": (b"}I" + b"9" * 900 + b"\n.", "a number that is none"),
    "a long number": (
        b"}" + text(b"data") + b"\x8b" + (10**6).to_bytes(4, "little") + bytes(10**6) + b"s.",
        "opcode",
    ),
    "a length is beyond the end": (b"}T\xff\xff\xff\x7fabc.", "in the middle of a value"),
    "a length of 2**63": (b"}\x8e" + b"\xff" * 8 + b"abc.", "in the middle of a value"),
    "a text becomes bytes often": (
        b"c_codecs\nencode\nq\x00X"
        + (10**5).to_bytes(4, "little")
        + b"a" * 10**5
        + b"\x85q\x01"
        + b"h\x00h\x01R" * 10**4,
        "more bytes than it has",
    ),
    "very many values": (b"}" * 500_001, "more than 500,000 opcodes"),
    "data are nested lists": (
        b"}" + text(b"data") + b"]" * DEEP + b"a" * (DEEP - 1) + b"s.",
        "'data' is no array",
    ),
    "data are nested arrays": (
        b"}" + text(b"data") + b"cnumpy\nndarray\n)R" * DEEP + b"b" * (DEEP - 1) + b"s.",
        "'data' is no array",
    ),
    "data are in themselves": (
        b"}" + text(b"data") + b"cnumpy\nndarray\n)Rq\x00h\x00bs.",
        "'data' is no array",
    ),
    "a name is long": (b"}c" + b"a" * 900 + b"\n" + b"b" * 900 + b"\n.", "it asks for aaaa"),
    "an entry has a long name": (
        b"}X" + (10**6).to_bytes(4, "little") + b"a" * 10**6 + b"Ns.",
        "it has no 'data', but",
    ),
}
LARGE = {"data are nested arrays", "data are nested lists", "very many values"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in BOMBS]
)
def test_a_pickle_that_would_hang_or_exhaust_the_reader_is_refused(tmp_path: Path, name: str) -> None:
    content, said = BOMBS[name]
    path = tmp_path / "train"
    path.write_bytes(b"\x80\x02" + content)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=re.escape(said)) as caught:
            cifar100(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 1000 and most < 200 << 20


def labels(shown: bytes) -> bytes:
    """A pickle of an image whose coarse class is whatever stands in these opcodes."""
    array = b"cnumpy\nndarray\n)R(K\x01K\x01M\x00\x0c\x86cnumpy\ndtype\n" + text(b"u1") + b"\x85R\x89"
    array += b"T\x00\x0c\x00\x00" + bytes(3072) + b"tb"
    return b"\x80\x02}" + text(b"data") + array + b"s" + text(b"coarse_labels") + b"](" + shown + b"es."


def test_a_label_that_is_nested_or_long_is_not_printed_whole(tmp_path: Path) -> None:
    path = tmp_path / "train"
    shared = b")q\x00" + b"h\x00\x86q\x00" * 60  # 2**60 tuples, if they were printed
    for opcodes, said in (
        (b")" + b"\x85", "[0] is a tuple"),
        (shared, "tuples within tuples within tuples"),
        (b"]" * DEEP + b"a" * (DEEP - 1), "[0] is a list"),
        (b"X" + (10**6).to_bytes(4, "little") + b"a" * 10**6, "[0] is 'aaaa"),
        (b"\x8a\xff" + b"\x7f" * 255, "[0] is "),
    ):
        path.write_bytes(labels(opcodes))
        with pytest.raises(DataError, match=re.escape(said)) as caught:
            cifar100(path)
        assert len(str(caught.value)) < 500
    path.write_bytes(labels(b"K\x13"))
    refused(path, "it has no 'fine_labels'")


@pytest.mark.parametrize("protocol", range(5))
def test_every_form_of_a_pickle_is_read(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "train"
    path.write_bytes(pickle.dumps(held(), protocol=protocol))
    check(cifar100(path))
    names = {
        b"filenames": ["é", "a\nb\\'", "\ud800"],
        b"batch_label": [None, True, False, -1, 2**40, 0.5, b"\n\xff"],
    }
    path.write_bytes(pickle.dumps({**held(), **names}, protocol=protocol))
    check(cifar100(path))


def test_texts_of_python_2_in_the_text_form_are_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"(dp0\nS'a\\n\\x41\\''\np1\nL5L\ns.")
    assert narrow.unpickled((tmp_path / "x").read_bytes(), "x") == {b"a\nA'": 5}
    for wrong in (b"S'\\q'\n.", b"S'\\x4'\n.", b"S'a\n.", b"Sa\n.", b"S'" + b"\\" * 100_001 + b"'\n."):
        with pytest.raises(DataError, match="it has a string with"):
            narrow.unpickled(wrong, "x")


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
