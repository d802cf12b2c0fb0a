"""What blocks are: values, with names, errors that say both types and the user's line, and no limit of depth."""

from __future__ import annotations

import gc
import inspect
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import fold as td
from wengert.errors import BlockError, ShapeError, WengertError
from wengert.fold.block import Block

Unchecked = Any  # these tests also write what a checker refuses
made: Unchecked = td
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
    assert repr(made.Map(td.Vector(3, name="v"))) == "<td.Map element=<td.Vector 'v'>>"
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
        (lambda: made.Scalar() >> made.Broadcast() >> made.NGrams(2), "is endless"),
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


def test_a_layer_was_written_where_its_block_was() -> None:
    double, three = made.Function(lambda x: x * 2.0), made.Scalar()
    here = line() - 1
    layer = (three >> double).build(3)
    assert layer.site.endswith(f"test_blocks.py:{here}")
    (number,) = layer._operands
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


def test_forward_declarations_are_resolved_once_and_to_something() -> None:  # F70
    fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration(name="f")
    use = made.Record((fwd(), made.Scalar()))
    with pytest.raises(TypeError, match=r"(?s)'f'.* was never resolved.*test_blocks.py:"):
        use.eval((1, 2))
    fwd.resolve_to(td.Scalar())
    assert use.eval((1, 2)) == (1.0, 2.0)
    with pytest.raises(ValueError, match="resolved already"):
        fwd.resolve_to(td.Scalar())
    with pytest.raises(ValueError, match="use the block itself"):
        fwd()


def test_a_declaration_that_begins_with_itself_is_refused() -> None:  # F70
    def direct(fwd: Any) -> Any:
        return fwd()

    def first_of_a_pipe(fwd: Any) -> Any:
        return fwd() >> made.Function(wg.exp)

    def one_of_all(fwd: Any) -> Any:
        return made.AllOf(made.Scalar(), fwd()) >> made.Function(wg.add)

    def the_key(fwd: Any) -> Any:
        return made.OneOf(fwd(), (made.InputTransform(str),))

    def on_a_wire(fwd: Any) -> Any:
        return td.composition(lambda x: made.Function(wg.exp)(fwd()(x)))

    for body in (direct, first_of_a_pipe, one_of_all, the_key, on_a_wire):
        fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
        with pytest.raises(BlockError, match=r"a cycle without an end"):
            fwd.resolve_to(body(fwd))
        assert fwd.body is None


def test_declarations_that_begin_with_each_other_are_refused() -> None:  # F70
    one: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    two: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    use = two()
    two.resolve_to(one() >> made.Function(wg.exp))
    with pytest.raises(BlockError, match="a cycle without an end"):
        one.resolve_to(use)


def test_a_declaration_of_other_types_is_refused_where_it_is_resolved() -> None:
    fwd: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration(td.PyObjectType(), "float32")
    with pytest.raises(TypeError, match=r"float32 \(\), but .* is float32 \(2,\)"):
        fwd.resolve_to(td.Vector(2))
    fwd.resolve_to(td.Scalar())


def test_layers_share_weights_among_all_uses() -> None:  # F80
    layer = td.FC(2, name="shared", seed=1)
    block = made.Record((made.Vector(3) >> layer, made.Vector(3) >> layer))
    a, b = block.build(([1, 2, 3], [1, 2, 3]))
    before = layer.weights.data.copy()
    wg.sum(a + b).train().run()
    assert (layer.weights.data != before).any()
    with pytest.raises(
        TypeError, match=r"its weights are for float32 \(3,\), and its input is float32 \(4,\)"
    ):
        made.Vector(4) >> layer


def test_the_order_of_building_does_not_change_weights() -> None:  # F80
    def weights(order: list[str]) -> list[Any]:
        layers = {name: td.FC(2, name=name, seed=7) for name in order}
        for layer in layers.values():
            made.Vector(3) >> layer
        return [layers[name].weights.data for name in ("a", "b")]

    for x, y in zip(weights(["a", "b"]), weights(["b", "a"]), strict=True):
        np.testing.assert_array_equal(x, y)
    a, b = weights(["a", "b"])
    assert (a != b).any()


def test_fully_connected_layers() -> None:  # row 45
    twos = np.full((2, 1), 2.0, np.float32)
    plain = made.Vector(2) >> td.FC(1, None, twos)
    assert [plain.eval(x).item() for x in ([0, 0], [1, 0], [1, 1])] == [0.0, 2.0, 4.0]
    normed = made.Vector(2) >> td.FC(1, None, twos, weight_norm=True)
    found = [normed.eval(x).item() for x in ([0, 0], [1, 0], [1, 1])]
    assert found == pytest.approx([0.0, 2 / 8**0.5, 4 / 8**0.5])


@pytest.mark.parametrize(("activation", "factor"), [(wg.relu, 1.43), (wg.tanh, 1.15), (None, 1.0)])
def test_weights_begin_within_their_limit(activation: Unchecked, factor: float) -> None:  # F81
    layer = td.FC(200, activation, name="wide")
    made.Vector(50) >> layer
    limit = factor * (3 / 50) ** 0.5
    assert 0.98 * limit < abs(layer.weights.data).max() <= limit
    assert not layer.bias.data.any()
    assert layer.output_size == 200
    other = td.FC(200, wg.sigmoid, name="other")
    made.Vector(50) >> other
    assert 0.019 < abs(other.weights.data).max() <= 0.02


def test_embeddings() -> None:  # row 46
    table = np.array([[1, 2], [3, 4]], np.float32)
    for block in (td.Embedding(2, 2, table), td.Embedding(2, 2, lambda shape: table, trainable=False)):
        rows = made.Scalar("int32") >> block
        assert [rows.eval(i).tolist() for i in (0, 1, 7, -5)] == [[1, 2], [3, 4], [3, 4], [3, 4]]


def test_only_touched_rows_are_trained() -> None:
    block = td.Embedding(3, 2, np.zeros((3, 2), np.float32))
    wg.sum((made.Scalar("int32") >> block).build(1)).train().run()
    assert block.weights.data.tolist() == [[0, 0], [pytest.approx(-0.01)] * 2, [0, 0]]
