"""Kernels on a device, compiled through cupy and launched; and cupy's functions for those a program was traced with.

Knows: cupy's modules of CUDA text; that a kernel is compiled once a process for each text; that a table of addresses
and lengths makes one launch of many; what an error of the compiler says.
Refuses to know: programs, and what a kernel computes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final
from weakref import finalize

import cupy as cp
import numpy as np

from wengert.arrays import contraction, host, kernels, reductions, thin
from wengert.arrays.changes import Change, carry_out
from wengert.arrays.cuda import OPTIONS, THREADS, cuda_type, standing_text
from wengert.arrays.namespace import Function, Namespace, Shape, Value
from wengert.errors import DeviceError

__all__ = [
    *("Kernel", "add_rows", "add_runs", "address", "compiled", "counterpart", "empty", "flat", "integer"),
    *("joined", "mask", "memory", "new", "on_device", "replacement", "stacked", "stride"),
    *("subtractions", "sum_columns", "sums_at", "table", "taken", "there", "unfinite", "word"),
]

Kernel = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]  # Any: whatever the kernel takes
_NO_BLOCK: Final = 1 << 62
_COLUMNS: Final = 32  # of a block that sums columns


def compiled(source: str, name: str) -> Kernel:
    """The kernel of a text on the present device; DeviceError with the compiler's own lines where there is none."""
    return _compiled(source, name, cp.cuda.Device().id)


@cache
def _compiled(source: str, name: str, device: int) -> Kernel:
    try:
        made: Kernel = cp.RawModule(code=source, options=OPTIONS).get_function(name)
    except Exception as failure:  # of cupy's own classes: no NVRTC, an old driver, a text that is wrong
        raise DeviceError(
            f"no kernel of a fused group: {type(failure).__name__}: {_first_lines(failure)}\n"
            "  `python -m wengert doctor` shows driver and compiler; "
            "run.Sequential(compiled=False) goes node by node"
        ) from failure
    return made


def _first_lines(failure: Exception) -> str:
    return "\n  ".join(str(failure).strip().splitlines()[:6])


def memory() -> str:
    """The memory of the present device's pool, in words."""
    pool = cp.get_default_memory_pool()
    return f"the pool holds {pool.total_bytes():,} bytes, {pool.used_bytes():,} of them in use"


def empty(shape: Shape, dtype: Value) -> Value:
    """A new array of the present device, from cupy's pool."""
    return cp.empty(shape, dtype)


# -- tables of rows --------------------------------------------------------------------------------------------


def new(shape: Shape, dtype: Value, device: Value, zeros: bool = False) -> Value:
    """A new array on a device: with any content, or of zeros."""
    with device:
        return cp.zeros(shape, dtype) if zeros else cp.empty(shape, dtype)


def stacked(values: Sequence[Value]) -> Value:
    """Arrays of one shape as the rows of a table."""
    with values[0].device:
        return cp.concatenate([x.reshape(1, *x.shape) for x in values], 0)


def joined(tables: Sequence[Value]) -> Value:
    """The rows of all tables, in order."""
    with tables[0].device:
        return cp.concatenate(tables, 0)


def taken(table: Value, at: Value) -> Value:
    """The rows at places of the host, as a table of their own."""
    with table.device:
        return cp.take(table, there(at), 0)


def add_rows(table: Value, at: Value, g: Value) -> None:
    """Add `g` at rows of which no two are one."""
    with table.device:
        if isinstance(at, slice):
            rows = table[at]
            cp.add(rows, g, rows)
        else:
            _add(table, there(at), g, cp.arange(len(at), dtype=np.int64))


def add_runs(table: Value, order: Value, starts: Value, targets: Value, g: Value) -> None:
    """Add `g` at rows that repeat: its lines in an order in which those of each target follow each other."""
    counts = np.diff(starts, append=len(order))
    with table.device:
        _add(table, cp.asarray(np.repeat(targets, counts)), g, there(order))


