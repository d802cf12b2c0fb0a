"""The attack on readers finds each sort of harm, and says which input did it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

import pytest

from tests.hostile import Target, attacked, one

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="its guards are those of Linux")


def target(folder: Path, harm: str = "") -> Target:
    def make(chance: Random) -> bytes:
        return chance.randbytes(2)

    def read(content: bytes) -> object:
        if content[0] % 7:
            raise KeyError("x" * (10_000 if harm == "says" else 1))
        if content[1] % 7 == 0:
            match harm:
                case "hangs":
                    return (b"a" * 100_000 + b"b").split() and pow(
                        3, 10**9
                    )  # in C, where no handler is called
                case "grows":
                    return bytes(300 << 20)
                case "raises":
                    raise IndexError("harm")
                case "crashes":
                    os.kill(os.getpid(), 11)
        return None

    return Target(make, read, KeyError)


def hangs(folder: Path) -> Target:
    return target(folder, "hangs")


def grows(folder: Path) -> Target:
    return target(folder, "grows")


def raises(folder: Path) -> Target:
    return target(folder, "raises")


def crashes(folder: Path) -> Target:
    return target(folder, "crashes")


def says(folder: Path) -> Target:
    return target(folder, "says")


@pytest.mark.slow
def test_what_harms_nobody_is_counted(tmp_path: Path) -> None:
    found = attacked(__name__, "target", tmp_path, 0, 300)
    assert found.total() == 300 and found["read"] > 20 and found["refused"] > 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("hangs", "killed by SIGPROF"),
        ("grows", "MemoryError"),
        ("raises", "IndexError: harm"),
        ("crashes", "killed by SIGSEGV"),
        ("says", "a text of"),
    ],
)
def test_harm_is_found_and_its_input_named(tmp_path: Path, harm: str, said: str) -> None:
    with pytest.raises(AssertionError, match=said) as caught:
        attacked(__name__, harm, tmp_path, 3, 1000)
    number = int(str(caught.value).split()[1])
    content = one(target(tmp_path), 3, number)
    assert harm == "says" or not (content[0] % 7 or content[1] % 7)
