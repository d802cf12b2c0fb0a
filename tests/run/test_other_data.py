"""`predict(x, at={w: array})` and `gradients(loss, wrt, at=...)`: a run at other data, which changes nothing."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.test_assignment import RUNS, each
from wengert.errors import ArgumentError, DTypeError, ShapeError
from wengert.nn import Linear
from wengert.plugins import SGD

X = np.random.default_rng(0).normal(size=(5, 3))


def _network(by: float = 1.0) -> tuple[Any, Any, Any]:
    settings = SGD(learning_rate=0.1)
    a = settings.array_weight(by * np.linspace(-1.0, 1.0, 12).reshape(3, 4), name="a")
    b = settings.array_weight(by * np.linspace(0.5, 1.0, 4), name="b")
    return a, b, wg.mean(wg.square(wg.tanh(wg.matmul(X, a) + b)))


@each
def test_it_equals_the_run_with_such_weights(executor: wg.run.Sequential) -> None:
    a, b, loss = _network()
    other_a, other_b, other = _network(0.3)
    at = {a: other_a.data, b: other_b.data}
    for _ in range(RUNS):
        assert loss.predict(at=at).run(executor) == other.predict().run(executor)
        found = wg.gradients(loss, (a, b), at=at).run(executor)
        wanted = wg.gradients(other, (other_a, other_b)).run(executor)
        for x, y in zip(found, wanted, strict=True):
            assert np.array_equal(x, y)
        assert loss.predict().run(executor) == _network()[2].predict().run(executor)
    assert (a.data == _network()[0].data).all()


@each
def test_some_weights_keep_their_data(executor: wg.run.Sequential) -> None:
    a, b, loss = _network()
    for by in np.linspace(0.0, 1.0, RUNS):
        bias = by * b.data
        wanted = np.mean(np.tanh(X @ a.data + bias) ** 2)
        assert loss.predict(at={b: bias}).run(executor) == pytest.approx(wanted, rel=1e-12)


@each
def test_beside_others_in_one_run(executor: wg.run.Sequential) -> None:
    """Each sees what it asked for, all as the run found it."""
    a, b, loss = _network()
    half = loss.predict(at={a: a.data / 2.0, b: b.data})
    for _ in range(RUNS):
        wanted = loss.predict().run(executor), half.run(executor)
        got = wg.gather(loss.train(), half, loss.predict(), half).run(executor)
        assert got[:2] == wanted
        assert got[2:] == wanted


@each
def test_below_a_bind(executor: wg.run.Sequential) -> None:
    settings = SGD(learning_rate=0.1)
    w, v = settings.double_weight(2.0), settings.double_weight(10.0)

    @wg.differentiable
    async def chosen() -> wg.DoubleLayer:
        if await w > 1.0:
            return w * 3.0
        return v * 3.0

    for _ in range(RUNS):
        assert chosen().predict(at={w: 5.0}).run(executor) == 15.0
        assert chosen().predict(at={w: 0.0, v: 1.0}).run(executor) == 3.0
        assert chosen().predict(at={v: 1.0}).run(executor) == 6.0  # only the run tells that it is not read
        assert wg.gradients(chosen(), (w, v), at={w: 0.0}).run(executor) == (0.0, 3.0)


@each
def test_what_is_handed_out_is_nobody_elses(executor: wg.run.Sequential) -> None:
    a, _, _ = _network()
    given = np.ones((3, 4))
    asked = wg.predict(a, at={a: given})
    for _ in range(RUNS):
        found = asked.run(executor)
        assert (found == 1.0).all()
        found[:] = 3.0
    assert (given == 1.0).all()


def test_twenty_heads_that_live_in_one_array() -> None:
    settings = SGD(learning_rate=0.1)
    heads = [Linear.make(settings, 3, 2, seed=i, dtype=np.float64) for i in range(20)]
    loss = wg.sum(wg.stack([wg.sum(wg.square(head(X))) for head in heads]))
    executor, plain = wg.run.Sequential(), wg.run.Sequential(compiled=False)
    at = {heads[3].weight: np.zeros((3, 2))}
    for _ in range(RUNS):
        assert loss.predict(at=at).run(executor) == loss.predict(at=at).run(plain)
        assert loss.predict().run(executor) == loss.predict().run(plain)
    before = [head.weight.data for head in heads]
    loss.predict(at=at).run(executor)
    assert all((head.weight.data == x).all() for head, x in zip(heads, before, strict=True))


@each
def test_a_weight_that_is_not_below_is_refused(executor: wg.run.Sequential) -> None:
    a, b, loss = _network()
    for _ in range(RUNS):
        with pytest.raises(ArgumentError, match=r"'b'.* not below"):
            wg.predict(wg.sum(a), at={b: b.data}).run(executor)
        others = [SGD(learning_rate=0.1).double_weight(1.0, name=f"w{i}") for i in range(20)]
        with pytest.raises(ArgumentError, match=r"'w0'.* not below"):  # the first of several
            wg.predict(wg.sum(a), at={a: a.data, **dict.fromkeys(others, 1.0)}).run(executor)
        with pytest.raises(ArgumentError, match="not below"):
            wg.gradients(wg.sum(a), (a,), at={a: a.data, b: b.data}).run(executor)
        loss.predict(at={a: a.data, b: b.data}).run(executor)


def test_data_are_checked_at_the_call() -> None:
    a, b, loss = _network()
    with pytest.raises(ShapeError, match=r"predict: .*\(4,\).*'a'(.|\n)*test_other_data"):
        loss.predict(at={a: np.zeros(4)})
    with pytest.raises(DTypeError, match=r"gradients: .*float32"):
        wg.gradients(loss, (a,), at={b: np.zeros(4, np.float32)})
    other: Any = {"w": 1.0}
    with pytest.raises(ArgumentError, match="not a weight"):
        wg.predict(loss, at=other)
    with pytest.raises(ArgumentError, match="dictionary"):
        loss.predict(at=[a])


def test_a_question_that_is_asked_again_reads_what_others_have_trained() -> None:
    """Its plan with the data beside it is remembered; all other weights are those of each run."""
    settings = SGD(learning_rate=0.1)
    w, u = settings.double_weight(2.0), settings.double_weight(3.0)
    at_five, plain = (w * u).predict(at={w: 5.0}), (w * u).predict()
    for _ in range(12):
        wg.assign({u: u.data + 1.0}).run()
        assert at_five.run() == 5.0 * u.data
        assert plain.run() == 2.0 * u.data
    assert pickle.loads(pickle.dumps(at_five)).run() == at_five.run()
