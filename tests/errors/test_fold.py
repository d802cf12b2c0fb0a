"""Blocks of `wengert.fold`: joined wrongly, and given what they do not take."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wengert import fold

from .golden import Unchecked, raising, said, wg

td: Unchecked = fold
numbers: Unchecked = td.Map(td.Scalar())


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "what does not fit": (
        lambda: td.Vector(3) >> td.FC(2) >> td.OneHot(5),
        "BlockError: <td.Pipe blocks=(<td.Pipe>, <td.OneHot>)>: the output of <td.FC "
        "num_units_out=2> is float32 (2,), but the input of <td.OneHot start=5 stop=None> is "
        "object\n"
        "  at here",
    ),
    "a sum of two shapes": (
        lambda: numbers >> td.Reduce(td.Concat()),
        "BlockError: <td.Reduce combine_block=<td.Concat>>: an element is float32 (), but the "
        "output of <td.Concat concat_dim=0 flatten=False> is float32 (2,)\n"
        "  at here",
    ),
    "a name that is none": (
        lambda: td.Scalar(name=3),
        "BlockError: td.Scalar: a name is a string; got 3\n  at here",
    ),
    "lists for a compiler": (
        lambda: td.Compiler.create(numbers),
        "BlockError: <td.Map elem_block=<td.Scalar>>: its output is list of float32 (), which "
        "has objects or lists in it; td.Compiler.create(block, lists=True) takes lists\n"
        "  at test_fold.py:N",
    ),
    "no example": (
        lambda: td.Compiler.create(td.Scalar()).build([]),
        "BlockValueError: <td.Scalar dtype='float32'>: a batch has at least one example\n  at here",
    ),
    "a declaration that is not resolved": (
        lambda: td.ForwardDeclaration()().eval(3),
        "BlockError: <td.Reference>: <td.ForwardDeclaration>, made at here, was never resolved\n  at here",
    ),
    "a composition without an output": (
        lambda: td.Composition().eval(3),
        "BlockError: <td.Composition>: nothing is connected to its output\n  at here",
    ),
    "a function that gives a number": (
        lambda: (td.Scalar() >> td.Function(lambda x: 3)).eval(1),
        "BlockError: <td.Function function=<lambda>>: it gave 3; a function gives a layer, "
        "or a tuple of layers\n"
        "  at here",
    ),
    "a function of other shapes": (
        lambda: (td.AllOf(td.Vector(2), td.Vector(3)) >> td.Function(wg.add)).eval([1, 2]),
        "ShapeError: add: shapes (2,) and (3,) do not broadcast: 2 and 3 differ\n"
        "  operand 0: layer forward (2,) float32, built at here\n"
        "  operand 1: layer forward (3,) float32, built at here\n"
        "  at here\n"
        "+ while <td.Function function=add> was traced for (float32 (2,), float32 (3,)); the "
        "block was made at here",
    ),
    "data of another size": (
        lambda: td.Vector(3).eval([1, 2]),
        "ShapeError: <td.Vector size=3 dtype='float32'>: expected float32 (3,); [1, 2] has "
        "shape (2,)\n"
        "  at here\n"
        "+ while <td.Vector size=3 dtype='float32'> was built; the block was made at here",
    ),
    "a class that is none": (
        lambda: td.OneHot(3).eval(7),
        "BlockKeyError: <td.OneHot start=3 stop=None>: 7 is no integer from 0 to 2\n  at here",
    ),
    "a case that is none": (
        lambda: td.OneOf(len, {1: td.Vector(1), 2: td.Vector(2)}).eval([1, 2, 3]),
        "BlockError: <td.OneOf key_fn=len case_blocks={1: <td.Vector size=1 dtype='float32'>, 2: "
        "<td.Vector size=2 ...>: the output of the cases is float32 (1,), but the output of "
        "<td.Vector size=2 dtype='float32'> is float32 (2,)\n"
        "  at here",
    ),
    "a key that is not there": (
        lambda: td.GetItem("a").eval({"b": 1}),
        "BlockKeyError: <td.GetItem key='a'>: {'b': 1} has nothing under 'a'\n  at here",
    ),
    "a record without a key": (
        lambda: td.Record({"a": td.Scalar()}).eval({"b": 1}),
        "BlockKeyError: <td.Record named_children={'a': <td.Scalar dtype='float32'>}>: {'b': 1} "
        "has nothing under 'a'\n"
        "  at here",
    ),
    "a number for a sequence": (
        lambda: numbers.eval(3),
        "BlockError: <td.Map elem_block=<td.Scalar>>: its input is 3; it takes a list, or a tuple "
        "of one type\n"
        "  at test_fold.py:N",
    ),
    "a function of layers that fails": (
        lambda: (td.Scalar() >> td.Function(raising)).eval(1),
        "Boom: of my own\n"
        "+ while <td.Function function=raising> was traced for float32 (); the block was "
        "made at here",
    ),
    "a function of data that fails": (
        lambda: (td.InputTransform(raising) >> td.Scalar()).eval(1),
        "Boom: of my own\n"
        "+ while <td.InputTransform py_fn=raising> was built from the data; the block was "
        "made at here",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    action, text = CASES[name]
    assert said(action) == text
