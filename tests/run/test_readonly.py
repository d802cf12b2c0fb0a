"""S11: what rules, optimizers and tapes of somebody else are given cannot be written to; what they keep is theirs.

A delta, and a value, may be that of a sibling, too. Each attack writes into what it is given, in each way that numpy
has, on each executor, before and after there is a plan: the run fails with numpy's words, the operation and its line,
no weight has changed, and an honest run after it is right.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Final, cast

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import (
    OPTIMIZERS,
    WithAdagrad,
    WithAdam,
    WithAdamW,
    WithL1,
    WithMomentum,
    WithNesterov,
    WithRMSprop,
)
from tests.run.planned import eager, plain
from wengert import Do, Tape, UnitContinuation
from wengert import fold as td
from wengert.extend import HOST, Optimizer, Product, data_of, dense, kinds, operation
from wengert.graph.operation import OPERATIONS
from wengert.plugins import (
    SGD,
    AdamW,
    ExponentialMovingAverage,
    L1Regularization,
    L2Regularization,
    LearningRate,
    Lookahead,
    Momentum,
    Nesterov,
    Plugin,
    WeightDecay,
)
from wengert.run import Batched, Parallel, Sequential

Value = Any  # arrays and layers of every shape
X: Final = np.array([1.0, 2.0, 3.0], np.float64)
RUNS: Final = 10  # of these `Sequential` makes a plan before the last one


def _in_place(x: Value) -> None:
    x *= 0.0


def _out(x: Value) -> None:
    np.clip(x, 0.0, 0.0, out=x)


def _filled(x: Value) -> None:
    x.fill(7.0)


def _unlocked(x: Value) -> None:
    x.flags.writeable = True
    x[...] = 7.0


def _by_a_view(x: Value) -> None:
    x[..., :1] = 7.0


WAYS: Final = {"in place": _in_place, "out": _out, "fill": _filled, "flag": _unlocked, "view": _by_a_view}
EXECUTORS: Final[dict[str, Callable[[], Any]]] = {  # Any: executors of every class
    "interpreter": plain,
    "plan at once": lambda: eager()[0],
    "plan": Sequential,
    "parallel": lambda: Parallel(threads=2),
    "batched": Batched,
}


class Attacker:
    """Who writes, in which way, and where; nobody while `where` is empty."""

    def __init__(self) -> None:
        self.way: Callable[[Value], None] = _in_place
        self.where = ""

    def at(self, where: str, x: Value) -> None:
        """The moment at which something is in its hands."""
        if where == self.where:
            self.way(x)

    @contextmanager
    def awake(self, where: str, way: Callable[[Value], None]) -> Generator[None]:
        """It attacks within."""
        self.where, self.way = where, way
        try:
            yield
        finally:
            self.where = ""


ATTACKER: Final = Attacker()


@contextmanager
def refused(*places: str) -> Generator[None]:
    """What runs within fails, once or in several branches, by numpy's refusal, which tells where the culprit is."""
    with pytest.raises((ValueError, wg.errors.Failures)) as caught:
        yield
    failure: Exception = caught.value
    each = failure.exceptions if isinstance(failure, wg.errors.Failures) else (failure,)
    for x in each:
        assert isinstance(x, ValueError), x
        assert "read-only" in str(x) or "WRITEABLE" in str(x)
        assert all(any(place in note for note in x.__notes__) for place in places), x.__notes__


def _value(case: Value, x: Value) -> Value:
    ATTACKER.at("operand in value", x)
    return x * 2.0


def _derivative(case: Value, g: Value, y: Value, x: Value) -> Value:
    ATTACKER.at("delta in derivative", g)
    ATTACKER.at("value in derivative", y)
    ATTACKER.at("operand in derivative", x)
    return g * 2.0


@operation(kinds.elementwise, _value, _derivative)
def doubled(x: Any, /) -> Any:
    """2 x, by somebody who may write to what he is given."""
    raise NotImplementedError


class Writing(Optimizer):
    """A part that may write to what it is given."""

    def admit(self, loss: Value, delta: Value, weight: Any) -> None:
        ATTACKER.at("loss in admit", loss)
        ATTACKER.at("delta in admit", dense(delta))
        super().admit(loss, delta, weight)

    def together(self, updates: Any) -> None:
        for update in updates:
            ATTACKER.at("delta in together", dense(update.delta))
        super().together(updates)

    def step(self, delta: Value, weight: Any) -> Value:
        ATTACKER.at("delta in step", delta)
        ATTACKER.at("data in step", data_of(weight))
        return super().step(delta, weight)


