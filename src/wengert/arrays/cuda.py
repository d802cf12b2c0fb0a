"""Text of CUDA: formulas, functions that kernels call, and kernels that belong to no fused group.

Knows: the formula of each function of numpy that works element by element; that a sum is a tree of fixed form, so that
a device gives the same bits in every run, and never a race of atomic additions; that elements of a dropout's mask are
numbers of one generator, to which each thread can jump.
Refuses to know: cupy, devices, programs, and how large a launch is.

Source: M. O'Neill, "PCG: A family of simple fast space-efficient statistically good algorithms for random number
generation", 2014, as `numpy.random.PCG64` has it; F. Brown, "Random number generation with arbitrary strides", 1994.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Final

import numpy as np

from wengert.arrays import host
from wengert.arrays.erf import erf_in_c
from wengert.arrays.kernels import FORMULAS, formula_of, minus_one_at, ones_at, picked
from wengert.arrays.namespace import Function, Value

__all__ = [
    "ADDED_OPTIONS",
    "HEAD",
    "HELPERS",
    "OPTIONS",
    "STANDING",
    "THREADS",
    "TYPES",
    "cuda_formula_of",
    "cuda_type",
    "standing_text",
]


OPTIONS: Final = ("--std=c++17", "--fmad=false")  # a product and a sum are rounded apart, as on the host
# which cupy adds to them, whatever they are: float32 below 1.2e-38 is 0, and functions need no word for a device
ADDED_OPTIONS: Final = ("-ftz=true", "--device-as-default-execution-space")

HEAD: Final = """\
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
"""
TYPES: Final[Mapping[str, str]] = {
    "float32": "float",
    "float64": "double",
    "bool": "unsigned char",
    "int32": "int",
    "int64": "long long",
}

_UNARY: Final[Mapping[Function, str]] = {
    np.exp: "exp",
    np.log: "log",
    np.log1p: "log1p",
    np.expm1: "expm1",
    np.sin: "sin",
    np.cos: "cos",
    np.tan: "tan",
    np.tanh: "tanh",
    np.sinh: "sinh",
    np.cosh: "cosh",
    np.arcsin: "asin",
    np.arccos: "acos",
    np.arctan: "atan",
    np.arcsinh: "asinh",
    np.arccosh: "acosh",
    np.arctanh: "atanh",
    np.log2: "log2",
    np.log10: "log10",
    np.exp2: "exp2",
    np.floor: "floor",
    np.ceil: "ceil",
    np.rint: "rint",
    np.trunc: "trunc",
}
_FORMULAS: Final[Mapping[Function, str]] = {
    **{f: f"{name}{{f}}({{0}})" for f, name in _UNARY.items()},
    np.fmax: "fmax{f}({0}, {1})",
    np.arctan2: "atan2{f}({0}, {1})",
    np.hypot: "hypot{f}({0}, {1})",
    np.copysign: "copysign{f}({0}, {1})",
    np.logical_and: "({0} != 0) & ({1} != 0)",
    np.logical_or: "({0} != 0) | ({1} != 0)",
    np.logical_not: "{0} == 0",
    operator.pow: "pow{f}({0}, {1})",
    host.erf: "erf({0})",
    # of a line along the last axis and the place in it: {column} is that of the element
    picked: "{column} == {1} ? {0} : 0",
    minus_one_at: "{0} - ({t})({column} == {1})",
    ones_at: "({t})({column} == {0})",
}


def cuda_formula_of(function: Function, dtype: Value) -> str | None:
    """The formula of an array function in CUDA; None where there is none.

    >>> cuda_formula_of(np.exp, np.dtype(np.float32)), cuda_formula_of(np.linalg.inv, np.dtype(np.float32))
    ('exp{f}({0})', None)
    """
    if function is host.erf and dtype == np.float32:
        return formula_of(function, dtype)
    return _FORMULAS.get(function) or FORMULAS.get(function) or formula_of(function, np.dtype(np.float64))


def cuda_type(dtype: Value) -> str | None:
    """The type of elements in CUDA; None of those that no kernel takes.

    >>> cuda_type(np.dtype(np.int64)), cuda_type(np.dtype(np.complex64))
    ('long long', None)
    """
    return TYPES.get(getattr(dtype, "name", ""))


# One number from those of all threads of a block, known to each of them afterwards: by shuffles within a warp, then
# warp after warp.
_REDUCTION: Final = """\
static __device__ {t} block_{kind}_{t}({t} x, {t} *shared) {{
  for (int d = 16; d; d /= 2) {{
    const {t} y = __shfl_down_sync(0xffffffffu, x, d);
    x = {joined};
  }}
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  x = shared[0];
  for (int w = 1; w < (int)blockDim.x / 32; w++) {{
    const {t} y = shared[w];
    x = {joined};
  }}
  return x;
}}

