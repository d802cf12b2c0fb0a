"""S11 with plans: whoever shares memory with whom, values stay values, and buffers stay with their plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from tests.run.attacked import OPTIMIZERS, alike, none_interrupted
from tests.run.counting import Counted
from tests.run.planned import eager, plain, same, trained
from tests.run.test_plans import NETWORKS
from tests.run.test_plans_optimizers import PLANNED
from wengert.arrays import namespace_of
from wengert.extend import LazyDelta, Optimizer, Rows, dense, kinds, operation
from wengert.plugins import SGD, LearningRate, Plugin
from wengert.run.compiled.plan import Plan

# Any in all: networks are weights and a loss of every column


def test_literals_that_are_views_of_one_array() -> None:
    whole = np.arange(24.0).reshape(4, 6) / 7
    views = [
        whole[:3, :3],
        whole[1:, 3:],
        whole.T[:3, :3],
        whole[2::-1, :3],
        np.broadcast_to(whole[0, :3], (3, 3)),
    ]

    def network() -> Any:
        w = SGD(learning_rate=0.01).array_weight(whole[:3, :3])

        def loss(i: int) -> Any:
            a, b = views[i % 5], views[(i + 2) % 5]
            return wg.sum(wg.tanh(w * a + b) * a + w @ b)

        return (w,), loss

    alike(network, steps=12, worth=1)


def test_labels_that_were_the_same_for_two_losses_and_are_not_later() -> None:
    """Losses with the same labels have one copy of them, whatever becomes of the array that was given."""
    given = np.arange(3) % 2
    first, second = (wg.cross_entropy(np.zeros((3, 2), np.float32), given) for _ in range(2))
    given[:] = 1
    third = wg.cross_entropy(np.zeros((3, 2), np.float32), given)
    assert first.operands[1] is second.operands[1]
    assert [x.operands[1].tolist() for x in (second, third)] == [[0, 1, 0], [1, 1, 1]]

    def network() -> Any:
        w = SGD(learning_rate=0.1).array_weight(np.arange(8.0).reshape(4, 2) / 7)
        x = np.arange(12.0).reshape(3, 4) / 5

        def loss(i: int) -> Any:
            a, b = (np.arange(3) % 2, np.full(3, int(i > 5)))
            return wg.cross_entropy(x @ w, b if i > 5 else a) + wg.cross_entropy(wg.tanh(x @ w), a)

        return (w,), loss

    alike(network, steps=12, worth=1)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_literals_that_are_the_data_of_weights(optimizer: str) -> None:
    def network() -> Any:
        settings = OPTIMIZERS[optimizer]()
        w, v = (settings.array_weight(np.full((2, 3), x)) for x in (0.5, -0.25))
        return (w, v), lambda i: wg.sum(w * w.data + v * w.data[::-1] * v.data)

    alike(network, steps=6)


def test_two_weights_of_one_array() -> None:
    data = np.linspace(-1, 1, 6).reshape(2, 3)

    def network() -> Any:
        settings = SGD(learning_rate=1.0)
        a, b = settings.array_weight(data), settings.array_weight(data)
        return (a, b), lambda i: wg.sum(a * b * 0.5) + wg.sum(wg.square(a))

    alike(network, worth=1)
    assert data.tolist() == np.linspace(-1, 1, 6).reshape(2, 3).tolist()


OUTPUTS: dict[str, Callable[[Any, Any], Any]] = {
    "the literal": lambda w, x: wg.stop_gradient(wg.literal(x)),
    "a view of the literal": lambda w, x: wg.permute_dims(wg.literal(x), (1, 0)),
    "the weight": lambda w, x: wg.stop_gradient(w),
    "a view of the weight": lambda w, x: w[::-1],
    "a reshaped weight": lambda w, x: wg.reshape(w, (3, 2)),
    "the same shape": lambda w, x: wg.reshape(w, (2, 3)),
    "a computed one": lambda w, x: w + x,
    "a view of a computed one": lambda w, x: wg.tanh(w + x)[:, 1],
    "an operand of it": lambda w, x: wg.stop_gradient(wg.exp(wg.tanh(w + x))),
    "a constant": lambda w, x: wg.sum(wg.literal(x[:, :0]) + wg.sum(w), axis=1),
    "a mask": lambda w, x: wg.greater(w, x),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_results_belong_to_the_user(name: str) -> None:
    """What was given out does not change with later runs, and can be written to without changing those."""
    executor, plans = eager()
    w = SGD(learning_rate=1.0).array_weight(np.arange(6.0).reshape(2, 3) / 4)
    found, wanted = [], []
    for i in range(6):
        expression = OUTPUTS[name](w, np.full((2, 3), 0.25 * i))
        wanted.append(np.array(expression.predict().run(plain())))
        kept, spoiled = expression.predict().run(executor), expression.predict().run(executor)
        spoiled[...] = 100.0
        found.append(kept)
        wg.sum(w * 0.125).train().run(executor)
    same(list(map(np.array, found)), wanted)
    assert plans.made == 2


def test_gradients_belong_to_the_user() -> None:
    executor, plans = eager()
    settings = SGD(learning_rate=0.0)
    w, v = (settings.array_weight(np.ones((2, 3))) for _ in range(2))
    h = w + v
    loss = wg.sum(h)
    for _ in range(4):
        deltas: tuple[Any, ...] = wg.gradients(loss, (w, v, h, w)).run(executor)
        for delta in deltas:
            assert (delta == 1.0).all()
            delta[...] = 7.0
    assert plans.made == 1


def test_views_of_a_weights_data_never_change() -> None:
    executor, _ = eager()
    w = SGD(learning_rate=1.0).array_weight(np.zeros(4))
    views = []
    for i in range(8):
        views += [w.data, w.data[::2]]
        wg.sum(w * -1.0).train().run(executor)
        assert all((view == at // 2).all() for at, view in enumerate(views)), i


def test_what_an_operation_of_somebody_else_keeps_never_changes() -> None:
    executor, plans = eager()
    counted = Counted()
    w = SGD(learning_rate=0.0).array_weight(np.ones(3))
    for i in range(1, 6):
        x = float(i)
        wg.sum(wg.tanh(counted.apply(w * x)) * x).train().run(executor)
    assert [x[0] for x in counted.forward] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert [x[0] for x in counted.backward] == pytest.approx([i / np.cosh(i) ** 2 for i in range(1, 6)])
    assert plans.made == 1


def spoiling(case: Any, g: Any, y: Any, x: Any) -> Any:
    with pytest.raises(ValueError, match="read-only"):
        g *= 2.0
    return g


@operation(kinds.elementwise, lambda case, x: x * 1.0, spoiling)
def spoiled(x: Any, /) -> Any:
    raise NotImplementedError


class Keeping(Optimizer):
    total: Any = None

    def step(self, delta: Any, weight: Any) -> Any:
        d = dense(delta)
        if isinstance(delta, LazyDelta):
            d *= 2.0  # an array of its own
        else:
            with pytest.raises(ValueError, match="read-only"):
                d *= 2.0
            d = d * 2.0
        if self.total is None:
            self.total = d
        else:
            self.total += d
        return super().step(d, weight)


class Own(Plugin):
    """Somebody else's optimizer, which tries to write to what it is given, and keeps what it makes of that."""

    optimizer: ClassVar[type[Optimizer]] = Keeping


