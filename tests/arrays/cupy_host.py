"""cupy itself where there is no device: its arrays lie in the memory of the host, all kernels are executed by g++.

As a plugin of pytest, `-p tests.arrays.cupy_host`, it has the tests marked `gpu` run as they are; so whatever cupy
refuses (an element type, an argument, an array of another device) is refused here, by its own code.

Knows: that cupy's modules call CUDA by tables of C functions, whose entries can be others before the next module is
imported; what cupy asks of CUDA, of its sort, and of cuBLAS.
Refuses to know: cuSOLVER and cuFFT, which are not there; whether a kernel is fast, or a stream in order.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import pytest

from tests.arrays.cuda_host import Compiled

C = Callable[..., Any]  # Any: functions of C
_API: Final = ctypes.pythonapi
_API.PyCapsule_GetName.restype, _API.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
_API.PyCapsule_New.restype = ctypes.py_object
_API.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_LIBC: Final = ctypes.CDLL(None)
_LIBC.aligned_alloc.restype, _LIBC.aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t] * 2
_LIBC.free.argtypes = [ctypes.c_void_p]
_TYPES: Final[dict[str, Any]] = {  # Any: ctypes' classes
    "PyObject *": ctypes.py_object,
    "int": ctypes.c_int,
    "intptr_t": ctypes.c_ssize_t,
    "size_t": ctypes.c_size_t,
    "uintmax_t": ctypes.c_uint64,
    "unsigned int": ctypes.c_uint,
    "CUdevice": ctypes.c_int,
}
_SIGNATURE: Final = re.compile(r"(.*?) ?\((.*)\)")
_ALIGNED: Final = 512
# headers of cupy's that kernels include and no kernel of ours needs: numbers that are complex, additions in a race
_SHIMS: Final = {
    "complex.cuh": """\
#pragma once
#include <math.h>
using std::isnan; using std::isinf; using std::isfinite; using std::signbit;
template <class T> struct complex { T re, im; };
static unsigned short __float2half_rn(float) { return 0; }  // cupy 13 declares numbers of 16 bits, which nobody makes
static float __half2float(unsigned short) { return 0; }
template <class T> static T max(T a, T b) { return a > b || b != b ? a : b; }
template <class T> static T min(T a, T b) { return a < b || b != b ? a : b; }
static double max(double a, float b) { return max<double>(a, b); }
static double min(double a, float b) { return min<double>(a, b); }
""",
    "atomics.cuh": """\
#pragma once
template <class T> static T atomicMax(T *at, T x) { const T old = *at; if (x > old) *at = x; return old; }
static unsigned atomicCAS(unsigned *at, unsigned than, unsigned x) {
  const unsigned old = *at; if (old == than) *at = x; return old;
}
""",
}


def unregistered(at: int) -> object:
    """CUDA's answer about memory of the host that it does not know; cupy 13 asks."""
    runtime: Any = import_module("cupy_backends.cuda.api.runtime")  # Any: as the stubs do not have it
    return runtime.PointerAttributes(0, 0, at, 0)


