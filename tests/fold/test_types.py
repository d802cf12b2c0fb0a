"""Run-time types, short forms, and what is known of a block's two sides (F10 to F19)."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.fold.made import Unchecked, made
from wengert import fold as td
from wengert.errors import BlockError
from wengert.fold.convert import type_of
from wengert.fold.inference import Mismatch, Unknown, known, unify
from wengert.graph.evidence import lift

FLOAT = td.TensorType(())
OBJECT = td.PyObjectType()


def test_types_are_equal_by_value_and_hashable() -> None:  # F16
    types = [
        td.TensorType((2, 3), "int32"),
        td.TensorType([2, 3], np.int32),
        td.VoidType(),
        td.VoidType(),
        td.TupleType(FLOAT, OBJECT),
        td.TupleType([FLOAT, OBJECT]),
        td.SequenceType(FLOAT),
        td.BroadcastSequenceType(FLOAT),
    ]
    assert len(set(types)) == 5
    assert td.SequenceType(FLOAT) != td.BroadcastSequenceType(FLOAT)
    assert isinstance(td.BroadcastSequenceType(FLOAT), td.SequenceType)  # F15


def test_a_tensor_type_has_shape_dtype_rank_and_size() -> None:  # F10
    of = td.TensorType((2, 3), "int64")
    assert (of.shape, of.dtype, of.ndim, of.size) == ((2, 3), "int64", 2, 6)
    assert (td.TensorType(()).ndim, td.TensorType(()).size) == (0, 1)


@pytest.mark.parametrize("shape", [3, (-1,), (2.0,), None])
def test_a_shape_is_of_integers(shape: Unchecked) -> None:
    with pytest.raises(BlockError, match=r"(?s)a shape is a tuple or list of integers.*test_types\.py:"):
        td.TensorType(shape)


@pytest.mark.parametrize("dtype", ["string", None, object, "complex64"])
def test_a_dtype_is_of_numbers(dtype: Unchecked) -> None:
    with pytest.raises(TypeError, match="a dtype is the name of an element type"):
        td.TensorType((), dtype)


def test_sizes_are_in_scalars() -> None:  # F16
    assert td.TupleType(td.TensorType((2, 3)), td.VoidType(), FLOAT).size == 7
    assert td.TupleType(FLOAT, OBJECT).size is None
    assert td.SequenceType(FLOAT).size is None


def test_values_are_taken_apart_and_put_together() -> None:  # F16
    of = td.TupleType(FLOAT, td.SequenceType(td.TupleType(OBJECT, FLOAT)), td.VoidType())
    value = (1, [("a", 2), ("b", 3)], None)
    assert of.flatten(value) == [1, "a", 2, "b", 3]
    assert of.unflatten("vwxyz", value) == ("v", [("w", "x"), ("y", "z")], None)
    assert [str(t) for t in of.terminal_types()] == ["float32 ()", "object", "float32 ()"]
    endless = td.BroadcastSequenceType(FLOAT)
    assert endless.flatten(itertools.repeat(4)) == [4]
    assert next(endless.unflatten([5], itertools.repeat(4))) == 5
    with pytest.raises(BlockError, match="fewer terminals than it has"):
        of.unflatten("vwxy", value)


def test_tuple_types_are_like_tuples() -> None:  # F13
    of = td.TupleType(FLOAT, OBJECT, td.VoidType())
    assert (len(of), of[1], of[1:], list(of)[2]) == (
        3,
        OBJECT,
        td.TupleType(OBJECT, td.VoidType()),
        td.VoidType(),
    )
    with pytest.raises(TypeError, match="the parts are types"):
        td.TupleType(made.Scalar)
    with pytest.raises(TypeError, match="the elements have a type"):
        td.SequenceType(made.Scalar)


@pytest.mark.parametrize(
    ("short", "of"),
    [
        (FLOAT, FLOAT),
        ([2, 3], td.TensorType((2, 3))),
        ([], FLOAT),
        ([2, "int32"], td.TensorType((2,), "int32")),
        ("int32", td.TensorType((), "int32")),
        (np.float64, td.TensorType((), "float64")),
        (3, td.TensorType((3,))),
        (((), 3), td.TupleType(td.TupleType(), td.TensorType((3,)))),
    ],
)
def test_short_forms_of_types(short: object, of: td.ResultType) -> None:  # F17
    assert td.convert_to_type(short) == of


@pytest.mark.parametrize("short", [None, "word", 2.5, {}, True])
def test_what_is_no_type(short: object) -> None:
    with pytest.raises(TypeError, match="a type is a type of"):
        td.convert_to_type(short)


def test_objects_in_tuples_and_lists_are_an_object() -> None:  # F18
    assert td.canonicalize_type((OBJECT, td.SequenceType(td.TupleType(OBJECT)))) == OBJECT
    assert td.canonicalize_type(()) == td.TupleType()
    assert td.canonicalize_type((OBJECT, FLOAT)) == td.TupleType(OBJECT, FLOAT)
    endless = td.BroadcastSequenceType(td.TupleType(OBJECT))
    assert td.canonicalize_type(endless) == td.BroadcastSequenceType(OBJECT)


def test_types_of_values() -> None:
    x = lift(np.ones(2, np.float32))
    vector = td.TensorType((2,))
    assert type_of((x, [x, x], "a")) == td.TupleType(vector, td.SequenceType(vector), OBJECT)
    assert type_of([1, "a"]) == OBJECT
    deep: Any = x
    for _ in range(100_000):
        deep = [deep]
    assert isinstance(type_of(deep), td.ResultType)


def test_unification_finds_what_two_types_say_together() -> None:
    a, b = Unknown(), Unknown()
    unify(td.TupleType(a, FLOAT), td.TupleType(td.SequenceType(b), b))
    assert known(a) == td.SequenceType(FLOAT)
    c = Unknown()
    unify(td.TupleType(c, OBJECT), OBJECT)
    assert known(c) == OBJECT


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (FLOAT, OBJECT),
        (FLOAT, td.TensorType((), "float64")),
        (td.TupleType(FLOAT), td.TupleType(FLOAT, FLOAT)),
        (td.SequenceType(FLOAT), td.BroadcastSequenceType(FLOAT)),
        (td.TupleType(FLOAT), td.SequenceType(FLOAT)),
        (td.TupleType(), OBJECT),
    ],
)
def test_unification_refuses(a: td.ResultType, b: td.ResultType) -> None:
    with pytest.raises(Mismatch):
        unify(a, b)


def test_a_type_is_no_part_of_itself() -> None:
    a = Unknown()
    with pytest.raises(Mismatch):
        unify(a, td.SequenceType(a))


def test_both_sides_of_a_block_are_known_as_soon_as_that_is_possible() -> None:  # F6, F19
    assert td.Function(lambda x: x * 2.0).output_type is None
    chain = td.Scalar() >> td.Function(lambda x: x * 2.0)
    assert (chain.input_type, chain.output_type) == (OBJECT, FLOAT)
    backward = td.Identity[Any]() >> td.Scalar()
    assert backward.input_type == OBJECT
    assert (td.Map(made.Identity()) >> td.Vector(3)).input_type == OBJECT
    numbers = td.SequenceType(FLOAT)
    assert made.Map(made.Function(lambda x: x * 2.0)).set_output_type(numbers).output_type == numbers
    assert made.Map(made.Identity()).set_output_type(numbers)._element.input_type is None, "of this use only"
    assert (td.Map(td.Scalar()) >> td.Reduce(made.Function(lambda a, b: a * b))).output_type == FLOAT


def test_types_can_be_declared_and_the_block_stays_as_it_was() -> None:  # F3, F19
    block = td.Identity[Any]()
    declared = block.set_input_type([3])
    assert (block.output_type, declared.output_type) == (None, td.TensorType((3,)))
    assert td.Identity[Any]().set_output_type(3).input_type == td.TensorType((3,))
    assert td.Identity[Any]().set_io_types(declared).input_type == td.TensorType((3,))
    assert declared.set_input_type([3]).input_type == td.TensorType((3,))
    with pytest.raises(
        TypeError, match=r"the input is float32 \(3,\), and cannot be declared as float32 \(\)"
    ):
        declared.set_input_type([])


def test_one_identity_has_a_type_for_each_use() -> None:  # F3
    same = td.Identity[Any]()
    block = td.Record((td.Scalar() >> made.Identity(), td.Vector(2)))
    both = td.Record((made.Pipe(td.Scalar(), same), made.Pipe(td.Vector(2), same)))
    assert both.output_type == block.output_type == td.TupleType(FLOAT, td.TensorType((2,)))


def test_an_unknown_type_is_named_with_block_and_side() -> None:  # F6
    tree: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration(name="tree")
    block = made.OneOf(bool, {True: made.InputTransform(list) >> tree(), False: td.InputTransform(str)})
    tree.resolve_to(block)
    assert block.output_type == OBJECT
    first: Unchecked = td.ForwardDeclaration(name="first")
    block = made.GetItem(0) >> first()
    first.resolve_to(block)
    with pytest.raises(TypeError, match="the type of its output is not known; set_output_type says it"):
        block.eval([1])


def test_the_class_of_a_type_can_be_declared() -> None:  # F19
    tensors = td.Identity[Any]().set_input_type_classes(td.TensorType, td.StackedType)
    assert (td.Scalar() >> tensors).output_type == FLOAT
    with pytest.raises(
        TypeError, match=r"(?s)its input is object, and was declared as a TensorType or StackedType"
    ):
        td.InputTransform(str) >> tensors
    with pytest.raises(TypeError, match=r"its output is .*, and was declared as a TupleType"):
        td.Scalar().set_output_type_classes(td.TupleType)
    with pytest.raises(TypeError, match="was declared as a TensorType"):
        made.Map(made.Scalar() >> made.Broadcast() >> tensors)


def test_stacks_are_types() -> None:  # F44
    of = td.StackedType(td.TensorType((2,)))
    assert of == td.StackedType(td.TensorType((2,))) != td.StackedType(FLOAT)
    assert (of.size, of.parts, list(of.terminal_types())) == (None, (), [of])
    assert not of.holds(FLOAT)
    assert not of.holds(None)
    assert not of.holds(td.TensorType((4, 3)))
    x = lift(np.ones((4, 2), np.float32))
    block = made.Identity().set_input_type(of)
    assert block.eval(x).shape == (4, 2)
    with pytest.raises(TypeError, match=r"is no float32 \(any, 2\)"):
        block.eval(lift(np.ones((4, 3), np.float32)))