class WithOwn(Own, LearningRate): ...


@pytest.mark.parametrize("network", ["sum", "rows", "operation"])
def test_constants_of_a_plan_are_given_to_nobody(network: str) -> None:
    losses: dict[str, Callable[[Any], Any]] = {
        "sum": wg.sum,
        "rows": lambda w: wg.sum(w[0]) + wg.sum(w),
        "operation": lambda w: wg.sum(spoiled(w)),
    }

    def made() -> Any:
        w = WithOwn(learning_rate=0.5).array_weight(np.zeros((2, 3)))
        return (w,), lambda i: losses[network](w)

    alike(made, steps=6, worth=1)


@operation(
    kinds.elementwise,
    lambda case, x: x * 2.0,
    lambda case, g, y, x: g * 2.0,
    at_weight={0: lambda case, g, y, x: LazyDelta([Rows(slice(None), g * 2.0, case.shape(0))])},
)
def doubled(x: Any, /) -> Any:
    raise NotImplementedError


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_lazy_deltas_of_somebody_elses_rules(optimizer: str) -> None:
    def network() -> Any:
        w = OPTIMIZERS[optimizer]().array_weight(np.ones((2, 3)))

        def loss(i: int) -> Any:
            x = np.full((2, 2), 0.5 + i)
            return (
                wg.sum(doubled(w))
                + wg.sum(wg.square(w) * 0.25)
                + wg.sum(doubled(w)[0] * w[1])
                + wg.sum(x @ w)
            )

        return (w,), loss

    alike(network, steps=6)


