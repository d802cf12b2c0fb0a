"""Computed choice: places that scores decide, lists that leave tensors again, and what plans give of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.fold as td
from wengert.errors import BlockError, BlockIndexError
from wengert.training import InferPlan

NUMBERS: Any = td.Map(td.Scalar())  # Any: blocks are put together as the run allows
BEST = NUMBERS >> td.AllOf(td.Identity(), td.Stack() >> td.Function(wg.argmax)) >> td.Nth()
EXAMPLES = [[1.0, 5.0], [2.0, 3.0, 9.0, 1.0], [7.0], [4.0, 1.0, 7.0]]
EXECUTORS = [wg.run.Sequential(), wg.run.Batched(), wg.run.Parallel(threads=2)]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_computed_place_chooses_in_batches_and_from_loom_inputs(executor: Any) -> None:
    """Any: executors have no common type."""
    compiler: Any = td.Compiler.create(BEST)  # Any: the wire of Nth
    for batch in (EXAMPLES, compiler.build_loom_inputs(EXAMPLES)):
        (column,) = compiler.build(batch).output_tensors
        assert column.predict().run(executor).tolist() == [5.0, 9.0, 7.0, 7.0]


def test_the_chosen_element_has_a_derivative_and_the_place_none() -> None:
    w = wg.plugins.SGD(learning_rate=0.1).array_weight(np.array([1.0, 2.0, 3.0], np.float32))
    place: Any = td.Scalar("int64")  # Any: as below
    of_one: Any = lambda i: wg.take(w, i)  # noqa: E731 # Any: integers, which pyrefly does not follow into a lambda
    rows: Any = td.Map(place >> td.Function(of_one))
    best: Any = rows >> td.AllOf(td.Identity(), td.Stack() >> td.Function(wg.argmax)) >> td.Nth()
    (delta,) = wg.gradients(wg.square(best.build([0, 2, 1])), (w,)).run()
    assert delta.tolist() == [0.0, 0.0, 6.0]


def test_tuples_are_chosen_whole() -> None:
    block: Any = td.Map(td.AllOf(td.Scalar(), td.InputTransform(lambda x: [x * 10]) >> td.Vector(1)))
    chosen: Any = block >> td.AllOf(
        td.Identity(), td.Map(td.GetItem(0)) >> td.Stack() >> td.Function(wg.argmax)
    )
    number, vector = (chosen >> td.Nth()).eval([1, 3, 2])
    assert (number.item(), vector.tolist()) == (3.0, [30.0])


def test_refused_places() -> None:
    pair: Any = (NUMBERS, td.Scalar())
    with pytest.raises(
        BlockError, match=r"a place is an integer of the data, or a computed one; it is float32 \(\)"
    ):
        (pair >> td.Nth()).eval(([1, 2], 1))
    typed: Any = (NUMBERS, td.Scalar("int64"))
    assert (typed >> td.Nth()).eval(([1, 2], -1)).item() == 2.0
    with pytest.raises(BlockIndexError, match="a list of 2 elements has no element 5"):
        (typed >> td.Nth()).eval(([1, 2], 5))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_tensor_becomes_a_list_again(executor: Any) -> None:
    """Any: executors have no common type."""
    sums = (
        NUMBERS
        >> td.Stack()
        >> td.Function(wg.cumulative_sum)
        >> td.Unstack()
        >> td.Map(td.Function(wg.negative))
    )
    assert [x.item() for x in sums.eval([1, 2, 3], executor)] == [-1.0, -3.0, -6.0]
    compiler = td.Compiler.create(sums >> td.Sum())
    (column,) = compiler.build(EXAMPLES).output_tensors
    assert column.predict().run(executor).tolist() == [-float(np.cumsum(x).sum()) for x in EXAMPLES]
    assert [x.tolist() for x in (td.Tensor((2, 2)) >> td.Unstack()).eval([[1, 2], [3, 4]])] == [
        [1, 2],
        [3, 4],
    ]
    with pytest.raises(BlockError, match=r"its input is float32 \(\); it takes a tensor with an axis"):
        (td.Scalar() >> td.Unstack()).eval(1)  # type: ignore[operator]  # mypy refuses it too
    loom: Any = td.Compiler.create(sums >> td.Sum())
    with pytest.raises(BlockError, match="how many elements it gives is not known"):
        loom.build_loom_inputs(EXAMPLES)


def test_integers_are_stacked() -> None:
    rows: Any = (td.Map(td.Vector(2)) >> td.Stack(), td.Map(td.Scalar("int64")) >> td.Stack())
    taken = rows >> td.Function(lambda x, i: wg.sum(wg.take(x, i), axis=0))
    assert taken.eval(([[1, 2], [3, 4]], [1, 1, 0])).tolist() == [7.0, 10.0]


def test_a_computed_integer_reads_a_table_and_is_a_column() -> None:
    place: Any = NUMBERS >> td.Stack() >> td.Function(wg.argmax)
    table = td.Embedding(4, 2, np.array([[0, 0], [1, 1], [2, 2], [3, 3]], np.float32))
    assert (place >> table).eval([1, 9, 2]).tolist() == [1.0, 1.0]
    best: Any = (
        NUMBERS >> td.Stack() >> td.Function(lambda x: wg.top_k(x, 1)[1]) >> td.Unstack() >> td.Map(table)
    )
    assert [x.tolist() for x in best.eval([1, 9, 2])] == [[1.0, 1.0]]
    plan: Any = InferPlan(compiler=td.Compiler.create(place), examples=EXAMPLES)
    assert [x.item() for (x,) in plan.run()] == [1, 2, 0, 2]


def test_lists_leave_compilers_that_say_so() -> None:
    block: Any = td.AllOf(
        NUMBERS >> td.Map(td.Function(wg.negative)), NUMBERS >> td.Stack(), NUMBERS >> td.Sum()
    )
    with pytest.raises(
        BlockError, match=r"or lists in it; td.Compiler.create\(block, lists=True\) takes lists"
    ):
        td.Compiler.create(block)
    compiler = td.Compiler.create(block, lists=True)
    lists, stacks, sums = compiler.build(EXAMPLES).output_tensors
    assert [len(x) for x in lists] == [x.shape[0] for x in stacks] == [2, 4, 1, 3]
    assert sums.shape == (4,)
    found = list(InferPlan(compiler=compiler, examples=EXAMPLES, batch_size=3).run())
    assert [([-x.item() for x in a], b.tolist(), c.item()) for a, b, c in found] == [
        (x, x, sum(x)) for x in EXAMPLES
    ]
    with pytest.raises(BlockError, match="it gives lists, whose lengths no loom input has"):
        td.Compiler.create(NUMBERS, lists=True).build_loom_inputs(EXAMPLES)
    with pytest.raises(BlockError, match="objects or lists in it\n"):
        td.Compiler.create(td.Map(td.GetItem(0)), lists=True)


def test_a_dict_is_a_block_to_a_compiler() -> None:
    root: Any = {"b": td.Scalar(), "a": td.Vector(1)}
    a, b = td.Compiler.create(root).build([{"a": [1], "b": 2}]).output_tensors
    assert (a.predict().run().tolist(), b.predict().run().tolist()) == ([[1.0]], [2.0])
