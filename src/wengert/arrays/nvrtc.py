"""NVIDIA's compiler of CUDA text, by ctypes: it needs neither a device nor a driver.

Knows: where packages put its library; that text becomes PTX for a kind of device ("compute_80") or code for one
("sm_90"); that a failure carries the lines which the compiler did not take.
Refuses to know: devices, cupy, and what a text computes.

Source: NVIDIA, "NVRTC", the API reference of `nvrtcCompileProgram`.
"""

from __future__ import annotations

import ctypes
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from wengert.arrays.compilers import CompilerError
from wengert.arrays.cuda import ADDED_OPTIONS, OPTIONS

__all__ = ["Nvrtc", "found_nvrtc"]

_NAMES: Final = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so")
_PACKAGES: Final = ("nvidia.cuda_nvrtc", "nvidia.cu13")
_PLACE: Final = re.compile(r"\((\d+)\): error: (.*)")


class Nvrtc:
    """The library of the compiler."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._library = ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def compiled(self, text: str, architecture: str = "compute_80") -> bytes:
        """PTX of a text for "compute_..", a device's code for "sm_.."; CompilerError with the lines that are wrong."""
        program = ctypes.c_void_p()
        options = [*OPTIONS, *ADDED_OPTIONS, f"--gpu-architecture={architecture}"]  # as cupy has them
        given = (ctypes.c_char_p * len(options))(*(x.encode() for x in options))
        self._checked(
            self._library.nvrtcCreateProgram(
                ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None
            )
        )
        try:
            if self._library.nvrtcCompileProgram(program, len(options), given):
                raise CompilerError(_complaint(self._said(program, "ProgramLog").decode(), text))
            return self._said(program, "CUBIN" if architecture.startswith("sm_") else "PTX")
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _said(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._checked(getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        found = ctypes.create_string_buffer(size.value)
        self._checked(getattr(self._library, f"nvrtcGet{what}")(program, found))
        return found.raw

    def _checked(self, status: int) -> None:
        if status:
            self._library.nvrtcGetErrorString.restype = ctypes.c_char_p
            raise CompilerError(f"NVRTC {self.version}: {self._library.nvrtcGetErrorString(status).decode()}")


def _complaint(log: str, text: str) -> str:
    """The compiler's errors, each with its line of the text."""
    lines = text.splitlines()
    found = [(int(m[1]), m[2]) for m in _PLACE.finditer(log)]
    told = [f"line {n}: {what}\n    {lines[n - 1].strip()}" for n, what in found if 0 < n <= len(lines)]
    return "NVRTC does not take a text: " + ("\n  ".join(told) or log.strip("\0\n "))


@cache
def found_nvrtc() -> Nvrtc | None:
    """The compiler of an installed package, else that of the machine; None where there is none."""
    for path in (*_in_packages(), *_NAMES):
        try:
            return Nvrtc(path)
        except OSError:
            continue
    return None


def _in_packages() -> list[str]:
    found = []
    for name in _PACKAGES:
        try:
            spec = find_spec(name)
        except ModuleNotFoundError:
            continue
        for folder in (spec.submodule_search_locations or []) if spec is not None else []:
            found += [str(path) for path in sorted(Path(folder, "lib").glob("libnvrtc.so.*"))]
    return found
