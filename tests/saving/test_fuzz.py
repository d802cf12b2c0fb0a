"""Files that were damaged at random: each loads what it says, or is one CheckpointError, and nothing else."""

from __future__ import annotations

import json
import random
import struct
import sys
from collections import Counter
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.hostile import Place, Target, mutated, scratch
from tests.hostile import attacked as attack
from tests.often import few
from tests.saving.models import adam, told
from wengert import gather, square, sum
from wengert.arrays import StoredForm, form_of
from wengert.errors import CheckpointError
from wengert.graph import Weight
from wengert.saving import load, manifest, save
from wengert.training.state import State
from wengert.training.state import read as read_state

WORDS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b":",
    b"null",
    b"true",
    b"NaN",
    b"-1",
    b"1e999",
    b"\\ud800",
    b"F64",
    b"0",
    b"9" * 5000,
    b"1e99999999",
    b"[" * 3000,
    b'{"a":' * 900,
    b'"a":1,' * 300,
    b"\\u005b",
    b"\xff" * 8,
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        0,
        1,
        4,
        2**31,
        2**63,
        2**64,
        10**30,
        0.5,
        1e308,
        "",
        "x",
        "float64",
        "object",
        "array",
    ),
    *([], {}, [0], [-1], [2**40, 2**40], {"value": 1}, {"value": []}, "\ud800", "count", "step"),
    *(
        10**639,
        10**4000,
        [10**4000] * 3,
        [2**62] * 1000,
        ["x"] * 1000,
        "x" * 5000,
        {"value": 10**400},
        float("inf"),
    ),
)


FORMS = ["float of float64", "array of float32 and shape (2, 3)"]


def bytes_changed(content: bytes, chance: random.Random) -> bytes:
    """Some bytes other, gone, doubled or moved."""
    made = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        start = chance.choice((0, 8, 8, len(made))) and chance.randrange(len(made) + 1)
        stop = min(len(made), start + chance.choice((1, 1, 2, 8, 64)))
        match chance.randrange(5):
            case 0:
                made[start:stop] = chance.randbytes(stop - start)
            case 1:
                del made[start:stop]
            case 2:
                made[start:start] = made[start:stop]
            case 3:
                made[start:stop] = chance.choice(WORDS)
            case _:
                del made[chance.randrange(len(made) + 1) :]
    return bytes(made)


def entry_changed(x: Any, chance: random.Random) -> None:
    """Somewhere in this JSON a value is another, gone, or under another name."""
    while True:
        keys: list[Any] = list(x) if isinstance(x, dict) else list(range(len(x)))
        if not keys:
            return
        key = chance.choice(keys)
        if isinstance(x[key], dict | list) and x[key] and chance.random() < 0.8:
            x = x[key]
            continue
        match chance.randrange(3):
            case 0:
                x[key] = deepcopy(chance.choice(VALUES))
            case 1:
                del x[key]
            case _ if isinstance(x, dict):
                x[str(chance.choice(VALUES))] = deepcopy(x[key])
            case _:
                x.append(deepcopy(x[key]))
        return


def entries_changed(content: bytes, chance: random.Random) -> bytes:
    """A header that is JSON still, of the right length, with some entries other."""
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    inner = json.loads(header["__metadata__"]["wengert"])
    for _ in range(chance.randint(1, 3)):
        entry_changed(chance.choice((header, inner, inner)), chance)
    metadata = header.get("__metadata__")
    if isinstance(metadata, dict):
        metadata["wengert"] = json.dumps(inner)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + length :]


