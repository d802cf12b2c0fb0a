"""Programs: what makes them well formed, what they mean, and how they read."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

import wengert as wg
from wengert.arrays import all_quiet
from wengert.arrays.abstract import Aval, RowCount
from wengert.plugins import SGD
from wengert.program.program import Eqn, Program, Var, check, evaluate
from wengert.run.batching.kernel import BatchedKernel, Lowered, batched
from wengert.run.compiled.program import PlanProgram, TimedProgram, buffers_of
from wengert.run.threads.pool import ThreadPool
from wengert.run.threads.tasks import ScheduledProgram

F32 = np.dtype(np.float32)
SETTINGS = SGD(learning_rate=0.1)


def vector() -> Var:
    return Var(Aval((3,), F32))


def plus(a: Var, b: Var) -> Eqn:
    return Eqn(operator.add, (a, b), {}, vector())


class TestCheck:
    def test_a_value_is_assigned_before_its_uses(self) -> None:
        x, y = vector(), vector()
        with pytest.raises(AssertionError, match="reads what is not assigned yet"):
            check(Program([x], [plus(x, y)], []))

    def test_a_value_is_assigned_once(self) -> None:
        x = vector()
        e = plus(x, x)
        with pytest.raises(AssertionError, match="assigns again"):
            check(Program([x], [e, e], [e.result]))

    def test_outputs_are_assigned(self) -> None:
        with pytest.raises(AssertionError, match="an output is never assigned"):
            check(Program([], [], [vector()]))


def test_evaluate() -> None:
    n, x = RowCount(), Var(Aval((RowCount(), 2), F32))
    flat = Eqn(np.reshape, (x, (2 * n,)), {}, Var(Aval((2 * n,), F32)))
    total = Eqn(np.sum, (flat.result,), {"keepdims": True}, Var(Aval((1,), F32)))
    p = Program([x], [flat, total], [(total.result, n)])
    check(p)
    ((found, rows),) = evaluate(p, [np.ones((4, 2), F32)], rows=4)
    assert (found.tolist(), rows) == ([8.0], 4)


def chain_of_numbers(length: int, kept: int) -> Program:
    """x = x * x + 0.25, so often; the value after `kept` equations is an output, too."""
    x = Var(Aval((), float, "number"))
    values, eqns = [x], list[Eqn]()
    for i in range(length):
        given = (values[-1], values[-1]) if i % 2 == 0 else (values[-1], 0.25)
        made = Var(Aval((), float, "number"))
        eqns.append(Eqn(operator.mul if i % 2 == 0 else operator.add, given, {}, made))
        values.append(made)
    return Program([x], eqns, [values[-1], values[kept]])


def total_of(inputs: int, parts: int = 1) -> Program:
    """Sums of the products of each number with the first one; in three parts each is of every third number."""
    given = [Var(Aval((), float, "number")) for _ in range(inputs)]
    eqns, outputs = list[Eqn](), list[Var]()

    def made(function: Any, *arguments: Var) -> Var:  # Any: of numbers
        eqns.append(Eqn(function, arguments, {}, Var(Aval((), float, "number"))))
        return eqns[-1].result

    for part in range(parts):
        first, *others = given[part::parts]
        for x in others:
            first = made(operator.add, first, made(operator.mul, x, given[0]))
        outputs.append(first)
    return Program(given, eqns, outputs)


class TestNumbers:
    @pytest.mark.parametrize("kept", [0, 1, 10, 49, 50])
    def test_what_nobody_reads_any_more_is_written_over(self, kept: int) -> None:
        p = chain_of_numbers(50, kept)
        made = PlanProgram(p)
        assert made.outputs((0.5,)) == tuple(evaluate(p, (0.5,)))
        names = {line.partition(" = ")[0] for line in made.source.splitlines() if line.startswith(" v")}
        assert len(names) <= 3

    @pytest.mark.parametrize("kept", [0, 9, 49])
    def test_a_line_has_at_most_four_of_them(self, kept: int) -> None:
        p = chain_of_numbers(50, kept)
        lines = [line for line in PlanProgram(p).source.splitlines() if line.startswith(" v")]
        signs = [line.count(" * ") + line.count(" + ") for line in lines]
        # of squares of what comes before, which is read twice, so that it needs a name
        assert sum(signs) == 50 and set(signs) <= {1, 2}
        straight = replace(p, eqns=[replace(e, arguments=(e.arguments[0], 0.5)) for e in p.eqns])
        lines = [line for line in PlanProgram(straight).source.splitlines() if line.startswith(" v")]
        signs = [line.count(" * ") + line.count(" + ") for line in lines]
        assert sum(signs) == 50 and max(signs) == 4 and len(lines) <= 14

    def test_a_clock_is_read_after_each_of_them(self) -> None:
        marks: list[float] = []
        p = chain_of_numbers(50, 0)
        timed = TimedProgram(p, marks.extend, clock=iter(range(100)).__next__)
        assert timed.outputs((0.5,)) == PlanProgram(p).outputs((0.5,))
        assert marks == [*range(52)]

    @pytest.mark.parametrize(("inputs", "named"), [(256, True), (257, False)])
    def test_many_inputs_are_read_by_their_place(self, inputs: int, named: bool) -> None:
        p, data = total_of(inputs), [0.1 * i for i in range(inputs)]
        made = PlanProgram(p)
        assert made.outputs(data) == tuple(evaluate(p, data))
        assert ("p0" in made.source) is named
        assert ("inputs[0]" in made.source) is not named

    def test_tasks_read_many_inputs_by_their_place(self) -> None:
        p, data = total_of(300, 3), [0.1 * i for i in range(300)]
        made = ScheduledProgram(p, [1.0] * len(p.eqns), ThreadPool(3), 0.0)
        assert made.outputs(data) == tuple(evaluate(p, data))
        assert made.source.count(" def r") > 1 and "inputs[299]" in made.source

    def test_names_of_lanes_are_their_own(self) -> None:
        p = chain_of_numbers(6, 0)
        assert buffers_of(p).ends
        assert buffers_of(p, dict.fromkeys(p.eqns, 0)).ends == {}


SPECIAL = (0.1, 1e300, -1e300, 1e-44, -0.0, 3.4028235677973366e38, np.inf, -np.inf, np.nan, 1.0 + 2.0**-24)


def beside_an_array(dtypes: Sequence[Any], numbers: int) -> Program:  # Any: what numpy takes for one
    """Each number plus, and times, an array of each dtype: all are outputs."""
    arrays = [Var(Aval((4,), np.dtype(dtype))) for dtype in dtypes]
    given = [Var(Aval((), float, "number")) for _ in range(numbers)]
    eqns = [
        Eqn(function, (x, a) if i % 2 else (a, x), {}, Var(Aval((4,), a.dtype)))
        for a in arrays
        for i, x in enumerate(given)
        for function in (operator.add, operator.mul)
    ]
    return Program([*arrays, *given], eqns, [e.result for e in eqns])


class TestNumbersBesideArrays:
    @pytest.mark.parametrize("dtypes", [(F32,), (np.float64,), (np.float16, F32, np.float64)])
    def test_they_are_those_of_numpy(self, dtypes: Sequence[Any]) -> None:
        p = beside_an_array(dtypes, len(SPECIAL))
        made, arrays = PlanProgram(p), [np.array([1.0, -0.0, np.nan, 3.0], dtype) for dtype in dtypes]
        assert all(f"n{i}[{len(SPECIAL) - 1}]" in made.source for i in range(len(dtypes)))
        for numbers in (SPECIAL, SPECIAL[::-1]):  # of the second run they are others
            with all_quiet():
                wanted = evaluate(p, [*arrays, *numbers])
            found = made.outputs((*arrays, *numbers))
            assert [x.tobytes() for x in found] == [np.asarray(x).tobytes() for x in wanted]

    @pytest.mark.parametrize(("numbers", "together"), [(1, False), (2, True)])
    def test_a_few_calls_make_their_own(self, numbers: int, together: bool) -> None:
        assert ("n0[0]" in PlanProgram(beside_an_array([F32], numbers)).source) is together

    @pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.complex128])
    def test_beside_other_elements_they_are_numbers(self, dtype: Any) -> None:
        assert "n0" not in PlanProgram(beside_an_array([dtype], 9)).source

    def test_runs_at_once_have_their_own(self) -> None:
        p = beside_an_array([F32], 4)
        made, x = PlanProgram(p), np.ones(4, np.float32)
        frames = [made.take(), made.take()]
        made.run((x, *[1.0] * 4), frames[0])
        second = frames[1][-1]
        made.run((x, *[2.0] * 4), frames[1])
        assert [float(number) for number in frames[0][-1]] == [1.0] * 4
        assert [float(number) for number in second] == [2.0] * 4

    def test_a_function_that_may_keep_them_is_given_numbers(self) -> None:
        kept: list[object] = []
        p = beside_an_array([F32], 4)
        p.eqns = [*p.eqns, Eqn(kept.append, (p.inputs[1],), {}, Var(Aval((), float, "number")), pure=False)]
        PlanProgram(p).outputs((np.ones(4, np.float32), 1.0, 2.0, 3.0, 4.0))
        assert kept == [1.0] and type(kept[0]) is float

    def test_a_frame_counts_them(self) -> None:
        one, many = (PlanProgram(beside_an_array([F32], n)) for n in (1, 100))
        lines = 500 * (many.source.count("\n") - one.source.count("\n"))
        assert many.size() - one.size() >= lines + 100 * 100


W = SETTINGS.array_weight(np.ones((3, 3), np.float32), name="w")
B = SETTINGS.array_weight(np.ones(3, np.float32), name="b")
ROW = np.ones((1, 3), np.float32)


def recurrent(h: wg.ArrayLayer) -> wg.ArrayLayer:
    return wg.tanh(h @ W + B)


def gated(h: wg.ArrayLayer, c: wg.ArrayLayer) -> wg.ArrayLayer:
    z = h @ W
    return wg.sigmoid(z) * c + (1.0 - wg.sigmoid(z)) * h


def split(h: wg.ArrayLayer) -> wg.ArrayLayer:
    return h[:, :1] * h[:, 1:2]


def normalized(h: wg.ArrayLayer) -> wg.ArrayLayer:
    return h - wg.mean(h, axis=-1, keepdims=True)


CELLS: dict[str, tuple[Any, int]] = {
    "recurrent": (recurrent, 1),
    "gated": (gated, 2),
    "split": (split, 1),
    "normalized": (normalized, 1),
    "softmax": (lambda h: wg.softmax(h), 1),
    "cross entropy": (lambda h: wg.cross_entropy(h, np.array([1])), 1),
    "joined": (lambda h, c: wg.concat([h, c], axis=-1), 2),
    "a square": (lambda h: h * h, 1),
    "a sum of one value": (lambda h: h + h, 1),
    "a transpose": (lambda h: wg.permute_dims(h, (1, 0)) @ h, 1),
}
TEXTS = {
    "recurrent": """\
