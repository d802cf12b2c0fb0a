"""`SegmentReduce`: every reduction, both numbers of segments, a graph in a batch with others, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import wengert as wg
from tests.fold.made import Unchecked, made
from wengert import fold as td
from wengert.errors import BlockValueError

INF = float("inf")
ROWS = ([[1, 2], [3, 4], [5, 0]], [1, 0, 1])


@pytest.mark.parametrize(
    ("reduction", "value"),
    [
        ("sum", [[3, 4], [6, 2], [0, 0]]),
        ("mean", [[3, 4], [3, 1], [0, 0]]),
        ("max", [[3, 4], [5, 2], [-INF, -INF]]),
        ("min", [[3, 4], [1, 0], [INF, INF]]),
    ],
)
def test_rows_of_one_segment_become_one(reduction: Unchecked, value: list[list[float]]) -> None:
    rows, ids = td.Map(td.Vector(2)) >> td.Stack(), td.Map(td.Scalar("int64")) >> td.Stack()
    fixed = td.Record((rows, ids)) >> td.SegmentReduce(reduction, 3)
    assert fixed.eval(ROWS).tolist() == value
    assert fixed.output_type == td.TensorType((3, 2))
    like = td.Record((rows, ids, rows)) >> td.SegmentReduce(reduction)
    assert like.eval((*ROWS, [[0, 0]] * 3)).tolist() == value
    assert like.output_type == td.StackedType(td.TensorType((2,)))


def test_graphs_of_unlike_sizes_are_one_launch() -> None:
    nodes, ends = td.Map(td.Vector(1)) >> td.Stack(), td.Map(td.Scalar("int64")) >> td.Stack()
    of_all = (
        td.Record((nodes, ends, nodes)) >> td.SegmentReduce("sum") >> td.Function(lambda h: wg.sum(h * h))
    )
    graphs = [([[1.0]] * n, list(range(n))[::-1], [[0.0]] * n) for n in (2, 3, 5)]
    batched = wg.run.Batched()
    (column,) = td.Compiler.create(of_all).build(graphs).output_tensors
    assert column.predict().run(batched).tolist() == [2.0, 3.0, 5.0]
    assert (
        max(line.rows / line.launches for line in batched.report.lines.values() if "Segment" in line.name)
        == 3
    )


@pytest.mark.parametrize(("reduction", "count"), [("median", None), ("sum", 0), ("sum", "two")])
def test_what_is_no_reduction(reduction: Unchecked, count: Unchecked) -> None:
    with pytest.raises(BlockValueError, match="SegmentReduce: "):
        made.SegmentReduce(reduction, count)


def test_a_block_of_segments_is_pickled() -> None:
    block = td.Record((td.Vector(2), td.Vector(2, "int64"))) >> td.SegmentReduce("max", 2)
    again = pickle.loads(pickle.dumps(block))
    np.testing.assert_array_equal(again.eval(([1, 2], [0, 0])), [2.0, -INF])