class WritingPlugin(Plugin):
    optimizer: ClassVar[type[Optimizer]] = Writing


class Careless(WritingPlugin, LearningRate): ...


@wg.cell
def within(x: wg.ArrayLayer) -> Any:
    return doubled(x)


@wg.differentiable
async def dynamic(x: wg.ArrayLayer) -> wg.ArrayLayer:
    seen = await x
    ATTACKER.at("what await gives", seen)
    return cast(wg.ArrayLayer, doubled(x))


def taped(x: Any) -> Any:
    """2 x by a tape that a user has made."""

    def wrapped(tape: Any) -> Any:
        ATTACKER.at("data of tape", tape.data)

        def backward(delta: Any) -> Any:
            def seen(d: Value) -> Value:
                ATTACKER.at("delta of tape", d)
                return d * 1.0

            return tape.backward(delta.map(seen))

        return Tape(tape.data, backward)

    return wg.ArrayLayer(doubled(x).forward.map(wrapped))


NETWORKS: Final[dict[str, Callable[[Any], Any]]] = {  # Any: layers
    "operation": doubled,
    "cell": within,
    "bind": dynamic,
    "tape": taped,
}
INSIDE: Final = ("operand in value", "delta in derivative", "value in derivative", "operand in derivative")
COMMIT: Final = ("delta in admit", "delta in together", "delta in step", "data in step", "loss in admit")
ATTACKS: Final = [
    *((where, name) for where in INSIDE for name in NETWORKS),
    *((where, name) for where in COMMIT for name in ("operation", "bind")),
    ("what await gives", "bind"),
    ("data of tape", "tape"),
    ("delta of tape", "tape"),
]


class Scene:
    """`sum((f(h) + h + b) * X)` with `h = a * 1`, where f doubles: the steps are 3 X for a and X for b."""

    def __init__(self, name: str) -> None:
        settings = Careless(learning_rate=1.0)
        self.a, self.b = (settings.array_weight(np.ones(3), name=n) for n in "ab")
        self.f = NETWORKS[name]

    def loss(self) -> Any:
        h = self.a * 1.0
        return wg.sum((self.f(h) + h + self.b) * X)

    def honest(self, executor: Any) -> None:
        """A run with nobody awake is right, bit for bit."""
        a, b = self.a.data.copy(), self.b.data.copy()
        assert self.loss().train().run(executor) == np.sum((a * 2.0 + a + b) * X)
        assert self.a.data.tolist() == (a - (X * 2.0 + X)).tolist()
        assert self.b.data.tolist() == (b - X).tolist()


@pytest.mark.parametrize(("where", "name"), ATTACKS)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_who_writes_gets_an_error_and_nothing_changes(where: str, name: str, executor: str) -> None:
    scene, runs = Scene(name), EXECUTORS[executor]()
    for way in [*WAYS.values(), *[_in_place] * (RUNS - len(WAYS))]:
        before = [scene.a.data.tolist(), scene.b.data.tolist()]
        with ATTACKER.awake(where, way), refused("test_readonly.py"):
            scene.loss().train().run(runs)
        assert [scene.a.data.tolist(), scene.b.data.tolist()] == before
        scene.honest(runs)


