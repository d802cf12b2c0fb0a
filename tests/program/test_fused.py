"""Fused groups: which equations become one loop, how the loop reads, and that it gives the bits of the equations."""

from __future__ import annotations

import math
import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.program.drawn import Drawn, lowered
from wengert.arrays import HOST, all_quiet, compilers, kernels
from wengert.arrays.abstract import Aval
from wengert.arrays.agreement import same_but_for_nan
from wengert.arrays.compilers import CCompiler, found_compiler
from wengert.plugins import SGD
from wengert.program import loops
from wengert.program.emit import FusedCall
from wengert.program.fused import EXACT, FusedGroup, fused
from wengert.program.loops import axes_of, loop_text
from wengert.program.memory import Placement
from wengert.program.program import Eqn, Program, Var, check, evaluate
from wengert.run.compiled import program as native
from wengert.run.compiled.program import FusedProgram, Library, agrees, simplified

F32, F64, BOOL = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.bool_)
SETTINGS = SGD(learning_rate=0.1)
needs_compiler = pytest.mark.skipif(found_compiler() is None, reason="no C compiler on this machine")


def var(*shape: int, dtype: np.dtype[Any] = F32) -> Var:
    return Var(Aval(shape, dtype))


def eqn(function: Any, *arguments: Any, dtype: np.dtype[Any] = F32, shape: tuple[int, ...] = (4, 3)) -> Eqn:
    return Eqn(function, arguments, {}, var(*shape, dtype=dtype))


class TestGroups:
    def test_equations_of_one_shape_become_one_loop(self) -> None:
        x, y = var(4, 3), var(3)
        a = eqn(operator.add, x, y)
        b = eqn(np.maximum, a.result, 0.0)
        c = eqn(operator.mul, b.result, b.result)
        _, (group,) = fused(Program([x, y], [a, b, c], [c.result]))
        assert (group.eqns, group.inputs, group.outputs) == ((a, b, c), (x, y), (c.result,))
        assert group.inner == [a.result, b.result]

    def test_what_waits_for_something_between_stays_outside(self) -> None:
        x, w = var(4, 3), var(3, 3)
        a = eqn(operator.neg, x)
        between = eqn(np.dot, a.result, w)
        b = eqn(operator.add, a.result, between.result)
        c = eqn(operator.mul, b.result, 2.0)
        eqns, (group,) = fused(Program([x, w], [a, between, b, c], [c.result]))
        assert group.eqns == (b, c)
        assert eqns == [a, between, b, c]

    def test_two_groups_never_wait_for_each_other(self) -> None:
        """`check` raises where an equation comes before one whose result it reads."""
        x, w = var(4, 3), var(3, 3)
        a, b = eqn(operator.neg, x), eqn(operator.mul, x, 2.0)
        one, two = eqn(np.dot, a.result, w), eqn(np.dot, b.result, w)
        c, d = eqn(operator.add, a.result, two.result), eqn(operator.add, b.result, one.result)
        p = Program([x, w], [a, b, one, two, c, d], [c.result, d.result])
        eqns, _ = fused(p)
        check(Program(p.inputs, eqns, p.outputs))

    @pytest.mark.parametrize(
        "left",
        [
            eqn(np.log, var(4, 3)),
            eqn(np.exp, var(4, 3, dtype=F64), dtype=F64),
            eqn(operator.add, var(4, 3, dtype=np.dtype(np.int64)), 1, dtype=np.dtype(np.int64)),
            eqn(operator.mul, var(4, 3), float("inf")),
            eqn(operator.mul, var(4, 3), var(4, 3, dtype=F64), dtype=F64),
            eqn(np.add.reduce, var(4, 3)),
            eqn(operator.neg, Var(Aval((4, 3), F32, "array", "gaps"))),
        ],
        ids=[
            "no formula",
            "exp of float64",
            "integers",
            "an infinite constant",
            "two element types",
            "a reduction",
            "short lines of a view",
        ],
    )
    def test_left_to_numpy(self, left: Eqn) -> None:
        after = [eqn(operator.neg, left.result, dtype=left.result.dtype)]
        _, groups = fused(Program([*left.reads], [left, *after], [after[-1].result]))
        assert all(left not in group.eqns for group in groups)

    def test_the_way_back_does_not_make_the_way_there_keep_more(self) -> None:
        w = SETTINGS.array_weight(np.ones((4, 3), np.float32))
        drawn = lowered(wg.gelu(wg.tanh(w) * 3.0))
        p = simplified(drawn.program)
        _, groups = fused(p)
        for group in groups:
            parts = {e.source.part for e in group.eqns if e.source is not None}
            if len(parts) > 1:
                there = [e for e in group.eqns if e.source is not None and e.source.part == "forward"]
                assert len(group.outputs) <= len(there)


