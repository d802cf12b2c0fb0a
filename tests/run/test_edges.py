"""Edges of the invariants: lazy sums, torn commits, products whose parts have structure, deltas that come late."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import Do, Tape, UnitContinuation
from wengert.control import Executor
from wengert.extend import LazyDelta, Rows, elementwise, kinds, operation
from wengert.plugins import SGD, LearningRate, Momentum, Names
from wengert.run import Batched, Parallel, Sequential

SETTINGS = SGD(learning_rate=1.0)


def test_s2_a_sum_of_lazy_deltas_shares_one_list_of_terms() -> None:
    row = LazyDelta([Rows(0, np.ones(2), (2, 2))])
    total = row
    for _ in range(1_000):
        total = total + row
    assert len(total.terms) == 1_001
    assert len(row.terms) == 1, "what was added to is as it was"
    assert (total.dense() == [[1001.0, 1001.0], [0.0, 0.0]]).all()
    assert (total + np.ones((2, 2)) + np.ones((2, 2))).rest.tolist() == [[2.0, 2.0], [2.0, 2.0]]


@wg.differentiable
async def halved(
    x: wg.ArrayLayer[Any, np.float64],
) -> wg.ArrayLayer[Any, np.float64]:  # Any: known in the run
    return x * 0.5 if await wg.sum(x) > 0.0 else x


@pytest.mark.parametrize("executor", [Sequential(compiled=False), Sequential(), Parallel(2), Batched()])
@pytest.mark.parametrize(
    ("loss", "value", "slope"),
    [
        (lambda y: wg.sqrt(wg.sum(y)), 1.0, 0.25),
        (lambda y: wg.sum(y) * wg.mean(y), 0.5, 0.5),
        (lambda y: wg.mean(wg.sum(y) + y), 1.5, 0.75),
        (lambda y: wg.where(wg.greater(wg.sum(y), 0.0), wg.max(y), 0.0), 0.5, 0.25),
        (lambda y: wg.where(wg.logical_not(wg.less(wg.sum(y), 0.0)), wg.max(y), 0.0), 0.5, 0.25),
        (lambda y: wg.sum(wg.reshape(wg.sum(y) * 2.0, (1,))), 2.0, 1.0),
        (lambda y: wg.sum(wg.stack([wg.sum(y), wg.mean(y)], axis=0)), 1.5, 0.75),
    ],
)
def test_d47_what_is_reduced_after_a_bind_of_open_shape_is_an_array(
    executor: Executor, loss: Any, value: float, slope: float
) -> None:
    for _ in range(8):  # programs are made on the way
        w = SETTINGS.array_weight(np.ones(2))
        found = wg.train(loss(halved(w * 1.0))).run(executor)
        assert type(found) is np.ndarray
        assert found == value
        assert w.data.tolist() == [1.0 - slope, 1.0 - slope]


@pytest.mark.parametrize("executor", [Sequential(compiled=False), Sequential(), Parallel(2), Batched()])
def test_s12_no_run_warns_of_what_is_infinite(executor: Executor) -> None:
    """A warning is an error here."""
    for _ in range(8):  # programs are made on the way
        w = SGD(learning_rate=1e300).array_weight(np.array([1.0, 2.0], np.float64))
        y = halved(w * 1.0)
        (wg.sum(y * 1e308) * 1e308 - wg.sum(y * 1e308) * 1e308).train().run(executor)
        v = SGD(learning_rate=1e300).array_weight(np.full((2, 2), 1e200, np.float64))
        loss = wg.sum((np.full((2, 2), 1e200, np.float64) @ v) * (v @ v)) - wg.sum(
            np.full((2, 2), -1e300, np.float64) @ v
        )
        assert not np.isfinite(wg.gradients(loss, (v,)).run(executor)[0]).any()
        loss.train().run(executor)

        def sent(tape: Tape[Any, Any]) -> None:
            for g in (np.inf, -np.inf):
                tape.backward(Do.now(np.full((2, 2), g))).run()

        v.forward.map(sent).run(executor)


def test_s6_a_lazy_delta_that_does_not_fit_changes_no_weight() -> None:
    a = SETTINGS.array_weight(np.zeros(3))
    b = SETTINGS.array_weight(np.zeros(3))

    def wrong(tape: Tape[Any, Any]) -> Tape[Any, Any]:
        late = LazyDelta([Rows(np.array([7]), np.ones(1), (3,))])
        return Tape(tape.data, lambda delta: tape.backward(Do.now(late)))

    with pytest.raises(IndexError):
        wg.sum(a + wg.ArrayLayer(b.forward.map(wrong))).train().run()
    assert not a.data.any()
    assert not b.data.any()


def test_s11_a_weight_of_shape_0_stays_an_array_after_its_data_were_seen() -> None:
    w = SETTINGS.array_weight(np.array(1.0, np.float64))
    assert w.data.shape == ()
    for expected in (0.0, -1.0):
        wg.train(w * 1.0).run()
        assert isinstance(w.data, np.ndarray)
        assert w.data == expected


def test_s11_gradients_of_two_weights_are_two_arrays() -> None:
    a, b = (SETTINGS.array_weight(np.zeros(2)) for _ in range(2))
    of_a, of_b = wg.gradients(wg.sum(a + b), [a, b]).run()
    assert not np.shares_memory(of_a, of_b)


def test_d55_a_leafs_own_tuple_is_not_taken_apart() -> None:
    received: list[object] = []

    @dataclass(frozen=True)
    class Value:
        """Its Delta is a pair."""

    @wg.register(Value)
    def value(x: Value) -> Do[Tape[float, tuple[int, float]]]:
        return Do.now(Tape(5.0, lambda delta: UnitContinuation.delay(lambda: received.append(delta.run()))))

    w = SETTINGS.double_weight(1.0)
    both = wg.lift((value(Value()), w))  # type: ignore[call-overload] # products are lifted with the mypy plugin

    def send(tape: Tape[Any, Any]) -> Do[None]:
        return Do.delay(lambda: tape.backward(Do.now(((1, 2.0), 3.0))).run())

    both.forward.flat_map(send).run()
    assert received == [(1, 2.0)]
    assert w.data == -2.0


def test_d6_a_delta_sent_below_a_bind_arrives_without_a_training() -> None:
    w = SETTINGS.double_weight(1.0)

    def send(tape: Tape[float, float]) -> Do[Tape[float, float]]:
        return Do.delay(lambda: tape.backward(Do.now(1.0)).run()).map(lambda _: tape)

    assert wg.DoubleLayer((w * 2.0).forward.flat_map(send)).as_do().run() == 2.0
    assert w.data == -1.0


def test_s4_a_derivative_that_nobody_wrote_is_an_error_and_not_zero() -> None:
    @operation(kinds.elementwise, lambda case, x: x * x)
    def forgotten(x: wg.DoubleExpression, /) -> wg.DoubleLayer:
        raise NotImplementedError

    assert forgotten(3.0).predict().run() == 9.0
    with pytest.raises(wg.errors.NotDifferentiableError, match="no derivative is defined for operand 0"):
        forgotten(SETTINGS.double_weight(3.0))


def test_s12_a_masked_exponential_gives_no_nan() -> None:
    w = SETTINGS.array_weight(np.array([1000.0, 1.0], np.float64))
    loss = wg.sum(wg.where(wg.less(w, 100.0), wg.exp(w), 0.0))
    found: Any = wg.gradients(loss, [w]).run()  # Any: a delta is typed by shape, dtype and device alone
    assert np.allclose(found[0], [0.0, np.e])


def test_d66_weights_made_on_one_line_are_told_apart() -> None:
    class Settings(Names, SGD): ...

    settings = Settings(learning_rate=1.0)
    weights = [settings.double_weight(float(i)) for i in range(3)]
    assert all(found is made for found, made in zip(settings.weights.values(), weights, strict=True))


def test_d66_a_weight_without_a_name_has_the_file_without_its_folder() -> None:
    one = SETTINGS.array_weight(np.ones(3))
    left, right = SETTINGS.double_weight(1.0), SETTINGS.double_weight(2.0)
    line = int(one.site.rpartition(":")[2])
    assert one.name == f"test_edges.py:{line}" and one.site == f"{__file__}:{line}"
    assert (left.name, right.name) == (f"test_edges.py:{line + 1}:19", f"test_edges.py:{line + 1}:48")
    assert pickle.loads(pickle.dumps(right)).name == right.name


def test_a_copy_of_a_weight_has_data_and_state_of_its_own() -> None:
    class Settings(Names, Momentum, LearningRate): ...

    w = Settings(learning_rate=1.0).array_weight(np.ones(2), name="w")
    wg.sum(w).train().run()
    twin = copy.copy(w)
    assert type(twin) is type(w) and twin.settings is w.settings and twin.name == "w"
    wg.sum(w).train().run()
    assert w.data.tolist() == [-1.9, -1.9] and twin.data.tolist() == [0.0, 0.0]
    wg.sum(twin).train().run()
    assert twin.data.tolist() == w.data.tolist(), "the velocity went along"


def test_evidence_for_what_is_built_in_gives_the_tape_that_operations_read() -> None:
    w, f = SETTINGS.double_weight(2.0), SETTINGS.float_weight(3.0)
    x = SETTINGS.array_weight(np.ones((2, 3)))
    cases: list[tuple[Any, Any]] = [  # Any: evidence of each column
        *[(y, wg.double_evidence) for y in (2.0, w, w * 1.0)],
        *[(y, wg.float_evidence) for y in (np.float32(3.0), f, f * 1.0)],
        *[(y, wg.array_evidence) for y in (np.ones((2, 3)), x, x * 1.0)],
    ]
    for of, witness in cases:
        assert np.array_equal(witness.forward(of).map(lambda tape: tape.data).run(), wg.predict(of).run())
    sent = wg.double_evidence.forward(w).map(lambda tape: tape.backward(Do.now(3.0)).run())
    sent.run()
    assert w.data == -1.0, "a step"


def test_unary_plus_is_the_expression() -> None:
    w, x = SETTINGS.double_weight(2.0), SETTINGS.array_weight(np.ones(3))
    assert (+w).predict().run() == 2.0 and (+wg.exp(x)).shape == (3,)
    assert wg.gradients(wg.sum(+x) * +w, (w, x)).run()[0] == 3.0


@pytest.mark.parametrize("cls", [Any, object])
def test_every_class_is_none_to_register(cls: Any) -> None:  # Any: the misuse that is tested
    with pytest.raises(wg.errors.ArgumentError, match=r"is every class, and evidence is for one"):
        wg.register(cls)


@pytest.mark.parametrize("executor", [Sequential(), Parallel(2), Batched()])
@pytest.mark.parametrize("question", ["predict", "train"])
def test_c3_what_is_predicted_inside_a_run_is_computed_once(executor: Executor, question: str) -> None:
    calls: list[float] = []

    @wg.extend.elementwise(lambda case, g, y, x: g)
    def counted(case: wg.extend.Case, x: Any) -> Any:  # Any: a number
        calls.append(x)
        return x

    @wg.differentiable
    async def network(x: wg.DoubleExpression) -> wg.DoubleLayer:
        y, z = counted(x), counted(wg.multiply(x, 2.0))
        left, right = await wg.gather(y.predict(), wg.predict(z))
        return y * left + z * right

    getattr(network(SETTINGS.double_weight(1.0)), question)().run(executor)
    assert sorted(calls) == [1.0, 2.0]


def test_an_attribute_of_another_type_is_another_signature() -> None:
    x = SETTINGS.array_weight(np.ones((2, 3)))
    assert wg.sum(x, axis=1).shape == (2,)
    with pytest.raises(wg.errors.WengertError):
        wg.sum(x, axis=1.0)  # type: ignore[call-overload] # an axis is an int, also after axis=1 was met


@pytest.mark.parametrize(
    "executor", [Sequential(compiled=False), Sequential(), Parallel(threads=2), Batched()], ids=type
)
def test_an_awaited_prediction_is_not_computed_again(executor: Any) -> None:
    calls = []

    @elementwise(lambda case, g, y, x: g)
    def told(case: Any, x: Any) -> Any:
        calls.append(x)
        return x

    @wg.differentiable
    async def squared(x: wg.DoubleLayer) -> wg.DoubleLayer:
        y: wg.DoubleLayer = told(x)
        return y * await wg.predict(y)

    w = SGD(learning_rate=0.1).double_weight(3.0)
    assert squared(w * 1.0).train().run(executor) == 9.0
    assert calls == [3.0]