@pytest.mark.parametrize("where", INSIDE)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_in_a_block(where: str, executor: str) -> None:
    a, runs = SGD(learning_rate=1.0).array_weight(np.ones(3)), EXECUTORS[executor]()

    def network(x: Any) -> Any:
        return doubled(x * a)

    double: Any = td.Function(network)  # Any: blocks of every type
    block = td.Map(td.Vector(3, "float64") >> double) >> td.Reduce(td.Function(lambda x, y: x + y))
    for i in range(4):
        before = a.data.tolist()
        with ATTACKER.awake(where, _in_place), refused("test_readonly.py"):
            wg.sum(block.build([X, X, X])).train().run(runs)
        assert a.data.tolist() == before
        wg.sum(block.build([X, X, X])).train().run(runs)
        assert a.data.tolist() == (1.0 - 6.0 * X * (i + 1)).tolist()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_question_that_trains_nothing(executor: str) -> None:
    scene, runs = Scene("operation"), EXECUTORS[executor]()
    for _ in range(RUNS):
        with ATTACKER.awake("operand in value", _in_place), refused("test_readonly.py"):
            scene.loss().predict().run(runs)
        with ATTACKER.awake("delta in derivative", _out), refused("test_readonly.py"):
            wg.gradients(scene.loss(), (scene.a, scene.b)).run(runs)
        da, db = wg.gradients(scene.loss(), (scene.a, scene.b)).run(runs)
        assert np.asarray(da).tolist() == (3.0 * X).tolist()
        assert np.asarray(db).tolist() == X.tolist()
        layers = wg.gradients(scene.loss(), (scene.a, scene.b)).layers
        assert [x.tolist() for x in wg.predict(layers).run(runs)] == [(3.0 * X).tolist(), X.tolist()]
        assert float(scene.loss().predict().run(runs)) == 24.0


class _Raw(Optimizer):
    """Steps by what `how` makes of a delta."""

    how: ClassVar[Callable[[Value], Value]]

    def step(self, delta: Value, weight: Any) -> Value:
        return type(self).how(delta)


def settings_of(how: Callable[[Value], Value]) -> Any:  # Any: a settings object of a class made here
    """Settings whose only part steps so."""
    part = type("Part", (_Raw,), {"how": staticmethod(how)})
    return type("Made", (Plugin,), {"optimizer": part, "__annotations__": {}})()


def _terms_of(delta: Value) -> Iterator[Value]:
    for term in delta.terms:
        yield from (term.left, term.right) if isinstance(term, Product) else (term.values, term.key)
    if delta.rest is not None:
        yield delta.rest


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("way", [_in_place, _filled, _unlocked])
def test_the_terms_of_a_lazy_delta(executor: str, way: Callable[[Value], None]) -> None:
    met: list[Value] = []

    def writing(delta: Value) -> Value:
        for x in _terms_of(delta):
            met.append(x)
            with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
                way(x)
        return delta

    strange, runs = settings_of(writing), EXECUTORS[executor]()
    w, table = strange.array_weight(np.ones((3, 2))), strange.array_weight(np.ones((40, 2)))
    v = SGD(learning_rate=1.0).array_weight(np.ones((2, 3)))
    at = np.array([1, 1, 5])
    for i in range(RUNS):
        h: Any = v * 1.0
        wg.sum(wg.matmul(h, w) + h[:, :2] + wg.sum(wg.take(table, at, axis=0))).train().run(runs)
        assert table.data[[0, 1, 5]].tolist() == [
            [1.0] * 2,
            [1.0 - 8.0 * (i + 1)] * 2,
            [1.0 - 4.0 * (i + 1)] * 2,
        ]
    assert len(met) >= 4 * RUNS


@pytest.mark.parametrize("executor", EXECUTORS)
def test_rules_that_reuse_their_own_array(executor: str) -> None:
    """What a rule has given is a value of ours: it may keep the array, and write to it at its next call."""
    for keep in (lambda x: x, lambda x: x[:], lambda x: np.asarray(x.data), lambda x: x.reshape(3)):
        _reused(keep, EXECUTORS[executor]())


class Buffers(threading.local):
    """A thread's own arrays: two threads may be in one rule at a time."""

    def __init__(self) -> None:
        self.there, self.back = np.zeros(3), np.zeros(3)


def _reused(keep: Callable[[Value], Value], runs: Any) -> None:
    own = Buffers()

    @operation(
        kinds.elementwise,
        lambda case, x: keep(np.multiply(x, 2.0, out=own.there)),
        lambda case, g, y, x: keep(np.multiply(g, 2.0 * x, out=own.back)),
    )
    def reusing(x: Any, /) -> Any:
        raise NotImplementedError

    settings = SGD(learning_rate=0.0)
    a, b = settings.array_weight(X), settings.array_weight(X * 10.0)
    for _ in range(RUNS):
        loss = wg.sum(reusing(a) * reusing(b))
        assert float(loss.predict().run(runs)) == 40.0 * float(X @ X)
        shown = reusing(a).predict().run(runs)
        da, db = map(np.asarray, wg.gradients(loss, (a, b)).run(runs))
        wanted = (40.0 * X * X).tolist(), (40.0 * X * X).tolist()
        assert (da.tolist(), db.tolist()) == wanted
        own.there[...], own.back[...] = -1.0, -1.0
        assert (da.tolist(), db.tolist(), shown.tolist()) == (*wanted, (2.0 * X).tolist())
        shown[...] = 5.0
        assert own.there.tolist() == [-1.0] * 3


