"""Programs as somebody writes them who knows TensorFlow Fold: of its pages, its notebook and its examples.

Each gives the same under every executor, in a batch, from loom inputs and by itself, and trains. mypy checks them as
they stand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import fold as td

PROGRAMS: list[Any] = []  # Any: parameters of a test


def program(name: str, block: Any, *data: Any) -> None:
    PROGRAMS.append(pytest.param(block, list(data), id=name))


program("scalar", td.Scalar(), 1, 2.5)
program("vector pipe", td.Vector(3) >> td.Function(wg.negative), [1, 2, 3])
program(
    "record of doc",
    td.Record({"id": td.Scalar("int32") >> td.Embedding(16, 4, seed=0, name="id"), "location": td.Vector(2)})
    >> td.Concat()
    >> td.FC(5, seed=1, name="fc"),
    {"id": 8, "location": (2.5, 7.0)},
    {"id": 3, "location": (1, 1)},
)
program("all of", td.AllOf(td.Scalar(), td.OneHot(4)) >> td.Concat(), 1, 3)
program("dict literal", {"x": td.Scalar(), "y": td.Vector(2)} >> td.Concat(), {"x": 1, "y": [2, 3]})
program("map fold", td.Map(td.Scalar()) >> td.Fold(td.Function(wg.add), td.FromTensor(0.0)), [1, 2, 3], [])
program("map reduce", td.Map(td.Vector(2)) >> td.Reduce(td.Function(wg.maximum)), [[1, 5], [2, 3]], [[7, 7]])
program(
    "mean of embeddings",
    td.Map(td.Scalar("int32") >> td.Function(td.Embedding(10, 3, seed=2, name="m"))) >> td.Mean(),
    [1, 2, 9],
    [4],
)
program(
    "n-grams",
    td.Map(td.Scalar()) >> td.NGrams(2) >> td.Map(td.Function(wg.multiply)) >> td.Sum(),
    [1, 2, 3],
    [5],
)
program(
    "zip with",
    td.Record((td.Map(td.Scalar()), td.Map(td.Scalar()))) >> td.ZipWith(td.Function(wg.subtract)) >> td.Sum(),
    ([1, 2], [3, 4]),
)
program(
    "broadcast",
    td.AllOf(td.Map(td.Scalar()) >> td.Sum() >> td.Broadcast(), td.Map(td.Scalar()))
    >> td.ZipWith(td.Function(wg.add))
    >> td.Max(),
    [1, 2, 3],
    [5],
)
program("optional", td.Optional(td.Vector(2), np.ones(2, np.float32)), [1, 2], None)
program(
    "one of",
    td.OneOf(
        lambda x: x["op"],
        {
            "lit": td.GetItem("v") >> td.Scalar(),
            "neg": td.GetItem("v") >> td.Scalar() >> td.Function(wg.negative),
        },
    ),
    {"op": "lit", "v": 2},
    {"op": "neg", "v": 2},
)
program(
    "one of positions",
    td.OneOf(lambda x: float(x) > 0, (td.Scalar() >> td.Function(wg.negative), td.Scalar())),
    -3,
    4,
)
program("slice", td.Slice(stop=2) >> td.Map(td.Scalar()) >> td.Sum(), [1, 2, 3])
program(
    "length",
    td.AllOf(td.Length(), td.Map(td.Scalar()) >> td.Sum()) >> td.Function(lambda n, s: s / (n + 1.0)),
    [1, 2, 3],
    [],
)
program("nth", td.Record((td.Map(td.Scalar()), td.Identity())) >> td.Nth(), ([1, 2, 3], 1), ([4], 0))
program("input transform", td.InputTransform(len) >> td.Scalar(), "four", "")
program("one hot list", td.OneHotFromList(["a", "b"]) >> td.FC(3, None, seed=3, name="oh"), "a", "b")
program(
    "fc stack",
    td.Vector(4)
    >> td.FC(8, seed=4, name="a")
    >> td.FC(8, wg.tanh, seed=5, name="b")
    >> td.FC(2, activation=None, seed=6, name="c"),
    [1, 2, 3, 4],
    [0, 0, 0, 1],
)


def tree_network() -> Any:
    tree = td.ForwardDeclaration(td.PyObjectType(), td.TensorType((3,)))
    leaf = td.Scalar() >> td.Function(lambda x: wg.stack([x, x, x]))
    fc = td.FC(3, wg.tanh, seed=7, name="tree")
    pair = td.Record((tree(), tree())) >> td.Concat() >> fc
    cases: Any = {True: pair, False: leaf}
    whole: Any = td.OneOf(lambda x: isinstance(x, (list, tuple)), cases)
    tree.resolve_to(whole)
    return whole


program("tree", tree_network(), ((1, 2), 3), 4, (1, (2, (3, 4))))


def calculator() -> Any:
    expr = td.ForwardDeclaration(td.PyObjectType(), td.TensorType((5,)))
    digit = td.GetItem(1) >> td.OneHot(10) >> td.FC(5, seed=8, name="digit")

    def operator(i: int) -> Any:
        both = td.Record([(1, expr()), (2, expr())])
        return both >> td.Concat() >> td.FC(5, seed=9 + i, name=f"op{i}")

    cases: Any = {op: operator(i) for i, op in enumerate("+-*/")}
    whole: Any = td.OneOf(td.GetItem(0), {"n": digit, **cases})
    expr.resolve_to(whole)
    return whole >> td.FC(3, None, seed=20, name="sign")


program(
    "calculator",
    calculator(),
    ("n", 3),
    ("+", ("n", 1), ("*", ("n", 2), ("n", 3))),
    ("-", ("/", ("n", 9), ("n", 2)), ("n", 4)),
)


def sentiment() -> Any:
    size = 4
    word = td.InputTransform(len) >> td.Scalar("int32") >> td.Embedding(20, size, seed=30, name="words")
    gates = td.FC(5 * size, None, seed=31, name="gates")

    def cell(x: Any, left: Any, right: Any) -> Any:
        (c0, h0), (c1, h1) = left, right
        i, j, f0, f1, o = wg.split(gates(wg.concat([x, h0, h1])), 5)
        c = wg.sigmoid(f0 + 1.0) * c0 + wg.sigmoid(f1 + 1.0) * c1 + wg.sigmoid(i) * wg.tanh(j)
        return c, wg.tanh(c) * wg.sigmoid(o)

    state = td.TupleType(td.TensorType((size,)), td.TensorType((size,)))
    tree = td.ForwardDeclaration(td.PyObjectType(), state)
    leaf: Any = td.AllOf(td.GetItem(0) >> word, td.Zeros(state), td.Zeros(state)) >> td.Function(cell)
    node: Any = td.AllOf(
        td.Void() >> td.Zeros(size), td.GetItem(0) >> tree(), td.GetItem(1) >> tree()
    ) >> td.Function(cell)
    whole: Any = td.OneOf(len, {1: leaf, 2: node})
    tree.resolve_to(whole)
    return whole >> td.GetItem(1) >> td.FC(5, None, seed=32, name="scores")


program("sentiment", sentiment(), (("good",), ("movie",)), ("bad",), ((("a",), ("very",)), ("b",)))


def language() -> Any:
    letter = (
        td.InputTransform(lambda c: ord(c) - 97)
        >> td.Scalar("int32")
        >> td.Embedding(26, 4, seed=40, name="letters")
    )
    char = td.Fold(td.Concat() >> td.FC(6, wg.tanh, seed=41, name="char"), td.Zeros(6))
    words = td.InputTransform(str.split) >> td.Map(td.Map(letter) >> char)
    return (
        words
        >> td.Fold(td.Concat() >> td.FC(6, wg.tanh, seed=42, name="word"), td.Zeros(6))
        >> td.FC(3, None, seed=43, name="lang")
    )


program("language id", language(), "the cat", "", "le chat noir")
program(
    "mnist",
    td.Vector(16)
    >> td.FC(10, seed=50, input_keep_prob=0.75, name="m1")
    >> td.FC(4, None, seed=51, input_keep_prob=0.75, name="m2"),
    [float(i % 3) for i in range(16)],
)


def fizzbuzz() -> Any:
    digits = td.InputTransform(lambda n: [int(d) for d in str(n)] if n else [])
    step = td.Record((td.Identity(), td.OneHot(10))) >> td.Concat() >> td.FC(8, seed=60, name="fizz")
    return digits >> td.Fold(step, td.Zeros(8)) >> td.FC(4, None, seed=61, name="buzz")


program("fizzbuzz", fizzbuzz(), 0, 15, 1234)


def composed() -> Any:
    c: Any = td.Composition()
    with c.scope():
        x = td.Vector(3).reads(c.input)
        hidden = td.FC(4, seed=70, name="h").reads(x)
        joined = td.Concat().reads(hidden, x)
        c.output.reads(td.FC(2, None, seed=71, name="o").reads(joined))
    return c


program("composition", composed(), [1, 2, 3], [0, 1, 0])


of_four: Any = lambda c, i, f, g: c * f + i * g  # noqa: E731  # Any: checkers know functions of up to three layers


def lstm_by_hand() -> Any:
    c: Any = td.Composition()
    with c.scope():
        state = td.Identity().reads(c.input[1])
        bx = td.Concat().reads(c.input[0], state[1])
        i, f, o = (td.Function(td.FC(4, wg.sigmoid, seed=80 + k, name=f"g{k}")).reads(bx) for k in range(3))
        g = td.Function(td.FC(4, wg.tanh, seed=83, name="g3")).reads(bx)
        memory = td.Function(of_four).reads(state[0], i, f, g)
        y = td.Function(lambda c, o: wg.tanh(c) * o).reads(memory, o)
        c.output.reads(y, td.Identity().reads(memory, y))
    zeros = np.zeros(4, np.float32)
    return (
        td.Map(td.Vector(2))
        >> td.RNN(c, initial_state=td.AllOf(zeros, zeros))
        >> td.GetItem(1)
        >> td.GetItem(1)
    )


program("lstm by hand", lstm_by_hand(), [[1, 2], [3, 4]], [[0, 1]])
program(
    "metrics",
    td.Map(td.Scalar() >> td.AllOf(td.Metric("x"), td.Identity()) >> td.GetItem(1)) >> td.Sum(),
    [1, 2],
    [3],
)


def attention() -> Any:
    hidden = td.Map(td.Vector(2) >> td.FC(3, wg.tanh, seed=90, name="att"))
    score = td.FC(1, None, seed=91, name="score")
    weights = td.Map(score >> td.Function(wg.exp))
    normal = td.AllOf(weights, weights >> td.Sum() >> td.Broadcast()) >> td.ZipWith(td.Function(wg.divide))
    return hidden >> td.AllOf(normal, td.Identity()) >> td.ZipWith(td.Function(wg.multiply)) >> td.Sum()


program("attention", attention(), [[1, 2], [3, 4]], [[0, 1]])
program(
    "segments",
    td.Record(
        (
            td.Map(td.Vector(2)) >> td.Stack(),
            td.Map(td.Scalar("int64")) >> td.Stack(),
            td.Map(td.Vector(2)) >> td.Stack(),
        )
    )
    >> td.SegmentReduce("mean")
    >> td.Function(lambda h: wg.sum(wg.softmax(h, axis=0), axis=0)),
    ([[1, 2], [3, 4]], [0, 0], [[0, 0], [0, 0]]),
    ([[1, 1], [2, 2], [3, 3]], [1, 1, 0], [[0, 0], [0, 0], [0, 0]]),
)


EXECUTORS = (
    wg.run.Sequential(),
    wg.run.Batched(),
    wg.run.Batched(threads=2),
    wg.run.Parallel(threads=2),
)


@pytest.mark.parametrize(("block", "data"), PROGRAMS)
def test_a_program_gives_the_same_everywhere_and_trains(block: Any, data: Any) -> None:
    compiler = td.Compiler.create(block)
    right = compiler.build(data).output_tensors[0].predict().run(wg.run.Sequential(compiled=False))
    for executor in EXECUTORS:
        found = compiler.build(data).output_tensors[0].predict().run(executor)
        np.testing.assert_allclose(found, right, rtol=2e-5, atol=1e-6)
    wired = compiler.build(compiler.build_loom_inputs(data)).output_tensors[0]
    np.testing.assert_allclose(wired.predict().run(), right, rtol=2e-5, atol=1e-6)
    alone = np.stack([block.eval(x, metrics=False) for x in data])
    np.testing.assert_allclose(alone, right, rtol=2e-5, atol=1e-6)
    losses = [
        wg.mean(wg.square(compiler.build(data).output_tensors[0] - 0.5)).train().run(EXECUTORS[1])
        for _ in range(3)
    ]
    assert losses[-1] <= losses[0] + 1e-6
