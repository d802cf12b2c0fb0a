"""What blocks of `wengert.fold` give, as the plugin follows it."""

from __future__ import annotations

from typing import Literal, SupportsFloat, TypeAlias, assert_type

import wengert as wg
from wengert import fold as td
from wengert.arrays import IntegerArray

V3: TypeAlias = wg.ArrayLayer[tuple[Literal[3]]]
Scalar: TypeAlias = wg.ArrayLayer[tuple[()]]


def case_chains() -> None:
    assert_type(td.Vector(2) >> td.FC(3), td.Block[td.Row, V3])
    net = td.FC(4) >> td.FC(3)
    assert_type((td.Vector(2) >> net).build([1, 2]), V3)
    assert_type(td.Scalar("int64") >> td.Embedding(10, 3), td.Block[SupportsFloat, V3])


def case_parts() -> None:
    both = td.Record({"a": td.Scalar(), "b": td.Vector(2)})
    assert_type((both >> td.Concat()).build({"a": 1, "b": [1, 2]}), V3)
    assert_type(({"a": td.Scalar(), "b": td.Vector(2)} >> td.Concat()).build({"a": 1, "b": [1, 2]}), V3)
    assert_type(((td.Scalar(), (td.Scalar(), td.Scalar())) >> td.Concat(flatten=True)).build((1, (2, 3))), V3)
    assert_type((both >> td.GetItem(1) >> td.FC(3)).build({"a": 1, "b": [1, 2]}), V3)
    assert_type(td.Vector(2) >> td.AllOf(td.FC(3), td.Function(wg.sum)), td.Block[td.Row, tuple[V3, Scalar]])


def case_functions() -> None:
    assert_type(td.Vector(3) >> td.Function(lambda x: wg.sum(x * 2.0)), td.Block[td.Row, Scalar])
    double = td.Function(lambda x: x * 2.0)
    assert_type(td.Vector(3) >> double, td.Block[td.Row, V3])
    assert_type(td.Scalar() >> double, td.Block[SupportsFloat, Scalar])
    assert_type(((td.Vector(2), td.Tensor((2, 3))) >> td.Function(wg.matmul)).build(([1, 2], [])), V3)


def case_sequences() -> None:
    rows = td.Map(td.Vector(3))
    assert_type((rows >> td.Sum()).build([[1, 2, 3]]), V3)
    assert_type((rows >> td.Fold(td.Function(wg.add), td.Zeros(3))).build([]), V3)
    assert_type((rows >> td.NGrams(2) >> td.Map(td.Concat() >> td.FC(3))).build([]), list[V3])
    assert_type((rows >> td.Stack() >> td.Function(lambda x: wg.sum(x, axis=0))).build([]), V3)
    assert_type((td.Map(td.Scalar("int64")) >> td.Stack()).build([]), IntegerArray)


def case_choices() -> None:
    assert_type(td.OneOf(bool, {True: td.Vector(3), False: td.Vector(2) >> td.FC(3)}).build([]), V3)
    assert_type(td.Optional(td.Vector(3), td.Zeros(3)).build(None), V3)


@td.composition
def wired(x: td.Wire[wg.ArrayLayer[tuple[Literal[2]]]]) -> td.Wire[V3]:
    assert_type(td.FC(4)(x), td.Wire[wg.ArrayLayer[tuple[Literal[4]]]])
    return td.FC(3)(x)


def case_wires() -> None:
    assert_type(td.Vector(2) >> wired, td.Block[td.Row, V3])
    td.Vector(4) >> wired  # E[operator]


def case_embeddings(x: td.Wire[wg.ArrayLayer[tuple[Literal[2]]]]) -> None:
    td.Embedding(3, 2)(x)  # E[arg-type]: it takes an integer
