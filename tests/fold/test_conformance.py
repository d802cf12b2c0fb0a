"""The conformance list of the blocks, by number: value under every interpreter, depth, two copies alike in a batch,
and inside another block. Rows 9 to 12 about connections are refusals; row 8 as connections is in `test_compositions`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.fold.made import plain
from wengert import fold as td
from wengert.errors import BlockError, WengertError
from wengert.plugins import SGD

S, V, F, Id = td.Scalar, td.Vector, td.Function, td.Identity


def has_batch(block: Any) -> bool:
    """Whether a block has batches: it reads data and gives tensors."""
    try:
        td.Compiler.create(block)
    except BlockError:
        return False
    return True


def letter(x: str) -> int:
    return ord(x) - ord("a") + 1


def ones_and_twos() -> tuple[Any, Any]:
    """The declarations of row 19: 1, and a fold by addition that starts at it."""
    one, two = td.ForwardDeclaration(), td.ForwardDeclaration()
    block = td.Map(S()) >> two() >> F(wg.negative)
    two.resolve_to(td.Fold(F(wg.add), one()))
    one.resolve_to(td.FromTensor(1.0))
    return block, [3, 4]


def diamond() -> Any:
    double, triple, add = F(lambda x: x * 2.0), F(lambda x: x * 3.0), F(wg.add)

    def wires(x: Any) -> Any:
        return add(double(x), triple(x))

    return S() >> td.composition(wires)


def line() -> Any:
    add, double, triple, one = F(wg.add), F(lambda x: x * 2.0), F(lambda x: x * 3.0), td.FromTensor(1.0)

    def wires(x: Any) -> Any:
        return add(double(triple(x)), one(td.Void()(x)))

    return S() >> td.composition(wires)


def by_name() -> Any:
    double, triple, add = F(lambda x: x * 2.0), F(lambda x: x * 3.0), F(wg.add)

    def wires(a_b: Any) -> Any:
        return add(double(a_b[0]), triple(a_b[1]))

    return td.Record({"a": S(), "b": S()}) >> td.composition(wires)


def twice_resolved() -> Any:
    one = td.ForwardDeclaration()
    block = td.AllOf(one(), one()) >> td.Sum()
    one.resolve_to(td.FromTensor(1.0))
    return block


def states(x: Any, s: Any) -> Any:
    return x * x, s + x


def rnn() -> Any:
    return (td.Map(S()), V(2)) >> td.RNN(F(states), initial_state_from_input=True)


ZIP = {"x": td.Map(S("int32")), "y": td.Map(S("int32"))}
ENDLESS = S("int32") >> td.Broadcast()
BY_KEY = td.OneOf(
    operator.itemgetter("key"),
    {"a": td.GetItem("bar") >> S(), "b": td.GetItem("baz") >> S()},
    td.GetItem("val"),
)
BY_PLACE = (Id(), S()) >> td.OneOf(td.GetItem(0), (F(wg.square), F(wg.negative)), td.GetItem(1))
INTEGERS = (Id(), S("int32")) >> td.OneOf(td.GetItem(0), (F(lambda x: x * x), F(lambda x: -x)), td.GetItem(1))
TWOS = np.full((2, 1), 2.0, np.float32)
PLAIN, NORMED = (V(2) >> td.FC(1, None, TWOS, weight_norm=norm) for norm in (False, True))
TABLE = S("int32") >> td.Embedding(2, 2, np.array([[1, 2], [3, 4]], np.float32))
NESTED = td.Map(td.Map(S() >> F(wg.abs)))

# row, block, input, value, depth where it is said
CASES: list[tuple[str, Any, Any, Any, int | None]] = [
    ("1", S(), 42, 42.0, 0),
    ("2", V(3), [1, 2, 3], [1.0, 2.0, 3.0], 0),
    ("4", td.AllOf(Id(), Id()), "foo", ("foo", "foo"), 0),
    ("5", S() >> F(lambda x: x * 2.0), 21, 42.0, 1),
    (
        "6",
        (V(1), (V(2), V(3))) >> F(lambda x, y: ((y[1], x), y[0])),
        ([1], ([2, 3], [4, 5, 6])),
        (([4.0, 5.0, 6.0], [1.0]), [2.0, 3.0]),
        1,
    ),
    ("7", diamond(), 5, 25.0, 2),
    ("8", line(), 1, 7.0, 3),
    ("13", td.AllOf(td.Void(), S()) >> td.GetItem(1), 42, 42.0, 0),
    ("14", td.Map(Id()) >> V(2), [1, 2], [1.0, 2.0], 0),
    ("15", td.Record({0: S("int32")}), {0: 42}, (42,), 0),
    ("16", by_name(), {"a": 1, "b": 5}, 17.0, 2),
    (
        "18",
        td.Record([(0, S()), (slice(1, 3), (S(), S()) >> td.Concat())]),
        [1, 2, 3],
        (1.0, [2.0, 3.0]),
        1,
    ),
    ("19", *ones_and_twos(), -8.0, 3),
    ("20", twice_resolved(), None, 2.0, 1),
    ("21", NESTED, [[-1, -2, -3], [-4, -5], [-6], []], [[1.0, 2.0, 3.0], [4.0, 5.0], [6.0], []], 1),
    ("21 empty", NESTED, [[]], [[]], 0),
    ("22", (S(), S()) >> td.Map(F(wg.negative)), (3, 4), [-3.0, -4.0], 1),
    ("23", td.Fold((Id(), S()) >> td.Sum(), td.Zeros([])), (2, 3), 5.0, 2),
    ("24", rnn(), ([1, 2, 3, 4], [0, 0]), ([1.0, 4.0, 9.0, 16.0], [10.0, 10.0]), 4),
    ("24 empty", rnn(), ([], [0, 0]), ([], [0.0, 0.0]), 0),
    ("25", td.Map(S()) >> td.Reduce(F(wg.add)), [], 0.0, 0),
    ("26 fold", td.Map(S()) >> td.Fold(F(wg.divide), 1.0), [1, 2, 3, 4], pytest.approx(1 / 24), 4),
    ("26 reduce", td.Map(S()) >> td.Reduce(F(wg.divide)), [1, 2, 3, 4], pytest.approx(2 / 3), 2),
    ("27", (S(), S(), S()) >> td.Mean(), (0, 0, 6), 2.0, 3),
    ("28 none", S() >> td.AllOf(), -3, None, 0),
    ("28 one", S() >> td.AllOf(F(wg.negative)), -3, (3.0,), 1),
    # pyrefly: ignore[unsupported-operation]  # to it the lambda is one of layers, also of integers
    ("29", td.Map(td.InputTransform(letter) >> S("int32") >> F(lambda x: -x)), "abcd", [-1, -2, -3, -4], 1),
    ("30", td.Map(S()) >> td.GetItem(-1), range(10), 9.0, 0),
    ("31 text", td.Slice(step=-1), "abc", "cba", 0),
    ("31 list", td.Slice(step=-1), [1, 2], [2, 1], 0),
    ("31 tuple", td.Slice(stop=0), (1, 2), (), 0),
    ("33", BY_KEY, {"key": "b", "val": {"bar": 42, "baz": 0}}, 0.0, 0),
    ("34 first", BY_PLACE, (0, 2), 4.0, 1),
    ("34 second", BY_PLACE, (1, 2), -2.0, 1),
    ("34 last", BY_PLACE, (-1, 2), -2.0, 1),
    ("34 integer", INTEGERS, (0, 2), 4, 1),
    ("34 second integer", INTEGERS, (1, 2), -2, 1),
    ("35 zeros", td.Optional(V(4)), None, [0.0] * 4, 0),
    ("35 given", td.Optional(S(), np.float32(42)), None, 42.0, 0),
    ("35 some", td.Optional(S(), np.float32(42)), 7, 7.0, 0),
    (
        "36",
        td.Optional({"a": td.Map({"b": S(), "c": S()}), "d": V(3)}),
        None,
        ([], [0.0, 0.0, 0.0]),
        0,
    ),
    ("37", S() >> td.Broadcast() >> td.Map(F(wg.negative)), 42, ("endless", -42.0), 1),
    ("38", td.Record(ZIP) >> td.Zip(), {"x": [1, 2], "y": [3]}, [(1, 3)], 0),
    (
        "38 one endless",
        td.Record({**ZIP, "y": ENDLESS}) >> td.Zip(),
        {"x": [1, 2], "y": 3},
        [(1, 3), (2, 3)],
        0,
    ),
    (
        "38 all endless",
        td.Record({"x": ENDLESS, "y": ENDLESS}) >> td.Zip(),
        {"x": 1, "y": 3},
        ("endless", (1, 3)),
        0,
    ),
    ("39 short", td.NGrams(2), [1], [], 0),
    ("39", td.NGrams(2), [1, 2, 3], [(1, 2), (2, 3)], 0),
    ("40", td.OneHot(100, 103), 101, [0.0, 1.0, 0.0], 0),
    ("40 unknown", td.OneHotFromList([37, 23], strict=False), 100, [0.0, 0.0], 0),
    ("41", td.Zeros((td.VoidType(), "float32")), None, (None, 0.0), 0),
    ("45 zero", PLAIN, [0, 0], [0.0], 1),
    ("45 one", PLAIN, [1, 0], [2.0], 1),
    ("45 two", PLAIN, [1, 1], [4.0], 1),
    ("45 normed zero", NORMED, [0, 0], [0.0], 1),
    ("45 normed one", NORMED, [1, 0], pytest.approx([2 / 8**0.5]), 1),
    ("45 normed two", NORMED, [1, 1], pytest.approx([4 / 8**0.5]), 1),
    ("46 first", TABLE, 0, [1.0, 2.0], 1),
    ("46 second", TABLE, 1, [3.0, 4.0], 1),
    ("46 beyond", TABLE, 7, [3.0, 4.0], 1),
    ("46 below", TABLE, -5, [3.0, 4.0], 1),
]
EXECUTORS = {
    "sequential": wg.run.Sequential(),
    "interpreted": wg.run.Sequential(compiled=False),
    "parallel": wg.run.Parallel(threads=2),
    "batched": wg.run.Batched(),
}
NUMBERS = {int(case[0].split()[0]) for case in CASES}


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
@pytest.mark.parametrize(("block", "x", "value", "depth"), [pytest.param(*c[1:], id=c[0]) for c in CASES])
def test_a_block_gives_its_value(block: Any, x: Any, value: Any, depth: int, executor: Any) -> None:
    assert plain(block.eval(x, executor)) == value
    assert block.max_depth(x) == depth


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
@pytest.mark.parametrize(("block", "x", "value"), [pytest.param(*c[1:4], id=c[0]) for c in CASES])
def test_two_copies_in_one_run_are_alike_and_a_block_works_inside_others(
    block: Any, x: Any, value: Any, executor: Any
) -> None:
    both: Any = td.Record((block, block)) if x is not None else td.AllOf(block, block)
    first, second = plain(both.eval((x, x) if x is not None else None, executor))
    assert (first, second) == (value, value)
    if block.input_type is not None and x is not None:
        assert plain(td.Map(block).eval([x, x, x], executor)) == [value] * 3


BATCHES = [
    case for case in CASES if case[1].output_type is not None and case[2] is not None and has_batch(case[1])
]


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
@pytest.mark.parametrize(("block", "x", "value"), [pytest.param(*c[1:4], id=c[0]) for c in BATCHES])
def test_two_copies_in_a_batch_give_equal_rows(block: Any, x: Any, value: Any, executor: Any) -> None:
    compiler = td.Compiler.create(block)
    terminals = block.output_type.flatten(value) if isinstance(value, tuple) else [value]
    for batch in (compiler.build([x, x]), compiler.build(compiler.build_loom_inputs([x, x]))):
        rows = [
            plain(column.predict().run(executor)) if isinstance(column, wg.ArrayLayer) else plain(column)
            for column in batch.output_tensors
        ]
        assert [row[0] for row in rows] == [row[1] for row in rows] == terminals


def test_the_list_can_fail() -> None:
    with pytest.raises(AssertionError):
        test_a_block_gives_its_value(S(), 42, 43.0, 0, None)
    with pytest.raises(AssertionError):
        test_a_block_gives_its_value(S() >> F(wg.negative), 42, -42.0, 0, None)
    assert len(BATCHES) > 20


OWN = {42, 43, 44, 47}  # with a test of their own, below or in `test_metrics`


def test_every_row_of_the_list_has_a_case() -> None:
    refused = {int(row[0].split()[0]) for row in REFUSED}
    assert NUMBERS | refused | OWN == set(range(1, 48))


def of(error: type[Exception], *texts: str) -> Any:
    return pytest.raises(error, match="(?s)" + ".*".join(texts))


def connected(*pairs: tuple[str, str]) -> Any:
    """A composition of two blocks with these connections, used."""
    some, other = td.Composition(), td.Composition()
    ends = {"input": some.input, "output": some.output, "foreign": other.input}
    blocks = ends | {name: td.Function(wg.exp, name=name) for name in "ab"}
    for source, target in pairs:
        some.connect(blocks[source], blocks[target])
    return S() >> some


no_wire: Any = lambda x: None  # noqa: E731  # Any: mypy refuses it


# row, what is done, which built-in error, what it says
REFUSED: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("3", lambda: td.FromTensor(42), TypeError, "42 is no tensor"),  # type: ignore[arg-type]  # mypy says so too
    ("17", lambda: (S(), S()) >> td.Record({"a": Id(), "b": Id()}), RuntimeError, "a dict has no order"),  # type: ignore[operator]  # mypy says so too
    ("32", lambda: S() >> td.Broadcast() >> td.Slice(stop=3), TypeError, "endless float32"),  # type: ignore[operator]  # mypy says so too
    ("40 strict", lambda: td.OneHotFromList([37, 23]).eval(100), KeyError, "100 is not in the list"),
    ("40 twice", lambda: td.OneHotFromList([37, 37]), AssertionError, "twice"),
    ("40 outside", lambda: td.OneHot(3).eval(3), KeyError, "3 is no integer from 0 to 2"),
    ("40 empty", lambda: td.OneHot(0), IndexError, "no integer lies"),  # type: ignore[arg-type]  # mypy says so too
    ("41", lambda: td.Zeros(td.PyObjectType()), TypeError, "no zeros of object"),
    ("9", lambda: connected(("b", "a"), ("a", "b"), ("b", "output")), ValueError, "connections are a cycle"),
    ("10", lambda: connected(("input", "a")), TypeError, "nothing is connected to its output"),
    ("10 wire", lambda: td.composition(no_wire), TypeError, "returned None, which is no wire"),
    ("11", lambda: connected(("input", "a"), ("input", "a")), ValueError, "'a'.*is connected already"),
    ("12 output", lambda: connected(("output", "a")), ValueError, "its output cannot be read"),
    ("12 input", lambda: connected(("a", "input")), ValueError, "its input cannot be written"),
    ("12 foreign", lambda: connected(("foreign", "a")), ValueError, "belongs to another composition"),
]


@pytest.mark.parametrize(("make", "error", "text"), [pytest.param(*c[1:], id=c[0]) for c in REFUSED])
def test_a_block_refuses(make: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        make()
    assert isinstance(caught.value, WengertError)
    assert "test_conformance.py:" in str(caught.value)


def test_weights_are_shared_and_trained_through_blocks() -> None:
    weight = SGD(learning_rate=0.1).array_weight(np.full((), 2.0, np.float32))
    scaled = td.Map(S() >> F(lambda x: x * weight)) >> td.Sum()
    assert scaled.eval([1, 2, 3]).item() == 12.0
    (delta,) = wg.gradients(scaled.build([1, 2, 3]), (weight,)).run()
    assert float(np.asarray(delta)) == 6.0
    scaled.build([1, 2]).train().run()
    assert float(weight.data) == pytest.approx(1.7)


def test_numbers_of_numpy_are_numbers_and_texts_are_not() -> None:
    assert S().eval(np.int64(2)).item() == 2.0
    with pytest.raises(TypeError, match="'7' is not of such numbers"):
        S().eval("7")  # type: ignore[call-overload]  # mypy refuses it too


def test_a_sum_of_sums_runs_by_levels() -> None:  # row 47
    add = td.Function(lambda a, b: a + b)

    def sums(p: Any) -> Any:
        return add(add(p[0], p[1]), p[2])

    pairs = td.Record([(i, td.Record((S(), S())) >> add) for i in range(3)])
    executor = wg.run.Batched()
    assert (pairs >> td.composition(sums)).eval(((1, 2), (3, 4), (5, 6)), executor) == 21.0
    (line,) = executor.report.lines.values()
    assert (line.launches, line.rows) == (3, 5)