class KeepingCopies(Optimizer["Copies"], pure=True):
    """Somebody else's optimizer, which keeps copies of what it is given, and its promise with them."""

    last: Any = 0.0
    older: Any = 0.0

    def step(self, delta: Any, weight: Any) -> Any:
        d = dense(delta)
        self.last, self.older = self.settings.keeps(self, d, weight.data)
        return super().step(d, weight)


class Copies(Plugin):
    keeps: Callable[..., Any]
    optimizer: ClassVar[type[Optimizer]] = KeepingCopies


class WithCopies(Copies, LearningRate): ...


def copies_in(plan: Plan) -> bool:
    return any(x is np.positive for x in plan.program.run.__globals__.values())


KEPT: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {  # what is kept, and the loss
    "the data": (lambda o, d, x: (x * 1.0, 0.0), lambda w, v, c: wg.sum(w * 1.5)),
    "a view of a copy": (lambda o, d, x: ((x * 1.0)[::-1], 0.0), lambda w, v, c: wg.sum(w * 1.5)),
    "a literal": (lambda o, d, x: (d * 1.0, 0.0), lambda w, v, c: w @ c),
    "data of another": (lambda o, d, x: (d * 1.0, 0.0), lambda w, v, c: w @ v),
    "a constant": (lambda o, d, x: (d * 1.0, d * 2.0), lambda w, v, c: wg.sum(w)),
    "a state": (lambda o, d, x: (x * 2.0, o.last * 1.0), lambda w, v, c: wg.sum(w * 1.5)),
    "equal states": (lambda o, d, x: (x * 2.0, x * 2.0), lambda w, v, c: wg.sum(w * 1.5)),
    "what is new": (lambda o, d, x: (x * 2.0, o.older + d), lambda w, v, c: wg.sum(wg.square(w))),
    "a mask": (
        lambda o, d, x: (namespace_of(x).greater(x, 0.25), o.last * True),
        lambda w, v, c: wg.sum(w * 1.5),
    ),
}


def states_kept(executor: Any, name: str, steps: int = 12) -> list[Any]:
    """The states after each step, which share no memory and do not change later, and the data in the end."""
    keeps, loss = KEPT[name]
    settings = WithCopies(learning_rate=0.125, keeps=keeps)
    weights: list[Any] = [settings.array_weight(np.arange(3.0) / k) for k in (4, 7)]
    w, v = weights
    c = wg.literal(np.arange(3.0) - 1.0)
    held: list[Any] = []
    then: list[Any] = []
    for _ in range(steps):
        loss(w, v, c).train().run(executor)
        states = [x for of in (w, v) for x in (of.optimizer.last, of.optimizer.older) if np.ndim(x)]
        arrays = [w.ref.data, v.ref.data, *held, *states]
        assert not any(np.shares_memory(a, b) for at, a in enumerate(arrays) for b in arrays[:at])
        held += states
        then += [np.array(x) for x in states]
    same(held, then)
    return [*then, w.data, v.data]


@pytest.mark.parametrize("name", KEPT)
def test_a_copy_that_a_step_keeps_is_an_array_of_its_own(name: str) -> None:
    """A product with 1 is its operand in a plan: the data of a weight were its optimizer's state."""
    executor, plans = eager(worth=4)
    with none_interrupted():
        found = states_kept(executor, name)
    same(found, states_kept(plain(), name))
    (plan,) = plans._plans.items()
    assert plan.updating and plan.worked
    assert copies_in(plan) is (name not in ("a mask", "a constant", "what is new"))


@pytest.mark.parametrize("optimizer", PLANNED)
def test_states_that_are_new_are_not_copied(optimizer: str) -> None:
    executor, plans = eager(worth=2)
    trained(lambda: NETWORKS["classifier"](PLANNED[optimizer]()), executor, 6)
    (plan,) = plans._plans.items()
    assert plan.updating and not copies_in(plan)


def test_a_state_is_no_array_that_a_run_gives_the_user() -> None:
    executor, plans = eager(worth=2)
    settings = WithCopies(learning_rate=0.125, keeps=lambda o, d, x: (d * 1.0, 0.0))
    w: Any = settings.array_weight(np.ones(3))
    v = SGD(learning_rate=0.125).array_weight(np.ones(3))
    for _ in range(6):
        y = wg.exp(v)
        _, given = (w @ y).train(also=y).run(executor)
        kept = given.copy()
        given[:] = -1.0
        same([w.optimizer.last], [kept])
    assert plans.made == 1 and all(plan.updating and plan.worked for plan in plans._plans.items())
