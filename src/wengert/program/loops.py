"""The text of fused groups: a loop over elements, or a loop over lines that are reduced along their last axis.

Knows: what is said alike in all dialects of C, and in a table what is not; how numpy calls loops of C; how its sums
along the last axis are rounded, which is in pairs of blocks; that elements which lie side by side become vectors. The
text depends on the structure alone, so that equal groups have one text.
Refuses to know: who compiles the text and whether it pays, which equations are a group, and how kernels begin.

Source: numpy's C API, "generalized universal functions"; N. Higham, "The accuracy of floating point summation", 1993.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from wengert.arrays.abstract import Sizes
from wengert.arrays.kernels import HELPERS, c_type, literal_of
from wengert.program.fused import REDUCTIONS, FusedGroup, is_view, operands_of
from wengert.program.program import Eqn, Var

__all__ = ["C", "Dialect", "Passes", "assignment", "axes_of", "is_one", "loop_text"]


class Dialect(NamedTuple):
    """A dialect of C: the head of its texts, how a loop begins, how a function is called."""

    head: str
    helpers: Mapping[str, str]  # functions, by the names that formulas and loops call
    type_of: Callable[[Any], str | None]  # of elements; Any: numpy's dtype
    each: str  # how a loop along a line of {n} elements begins
    end: str  # how it ends
    operand: str  # element of operand {i} of a line
    kept: str  # element of a line {x} of memory that a later pass reads
    reduced: str  # call of a reduction {kind} for the type {t} of the line {x}, of {n} elements
    column: str  # the place of an element in its line
    copies: bool  # whether reductions read kept lines alone, and no operands

    def module(self, texts: Iterable[str]) -> str:
        """The text of a library with these loops, and the functions that they call."""
        loops = "\n".join(texts)
        called = [text for name, text in self.helpers.items() if f"{name}(" in loops]
        return "\n".join([self.head, *called, loops])


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
# The greatest element in columns, NaN if there is one; the sign of a zero depends on the order. Vectors are as wide as
# compilers write a line with: one of two that were written apart waits until both have arrived in the cache.
_MAX: Final = """\
typedef {t} wide_{t} __attribute__((vector_size(32), aligned(sizeof({t})), may_alias));
typedef {bits} bits_{t} __attribute__((vector_size(32)));

static inline wide_{t} greater_{t}(wide_{t} x, wide_{t} y) {{
  const bits_{t} greater = (y > x) | (y != y);
  return (wide_{t})(((bits_{t})y & greater) | ((bits_{t})x & ~greater));
}}

