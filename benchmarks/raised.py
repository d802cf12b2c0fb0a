"""`python -m benchmarks.raised FOLDER`: what each program of a folder raises, as JSON.

All start from one interpreter that has imported the library, in processes of their own: what one program
registers is no other one's business.

Knows: how a program is run to its end and kept quiet.
Refuses to know: which program should raise.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
from pathlib import Path

import numpy.random

import wengert.nn
import wengert.plugins

__all__ = ["numpy", "wengert"]  # imported for the programs, which find them loaded

SECONDS = 30  # for a program that never ends


def outcome(path: Path) -> list[str]:
    """The class and the first line of what a program raises; nothing if it comes to its end."""
    try:
        runpy.run_path(str(path), run_name="__main__")
    except BaseException as error:  # whatever it is, SystemExit too, it is the answer
        return [type(error).__name__, str(error).partition("\n")[0]]
    return []


def raised(path: Path) -> list[str]:
    """The outcome in a process of its own; its death is one, too."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.write(writing, json.dumps(outcome(path)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    answered: list[str] = json.loads(said) if said else ["killed", ""]
    return answered


if __name__ == "__main__":
    json.dump({path.name: raised(path) for path in sorted(Path(sys.argv[1]).glob("*.py"))}, sys.stdout)
