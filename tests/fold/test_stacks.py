"""Stacks, whose rows are as many as the example has, and functions that are written for a batch (F41, F44)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.fold.made import EXECUTORS, Unchecked, deltas, made, weight
from wengert import fold as td


def test_a_list_of_tensors_is_a_stack() -> None:  # F44
    stack = made.Map(made.Vector(2)) >> made.Stack()
    assert str(stack.output_type) == "float32 (any, 2)"
    assert stack.eval([[1, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    mean = stack >> made.Function(lambda x: wg.mean(x, axis=0))
    assert mean.output_type == td.TensorType((2,))
    assert mean.eval([[1, 2], [3, 4]]).tolist() == [2.0, 3.0]
    assert mean.eval([[5, 6]]).tolist() == [5.0, 6.0]
    softmax = stack >> made.Function(lambda x: wg.softmax(wg.sum(x, axis=1), axis=0))
    assert str(softmax.output_type) == "float32 (any,)"
    batch = td.Compiler.create(mean).build([[[1, 2]], [[1, 2], [3, 4]]])
    assert batch.output_tensors[0].predict().run().tolist() == [[1.0, 2.0], [2.0, 3.0]]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: (made.Map(made.Scalar()) >> made.Stack()).build([]),
            ValueError,
            "an empty list has no stack",
        ),
        (lambda: made.Scalar() >> made.Broadcast() >> made.Stack(), TypeError, "is endless"),
        (lambda: made.InputTransform(list) >> made.Stack(), TypeError, "an element is object"),
        (
            lambda: made.Map(made.Scalar()) >> made.Stack() >> made.Function(lambda x: wg.concat([x, x])),
            TypeError,
            "only the first axis may be as long as a list",
        ),
        (
            lambda: td.Compiler.create(made.Map(made.Scalar()) >> made.Stack()),
            TypeError,
            "has objects or lists",
        ),
    ],
)
def test_what_has_no_stack(make: Unchecked, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}.*test_stacks.py:"):
        make()


def test_a_function_that_is_written_for_a_batch() -> None:  # F41
    shapes: list[Any] = []

    def scores(x: Any, y: Any) -> Any:
        shapes.append((x.shape, y.shape))
        return wg.concat([x, y], axis=1)

    block = made.Record((made.Vector(2), made.Vector(1))) >> made.Function(scores, batched=True)
    assert block.output_type == td.TensorType((3,))
    assert block.eval(([1, 2], [3])).tolist() == [1.0, 2.0, 3.0]
    assert set(shapes) == {((1, 2), (1, 1))}
    with pytest.raises(TypeError, match=r"(?s)which has no axis of the batch.*test_stacks\.py:"):
        made.Scalar() >> made.Function(lambda x: wg.sum(x), batched=True)


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
def test_interpreters_agree_on_stacks_of_several_lengths(executor: Any) -> None:
    w = weight(2.0)
    pooled = made.Map(made.Vector(2) >> made.Function(lambda x: x * w)) >> made.Stack()
    block = pooled >> made.Function(lambda x: wg.matmul(wg.softmax(wg.sum(x, axis=1), axis=0), x))
    examples = [[[1, 2]], [[1, 2], [3, 4]], [[0, 1], [1, 0]], [[5, 6], [0, 0], [1, 1]]]
    (batch,) = td.Compiler.create(block).build(examples).output_tensors
    alone = [block.eval(x) for x in examples]
    np.testing.assert_allclose(np.asarray(batch.predict().run(executor)), alone, rtol=1e-5)
    expected = sum(deltas(wg.sum(block.build(x)), w)[0] for x in examples)
    (delta,) = wg.gradients(wg.sum(batch), (w,)).run(executor)
    assert float(np.asarray(delta)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", EXECUTORS)
def test_messages_reach_the_nodes_of_graphs_with_cycles(name: str) -> None:  # F44
    """Each graph has edges of its own, and as many nodes as it has; numpy writes what comes."""
    w = weight(0.5)

    def messages(x: Unchecked, start: Unchecked, end: Unchecked) -> Unchecked:
        return wg.segment_sum(wg.take(x * x * w, start), end, num_segments=x.shape[0])

    def by_hand(nodes: list[float], start: list[int], end: list[int]) -> float:
        x, reached = np.array(nodes), np.zeros(len(nodes))
        np.add.at(reached, end, x[start] ** 2)
        return float((reached**2).sum())

    edges = made.Vector(4, "int64")
    graph = made.Record((made.Map(made.Scalar()) >> made.Stack(), edges, edges)) >> made.Function(messages)
    graphs = [
        ([1.0, 2.0, 3.0], [0, 1, 2, 0], [1, 2, 0, 2]),
        ([3.0, 1.0, 2.0], [0, 0, 1, 2], [2, 2, 2, 0]),
        ([4.0, 5.0], [0, 1, 0, 0], [1, 1, 0, -1]),
    ]
    compiler = made.Compiler.create(graph >> made.Function(lambda y: wg.sum(y * y)))
    (sums,) = compiler.build(graphs).output_tensors
    wanted = np.array([by_hand(*x) for x in graphs])
    np.testing.assert_allclose(sums.predict().run(EXECUTORS[name]), 0.25 * wanted, rtol=1e-6)
    wg.sum(sums).train().run(EXECUTORS[name])
    np.testing.assert_allclose(w.data, 0.5 - 0.1 * wanted.sum(), rtol=1e-6)
