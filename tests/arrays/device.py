"""A device of numpy's: modules with cupy's names whose arrays only functions of theirs can read.

Knows: that a launch counts, that a view does not; that whoever reads an array on the host waits for the device; how
much memory there is; that a kernel's text is executed as it is, through g++.
Refuses to know: what wengert does with it.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tests.arrays.cuda_host import Compiled
from tests.arrays.pretended import gpu_over
from wengert.arrays import HOST

STUB = Path(__file__).parents[2] / "stubs" / "cupy" / "__init__.pyi"


def names_in_the_stub() -> set[str]:
    """What the stub says that cupy has."""
    found: set[str] = set()
    for node in ast.parse(STUB.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


VIEWS = {"broadcast_to", "swapaxes", "reshape", "transpose", "squeeze", "view", "ravel"}
FREE = {*VIEWS, "empty", "asarray", "ix_", "dtype"}


class OutOfMemoryError(Exception):
    """As `cupy.cuda.memory.OutOfMemoryError`."""


class Device:
    """One of cupy's; kinds of expressions keep the functions of a device, so that of each stand-in has its own name."""

    def __init__(self, id: int, owner: int) -> None:
        self.id, self.owner = id, owner

    def __enter__(self) -> Device:
        PRESENT.append(self)
        return self

    def __exit__(self, *failure: object) -> None:
        PRESENT.pop()

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id} of stand-in {self.owner}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (other.id, other.owner) == (self.id, self.owner)

    def __hash__(self) -> int:
        return hash((self.id, self.owner))


Device.__module__ = "cupy.cuda"
OutOfMemoryError.__module__ = "cupy.cuda.memory"
NUMBERS = count()
PRESENT: list[Device] = []  # those that are entered


class Fake:
    """What has happened on the device."""

    def __init__(self, folder: Path) -> None:
        self.number = next(NUMBERS)
        self.launches: Counter[str] = Counter()
        self.reads = 0  # by the host
        self.given: Counter[int] = Counter()  # launches of each device's stream, ever
        self.waits: dict[tuple[int, int], int] = {}  # of one stream for so many launches of another
        self.copies: list[tuple[int, int]] = []  # to a device from one whose stream has not waited for it
        self.bytes = self.peak = 0
        self.limit = math.inf
        self.compiled = Compiled(folder)
        self.failure: Exception | None = None  # of the compiler
        self.module = _module(self)
        self.array: Any = self.module.ndarray

    def device(self, id: int | None = None) -> Any:
        """One of its devices; the present one if none is named."""
        return Device((PRESENT[-1].id if PRESENT else 0) if id is None else id, self.number)

    def launched(self, name: str) -> None:
        """Count a launch, on the stream of the present device."""
        self.launches[name] += 1
        self.given[self.device().id] += 1

    @property
    def small(self) -> int:
        """The launches that are no products of matrices."""
        return self.launches.total() - self.launches["matmul"]

    def reset(self) -> None:
        """Count anew."""
        self.launches.clear()
        self.reads, self.peak = 0, self.bytes

    def allocated(self, bytes: int) -> None:
        """Take memory for a new array, or give some back."""
        if self.bytes + bytes > self.limit:
            raise OutOfMemoryError(
                f"Out of memory allocating {bytes:,} bytes (allocated so far: {self.bytes:,} bytes)"
            )
        self.bytes += bytes
        self.peak = max(self.peak, self.bytes)

    def on(self, x: Any, device: Device | None = None) -> Any:
        """An array of the device with these elements."""
        return self.array(np.array(x, order="C"), device or self.device())

    def read(self, x: Any) -> Any:
        """The elements of an array, for a test: not counted."""
        return x.inside if isinstance(x, self.array) else x


