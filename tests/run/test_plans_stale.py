"""No plan is used where it would be wrong: other weights, settings, literals, sharing, plugins, rules, types."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.attacked import alike, none_interrupted
from tests.run.counting import registry_kept, unregistered
from tests.run.planned import eager, plain, same, trained, untimed
from wengert.extend import Elementwise
from wengert.plugins import SGD
from wengert.run import Sequential

# Any in all: networks are weights and a loss of every column


def partitions(places: int) -> Iterator[list[int]]:
    """Every way in which so many places can be shared: [0, 0, 1] says that the first two are one."""
    for found in itertools.product(range(places), repeat=places):
        if all(x <= max(found[:i], default=-1) + 1 for i, x in enumerate(found)):
            yield list(found)


@pytest.mark.parametrize("depth", ["weights", "layers", "both"])
def test_every_sharing_of_four_places_is_a_structure_of_its_own(depth: str) -> None:
    executor, _ = eager()
    every = list(partitions(4))
    settings = SGD(learning_rate=0.5)
    assert len(every) == 15
    for sharing in every * 2:
        results = []
        for by in (executor, plain()):
            weights = [settings.double_weight(1.0 + i) for i in range(4)]
            inner = [wg.tanh(w) for w in (weights if depth != "layers" else [weights[0]] * 4)]
            at = weights if depth == "weights" else inner
            x, y, u, v = (at[i] for i in sharing)
            loss = (x * y) + (u * v) * (weights[0] if depth == "both" else 1.0)
            value = loss.train().run(by)
            results.append([np.array(value), *(np.array(w.data) for w in weights)])
        same(results[0], results[1])


LITERALS: list[Any] = [
    *(
        2.0,
        3,
        np.float32(2.0),
        np.ones(3, np.float32),
        np.ones((2, 3), np.float32),
        np.ones((2, 1), np.float32),
    ),
    *(
        np.asarray(2.0, np.float32),
        np.ones((2, 3), np.float32, order="F"),
        np.full((2, 3), 2.0, np.float32)[::-1],
    ),
]


def test_literals_of_other_kinds_have_plans_of_their_own() -> None:
    executor, plans = eager()
    w, v = (SGD(learning_rate=0.01).array_weight(np.ones((2, 3), np.float32)) for _ in range(2))
    for literal in LITERALS * 3:
        found = wg.sum(wg.tanh(w * literal) + literal).train().run(executor)
        wanted = wg.sum(wg.tanh(v * literal) + literal).train().run(plain())
        same([np.array(found), np.array(w.data)], [np.array(wanted), np.array(v.data)])
    assert plans.made == 7  # one for matrices of any layout


def test_other_attributes_have_plans_of_their_own() -> None:
    executor, plans = eager()
    w = SGD(learning_rate=0.0).array_weight(np.arange(9.0).reshape(3, 3))
    for _ in range(3):
        for axis, keepdims in itertools.product((0, 1, (0, 1), None), (False, True)):
            for f in (wg.sum, wg.mean, wg.max):
                x = f(wg.exp(w), axis=axis, keepdims=keepdims)
                same([np.array(x.predict().run(executor))], [np.array(x.predict().run(plain()))])
        for key in (0, 1, slice(0, 1), slice(0, 2), (slice(None), 1), (0, None), [0, 1], [1, 1]):
            y = wg.exp(w)[key]
            same([np.array(y.predict().run(executor))], [np.array(y.predict().run(plain()))])
    assert plans.made == 24 + 7  # two keys differ in their data alone


def test_a_kept_expression_answers_every_question_in_turn() -> None:
    executor, plans = eager()
    w = SGD(learning_rate=0.5).double_weight(2.0)
    h = w * 3.0
    loss = h * h
    nothing: Any = ()  # no checker has a type for it
    for _ in range(4):
        before = w.data
        assert wg.gradients(loss, (w, h)).run(executor) == (18.0 * before, 6.0 * before)
        assert wg.gradients(loss, nothing).run(executor) == ()
        assert wg.gradients(loss, (h,)).run(executor) == (6.0 * before,)
        assert wg.gradients(loss, (loss, w)).run(executor) == (1.0, 18.0 * before)
        assert loss.predict().run(executor) == 9.0 * before * before
        assert loss.train().run(executor) == 9.0 * before * before
        assert w.data == before - 9.0 * before
    assert plans.made == 6


SCALE = [1.0]
scaling: Elementwise = unregistered(
    "scaling", lambda case, x: x * SCALE[0], lambda case, g, y, x: g * SCALE[0]
)


def test_an_operation_that_reads_a_global_reads_it_in_each_run() -> None:
    executor, plans = eager()
    w = SGD(learning_rate=1.0).array_weight(np.zeros(2))
    for i in range(1, 6):
        SCALE[0] = float(i)
        before = w.data.tolist()
        assert wg.sum(scaling(w + 1.0)).train().run(executor) == i * (sum(before) + 2.0)
        assert w.data.tolist() == [x - i for x in before]
    assert plans.made == 1


def test_rules_added_later_are_those_of_expressions_built_later() -> None:
    with registry_kept():

        @wg.extend.operation(
            wg.extend.kinds.elementwise, lambda case, x: x * 2.0, lambda case, g, y, x: g * 2.0
        )
        def changing(x: Any, /) -> Any:
            raise NotImplementedError

    executor, _ = eager()
    w = SGD(learning_rate=1.0).double_weight(1.0)
    before = changing(w) * 1.0
    assert [before.predict().run(executor) for _ in range(3)] == [2.0] * 3
    changing.rule(
        float, infer=wg.extend.kinds.elementwise, value=lambda case, x: x * 3.0, derivatives=(None,)
    )
    after = changing(w) * 1.0
    assert [after.predict().run(executor) for _ in range(3)] == [3.0] * 3
    assert [before.predict().run(executor) for _ in range(3)] == [2.0] * 3


def test_networks_with_binds_are_left_to_the_interpreter() -> None:
    @wg.differentiable
    async def larger(a: wg.DoubleLayer, b: wg.DoubleLayer) -> wg.DoubleLayer:
        return a if await a > await b else b

    def network() -> tuple[Sequence[Any], Any]:
        settings = SGD(learning_rate=0.25)
        a, b = settings.double_weight(1.0), settings.double_weight(0.5)
        return (a, b), lambda i: larger(a * 2.0, b * 3.0) * a

    alike(network, steps=8, worth=1, plans=None)
    executor, plans = eager()
    _, loss = network()
    outer = [loss(0).train().run(executor) for _ in range(3)]
    assert len(set(outer)) == 3
    assert not any("yield" in source for source in plans.sources())


def test_registered_types_are_left_to_the_interpreter() -> None:
    @wg.register(Fraction)
    def forward_of(x: Fraction) -> wg.Do[wg.Tape[float, float]]:
        return wg.lift(float(x)).forward

    executor, plans = eager()
    w = SGD(learning_rate=0.5).double_weight(1.0)
    for i in range(4):
        before = w.data
        loss: Any = w * Fraction(i, 2)  # type: ignore[not-differentiable] # registered by the test alone
        assert loss.train().run(executor) == before * i / 2
        assert w.data == before - 0.25 * i
    assert plans.made == 0


def test_the_definition_makes_no_plan() -> None:
    assert plain().engine.plans is None
    executor = untimed(Sequential())
    w = SGD(learning_rate=0.0).double_weight(1.0)
    with none_interrupted():
        assert [(w * 2.0).train().run(executor) for _ in range(20)] == [2.0] * 20
    plans = executor.engine.plans
    assert plans is not None
    assert len(plans._plans.items()) == 1


def test_two_interpreters_have_plans_of_their_own() -> None:
    (one, plans), (two, others) = eager(), eager()
    w = SGD(learning_rate=0.0).double_weight(1.0)
    kept = w * 2.0
    for _ in range(3):
        assert kept.predict().run(one) == kept.predict().run(two) == 2.0
    assert (plans.made, others.made) == (1, 1)
    same(trained(lambda: ((w,), lambda i: kept), one), trained(lambda: ((w,), lambda i: kept), two))
