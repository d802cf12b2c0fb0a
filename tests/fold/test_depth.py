"""No depth of data, of blocks or of results is too deep, and nothing is left behind (F7)."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import wengert as wg
from tests.fold.made import made, plain
from tests.often import few
from wengert import fold as td
from wengert.fold.block import Block


def tree(depth: int) -> Any:
    found: Any = 1.0
    for _ in range(depth):
        found = (found, 1.0)
    return found


def summed() -> Block[Any, Any]:
    fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration(name="tree")
    node = made.Record((fwd(), fwd())) >> made.Function(wg.add)
    block: Block[Any, Any] = made.OneOf(lambda x: type(x) is tuple, {True: node, False: made.Scalar()})
    fwd.resolve_to(block)
    return block


@pytest.mark.slow
def test_a_tree_may_be_100_000_deep() -> None:  # F7
    assert summed().eval(tree(100_000)) == 100_001.0


@pytest.mark.nightly
def test_a_tree_may_be_1_000_000_deep() -> None:  # F7
    assert summed().eval(tree(1_000_000)) == 1_000_001.0


def test_the_depth_of_a_deep_tree() -> None:
    assert summed().max_depth(tree(3_000)) == 3_000


def test_an_error_deep_in_the_data_is_the_same_error() -> None:  # F7
    deep: Any = "x"
    for _ in range(30_000):
        deep = (deep, 1.0)
    with pytest.raises(TypeError, match="'x' is not of such numbers"):
        summed().build(deep)


def test_a_long_chain_is_checked_by_its_two_sides() -> None:
    traced: list[Any] = []

    def step(x: Any) -> Any:
        traced.append(x)
        return x

    block = made.Scalar()
    for _ in range(100):
        block = block >> made.Function(step)
    assert len(block.blocks) == 101
    assert len(traced) == 100
    assert block.eval(3) == 3.0


def test_results_may_be_deep() -> None:  # F7
    fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    block = made.OneOf(
        lambda x: type(x) is tuple,
        {True: made.InputTransform(lambda x: x), False: made.InputTransform(lambda x: x)},
    )
    fwd.resolve_to(block)
    deep = tree(50_000)
    found = block.eval(deep)
    for _ in range(50_000):
        found = found[0]
    assert found == 1.0


def test_building_leaves_nothing_behind() -> None:
    block = summed()
    block.eval(tree(50))
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(20):
            block.eval(tree(50))
        assert len(gc.get_objects()) - before < 500
    finally:
        gc.enable()


def test_blocks_run_under_every_executor() -> None:  # F1
    block, x = summed(), ((1, (2, 3)), (4, 5))
    assert (
        block.eval(x)
        == block.eval(x, wg.run.Parallel(threads=2))
        == block.eval(x, wg.run.Sequential())
        == 15.0
    )


@pytest.mark.parametrize("depth", [10, 49, 50, 51, 52, 300])  # there is room for 50 calls
def test_blocks_are_asked_in_one_order_however_deep(depth: int) -> None:
    met: list[int] = []

    def label(x: Any) -> int:
        met.append(x[0])
        return int(x[0])

    fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    below = made.GetItem(1) >> made.OneOf(lambda x: x is None, {True: made.Void(), False: fwd()})
    kept = made.AllOf(made.GetItem(0) >> made.Scalar(), made.InputTransform(label)) >> made.Metric("x")
    block = made.AllOf(kept, below, kept) >> made.Void()
    fwd.resolve_to(block)
    data: Any = None
    for i in range(depth):
        data = (i, data)
    result, metrics = block.eval(data, metrics=True)
    expected = [*reversed(range(depth)), *range(depth)]
    assert result is None
    assert met == expected
    assert metrics == {"x": expected}


@pytest.mark.parametrize("depth", [3, 60, 300])
def test_the_traceback_of_a_recursion_is_short(depth: int) -> None:
    deep: Any = "x"
    for _ in range(depth):
        deep = (deep, 1.0)
    with pytest.raises(TypeError) as caught:
        summed().build(deep)
    assert len(caught.traceback) < 12
    (note,) = caught.value.__notes__
    assert "while <td.Scalar dtype='float32'> was built; the block was made at" in note


def test_recursion_through_lists_may_be_deep() -> None:
    fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    inner = made.Map(fwd()) >> made.Sum()
    block = made.OneOf(lambda x: isinstance(x, list), {True: inner, False: made.Scalar()})
    fwd.resolve_to(block)
    for depth in (10, 50, 1_000):
        deep: Any = 1
        for _ in range(depth):
            deep = [deep, 1]
        assert block.eval(deep) == depth + 1


@pytest.mark.parametrize("depth", [19, 20, 60])
def test_loops_may_nest_deeper_than_python_writes_them(depth: int) -> None:
    block, x = made.Scalar(), 3.0
    expected: Any = x
    data: Any = x
    for _ in range(depth):
        block, data, expected = made.Map(block), [data], [expected]
    assert plain(block.eval(data)) == expected


@pytest.mark.parametrize("count", few([1, 2, 3, 5, 300], 4))
def test_cases_may_be_many(count: int) -> None:
    cases = made.OneOf(lambda x: x, [(i, made.FromTensor(float(i))) for i in range(count)])
    places = [0, count // 2, count - 1]
    assert [cases.eval(i).item() for i in places] == places
    with pytest.raises(KeyError, match=f"there is no case {count}"):
        cases.eval(count)
    inner: Any = made.Scalar()
    for _ in range(12):  # more indented than Python reads, if all were one function
        inner = made.OneOf(lambda x: 0, {i: made.FromTensor(1.0) if i else inner for i in range(count)})
    assert inner.eval(3).item() == 3.0


@pytest.mark.parametrize("depth", [50, 51, 200])
def test_blocks_may_nest_deep(depth: int) -> None:
    block, x = made.Scalar(), 1.0
    data: Any = x
    for _ in range(depth):
        block, data = made.Record({"a": block}) >> made.GetItem(0), {"a": data}
    assert block.eval(data).item() == 1.0


@pytest.mark.parametrize("wrapped", [0, 1, 2])
def test_data_that_contain_themselves_are_refused(wrapped: int) -> None:
    fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    pair = made.Record((fwd(), fwd())) >> made.Function(wg.add)
    block = made.OneOf(lambda x: type(x) is list, {True: pair, False: made.Scalar()})
    fwd.resolve_to(block)
    data: Any = []
    data += [[1.0, data], data]
    for _ in range(wrapped):
        data = [1.0, [data, data]]
    with pytest.raises(ValueError, match=r"<td.OneOf.*the data contain themselves"):
        block.eval(data)
    shared: Any = 1.0
    for _ in range(10):  # what occurs often does not contain itself
        shared = [shared, shared]
    assert block.eval(shared) == 1024.0


def test_a_recursion_has_a_limit() -> None:
    def up(limit: int | None) -> Any:
        fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration(limit=limit)
        block = made.OneOf(
            lambda x: x < 5_000, {True: made.InputTransform(lambda x: x + 1) >> fwd(), False: made.Scalar()}
        )
        fwd.resolve_to(block)
        return block

    assert up(None).eval(0) == up(6_000).eval(0) == 5_000.0
    with pytest.raises(RuntimeError, match=r"<td.OneOf.*asked each other 1,000 deep.*limit="):
        up(1_000).eval(0)
    with pytest.raises(ValueError, match="a limit is at least 1, not 0"):
        td.ForwardDeclaration(limit=0)


@pytest.mark.slow
def test_a_recursion_by_computed_values_that_never_ends_is_an_error() -> None:
    fwd = made.ForwardDeclaration(made.TensorType(()), made.TensorType(()))
    again = made.Function(lambda x: x + 1.0) >> fwd()
    block = made.Switch(made.Function(lambda x: x * 0.0), (again, made.Identity()))
    fwd.resolve_to(block)
    with pytest.raises(RuntimeError, match=r"<td.Switch.*asked each other 10,000 deep"):
        (made.Scalar() >> block).eval(1)
