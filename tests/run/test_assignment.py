"""`assign` and `apply`: new data and deltas from elsewhere, in the commit of the run that they are part of."""

from __future__ import annotations

import tracemalloc
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ArgumentError, DTypeError, ShapeError, WengertError
from wengert.extend import LazyDelta, Optimizer, Rows
from wengert.plugins import SGD, Adam, ClipByGlobalNorm, LearningRate, Plugin

EXECUTORS = [
    wg.run.Sequential(compiled=False),
    wg.run.Sequential(),
    wg.run.Parallel(2),
    wg.run.Batched(),
]
each = pytest.mark.parametrize("executor", EXECUTORS, ids=lambda x: type(x).__name__)
RUNS = 10  # so that plans are made, and run


def _weights() -> tuple[wg.ArrayWeight[Any, np.float32], wg.DoubleWeight, wg.FloatWeight]:
    settings = SGD(learning_rate=0.5)
    array = settings.array_weight(np.ones((2, 3), np.float32), name="array")
    return array, settings.double_weight(1.0, name="double"), settings.float_weight(1.0, name="float")


@each
def test_assigned_values_are_the_data(executor: wg.run.Sequential) -> None:
    a, d, f = _weights()
    given = np.full((2, 3), 4.0, np.float32)
    setting = wg.assign({a: given, d: 2, f: np.float32(3.0)})
    given[:] = 9.0  # after the call, before the run
    for _ in range(2):  # a description gives the same each time, whatever has been trained meanwhile
        setting.run(executor)
        assert (a.data == 4.0).all()
        assert (d.data, f.data, type(f.data)) == (2.0, np.float32(3.0), np.float32)
        wg.sum(a * a).train().run(executor)
        assert (a.data == 0.0).all()


@each
def test_a_training_and_an_assignment_are_one_transaction(executor: wg.run.Sequential) -> None:
    a, _d, f = _weights()
    loss = wg.sum(a * f)
    for run in range(RUNS):
        before = a.data
        got, _, seen = wg.gather(loss.train(), wg.assign({}), f.predict()).run(executor)
        assert got == pytest.approx(float(before.sum()) * seen, rel=1e-5)
        _, value = wg.gather(wg.assign({a: np.ones((2, 3), np.float32), f: 1.0}), loss.predict()).run(
            executor
        )
        assert run == 0 or value != 6.0  # as before the run
        assert loss.predict().run(executor) == 6.0


@each
def test_an_assignment_below_a_bind_is_part_of_the_training(executor: wg.run.Sequential) -> None:
    a, d, _f = _weights()

    @wg.differentiable
    async def loss(fails: bool) -> wg.DoubleLayer:
        await wg.assign({a: np.full((2, 3), 7.0, np.float32)})
        if fails:
            raise ValueError("no")
        return d * 2.0

    with pytest.raises(ValueError, match="no"):
        loss(True).train().run(executor)
    assert (a.data == 1.0).all()
    for _ in range(RUNS):
        wg.assign({a: np.ones((2, 3), np.float32), d: 1.0}).run(executor)
        loss(False).train().run(executor)
        assert (a.data == 7.0).all()
        assert d.data == 0.0


@each
def test_applied_deltas_go_through_the_optimizer(executor: wg.run.Sequential) -> None:
    class Settings(Adam, LearningRate): ...

    start, delta = np.linspace(0.0, 1.0, 6), np.linspace(-1.0, 1.0, 6)
    trained, applied = (Settings(learning_rate=0.1).array_weight(start) for _ in range(2))
    loss = wg.sum(trained * delta)
    for _ in range(RUNS):
        loss.train().run(executor)
        wg.apply({applied: delta}).run(executor)
        assert np.array_equal(trained.data, applied.data)
    both = wg.gather(loss.train(), wg.apply({trained: delta, applied: 2.0 * delta}))
    both.run(executor)
    assert np.allclose(trained.data, applied.data, rtol=1e-12)


def test_sparse_deltas_stay_sparse() -> None:
    seen: list[object] = []

    class Looks(Optimizer):
        def step(self, delta: Any, weight: Any) -> Any:
            seen.append(delta)
            return super().step(delta, weight)

    class Looking(Plugin):
        optimizer: ClassVar[type[Optimizer]] = Looks

    class Settings(Looking, SGD): ...

    table = Settings(learning_rate=1.0).array_weight(np.zeros((4, 2)))
    rows = LazyDelta([Rows(np.array([1]), np.ones((1, 2)), (4, 2))])
    wg.apply({table: rows}).run()
    assert isinstance(seen[0], LazyDelta)
    assert table.data.tolist() == [[0, 0], [-1, -1], [0, 0], [0, 0]]


