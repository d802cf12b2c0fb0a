"""Trainings as programs: how they read, what their compiled form means, and what is known of each value."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.arrays.pretended import gpu_over
from tests.optimizers import WithAdam
from wengert.arrays import HOST, all_quiet
from wengert.arrays.abstract import UNKNOWN, Aval
from wengert.arrays.changes import carry_out
from wengert.graph.kinds import Column, Role, kind
from wengert.graph.operation import OPERATIONS
from wengert.graph.order import below
from wengert.plugins import SGD
from wengert.program.build import Builder
from wengert.program.derive import Lowering, Op, Operations, Slot
from wengert.program.memory import Placement
from wengert.program.program import Program, Values, called, check, evaluate
from wengert.run.compiled.lowered import LoweredLoss, finished, lowered_in_steps
from wengert.run.compiled.program import PlanProgram, simplified

from .test_abstract import agrees

CHANCE = np.random.default_rng(0)
ROWS = CHANCE.standard_normal((5, 3)).astype(np.float32)
INDICES = np.array([2, 0, 2])
Settings = Callable[..., Any]  # Any: of weights of every column


def weight(settings: Settings, *shape: int) -> Any:  # Any: as above
    return settings(learning_rate=0.1).array_weight(CHANCE.standard_normal(shape).astype(np.float32))


def dense(settings: Settings) -> Any:
    return wg.mean(wg.square(wg.tanh(ROWS @ weight(settings, 3, 4) + weight(settings, 4))))


def numbers(settings: Settings) -> Any:
    w = settings(learning_rate=0.1).double_weight(0.5)
    return wg.tanh(w * 2.0) * w


def table(settings: Settings) -> Any:
    return wg.sum(wg.take(weight(settings, 6, 2), INDICES) ** 2.0)


def nested(settings: Settings) -> Any:
    w = weight(settings, 3, 3)

    @wg.cell
    def inner(x: Any) -> Any:
        return wg.tanh(x @ w) + x @ w

    @wg.cell
    def outer(x: Any) -> Any:
        return inner(x) * inner(inner(x))

    return wg.sum(outer(wg.literal(ROWS)))


def two_results(settings: Settings) -> Any:
    w = weight(settings, 3, 3)

    @wg.cell
    def both(x: Any) -> Any:
        return wg.sin(x @ w), wg.cos(x)

    a, b = both(wg.literal(ROWS) @ w)
    return wg.sum(a * b + b)


def heads(settings: Settings) -> Any:
    total: Any = 0.0
    for _ in range(3):
        total = total + wg.cross_entropy(wg.relu(ROWS @ weight(settings, 3, 4)), np.array([0, 1, 2, 3, 0]))
    return total


LOSSES = {f.__name__: f for f in (dense, numbers, table, nested, two_results, heads)}
SETTINGS: dict[str, Settings] = {"SGD": SGD, "Adam": WithAdam}


def of(loss: Any, steps: bool = True) -> tuple[LoweredLoss, Program]:
    """A loss with the updates of its weights, or with their deltas."""
    low = finished(lowered_in_steps(*below(loss, {})))
    return low, simplified(low.program(low.updates() if steps else None))


def prepared(name: str, settings: str) -> Any:
    """A loss whose optimizers have the states of a first step."""
    loss = LOSSES[name](SETTINGS[settings])
    loss.train().run(wg.run.Sequential(compiled=False))
    return loss


TEXTS = {
    "dense": """\
in  v0: float32[4]
in  v1: float32[3,4]
in  v2: float32[5,3]
    v3: float32[5,4] = dot(v2, v1)
    v4: float32[5,4] = add(v3, v0)
    v5: float32[5,4] = tanh(v4)
    v6: float32[5,4] = mul(v5, v5)
    v7: float32 = add.reduce(v6, axis=None, keepdims=False)
    v8: float32 = divide(v7, 20)
    v9: float32[5,4] = mul(v5, <float32[5, 4]>)
    v10: float32[5,4] = nonzero_safe(<float32[5, 4]>, v9)
    v11: float32[5,4] = sub(1.0, v6)
    v12: float32[5,4] = mul(v10, v11)
    v13: float32[4] = dot(<float32[5]>, v12)
    v14: float32[4] = mul(v13, 0.1)
    v15: float32[3,5] = transposed(v2)
    v16: float32[3,4] = dot(v15, v12)
    v17: float32[3,4] = mul(v16, 0.1)
