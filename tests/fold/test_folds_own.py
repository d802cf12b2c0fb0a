"""The programs and numbers of TensorFlow Fold's own tests of blocks, layers and types, under Fold's names for them.

Each block gives Fold's value in Fold's depth by itself, and, where it has batches, for two copies in one. What differs
is named in `DIFFERENT`, in groups for which the page "From TensorFlow Fold" has reasons.

Source: `blocks_test.py`, `layers_test.py`, `result_types_test.py`, `util_test.py` of TensorFlow Fold, 2017.
"""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.fold.made import plain
from wengert import fold
from wengert.errors import BlockError
from wengert.fold import PyObjectType, SequenceType, TensorType, TupleType, VoidType

td: Any = fold  # Any: Fold's programs have no types; what checkers say of such blocks is in `typecheck/`
PAGE = Path(__file__).parents[2] / "docs" / "from_tensorflow_fold.md"
Block = Any
ONE = np.ones((), np.float32)
TEN = np.array(10.0, np.float32)
THREE = [[1.0, 5.0], [2.0, 3.0], [0.0, 4.0]]
endless = itertools.repeat


def times(n: float) -> Block:
    return td.Function(partial(wg.multiply, n))


def same(x: Any) -> Any:
    return x * 1.0


def each(*functions: Callable[..., Any]) -> Block:
    return td.Scalar() >> td.AllOf(*map(td.Function, functions))


def wired(write: Callable[[Any], None]) -> Block:
    made = td.Composition()
    with made.scope():
        write(made)
    return made


def diamond(c: Block) -> None:
    scalar = td.Scalar().reads(c.input)
    c.output.reads(td.Function(wg.add).reads(times(2.0).reads(scalar), times(3.0).reads(scalar)))


def nested() -> Block:
    two, three = times(2.0), times(3.0)
    c = td.Composition([two, three])
    c.connect(c.input, two)
    c.connect(c.input, three)
    c.connect((two, three), c.output)
    return td.Scalar() >> c >> td.Function(wg.add)


def sorted_by_need() -> Block:
    scalar, two, three, one, add = td.Scalar(), times(2.0), times(3.0), times(1.0), td.Function(wg.add)
    c = td.Composition([add, one, scalar, three, two])
    pairs: list[tuple[Any, Any]] = [(c.input, scalar), (scalar, two), (scalar, three), (three, one)]
    for source, target in [*pairs, ((two, one), add), (add, c.output)]:
        c.connect(source, target)
    return c


def nested_scopes(c: Block) -> None:
    inner = td.Composition().reads(td.Scalar().reads(c.input))
    with inner.scope():
        inner.output.reads(times(2.0).reads(inner.input), times(3.0).reads(inner.input))
    c.output.reads(td.Function(wg.add).reads(inner))


def twice(c: Block) -> None:
    scalar = td.Scalar("int32").reads(c.input)
    c.output.reads(scalar, scalar)


def measured(c: Block) -> None:
    scalar = td.Scalar().reads(c.input)
    td.Metric("foo").reads(td.Function(wg.negative).reads(scalar))
    c.output.reads(scalar)


def kept(c: Block) -> None:
    scalar = td.Scalar("int32").reads(c.input)
    td.Metric("foo").reads(scalar)
    c.output.reads(scalar)


def sliced(c: Block) -> None:
    five = td.AllOf(*[np.array(t, np.float32) for t in range(5)]).reads(c.input)
    c.output.reads(td.Function(wg.add).reads(five[1:-1:2]))


def by_record() -> Block:
    record = td.Record({"a": td.Scalar(), "b": td.Scalar()})
    two, three, add = times(2.0), times(3.0), td.Function(wg.add)
    c = td.Composition([record, two, three, add])
    c.connect(c.input, record)
    c.connect(record["a"], two)
    c.connect(record["b"], three)
    c.connect((two, three), add)
    c.connect(add, c.output)
    return c