def test_an_assignment_is_no_step() -> None:
    """Neither a norm of the commit nor the state of an optimizer knows of it."""

    class Settings(ClipByGlobalNorm, Adam, LearningRate): ...

    settings = Settings(max_norm=1.0, learning_rate=0.1)
    a, b, c = (settings.double_weight(0.0) for _ in "abc")
    (a * 3.0).train().run()
    wg.gather((c * 3.0).train(), wg.assign({b: 1e9})).run()
    assert a.data == c.data
    assert b.optimizer.kept() == {}


def _refused() -> dict[str, tuple[type[WengertError], str, Any]]:
    a, d, f = _weights()
    other: Any = {"w": 1.0}
    good, f64 = np.zeros((2, 3), np.float32), np.zeros((2, 3))
    return {
        "shape": (ShapeError, r"shape \(3,\) for .*'array'", lambda: wg.assign({a: np.zeros(3, np.float32)})),
        "dtype": (DTypeError, "float64 .*'array'", lambda: wg.assign({a: f64})),
        "number": (DTypeError, "takes an array", lambda: wg.assign({a: 1.0})),
        "array": (DTypeError, "takes a number", lambda: wg.assign({d: good})),
        "key": (ArgumentError, "'w', not a weight", lambda: wg.assign(other)),
        "layer": (ArgumentError, "not a weight", lambda: wg.assign({d * 2.0: 1.0})),  # type: ignore[dict-item]
        "no mapping": (ArgumentError, "dictionary", lambda: wg.assign([a])),  # type: ignore[call-overload]
        "apply: shape": (ShapeError, r"\(3,\)", lambda: wg.apply({a: np.zeros(3, np.float32)})),
        "apply: rows": (
            ShapeError,
            "'array'",
            lambda: wg.apply({a: LazyDelta([Rows(0, np.zeros(2, np.float32), (3, 2))])}),
        ),
        "twice": (
            ArgumentError,
            "set in this run",
            lambda: wg.gather(wg.assign({a: good, d: 5.0}), wg.assign({a: good})).run(),
        ),
        "trained": (
            ArgumentError,
            "set in this run",
            lambda: wg.gather(wg.sum(a * f).train(), wg.assign({a: good, d: 5.0})).run(),
        ),
    }


@pytest.mark.parametrize("name", _refused())
def test_refused(name: str) -> None:
    error, text, make = _refused()[name]
    with pytest.raises(error, match=text) as caught:
        make()
    notes = getattr(caught.value, "__notes__", [])
    assert "test_assignment.py" in f"{caught.value} {notes}"


@each
def test_a_refused_run_changes_nothing(executor: wg.run.Sequential) -> None:
    a, d, f = _weights()
    wanted = wg.assign({a: np.zeros((2, 3), np.float32)})
    with pytest.raises(ArgumentError):
        wg.gather(wg.sum(a * f).train(), wanted, wg.assign({d: 7.0})).run(executor)
    assert (a.data == 1.0).all()
    assert d.data == 1.0
    wanted.run(executor)
    assert not a.data.any()


@pytest.mark.slow
def test_an_array_is_copied_once() -> None:
    w = SGD(learning_rate=0.1).array_weight(np.zeros(12_500_000))
    given = np.ones(12_500_000)  # 100 MB
    tracemalloc.start()
    try:
        wg.assign({w: given}).run()
        assert tracemalloc.get_traced_memory()[1] < 1.01 * given.nbytes
    finally:
        tracemalloc.stop()
    assert (w.data == 1.0).all()


def test_a_reader_sees_the_data_of_its_beginning() -> None:
    a, _, _ = _weights()

    async def inside() -> float:
        first = await wg.sum(a)
        wg.assign({a: np.zeros((2, 3), np.float32)}).start().result()  # a run of its own, on another thread
        return float(first + await wg.sum(a * 1.0))

    assert wg.Do.coroutine(inside).run() == 12.0
    assert not a.data.any()