class Cuda:
    """What stands for CUDA: the functions that cupy calls, by name."""

    def __init__(self, folder: Path, include: Path) -> None:
        shims = folder / "shims" / "cupy"
        shims.mkdir(parents=True)
        for name, text in _SHIMS.items():
            (shims / name).write_text(text)
        self.compiled = Compiled(folder, shims.parent, include)
        self.present = 0
        self.handles = count(1)
        self.sources: list[str] = []
        self.modules: dict[int, str] = {}
        self.functions: dict[int, tuple[str, str]] = {}  # the text and the name
        self.launches = 0

    def runtime(self) -> Mapping[str, C]:
        def allocated(size: int, *_: int) -> int:
            at: int = _LIBC.aligned_alloc(_ALIGNED, -(-max(size, 1) // _ALIGNED) * _ALIGNED)
            ctypes.memset(at, 0xFF, size)  # what nobody has written is no number
            return at

        def use(device: int, *_: int) -> None:
            self.present = device

        def copied(to: int, at: int, size: int, *_: int) -> None:
            ctypes.memmove(to, at, size)

        def copied_between(to: int, _: int, at: int, __: int, size: int, *___: int) -> None:
            ctypes.memmove(to, at, size)

        def filled(at: int, byte: int, size: int, *_: int) -> None:
            ctypes.memset(at, byte, size)

        def nothing(*_: int) -> None:
            """Nothing waits, and nothing is in flight."""

        def handle(*_: int) -> int:
            return next(self.handles)

        def freed(at: int, *_: int) -> None:
            _LIBC.free(at)

        return {
            **dict.fromkeys(("malloc", "mallocAsync", "hostAlloc"), allocated),
            **dict.fromkeys(("free", "freeAsync", "freeHost"), freed),
            **dict.fromkeys(("memcpy", "memcpyAsync"), copied),
            **dict.fromkeys(("memcpyPeer", "memcpyPeerAsync"), copied_between),
            **dict.fromkeys(("memset", "memsetAsync"), filled),
            **dict.fromkeys(
                ("eventCreate", "eventCreateWithFlags", "streamCreate", "streamCreateWithFlags"), handle
            ),
            **dict.fromkeys(("eventRecord", "eventDestroy", "eventSynchronize", "streamDestroy"), nothing),
            **dict.fromkeys(("streamSynchronize", "streamWaitEvent", "deviceSynchronize"), nothing),
            **dict.fromkeys(
                ("_ensure_context", "_deviceEnsurePeerAccess", "deviceEnablePeerAccess"), nothing
            ),
            **dict.fromkeys(("eventQuery", "streamIsCapturing"), lambda *_: 0),
            "setDevice": use,
            "getDevice": lambda *_: self.present,
            "getDeviceCount": lambda *_: 2,
            "deviceCanAccessPeer": lambda *_: 0,  # so cupy refuses an array of another device in a launch
            "driverGetVersion": lambda *_: 12090,
            "runtimeGetVersion": lambda *_: 12090,
            "_getCUDAMajorVersion": lambda *_: 12,
            "deviceGetAttribute": lambda which, *_: {75: 9, 76: 0}.get(which, 1024),  # 9.0 is that of an H100
            "getDeviceProperties": lambda *_: {"name": b"g++ in place of a device", "warpSize": 32},
            "pointerGetMemoryType": lambda *_: 2,  # of a device
            "pointerGetAttributes": lambda at, *_: unregistered(at),
            "memGetInfo": lambda *_: (1 << 30, 1 << 30),
        }

    def driver(self) -> Mapping[str, C]:
        def loaded(key: bytes, *_: int) -> int:
            found = next(self.handles)
            self.modules[found] = self.sources[int(key)]
            return found

        def function(module: int, name: str, *_: int) -> int:
            found, source = next(self.handles), self.modules[module]
            self.functions[found] = source, name
            self.compiled.ask(source, name)
            return found

        def launched(at: int, grid: int, *given: int) -> None:
            assert given[:2] == (1, 1), "every launch here has one axis"
            self.launches += 1
            self.compiled.launch(*self.functions[at], grid, given[2], given[7])

        return {
            "moduleLoadData": loaded,
            "moduleGetFunction": function,
            "moduleUnload": lambda *_: None,
            "launchKernel": launched,
            "ctxGetCurrent": lambda *_: 1,
            "ctxGetDevice": lambda *_: self.present,
            "ctxSetCurrent": lambda *_: None,
            "get_build_version": lambda *_: 12090,
        }


def replace(module: Any, functions: Mapping[str, C]) -> None:
    """Have what calls a module's C functions call these; any other one says its name, and fails."""
    table = module.__pyx_capi__
    for name, capsule in [*table.items()]:
        signature = _API.PyCapsule_GetName(capsule)
        found = _SIGNATURE.fullmatch(signature.decode())
        if found is None:  # a number
            continue
        parameters = [
            re.sub(r" (__pyx_skip_dispatch|\*__pyx_optional_args)$", "", x) for x in found[2].split(", ")
        ]
        types: list[Any] = [  # Any: as those of `_TYPES`
            ctypes.c_void_p if x.startswith("struct") else _TYPES.get(x) for x in parameters if x != "void"
        ]
        result = ctypes.py_object if found[1].startswith("struct __pyx_obj") else _TYPES.get(found[1])
        if result is None or None in types:
            continue
        call = _loud(name, functions.get(name))
        made = ctypes.PYFUNCTYPE(result, *types)(call)
        _KEPT.extend((made, signature))
        table[name] = _API.PyCapsule_New(ctypes.cast(made, ctypes.c_void_p).value, signature, None)
        setattr(module, name, call)


_KEPT: Final[list[object]] = []  # what C has the addresses of


def _loud(name: str, function: C | None) -> C:
    """A function for C, which would lose an error and go on: it ends the process."""

    def call(*given: object) -> object:
        try:
            assert function is not None, f"CUDA's {name}{given} has no stand-in"
            return function(*given)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(70)

    return call


# -- libraries -------------------------------------------------------------------------------------------------

_SCALARS: Final = {0: np.float32, 1: np.float64}  # cuBLAS's numbers of types


def at_address(
    at: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
) -> Any:  # Any: arrays of numpy
    """What lies at an address, strides in elements."""
    dtype = np.dtype(dtype)
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) + 1 if all(shape) else 0
    there: Any = (ctypes.c_char * (last * dtype.itemsize)).from_address(at)  # Any: a buffer
    whole = np.frombuffer(there, dtype)
    return np.lib.stride_tricks.as_strided(whole, shape, [step * dtype.itemsize for step in strides])


def _multiplied(
    turns: tuple[int, int], sizes: tuple[int, int, int], batch: int, *given: tuple[int, int, int, int]
) -> None:
    """c = a b for each matrix of a batch, column by column; given are address, type, lines' and matrices' distance."""
    m, n, k = sizes
    shapes = ((k, m) if turns[0] else (m, k), (n, k) if turns[1] else (k, n), (m, n))
    a, b, c = (
        at_address(at, (batch, *shape), (apart, 1, lines), _SCALARS[kind])
        for (at, kind, lines, apart), shape in zip(given, shapes, strict=True)
    )
    a, b = (x.swapaxes(1, 2) if turn else x for x, turn in zip((a, b), turns, strict=True))
    c[...] = a @ b


def _product(
    handle: int, ta: int, tb: int, m: int, n: int, k: int, alpha: int,
    a: int, of_a: int, lda: int, b: int, of_b: int, ldb: int, beta: int, c: int, of_c: int, ldc: int, *how: int,
) -> None:  # fmt: skip
    """`cublasGemmEx`."""
    _multiplied((ta, tb), (m, n, k), 1, (a, of_a, lda, 0), (b, of_b, ldb, 0), (c, of_c, ldc, 0))


def _products(
    handle: int, ta: int, tb: int, m: int, n: int, k: int, alpha: int,
    a: int, of_a: int, lda: int, step_a: int, b: int, of_b: int, ldb: int, step_b: int,
    beta: int, c: int, of_c: int, ldc: int, step_c: int, batch: int, *how: int,
) -> None:  # fmt: skip
    """`cublasGemmStridedBatchedEx`."""
    given = ((a, of_a, lda, step_a), (b, of_b, ldb, step_b), (c, of_c, ldc, step_c))
    _multiplied((ta, tb), (m, n, k), batch, *given)


def _products_at(
    kind: int, handle: int, ta: int, tb: int, m: int, n: int, k: int, alpha: int,
    a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int, batch: int,
) -> None:  # fmt: skip
    """`cublasSgemmBatched`, which is given where the addresses of the matrices are."""
    for each in zip(*(at_address(x, (batch,), (1,), np.int64).tolist() for x in (a, b, c)), strict=True):
        given = ((at, kind, lines, 0) for at, lines in zip(each, (lda, ldb, ldc), strict=True))
        _multiplied((ta, tb), (m, n, k), 1, *given)


class Blas(ModuleType):
    """cuBLAS's functions: products of matrices that lie column by column."""

    gemmEx, gemmStridedBatchedEx = staticmethod(_product), staticmethod(_products)
    sgemmBatched, dgemmBatched = (staticmethod(partial(_products_at, kind)) for kind in _SCALARS)

    def __getattr__(self, name: str) -> Any:  # Any: functions of C, and numbers
        if name.startswith("CUBLAS_"):
            return int(name.endswith("_T"))
        if name in (
            "create",
            "setStream",
            "setMathMode",
            "getMathMode",
            "destroy",
            "getPointerMode",
            "setPointerMode",
        ):
            return lambda *_: 1
        raise AttributeError(f"{self.__name__}.{name} has no stand-in")


def _argsort(dtype: Any, order: int, data: int, keys: int, shape: tuple[int, ...]) -> None:  # Any: numpy's
    """The order of each line along the last axis, of a copy that may be destroyed."""
    steps = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    at_address(order, shape, steps, np.int64)[...] = at_address(data, shape, steps, dtype).argsort(
        -1, kind="stable"
    )


def _libraries() -> None:
    """Have cupy find libraries in Python where it looks for those of CUDA."""
    libs = import_module("cupy_backends.cuda.libs")
    for name in ("cublas", "cusolver", "cusparse", "curand"):
        made = Blas(f"cupy_backends.cuda.libs.{name}")
        sys.modules[made.__name__] = made
        setattr(libs, name, made)


def install(folder: Path) -> Cuda:
    """Import cupy over what stands for CUDA."""
    assert "cupy" not in sys.modules, "before anybody has imported cupy"
    os.environ["CUPY_ACCELERATORS"] = (
        ""  # without CUB, whose kernels are in cupy's libraries as code of a device
    )
    place = find_spec("cupy")
    assert place is not None
    assert place.origin is not None
    cuda = Cuda(folder, Path(place.origin).parent / "_core" / "include")
    replace(import_module("cupy_backends.cuda.api.runtime"), cuda.runtime())
    replace(import_module("cupy_backends.cuda.api.driver"), cuda.driver())
    _libraries()
    compiler: Any = import_module("cupy.cuda.compiler")  # Any: as the stubs do not have it
    function: Any = import_module("cupy.cuda.function")
    thrust: Any = import_module("cupy.cuda.thrust")

    def compiled(source: str, *given: object, **options: object) -> Any:  # Any: a class of cupy's
        module = function.Module()
        cuda.sources.append(source)
        module.load(str(len(cuda.sources) - 1).encode())
        return module

    compiler._compile_module_with_cache = compiled
    thrust.argsort = _argsort
    return cuda


# -- as a plugin of pytest -------------------------------------------------------------------------------------

ABSENT: Final = {
    **dict.fromkeys(("inv", "solve", "det", "logabsdet", "det_sign"), "cuSOLVER"),
    **dict.fromkeys(("cholesky", "pinv", "eigh", "svd", "qr"), "cuSOLVER"),
    "fourier": "cuFFT",
}
_ENDED: Final = [70]


def pytest_configure(config: pytest.Config) -> None:
    """Before a test imports cupy."""
    install(Path(tempfile.mkdtemp()))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is computed by a library that is not there."""
    for item in items:
        name = item.callspec.params.get("name") if hasattr(item, "callspec") else None
        if name in ABSENT:
            item.add_marker(pytest.mark.skip(reason=f"{ABSENT[name]} has no stand-in"))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keep the status."""
    _ENDED.append(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End at once: cupy gives back memory and events when Python's functions are no more."""
    sys.stdout.flush()
    os._exit(_ENDED[-1])
