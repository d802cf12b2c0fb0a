"""What blocks are: values, with names, and errors that say both types and the user's line."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.fold.made import Unchecked, made
from wengert import fold as td
from wengert.errors import BlockError, ShapeError, WengertError

add: Unchecked = td.Function(wg.add)


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_a_block_is_used_any_number_of_times() -> None:  # F3
    scalar = made.Scalar()
    block = made.Record((scalar, made.Map(scalar), made.AllOf(scalar, scalar))) >> made.Identity()
    assert str(block.eval((1, [2, 3], 4))[2][1]) == "4.0"
    assert scalar.eval(5) == 5.0
    assert (scalar >> made.Function(wg.exp)).eval(0) == 1.0


def test_building_computes_nothing() -> None:  # F1
    block = made.Scalar() >> made.Function(wg.log)
    layer = block.build(0)
    assert isinstance(layer, wg.ArrayLayer)
    with np.errstate(divide="ignore"):
        assert layer.predict().run() == -np.inf


def test_a_list_that_was_built_is_nobody_elses() -> None:
    for block in (made.Zeros(td.SequenceType(td.TensorType(()))), made.Optional(made.Map(made.Scalar()))):
        block.build(None).append(1)
        assert block.build(None) == []


def test_data_that_are_given_back_are_what_they_were() -> None:  # F12
    class Point(NamedTuple):
        x: int
        y: list[int]

    point = Point(1, [2])
    assert made.Identity().eval(point) is point
    kept, number = made.AllOf(made.Identity(), made.GetItem(0) >> made.Scalar()).eval(point)
    assert kept is point and number == 1.0
    endless = (made.Scalar() >> made.Function(wg.exp) >> made.Broadcast()).eval(0)
    assert next(endless) == 1.0


def test_shared_parts_are_built_once() -> None:
    calls: list[int] = []

    def seen(x: int) -> int:
        calls.append(x)
        return x

    @td.composition
    def twice(x: td.Wire[int]) -> td.Wire[td.Tensors]:
        y = (td.InputTransform(seen) >> td.Scalar())(x)
        return td.Function(wg.add)(y, y)

    assert twice.eval(3) == 6.0
    assert calls == [3]


def test_blocks_show_constructor_name_and_arguments() -> None:  # F8
    assert repr(td.Scalar()) == "<td.Scalar dtype='float32'>"
    assert repr(td.Vector(3, name="v")) == "<td.Vector 'v' size=3 dtype='float32'>"
    assert repr(made.Map(td.Vector(3, name="v"))) == "<td.Map elem_block=<td.Vector 'v'>>"
    with pytest.raises(TypeError, match="a name is a string; got 3"):
        made.Scalar(name=3)


def test_a_mismatch_names_both_types_and_both_blocks_and_the_line() -> None:  # F9
    with pytest.raises(BlockError) as caught:
        made.Vector(3) >> made.Function(wg.exp) >> made.Scalar()
    text, here = str(caught.value), line() - 1
    for part in ("<td.Function function=exp>", "is float32 (3,)", "<td.Scalar", "is object", f".py:{here}"):
        assert part in text, text


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: made.Function(3), "it takes a function of layers"),
        (lambda: made.InputTransform(3), "it takes a function of data"),
        (lambda: made.InputTransform(str) >> made.Function(wg.exp), "a function takes a tensor"),
        (lambda: made.Scalar() >> made.Function(lambda x: "text"), "it gave 'text'"),
        (lambda: made.Map(made.Scalar()) >> made.Function(wg.exp), "a function takes a tensor"),
        (lambda: made.Scalar() >> wg.exp, "is no block; write td.Function"),
        (lambda: made.Scalar() >> 3, "3 is no block"),
        (lambda: made.Optional(made.Scalar(), made.Zeros(3)), r"float32 \(\), but .* is float32 \(3,\)"),
        (
            lambda: made.OneOf(bool, (made.Scalar(), made.Vector(2))),
            r"float32 \(\), but .* is float32 \(2,\)",
        ),
        (lambda: made.OneOf(3, (made.Scalar(),)), "a function of data, or by a block"),
        (lambda: made.OneOf(bool, ()), "there are no cases"),
        (lambda: made.Record(3), "children are a dict"),
        (lambda: made.Record([made.Scalar()]), "pairs of a key and a block"),
        (lambda: made.AllOf(made.Scalar(), made.Scalar()) >> (made.Identity(),), "has 2 parts, and it has 1"),
        (lambda: made.Scalar() >> made.Concat(), "it joins a tuple"),
        (lambda: (made.AllOf(made.Identity()) >> made.Concat()).eval("a"), "it joins a tuple"),
        (lambda: made.AllOf(made.Scalar(), made.AllOf(made.Scalar())) >> made.Concat(), "flatten=True"),
        (
            lambda: made.AllOf(made.Scalar(), made.Scalar("float64")) >> made.Concat(),
            "whose dtypes differ",
        ),
        (lambda: made.AllOf(made.Vector(2), made.Vector(2)) >> made.Concat(1), r"\(2,\) has no axis 1"),
        (lambda: (made.Scalar(), made.Vector(2)) >> made.Map(made.Function(wg.exp)), "part 1 of its input"),
        (lambda: made.Scalar() >> made.Map(made.Function(wg.exp)), r"is float32 \(\); it takes a list"),
        (lambda: made.Scalar() >> made.Zip(), "a tuple of sequences"),
        (lambda: made.Scalar() >> made.Broadcast() >> made.Sum(), "is endless"),
        (lambda: made.Scalar() >> made.Broadcast() >> made.Length(), "is endless"),
        (lambda: made.NGrams(0), "at least one element"),
        (lambda: made.Map(made.Scalar("int32")) >> made.Mean(), "is no integer"),
        (lambda: made.Scalar() >> made.GetItem("a"), "of which 'a' takes nothing"),
        (lambda: (made.Scalar(),) >> made.GetItem(3), "has no part 3"),
        (lambda: made.RNN(add, made.FromTensor(0.0), initial_state_from_input=True), "only one can be"),
        (
            lambda: made.Map(made.Scalar()) >> made.RNN(made.Function(lambda x, s: (x, x)), made.Zeros(2)),
            r"and the state is \(\?, float32 \(2,\)\)",
        ),
        (
            lambda: made.Map(made.Scalar()) >> made.Fold(made.Function(lambda s, x: x), made.Zeros(2)),
            r"the state is float32 \(2,\)",
        ),
        (lambda: made.Scalar() >> made.FC(2), "it takes a vector"),
        (lambda: made.Scalar() >> made.Embedding(2, 2), "it takes an integer"),
        (lambda: made.FC(2).weights, "no weights before the type of its input is known"),
        (lambda: made.FC(0), "at least one unit"),
        (lambda: made.Embedding(2, 2, np.ones((3, 2))), r"of shape \(2, 2\)"),
    ],
)
def test_blocks_that_do_not_fit_are_refused_when_they_are_put_together(make: Unchecked, text: str) -> None:
    with pytest.raises(WengertError, match=f"(?s){text}.*test_blocks.py:"):
        make()


@pytest.mark.parametrize(
    ("block", "x", "error", "text"),
    [
        (td.Vector(3), [1, 2], ShapeError, r"expected float32 \(3,\); \[1, 2\] has shape \(2,\)"),
        (td.Scalar(), "seven", TypeError, "'seven' is not of such numbers"),
        (td.Scalar("int32"), 1.5, TypeError, "1.5 is not of such numbers"),
        (td.Scalar("int8"), 300, TypeError, "300 is not of such numbers"),
        (td.GetItem("a"), {"b": 1}, KeyError, "has nothing under 'a'"),
        (td.GetItem(3), [1], IndexError, "has no element 3"),
        (td.GetItem(3), 1, TypeError, "1 is not indexed by 3"),
        (td.Nth[Any](), ([], 0), IndexError, "an empty list has no element 0"),
        (td.Nth[Any](), ([1], "a"), TypeError, "a place is an integer, not 'a'"),
        (made.OneOf(len, {1: td.Scalar()}), "ab", KeyError, "there is no case 2; the cases are 1"),
        (made.OneOf(list, {1: td.Scalar()}), "ab", KeyError, "there is no case"),
        (td.Embedding(3, 2, mod_inputs=False).set_input_type("int32"), np.int32(3), ValueError, "none at 3"),
    ],
)
def test_data_that_do_not_fit_are_refused_when_they_are_built(
    block: Unchecked, x: object, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=f"(?s){text}.*test_blocks.py:") as caught:
        block.build(x)
    assert isinstance(caught.value, WengertError)


def test_an_error_of_the_users_own_function_says_in_which_block() -> None:
    block = made.InputTransform(lambda x: 1 / x) >> td.Scalar()
    with pytest.raises(ZeroDivisionError) as caught:
        block.build(0)
    assert any("InputTransform" in note and "test_blocks.py:" in note for note in caught.value.__notes__)


def test_an_error_of_a_traced_function_is_the_operations_own() -> None:
    with pytest.raises(ShapeError, match="matmul") as caught:
        made.Vector(3) >> made.Function(lambda x: wg.matmul(x, wg.literal(np.ones((2, 2), np.float32))))
    assert any("was traced for float32 (3,)" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("function", "operation"),
    [
        (lambda x, i: wg.cross_entropy(x * 2.0, i), "lambda"),
        (lambda x, i: wg.take(x, i) * 2.0, "lambda"),
        (lambda x, i: wg.take(x * 2.0, int(i)), "take"),  # no cell: a cell's operands have no value
        (lambda x, i: x * 2.0 if i == 1 else x, "multiply"),
    ],
)
def test_a_function_of_integers_is_a_cell_unless_it_asks_for_them(
    function: Unchecked, operation: str
) -> None:
    block = made.Record((td.Vector(3), td.Scalar("int32"))) >> made.Function(function)
    layer = block.build(([1, 2, 3], 1))
    assert layer.signature.operation.name.endswith(operation)
    expected = function(wg.lift(np.array([1, 2, 3], np.float32)), np.array(1, np.int32)).predict().run()
    np.testing.assert_array_equal(layer.predict().run(), expected)


def test_a_layer_was_written_where_its_block_was() -> None:
    double, three = made.Function(lambda x: x * 2.0), made.Scalar()
    here = line() - 1
    layer = (three >> double).build(3)
    assert layer.site.endswith(f"test_blocks.py:{here}")
    (number,) = layer.operands
    assert number.site.endswith(f"test_blocks.py:{here}")


def test_an_input_of_layers_is_checked() -> None:
    double = made.Function(lambda x: x * 2.0)
    x = wg.literal(np.ones(3, np.float32))
    assert double.eval(x).tolist() == [2.0, 2.0, 2.0]
    pair = made.Function(wg.add).set_input_type((3, 3))
    assert pair.eval((x, x)).tolist() == [2.0, 2.0, 2.0]
    for wrong in ((x,), (x, wg.literal(np.ones(2, np.float32))), [x, x], 1.0):
        with pytest.raises(TypeError, match=r"its input is \(float32 \(3,\), float32 \(3,\)\)"):
            pair.eval(wrong)


def test_a_function_is_traced_once_for_a_type() -> None:
    traces: list[Any] = []

    def double(x: Any) -> Any:
        traces.append(x.shape)
        return x * 2.0

    block = made.Map(made.Vector(2) >> made.Function(double))
    before = len(traces)
    block.eval([[1, 2]] * 50)
    assert len(traces) - before <= 1
    assert set(traces) == {(2,)}


def test_keywords_are_those_of_fold() -> None:
    one = made.OneOf(key_fn=lambda x: x > 0, case_blocks={True: made.Scalar(), False: made.FromTensor(0.0)})
    some = made.Optional(some_case=made.Scalar(), none_case=4.0)
    total = made.Map(elem_block=made.Scalar()) >> made.Fold(
        combine_block=made.Function(wg.add), start_block=made.Zeros("float32")
    )
    least = made.Map(made.Scalar()) >> made.Reduce(
        combine_block=made.Function(wg.minimum), default_block=made.FromTensor(9.0)
    )
    assert [one.eval(-3), some.eval(None), total.eval([1, 2]), least.eval([])] == [0.0, 4.0, 3.0, 9.0]
    record = made.Record(named_children={"a": made.InputTransform(py_fn=len) >> made.Scalar()})
    assert record.eval({"a": "xy"}) == (2.0,)
    table = made.Embedding(num_buckets=3, num_units_out=2)
    assert (table.num_buckets, table.num_units_out, made.FC(num_units_out=4).output_size) == (3, 2, 4)
    net = made.FractalNet(1, 1, base_layer_builder=lambda: made.Function(wg.negative), mixer=None)
    assert (made.Scalar() >> net).eval(2.0) == 0.0  # the mean of -2 and 2
    assert td.SequenceType(td.TensorType(())).element_type == td.TensorType(())