in  v0: float32[n,1,3]
in  v1: float32[3]
in  v2: float32[3,3]
    v3: float32[n,3] = reshape(v0, (n, 3))
    v4: float32[n,3] = product(v3, v2)
    v5: float32[n,1,3] = reshape(v4, (n, 1, 3))
    v6: float32[n,1,3] = add(v5, v1)
    v7: float32[n,1,3] = tanh(v6)
out v7""",
    "gated": """\
in  v0: float32[n,1,3]
in  v1: float32[n,1,3]
in  v2: float32[3,3]
    v3: float32[n,3] = reshape(v0, (n, 3))
    v4: float32[n,3] = product(v3, v2)
    v5: float32[n,1,3] = reshape(v4, (n, 1, 3))
    v6: float32[n,1,3] = neg(v5)
    v7: float32[n,1,3] = exp(v6)
    v8: float32[n,1,3] = add(v7, 1.0)
    v9: float32[n,1,3] = reciprocal(v8)
    v10: float32[n,1,3] = mul(v9, v1)
    v11: float32[n,1,3] = sub(1.0, v9)
    v12: float32[n,1,3] = mul(v11, v0)
    v13: float32[n,1,3] = add(v10, v12)
out v13""",
    "split": """\
in  v0: float32[n,1,3]
    v1: float32[n,1,1] = getitem(v0, (:, :, :1))
    v2: float32[n,1,1] = getitem(v0, (:, :, 1:2))
    v3: float32[n,1,1] = mul(v1, v2)