def attacked(folder: Path, count: int, seed: int) -> Counter[str]:
    """How many damaged files loaded and how many were refused; any other exception fails, as does a half load."""
    chance, settings = random.Random(seed), adam()
    a = settings.double_weight(0.5, name="a")
    b = settings.array_weight(np.ones((2, 3), np.float32), name="b")
    gather(square(a).train(), sum(b).train()).run()
    model: list[Weight] = [a, b]
    path = folder / "w"
    save(path, model, step=1, seed=2)
    content = path.read_bytes()
    found: Counter[str] = Counter()
    before = told(model)
    for _ in range(count):
        change = chance.choice((bytes_changed, entries_changed))
        path.unlink()  # some file systems wait for the disk when a file is cut to nothing
        path.write_bytes(change(content, chance))
        try:
            load(path, model)
        except CheckpointError as error:
            found["refused"] += 1
            if told(model) != before:
                raise AssertionError(f"refused, and yet something changed: {error}") from error
        else:
            found["loaded"] += 1
            before = told(model)
            assert [str(form_of(w.ref.data)) for w in model] == FORMS
    return found


@pytest.mark.parametrize("count", few([500, 5000], 1))
def test_damaged_files_load_or_are_refused(tmp_path: Path, count: int) -> None:
    found = attacked(tmp_path, count, seed=0)
    assert found["refused"] > count / 2, found
    assert found["loaded"] > count / 170, found


# -- within a second and 200 MB, in a process of its own --------------------------------------------


def checkpoints(folder: Path) -> Target:
    """Damaged files for `load`, which changes nothing where it refuses one."""
    path = scratch(folder) / "w"
    settings = adam()
    a = settings.double_weight(0.5, name="a")
    b = settings.array_weight(np.ones((2, 3), np.float32), name="b")
    gather(square(a).train(), sum(b).train()).run()
    model: list[Weight] = [a, b]
    save(path, model, step=1, seed=2, note=State().text())
    content = path.read_bytes()

    def held() -> list[object]:
        return [part for w in model for part in (w.ref.data, w.optimizer)]

    def same() -> bool:
        return all(now is before for now, before in zip(held(), state[0], strict=True))

    place, state = Place(path), [held()]

    def make(chance: Random) -> bytes:
        match chance.randrange(4):
            case 0:
                return bytes_changed(content, chance)
            case 1:
                return mutated(content, chance, WORDS, content)
            case _:
                return entries_changed(content, chance)

    def read(changed: bytes) -> None:
        place.holding(changed)
        try:
            found = load(path, model, check=lambda said: read_state(said.note, "w"))
        except CheckpointError as error:
            if not same():
                raise AssertionError(f"refused, and yet something changed: {error}") from error
            raise
        state[0] = held()
        assert [str(form_of(w.ref.data)) for w in model] == FORMS
        if found.step == 1:
            gather(square(a).train(), sum(b).train()).run()  # whatever was believed can be gone on with
            state[0] = held()

    return Target(make, read, CheckpointError)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="its guards are those of Linux")


def survived(folder: Path, seed: int, count: int) -> None:
    found = attack(__name__, "checkpoints", folder, seed, count)
    assert found.total() == count and min(found["read"], found["refused"]) > count / 200, found


@pytest.mark.slow
@linux
def test_hostile_checkpoints_load_or_are_refused(tmp_path: Path) -> None:
    survived(tmp_path, 0, 200)


@linux
@pytest.mark.slow
def test_many_hostile_checkpoints_load_or_are_refused(tmp_path: Path) -> None:
    survived(tmp_path, 1, 4000)


@linux
@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
def test_a_million_hostile_checkpoints_load_or_are_refused(tmp_path: Path, part: int) -> None:
    survived(tmp_path, 100 + part, 100_000)


def test_the_attack_finds_a_reader_that_believes_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def believing(x: Any, name: str) -> Any:
        form = StoredForm(x["sort"], x["dtype"], tuple(x["shape"]))
        return manifest.Saved(form, tuple(x["optimizer"]), {})

    monkeypatch.setattr(manifest, "_saved", believing)
    with pytest.raises((KeyError, TypeError, AttributeError, ValueError)) as caught:
        attacked(tmp_path, 3000, seed=0)
    assert not isinstance(caught.value, CheckpointError)