def expression() -> Block:
    declared = td.ForwardDeclaration(PyObjectType(), TensorType((), "float32"))
    both = td.Record({"left": declared(), "right": declared()}) >> td.Function(wg.add)
    found = td.OneOf(lambda x: x["op"], {"lit": td.GetItem("val") >> td.Scalar(), "add": both})
    declared.resolve_to(found)
    return found


def literal(x: float) -> dict[str, Any]:
    return {"op": "lit", "val": x}


def added(x: Any, y: Any) -> dict[str, Any]:
    return {"op": "add", "left": x, "right": y}


def squares(x: Any, state: Any) -> Any:
    return x * x, state + x


def numbered(x: str) -> int:
    return 1 + ord(x) - ord("a")


FOUR = {"a": [[1.0, 2.0, 3.0]], "b": [[4.0, 5.0, 6.0]]}
ROWS = {"a": td.Tensor([1, 3]), "b": td.Tensor([1, 3])}
SIX = np.reshape(range(6), (2, 3))
CHARS = td.InputTransform(lambda s: [ord(c) for c in s])
Cases = list[
    tuple[Any, Any, int | None]
]  # Any: data, and what is made of them; and the depth, if Fold states one

# Fold's name of the case, the block, and what goes in, what comes out, how deep
CASES: list[tuple[str, Callable[[], Block], Cases]] = [
    ("vector", lambda: td.Vector(3), [([1, 2, 3], [1.0, 2.0, 3.0], None)]),
    ("from_tensor_const", lambda: td.FromTensor(np.array([1, 2, 3], "int32")), [(None, [1, 2, 3], 0)]),
    (
        "from_tensor_const_ndarray",
        lambda: td.FromTensor(np.zeros([2, 2], "int32")),
        [(None, [[0, 0]] * 2, 0)],
    ),
    (
        "pyobject_composition",
        lambda: td.AllOf(td.Identity(), td.Identity()) >> (td.Scalar(), td.Scalar()),
        [(42, (42.0, 42.0), None)],
    ),
    (
        "function_composition_with_block",
        lambda: wired(lambda c: c.output.reads(times(2.0).reads(td.Scalar().reads(c.input)))),
        [(21, 42.0, 1)],
    ),
    ("composition_diamond_with_block", lambda: wired(diamond), [(5, 25.0, 2)]),
    ("composition_nested", nested, [(1.0, 5.0, 2)]),
    ("composition_toposort", sorted_by_need, [(1.0, 5.0, 3)]),
    ("composition_toposort_output", lambda: wired(twice), [(3, (3, 3), None)]),
    ("composition_void", lambda: wired(measured), [(42, (42.0, {"foo": [-42.0]}), None)]),
    ("composition_nested_with_block", lambda: wired(nested_scopes), [(1.0, 5.0, 2)]),
    ("composition_slice", lambda: wired(sliced), [(None, 4.0, 1)]),
    (
        "record",
        lambda: td.Record(OrderedDict([("b", td.Scalar()), ("a", td.Scalar())])) >> td.Function(wg.subtract),
        [({"a": 1.0, "b": 5.0}, 4.0, 1)],
    ),
    ("record_composition", by_record, [({"a": 1.0, "b": 5.0}, 17.0, 2)]),
    (
        "record_tuple",
        lambda: (
            td.AllOf(td.Scalar(), td.OneHot(3, dtype="int32"))
            >> (td.Function(wg.square), td.Function(wg.negative))
        ),
        [(2, (4.0, [0, 0, -1]), 1)],
    ),
    ("forward_declarations", expression, [(added(added(literal(3.0), literal(5.0)), literal(2.0)), 10.0, 2)]),
    (
        "map",
        lambda: td.Map(td.Scalar() >> td.Function(wg.abs)),
        [([], [], 0), ([-1], [1.0], 1), ([-1, -2, -3], [1.0, 2.0, 3.0], 1)],
    ),
    (
        "map_const",
        lambda: td.Map(td.Scalar()),
        [([], [], 0), ([1], [1.0], 0), ([1, 2, 3], [1.0, 2.0, 3.0], 0)],
    ),
    (
        "map_map_const",
        lambda: td.Map(td.Map(td.Scalar())),
        [([[]], [[]], 0), ([[1, 2], [6], []], [[1.0, 2.0], [6.0], []], 0)],
    ),
    (
        "fold",
        lambda: td.Map(td.Scalar()) >> td.Fold(td.Function(wg.add), TEN),
        [([1.0, 2.0, 3.0], 16.0, 3), ([4.0, 3.0, 2.0, 1.0], 20.0, 4)],
    ),
    (
        "fold_tuple",
        lambda: (td.Scalar(), td.Scalar()) >> td.Fold(td.Function(wg.add), ONE),
        [((2, 3), 6.0, 2)],
    ),
    (
        "rnn",
        lambda: (
            (td.Map(td.Scalar()), td.Vector(2)) >> td.RNN(td.Function(squares), initial_state_from_input=True)
        ),
        [
            (([], [0.0, 0.0]), ([], [0.0, 0.0]), 0),
            (([1.0, 2.0, 3.0, 4.0], [0.0, 0.0]), ([1.0, 4.0, 9.0, 16.0], [10.0, 10.0]), 4),
        ],
    ),
    (
        "reduce",
        lambda: td.Map(td.Scalar()) >> td.Reduce(td.Function(wg.add), TEN),
        [
            ([], 10.0, 0),
            ([1.0, 2.0], 3.0, 1),
            ([2.0, 4.0, 6.0, 8.0], 20.0, 2),
            ([1.0, 2.0, 3.0], 6.0, 2),
            (range(7), 21.0, 3),
        ],
    ),
    (
        "reduce_default_zero",
        lambda: td.Map(td.Scalar()) >> td.Reduce(td.Function(wg.add)),
        [([], 0.0, 0), ([1.0, 2.0, 3.0], 6.0, 2), (range(7), 21.0, 3)],
    ),
    ("sum_2vectors", lambda: td.Map(td.Vector(2)) >> td.Sum(), [(THREE, [3.0, 12.0], 2)]),
    ("min_2vectors", lambda: td.Map(td.Vector(2)) >> td.Min(), [(THREE, [0.0, 3.0], 2)]),
    ("max_2vectors", lambda: td.Map(td.Vector(2)) >> td.Max(), [(THREE, [2.0, 5.0], 2)]),
    ("mean_2vectors", lambda: td.Map(td.Vector(2)) >> td.Mean(), [(THREE, [1.0, 4.0], 3)]),
    (
        "mean_matrix",
        lambda: td.Map(td.Tensor(shape=[2, 3], name="2by3Matrix")) >> td.Mean(),
        [([SIX + 1.0, SIX, SIX + 2.0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 3)],
    ),
    ("all_of_2", lambda: each(same, wg.abs), [(-3, (-3.0, 3.0), 1)]),
    (
        "all_of_3",
        lambda: each(same, wg.abs, wg.negative),
        [(3, (3.0, 3.0, -3.0), 1), (-3, (-3.0, 3.0, 3.0), 1)],
    ),
    (
        "all_of_different_shapes",
        lambda: each(wg.negative, partial(wg.expand_dims, axis=0)),
        [(3, (-3.0, [3.0]), 1)],
    ),
    (
        "seq_of_tuple",
        lambda: td.Map(each(same, wg.negative)),
        [([], [], 0), ([1, 2], [(1.0, -1.0), (2.0, -2.0)], 1)],
    ),
    (
        "tuple_of_seq",
        lambda: td.AllOf(
            td.Map(td.Scalar() >> td.Function(wg.negative)), td.Map(td.Scalar() >> td.Function(same))
        ),
        [([], ([], []), 0), ([1, 2], ([-1.0, -2.0], [1.0, 2.0]), 1)],
    ),
    (
        "input_transform_const",
        lambda: td.Map(td.InputTransform(numbered) >> td.Scalar("int32")),
        [("abcd", [1, 2, 3, 4], 0)],
    ),
    ("get_item_pyobject", lambda: td.GetItem(1) >> td.Scalar(), [([1, 2, 3], 2.0, 0)]),
    ("get_item_tuple", lambda: (td.Scalar(), td.Scalar()) >> td.GetItem(-1), [((1, 2), 2.0, 0)]),
    (
        "length",
        lambda: td.Map(td.Scalar("float64")) >> td.Length(dtype="int64"),
        [([1, 2, 3], 3, 0), (range(10), 10, 0)],
    ),
    ("length_pyobject", lambda: td.Length(dtype="int64"), [([0, 1, 2], 3, 0), (range(20), 20, 0)]),
    ("length_tuple", lambda: (td.Scalar(), td.Scalar()) >> td.Length(dtype="int32"), [((0, 1), 2, 0)]),
    ("length_empty_tuple", lambda: td.Record([]) >> td.Length(dtype="int32"), [((), 0, 0)]),
    ("slice_sequence", lambda: td.Map(td.Scalar()) >> td.Slice(stop=2), [(range(3), [0.0, 1.0], 0)]),
    (
        "slice_sequence back",
        lambda: td.Map(td.Scalar()) >> td.Slice(step=-1),
        [(range(3), [2.0, 1.0, 0.0], 0)],
    ),
    ("slice_tuple", lambda: (td.Scalar("int32"), td.Scalar()) >> td.Slice(stop=1), [((1, 2), (1,), 0)]),
    ("slice_tuple back", lambda: (td.Scalar(), td.Scalar()) >> td.Slice(step=-1), [((1, 2), (2.0, 1.0), 0)]),
    (
        "one_of",
        lambda: td.OneOf(
            lambda x: x > 0, {True: td.Scalar(), False: td.Scalar() >> td.Function(wg.negative)}
        ),
        [(3, 3.0, 0), (-3, 3.0, 1)],
    ),
    ("optional", lambda: td.Optional(td.Scalar(), np.array(42.0, "float32")), [(6, 6.0, 0), (None, 42.0, 0)]),
    (
        "optional_default_none",
        lambda: td.Optional({"a": td.Map({"b": td.Scalar(), "c": td.Scalar()}), "d": td.Vector(3)}),
        [({"a": [{"b": 0, "c": 1}], "d": [2, 3, 4]}, ([(0.0, 1.0)], [2.0, 3.0, 4.0]), 0)],
    ),
    (
        "concat",
        lambda: {"a": td.Vector(1), "b": td.Vector(4), "c": td.Vector(1)} >> td.Concat(),
        [({"a": [1.0], "b": [2.0, 3.0, 4.0, 5.0], "c": [6.0]}, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1)],
    ),
    (
        "concat_scalar",
        lambda: {"a": td.Scalar(), "b": td.Vector(4), "c": td.Scalar()} >> td.Concat(),
        [({"a": 1.0, "b": [2.0, 3.0, 4.0, 5.0], "c": 6.0}, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1)],
    ),
    (
        "concat_dims 0",
        lambda: ROWS >> td.Concat(concat_dim=0),
        [(FOUR, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 1)],
    ),
    ("concat_dims 1", lambda: ROWS >> td.Concat(concat_dim=1), [(FOUR, [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]], 1)]),
    (
        "concat_nested",
        lambda: (
            td.AllOf(td.AllOf(td.Scalar(), td.Scalar()), td.AllOf(td.Scalar(), td.Scalar()))
            >> td.Concat(flatten=True)
        ),
        [(42.0, [42.0] * 4, 1)],
    ),
    ("broadcast", lambda: td.Scalar() >> td.Broadcast(), [(42, endless(42.0), 0)]),
    (
        "broadcast_zip_map",
        lambda: (
            {"x": td.Scalar() >> td.Broadcast(), "y": td.Map(td.Scalar())}
            >> td.Zip()
            >> td.Map(td.Function(wg.add))
        ),
        [({"x": 2, "y": [1, 2, 3]}, [3.0, 4.0, 5.0], 1)],
    ),
    (
        "zip_with",
        lambda: (td.Map(td.Scalar()), td.Map(td.Scalar())) >> td.ZipWith(td.Function(wg.add)),
        [(([1, 2, 3], [4, 5, 6]), [5.0, 7.0, 9.0], 1)],
    ),
    ("ngrams_1", lambda: td.Map(td.Scalar()) >> td.NGrams(1), [([], [], 0), ([1, 2], [(1.0,), (2.0,)], 0)]),
    (
        "ngrams_broadcast",
        lambda: td.Scalar() >> td.Broadcast() >> td.NGrams(2),
        [(42, endless((42.0, 42.0)), 0)],
    ),
    ("one_hot", lambda: td.OneHot(100, 102), [(100, [1.0, 0.0], 0)]),
    ("one_hot_from_list", lambda: td.OneHotFromList([5, 9, 6], strict=False), [(9, [0.0, 1.0, 0.0], 0)]),
    (
        "output_type_inference",
        lambda: (
            {"a": td.Scalar(), "b": td.Vector(2) >> td.Identity()}
            >> td.Identity()
            >> (td.Identity() >> td.Identity())
            >> td.Identity()
        ),
        [({"a": 42, "b": [5, 1]}, (42.0, [5.0, 1.0]), 0)],
    ),
    (
        "nth",
        lambda: (td.Map(td.Scalar("int32")), td.Identity()) >> td.Nth(),
        [((range(5), n), n, 0) for n in range(5)],
    ),
    (
        "max_depth",
        lambda: td.Map(td.Scalar()) >> td.Fold(td.Function(wg.add), td.Zeros([])),
        [(range(i), float(sum(range(i))), i) for i in range(5)],
    ),
    ("eval_py_object", lambda: td.InputTransform(str), [(42, "42", 0)]),
    ("eval_void", lambda: td.Identity().set_input_type(VoidType()), [(None, None, 0)]),
    ("eval_empty_tuple", lambda: td.Record([]), [((), (), 0)]),
    (
        "max_depth_metrics",
        lambda: (td.Map(wired(kept)), td.Identity()) >> td.Nth(),
        [((range(32), -1), (31, {"foo": [*range(32)]}), None)],
    ),
    (
        "eval_metrics_different_lengths",
        lambda: td.Record(
            (td.Map(td.Scalar("int32") >> td.Metric("x")), td.Map(td.Scalar() >> td.Metric("y")))
        ),
        [(([1, 2], [3]), (([None, None], [None]), {"x": [1, 2], "y": [3.0]}), None)],
    ),
    ("rshift", lambda: td.Vector(1) >> (filled(2.0) >> filled(3.0)), [([1.0], [6.0], 2)]),
    ("rrshift", lambda: np.array([3.0], np.float32) >> filled(2.0), [(None, [6.0], 1)]),
]


