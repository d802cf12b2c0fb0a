"""Several examples at once: metrics beside the results, their labels, batches of several outputs; what has no batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.fold.made import F, Id, S, plain
from tests.fold.made import made as td
from wengert.plugins import SGD


def test_metrics_stand_beside_the_result() -> None:  # row 42
    block = td.Map(S() >> td.AllOf(td.Metric("x"), Id()))
    result, metrics = block.eval([1, 2], metrics=True)
    assert plain((result, metrics["x"])) == ([(None, 1.0), (None, 2.0)], [1.0, 2.0])
    assert plain(block.eval([1, 2])) == plain((result, metrics))
    assert plain(block.eval([1, 2], metrics=False)) == plain(result)
    assert S().eval(3).shape == () and S().eval(3, metrics=True)[1] == {}, "nobody keeps any"
    assert block.max_depth([1, 2]) == 0
    deeper = S() >> td.AllOf(F(wg.exp) >> F(wg.exp) >> td.Metric("x"), F(wg.exp))
    assert deeper.max_depth(1) == 2, "a metric adds nothing to the cells before it"


@pytest.mark.parametrize("count", [31, 32, 33, 64, 65, 1_500])
def test_metrics_may_be_many(count: int) -> None:
    w = SGD(learning_rate=1.0).array_weight(np.ones((), np.float32))
    block = td.Map(S() >> F(lambda x: x * w) >> td.Metric("x")) >> td.Void()
    batch = td.Compiler.create(block).build([[*range(count)], [7]])
    kept = batch.metric_tensors["x"]
    assert kept.shape == (count + 1,)
    assert plain(kept.predict().run()) == [*range(count), 7]
    (delta,) = wg.gradients(wg.sum(kept), (w,)).run()
    assert plain(delta) == sum(range(count)) + 7


def test_labelled_metrics_of_a_batch() -> None:  # row 43
    def kept(name: str) -> Any:
        return td.Record([(0, S()), (1, Id())]) >> td.Metric(name)

    tree = td.ForwardDeclaration()
    internal = td.AllOf(kept("internal"), td.Slice(start=2) >> td.Map(tree()) >> td.Void()) >> td.Void()
    block = td.OneOf(lambda x: len(x) == 2, {True: kept("leaf"), False: internal})
    tree.resolve_to(block)
    examples = [[1, "a", [2, "b"], [3, "c"], [4, "d"]], [5, "e", [6, "f", [7, "g"]]]]
    batch = td.Compiler.create(block).build(examples, metric_labels=True)
    assert {name: plain(x.predict().run()) for name, x in batch.metric_tensors.items()} == {
        "internal": [1.0, 5.0, 6.0],
        "leaf": [2.0, 3.0, 4.0, 7.0],
    }
    assert batch.metric_labels == {"internal": ["a", "e", "f"], "leaf": ["b", "c", "d", "g"]}
    assert td.Compiler.create(block).build(examples).metric_labels == {}


def test_metrics_by_sign() -> None:  # row 44
    block = td.Map(td.OneOf(lambda x: x > 0, {True: S() >> td.Metric("+"), False: S() >> td.Metric("-")}))
    batch = td.Compiler.create(block >> td.Void()).build([[1, 2, -3, -4], [5, 6, -7, -8, 0]])
    assert {name: plain(x.predict().run()) for name, x in batch.metric_tensors.items()} == {
        "+": [1.0, 2.0, 5.0, 6.0],
        "-": [-3.0, -4.0, -7.0, -8.0, 0.0],
    }
    assert batch.output_tensors == ()


def test_a_metric_of_which_nothing_was_kept_has_no_rows() -> None:
    signs = {True: S() >> td.Metric("up"), False: S("int32") >> td.Metric("down")}
    block = td.Map(td.OneOf(lambda x: x > 0, signs)) >> td.Void()
    compiler = td.Compiler.create(block)
    for examples in ([[1], [2, 3]], compiler.build_loom_inputs([[1], [2, 3]])):
        batch = compiler.build(examples, metric_labels=True)
        assert plain(batch.metric_tensors["up"].predict().run()) == [1.0, 2.0, 3.0]
        down = batch.metric_tensors["down"]
        assert (down.shape, down.dtype, batch.metric_labels["down"]) == ((0,), np.int32, [])
    assert block.eval([1], metrics=True) == (None, {"up": [1.0], "down": []})


def test_a_batch_of_several_outputs_and_of_integers() -> None:  # F91
    compiler = td.Compiler.create(td.AllOf(S() >> F(wg.square), S("int32"), td.OneHot(5)))
    squares, labels, hot = compiler.build([1, 2, 3]).output_tensors
    assert plain(squares.predict().run()) == [1.0, 4.0, 9.0]
    assert plain(labels) == [1, 2, 3]
    assert hot.shape == (3, 5)
    weight = SGD(learning_rate=0.1).array_weight(np.full((), 2.0, np.float32))
    batch = td.Compiler.create(S() >> F(lambda x: x * weight)).build([1, 2, 3])
    assert float(np.asarray(wg.sum(batch.output_tensors[0]).train().run())) == 12.0
    assert float(weight.data) == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: td.Compiler.create(td.Identity()),
            TypeError,
            "its output is object, which has objects or lists in it",
        ),
        (lambda: td.Compiler.create(td.Map(td.Scalar())), TypeError, "which has objects or lists in it"),
        (lambda: td.Compiler.create(td.Void()), TypeError, "neither a tensor nor a metric"),
        (lambda: td.Compiler.create(td.Function(wg.exp).set_input_type(3)), TypeError, "begins with data"),
        (lambda: td.Compiler.create(3), TypeError, "3 is no block"),
        (lambda: td.Compiler.create(td.Scalar()).build(3), TypeError, "examples are a list, not 3"),
        (lambda: td.Compiler.create(td.Scalar()).build([]), ValueError, "at least one example"),
        (lambda: td.Metric(3), TypeError, "a name is a string; got 3"),
        (
            lambda: td.Map(td.Scalar()) >> td.Metric("x"),
            TypeError,
            "it keeps a tensor, or a tensor and a label",
        ),
        (
            lambda: td.AllOf(td.Scalar() >> td.Metric("x"), td.OneHot(3) >> td.Metric("x")).eval(1),
            TypeError,
            r"'x' is float32 \(3,\), but another under that name is float32 \(\)",
        ),
    ],
)
def test_what_has_no_batch(
    make: Callable[[], Any], error: type[Exception], text: str
) -> None:  # F72, F90, F91
    with pytest.raises(error, match=f"(?s){text}.*test_metrics.py:"):
        make()
