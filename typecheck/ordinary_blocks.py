"""Ordinary programs of `wengert.fold`, which run and are accepted as they stand, with and without the mypy plugin."""

from __future__ import annotations

from typing import SupportsFloat, assert_type

import numpy as np

import wengert as wg
from wengert import fold as td
from wengert.arrays import IntegerArray


def case_unlike_parts() -> None:
    td.Record({"a": td.Scalar(), "b": td.Vector(2)}) >> td.Concat()
    td.Record([("a", td.Scalar()), (slice(1, 3), (td.Scalar(), td.Scalar()) >> td.Concat())])
    {"a": td.Scalar(), "b": td.Vector(2)} >> td.Concat()
    (td.Scalar(), td.Vector(2)) >> td.Concat()
    (td.Scalar(), td.Scalar(), td.Scalar(), td.Scalar()) >> td.Concat()
    (td.Vector(1), (td.Vector(2), td.Vector(3))) >> td.Concat(flatten=True)
    (td.Scalar(), td.Scalar(), td.Scalar()) >> td.Mean()
    (td.Scalar(), td.Scalar()) >> td.Map(td.Function(wg.negative))
    td.Map({"b": td.Scalar(), "c": td.Scalar()}) >> td.Map(td.Function(wg.add)) >> td.Sum()
    td.AllOf(td.Identity(), td.Scalar(), td.Scalar(), td.Vector(2), td.Vector(2))
    td.Pipe((td.Scalar(), td.Vector(2)), td.Concat(), td.FC(3))
    td.Pipe(td.GetItem("age"), td.Scalar()).build({"age": 7})


def case_constants_for_blocks() -> None:
    td.Map(td.Scalar()) >> td.Fold(td.Function(wg.add), 0.0)
    td.Map(td.Scalar()) >> td.Reduce(td.Function(wg.add), 0.0)
    td.Map(td.Scalar()) >> td.Fold(td.Function(lambda s, x: s + x), np.float32(0))
    td.Map(td.Vector(2)) >> td.Fold(td.Function(wg.add), np.zeros(2, np.float32))
    td.Map(td.Scalar()) >> td.RNN(td.Function(lambda x, s: (x * s, s + x)), 0.0)
    td.Optional(td.Scalar(), np.float32(42))
    td.Optional({"a": td.Map({"b": td.Scalar()}), "d": td.Vector(3)})
    td.OneOf(bool, {True: td.Scalar(), False: td.FromTensor(0.0)})
    td.FromTensor("zero")  # E
    td.Map(td.Scalar()) >> td.Fold(td.Function(wg.add), "zero")  # E[arg-type]
    td.Optional(td.Scalar(), "zero")  # E[arg-type]
    td.Record({"a": "zero"})  # E


def case_windows() -> None:
    td.Map(td.Scalar()) >> td.NGrams(2) >> td.Map(td.Function(wg.add)) >> td.Sum()
    td.Map(td.Scalar()) >> td.NGrams(3) >> td.Map(td.Concat()) >> td.Map(td.FC(2))
    td.NGrams("2")  # E


def case_functions_without_types() -> None:
    double = td.Function(lambda x: x * 2.0)
    total = td.Function(lambda x, y: x + y)
    same = td.Identity()
    td.Scalar() >> double >> same >> td.Function(wg.relu)
    td.Vector(3) >> double
    td.Scalar("float64") >> double
    td.Scalar("int32") >> td.Function(lambda x: x * x)
    (td.Scalar(), td.Scalar()) >> total >> double
    (td.Vector(1), (td.Vector(2), td.Vector(3))) >> td.Function(lambda x, y: ((y[1], x), y[0]))
    tree = td.ForwardDeclaration()
    tree.resolve_to(td.OneOf(bool, {True: td.Scalar(), False: td.Record((tree(), tree())) >> total}))
    td.Function(3)  # E


def case_places_of_data() -> None:
    assert td.Nth().eval(("abc", -1)) == "c"
    assert td.GetItem("a").eval({"a": 1}) == 1


def case_columns_of_integers() -> None:
    labelled = td.Compiler.create(td.Record((td.Vector(2) >> td.FC(3), td.Scalar("int64"))))
    logits, labels = labelled.build([([1, 2], 1)]).output_tensors
    assert_type(logits, td.Tensors)
    assert_type(labels, IntegerArray)
    named = td.Compiler.create(td.Record({"x": td.Vector(2) >> td.FC(3), "y": td.Scalar("int64")}))
    wg.cross_entropy(*named.build([{"x": [1, 2], "y": 1}]).output_tensors)
    assert_type(td.Compiler.create(td.Scalar("int64")), td.Compiler[SupportsFloat, tuple[IntegerArray]])
    assert_type(td.Compiler.create(td.Scalar()), td.Compiler[SupportsFloat])
    wg.exp(labels)  # E
    td.Compiler.create(td.Map(td.Scalar()))  # E
    td.Compiler.create(td.InputTransform(len))  # E