out v8
at  v18: float32[4]
at  v19: float32[3,4]
    subtract_into(v18, v14)
    subtract_into(v19, v17)""",
    "numbers": """\
in  v0: python float
in  v1: python float
    v2: python float = mul(v0, v1)
    v3: python float = tanh(v2)
    v4: python float = mul(v3, v0)
    v5: python float = mul(v3, v3)
    v6: python float = sub(1.0, v5)
    v7: python float = mul(v0, v6)
    v8: python float = mul(v7, v1)
    v9: python float = add(v3, v8)
    v10: python float = mul(v9, 0.1)
    v11: python float = sub(v0, v10)
out v4, v11""",
    "table": """\
in  v0: float32[6,2]
in  v1: int64[3]
in  v2: python float
    v3: float32[3,2] = take(v0, v1, axis=0)
    v4: float32[3,2] = pow(v3, v2)
    v5: float32 = add.reduce(v4, axis=None, keepdims=False)
    v6: float32[3,2] = mul(v2, <float32[3, 2]>)
    v7: float32[3,2] = nonzero_safe(<float32[3, 2]>, v6)
    v8: python float = sub(v2, 1.0)
    v9: float32[3,2] = pow(v3, v8)
    v10: float32[3,2] = mul(v7, v9)
    v11: float32[3,2] = nonzero_safe(v7, v10)
    v12: float32[3,2] = mul(v11, 0.1)
out v5
at  v13: float32[6,2]
    subtract_at(v13, v1, v12)""",
    "two_results": """\
in  v0: float32[3,3]
in  v1: float32[5,3]
    v2: float32[5,3] = dot(v1, v0)
    v3: float32[5,3] = dot(v2, v0)
    v4: float32[5,3] = sin(v3)
    v5: float32[5,3] = cos(v2)
    v6: float32[5,3] = mul(v4, v5)
    v7: float32[5,3] = add(v6, v5)
    v8: float32 = add.reduce(v7, axis=None, keepdims=False)
    v9: float32[5,3] = mul(v5, <float32[5, 3]>)
    v10: float32[5,3] = mul(v4, <float32[5, 3]>)
    v11: float32[5,3] = add(<float32[5, 3]>, v10)
    v12: float32[5,3] = neg(v11)
    v13: float32[5,3] = sin(v2)
    v14: float32[5,3] = mul(v12, v13)
    v15: float32[5,3] = nonzero_safe(v11, v14)
    v16: float32[5,3] = cos(v3)
    v17: float32[5,3] = mul(v9, v16)
    v18: float32[5,3] = nonzero_safe(v9, v17)
    v19: float32[3,3] = swap_last(v0)
    v20: float32[5,3] = dot(v18, v19)
    v21: float32[5,3] = add(v15, v20)
    v22: float32[3,5] = transposed(v2)
    v23: float32[3,3] = dot(v22, v18)
    v24: float32[3,3] = mul(v23, 0.1)
    v25: float32[3,5] = transposed(v1)
    v26: float32[3,3] = dot(v25, v21)
    v27: float32[3,3] = mul(v26, 0.1)
out v8
at  v28: float32[3,3]
    subtract_into(v28, v24)
    subtract_into(v28, v27)""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_training_reads_as_a_page(name: str) -> None:
    _, p = of(prepared(name, "SGD"))
    assert str(p) == TEXTS[name]


@pytest.mark.parametrize("name", LOSSES)
def test_a_training_is_well_formed(name: str) -> None:
    _, p = of(prepared(name, "Adam"))
    check(p)
    assert p.targets is not None
    assert not any(e.opaque for e in p.eqns)
    assert all(e.source for e in (*simplified(p).eqns, *p.effects))  # the operation and the line of each