out v3""",
    "normalized": """\
in  v0: float32[n,1,3]
    v1: float32[n,1,1] = add.reduce(v0, axis=2, keepdims=True)
    v2: float32[n,1,1] = divide(v1, 3)
    v3: float32[n,1,3] = sub(v0, v2)
out v3""",
    "softmax": """\
in  v0: float32[n,1,3]
    v1: float32[n,1,1] = maximum.reduce(v0, axis=-1, keepdims=True, initial=-inf)
    v2: float32[n,1,3] = sub(v0, v1)
    v3: float32[n,1,3] = exp(v2)
    v4: float32[n,1] = add.reduce(v3, axis=-1, keepdims=False)
    v5: float32[n,1,1] = expand_dims(v4, axis=-1)
    v6: float32[n,1,3] = truediv(v3, v5)
out v6""",
    "cross entropy": """\
in  v0: float32[n,1,3]
    v1: int64[n,1] = broadcast_to(<int64[1]>, (n, 1))
    v2: int64[n,1] = labels(v1, 3)
    v3: float32[n,1,1] = maximum.reduce(v0, axis=-1, keepdims=True, initial=-inf)
    v4: float32[n,1,3] = sub(v0, v3)
    v5: float32[n,1,3] = exp(v4)
    v6: float32[n,1] = add.reduce(v5, axis=-1, keepdims=False)
    v7: float32[n,1] = squeeze(v3, axis=-1)
    v8: float32[n,1] = log(v6)
    v9: float32[n,1] = add(v8, v7)
    v10: float32[n,1] = fmax(v9, v7)
    v11: int64[n] = places(v2, 3)
    v12: float32[n,1] = picked(v0, v11, (n, 1))
    v13: float32[n,1] = sub(v10, v12)
    v14: float32[n] = product(v13, <float32[1]>)
    v15: float32[n] = divide(v14, 1)
