"""CIFAR-100's pickles: damaged, hostile, or of something else; nothing in one is ever run."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data.images import FINE, PIXELS, check, of_python_2, pickled, refused
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
