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
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#define __global__
#define __device__
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
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static void (*kernel)(void **);
static void **given;
static void begin() { kernel(given); at[threadIdx.x] = -1; }
static int launched(void (*f)(void **), int grid, int block, int meets, void **a) {
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
    for (int turn = 0; at[0] != -1; turn++) {
      for (int k = 0; k < block / 32; k++) {  // warp after warp: who does not wait for others runs ahead of them
        const int first = 32 * (turn % 2 ? block / 32 - 1 - k : k);
        do {
          for (int j = 0; j < 32; j++) {
            const int t = first + (turn % 2 ? 31 - j : j);
            threadIdx.x = t;
            swapcontext(&back, &fibers[t]);
          }
          for (int t = first; t < first + 32; t++) if (at[t] != at[first]) return 1;
        } while (at[first] > 1);
      }
      for (int t = 32; t < block; t += 32) if (at[t] != at[0]) return 1;
    }
  }
  return 0;
}
"""
FLAGS: Final = ("-O0", "-std=c++17", "-shared", "-fPIC", "-ffp-contract=off", "-w")
_NAME: Final = re.compile(r'extern "C" __global__ void (\w+)\(([^)]*)\) \{')
Kernel = Callable[[tuple[int, ...], tuple[int, ...], tuple[Any, ...]], None]  # Any: whatever the kernel takes


def has_compiler() -> bool:
    """True if g++ is here."""
    return which("g++") is not None


def _module(source: str, place: str) -> str:
    """The text of a kernel in a namespace of its own, and the function that launches it."""
    found = _NAME.search(source)
    assert found is not None, source
    name, parameters = found[1], [x.strip() for x in found[2].replace("\n", " ").split(",")]
    types = [
        re.sub(r"\w+$", "", x).replace("const ", "", 1 if "*" not in x else 0).strip() for x in parameters
    ]
    arguments = ", ".join(f"*({t} *)a[{i}]" for i, t in enumerate(types))
    own = source.replace(found[0], found[0].replace('extern "C" __global__ ', "static "))
    meets = int("__sync" in source or "_sync(" in source)
    return (
        f"namespace own_{place} {{\n{own}\nstatic void all(void **a) {{ {name}({arguments}); }}\n}}\n"
        f'extern "C" int {place}(int grid, int block, void **a) {{\n'
        f"  return launched(own_{place}::all, grid, block, {meets}, a);\n}}\n"
    )


class Compiled:
    """Kernels of some texts; those that are known when the first of them is launched become one library."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._asked: dict[str, str] = {}  # the name of each text's launch
        self._known: dict[str, Any] = {}  # Any: ctypes' function

    def kernel(self, source: str) -> Kernel:
        """The kernel of a text, as cupy has it: `kernel(grid, block, arguments)`, arguments of numpy."""
        if source not in self._known:
            self._asked[source] = f"k{digest(source)}"

        def launch(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
            self._compile()
            kept = [
                np.array([x.ctypes.data]) if isinstance(x, np.ndarray) else np.array([x]) for x in arguments
            ]
            pointers = (ctypes.c_void_p * len(kept))(*(x.ctypes.data for x in kept))
            met = self._known[source](grid[0], block[0], pointers) == 0
            assert met, "threads of a block wait at different barriers"

        return launch

    def _compile(self) -> None:
        if not self._asked:
            return
        text = HEADER + "\n".join(_module(source, place) for source, place in sorted(self._asked.items()))
        library = self.folder / f"{digest(text)}.so"
        if not library.exists():
            place = library.with_suffix(".cpp")
            place.write_text(text)
            command = ["g++", *FLAGS, str(place), "-o", str(library)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr[:3000]
        opened = ctypes.CDLL(str(library))
        self._known |= {source: getattr(opened, place) for source, place in self._asked.items()}
        self._asked = {}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
