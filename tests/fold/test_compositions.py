"""Graphs of blocks, written as functions of wires and connection by connection (F31, F32; rows 7 to 12)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

import wengert as wg
from tests.fold.made import Unchecked, made
from wengert import fold as td
from wengert.errors import BlockError, WengertError


def double() -> Unchecked:
    return made.Function(lambda x: x * 2.0, name="double")


def triple() -> Unchecked:
    return made.Function(lambda x: x * 3.0, name="triple")


def total() -> Unchecked:
    return made.Function(wg.add, name="total")


def test_a_diamond() -> None:  # row 7
    a, b, c = double(), triple(), total()
    diamond = made.Composition([a, b, c])
    diamond.connect(diamond.input, a)
    diamond.connect(diamond.input, b)
    diamond.connect((a, b), c)
    diamond.connect(c, diamond.output)
    block = made.Scalar() >> diamond
    assert block.eval(5) == 25.0
    assert block.max_depth(5) == 2


def test_blocks_may_be_listed_in_any_order() -> None:  # row 8
    a, b, c, one = double(), triple(), total(), made.FromTensor(1.0)
    line = made.Composition([c, one, a, b])
    with line.scope():
        line.output.reads(c.reads(a.reads(b.reads(line.input)), one))
    block = made.Scalar() >> line
    assert block.eval(1) == 7.0
    assert block.max_depth(1) == 3


def test_parts_and_slices_of_wires() -> None:
    c, d = made.Identity(), made.Identity()
    some = made.Composition()
    record = made.Record({"b": made.Scalar(), "a": made.Scalar()})
    with some.scope():
        record.reads(some.input)
        c.reads(record["b"])
        d.reads(record["a"])
        some.output.reads(c, d, c)
    assert some.eval({"a": 1, "b": 2}) == (2.0, 1.0, 2.0)
    sliced = made.Composition()
    with sliced.scope():
        sliced.output.reads(sliced.input[1:])
    assert (made.Record((made.Scalar(), made.Scalar(), made.Scalar())) >> sliced).eval((1, 2, 3)) == (
        2.0,
        3.0,
    )


def test_a_composition_of_constants_reads_nothing() -> None:
    one = made.FromTensor(1.0)
    constant = made.Composition([one])
    constant.connect(one, constant.output)
    assert constant.eval(None) == 1.0
    assert constant.input_type == td.VoidType()
    assert made.AllOf(constant, made.Scalar()).eval(3) == (1.0, 3.0)


def test_a_void_block_may_dangle() -> None:
    end = made.Void()
    some = made.Composition([end])
    some.connect(some.input, end)
    some.connect(some.input, some.output)
    assert (made.Scalar() >> some).eval(3) == 3.0


def test_a_wire_is_of_one_composition() -> None:
    kept: list[Any] = []

    def first(x: Any) -> Any:
        kept.append(x)
        return double()(x)

    td.composition(first)
    with pytest.raises(AssertionError, match="belongs to another composition"):
        td.composition(lambda x: total()(x, kept[0]))
    with pytest.raises(AssertionError, match="applied to wires; for data write"):
        double()(3.0)
    with pytest.raises(AssertionError, match="without a wire"):
        double()()


def test_parts_of_wires() -> None:
    @td.composition
    def swapped(x: td.Wire[tuple[Any, Any]]) -> tuple[td.Wire[Any], td.Wire[Any]]:
        return x[1], x[0]

    assert (made.Record((made.Scalar(), made.Vector(1))) >> swapped).eval((1, [2]))[1] == 1.0
    with pytest.raises(IndexError, match="has no part 2"):
        made.Record((made.Scalar(), made.Scalar())) >> td.composition(lambda x: made.Identity()(x[2]))
    with pytest.raises(TypeError, match="which has no parts"):
        made.Scalar() >> td.composition(lambda x: made.Identity()(x[0]))


def connected(*pairs: tuple[str, str]) -> Unchecked:
    """A composition of blocks a and b with these connections."""
    some, other = made.Composition(name="some"), made.Composition(name="other")
    names = {"in": some.input, "out": some.output, "other": other.input, "a": double(), "b": triple()}
    for source, target in pairs:
        some.connect(names[source], names[target])
    return some


@pytest.mark.parametrize(
    ("pairs", "error", "text"),
    [
        ([("a", "b"), ("b", "a"), ("b", "out")], ValueError, "its connections are a cycle"),  # row 9
        ([("in", "a")], TypeError, "nothing is connected to its output"),  # row 10
        ([("in", "a"), ("in", "a")], ValueError, "'double'.* is connected already"),  # row 11
        ([("in", "out"), ("in", "out")], ValueError, "'output'.* is connected already"),
        ([("out", "a")], ValueError, "its output cannot be read"),  # row 12
        ([("a", "in")], ValueError, "its input cannot be written"),  # row 12
        ([("other", "a")], ValueError, "belongs to another composition"),  # row 12
        ([("in", "other")], ValueError, "belongs to another composition"),  # row 12
        ([("in", "a"), ("in", "b"), ("b", "out")], TypeError, "nothing reads the output of .*'double'"),
        ([("a", "out")], TypeError, "'double'.* is not connected to anything that it reads"),
    ],
)
def test_connections_that_make_no_graph(
    pairs: list[tuple[str, str]], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=f"(?s){text}.*test_compositions.py:") as caught:
        made.Scalar() >> connected(*pairs)
    assert isinstance(caught.value, WengertError)


def test_a_composition_that_is_used_stays_as_it_is() -> None:  # F3
    some = connected(("in", "a"), ("a", "out"))
    made.Scalar() >> some
    with pytest.raises(ValueError, match="cannot be changed any more"):
        some.connect(some.input, double())


def test_reads_has_a_meaning_in_a_scope_only() -> None:
    some = made.Composition()
    with some.scope():
        pass
    with pytest.raises(AssertionError, match="has a meaning only in the scope of a composition"):
        double().reads(some.input)


def test_parts_are_connected_outside_of_a_scope() -> None:
    some, parts, twice = made.Composition(), made.Record({"a": made.Scalar(), "b": made.Scalar()}), double()
    total = made.Function(wg.add)
    for source, target in (
        (some.input, parts),
        (parts["a"], twice),
        ((twice, parts["b"]), total),
        (total, some.output),
    ):
        some.connect(source, target)
    assert some.eval({"a": 1, "b": 5}) == 7.0
    with pytest.raises(AssertionError, match=r"for connections in a td.Composition; .* >> td.GetItem\(0\)"):
        parts["a"] >> twice


def test_a_composition_of_several_wires_reads_a_tuple() -> None:
    add = td.Function(wg.add)

    @td.composition
    def ahead(x: td.Wire[td.Tensors], y: td.Wire[td.Tensors]) -> td.Wire[td.Tensors]:
        return add(x, add(x, y))

    assert ((made.Scalar(), made.Scalar()) >> made.Identity() >> ahead).eval((1, 2)) == 4.0
    assert (made.Record((made.Scalar(), made.Scalar())) >> ahead).eval((1, 2)) == 4.0
    for parts in (made.Scalar(), made.Record((made.Scalar(),) * 3)):
        with pytest.raises(TypeError, match="it has 2 inputs, and reads"):
            parts >> ahead


def test_a_scope_knows_the_parts_of_its_blocks() -> None:
    some = made.Composition()
    with some.scope(), pytest.raises(TypeError, match="parts have places"):
        double()["a"]
    with some.scope(), pytest.raises(KeyError, match="no block under 'b'"):
        made.Record({"a": double()})["b"]


def test_scopes_end_in_reverse() -> None:  # F31
    outer, inner = made.Composition().scope(), made.Composition().scope()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(
        AssertionError, match=r"(?s)ends before one that was opened inside.*test_compositions\.py:"
    ):
        outer.__exit__(None, None, None)
    with pytest.raises(AssertionError, match="ends before"):
        inner.__exit__(None, None, None)
    with pytest.raises(AssertionError, match="only in the scope"):
        double().reads(triple())


def test_scopes_nest() -> None:
    outer, inner, a, b = made.Composition(), made.Composition(), double(), triple()
    with outer.scope():
        with inner.scope():
            inner.output.reads(a.reads(inner.input))
        outer.output.reads(b.reads(inner.reads(outer.input)))
    assert (made.Scalar() >> outer).eval(1) == 6.0


@pytest.mark.parametrize("again", [copy.deepcopy, lambda block: cloudpickle.loads(cloudpickle.dumps(block))])
def test_a_composition_is_copied_before_and_after_it_was_used(
    again: Callable[[Unchecked], Unchecked],
) -> None:
    some, a, b = made.Composition(), double(), triple()
    some.connect(some.input, a)
    half = again(some)
    some.connect(a, some.output)
    assert (made.Scalar() >> again(some)).eval(2) == 4.0
    assert (made.Scalar() >> some).eval(2) == 4.0
    assert (made.Scalar() >> again(some)).eval(2) == 4.0
    with pytest.raises(TypeError, match="nothing is connected to its output"):
        made.Scalar() >> half
    (child,) = half._children.values()
    half.connect(child, b)
    half.connect(b, half.output)
    assert (made.Scalar() >> half).eval(2) == 12.0


def test_an_error_of_a_composition_names_the_line_of_its_function() -> None:  # F9
    @td.composition
    def second(x: td.Wire[Any]) -> td.Wire[Any]:
        return x[1]

    assert second.site.rpartition(":")[0] == __file__


def test_f30_a_pipe_takes_what_is_convertible_and_refuses_the_rest() -> None:
    pipe = made.Pipe((made.Scalar(), made.Vector(2)), made.Concat())
    assert pipe.eval((1, [2, 3])).tolist() == [1.0, 2.0, 3.0]
    assert made.Pipe(made.Void(), 42.0).eval("anything") == 42.0
    assert made.Pipe(made.Identity(), [("a", made.Scalar())], made.GetItem(0)).eval({"a": 5}) == 5.0
    assert made.Pipe().eval("foo") == "foo"
    one = made.Scalar()
    assert made.Pipe(one) is made.Pipe(made.Identity(), one) is made.Pipe(made.Pipe(one)) is one
    assert type(made.Pipe()) is type(made.Pipe(made.Identity())) is td.Identity
    two = made.Pipe(one, made.Function(wg.tanh))
    assert (
        made.Pipe(two) is two
        and type(two) is td.Pipe
        and cloudpickle.loads(cloudpickle.dumps(two)).eval(0) == 0
    )
    assert repr(made.Pipe(one, name="named")).startswith("<td.Pipe 'named'")
    for wrong in (object(), 5, None, len):
        with pytest.raises(BlockError, match="is no block"):
            made.Pipe(made.Scalar(), wrong)