def data_of(low: LoweredLoss) -> list[Any]:
    return [np.array(x) if isinstance(x, np.ndarray) else x for x in low.present()]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("name", LOSSES)
def test_the_compiled_form_means_what_the_program_means(name: str, settings: str) -> None:
    """P2: outputs and changed targets, bit for bit; in a second run in the same buffers, too."""
    low, p = of(prepared(name, settings))
    assert p.targets is not None
    compiled = PlanProgram(p)
    for _ in range(2):
        given = data_of(low)
        old = [np.array(w.ref.data) for w in low.deltas if isinstance(w.ref.data, np.ndarray)]
        ours, theirs = [np.array(x) for x in old], [np.array(x) for x in old]
        with all_quiet():
            wanted = evaluate(p, given, targets=theirs)
            frame = compiled.take()
            steps = compiled.run(given, frame)
            first = next(steps)
            with pytest.raises(StopIteration) as end:
                steps.send(ours)
            outputs, changes = end.value.value
            carry_out(changes)
        compiled.give(frame)
        for a, b in zip((first, *outputs, *ours), (wanted[0], *wanted, *theirs), strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
        assert not old or any((a != b).any() for a, b in zip(ours, old, strict=True))


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("name", LOSSES)
def test_every_equation_of_a_training_gives_what_was_inferred(name: str, settings: str) -> None:
    """P3: with the steps of optimizers."""
    low, p = of(prepared(name, settings))
    values: Values = dict(zip(p.inputs, data_of(low), strict=True))
    with all_quiet():
        for e in p.eqns:
            values[e.result] = called(e, values)
            agrees(e.function.__name__, e.result.aval, values[e.result])


@pytest.mark.parametrize("name", LOSSES)
def test_the_program_has_the_deltas_of_the_interpreter(name: str) -> None:
    """Bit for bit, as the order of sums is that of the interpreter, within cells and outside."""
    loss = LOSSES[name](SGD)
    low, p = of(loss, steps=False)
    with all_quiet():
        value, *deltas = evaluate(p, data_of(low))
    weights: Any = tuple(low.deltas)
    expected: Any = wg.gradients(loss, weights).run(wg.run.Sequential(compiled=False))
    assert np.asarray(value).tobytes() == np.asarray(loss.predict().run()).tobytes()
    for a, b in zip(deltas, expected, strict=True):
        dense_one = a.dense() if hasattr(a, "dense") else a
        assert np.asarray(dense_one).tobytes() == np.asarray(b).tobytes()


def test_what_lies_on_a_device_is_computed_by_its_rules_as_they_are() -> None:
    """No abstract value is known there, so nothing is placed in a buffer of the host's."""
    stand_in: Any = ModuleType("cupy")
    vars(stand_in).update({name: x for name, x in vars(np).items() if not name.startswith("_")})
    stand_in.asnumpy = np.asarray
    stand_in.ElementwiseKernel = lambda given, made, source, name: getattr(
        HOST, name.removeprefix("wengert_")
    )
    with gpu_over(stand_in):
        of = kind(Column.ARRAY, (3, 3), np.dtype(np.float32), "a device", Role.LAYER)
        signature = OPERATIONS["tanh"].signature((of,), ())
        node = below(wg.tanh(1.0), ())[0][0]
        operations = Operations()
        x = operations.slot()
        operations.ops.append(Op(signature, (x,), y := operations.slot(), node))
        builder = Builder()
        given = builder.input(Aval((3, 3), np.dtype(np.float32), "other", "other"))
        low = Lowering(operations, builder, {x: given})
        low.forward()
        deltas: dict[Slot, Any] = {y: builder.input(UNKNOWN)}
        low.backward(deltas)
        assert [e.opaque for e in builder.eqns] == [True, True]
        assert low.foreign
        assert [*deltas] == [x]
        assert not Placement(builder.eqns, (), (), {}).buffers