static __device__ __forceinline__ {t} {kind}_{t}(const {t} *kept, int n, int threads, {t} *shared) {{
  {t} x = {first};
#pragma unroll
  for (int k = 0; k * threads < n; k++)
    if ((int)threadIdx.x + k * threads < n) {{
      const {t} y = kept[k];
      x = {joined};
    }}
  return block_{kind}_{t}(x, shared);
}}
"""
_KINDS: Final = {"sum": ("x + y", "0"), "max": ("(x > y) | (x != x) ? x : y", "-INFINITY")}
_ERF: Final = "erf32"
HELPERS: Final[Mapping[str, str]] = {  # functions that formulas and loops call
    _ERF: erf_in_c(_ERF).replace("static inline", "static __device__"),
    **{
        f"{kind}_{t}": _REDUCTION.format(kind=kind, t=t, joined=joined, first=first)
        for kind, (joined, first) in _KINDS.items()
        for t in ("float", "double")
    },
}

# A kernel for many arrays has a table: of each array a row, which begins with its first block, and a last row that
# begins with a block which is none.
#
# The sum of the lines of matrices, n x width: 32 columns a block, each by {threads} / 32 threads, then a tree.
_SUM: Final = """\
extern "C" __global__ void sum_{t}(const long long *row) {{
  while (row[5] <= blockIdx.x) row += 5;
  const {t} *const x = (const {t} *)row[1];
  {t} *const out = ({t} *)row[2];
  const long long n = row[3], width = row[4], i = (blockIdx.x - row[0]) * 32 + threadIdx.x % 32;
  __shared__ {t} part[{threads}];
  {t} s = 0;
  if (i < width)
    for (long long r = threadIdx.x / 32; r < n; r += {threads} / 32) s += x[r * width + i];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int d = {threads} / 2; d >= 32; d /= 2) {{
    if ((int)threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }}
  if (threadIdx.x < 32 && i < width) out[i] = part[threadIdx.x];
}}
"""
# w -= d, for all weights
_SUBTRACT: Final = """\
extern "C" __global__ void subtract_{t}(const long long *row) {{
  while (row[4] <= blockIdx.x) row += 4;
  const long long i = (blockIdx.x - row[0]) * {threads} + threadIdx.x;
  if (i < row[3]) (({t} *)row[1])[i] -= ((const {t} *)row[2])[i];
}}
"""
# out[key] += g, equal keys one after the other: `order` sorts the keys, and where one begins its rows are added up
_ADD_AT: Final = """\
extern "C" __global__ void add_at_{t}({t} *out, const {t} *g, const long long *keys,
                                         const long long *order, const long long n, const long long width) {{
  const long long k = (long long)blockIdx.x * {threads} + threadIdx.x;
  if (k >= n * width) return;
  const long long first = k / width, column = k % width, key = keys[first];
  if (first && keys[first - 1] == key) return;
  {t} s = out[key * width + column];
  for (long long m = first; m < n && keys[m] == key; m++) s += g[order[m] * width + column];
  out[key * width + column] = s;
}}
"""
# an element of a mask is a number of 32 bits, two of which are a state of the generator: state k + 1 is
# a^(k + 1) s + (a^k + ... + 1) c modulo 2^128
_MASK: Final = """\
struct wide {{ unsigned long long high, low; }};

static __device__ wide times_{t}(wide a, wide b) {{
  return {{__umul64hi(a.low, b.low) + a.high * b.low + a.low * b.high, a.low * b.low}};
}}

static __device__ wide plus_{t}(wide a, wide b) {{
  const unsigned long long low = a.low + b.low;
  return {{a.high + b.high + (low < a.low), low}};
}}

extern "C" __global__ void mask_{t}({t} *out, const long long n,
                                       const unsigned long long state_high, const unsigned long long state_low,
                                       const unsigned long long step_high, const unsigned long long step_low,
                                       const unsigned least, const {t} scale) {{
  const long long k = (long long)blockIdx.x * {threads} + threadIdx.x;
  if (2 * k >= n) return;
  wide a = {{2549297995355413924ull, 4865540595714422341ull}}, c = {{step_high, step_low}};
  wide factor = {{0, 1}}, added = {{0, 0}};
  for (unsigned long long steps = k + 1; steps; steps >>= 1) {{
    if (steps & 1) {{
      factor = times_{t}(factor, a);
      added = plus_{t}(times_{t}(added, a), c);
    }}
    c = times_{t}(plus_{t}(a, {{0, 1}}), c);
    a = times_{t}(a, a);
  }}
  const wide s = plus_{t}(times_{t}(factor, {{state_high, state_low}}), added);
  const unsigned long long x = s.high ^ s.low;
  const unsigned turn = s.high >> 58;
  const unsigned long long bits = x >> turn | x << (64 - turn) % 64;
  out[2 * k] = (unsigned)bits >= least ? scale : 0;
  if (2 * k + 1 < n) out[2 * k + 1] = (unsigned)(bits >> 32) >= least ? scale : 0;
}}
"""
# whether an element of some arrays is infinite or no number: whoever finds one says so, and none says anything else
_FINITE: Final = """\
extern "C" __global__ void finite_{t}(const long long *row, int *flag) {{
  while (row[3] <= blockIdx.x) row += 3;
  const long long i = (blockIdx.x - row[0]) * {threads} + threadIdx.x;
  if (i < row[2] && !(((const {t} *)row[1])[i] - ((const {t} *)row[1])[i] == 0)) *flag = 1;
}}
"""
STANDING: Final[Mapping[str, str]] = {
    "sum": _SUM,
    "subtract": _SUBTRACT,
    "add_at": _ADD_AT,
    "mask": _MASK,
    "finite": _FINITE,
}
THREADS: Final = 256  # of a block


def standing_text(kind: str, t: str, threads: int = THREADS) -> str:
    """The text of a kernel that belongs to no fused group, for a type of elements and blocks of so many threads.

    >>> standing_text("sum", "float").splitlines()[-1]
    '}'
    """
    return HEAD + STANDING[kind].format(t=t, threads=threads)
