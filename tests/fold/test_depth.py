"""No depth of data, of blocks or of results is too deep, and nothing is left behind (F7)."""

from __future__ import annotations

import gc
from typing import Any

import pytest

import wengert as wg
from tests.fold.made import made
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
