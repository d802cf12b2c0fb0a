"""The text of fused groups in C: a loop over elements, or a loop over lines that are reduced along their last axis.

Knows: how numpy calls loops; how its sums along the last axis are rounded, which is in pairs of blocks; that elements
which lie side by side become vectors. The text depends on the structure alone, so that equal groups have one text.
Refuses to know: who compiles the text and whether it pays, and which equations are a group.

Source: numpy's C API, "generalized universal functions"; N. Higham, "The accuracy of floating point summation", 1993.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from wengert.arrays.abstract import Sizes
from wengert.arrays.kernels import HELPERS, c_type, formula_of, literal_of
from wengert.program.fused import REDUCTIONS, FusedGroup, is_view, operands_of
from wengert.program.program import Eqn, Var

__all__ = ["axes_of", "loop_text", "module_text"]

_HEAD: Final = """\
#include <math.h>
#include <stddef.h>
#if defined(__clang__)
#define EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH _Pragma("GCC ivdep")
#endif
#define USUAL(x) __builtin_expect(x, 1)
"""

# Sums in numpy's order: up to 128 elements in eight columns, more as the sum of two halves; 0 goes in front.
_SUM: Final = """\
typedef {t} eight_{t} __attribute__((vector_size(8 * sizeof({t})), aligned(sizeof({t})), may_alias));

static inline {t} block_{t}(const {t} *x, ptrdiff_t n) {{
  {t} s = 0;
  ptrdiff_t i = 0;
  if (n >= 8) {{
    eight_{t} c = *(const eight_{t} *)x;
    for (i = 8; i < n - n % 8; i += 8) c += *(const eight_{t} *)(x + i);
    s = ((c[0] + c[1]) + (c[2] + c[3])) + ((c[4] + c[5]) + (c[6] + c[7]));
  }}
  for (; i < n; i++) s += x[i];
  return s;
}}

static {t} sum_{t}(const {t} *x, ptrdiff_t n) {{
  const ptrdiff_t half = n / 2 - n / 2 % 8;
  return n <= 128 ? block_{t}(x, n) + 0 : sum_{t}(x, half) + sum_{t}(x + half, n - half);
}}
"""
# The greatest element in columns, NaN if there is one; the sign of a zero depends on the order.
_MAX: Final = """\
typedef {t} wide_{t} __attribute__((vector_size(64), aligned(sizeof({t})), may_alias));
typedef {bits} bits_{t} __attribute__((vector_size(64)));

