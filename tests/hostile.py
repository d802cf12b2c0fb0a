"""Inputs made to break a reader, in a process of its own, and what became of each.

Knows: that a reader may crash, hang, take all memory or raise anything; that an input is its number, from which it can
be made again.
Refuses to know: any format; a target makes inputs and reads them.
"""

from __future__ import annotations

import atexit
import importlib
import json
import mmap
import os
import resource
import shutil
import signal
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

SECONDS = 1.0  # of processor time for one input: a busy machine says nothing about it
BYTES = 200 << 20  # of memory, beyond what the process has in the beginning
LENGTHS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFF, 0x7FFFFFFF, 0xFFFFFFFF)


class Target(NamedTuple):
    """Makes an input by chance, and reads it; `refused` is the one error that a reader may raise."""

    make: Callable[[Random], bytes]
    read: Callable[[bytes], object]
    refused: type[Exception]


def scratch(folder: Path) -> Path:
    """A folder in memory where there is one: a disk waits for each of a million files."""
    memory = Path("/dev/shm")
    if not memory.is_dir():
        return folder
    made = memory / f"wengert-{os.getpid()}"
    made.mkdir(exist_ok=True)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


class Place:
    """A file that is written again and again, without the time that it takes to make one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)

    def holding(self, content: bytes) -> Path:
        """Its path, when this is all that it holds."""
        os.pwrite(self.handle, content, 0)
        os.ftruncate(self.handle, len(content))
        return self.path


def mutated(content: bytes, chance: Random, words: Sequence[bytes], other: bytes = b"") -> bytes:
    """Bytes other, gone, doubled many times or moved; words and lengths put in; an end cut off, or of another input."""
    made = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        start = chance.randrange(len(made) + 1)
        stop = min(len(made), start + chance.choice((1, 1, 2, 4, 16, 64)))
        match chance.randrange(10):
            case 0 if start < stop:
                made[start] ^= 1 << chance.randrange(8)
            case 1:
                made[start:stop] = chance.randbytes(stop - start)
            case 2:
                del made[start:stop]
            case 3:
                made[start:start] = made[start:stop] * chance.choice((1, 2, 30, 500))
            case 4:
                made[start:stop] = chance.choice(words)
            case 5:
                made[start:start] = chance.choice(words) * chance.choice((1, 1, 3, 100))
            case 6:
                size = chance.choice((1, 2, 4, 8))
                number = chance.choice(LENGTHS) % (1 << 8 * size)
                made[start : start + size] = number.to_bytes(size, "little")
            case 7 if other:
                made[start:] = other[chance.randrange(len(other)) :]
            case 8:
                made[start:start] = made[: chance.randrange(64)]
            case 9 if chance.random() < 0.3:
                del made[start:]
    return bytes(made)


def attacked(module: str, name: str, folder: Path, seed: int, count: int) -> Counter[str]:
    """How many inputs were read and how many refused; AssertionError, with its number, for one that did harm."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.hostile", module, name, str(folder), str(seed), str(count)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parent.parent,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    if found.returncode:
        number = int.from_bytes((folder / "number").read_bytes()[:8], "little")
        died = f"killed by {signal.Signals(-found.returncode).name}" if found.returncode < 0 else "failed"
        raise AssertionError(f"input {number} of seed {seed}: {died}\n{found.stderr[-4000:]}")
    return Counter(json.loads(found.stdout.splitlines()[-1]))


def one(target: Target, seed: int, number: int) -> bytes:
    """The input of this number."""
    return target.make(Random((seed << 40) + number))


def work(target: Target, folder: Path, seed: int, count: int) -> Counter[str]:
    """Make and read the inputs, in this process, which is the one that is harmed."""
    told = Path(folder, "number")
    told.write_bytes(bytes(8))
    with told.open("r+b") as file:
        number = mmap.mmap(file.fileno(), 8)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (now + BYTES, now + BYTES))
    found: Counter[str] = Counter()
    for i in range(count):
        number[:] = i.to_bytes(8, "little")
        content = one(target, seed, i)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # whose signal ends the process, in C too
        try:
            target.read(content)
        except target.refused as error:
            if len(str(error)) > 4000:
                raise AssertionError(f"a text of {len(str(error)):,} characters: {error!s:.1000}") from error
            found["refused"] += 1
        else:
            found["read"] += 1
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return found


def main(module: str, name: str, folder: str, seed: str, count: str) -> None:
    """A process that does nothing else."""
    target: Any = getattr(importlib.import_module(module), name)(Path(folder))
    try:
        print(json.dumps(work(target, Path(folder), int(seed), int(count))))
    except BaseException:
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
