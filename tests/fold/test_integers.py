"""Integers make no layers: what blocks compute with them is data, of the element type that was stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.fold.made import EXECUTORS, F, Id, S, V, made, plain
from wengert.errors import DTypeError
from wengert.fold.functions import of_integers

NUMBERS: Any = made.Map(S("int32"))
CASES = {
    "sum": (NUMBERS >> made.Sum(), [3, 1, 2], 6),
    "sum of a tuple": ((S("int64"), S("int64")) >> made.Sum(), (2**40, 1), 2**40 + 1),
    "sum of nothing": (NUMBERS >> made.Sum(), [], 0),
    "smallest": (NUMBERS >> made.Min(), [3, -1, 2], -1),
    "greatest": (NUMBERS >> made.Max(), [3, -1, 2], 3),
    "vectors": (made.Map(made.Vector(2, "int32")) >> made.Max(), [[1, 5], [2, 3]], [2, 5]),
    "joined": ((S("int32"), made.Vector(2, "int32")) >> made.Concat(), (1, [2, 3]), [1, 2, 3]),
    "joined sums": (
        made.AllOf(NUMBERS >> made.Sum(), NUMBERS >> made.Max()) >> made.Concat(),
        [1, 2],
        [3, 2],
    ),
    "negative": (S("int32") >> F(wg.negative), 2, -2),
    "square": (S("int32") >> F(wg.square), 3, 9),
    "multiply": ((S("int32"), S("int32")) >> F(wg.multiply), (3, 4), 12),
    "subtract": ((S("int32"), S("int32")) >> F(wg.subtract), (3, 4), -1),
    "abs and sign": (S("int32") >> made.AllOf(F(wg.abs), F(wg.sign)), -3, (3, -1)),
    "a row": (NUMBERS >> made.Sum() >> made.Embedding(4, 1, np.arange(4.0).reshape(4, 1)), [1, 2], [3.0]),
}


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
@pytest.mark.parametrize(("block", "data", "result"), CASES.values(), ids=CASES)
def test_blocks_compute_with_integers(block: Any, data: Any, result: Any, executor: Any) -> None:
    assert plain(block.eval(data, executor)) == result
    assert plain(made.Map(block).eval([data, data], executor)) == [result, result]


def test_integers_of_two_types_do_not_mix() -> None:
    with pytest.raises(DTypeError, match="int32 and int64 do not mix"):
        (S("int32"), S("int64")) >> F(wg.add)
    with pytest.raises(DTypeError, match="is no integer"):
        NUMBERS >> made.Mean()


def test_a_function_of_ones_own_is_called_as_it_is() -> None:
    def own(x: Any) -> Any:
        return x

    assert of_integers(own) is own
    assert of_integers(wg.exp) is wg.exp  # which has no integer result
    with pytest.raises(DTypeError, match="int32 has no derivative"):
        S("int32") >> F(wg.exp)


def test_depth_counts_what_is_computed_with_integers() -> None:
    assert (NUMBERS >> made.Sum()).max_depth([1, 2, 3]) == 2


def test_integers_of_numpy_are_keys_and_places() -> None:
    assert plain(made.OneHot(100, 103).eval(np.int64(101))) == [0.0, 1.0, 0.0]
    assert plain(made.OneHot(np.int64(2)).eval(1)) == [0.0, 1.0]
    assert plain(((S(), V(2)) >> made.GetItem(np.int64(1))).eval((1, [2, 3]))) == [2.0, 3.0]
    graph = made.Composition()
    with graph.scope():
        graph.output.reads(made.AllOf(Id(), Id()).reads(graph.input)[np.int64(0)])
    assert plain((S() >> graph).eval(7)) == 7.0


def test_truth_values_are_numbers() -> None:
    assert made.Scalar().eval(True) == 1.0
    assert made.Vector(2, "int32").eval([True, False]).tolist() == [1, 0]


@pytest.mark.parametrize("executor", [wg.run.Sequential(), wg.run.Batched()])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float32", "float64"])
def test_every_element_type_enters_a_function(dtype: str, executor: Any) -> None:
    chosen: Any = made.Vector(2, dtype)
    if dtype == "bool":
        block: Any = (made.Vector(2), chosen) >> made.Function(lambda x, m: wg.where(m, x, 0.0))
    else:
        block = (made.Vector(2), chosen) >> made.Function(lambda x, n: x * wg.astype(n, np.float32))
    data = ([3, 5], [True, False] if dtype == "bool" else [1, 0])
    assert block.eval(data, executor).tolist() == [3.0, 0.0]
    (column,) = made.Compiler.create(block).build([data, data]).output_tensors
    assert column.predict().run(executor).tolist() == [[3.0, 0.0]] * 2


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
def test_integers_are_compared_in_a_function(executor: Any) -> None:
    def chosen(n: Any, m: Any, x: Any) -> Any:
        return wg.where(wg.equal(n, m), x, 0.0) + wg.where(wg.less(n, 2), x * 2.0, 0.0)

    def by_data(n: Any, m: Any, x: Any) -> Any:
        return wg.where(n == m, x, 0.0) + wg.where(n < 2, x * 2.0, 0.0)

    def of_sums(n: Any, m: Any, x: Any) -> Any:
        return wg.where(wg.equal(n + 1, m + 1), x, 0.0) + x * 2.0 * wg.astype(n % 3, np.float32)

    examples = [(3, 3, 5), (1, 2, 5), (1, 1, 5)]
    for function in (chosen, by_data, of_sums):
        block = made.Record((S("int64"), S("int64"), S())) >> F(function)
        (column,) = made.Compiler.create(block).build(examples).output_tensors
        assert column.predict().run(executor).tolist() == [5.0, 10.0, 15.0]


def test_computed_integers_are_compared_with_numbers() -> None:
    block = V(3) >> F(lambda x: wg.where(wg.equal(wg.argmax(x), 1), 1.0, 0.0))
    assert block.eval([0, 2, 1]) == 1.0
    assert block.eval([3, 2, 1]) == 0.0


@pytest.mark.parametrize("executor", [wg.run.Sequential(), wg.run.Batched()])
@pytest.mark.parametrize("n", [3, 200])  # of many one node is made of several
def test_columns_are_of_any_element_type(n: int, executor: Any) -> None:
    blocks: dict[str, tuple[Any, list[Any]]] = {  # Any: blocks and data of every type
        "truth": (S("bool"), [True, False]),
        "truths": (made.Vector(2, "bool"), [[True, False], [True, True]]),
        "a mask": (V(2) >> F(lambda x: wg.greater(x[0], x[1])), [[2, 1], [1, 2]]),
        "a mask of integers": (made.Vector(2, "int64") >> F(lambda x: x[0] > x[1]), [[2, 1], [1, 2]]),
        "a place": (V(2) >> F(wg.argmax), [[2, 1], [1, 2]]),
        "a number of numpy": (S("int64") >> F(lambda x: x.astype(np.float32) * 2.0), [1, 2]),
        "a constant": (S() >> F(lambda x: np.float32(2.0)), [1, 2]),
    }
    expected: list[list[Any]] = [  # Any: as above
        [True, False],
        [[True, False], [True, True]],
        [True, False],
        [True, False],
        [0, 1],
        [2, 4],
        [2, 2],
    ]
    for (block, data), values in zip(blocks.values(), expected, strict=True):
        (column,) = made.Compiler.create(block).build(data * n).output_tensors
        array = column.predict().run(executor) if hasattr(column, "predict") else column
        assert array.tolist() == values * n