def _module(fake: Fake) -> Any:
    module: Any = ModuleType("cupy")

    def bare(x: Any) -> Any:
        if isinstance(x, tuple | list):
            return type(x)(map(bare, x))
        if isinstance(x, slice):
            return x
        return x.inside if isinstance(x, Array) else x

    def refuse(xs: Any) -> None:
        """As cupy, whose functions take its arrays, and no other's; and those of the present device only."""
        for x in xs:
            if isinstance(x, tuple | list):
                refuse(x)
            if isinstance(x, np.ndarray):
                raise TypeError(f"Unsupported type {type(x)}")
            if isinstance(x, Array) and x.device != fake.device():
                raise ValueError(f"an array of {x.device} for a launch on {fake.device()}")

    def device_among(xs: Any) -> Any:
        for x in xs:
            if isinstance(x, Array):
                return x.device
            if isinstance(x, tuple | list) and any(isinstance(y, Array) for y in x):
                return device_among(x)
        return fake.device()

    def wrapped(x: Any, device: Device, owner: Any = None) -> Any:
        if isinstance(x, tuple):
            return tuple(wrapped(y, device) for y in x)
        return Array(x, device) if isinstance(x, np.ndarray | np.generic) else x

    def counted(name: str, function: Any) -> Any:
        def call(*given: Any, **options: Any) -> Any:
            if name not in FREE:
                fake.launched(name)
            refuse(given)
            out = options.pop("out", None)
            found = function(*map(bare, given), **{key: bare(x) for key, x in options.items()})
            if out is not None:
                out.inside[...] = found
                return out
            if (
                any(x is None for x in (out,))
                and len(given) == 3
                and isinstance(function, np.ufunc)
                and function.nin == 2
            ):
                return given[2]
            return wrapped(found, device_among((*given, *options.values())))

        made: Any = call
        made.__name__ = name
        if hasattr(function, "at"):
            made.at = counted(f"{name}.at", function.at)
        return made

    class Memory:
        def __init__(self, ptr: int) -> None:
            self.ptr = ptr

    class _Array:
        __array_ufunc__ = None

        def __init__(self, inside: Any, device: Device) -> None:
            inside = np.asarray(inside)
            self.inside, self.device = inside, device
            self.own = inside.nbytes if inside.base is None else 0
            if self.own:
                owned, self.own = self.own, 0
                fake.allocated(owned)
                self.own = owned

        def __del__(self) -> None:
            fake.bytes -= self.own

        @property
        def data(self) -> Memory:
            return Memory(self.inside.ctypes.data)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            found = getattr(self.inside, name)
            if callable(found):
                if name in ("item", "tolist", "get"):
                    fake.reads += 1
                    return found
                call = counted(name, lambda x, *given, **options: getattr(x, name)(*given, **options))
                return lambda *given, **options: call(self, *given, **options)
            return wrapped(found, self.device) if isinstance(found, np.ndarray) else found

        def __getitem__(self, key: Any) -> Any:
            found = self.inside[bare(key)]
            if found.base is None and self.inside.size:  # no view
                refuse((self,))
                fake.launched("getitem")
            return wrapped(np.asarray(found), self.device)

        def __setitem__(self, key: Any, x: Any) -> None:
            refuse((self, x))
            fake.launched("setitem")
            self.inside[bare(key)] = bare(x)

        def __len__(self) -> int:
            return len(self.inside)

        def _read(self) -> Any:
            fake.reads += 1
            return self.inside

        def __float__(self) -> float:
            return float(self._read())

        def __int__(self) -> int:
            return int(self._read())

        def __bool__(self) -> bool:
            return bool(self._read())

        def __array__(self, dtype: object = None, copy: object = None) -> Any:
            raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def operator(name: str) -> Any:
        plain = name.strip("_").removeprefix("r" if name[2:] in REFLECTED else "")

        def method(self: Any, *given: Any) -> Any:
            refuse((self, *given))
            fake.launched("matmul" if plain == "matmul" else plain)
            found = getattr(self.inside, name)(*map(bare, given))
            if found is NotImplemented:
                return found
            if name in INPLACE:
                self.inside[...] = found
                return self
            return wrapped(np.asarray(found), self.device)

        return method

    two = ("add", "sub", "mul", "truediv", "pow", "matmul", "floordiv", "mod")
    REFLECTED = {f"r{x}__" for x in two}
    INPLACE = {f"__i{x}__" for x in ("add", "sub", "mul", "truediv")}
    names = [*(f"__{x}__" for x in two), *(f"__r{x}__" for x in two), *INPLACE]
    names += [f"__{x}__" for x in ("neg", "abs", "pos", "lt", "le", "gt", "ge", "and", "or")]
    Array: Any = type(
        "ndarray", (_Array,), {"__module__": "cupy", **{name: operator(name) for name in names}}
    )

    class RawModule:
        def __init__(self, *, code: str, options: tuple[str, ...] = ()) -> None:
            if fake.failure is not None:
                raise fake.failure
            self.code = code

        def get_function(self, name: str) -> Any:
            kernel = fake.compiled.kernel(self.code, name)

            def launch(grid: Any, block: Any, given: tuple[Any, ...]) -> None:
                assert all(isinstance(x, Array | np.generic) for x in given), given
                fake.launched(name)
                kernel(grid, block, tuple(map(bare, given)))

            return launch

    for name in names_in_the_stub() - {"ndarray", "fuse", "ufunc"}:
        if hasattr(np, name):
            setattr(module, name, counted(name, getattr(np, name)))

    def asarray(x: Any, *given: Any, order: Any = "K") -> Any:
        if isinstance(x, Array) and x.device == fake.device():
            return x
        if isinstance(x, Array):
            here, there = fake.device().id, x.device.id
            assert fake.waits.get((here, there)) == fake.given[there], "a copy of what may not be there yet"
            fake.copies.append((here, there))
        return Array(np.array(bare(x), *given, order=order), fake.device())

    def ascontiguousarray(x: Any) -> Any:
        refuse((x,))
        return x if x.flags.c_contiguous else x.copy()

    module.asarray = asarray
    module.ascontiguousarray = ascontiguousarray
    module.ndarray = Array

    def empty(shape: Any, dtype: Any = float) -> Any:  # what nobody has written is not what was there before
        kind = np.dtype(dtype).kind
        return Array(np.full(shape, np.nan if kind == "f" else 7, dtype), fake.device())

    module.empty = empty

    def asnumpy(x: Any) -> Any:
        fake.reads += 1
        return bare(x)

    module.asnumpy = asnumpy
    module.RawModule = RawModule
    module.ElementwiseKernel = lambda given, made, source, name: counted(
        name, getattr(HOST, name.removeprefix("wengert_"))
    )
    module.fft = ModuleType("cupy.fft")
    for name in ("fft", "ifft"):
        setattr(module.fft, name, counted(name, getattr(np.fft, name)))
    module.linalg = ModuleType("cupy.linalg")
    for name in ("inv", "solve", "det", "slogdet", "cholesky", "pinv", "eigh", "svd", "qr"):
        setattr(module.linalg, name, counted(name, getattr(np.linalg, name)))

    class Pool:
        def total_bytes(self) -> int:
            return fake.peak

        def used_bytes(self) -> int:
            return fake.bytes

    module.get_default_memory_pool = Pool
    cuda: Any = ModuleType("cupy.cuda")
    cuda.Device = lambda id=None: fake.device(id)

    class Stream:
        """The one stream of the present device."""

        def __init__(self) -> None:
            self.of = fake.device().id

        def record(self) -> tuple[int, int]:
            return self.of, fake.given[self.of]

        def wait_event(self, event: tuple[int, int]) -> None:
            of, launches = event
            fake.waits[self.of, of] = launches
            if (of, self.of) in fake.copies:
                fake.copies.remove((of, self.of))

    cuda.get_current_stream = Stream
    module.cuda = cuda
    return module


@contextmanager
def device_over(folder: Path) -> Generator[Fake]:
    """A device in cupy's place."""
    fake = Fake(folder)
    with gpu_over(fake.module):
        yield fake