LOOP = """\
void loop(char **a, const ptrdiff_t *d, const ptrdiff_t *s, void *unused) {
  (void)unused;
  if (USUAL(((s[0] ^ 4) | (s[1] ^ 0) | (s[2] ^ 4)) == 0)) {
    float *const p0 = (float *)a[0];
    float *const p1 = (float *)a[1];
    float *const p2 = (float *)a[2];
    const float x1 = *p1;
    EACH
    for (ptrdiff_t i = 0; i < d[0]; i++) {
      const float r0 = p0[i];
      const float r1 = x1;
      const float v0 = r0 - r1;
      const unsigned char v1 = v0 > 0x0.0p+0f;
      const float v2 = v1 ? v0 : 0x1.999999999999ap-4f;
      p2[i] = v2;
    }
    return;
  }
  for (ptrdiff_t i = 0; i < d[0]; i++) {
    const float r0 = *(float *)(a[0] + i * s[0]);
    const float r1 = *(float *)(a[1] + i * s[1]);
    const float v0 = r0 - r1;
    const unsigned char v1 = v0 > 0x0.0p+0f;
    const float v2 = v1 ? v0 : 0x1.999999999999ap-4f;
    *(float *)(a[2] + i * s[2]) = v2;
  }
}
"""


def test_text_of_a_loop() -> None:
    x, y = var(4, 3), var(4, 1)
    a = eqn(operator.sub, x, y)
    b = eqn(np.greater, a.result, 0.0, dtype=BOOL)
    c = eqn(np.where, b.result, a.result, 0.1)
    _, (group,) = fused(Program([x, y], [a, b, c], [c.result]))
    assert loop_text(group, "loop") == LOOP.replace("0x1.999999999999ap-4f", "0x1.99999a0000000p-4f")


def softmax_group(*shape: int, dtype: np.dtype[Any] = F32, top: bool = True) -> FusedGroup:
    """A softmax along the last axis, without its greatest element where `top` is false."""
    x, flat, lines = var(*shape, dtype=dtype), shape[:-1], (*shape[:-1], 1)
    options = {"axis": -1, "keepdims": True, "initial": -np.inf}
    greatest = Eqn(np.maximum.reduce, (x,), options, var(*lines, dtype=dtype))
    a = eqn(operator.sub, x, greatest.result, dtype=dtype, shape=shape)
    b = eqn(np.exp, a.result if top else x, dtype=dtype, shape=shape)
    c = Eqn(np.add.reduce, (b.result,), {"axis": -1, "keepdims": False}, var(*flat, dtype=dtype))
    d = Eqn(HOST.expand_dims, (c.result,), {"axis": -1}, var(*lines, dtype=dtype))
    e = eqn(operator.truediv, b.result, d.result, dtype=dtype, shape=shape)
    eqns = [greatest, a, b, c, d, e] if top else [b, c, d, e]
    _, (group,) = fused(Program([x], eqns, [e.result]))
    assert group.eqns == tuple(eqns)
    return group