out v15""",
    "joined": """\
in  v0: float32[n,1,3]
in  v1: float32[n,1,3]
    v2: float32[n,1,6] = joined((v0, v1), -1)
out v2""",
    "a square": """\
in  v0: float32[n,1,3]
    v1: float32[n,1,3] = mul(v0, v0)
out v1""",
    "a sum of one value": """\
in  v0: float32[n,1,3]
    v1: float32[n,1,3] = add(v0, v0)
out v1""",
    "a transpose": """\
in  v0: float32[n,1,3]
    v1: float32[n,3,1] = permute_dims(v0, (0, 2, 1))
    v2: float32[n,3,3] = matmul(v1, v0)
out v2""",
}


def lowered(name: str) -> tuple[Lowered, Any]:
    function, operands = CELLS[name]
    call = wg.cell(function)(*[wg.lift(ROW)] * operands)
    shared = tuple(i >= operands for i in range(len(call.signature.kinds)))
    return Lowered(batched(call.signature, shared, cast(int, RowCount()))), call


def page(name: str) -> str:
    found, _ = lowered(name)
    arriving, eqns, *_ = found.backward((True,))
    forward = Program(found.inputs, found.eqns, found.results)
    backward = Program([*found.inputs, *(e.result for e in found.eqns), *arriving], eqns, [])
    check(forward)
    check(backward)
    return f"{forward}"


@pytest.mark.parametrize("name", TEXTS)
def test_a_program_reads_as_a_page(name: str) -> None:
    assert page(name) == TEXTS[name]


@pytest.mark.parametrize("name", CELLS)
def test_the_text_is_a_function_of_the_structure(name: str) -> None:
    """P9: no address, no time, no name of a file."""
    assert page(name) == page(name)
    assert "0x" not in page(name)


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("rows", [1, 2, 31, 32, 33, 200])
def test_a_kernel_is_what_its_program_means(name: str, rows: int) -> None:
    """P2 and P8: the text that is run has the bits of equation after equation, for every number of rows."""
    _, call = lowered(name)
    operands = CELLS[name][1]
    shared = tuple(i >= operands for i in range(len(call.signature.kinds)))
    kernel, (found, _) = BatchedKernel(call.signature, shared), lowered(name)
    chance = np.random.default_rng(rows)
    given = [
        chance.standard_normal((rows, *k.shape) if not one else k.shape).astype(np.float32)
        for k, one in zip(call.signature.kinds, shared, strict=True)
    ]
    with all_quiet():
        wanted = evaluate(Program(found.inputs, found.eqns, found.results), given, rows)
        (result,), kept = kernel.forward(rows, given, None, None, True)
        np.testing.assert_array_equal(result, wanted[0])
        assert kept is not None
        g = chance.standard_normal(result.shape).astype(np.float32)
        arriving, eqns, deltas = found.backward((True,))
        every = Program(
            [*found.inputs, *arriving], [*found.eqns, *eqns], [x for x in deltas if isinstance(x, Var)]
        )
        expected = iter(evaluate(every, [*given, g], rows))
        for delta, of_operand in zip(kernel.backward(rows, kept, [g]), deltas, strict=True):
            if isinstance(of_operand, Var):
                np.testing.assert_array_equal(delta, next(expected))
