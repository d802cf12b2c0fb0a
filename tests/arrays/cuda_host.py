"""Kernels of CUDA on the host: the same text through g++, behind a header in which threads are fibers.

Knows: that warps of a block take turns between barriers, forth and back by turns, so that one who reads what another
has not written yet, or has written already, gets something else; that a shuffle goes through an array, for one warp;
that all threads of a block have to meet at the same barrier.
Refuses to know: what a kernel computes.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any, Final

import numpy as np

HEADER: Final = r"""
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stddef.h>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
struct Place { unsigned x; };
static Place threadIdx, blockIdx, blockDim, gridDim;
static ucontext_t fibers[1024], back;
static char stacks[1024][32768], slots[1024][8];
static int at[1024];  // the kind of barrier at which a thread waits; 0: it has not begun, -1: it has ended
static void wait(int kind) {
  const unsigned me = threadIdx.x;
  at[me] = kind;
  swapcontext(&fibers[me], &back);
  threadIdx.x = me;
}
static void __syncthreads() { wait(1); }
static void __syncwarp() { wait(4); }
template <class T> static T __shfl_down_sync(unsigned, T x, int d) {
  const unsigned me = threadIdx.x;
  memcpy(slots[me], &x, sizeof x);
  wait(2);
  if (me % 32 + d < 32) memcpy(&x, slots[me + d], sizeof x);
  wait(3);
  return x;
}
static float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static double __longlong_as_double(long long x) { double y; memcpy(&y, &x, 8); return y; }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
template <class... A, size_t... I> static void called(void (*f)(A...), void **a, std::index_sequence<I...>) {
  f(*(std::remove_const_t<A> *)a[I]...);
}
template <class... A> static void called(void (*f)(A...), void **a) { called(f, a, std::index_sequence_for<A...>()); }
static void (*kernel)(void **);
static void **given;
static void begin() { kernel(given); at[threadIdx.x] = -1; }
static int launched(void (*f)(void **), int grid, int block, int meets, void **a) {
  // meets: 0 without barriers, 1 where all threads have to come to each, 2 where those that have ended need not
  kernel = f, given = a, gridDim.x = grid, blockDim.x = block;
  for (int b = 0; b < grid; b++) {
    blockIdx.x = b;
    if (!meets) {
      for (int t = 0; t < block; t++) threadIdx.x = t, f(a);
      continue;
    }
    memset(at, 0, sizeof at);
    for (int t = 0; t < block; t++) {
      getcontext(&fibers[t]);
      fibers[t].uc_stack.ss_sp = stacks[t], fibers[t].uc_stack.ss_size = sizeof stacks[t], fibers[t].uc_link = &back;
      makecontext(&fibers[t], begin, 0);
    }
    const int warps = (block + 31) / 32;
    for (int turn = 0, running = 1; running; turn++) {
      running = 0;
      for (int k = 0; k < warps; k++) {  // warp after warp: who does not wait for others runs ahead of them
        const int first = 32 * (turn % 2 ? warps - 1 - k : k), end = first + 32 < block ? first + 32 : block;
        int kind;
        do {
          for (int j = first; j < end; j++) {
            const int t = turn % 2 ? first + end - 1 - j : j;
            threadIdx.x = t;
            if (at[t] != -1) swapcontext(&back, &fibers[t]);
          }
          kind = -1;
          for (int t = first; t < end; t++) if (at[t] != -1) kind = at[t];
          for (int t = first; t < end; t++) if (at[t] != kind && (meets == 1 || at[t] != -1)) return 1;
        } while (kind > 1);
        running |= kind != -1;
      }
      if (meets == 1)
        for (int t = 32; t < block; t += 32) if (at[t] != at[0]) return 1;
    }
  }
  return 0;
}
"""
FLAGS: Final = ("-O0", "-std=c++17", "-shared", "-fPIC", "-ffp-contract=off", "-w")
_INCLUDE: Final = re.compile(r"^#include .*\n", re.M)
_SHARED: Final = re.compile(r"extern __shared__ (.*)\[\];")  # of a size that the launch says
_PREFIX: Final = 'extern "C" __global__ void '
Kernel = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]  # Any: whatever the kernel takes


def has_compiler() -> bool:
    """True if g++ is here."""
    return which("g++") is not None


def _module(source: str, name: str, place: str) -> str:
    """The text of a kernel in a namespace of its own, and the function that launches it."""
    own = _SHARED.sub(r"static \1[1 << 14];", _INCLUDE.sub("", source)).replace(_PREFIX, "static void ")
    meets = 0 if "__sync" not in source and "_sync(" not in source else 2 if "<cupy/" in source else 1
    return (
        "".join(_INCLUDE.findall(source))
        + f"namespace own_{place} {{\n{own}\nstatic void all(void **a) {{ called({name}, a); }}\n}}\n"
        f'extern "C" int {place}(int grid, int block, void **a) {{\n'
        f"  return launched(own_{place}::all, grid, block, {meets}, a);\n}}\n"
    )


class Compiled:
    """Kernels of some texts; those that are known when the first of them is launched become one library."""

    def __init__(self, folder: Path, *include: Path) -> None:
        self.folder, self._include = folder, include
        self._asked: dict[tuple[str, str], str] = {}  # the name of each kernel's launch
        self._known: dict[tuple[str, str], Any] = {}  # Any: ctypes' function

    def ask(self, source: str, name: str) -> None:
        """Have the kernel of this name compiled, with others, before the next launch."""
        if (source, name) not in self._known:
            self._asked[source, name] = f"k{digest(name + source)}"

    def kernel(self, source: str, name: str) -> Kernel:
        """The kernel of a text, as cupy has it: `kernel(grid, block, arguments)`, arguments of numpy."""
        self.ask(source, name)

        def launch(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
            kept = [
                np.array([x.ctypes.data]) if isinstance(x, np.ndarray) else np.array([x]) for x in arguments
            ]
            pointers = (ctypes.c_void_p * len(kept))(*(x.ctypes.data for x in kept))
            self.launch(source, name, grid[0], block[0], ctypes.addressof(pointers))

        return launch

    def launch(self, source: str, name: str, grid: int, block: int, pointers: int) -> None:
        """Execute a kernel; `pointers` is where the places of its arguments are."""
        self._compile()
        met = self._known[source, name](grid, block, ctypes.c_void_p(pointers)) == 0
        assert met, "threads of a block wait at different barriers"

    def _compile(self) -> None:
        if not self._asked:
            return
        text = HEADER + "\n".join(_module(*asked, place) for asked, place in sorted(self._asked.items()))
        library = self.folder / f"{digest(text)}.so"
        if not library.exists():
            place = library.with_suffix(".cpp")
            place.write_text(text)
            found = (f"-I{folder}" for folder in self._include)
            done = subprocess.run(
                ["g++", *FLAGS, *found, str(place), "-o", str(library)],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr[:3000]
        opened = ctypes.CDLL(str(library))
        self._known |= {asked: getattr(opened, place) for asked, place in self._asked.items()}
        self._asked = {}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