def _add(table: Value, keys: Value, g: Value, order: Value) -> None:
    carry_out(_added_in_order(table, keys, flat(g), order))


def there(at: Value) -> Value:
    """Places of the host on the present device, where they stay as long as the host has them: a schedule is kept."""
    key = (id(at), cp.cuda.Device().id)
    found = _THERE.get(key)
    if found is None:
        _THERE[key] = found = cp.asarray(np.ascontiguousarray(at, np.int64))
        finalize(at, _THERE.pop, key, None)
    return found


_THERE: Final[dict[tuple[int, int], Value]] = {}  # by the identity of places, and the device


def flat(x: Value) -> Value:
    """The array in C order, copied if need be."""
    return cp.ascontiguousarray(x)


def on_device(x: Value) -> Value:
    """An array of numpy on the present device, in C order."""
    return cp.asarray(x, order="C")


def stride(x: Value, axis: int) -> Value:
    """The elements from one to the next along an axis, as a kernel takes it."""
    return np.int64(x.strides[axis] // x.itemsize)


def integer(n: int) -> Value:
    """A count as a kernel takes it."""
    return np.int64(n)


def word(x: Value) -> int:
    """An operand as a table has it: the address of an array, the bits of a number as a double."""
    return address(x) if isinstance(x, cp.ndarray) else int(np.float64(x).view(np.int64))


def replacement(w: Value, x: Value) -> list[Change]:
    """The change that gives `w` the elements of `x`."""
    return [(operator.setitem, w, ..., x)]


def address(x: Value) -> int:
    """The address of the first element of an array."""
    found: int = x.data.ptr
    return found


def table(rows: Iterable[Sequence[int]], blocks: Iterable[int]) -> tuple[Value, int]:
    """A table of arrays for one launch, and its blocks: each row begins with the first of its own."""
    first, lines = 0, []
    for row, own in zip(rows, blocks, strict=True):
        lines.append((first, *row))
        first += own
    lines.append((_NO_BLOCK, *[0] * (len(lines[0]) - 1)))
    return cp.asarray(np.array(lines, np.int64)), first


def _standing(kind: str, dtype: Value) -> Kernel:
    t = cuda_type(dtype) or ""
    return compiled(standing_text(kind, t), f"{kind}_{t}")


def sum_columns(matrices: Sequence[Value]) -> list[Value]:
    """The sums of the lines of some matrices of one element type, in one launch."""
    given = [flat(x) for x in matrices]
    made = [cp.empty(x.shape[1:], x.dtype) for x in given]
    rows = [(address(x), address(y), *x.shape) for x, y in zip(given, made, strict=True)]
    found, blocks = table(rows, [-(-x.shape[1] // _COLUMNS) for x in given])
    if blocks:
        _standing("sum", given[0].dtype)((blocks,), (THREADS,), (found,))
    return made


def subtractions(weights: Sequence[Value], steps: Sequence[Value]) -> list[Change]:
    """The changes that subtract from each weight its step, in place: one launch for each element type."""
    by_type: dict[Any, list[tuple[Value, Value]]] = {}  # Any: numpy's dtype
    for w, step in zip(weights, steps, strict=True):
        by_type.setdefault(w.dtype, []).append((w, flat(step)))
    found: list[Change] = []
    for dtype, pairs in by_type.items():
        rows = [(address(w), address(step), w.size) for w, step in pairs]
        given, blocks = table(rows, [-(-w.size // THREADS) for w, _ in pairs])
        if blocks:
            found.append((_standing("subtract", dtype), (blocks,), (THREADS,), (given,)))
            found.append((pairs.clear,))  # until then the steps are there
    return found


def unfinite(arrays: Sequence[Value]) -> Value:
    """A flag on the device of the arrays: 1 if an element of any of them is infinite or NaN."""
    by_type: dict[Any, list[Value]] = {}  # Any: numpy's dtype
    with arrays[0].device:
        for x in arrays:
            by_type.setdefault(x.dtype, []).append(flat(x))
        flag = cp.zeros((), np.int32)
        for dtype, given in by_type.items():
            rows = [(address(x), x.size) for x in given]
            found, blocks = table(rows, [-(-x.size // THREADS) for x in given])
            if blocks:
                _standing("finite", dtype)((blocks,), (THREADS,), (found, flag))
    return flag


def sums_at(out: Value, keys: Value, g: Value) -> list[Change]:
    """The change that adds to each line of `out` that `keys` name its lines of `g`, one after the other.

    The order is that of `g`: the same bits in every run.
    """
    n, width = len(keys), int(np.prod(out.shape[1:]))
    if not n * width:
        return []
    keys = cp.remainder(keys.astype(np.int64), out.shape[0])  # negative ones count from the end
    order = (keys * n + cp.arange(n)).argsort().astype(np.int64)  # equal ones in their order, by any sort
    return _added_in_order(out, cp.take(keys, order), flat(g), order)


def _added_in_order(out: Value, keys: Value, g: Value, order: Value) -> list[Change]:
    """The change that adds lines of `g`, in an order in which those of each key follow each other."""
    n, width = len(keys), int(np.prod(out.shape[1:]))
    if not n * width:
        return []
    # a kernel takes any address for one of its own type
    g = g if g.dtype == out.dtype else g.astype(out.dtype)
    given = (out, g, keys, order, np.int64(n), np.int64(width))
    return [(_standing("add_at", out.dtype), (-(-n * width // THREADS),), (THREADS,), given)]


def _greatest(x: Value, axis: Any = None, keepdims: bool = False, initial: float = 0.0) -> Value:  # Any: axes
    if x.size:
        return cp.amax(x, axis=axis, keepdims=keepdims)
    return cp.full(cp.sum(x, axis=axis, keepdims=keepdims).shape, initial, x.dtype)


_FUNCTIONS: Final[dict[Function, Function]] = {
    reductions.add_reduce: cp.sum,
    reductions.max_reduce: _greatest,
    reductions.prod: cp.prod,
    np.dot: cp.matmul,
    np.matmul: cp.matmul,
    contraction.in_order: cp.matmul,
    thin.dot: cp.matmul,
    thin.product: cp.matmul,
    kernels.joined: cp.concatenate,
    kernels.transposed: kernels.transposed,
    kernels.branch: kernels.branch,
    np.arange: cp.arange,
    reductions.ones_of: cp.ones,
    **{getattr(operator, name): getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "pow")},
    **{
        getattr(operator, name): getattr(operator, name)
        for name in ("neg", "pos", "abs", "getitem", "matmul")
    },
}


_NAMES: Final[dict[Function, str]] = {
    getattr(host, name): name for kind in Namespace.__mro__ for name in vars(kind) if name[0] != "_"
}


def counterpart(function: Function, namespace: Value) -> Function | None:
    """The function over cupy for one that a program was traced with; None where there is none.

    `namespace` has those of the names of `Namespace`.
    """
    found = _FUNCTIONS.get(function)
    if found is None:
        found = getattr(namespace, _NAMES.get(function, ""), None)
    if found is None and isinstance(function, np.ufunc):
        found = getattr(cp, function.__name__, None)
    return found


def mask(shape: Shape, dtype: Value, rate: float, seed: Value) -> Value:
    """The mask of a dropout with the bits that the host draws."""
    out = cp.empty(shape, dtype)
    state = np.random.PCG64(seed).state["state"]
    words = [
        np.uint64(x >> at & 0xFFFF_FFFF_FFFF_FFFF) for x in (state["state"], state["inc"]) for at in (64, 0)
    ]
    least = np.uint32(rate * 2.0**32)
    scale = np.dtype(dtype).type(1.0 / (1.0 - rate))
    if out.size:
        blocks = -(-((out.size + 1) // 2) // THREADS)
        given = (out, np.int64(out.size), *words, least, scale)
        _standing("mask", out.dtype)((blocks,), (THREADS,), given)
    return out