static inline {t} max_{t}(const {t} *x, ptrdiff_t n) {{
  const int columns = 32 / sizeof({t});
  ptrdiff_t i = 0;
  wide_{t} c = {{0}};
  c += -({t})INFINITY;
  wide_{t} e = c;
  for (; i < n - n % (2 * columns); i += 2 * columns) {{
    c = greater_{t}(c, *(const wide_{t} *)(x + i));
    e = greater_{t}(e, *(const wide_{t} *)(x + i + columns));
  }}
  c = greater_{t}(c, e);
  for (int half = columns / 2; half; half /= 2)
    for (int j = 0; j < half; j++)
      c[j] = (c[j + half] > c[j]) | (c[j + half] != c[j + half]) ? c[j + half] : c[j];
  {t} m = c[0];
  for (; i < n; i++) m = (x[i] > m) | (x[i] != x[i]) ? x[i] : m;
  return m;
}}
"""
_HELPERS: Final = {
    **HELPERS,
    **{f"sum_{t}": _SUM.format(t=t) for t in ("float", "double")},
    **{f"max_{t}": _MAX.format(t=t, bits=bits) for t, bits in (("float", "int"), ("double", "long long"))},
}


C: Final = Dialect(
    head=_HEAD,
    helpers=_HELPERS,
    type_of=c_type,
    each="EACH\nfor (int i = 0; i < {n}; i++) {{",
    end="}",
    operand="p{i}[i]",
    kept="{x}[i]",
    reduced="{kind}_{t}({x}, {n})",
    column="i",
    copies=False,
)


def loop_text(group: FusedGroup, name: str) -> str:
    """The loop of a group as a C function of that name, as numpy calls loops."""
    return "\n".join(
        [*(_Lines(group, C).function(name) if group.along_lines else _elements(group, name)), ""]
    )


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
    alone = [is_one(x, group.space[0]) for x in group.inputs] + [False] * len(written)
    steps = [0 if one else n for n, one in zip(sizes, alone, strict=True)]
    close = f"({' | '.join(f'(s[{i}] ^ {n})' for i, n in enumerate(steps))}) == 0"
    lines = [_header(name), "  (void)unused;", f"  if (USUAL({close})) {{"]
    lines += [f"    {t} *const p{i} = ({t} *)a[{i}];" for i, t in enumerate(types)]
    lines += [f"    const {types[i]} x{i} = *p{i};" for i, one in enumerate(alone) if one]
    lines += ["    EACH", "    for (ptrdiff_t i = 0; i < d[0]; i++) {"]
    lines += [
        f"  {line}" for line in body(group, [f"x{i}" if one else f"p{i}[i]" for i, one in enumerate(alone)])
    ]
    lines += ["    }", "    return;", "  }", "  for (ptrdiff_t i = 0; i < d[0]; i++) {"]
    lines += body(group, [f"*({t} *)(a[{i}] + i * s[{i}])" for i, t in enumerate(types)])
    return [*lines, "  }", "}"]


def _header(name: str) -> str:
    return f"void {name}(char **a, const ptrdiff_t *d, const ptrdiff_t *s, void *unused) {{"


def is_one(x: Var, shape: Sizes) -> bool:
    """True if an operand is one number for all elements of the last axis."""
    return x.aval.form != "array" or (x.shape[-1] == 1 and shape[-1] != 1)


def body(group: FusedGroup, places: Sequence[str], dialect: Dialect = C) -> Iterator[str]:
    """The work of a loop on one element of each operand."""
    names: dict[Var, str] = {}
    read, _ = group.dtypes()
    for i, (x, given) in enumerate(zip(group.inputs, read, strict=True)):
        names[x] = f"r{i}"
        yield f"    const {dialect.type_of(given)} r{i} = {places[i]};"
    for i, e in enumerate(group.eqns):
        names[e.result] = f"v{i}"
        yield f"    {assignment(group, e, names, dialect)}"
    for i, x in enumerate(group.outputs, len(group.inputs)):
        yield f"    {places[i]} = {names[x]};"


def assignment(group: FusedGroup, e: Eqn, names: Mapping[Var, str], dialect: Dialect) -> str:
    """The line that gives one element of a result its name."""
    dtype, of, fusing = group.space[1], dialect.type_of(e.result.dtype) or "", group.fusing
    operands = [names[x] if isinstance(x, Var) else literal_of(x, dtype) for x in operands_of(e, fusing)]
    formula = fusing.formula_of(e.function, e.result.dtype) or ""
    given = formula.format(*operands, t=of, f="f" * (c_type(dtype) == "float"), column=dialect.column)
    return f"const {of} {names[e.result]} = {given};"


class Passes:
    """The passes of a loop over a line: one, and one more for each reduction that another waits for.

    An element of a line that a later pass reads lies in memory of its own; what is one number for the whole line is a
    variable.
    """

    def __init__(self, group: FusedGroup, dialect: Dialect) -> None:
        self.group, self.dialect = group, dialect
        (*_, self.length), _ = group.space
        read, written = group.dtypes()
        self.types = [dialect.type_of(d) or "" for d in (*read, *written)]
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
        """The values along a line that a later pass, or a reduction, reads."""
        found: dict[Var, None] = {}
        for e in self.group.eqns:
            for x in e.reads:
                later = e.function in REDUCTIONS or self.passes[e.result] > self.passes[x]
                if later and x in self.lines and (self.dialect.copies or x not in self.group.inputs):
                    found[x] = None
        return [*found]

    def text(self) -> Iterator[str]:
        """The lines of text of all passes."""
        for number in range(max(self.passes.values()) + 1):
            yield from self._pass(number)

    def _pass(self, number: int) -> Iterator[str]:
        """Numbers of the line, then a loop over its elements, then the reductions of these."""
        group, inputs = self.group, self.group.inputs
        mine = [e for e in group.eqns if self.passes[e.result] == number]
        for e in mine:
            if e.function not in REDUCTIONS and e.result not in self.lines:
                if is_view(e):
                    self.names[e.result] = self.names[e.reads[0]]
                else:
                    yield assignment(group, e, self.names, self.dialect)
        each = [e for e in mine if e.result in self.lines]
        copied = [x for x in self.kept if x in inputs and not number]
        if each or copied:
            yield from self._loop(number, each, copied)
        for e in group.eqns:
            (x, *_), t = e.reads, self.dialect.type_of(e.result.dtype)
            if e.function in REDUCTIONS and self.passes[x] == number:
                line = f"t{self.names[x]}" if x in self.kept else f"p{inputs.index(x)}"
                kind = REDUCTIONS[e.function]
                called = self.dialect.reduced.format(kind=kind, t=t, x=line, n=self.length)
                yield f"const {t} {self.names[e.result]} = {called};"

    def _loop(self, number: int, each: Sequence[Eqn], copied: Sequence[Var]) -> Iterator[str]:
        """The loop of a pass over the elements of a line."""
        inputs, dialect, names = self.group.inputs, self.dialect, self.names
        yield from dialect.each.format(n=self.length).splitlines()
        for x in dict.fromkeys([*copied, *(x for e in each for x in e.reads if x in self.lines)]):
            if (x in self.kept and self.passes[x] < number) or (x in self.kept and x in inputs and number):
                place = dialect.kept.format(x=f"t{names[x]}")
                yield f"  const {self._type(x)} {names[x]} = {place};"
            elif x in inputs:
                yield f"  const {self._type(x)} {names[x]} = {dialect.operand.format(i=inputs.index(x))};"
        for x in copied:
            yield f"  {dialect.kept.format(x=f't{names[x]}')} = {names[x]};"
        for e in each:
            yield f"  {assignment(self.group, e, names, dialect)}"
            if e.result in self.kept:
                yield f"  {dialect.kept.format(x=f't{names[e.result]}')} = {names[e.result]};"
            if e.result in self.group.outputs:
                place = dialect.operand.format(i=self.operands.index(e.result))
                yield f"  {place} = {names[e.result]};"
        yield dialect.end

    def _type(self, x: Var) -> str:
        """The type of what is read of an operand, or was kept."""
        return (
            self.types[self.group.inputs.index(x)]
            if x in self.group.inputs
            else str(self.dialect.type_of(x.dtype))
        )


class _Lines(Passes):
    """A loop of C over lines."""

    def function(self, name: str) -> list[str]:
        """The lines of text of the function."""
        lines = [_header(name), "  (void)unused;"]
        lines += [f"  {self.types[i]} k{i}[{self.length}];" for i in sorted(self.whole)]
        kept = [(c_type(x.dtype), self.names[x]) for x in self.kept]
        lines += [f"  {t} t{x}[{self.length}];" for t, x in kept]
        lines.append("  for (ptrdiff_t l = 0; l < d[0]; l++) {")
        lines += [f"    {line}" for line in self._places()]
        lines += [f"    {line}" for line in self.text()]
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
                apart = f"s[{steps[i]}] != {self.operands[i].dtype.itemsize}"
                yield f"{t} *const p{i} = USUAL(!({apart})) ? ({t} *)({place}) : k{i};"
                if i < inputs:
                    copied = f"k{i}[i] = *({t} *)({place} + i * s[{steps[i]}])"
                    yield f"if ({apart}) for (int i = 0; i < {self.length}; i++) {copied};"

    def _results(self) -> Iterator[str]:
        """Numbers that are read outside, and lines whose elements do not lie side by side."""
        steps = self._steps()
        for i, x in enumerate(self.operands):
            if i >= len(self.group.inputs):
                t, place = self.types[i], f"a[{i}] + l * s[{i}]"
                if i not in self.whole:
                    yield f"*({t} *)({place}) = {self.names[x]};"
                else:
                    apart = f"s[{steps[i]}] != {self.operands[i].dtype.itemsize}"
                    copied = f"*({t} *)({place} + i * s[{steps[i]}]) = k{i}[i]"
                    yield f"if ({apart}) for (int i = 0; i < {self.length}; i++) {copied};"
