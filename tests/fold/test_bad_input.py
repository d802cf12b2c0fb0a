"""What a person gets wrong with blocks and trees: one error each, whose whole text is here.

Knows: the texts.
Refuses to know: how they come about.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.errors.golden import Unchecked, said
from wengert import errors, fold
from wengert.data import sst, tree
from wengert.ops import tanh

td: Unchecked = fold
numbers: Unchecked = td.Map(td.Scalar())
CYCLE = (
    "which begins with <td.ForwardDeclaration> on the same input: that is a cycle without an end; take the data "
    "apart first, or choose by OneOf\n  at here"
)


def into_itself() -> object:
    tree_of = td.ForwardDeclaration()
    tree_of.resolve_to(tree_of() >> td.Function(lambda x: x * 2.0))
    return None


def into_each_other() -> object:
    one, other = td.ForwardDeclaration(), td.ForwardDeclaration()
    first, second = one(), other()
    one.resolve_to(second)
    other.resolve_to(first)
    return None


def never() -> object:
    tree_of = td.ForwardDeclaration()
    return td.Compiler.create(numbers >> td.Map(tree_of()) >> td.Sum())


def twice() -> object:
    tree_of = td.ForwardDeclaration()
    tree_of.resolve_to(td.Scalar())
    tree_of.resolve_to(td.Scalar())
    return None


def too_late() -> object:
    tree_of = td.ForwardDeclaration()
    tree_of.resolve_to(td.Scalar())
    return tree_of()


def of_another_type() -> object:
    tree_of = td.ForwardDeclaration(td.PyObjectType(), td.TensorType((3,)))
    tree_of.resolve_to(td.Vector(4))
    return None


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "a declaration that is resolved to itself": (
        into_itself,
        f"BlockError: <td.ForwardDeclaration> is resolved to <td.Pipe blocks=(<td.Reference>, <td.Function>)>, {CYCLE}",
    ),
    "two that are resolved to each other": (
        into_each_other,
        f"BlockError: <td.ForwardDeclaration> is resolved to <td.Reference>, {CYCLE}",
    ),
    "one that is not resolved": (
        never,
        "BlockError: <td.Reference>: <td.ForwardDeclaration>, made at here, was never resolved\n  at here",
    ),
    "one that is resolved twice": (
        twice,
        "BlockValueError: <td.ForwardDeclaration> is resolved already\n  at here",
    ),
    "one that is used late": (
        too_late,
        "BlockValueError: <td.ForwardDeclaration> is resolved: use the block itself\n  at here",
    ),
    "one that is resolved to what it was not declared as": (
        of_another_type,
        "BlockError: <td.Reference>: the output of <td.ForwardDeclaration> is float32 (3,), but the "
        "output of its block is float32 (4,)\n"
        "  at here",
    ),
    "a layer for a layer of another size": (
        lambda: td.Vector(3) >> td.FC(2).set_input_type(4),
        "BlockError: <td.Pipe blocks=(<td.Vector>, <td.FC>)>: the output of <td.Vector size=3 "
        "dtype='float32'> is float32 (3,), but the input of <td.FC num_units_out=2> is float32 (4,)\n"
        "  at here",
    ),
    "a step that does not give its state": (
        lambda: td.Map(td.Vector(3)) >> td.Fold(td.Concat() >> td.FC(4), td.Zeros(5)),
        "BlockError: <td.Pipe blocks=(<td.Concat>, <td.FC>)>: the output of <td.FC num_units_out=4> is "
        "float32 (4,), but its output where it stands is float32 (5,)\n"
        "  at here",
    ),
    "one number for a list": (
        lambda: td.Scalar() >> td.Map(td.Function(lambda x: x)),
        "BlockError: <td.Map elem_block=<td.Function>>: its input is float32 (); it takes a list, or a "
        "tuple of one type\n"
        "  at here",
    ),
    "a number as data for a list": (
        lambda: (numbers >> td.Mean()).eval(3),
        "BlockError: <td.Map elem_block=<td.Scalar>>: its input is 3; it takes a list, or a tuple of one "
        "type\n"
        "  at test_bad_input.py:N",
    ),
    "nothing as data for a length": (
        lambda: td.Length().eval(None),
        "BlockError: <td.Length dtype='float32'>: its input is None; it takes a list, or a tuple of one "
        "type\n"
        "  at here",
    ),
    "tensors of different dtypes that are joined": (
        lambda: td.AllOf(td.Scalar(), td.Vector(3, "int32")) >> td.Concat(),
        "BlockError: <td.Concat concat_dim=0 flatten=False>: part 0 is float32 () and part 1 is "
        "int32 (3,), whose dtypes differ\n"
        "  at here",
    ),
    "tensors of different ranks that are joined": (
        lambda: td.AllOf(td.Vector(2), td.Vector(3), td.Tensor((2, 2))) >> td.Concat(),
        "BlockError: <td.Concat concat_dim=0 flatten=False>: part 0 is float32 (2,) and part 2 is "
        "float32 (2, 2), whose numbers of axes differ\n"
        "  at here",
    ),
    "tensors that do not fit beside the axis": (
        lambda: td.AllOf(td.Tensor((2, 3)), td.Tensor((2, 2))) >> td.Concat(),
        "BlockError: <td.Concat concat_dim=0 flatten=False>: part 0 is float32 (2, 3) and part 1 is "
        "float32 (2, 2), whose sizes beside axis 0 differ\n"
        "  at here",
    ),
    "a list that is joined": (
        lambda: td.AllOf(numbers, td.Scalar()) >> td.Concat(),
        "BlockError: <td.Concat concat_dim=0 flatten=False>: its input is (list of float32 (), "
        "float32 ()); it joins tensors, at least one\n"
        "  at here",
    ),
    "a case that is not there": (
        lambda: td.OneOf(len, {1: td.Vector(1), 2: td.Vector(2) >> td.FC(1)}).eval("abc"),
        "BlockKeyError: <td.OneOf key_fn=len case_blocks={1: <td.Vector size=1 dtype='float32'>, 2: "
        "<td.Pipe blocks=( ...>: there is no case 3; the cases are 1, 2\n"
        "  at here",
    ),
    "a key without a hash": (
        lambda: td.OneOf(list, (td.Scalar(), td.Scalar())).eval("abc"),
        "BlockKeyError: <td.OneOf key_fn=list case_blocks=(<td.Scalar>, <td.Scalar>)>: there is no case "
        "['a', 'b', 'c']; the cases are 0, 1, -1\n"
        "  at here",
    ),
    "cases of different types": (
        lambda: td.OneOf(len, {1: td.Vector(1), 2: td.Vector(2)}),
        "BlockError: <td.OneOf key_fn=len case_blocks={1: <td.Vector size=1 dtype='float32'>, 2: "
        "<td.Vector size=2 ...>: the output of the cases is float32 (1,), but the output of "
        "<td.Vector size=2 dtype='float32'> is float32 (2,)\n"
        "  at here",
    ),
    "cases without keys": (
        lambda: td.OneOf(len, [td.Scalar(), td.Scalar()]),
        "BlockError: <td.OneOf key_fn=len case_blocks=(<td.Scalar>, <td.Scalar>)>: cases are a dict, a "
        "list of pairs of key and block, or a tuple; got [<td.Scalar dtype='float32'>, <td.Scalar "
        "dtype='float32'>]\n"
        "  at here",
    ),
    "no cases": (
        lambda: td.OneOf(len, {}),
        "BlockValueError: <td.OneOf key_fn=len case_blocks={}>: there are no cases\n  at here",
    ),
    "an element of an empty list": (
        lambda: (td.AllOf(numbers, td.InputTransform(lambda x: 0)) >> td.Nth()).eval([]),
        "BlockIndexError: <td.Nth>: an empty list has no element 0\n  at here",
    ),
    "an element of a list that is too short": (
        lambda: td.Nth().eval(("ab", -3)),
        "BlockIndexError: <td.Nth>: a list of 2 elements has no element -3\n  at here",
    ),
    "the longest of no elements": (
        lambda: (numbers >> td.GetItem(0)).eval([]),
        "BlockIndexError: <td.GetItem key=0>: [] has no element 0\n  at here",
    ),
    "a tree that ends early": (
        lambda: tree("(3 (2 a) (4 film)"),
        'DataError: tree:1:18: the line ends, and 1 ")" has to follow',
    ),
    "a tree that goes on": (
        lambda: tree("(3 (2 a) (4 film)) (2 b)"),
        "DataError: tree:1:20: '(' stands after the end of the tree",
    ),
    "a tree without a label": (
        lambda: tree("(3 (2 a) (film))"),
        "DataError: tree:1:11: 'film' stands where a label, a whole number, has to be",
    ),
    "a tree without anything": (
        lambda: tree("(3 (2 a) (4))"),
        "DataError: tree:1:12: a label is followed by a word or by trees, and here by nothing",
    ),
    "a label that is too large": (
        lambda: tree("(3 (2 a) (7 film))", labels=5),
        "DataError: tree:1:11: the label 7 is none of 0 to 4",
    ),
    "an empty line": (
        lambda: tree(""),
        'DataError: tree:1:1: the line ends where "(" has to be',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    action, text = CASES[name]
    assert said(action) == text


def test_a_malformed_tree_of_a_file_is_told_with_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("(3 (2 a) (4 film))\n(3 (2 a) (4 film)))\n")
    with pytest.raises(errors.DataError) as caught:
        list(sst(tmp_path, "train"))
    assert str(caught.value) == f"{tmp_path / 'train.txt'}:2:19: ')' stands after the end of the tree"


def test_a_scalar_is_joined_to_a_vector() -> None:
    joined: Any = td.AllOf(td.GetItem(0) >> td.Scalar(), td.Vector(3)) >> td.Concat()
    assert joined.output_type == td.TensorType((4,))
    assert joined.eval([1, 2, 3]).tolist() == [1, 1, 2, 3]


@pytest.mark.parametrize("wires", [False, True], ids=["build", "build_loom_inputs"])
def test_an_error_says_which_example_of_a_batch_it_is(wires: bool) -> None:
    compiler = td.Compiler.create(td.Vector(2) >> td.Function(tanh))
    examples: list[Any] = [[1, 2], [3, 4], [5, 6, 7]]  # Any: data that do not fit
    with pytest.raises(errors.WengertError) as caught:
        compiler.build_loom_inputs(examples) if wires else compiler.build(examples)
    assert "in example 2 of the batch, [5, 6, 7]" in getattr(caught.value, "__notes__", ())