LINES = """\
void loop(char **a, const ptrdiff_t *d, const ptrdiff_t *s, void *unused) {
  (void)unused;
  float k0[9];
  float k1[9];
  float tv2[9];
  for (ptrdiff_t l = 0; l < d[0]; l++) {
    float *const p0 = USUAL(!(s[2] != 4)) ? (float *)(a[0] + l * s[0]) : k0;
    if (s[2] != 4) for (int i = 0; i < 9; i++) k0[i] = *(float *)(a[0] + l * s[0] + i * s[2]);
    float *const p1 = USUAL(!(s[3] != 4)) ? (float *)(a[1] + l * s[1]) : k1;
    const float v0 = max_float(p0, 9);
    EACH
    for (int i = 0; i < 9; i++) {
      const float r0 = p0[i];
      const float v1 = r0 - v0;
      const float v2 = exp32(v1);
      tv2[i] = v2;
    }
    const float v3 = sum_float(tv2, 9);
    EACH
    for (int i = 0; i < 9; i++) {
      const float v2 = tv2[i];
      const float v5 = v2 / v3;
      p1[i] = v5;
    }
    if (s[3] != 4) for (int i = 0; i < 9; i++) *(float *)(a[1] + l * s[1] + i * s[3]) = k1[i];
  }
}
"""