def filled(x: float, size: int = 1, **options: Any) -> Block:
    return td.FC(
        size, options.pop("activation", None), lambda shape: np.full(shape, x, np.float32), **options
    )


@pytest.mark.parametrize(("make", "cases"), [pytest.param(*c[1:], id=c[0]) for c in CASES])
def test_a_block_of_folds_tests_gives_its_value(make: Callable[[], Block], cases: Cases) -> None:
    for x, value, depth in cases:
        block = make()
        assert plain(block.eval(x)) == plain(value)
        assert depth is None or block.max_depth(x) == depth
        try:
            batch = td.Compiler.create(block).build([x, x])
        except BlockError:
            continue
        tensors = value[0] if batch.metric_tensors else value
        for column, one in zip(batch.output_tensors, block.output_type.flatten(tensors), strict=True):
            rows = plain(column.predict().run(wg.run.Batched()) if hasattr(column, "predict") else column)
            assert rows == [plain(one)] * 2


E, I32 = PyObjectType(), "int32"
# Fold's name, what is done, which built-in error
REFUSED: list[tuple[str, Callable[[], object], type[Exception]]] = [
    ("function_raises", lambda: td.Function(42), TypeError),
    ("composition_connect_raises", lambda: td.Pipe(td.Scalar(), td.Concat()), TypeError),
    (
        "composition_backward_type_inference",
        lambda: td.Map(td.Identity()).set_output_type(VoidType()),
        TypeError,
    ),
    (
        "composition_forward_type_inference",
        lambda: (td.Identity() >> td.Map(td.Function(wg.negative))).set_input_type(E),
        TypeError,
    ),
    ("function_otype_inference_raises", lambda: td.Scalar() >> td.Function(lambda _: 42), TypeError),
    (
        "function_otype_inference_raises scalar",
        lambda: td.Scalar() >> td.Function(lambda _: ONE, batched=True),
        TypeError,
    ),
    ("serialized_message_to_tree_raises", lambda: td.SerializedMessageToTree(42), TypeError),
    ("one_of_raises", lambda: td.OneOf(42, (td.Scalar(),)), TypeError),
    ("one_of_raises empty", lambda: td.OneOf(lambda x: x, {}), ValueError),
    ("one_of_raises types", lambda: td.OneOf(lambda x: x, {0: td.Scalar(), 1: td.Vector(2)}), TypeError),
    (
        "concat_raises",
        lambda: {"a": td.Scalar(), "b": td.Vector(4), "c": td.Tensor([3, 3])} >> td.Concat(),
        TypeError,
    ),
    (
        "concat_raises rank",
        lambda: {"a": td.Vector(2), "b": td.Vector(4)} >> td.Concat(concat_dim=1),
        TypeError,
    ),
    (
        "concat_raises dtypes",
        lambda: {"a": td.Vector(2, dtype=I32), "b": td.Vector(4)} >> td.Concat(),
        TypeError,
    ),
    ("concat_raises nested", lambda: ((td.Scalar(),), (td.Scalar(),)) >> td.Concat(), TypeError),
    ("concat_raises empty", lambda: () >> td.Concat(), TypeError),
    ("nth_raises", lambda: (td.Scalar(), td.Scalar(), td.Scalar()) >> td.Nth(), TypeError),
    ("nth_raises sequence", lambda: (td.Scalar(), td.Scalar()) >> td.Nth(), TypeError),
    ("nth_raises place", lambda: (td.Map(td.Scalar()), td.Map(td.Scalar())) >> td.Nth(), TypeError),
    ("fc_raises", lambda: td.Scalar("int64") >> td.FC(1), TypeError),
    ("fc_raises rank", lambda: td.Scalar() >> td.FC(1), TypeError),
    ("fc_raises again", lambda: [td.Vector(n) >> layer for layer in [td.FC(1)] for n in (1, 2)], TypeError),
    ("embedding_nomod", lambda: (td.Scalar(I32) >> td.Embedding(2, 2, mod_inputs=False)).eval(2), ValueError),
    ("embedding_raises", lambda: td.Embedding(2, 2, np.zeros([3, 3], np.float32)), ValueError),
    ("embedding_raises rank", lambda: td.Vector(2, I32) >> td.Embedding(2, 2), TypeError),
    ("embedding_raises dtype", lambda: td.Scalar() >> td.Embedding(2, 2), TypeError),
    ("init_raises", lambda: td.Compiler.create(td.Record([])), TypeError),
    ("init_raises objects", lambda: td.Compiler.create(td.GetItem("foo")), TypeError),
    ("init_raises sequences", lambda: td.Compiler.create(td.Map(td.Scalar())), TypeError),
]


