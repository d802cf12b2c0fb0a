"""Rights follow promises: an operation made through `extend` with the rules and promises of a built-in one runs alike.

A twin has the same formulas, and a name and module of its own: plans have the same text, batches the same launches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager, plain
from wengert import extend
from wengert.graph.operation import OPERATIONS
from wengert.plugins import SGD

X: Final = np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)
Build = Callable[[Any], Any]  # Any: layers of every kind
BUILT: Final[dict[str, Build]] = {
    "exp": wg.exp,
    "tanh": wg.tanh,
    "relu": wg.relu,
    "add": lambda w: wg.add(w, X),
    "multiply": lambda w: wg.multiply(w, w),
    "maximum": lambda w: wg.maximum(w, X),
    "less": lambda w: wg.less(w, X),
    "sum": lambda w: wg.sum(w, axis=0),
    "mean": lambda w: wg.mean(w, axis=1, keepdims=True),
    "matmul": lambda w: wg.matmul(wg.lift(X.T), w),
    "reshape": lambda w: wg.reshape(w, (5, 4)),
    "softmax": wg.softmax,
    "permute_dims": lambda w: wg.permute_dims(w, (1, 0)),
}


def twin_of(name: str, pure: bool = True) -> extend.Operation:
    """The operation with the rules of a built-in one, made by what `extend` has for its family."""
    rules = OPERATIONS[name].rules
    assert rules is not None
    listed: Any = rules.derivatives  # Any: one rule for all operands, or one for each

    def rule(case: Any, *operands: Any, **attributes: Any) -> Any:  # Any: data of any column
        return rules.value(case, *operands, **attributes)

    rule.__name__ = f"{name}_twin"
    given = rules.value if pure else rule
    if name in ("exp", "tanh", "relu"):
        extend.elementwise(*listed, value=given, pure=pure)(rule)
    elif name in ("add", "multiply", "maximum"):
        extend.broadcasting(*listed, value=given, pure=pure)(rule)
    elif name == "less":
        extend.comparison(rule, pure=pure)
    elif name in ("sum", "mean"):
        extend.reduction(listed[0], rules.infer, pure=pure)(rule)
    else:
        batch = rules.batch if pure else None
        extend.operation(rules.infer, given, *listed, at_weight=rules.at_weight, batch=batch, pure=pure)(rule)
    return OPERATIONS[f"{__name__}.{rule.__name__}"]


def loss_of(built: Any) -> Any:  # Any: a layer, or a mask
    scores = wg.where(built, X, X * 0.5) if built.kind.column.name == "MASK" else built
    return wg.sum(wg.square(scores * 0.5))


# Any: one of several executors, a sum of two layers; data
def trained(build: Build, executor: Any, add: Any = wg.add) -> Any:
    """The weight after some steps on three examples."""
    weight = SGD(learning_rate=0.1).array_weight(X)
    for _ in range(3):
        several = [loss_of(build(weight * scale)) for scale in (1.0, 0.5, 0.25)]
        reduce(add, [*several, wg.sum(weight)]).train().run(executor)
    return weight.data


def as_twin(name: str, pure: bool = True) -> Build:
    operation = twin_of(name, pure)

    def build(x: Any) -> Any:
        node = BUILT[name](x)
        return extend.apply(operation, node.operands, node.signature.attributes)

    return build


@pytest.mark.parametrize("name", BUILT)
def test_a_twin_has_the_same_plan_and_the_same_launches(name: str) -> None:
    (one, plans), (two, others) = eager(worth=2), eager(worth=2)
    twin = as_twin(name)
    found = [trained(BUILT[name], one), trained(twin, two), trained(twin, plain())]
    assert plans.made == others.made == 1
    assert plans.sources() == others.sources()
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    batched, of_twin = wg.run.Batched(), wg.run.Batched()
    np.testing.assert_array_equal(trained(BUILT[name], batched), trained(twin, of_twin))
    assert of_twin.report.launches == batched.report.launches
    assert [x.rows for x in of_twin.report.lines.values()] == [x.rows for x in batched.report.lines.values()]
    assert len(of_twin.report.unbatched) == len(batched.report.unbatched)


def test_sums_of_many_examples_by_a_twin_are_one_launch() -> None:
    add = twin_of("add")

    def added(a: Any, b: Any) -> Any:  # Any: layers
        return extend.apply(add, (a, b), ())

    batched, of_twin = wg.run.Batched(), wg.run.Batched()
    np.testing.assert_array_equal(trained(wg.tanh, batched), trained(wg.tanh, of_twin, added))
    assert of_twin.report.launches == batched.report.launches


def test_without_the_promise_a_rule_is_called_as_it_is() -> None:
    executor, plans = eager(worth=2)
    promised, others = eager(worth=2)
    np.testing.assert_array_equal(
        trained(as_twin("tanh", pure=False), executor), trained(as_twin("tanh"), promised)
    )
    assert plans.sources() != others.sources()