class TestLoopsOverLines:
    def test_text(self) -> None:
        group = softmax_group(4, 3, 9)
        assert loop_text(group, "loop") == LINES
        assert axes_of(group) == "(9)->(9)"

    def test_axes_of_results_that_are_one_number_a_line(self) -> None:
        x, y, lines = var(9, 9), var(9), var(9, 1)
        a = eqn(operator.mul, x, y, shape=(9, 9))
        b = eqn(operator.mul, a.result, lines, shape=(9, 9))
        kept = Eqn(np.add.reduce, (b.result,), {"axis": 1, "keepdims": True}, var(9, 1))
        flat = Eqn(np.add.reduce, (a.result,), {"axis": 1, "keepdims": False}, var(9))
        _, (group,) = fused(Program([x, y, lines], [a, b, kept, flat], [kept.result, flat.result]))
        assert axes_of(group) == "(9),(9),(1)->(1),()"

    def test_a_sum_without_its_axis_is_no_number_of_a_line_elsewhere(self) -> None:
        """Beside (9, 9), the shape (9,) is a line and not a column."""
        x = var(9, 9)
        a = eqn(operator.mul, x, x, shape=(9, 9))
        flat = Eqn(np.add.reduce, (a.result,), {"axis": 1, "keepdims": False}, var(9))
        b = eqn(operator.sub, a.result, flat.result, shape=(9, 9))
        _, groups = fused(Program([x], [a, flat, b], [b.result]))
        assert not any({flat, b} <= {*group.eqns} for group in groups)

    @pytest.mark.parametrize("top", [True, False])
    def test_a_greatest_element_that_is_read_elsewhere_is_left_to_numpy(self, top: bool) -> None:
        """The sign of its zero depends on the order in which numpy looks at the elements."""
        x = var(4, 9)
        options = {"axis": -1, "keepdims": True, "initial": -np.inf}
        greatest = Eqn(np.maximum.reduce, (x,), options, var(4, 1))
        a = eqn(operator.sub, x, greatest.result, shape=(4, 9))
        b = eqn(np.exp, a.result, shape=(4, 9))
        _, groups = fused(Program([x], [greatest, a, b], [b.result, *[greatest.result] * (not top)]))
        assert any(greatest in group.eqns for group in groups) is top

    def test_long_lines_are_left_to_numpy(self) -> None:
        x = var(4, 4097)
        a = eqn(operator.mul, x, x, shape=(4, 4097))
        flat = Eqn(np.add.reduce, (a.result,), {"axis": 1, "keepdims": True}, var(4, 1))
        assert fused(Program([x], [a, flat], [flat.result]))[1] == []

    def test_a_sum_that_a_loop_writes_stays_while_a_view_of_it_is_read(self) -> None:
        """`sum_to` may return what it is given; a loop writes it into memory of its own."""
        x, y, lines = var(4, 3, 9), var(4, 3, 9), (4, 3, 1)
        a = eqn(operator.mul, x, x, shape=(4, 3, 9))
        total = Eqn(HOST.sum_to, (a.result, lines), {}, var(*lines))
        view = Eqn(HOST.reshape, (total.result, (4, 3)), {}, var(4, 3))
        b = eqn(operator.mul, x, y, shape=(4, 3, 9))
        other = Eqn(HOST.sum_to, (b.result, lines), {}, var(*lines))
        read = eqn(np.tanh, view.result, shape=(4, 3))
        eqns = [a, total, view, b, other, read]
        groups = fused(Program([x, y], eqns, [other.result, read.result]))[1]
        found = Placement(eqns, [], [], {}, groups=groups)
        assert [*map(len, (group.eqns for group in groups))] == [2, 2]
        assert found.place[total.result] != found.place[other.result]

    @needs_compiler
    @pytest.mark.parametrize("dtype", [F32, F64])
    @pytest.mark.parametrize("length", [2, 7, 8, 9, 127, 128, 129, 300, 1000])
    def test_sums_have_numpys_bits(self, length: int, dtype: np.dtype[Any], tmp_path: Path) -> None:
        compiler = found_compiler()
        assert compiler is not None
        shape = (50, 2, length)
        x = var(*shape, dtype=dtype)
        a = eqn(operator.mul, x, x, dtype=dtype, shape=shape)
        total = Eqn(np.add.reduce, (a.result,), {"axis": -1, "keepdims": True}, var(50, 2, 1, dtype=dtype))
        plain = Eqn(np.add.reduce, (x,), {"axis": -1, "keepdims": True}, var(50, 2, 1, dtype=dtype))
        both = eqn(operator.sub, total.result, plain.result, dtype=dtype, shape=(50, 2, 1))
        _, (group,) = fused(Program([x], [a, total, plain, both], [both.result]))
        (function,) = Library([group]).functions(compiler, tmp_path)
        random = np.random.default_rng(length)
        for given in (
            random.standard_normal(shape).astype(dtype),
            (random.standard_normal(shape) * 10.0 ** random.integers(-6, 6, shape)).astype(dtype),
            np.full(shape, -0.0, dtype),
            random.standard_normal((*shape, 2)).astype(dtype)[..., 1],
        ):
            found = function(given)
            total_of, plain_of = (np.add.reduce(y, axis=-1, keepdims=True) for y in (given * given, given))
            expected = total_of - plain_of
            assert found.tobytes() == expected.tobytes()

    @needs_compiler
    @pytest.mark.parametrize("length", [2, 7, 8, 9, 16, 17, 24, 33, 64])
    @pytest.mark.parametrize("dtype", [F32, F64])
    def test_the_greatest_element_wherever_it_is(
        self, length: int, dtype: np.dtype[Any], tmp_path: Path
    ) -> None:
        """Each line has its greatest element, NaN or infinity at another place."""
        compiler = found_compiler()
        assert compiler is not None
        x = var(length, length, dtype=dtype)
        options = {"axis": -1, "keepdims": True, "initial": -math.inf}
        top = Eqn(np.maximum.reduce, (x,), options, var(length, 1, dtype=dtype))
        less = eqn(operator.sub, x, top.result, dtype=dtype, shape=(length, length))
        square = eqn(operator.mul, less.result, less.result, dtype=dtype, shape=(length, length))
        group = FusedGroup((top, less, square), (x,), (square.result,), ((length, length), dtype), EXACT)
        (function,) = Library([group]).functions(compiler, tmp_path)
        random = np.random.default_rng(length)
        for special in (9.0, math.nan, math.inf, -math.inf):
            given = random.standard_normal((length, length)).astype(dtype)
            np.fill_diagonal(given, special)
            with all_quiet():
                found, expected = function(given), np.square(given - given.max(-1, keepdims=True))
            assert same_but_for_nan(found, expected)

    @needs_compiler
    @pytest.mark.parametrize(
        "mutant", ["one column", "other halves", "a column left out", "half of the columns", "exp"]
    )
    def test_a_wrong_helper_is_not_used(
        self, mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        compiler = found_compiler()
        assert compiler is not None
        group = softmax_group(4, 3, 216)
        old, new = {
            "one column": (
                "return n <= 128 ?",
                "{t} r = 0; for (int i = 0; i < n; i++) r += x[i]; return r; return n <= 128 ?",
            ),
            "other halves": ("n / 2 - n / 2 % 8", "n / 2 - n / 2 % 16"),
            "a column left out": ("for (int j = 0; j < half", "for (int j = 1; j < half"),
            "half of the columns": ("c = greater_float(c, e);", ""),
            "exp": ("5.082762527590693718096e-04f", "5.082762527590693718096e-03f"),
        }[mutant]
        (right,) = Library([group]).functions(compiler, tmp_path)
        assert agrees(group, right)
        texts = {name: text.replace(old, new.format(t="float")) for name, text in loops.C.helpers.items()}
        assert texts != loops.C.helpers
        monkeypatch.setattr(native, "C", loops.C._replace(helpers=texts))
        (wrong,) = Library([group]).functions(compiler, tmp_path)
        assert not agrees(group, wrong)


@needs_compiler
@pytest.mark.nightly
def test_exp_has_numpys_bits_for_every_number(tmp_path: Path) -> None:
    """Where numpy has the vector loop whose steps these are: a processor with fused products and sums."""
    compiler = found_compiler()
    assert compiler is not None
    x = var(4)
    a, b = eqn(np.exp, x, shape=(4,)), eqn(operator.pos, x, shape=(4,))
    _, groups = fused(Program([x], [a, eqn(operator.mul, a.result, 1.0, shape=(4,)), b], [a.result]))
    (group,) = groups
    (function,) = Library([group]).functions(compiler, tmp_path)
    if not agrees(group, function):
        pytest.skip("this machine's numpy has another exp")
    for start in range(0, 2**32, 2**24):
        given = np.arange(start, start + 2**24, dtype=np.uint64).astype(np.uint32).view(np.float32)
        with all_quiet():
            found = function(given)
            expected = np.exp(given)
        assert same_but_for_nan(expected, found[0] if isinstance(found, tuple) else found)


# -- random programs -------------------------------------------------------------------------------------------

_SHAPES = ((4, 3), (4, 1), (3,), (1, 3), (5, 4, 3), (1,), (0, 3), (17, 3))
_LENGTHS = (0, 1, 2, 7, 8, 9, 16, 33, 127, 128, 129, 1000)
_LINES = (*((2, 3, n) for n in _LENGTHS), (0, 3, 8), (4, 3, 1, 129), (6, 128))


def drawn_leaf(random: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    special = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-40, 3e38]
    made = random.standard_normal((*shape[:-1], 2 * shape[-1])) * 3
    if random.random() < 0.7:
        made[random.random(made.shape) < random.choice([0.01, 0.2])] = random.choice(special)
    made = made.astype(dtype)
    return made[..., ::2] if random.random() < 0.5 else np.ascontiguousarray(made[..., ::2])


ONE = (
    *(wg.negative, wg.abs, wg.relu, wg.square, wg.sqrt, wg.sign, wg.tanh, wg.erf, wg.gelu),
    lambda x: wg.clip(x, -1.0, 2.0),
)
REDUCING = (
    lambda x: x - wg.mean(x, axis=-1, keepdims=True),
    lambda x: x / wg.sqrt(wg.mean(wg.square(x), axis=-1, keepdims=True) + 0.5),
    lambda x: x * wg.sum(x, axis=-1, keepdims=True),
    lambda x: wg.softmax(x) * 0.5,
    lambda x: wg.softmax(wg.clip(x, -5.0, 5.0)),
    lambda x: wg.exp(x) - wg.logsumexp(x, axis=-1, keepdims=True),
    lambda x: x - wg.max(x, axis=-1, keepdims=True) if x.shape[-1] else x,
    lambda x: wg.reshape(wg.sum(x, axis=-1), (*x.shape[:-1], 1)) - x,
    lambda x: x * wg.reshape(wg.tanh(wg.sum(x, axis=-1)), (*x.shape[:-1], 1)),
    wg.exp,
    wg.sigmoid,
)


def in_parts(x: Any, axis: int) -> Any:
    """A value cut along an axis, its parts joined again; the delta of the second is that of its lines, too."""
    before = (slice(None),) * (axis % len(x.shape))
    first, second = x[(*before, slice(1))], x[(*before, slice(1, None))]
    second = second - wg.reshape(wg.reshape(x, (math.prod(x.shape),)), x.shape)[(*before, slice(1, None))]
    return wg.concat([first * 0.5, wg.relu(second)], axis=axis)


WITH_VIEWS = (
    lambda x: wg.permute_dims(wg.abs(wg.permute_dims(x, last_first(x))), last_first(x)),
    lambda x: wg.reshape(wg.square(wg.reshape(x, (math.prod(x.shape),))), x.shape),
    lambda x: in_parts(wg.tanh(x), 0),
    lambda x: in_parts(in_parts(wg.square(x), 0), -1),
    lambda x: x - wg.sum(x, axis=0, keepdims=True),
)
TWO = (
    *(wg.add, wg.subtract, wg.multiply, wg.divide, wg.maximum, wg.minimum),
    lambda x, y: wg.where(wg.greater(x, y), x, 0.5 * y),
)


def last_first(x: Any) -> tuple[int, ...]:
    return tuple(range(len(x.shape)))[::-1]


def drawn_program(seed: int, of: Any = None) -> Drawn:
    """A graph of 3 to 30 operations over weights and literals of one element type, forward and backward."""
    random = np.random.default_rng(seed)
    dtype = np.float32 if random.random() < 0.5 else np.float64
    dtype = dtype if of is None else of
    lines = seed % 2 == 1  # which are reduced
    table = _LINES if lines else _SHAPES
    base = table[random.integers(len(table))]
    shapes = [base, base, tuple(1 if random.random() < 0.3 else n for n in base), base[-1:]]
    values: list[Any] = []
    with all_quiet():
        for shape in shapes:
            leaf = drawn_leaf(random, dtype, shape)
            values.append(SETTINGS.array_weight(leaf) if random.random() < 0.6 else wg.lift(leaf))
        values.append(values[0] + values[1])
        for _ in range(random.integers(3, 30)):
            x, y = (values[-1 - random.integers(min(6, len(values)))] for _ in range(2))
            if lines and random.random() < 0.4:
                values.append(REDUCING[random.integers(len(REDUCING))](x))
            elif random.random() < 0.2:
                values.append(WITH_VIEWS[random.integers(len(WITH_VIEWS))](x))
            elif random.random() < 0.4:
                values.append(ONE[random.integers(len(ONE))](x))
            elif random.random() < 0.2:
                values.append(x * float(random.choice([0.5, -2.0, 0.1, 0.0])))
            else:
                values.append(TWO[random.integers(len(TWO))](x, y))
        return lowered(wg.add(values[-1], values[-2]))


def wrong_programs(compiler: CCompiler, folder: Path, seeds: range) -> list[int]:
    """The seeds of programs that have other bits with compiled loops than with numpy; all loops are one library."""
    drawn = [(seed, drawn_program(seed)) for seed in seeds]
    simple = [(seed, d, simplified(d.program)) for seed, d in drawn]
    found = [(seed, d, p, *fused(p)) for seed, d, p in simple]
    library = Library([group for *_, groups in found for group in groups])
    functions = iter(library.functions(compiler, folder))
    assert library.text.count("void loop") > len(seeds) // 2, "hardly anything is fused"
    wrong = []
    for seed, d, p, eqns, groups in found:
        calls = [FusedCall(group, next(functions)) for group in groups]
        ordered = Program(p.inputs, eqns, p.outputs)
        check(ordered)
        made = FusedProgram(ordered, calls)
        with all_quiet():
            expected = evaluate(d.program, d.given)
            for _ in range(2):  # the second time in the same buffers
                outputs = made.run(tuple(d.given), made.take())
        if not all(map(same_but_for_nan, map(np.asarray, expected), map(np.asarray, outputs))):
            wrong.append(seed)
    return wrong


@needs_compiler
def test_loops_give_the_bits_of_numpy(tmp_path: Path) -> None:
    compiler = found_compiler()
    assert compiler is not None
    assert wrong_programs(compiler, tmp_path, range(20)) == []


@needs_compiler
@pytest.mark.nightly
@pytest.mark.parametrize("block", range(1, 41))
def test_loops_give_the_bits_of_numpy_in_2000_programs(block: int, tmp_path: Path) -> None:
    compiler = found_compiler()
    assert compiler is not None
    assert wrong_programs(compiler, tmp_path, range(50 * block, 50 * block + 50)) == []


MUTANTS = {
    "swapped operands of a difference": (np.subtract, "{1} - {0}"),
    "swapped operands of a quotient": (np.true_divide, "{1} / {0}"),
    "a maximum that loses NaN": (np.maximum, "{0} > {1} ? {0} : {1}"),
    "a sign that loses NaN": (np.sign, "({t})(({0} > 0) - ({0} < 0))"),
    "where turned round": (np.where, "{0} ? {2} : {1}"),
    "a negative that loses the sign of zero": (np.negative, "0 - {0}"),
    "less or equal": (np.less, "{0} <= {1}"),
    "a delta of zero that lets infinity through": (HOST.nonzero_safe, "({0} != 0) | 1 ? {1} : 0"),
}


def group_of(function: Any) -> FusedGroup:
    x, y, w = var(4, 3), var(4, 3), var(4, 3)
    if function is np.where:
        given: list[Any] = [np.greater, x, y]
        first = eqn(*given, dtype=BOOL)
        second = eqn(np.where, first.result, w, x)
    else:
        both = function not in (np.negative, np.sign)
        result = BOOL if function in (np.less, np.greater) else F32
        first = eqn(function, *((x, y) if both else (x,)), dtype=result)
        second = eqn(np.where, first.result, x, w) if result is BOOL else eqn(np.sqrt, first.result)
        if function in (np.negative, np.sign):
            second = eqn(operator.truediv, w, first.result)
    _, (group,) = fused(Program([x, y, w], [first, second], [second.result]))
    return group


@needs_compiler
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_formula_is_not_used(mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = found_compiler()
    assert compiler is not None
    function, formula = MUTANTS[mutant]
    group = group_of(function)
    (right,) = Library([group]).functions(compiler, tmp_path)
    assert agrees(group, right)
    changed: dict[Any, str] = {**kernels.FORMULAS, function: formula}
    monkeypatch.setattr(kernels, "FORMULAS", changed)
    (wrong,) = Library([group]).functions(compiler, tmp_path)
    assert not agrees(group, wrong)


@needs_compiler
def test_a_product_and_a_sum_are_rounded_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check finds a compiler that contracts them to one instruction."""
    compiler = found_compiler()
    assert compiler is not None
    x, y, z = var(4, 3), var(4, 3), var(4, 3)
    a = eqn(operator.mul, x, y)
    b = eqn(operator.add, a.result, z)
    _, (group,) = fused(Program([x, y, z], [a, b], [b.result]))
    (right,) = Library([group]).functions(compiler, tmp_path)
    assert agrees(group, right)
    flags = [flag.replace("=off", "=fast") for flag in compilers.FLAGS]
    if "fma" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no such instruction")
    monkeypatch.setattr(compilers, "FLAGS", flags)
    (wrong,) = Library([group]).functions(compiler, tmp_path)
    assert not agrees(group, wrong)
