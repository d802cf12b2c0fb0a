"""Fused groups as kernels of CUDA: which equations they are made of, their text, and what a launch is given.

Knows: that a block computes lines, each with all of its threads, or elements, each with one; where an element of an
operand lies that is read by row, by column, whole, or as one number; that groups of one text are one launch, by a table
of addresses and lengths. The text depends on the structure alone.
Refuses to know: cupy and devices, and when a kernel is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from graphlib import TopologicalSorter
from math import prod
from typing import Any, Final

from wengert.arrays import reductions
from wengert.arrays.abstract import Sizes, is_open, sizes_for
from wengert.arrays.cuda import HEAD, HELPERS, THREADS, TYPES, cuda_formula_of, cuda_type
from wengert.program.fused import FusedGroup, Fusing, fused, reduced_space
from wengert.program.loops import Dialect, Passes, body
from wengert.program.program import Eqn, Program, Var, waits_of
from wengert.program.simplify import as_matrices

__all__ = [
    *(
        "CUDA",
        "CudaKernel",
        "LaunchPlan",
        "Step",
        "ColumnSums",
        "blocks_of",
        "count_of",
        "for_device",
        "kernel_text",
    ),
    *("many_text", "strides_of"),
]

_WARP: Final = 32
_MOST_BLOCKS: Final = 65535


CUDA: Final = Fusing(
    cuda_formula_of, partial(reduced_space, exact=False, type_of=cuda_type), TYPES, exact=False
)


@dataclass(frozen=True, eq=False)
class CudaKernel:
    """A launch of the kernel of a group, or of several that have one text."""

    name: str
    groups: tuple[FusedGroup, ...]

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return threads_of(self.groups[0])

    @property
    def source(self) -> str:
        """The kernel, with all that it calls."""
        return self.text(self.name)

    def text(self, name: str) -> str:
        """The kernel under another name."""
        return (many_text if len(self.groups) > 1 else kernel_text)(self.groups[0], name)


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """ColumnSums along columns that are one launch."""

    eqns: tuple[Eqn, ...]


Step = CudaKernel | ColumnSums | Eqn


@dataclass(frozen=True, eq=False)
class LaunchPlan:
    """A program as launches and calls, in order."""

    program: Program
    steps: tuple[Step, ...]

    @property
    def kernels(self) -> list[CudaKernel]:
        """The launches of fused groups."""
        return [step for step in self.steps if isinstance(step, CudaKernel)]


def for_device(p: Program) -> LaunchPlan:
    """A program as it was traced, for a device."""
    p = as_matrices(p, cuda_formula_of)
    eqns, found = fused(p, (), CUDA)
    groups = [g for g in found if not is_open(g.space[0][1:])]
    return LaunchPlan(p, tuple(_Scheduling(eqns, groups).steps()))


Unit = FusedGroup | Eqn


class _Scheduling:
    """The order of launches: what others wait for first, sums of columns late, and the steps of optimizers last.

    Sums of columns that are ready together are one launch, and so are groups of one text whose results nobody reads.
    """

    def __init__(self, eqns: Sequence[Eqn], groups: Sequence[FusedGroup]) -> None:
        of = {e: g for g in groups for e in g.eqns}
        units = [of.get(e, e) for e in eqns]
        self._places = {unit: i for i, unit in enumerate(dict.fromkeys(units))}
        self._waits: dict[Unit, set[Unit]] = {unit: set() for unit in units}
        for unit, before in zip(units, waits_of(eqns), strict=True):
            self._waits[unit] |= {units[i] for i in before} - {unit}
        self._awaited = set[Unit]().union(*self._waits.values())
        self._names: dict[str, str] = {}  # of each kernel, by its text

    def steps(self) -> Iterator[Step]:
        """The launches and calls."""
        sorter = TopologicalSorter(self._waits)
        sorter.prepare()
        ready: list[Unit] = []
        while sorter.is_active():
            ready += sorter.get_ready()
            turn = min(map(self._turn, ready))
            now = sorted((x for x in ready if self._turn(x) == turn), key=self._places.__getitem__)
            now = now if turn else now[:1]
            yield from self._launched(turn, now)
            ready = [x for x in ready if x not in now]
            sorter.done(*now)

    def _turn(self, unit: Unit) -> int:
        if isinstance(unit, Eqn):
            return 1 if is_column_sum(unit) else 0
        return 2 if unit not in self._awaited and _is_flat(unit) else 0

    def _launched(self, turn: int, units: Sequence[Unit]) -> Iterator[Step]:
        if turn == 1:
            by_type: dict[Any, list[Eqn]] = {}  # Any: numpy's dtype
            for e in units:
                if isinstance(e, Eqn):
                    by_type.setdefault(e.result.dtype, []).append(e)
            yield from (ColumnSums(tuple(eqns)) for eqns in by_type.values())
            return
        together: dict[str, list[FusedGroup]] = {}
        for unit in units:
            if isinstance(unit, Eqn):
                yield unit
            else:
                together.setdefault(kernel_text(unit, "kernel"), []).append(unit)
        yield from map(self._kernel, together.values())

    def _kernel(self, groups: Sequence[FusedGroup]) -> CudaKernel:
        text = CudaKernel("kernel", tuple(groups)).source
        name = self._names.setdefault(text, f"kernel{len(self._names)}")
        return CudaKernel(name, tuple(groups))


def is_column_sum(e: Eqn) -> bool:
    """True if an equation is the sum of the lines of a matrix."""
    x = e.arguments[0] if e.arguments else None
    summed = e.function is reductions.add_reduce and e.options == {"axis": 0, "keepdims": False}
    return (
        summed
        and isinstance(x, Var)
        and x.compact
        and x.ndim == 2
        and cuda_type(x.dtype) in ("float", "double")
    )


def _is_flat(group: FusedGroup) -> bool:
    """True if each element of an operand lies at the place of the element that is computed, or it is a number."""
    operands = (*group.inputs, *group.outputs)
    return not group.along_lines and all(
        x.aval.form != "array" or (x.compact and x.shape == group.space[0]) for x in operands
    )


def threads_of(group: FusedGroup) -> int:
    """The threads of a block: all of it for elements, for a line as many as it pays for."""
    if not group.along_lines:
        return THREADS
    length = sizes_for(group.space[0], 1)[-1]
    return min(THREADS, max(_WARP, -(-length // (8 * _WARP)) * _WARP))


# -- text ----------------------------------------------------------------------------------------------------


def kernel_text(group: FusedGroup, name: str) -> str:
    """The kernel of a group, with all that it calls."""
    lines = _lines(group, name) if group.along_lines else _elements(group, name)
    return _dialect(group).module(["\n".join([*lines, ""])])


def many_text(group: FusedGroup, name: str) -> str:
    """One kernel for several groups that have this text: a row of its table is the first block of a group, the number
    of its elements, and the address or the number of each operand; a row with a block that is none ends it.
    """
    row = 2 + len(group.inputs) + len(group.outputs)
    lines = [f'extern "C" __global__ void {name}(const long long *row) {{']
    lines.append(f"  while (row[{row}] <= blockIdx.x) row += {row};")
    for i, (t, x, made) in enumerate(_operands(group), 2):
        if x.aval.form == "number":
            lines.append(f"  const {t} x{i - 2} = ({t})__longlong_as_double(row[{i}]);")
        else:
            lines.append(f"  {'' if made else 'const '}{t} *const x{i - 2} = ({t} *)row[{i}];")
    lines.append(f"  const long long i = (blockIdx.x - row[0]) * {THREADS} + threadIdx.x;")
    lines += ["  if (i < row[1]) {", *body(group, _places(group), _dialect(group)), "  }", "}", ""]
    return _dialect(group).module(["\n".join(lines)])


def _dialect(group: FusedGroup) -> Dialect:
    size, t = group.space[0][-1] if group.space[0] else 1, threads_of(group)
    element = f"const int i = threadIdx.x + k * {t};"
    return Dialect(
        head=HEAD,
        helpers=HELPERS,
        type_of=cuda_type,
        each=f"#pragma unroll\nfor (int k = 0; k * {t} < {{n}}; k++) {{{{\n  {element}\n  if (i < {{n}}) {{{{",
        end="}}",
        operand="p{i}[i * e{i}]",
        kept="{x}[k]",
        reduced=f"{{kind}}_{{t}}({{x}}, {{n}}, {t}, shared)",
        column="i" if group.along_lines else f"(i % {size})",
        copies=True,
    )


def _operands(group: FusedGroup) -> Iterator[tuple[str, Var, bool]]:
    """The type of each operand, and whether it is a result."""
    read, written = group.dtypes()
    types = [cuda_type(d) or "" for d in (*read, *written)]
    operands = [*group.inputs, *group.outputs]
    for i, (t, x) in enumerate(zip(types, operands, strict=True)):
        yield t, x, i >= len(group.inputs)


def _header(group: FusedGroup, name: str, count: str) -> str:
    given = []
    for i, (t, x, made) in enumerate(_operands(group)):
        given.append(f"const {t} x{i}" if x.aval.form == "number" else f"{'' if made else 'const '}{t} *x{i}")
    given += [f"const long long s{i}_{axis}" for i, axis in strides_of(group)]
    return f'extern "C" __global__ void {name}({", ".join([*given, f"const long long {count}"])}) {{'


def strides_of(group: FusedGroup) -> list[tuple[int, int]]:
    """The operands and axes whose strides, in elements, a launch is given: those of arrays in no known order."""
    found = []
    for i, x in enumerate((*group.inputs, *group.outputs)):
        if x.aval.form == "array" and x.aval.order != "compact":
            found += [(i, axis) for axis, n in enumerate(x.shape) if n != 1]
    return found


def _elements(group: FusedGroup, name: str) -> list[str]:
    first = f"(long long)blockIdx.x * {THREADS} + threadIdx.x"
    return [
        _header(group, name, "n"),
        f"  for (long long i = {first}; i < n; i += (long long)gridDim.x * {THREADS}) {{",
        *body(group, _places(group), _dialect(group)),
        "  }",
        "}",
    ]


def _places(group: FusedGroup) -> list[str]:
    """The place of the element of each operand that belongs to element `i`."""
    shape, found = group.space[0], []
    for i, x in enumerate((*group.inputs, *group.outputs)):
        if x.aval.form == "number":
            found.append(f"x{i}")
        else:
            found.append(f"x{i}[{_offset(i, x, shape, 'i')}]")
    return found


def _lines(group: FusedGroup, name: str) -> list[str]:
    passes, outer = Passes(group, _dialect(group)), group.space[0][:-1]
    room = -(-sizes_for(group.space[0], 1)[-1] // threads_of(group))
    t = cuda_type(group.space[1])
    lines = [_header(group, name, "lines"), f"  __shared__ {t} shared[{_WARP}];"]
    lines.append("  for (long long l = blockIdx.x; l < lines; l += gridDim.x) {")
    late = []
    for i, (t, x, made) in enumerate(_operands(group)):
        place = _offset(i, x, outer, "l", 1)
        if i in passes.whole:
            step = "1" if x.aval.order == "compact" else f"s{i}_{x.ndim - 1}"
            lines.append(f"    {'' if made else 'const '}{t} *const p{i} = x{i} + {place};")
            lines.append(f"    const long long e{i} = {step};")
        elif made:
            late.append((i, x, place))
        else:
            value = f"x{i}" if x.aval.form == "number" else f"x{i}[{place}]"
            lines.append(f"    const {t} r{i} = {value};")
    lines += [f"    {cuda_type(x.dtype)} t{passes.names[x]}[{room}];" for x in passes.kept]
    lines += [f"    {line}" for line in passes.text()]
    lines += [f"    if (threadIdx.x == 0) x{i}[{place}] = {passes.names[x]};" for i, x, place in late]
    return [*lines, "  }", "}"]


def _offset(i: int, x: Var, shape: Sizes, index: str, last: int = 0) -> str:
    """The place, in elements, of what belongs to an element of a space of this shape, whose number is `index`.

    `last` axes of the operand are not among those of the space.
    """
    if x.aval.form != "array":
        return "0"
    sizes = x.shape[: len(x.shape) - last]
    sizes = (*[1] * (len(shape) - len(sizes)), *sizes)
    below = prod(sizes_for(x.shape[len(x.shape) - last :], 1)) if last else 1
    compact, inner, stride = x.aval.order == "compact", 1, below
    runs: list[list[Any]] = []  # Any: the axes' elements below, size, step, and the first axis
    for axis in reversed(range(len(shape))):
        n, own = shape[axis], axis - len(shape) + len(x.shape) - last
        if n == 1:
            continue
        if sizes[axis] != 1:
            step = str(stride) if compact else f"s{i}_{own}"
            if (
                compact
                and runs
                and runs[-1][0] * runs[-1][1] == inner
                and int(runs[-1][2]) * runs[-1][1] == stride
            ):
                runs[-1][1] *= max(sizes_for((n,), 1)[0], 1)
                runs[-1][3] = axis
            else:
                runs.append([inner, max(sizes_for((n,), 1)[0], 1), step, axis])
            stride *= max(sizes_for((n,), 1)[0], 1)
        inner *= max(sizes_for((n,), 1)[0], 1)
    terms = []
    for under, size, step, axis in reversed(runs):
        text = index if under == 1 else f"{index} / {under}"
        if any(n != 1 for n in shape[:axis]):
            text = f"{text} % {size}"
        terms.append(text if step == "1" else f"{f'({text})' if ' ' in text else text} * {step}")
    return " + ".join(terms) or "0"


# -- launches ------------------------------------------------------------------------------------------------


def blocks_of(kernel: CudaKernel, count: int) -> int:
    """The blocks of a launch for so many elements, or lines."""
    return min(count if kernel.groups[0].along_lines else -(-count // kernel.threads), _MOST_BLOCKS)


def count_of(group: FusedGroup, rows: int) -> int:
    """The elements, or lines, of a group."""
    shape = sizes_for(group.space[0], rows)
    return prod(shape[:-1]) if group.along_lines else prod(shape)
