"""Expressions that plans keep: an example is built once, and trains as if it were built each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.fold as td
from wengert.errors import BlockValueError
from wengert.fold.kept import NODE_BYTES
from wengert.plugins import Adam, LearningRate
from wengert.training import TrainPlan


class Settings(Adam, LearningRate):
    """A rate for each number."""


CHANCE = np.random.default_rng(0)
EXAMPLES: list[list[float]] = [CHANCE.normal(size=n).tolist() for n in (1, 3, 2, 5, 4, 0, 3)]


def network(built: Callable[[Any], Any] = lambda x: x, keep: float | None = None) -> tuple[Any, Any]:
    """Any: a block from a list of numbers, and a layer in it."""
    layer = td.FC(
        3, wg.tanh, settings=Settings(learning_rate=0.05), seed=1, name="cell", input_keep_prob=keep
    )
    step: Any = td.Concat() >> layer
    kept: Any = td.AllOf(td.Function(lambda h: wg.sum(h)), td.Function(lambda h: h[0]) >> td.Metric("first"))
    block = (
        td.InputTransform(built) >> td.Map(td.Scalar()) >> td.Fold(step, td.Zeros(3)) >> kept >> td.GetItem(0)
    )
    return block, layer


def trained(
    keep: int, built: Callable[[Any], Any] = lambda x: x, drop: float | None = None
) -> tuple[Any, Any]:
    """Any: the losses of a training, and the weights after it."""
    block, layer = network(built, drop)
    plan: Any = TrainPlan(compiler=td.Compiler.create(block), examples=EXAMPLES, epochs=5, batch_size=3)
    plan.losses = {
        "sum": lambda batch: wg.mean(wg.square(batch.output_tensors[0] - 1.0)),
        "first": lambda batch: wg.mean(wg.square(batch.metric_tensors["first"])),
    }
    plan.dev_examples, plan.keep, plan.report = EXAMPLES[:4], keep, lambda line: None
    history = plan.run()
    return [(epoch.loss, epoch.validation) for epoch in history.epochs], layer.weights.data


@pytest.mark.parametrize("drop", [None, 0.7])
def test_a_training_is_the_same_with_kept_expressions(drop: float | None) -> None:
    (losses, weights), (again, others) = trained(2**28, drop=drop), trained(0, drop=drop)
    np.testing.assert_allclose(losses, again, rtol=1e-5)  # older nodes stand in another order in sums
    np.testing.assert_allclose(weights, others, rtol=1e-4, atol=1e-6)


def test_an_example_is_built_once_unless_nothing_is_kept() -> None:
    seen: list[list[float]] = []

    def built(x: list[float]) -> list[float]:
        seen.append(x)
        return x

    trained(2**28, built)
    assert len(seen) == len(EXAMPLES)  # those of the dev set are the same objects
    seen.clear()
    trained(0, built)
    assert len(seen) == 5 * (len(EXAMPLES) + 4)


def test_what_draws_is_built_in_each_step() -> None:
    seen: list[list[float]] = []

    def built(x: list[float]) -> list[float]:
        seen.append(x)
        return x

    trained(2**28, built, drop=0.7)
    empty = 1  # without a step nothing is drawn
    assert len(seen) == 5 * (len(EXAMPLES) - empty + 4) + empty


def test_a_bound_of_bytes_is_kept() -> None:
    compiler: Any = td.Compiler.create(td.Map(td.Scalar() >> td.Function(lambda x: x * 2.0)) >> td.Sum())
    examples = [[1.0] * 10 for _ in range(20)]
    kept = td.KeptExpressions(100 * NODE_BYTES)
    for _ in range(2):
        (column,) = compiler.build(examples, kept=kept).output_tensors
        assert column.predict().run().tolist() == [20.0] * 20
    assert 0 < len(kept) < 8
    with pytest.raises(BlockValueError, match="a bound of bytes is 0 or more, not -1"):
        td.KeptExpressions(-1)


def test_two_compilers_share_what_they_keep_and_nothing_else() -> None:
    square, negative = (td.Compiler.create(td.Scalar() >> td.Function(f)) for f in (wg.square, wg.negative))
    kept, examples = td.KeptExpressions(2**20), [1.5, 2.5]
    for _ in range(2):
        for compiler, wanted in ((square, [2.25, 6.25]), (negative, [-1.5, -2.5])):
            (column,) = compiler.build(examples, kept=kept).output_tensors
            assert column.predict().run().tolist() == wanted


def test_a_batch_that_comes_back_is_one_thing() -> None:
    kept, compiler = td.KeptExpressions(2**20), td.Compiler.create(network()[0])
    first, again, other = (compiler.build(xs, kept=kept) for xs in (EXAMPLES, EXAMPLES, EXAMPLES[::-1]))
    assert again.output_tensors[0] is first.output_tensors[0]
    assert again.metric_tensors["first"] is first.metric_tensors["first"]
    np.testing.assert_allclose(
        other.output_tensors[0].predict().run(), first.output_tensors[0].predict().run()[::-1], rtol=1e-6
    )
    full = td.KeptExpressions(0)
    one, two = (compiler.build(EXAMPLES, kept=full).output_tensors[0] for _ in range(2))
    assert one is not two
