"""`train(loss, also=...)`: second results of a step, of the same pass and from before the update."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.run.test_assignment import RUNS, each
from wengert.errors import NonFiniteError, NotDifferentiableError, ShapeError
from wengert.extend import elementwise
from wengert.plugins import SGD, Adam, FailOnNonFinite, LearningRate

X = np.random.default_rng(0).normal(size=(5, 3))


class Settings(Adam, LearningRate): ...


def _network(settings: Any) -> tuple[Any, Any, Any]:
    w = settings.array_weight(np.linspace(-1.0, 1.0, 12).reshape(3, 4), name="w")
    h = wg.tanh(wg.matmul(X, w))
    return w, h, wg.mean(wg.square(h))


class Named(NamedTuple):
    hidden: Any
    inner: Any


@dataclass(frozen=True)
class Fields:
    hidden: Any
    number: Any = 1.0


@each
@pytest.mark.parametrize("make", [SGD, Settings], ids=["SGD", "Adam"])
def test_the_values_are_those_before_the_update(executor: wg.run.Sequential, make: Any) -> None:
    """Bit for bit as without, on every executor, however often it has run."""
    (w, h, loss), (plain, _, plain_loss) = (_network(make(learning_rate=0.1)) for _ in range(2))
    side = wg.sum(wg.exp(h))  # above no loss
    for _ in range(RUNS):
        before = w.data
        wanted = wg.predict((h, side)).run(executor)
        value, (hidden, (other, weight), again) = wg.train(loss, also=(h, (side, w), h)).run(executor)
        assert value == plain_loss.train().run(executor)
        assert np.array_equal(hidden, wanted[0])
        assert np.array_equal(hidden, again)
        assert other == wanted[1]
        assert np.array_equal(weight, before)
        for x in (hidden, weight, again):  # each is its asker's own
            x[:] = np.nan
        assert np.array_equal(w.data, plain.data)


@each
def test_the_structure_comes_back(executor: wg.run.Sequential) -> None:
    _, h, loss = _network(SGD(learning_rate=0.1))
    for _ in range(RUNS):
        _, named = loss.train(also=Named(h, Named(loss, wg.greater(h, 0.0)))).run(executor)
        assert type(named) is Named
        assert type(named.inner) is Named
        assert named.inner.inner.dtype == bool
        fields: Any = wg.train(loss, also=Fields(h)).run(executor)[1]
        assert type(fields) is Fields
        assert fields.number == 1.0
        assert not np.array_equal(fields.hidden, loss.train(also=h).run(executor)[1])  # a step later
        assert loss.train(also=()).run(executor)[1] == ()


def test_each_node_is_computed_once() -> None:
    counted: Counter[str] = Counter()

    @elementwise(lambda case, g, y, x: g)
    def seen(case: Any, x: Any) -> Any:
        counted["forward"] += 1
        return x

    w = SGD(learning_rate=0.1).array_weight(np.ones(3))
    for executor in (wg.run.Sequential(), wg.run.Parallel(2), wg.run.Batched()):
        for _ in range(RUNS):
            counted.clear()
            h: Any = seen(w * 2.0)
            wg.sum(h).train(also=(h, wg.exp(h))).run(executor)
            assert counted["forward"] == 1


@each
def test_a_refused_step_changes_nothing(executor: wg.run.Sequential) -> None:
    class Checked(FailOnNonFinite, SGD): ...

    w = Checked(learning_rate=0.1).double_weight(-1.0, name="w")
    for _ in range(RUNS):
        with pytest.raises(NonFiniteError):
            wg.log(w).train(also=w * 2.0).run(executor)
        assert w.data == -1.0
        (w * 1.0).train(also=w * 2.0).run(executor)
        wg.assign({w: -1.0}).run(executor)


@each
def test_what_follows_comes_before_the_commit(executor: wg.run.Sequential) -> None:
    w, h, loss = _network(SGD(learning_rate=0.1))
    before = w.data

    def fails(found: tuple[Any, Any]) -> float:
        raise ValueError(f"{found[1].shape}")

    for _ in range(RUNS):
        with pytest.raises(ValueError, match=r"\(5, 4\)"):
            loss.train(also=h).map(fails).run(executor)
        assert np.array_equal(w.data, before)


@each
def test_below_a_bind_and_beside_others(executor: wg.run.Sequential) -> None:
    _, h, loss = _network(SGD(learning_rate=0.1))

    @wg.differentiable
    async def positive() -> wg.DoubleLayer:
        return wg.lift(1.0) if float(await loss) > 0.0 else wg.lift(0.0)

    for _ in range(RUNS):
        value, (hidden, sign) = loss.train(also=(h, positive())).run(executor)
        assert sign == 1.0
        assert value == np.mean(hidden**2)
        (value, hidden), beside = wg.gather(loss.train(also=h), h.predict()).run(executor)
        assert np.array_equal(hidden, beside)


def test_refused() -> None:
    _, h, loss = _network(SGD(learning_rate=0.1))
    wrong: Any = loss.forward.map(lambda tape: tape)
    with pytest.raises(NotDifferentiableError, match=r"train: also: (.|\n)*test_also"):
        loss.train(also=(h, wrong))
    with pytest.raises(NotDifferentiableError, match="train: also"):
        loss.train(also=wg.Tape(1.0, wrong))
    with pytest.raises(ShapeError, match="a loss is a scalar"):
        h.train(also=loss)


def test_what_is_no_structure_of_expressions_is_said_so() -> None:
    w = SGD(learning_rate=0.1).double_weight(2.0)
    loss: Any = w * w
    with pytest.raises(
        NotDifferentiableError, match="also: expressions are asked for by a tuple, a NamedTuple or"
    ):
        loss.train(also=[w])
    with pytest.raises(
        NotDifferentiableError, match="also: expressions are asked for by a tuple, a NamedTuple or"
    ):
        loss.train(also=(w, {"a": w}))
    with pytest.raises(
        NotDifferentiableError, match="also: a Tape is of the run that made it; give the layer"
    ):
        loss.train(also=w.forward.run())
    with pytest.raises(
        NotDifferentiableError, match="also: a Do gives data when it is run; give the layer that"
    ):
        loss.train(also=w.predict())
    assert w.data == 2.0