@pytest.mark.parametrize("executor", EXECUTORS)
def test_rules_that_give_what_they_are_given(executor: str) -> None:
    """The same array is a value, two deltas and a step; nobody writes to it but the caller, who has his own."""

    @operation(kinds.elementwise, lambda case, x: x, lambda case, g, y, x: g)
    def same(x: Any, /) -> Any:
        raise NotImplementedError

    @operation(
        kinds.broadcasting, lambda case, x, y: x[...], lambda case, g, z, x, y: g, lambda case, g, z, x, y: x
    )
    def first(x: Any, y: Any, /) -> Any:
        raise NotImplementedError

    @wg.differentiable
    async def looking(x: wg.ArrayLayer) -> wg.ArrayLayer:
        seen.append(await x)
        return x

    runs, raw = EXECUTORS[executor](), settings_of(lambda delta: delta)
    a, b = raw.array_weight(X), raw.array_weight(X * 0.0)
    seen: list[Any] = []
    for i in range(RUNS):
        was = a.data.copy()
        loss = wg.sum(looking(first(same(a), b)))
        given = same(a).predict().run(runs)
        given[...] = 99.0
        da, db = map(np.asarray, wg.gradients(loss, (a, b)).run(runs))
        da[...] = 98.0
        assert db.tolist() == was.tolist()
        loss.train().run(runs)
        assert a.data.tolist() == (was - 1.0).tolist()
        assert [x.tolist() for x in seen] == [(X - n).tolist() for n in range(i + 1) for _ in range(2)]
    assert b.data.tolist() == (RUNS * (RUNS - 1) / 2 - RUNS * X).tolist()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_optimizer_that_reuses_its_own_array(executor: str) -> None:
    own = np.zeros(3)
    strange = settings_of(lambda delta: np.multiply(dense(delta), 2.0, out=own))
    runs, (a, b) = EXECUTORS[executor](), [strange.array_weight(np.zeros(3)) for _ in "ab"]
    for i in range(1, RUNS):
        wg.sum(a * X + b).train().run(runs)
        assert a.data.tolist() == (-2.0 * i * X).tolist()
        assert b.data.tolist() == [-2.0 * i] * 3


@pytest.mark.parametrize("executor", EXECUTORS)
def test_deltas_that_an_optimizer_keeps_stay_as_they_were(executor: str) -> None:
    kept: list[tuple[Any, Any]] = []

    def keeping(delta: Value) -> Value:
        d = dense(delta)
        kept.append((d, d.copy()))
        return 1e-3 * d

    strange, runs = settings_of(keeping), EXECUTORS[executor]()
    a, w = strange.array_weight(X), strange.array_weight(np.ones((3, 3)))
    for i in range(RUNS):
        wg.sum(wg.square(wg.matmul(wg.reshape(a * float(i), (1, 3)), w)) + a).train().run(runs)
    assert len(kept) == 2 * RUNS
    assert all(x.tolist() == y.tolist() for x, y in kept)


def test_other_rules_and_functions_of_an_executor() -> None:
    def wrong(case: Value, x: Value) -> Value:
        x *= 2.0
        return x

    class Wrong:
        def __getattr__(self, name: str) -> Any:
            def function(*arguments: Any, **options: Any) -> Any:
                if name == "tanh":
                    arguments[0][...] = 0.0
                return getattr(HOST, name)(*arguments, **options)

            return function

    a = SGD(learning_rate=1.0).array_weight(X)
    for executor in (Sequential(rules={wg.tanh: wrong}), Sequential(arrays=cast(Any, Wrong()))):
        h = a * 1.0
        with refused("in tanh", "test_readonly.py"):
            wg.sum(wg.tanh(h) + h).train().run(executor)
        assert a.data.tolist() == X.tolist()


