"""The C compiler of the machine: from the text of loops to functions of numpy.

Knows: which compiler there is and by which flags sums and products keep the bits that IEEE 754 gives them; that a
library is kept in a folder of its user by the digest of all that it was made of (text, flags, compiler, processor),
written in one step, and loaded only if nobody else could have written it; that numpy makes a ufunc of a loop, which
then takes care of shapes, strides and operands that share memory.
Refuses to know: what the loops compute, when they are worth compiling, and in which thread. The only module that starts
a process for a run.

Source: numpy's C API, `PyUFunc_FromFuncAndDataAndSignature`.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import stat
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from time import time
from typing import Any, Final

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined] # C's `import_ufunc()` takes it

from wengert.arrays.namespace import Value

__all__ = [
    "FLAGS",
    "CCompiler",
    "CompilerError",
    "LoopSignature",
    "cache_folder",
    "found_compiler",
    "is_own",
    "loaded",
]

FLAGS: Final = (
    *("-O3", "-march=native", "-std=c11", "-shared", "-fPIC"),
    # a product and a sum are rounded apart; NaN, infinities and signs of zero are what IEEE 754 says they are
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
)
SECONDS: Final = 60.0  # a compiler that takes longer hangs
_MAKING: Final = "making-"  # how folders begin in which a compiler works
_MAKE_UFUNC: Final = (
    31  # the place of PyUFunc_FromFuncAndDataAndSignature in numpy's table, which never changes
)


class CompilerError(Exception):
    """There is no library of a text: why, in one line."""


@dataclass(frozen=True)
class CCompiler:
    """A C compiler, by its path and by what it says of itself."""

    path: str
    version: str

    def library(self, text: str, folder: Path) -> Path:
        """The place of the library of a text, whether it is there or not."""
        key = "\0".join((text, *FLAGS, self.version, _processor()))
        return folder / f"{hashlib.sha256(key.encode()).hexdigest()}.so"

    def compiled(self, text: str, folder: Path) -> Path:
        """The library of a text in `folder`; `CompilerError` where the compiler or the disk fails."""
        library = self.library(text, folder)
        if is_own(library):
            return library
        try:
            _clear(folder)
            place = mkdtemp(dir=folder, prefix=_MAKING)  # a process that ends meanwhile leaves it to `_clear`
            try:
                source, made = Path(place, "loops.c"), Path(place, "loops.so")
                source.write_text(text)
                _called([self.path, *FLAGS, str(source), "-o", str(made), "-lm"])
                made.chmod(0o600)
                made.replace(library)  # in one step: another process finds the whole of it or nothing
            finally:
                shutil.rmtree(place, ignore_errors=True)
        except OSError as error:
            raise CompilerError(f"no library of compiled loops could be written: {error}") from None
        return library


@dataclass(frozen=True)
class LoopSignature:
    """A function of a library, the types of elements that it reads and writes, and the axes that it goes along itself.

    The axes are written as for `numpy.vectorize`, such as "(8),()->(8)"; None where it works element by element.
    """

    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    axes: str | None = None


@cache
def found_compiler() -> CCompiler | None:
    """The compiler that `CC` names, else the first of `cc`, `gcc` and `clang` that answers; None if none does."""
    named = os.environ.get("CC", "").split()[:1]
    for name in named or ("cc", "gcc", "clang"):
        path = shutil.which(name)
        if path is not None:
            try:
                return CCompiler(path, _called([path, "--version"]).strip() or path)
            except CompilerError:
                continue
    return None


def cache_folder() -> Path:
    """The folder of libraries, which only its user may read or write; made if it is not there.

    It is `wengert` in `XDG_CACHE_HOME`, or in `~/.cache`. `CompilerError` where it cannot be made, or is another's.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base, "wengert")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        of = folder.lstat()
    except OSError as error:
        raise CompilerError(f"no folder for compiled loops: {error}") from None
    if not stat.S_ISDIR(of.st_mode) or of.st_uid != os.getuid() or of.st_mode & 0o077:
        raise CompilerError(
            f"{folder} is not used: it has to be a folder of this user with mode 700, "
            f"and is of user {of.st_uid} with mode {stat.S_IMODE(of.st_mode):o}"
        )
    return folder


def loaded(library: Path, loops: Sequence[LoopSignature]) -> tuple[np.ufunc, ...]:
    """The loops of a library as ufuncs: `f(x, y, out=(z, w))` as in numpy, by its rules of broadcasting."""
    try:
        opened = ctypes.CDLL(str(library))
    except OSError as error:
        raise CompilerError(f"a compiled library cannot be loaded: {error}") from None
    return tuple(_ufunc(opened, loop) for loop in loops)


def _ufunc(library: ctypes.CDLL, loop: LoopSignature) -> np.ufunc:
    types = (*loop.inputs, *loop.outputs)
    functions = (ctypes.c_void_p * 1)(ctypes.cast(getattr(library, loop.name), ctypes.c_void_p).value)
    data = (ctypes.c_void_p * 1)(None)
    numbers = ctypes.create_string_buffer(bytes(x.num for x in types), len(types))
    name = ctypes.create_string_buffer(loop.name.encode())
    # numpy does not copy them: they live as long as the process, as the ufunc's code does
    _KEPT.append((library, functions, data, numbers, name))
    axes = None if loop.axes is None else loop.axes.encode()
    made: np.ufunc = _maker()(
        functions, data, numbers, 1, len(loop.inputs), len(loop.outputs), -1, name, name, 0, axes
    )
    return made


_KEPT: Final[list[object]] = []  # what ufuncs point to


@cache
def _maker() -> Callable[..., Any]:  # Any: C's pointers
    """`PyUFunc_FromFuncAndDataAndSignature` of numpy."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(pointer(vars(_multiarray_umath)["_UFUNC_API"], None), ctypes.POINTER(ctypes.c_void_p))
    of = ctypes.PYFUNCTYPE(
        *(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
        *(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p),
    )
    return of(table[_MAKE_UFUNC])


def _called(command: Sequence[str]) -> str:
    """The output of a command; `CompilerError` with its first line of complaint where it fails or hangs."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompilerError(f"{command[0]}: {error}") from None
    if done.returncode:
        complaint = next(iter(done.stderr.strip().splitlines()), "it says nothing")
        raise CompilerError(f"{command[0]} ended with status {done.returncode}: {complaint}")
    return done.stdout


def is_own(library: Path) -> bool:
    """True if a library is there that nobody but this user can have written."""
    try:
        of = library.lstat()
    except OSError:
        return False
    return stat.S_ISREG(of.st_mode) and of.st_uid == os.getuid() and not of.st_mode & 0o022


def _clear(folder: Path) -> None:
    """Remove what a process has left that was killed while it compiled."""
    for left in folder.glob(f"{_MAKING}*"):
        if time() - left.stat().st_mtime > 10 * SECONDS:
            shutil.rmtree(left, ignore_errors=True)


@cache
def _processor() -> str:
    """The properties of the processor on which `-march=native` depends."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    told = [line for line in lines if line.startswith(("model name", "flags", "Features"))][:2]
    return "\n".join([platform.machine(), platform.processor(), *told])