static inline {t} max_{t}(const {t} *x, ptrdiff_t n) {{
  const int columns = 64 / sizeof({t});
  {t} m = -INFINITY;
  ptrdiff_t i = 0;
  wide_{t} c = {{0}};
  c += m;
  for (; i < n - n % columns; i += columns) {{
    const wide_{t} y = *(const wide_{t} *)(x + i);
    const bits_{t} greater = (y > c) | (y != y);
    c = (wide_{t})(((bits_{t})y & greater) | ((bits_{t})c & ~greater));
  }}
  for (int j = 0; j < columns; j++) m = (c[j] > m) | (c[j] != c[j]) ? c[j] : m;
  for (; i < n; i++) m = (x[i] > m) | (x[i] != x[i]) ? x[i] : m;
  return m;
}}
"""
_HELPERS: Final = {
    **HELPERS,
    **{f"sum_{t}": _SUM.format(t=t) for t in ("float", "double")},
    **{f"max_{t}": _MAX.format(t=t, bits=bits) for t, bits in (("float", "int"), ("double", "long long"))},
}


def module_text(texts: Iterable[str]) -> str:
    """The text of a library with these loops, and the functions that they call."""
    loops = "\n".join(texts)
    return "\n".join([_HEAD, *(text for name, text in _HELPERS.items() if f"{name}(" in loops), loops])


def loop_text(group: FusedGroup, name: str) -> str:
    """The loop of a group as a C function of that name, as numpy calls loops."""
    return "\n".join([*(_Lines(group).text(name) if group.along_lines else _elements(group, name)), ""])


def axes_of(group: FusedGroup) -> str | None:
    """The axes of operands and results that the loop of a group goes along itself."""
    if not group.along_lines:
        return None
    axes = [f"({_axis(group, x) or ''})" for x in (*group.inputs, *group.outputs)]
    return f"{','.join(axes[: len(group.inputs)])}->{','.join(axes[len(group.inputs) :])}"


def _axis(group: FusedGroup, x: Var) -> Any:  # Any: a size
    """The size of the last axis of an operand of a loop over lines; None of one that has none there."""
    reduced = x in group.outputs and x.ndim < len(group.space[0])  # a reduction without keepdims
    return None if reduced or x.aval.form != "array" or not x.shape else x.shape[-1]


def _elements(group: FusedGroup, name: str) -> list[str]:
    """A loop twice: for arrays whose elements lie side by side, which a compiler makes vectors of, and for any."""
    read, written = group.dtypes()
    types = [c_type(d) or "" for d in (*read, *written)]
    sizes = [d.itemsize for d in (*read, *written)]
    alone = [_is_one(x, group.space[0]) for x in group.inputs] + [False] * len(written)
    steps = [0 if one else n for n, one in zip(sizes, alone, strict=True)]
    close = f"({' | '.join(f'(s[{i}] ^ {n})' for i, n in enumerate(steps))}) == 0"
    lines = [_header(name), "  (void)unused;", f"  if (USUAL({close})) {{"]
    lines += [f"    {t} *const p{i} = ({t} *)a[{i}];" for i, t in enumerate(types)]
    lines += [f"    const {types[i]} x{i} = *p{i};" for i, one in enumerate(alone) if one]
    lines += ["    EACH", "    for (ptrdiff_t i = 0; i < d[0]; i++) {"]
    lines += [
        f"  {line}" for line in _body(group, [f"x{i}" if one else f"p{i}[i]" for i, one in enumerate(alone)])
    ]
    lines += ["    }", "    return;", "  }", "  for (ptrdiff_t i = 0; i < d[0]; i++) {"]
    lines += _body(group, [f"*({t} *)(a[{i}] + i * s[{i}])" for i, t in enumerate(types)])
    return [*lines, "  }", "}"]


def _header(name: str) -> str:
    return f"void {name}(char **a, const ptrdiff_t *d, const ptrdiff_t *s, void *unused) {{"


def _is_one(x: Var, shape: Sizes) -> bool:
    """True if an operand is one number for all elements of the last axis."""
    return x.aval.form != "array" or (x.shape[-1] == 1 and shape[-1] != 1)


def _body(group: FusedGroup, places: Sequence[str]) -> Iterator[str]:
    """The work of a loop on one element of each operand."""
    names: dict[Var, str] = {}
    read, _ = group.dtypes()
    for i, (x, given) in enumerate(zip(group.inputs, read, strict=True)):
        names[x] = f"r{i}"
        yield f"    const {c_type(given)} r{i} = {places[i]};"
    for i, e in enumerate(group.eqns):
        names[e.result] = f"v{i}"
        yield f"    {_assignment(group, e, names)}"
    for i, x in enumerate(group.outputs, len(group.inputs)):
        yield f"    {places[i]} = {names[x]};"


def _assignment(group: FusedGroup, e: Eqn, names: dict[Var, str]) -> str:
    """The line that gives one element of a result its name."""
    dtype, of = group.space[1], c_type(e.result.dtype) or ""
    operands = [names[x] if isinstance(x, Var) else literal_of(x, dtype) for x in operands_of(e)]
    formula = formula_of(e.function, e.result.dtype) or ""
    return f"const {of} {names[e.result]} = {formula.format(*operands, t=of, f='f' * (c_type(dtype) == 'float'))};"


class _Lines:
    """A loop over lines. Each line is passed over once, and once more for each reduction that another waits for.

    An element of a line that a later pass reads lies in a line of memory of its own; what is one number for the whole
    line is a variable.
    """

    def __init__(self, group: FusedGroup) -> None:
        self.group = group
        (*_, self.length), _ = group.space
        read, written = group.dtypes()
        self.types = [c_type(d) or "" for d in (*read, *written)]
        self.sizes = [d.itemsize for d in (*read, *written)]
        self.operands = [*group.inputs, *group.outputs]
        self.whole = {i for i, x in enumerate(self.operands) if _axis(group, x) == self.length}
        self.names = {x: f"r{i}" for i, x in enumerate(group.inputs)}
        self.names |= {e.result: f"v{i}" for i, e in enumerate(group.eqns)}
        self.passes: dict[Var, int] = dict.fromkeys(group.inputs, 0)  # the pass in which something is known
        for e in group.eqns:
            at = max(self.passes[x] for x in e.reads)
            self.passes[e.result] = at + (e.function in REDUCTIONS)
        self.lines = {x for i, x in enumerate(group.inputs) if i in self.whole}
        self.lines |= {e.result for e in group.eqns if e.result.shape == group.space[0]}
        self.kept = self._kept()

    def _kept(self) -> list[Var]:
        """Results along a line that a later pass, or a reduction, reads."""
        found: dict[Var, None] = {}
        for e in self.group.eqns:
            for x in e.reads:
                later = e.function in REDUCTIONS or self.passes[e.result] > self.passes[x]
                if later and x in self.lines and x not in self.group.inputs:
                    found[x] = None
        return [*found]

    def text(self, name: str) -> list[str]:
        """The lines of text of the function."""
        lines = [_header(name), "  (void)unused;"]
        lines += [f"  {self.types[i]} k{i}[{self.length}];" for i in sorted(self.whole)]
        lines += [f"  {c_type(x.dtype)} t{self.names[x]}[{self.length}];" for x in self.kept]
        lines.append("  for (ptrdiff_t l = 0; l < d[0]; l++) {")
        lines += [f"    {line}" for line in self._places()]
        for number in range(max(self.passes.values()) + 1):
            lines += [f"    {line}" for line in self._pass(number)]
        lines += [f"    {line}" for line in self._results()]
        return [*lines, "  }", "}"]

    def _steps(self) -> dict[int, int]:
        """For each operand along a line the place of its step from element to element."""
        axes = [i for i, x in enumerate(self.operands) if _axis(self.group, x) is not None]
        return {i: len(self.operands) + n for n, i in enumerate(axes)}

    def _places(self) -> Iterator[str]:
        """The operands: pointers to lines whose elements lie side by side, copied where they do not, and numbers."""
        steps, inputs = self._steps(), len(self.group.inputs)
        for i, t in enumerate(self.types):
            place = f"a[{i}] + l * s[{i}]"
            if i not in self.whole:
                if i < inputs:
                    yield f"const {t} r{i} = *({t} *)({place});"
            else:
                apart = f"s[{steps[i]}] != {self.sizes[i]}"
                yield f"{t} *const p{i} = USUAL(!({apart})) ? ({t} *)({place}) : k{i};"
                if i < inputs:
                    copied = f"k{i}[i] = *({t} *)({place} + i * s[{steps[i]}])"
                    yield f"if ({apart}) for (int i = 0; i < {self.length}; i++) {copied};"

    def _pass(self, number: int) -> Iterator[str]:
        """Numbers of the line, then a loop over its elements, then the reductions of these."""
        inputs = self.group.inputs
        mine = [e for e in self.group.eqns if self.passes[e.result] == number]
        for e in mine:
            if e.function not in REDUCTIONS and e.result not in self.lines:
                if is_view(e):
                    self.names[e.result] = self.names[e.reads[0]]
                else:
                    yield _assignment(self.group, e, self.names)
        each = [e for e in mine if e.result in self.lines]
        if each:
            yield "EACH"
            yield f"for (int i = 0; i < {self.length}; i++) {{"
            for x in dict.fromkeys(x for e in each for x in e.reads if x in self.lines):
                if x in inputs:
                    yield f"  const {self.types[inputs.index(x)]} {self.names[x]} = p{inputs.index(x)}[i];"
                elif self.passes[x] < number:
                    yield f"  const {c_type(x.dtype)} {self.names[x]} = t{self.names[x]}[i];"
            for e in each:
                yield f"  {_assignment(self.group, e, self.names)}"
                if e.result in self.kept:
                    yield f"  t{self.names[e.result]}[i] = {self.names[e.result]};"
                if e.result in self.group.outputs:
                    yield f"  p{self.operands.index(e.result)}[i] = {self.names[e.result]};"
            yield "}"
        for e in self.group.eqns:
            (x, *_), t = e.reads, c_type(e.result.dtype)
            if e.function in REDUCTIONS and self.passes[x] == number:
                line = f"p{inputs.index(x)}" if x in inputs else f"t{self.names[x]}"
                yield f"const {t} {self.names[e.result]} = {REDUCTIONS[e.function]}_{t}({line}, {self.length});"

    def _results(self) -> Iterator[str]:
        """Numbers that are read outside, and lines whose elements do not lie side by side."""
        steps = self._steps()
        for i, x in enumerate(self.operands):
            if i >= len(self.group.inputs):
                t, place = self.types[i], f"a[{i}] + l * s[{i}]"
                if i not in self.whole:
                    yield f"*({t} *)({place}) = {self.names[x]};"
                else:
                    apart = f"s[{steps[i]}] != {self.sizes[i]}"
                    copied = f"*({t} *)({place} + i * s[{steps[i]}]) = k{i}[i]"
                    yield f"if ({apart}) for (int i = 0; i < {self.length}; i++) {copied};"