class Own:
    """A user's type, whose tape writes into the delta that it gets."""


Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@wg.register(Own)
def own(x: Own) -> Do[Tape[Numbers, Numbers]]:
    def backward(delta: Do[Numbers]) -> UnitContinuation[None]:
        return UnitContinuation.delay(lambda: _in_place(delta.run()))

    return Do.now(Tape(X, backward))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_registered_type(executor: str) -> None:
    target, runs = SGD(learning_rate=1.0).array_weight(np.ones(3)), EXECUTORS[executor]()
    for _ in range(RUNS):
        with refused("test_readonly.py"):
            wg.sum((own(Own()) + target) * X).train().run(runs)
        assert target.data.tolist() == [1.0] * 3


class TestPromises:
    """Who has promised to write into nothing gets arrays as they are: rules and parts of this library have."""

    def test_all_operations_have(self) -> None:
        ours = [x for x in OPERATIONS.values() if not x.module and x.rules is not None]
        assert {x.name for x in ours if x.rules and not x.rules.pure} == {"forward", "parameter"}

    def test_a_rule_of_a_user_has_not(self) -> None:
        assert doubled.operation.rules is not None
        assert not doubled.operation.rules.pure
        promised: list[bool] = []

        def honest(case: Value, x: Value) -> Value:
            promised.append(x.flags.writeable)
            return x * 2.0

        for pure in (False, True):
            strange = wg.extend.Operation("f", wg.extend.Rules(kinds.elementwise, honest, pure=pure), "here")
            wg.extend.apply(strange, (wg.lift(X) * 1.0,)).predict().run(plain())
        assert promised == [False, True]

    @pytest.mark.parametrize(
        "settings", [WithMomentum, WithNesterov, WithAdagrad, WithRMSprop, WithAdam, WithAdamW, WithL1]
    )
    def test_optimizers_have(self, settings: Any) -> None:
        members = (
            {"l1": 0.1} if settings is WithL1 else {"weight_decay": 0.1} if settings is WithAdamW else {}
        )
        assert settings(learning_rate=1.0, **members).array_weight(X).optimizer.pure

    def test_a_part_of_a_user_has_not_and_neither_have_its_heirs(self) -> None:
        class Silent(Writing): ...

        class Promising(Writing, pure=True):
            def step(self, delta: Value, weight: Any) -> Value:
                return super().step(delta, weight)

        class Alone(Optimizer, pure=True):
            def step(self, delta: Value, weight: Any) -> Value:
                return delta

        class Heir(Alone):
            def step(self, delta: Value, weight: Any) -> Value:
                return delta

        class Foreign:
            def step(self, delta: Value, weight: Any) -> Value:
                return delta

        class Mixed(Foreign, Optimizer): ...

        assert [c.pure for c in (Optimizer, Alone)] == [True, True]
        assert [c.pure for c in (Writing, Silent, Promising, Heir, Mixed)] == [False] * 5


@pytest.mark.parametrize(
    "parts",
    [
        Momentum,
        Nesterov,
        *OPTIMIZERS,
        Lookahead,
        ExponentialMovingAverage,
        L1Regularization,
        L2Regularization,
        WeightDecay,
    ],
)
def test_optimizers_keep_their_promise(parts: Any) -> None:
    """Beside a part that has promised nothing they are given arrays that cannot be written to, and step as ever."""
    members = {
        L1Regularization: "l1",
        L2Regularization: "l2",
        AdamW: "weight_decay",
        WeightDecay: "weight_decay",
    }
    given: dict[str, float] = {members[parts]: 0.1} if parts in members else {}
    trusted = type("Trusted", (parts, LearningRate), {})
    distrusted = type("Distrusted", (WritingPlugin, parts, LearningRate), {})
    data: list[list[float]] = []
    for settings in (trusted, distrusted):
        made = settings(learning_rate=0.1, **given)
        w, table = made.array_weight(np.ones((3, 3))), made.array_weight(np.ones((40, 3)))
        assert w.optimizer.pure is (settings is trusted)
        for i in range(3):
            h = wg.matmul(wg.take(table, np.array([1, 1, 5]), axis=0) * float(i), w)
            wg.sum(h * h).train().run(plain())
        data.append([*w.data.ravel().tolist(), *table.data.ravel().tolist()])
    assert data[0] == data[1]


def test_the_ways_of_writing_do_write() -> None:
    for way in WAYS.values():
        x = np.ones(3)
        if way is _unlocked:
            x.flags.writeable = False
        way(x)
        assert x.tolist() != [1.0] * 3