@pytest.mark.parametrize(("make", "error"), [pytest.param(*c[1:], id=c[0]) for c in REFUSED])
def test_a_block_of_folds_tests_is_refused(make: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_layers_compute_folds_numbers() -> None:
    norm = 2.0 / math.sqrt(8.0)
    halved = filled(4.0, 2, activation=wg.relu, normalization_fn=lambda x: x / 2.0)
    scaled = filled(2.0, weight_norm=True)
    table = np.array([[1, 2], [3, 4]], np.float32)
    for layer, cases in (
        (filled(2.0), {(0, 0): [0.0], (1, 0): [2.0], (1, 1): [4.0]}),  # fc_linear
        (scaled, {(0, 0): [0.0], (1, 0): [norm], (1, 1): [2 * norm]}),  # fc_linear_weight_norm
        (filled(3.0, 2, activation=wg.relu), {(-1,): [0.0, 0.0], (1,): [3.0, 3.0]}),  # fc_relu
        (halved, {(-1,): [0.0, 0.0], (1,): [2.0, 2.0]}),  # fc_normalization
    ):
        for x, value in cases.items():
            np.testing.assert_allclose((td.Vector(len(x)) >> layer).eval(x), value, rtol=1e-6)
    wg.assign({scaled.scales: np.array([2.0], np.float32)}).run()
    np.testing.assert_allclose((td.Vector(2) >> scaled).eval((1, 1)), [4 * norm], rtol=1e-6)
    for dtype, cases8 in (("int32", [0, 1, 7, -5]), ("int8", [0, 1, 7, -5]), ("uint8", [0, 1, 3])):
        embedded = td.Scalar(dtype) >> td.Embedding(2, 2, initializer=table)
        assert [plain(embedded.eval(x)) for x in cases8] == [[1.0, 2.0]] + [[3.0, 4.0]] * (len(cases8) - 1)
    ones = td.Scalar("int32") >> td.Embedding(2, 2, initializer=lambda shape: np.ones(shape, np.float32))
    assert [plain(ones.eval(x)) for x in (0, 1, 7)] == [[1.0, 1.0]] * 3  # embedding_initializer


def test_networks_of_folds_tests_are_built() -> None:
    """`rnn_with_cells`, `record_doc_example`, `lstm_cell`, `hierarchical_rnn`: what they give has its shape."""
    from_letters = CHARS >> td.Map(td.Scalar("int32") >> td.Function(td.Embedding(128, 8)))

    def cell(size: int, width: int) -> Block:
        layer = td.FC(size, wg.tanh)
        return td.Function(lambda x, h: (layer(wg.concat([x, h])),) * 2)

    (outputs, state) = (from_letters >> td.RNN(cell(16, 8), initial_state=td.Zeros(16))).eval("abcde")
    assert (len(outputs), outputs[0].shape, state.shape) == (5, (16,), (16,))
    first = (from_letters >> td.RNN(cell(16, 8), initial_state=td.FromTensor(np.ones(16, np.float32)))).eval(
        "v"
    )
    assert first[1].shape == (16,)

    letters = CHARS >> td.Map(td.Scalar("int32") >> td.Function(td.Embedding(128, 16)))
    name = letters >> td.Fold(td.Concat() >> td.Function(td.FC(32)), td.FromTensor(np.zeros(32, np.float32)))
    number = td.Scalar("int32") >> td.Function(td.Embedding(16, 16))
    record = td.Record([("id", number), ("name", name), ("location", td.Vector(2))])
    datum = {"id": 8, "name": "Joe Smith", "location": (2.5, 7.0)}
    assert (record >> td.Concat() >> td.Function(td.FC(256))).eval(datum).shape == (256,)

    lstm = td.Composition()
    with lstm.scope():
        state = td.Identity().reads(lstm.input[1])
        bx = td.Concat().reads(lstm.input[0], state[1])
        gates = [td.Function(td.FC(32, f)).reads(bx) for f in (wg.sigmoid, wg.sigmoid, wg.sigmoid, wg.tanh)]
        bi, bf, bo, bg = gates
        bc = td.Function(lambda c, i, f, g: c * f + i * g).reads(state[0], bi, bf, bg)
        by = td.Function(lambda c, o: wg.tanh(c) * o).reads(bc, bo)
        lstm.output.reads(by, td.Identity().reads(bc, by))
    zeros = np.zeros(32, np.float32)
    outputs, (memory, hidden) = (letters >> td.RNN(lstm, initial_state=td.AllOf(zeros, zeros))).eval(
        "The fox."
    )
    assert (len(outputs), memory.shape, hidden.shape) == (8, (32,), (32,))

    word = from_letters >> td.RNN(cell(16, 8), initial_state=td.Zeros(16)) >> td.GetItem(1)
    words = td.Map(word) >> td.RNN(cell(32, 16), initial_state=td.Zeros(32))
    assert words.eval(["the", "cat", "sat"])[1].shape == (32,)


T, S = TensorType, SequenceType
INSTANCE: Any = ([], [1], ([2], [3], ()), ((),))
TYPES: list[tuple[object, object]] = [  # what is computed, and Fold's number
    (repr(VoidType()), "VoidType()"),
    (repr(PyObjectType()), "PyObjectType()"),
    (repr(T((1, 2), "int32")), "TensorType((1, 2), 'int32')"),
    ([T(()).size, T((1, 2, 3)).size, T((1, 0, 3)).size], [1, 6, 0]),
    (
        repr(TupleType(T(()), T((1,), "int32"))),
        "TupleType(TensorType((), 'float32'), TensorType((1,), 'int32'))",
    ),
    (TupleType(T(()), T((1,)))[0:1], TupleType(T(()))),
    (
        [TupleType().size, TupleType(T(()), S(T(()))).size, TupleType(T(()), T((3,)), T(())).size],
        [0, None, 5],
    ),
    (
        list(td.convert_to_type(INSTANCE).terminal_types()),
        list(td.convert_to_type(([], [1], [2], [3])).terminal_types()),
    ),
    (td.convert_to_type(INSTANCE).flatten(INSTANCE), [[], [1], [2], [3]]),
    (td.convert_to_type(INSTANCE).unflatten(iter([[], [1], [2], [3]]), INSTANCE), INSTANCE),
    (repr(S(T((1, 2)))), "SequenceType(TensorType((1, 2), 'float32'))"),
    (S(T((1, 2))).element_type, T((1, 2))),
    (td.convert_to_type([1, 2, "int64"]), T((1, 2), "int64")),
    (td.convert_to_type(("int64", [1])), TupleType(T((), "int64"), T((1,)))),
]


@pytest.mark.parametrize(("found", "value"), TYPES)
def test_types_are_as_in_folds_tests(found: object, value: object) -> None:
    assert found == value


def test_batches_and_epochs_are_as_in_folds_tests() -> None:
    groups = [([], 2, False, []), ([1, 2, 3], 2, False, [[1, 2], [3]]), ([1, 2, 3], 2, True, [[1, 2]])]
    assert all([*td.group_by_batches(xs, n, truncate=t)] == value for xs, n, t, value in groups)
    assert [[*x] for x in td.epochs((0 for _ in range(2)), 5)] == [[0, 0]] * 5
    turns = td.epochs(range(5))
    assert [*next(turns)] == [*range(5)]
    assert {*next(turns)} == {*next(turns)} == {*range(5)}
    assert len({*[tuple(x) for x in itertools.islice(td.epochs(range(5), shuffle=False), 3)]}) == 1


# Fold's cases that are written otherwise here, or are about what is not here; the page names each group
DIFFERENT = {
    "placeholders and sessions": (
        "from_tensor",
        "tf_dropout",
        "init_loom_loom_input_tensor",
        "compiler_input_tensor",
        "loom_input_tensor",
        "empty",
        "all_initialized",
        "some_initialized",
        "run_input_tensor",
    ),
    "queues and parameter servers": ("init_loom", "enqueue", "dequeue"),
    "flags and specs": (
        "well_formed",
        "malformed",
        "boolean",
        "list",
        "bad_optimizer",
        "bad_argument",
        "missing_argument",
        "name_variants",
        "bad_algorithm",
        "missing_learning_rate",
        "missing_algorithm",
        "algorithms",
        "train create_from_flags",
        "eval create_from_flags",
        "infer create_from_flags",
        "train create_from_params",
        "eval create_from_params",
        "create",
    ),
    "edible iterators": ("edible_iterator_int", "edible_iterator_str", "edible_iterator_empty"),
    "variable scopes": ("create_variable_scope", "create_variable_scope2", "get_local_args"),
    "texts of repr": ("repr",),
    "the very list of one epoch": ("epochs_n_is_one",),
    "names of a pool's own pools": ("multiprocessing",),
    "summaries": (
        "finalize_stats_no_summaries",
        "finalize_stats_summaries",
        "finalize_stats_summaries_empty",
        "finalize_stats_invalid_loss_dtype",
    ),
}


def test_the_page_names_what_differs() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for group, names in DIFFERENT.items():
        assert f"| {group} | {len(names)} |" in text
