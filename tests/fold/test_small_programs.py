"""Small programs in the manner of TensorFlow Fold's guide and paper, under every executor, alone and in batches.

Each has its answers beside it, worked out in plain Python or by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert import fold as td

made: Any = td  # Any: programs as people wrote them, without types


class Program(NamedTuple):
    """A block, and for some data what it gives."""

    block: Callable[[], Any]  # Any: a block
    answers: list[tuple[Any, Any]]  # Any: data, and arrays as lists


def bag_of_words() -> Any:
    words = ["the", "cat", "sat"]
    return made.InputTransform(str.split) >> made.Map(made.OneHotFromList(words, strict=False)) >> made.Sum()


def number_of_digits() -> Any:
    add = made.Function(lambda state, digit: state * 10.0 + digit)
    return (
        made.InputTransform(str)
        >> made.Map(made.InputTransform(int) >> made.Scalar())
        >> made.Fold(add, made.Zeros([]))
    )


def calculator() -> Any:
    """An expression is a number, or (operator, left, right)."""
    expression = made.ForwardDeclaration(made.PyObjectType(), made.TensorType(()))
    operations = {"+": wg.add, "-": wg.subtract, "*": wg.multiply}
    cases = {
        sign: made.Record([(1, expression()), (2, expression())]) >> made.Function(function)
        for sign, function in operations.items()
    }
    block = made.OneOf(
        lambda x: x[0] if isinstance(x, tuple) else "number", {**cases, "number": made.Scalar()}
    )
    expression.resolve_to(block)
    return block


def depth_of_a_tree() -> Any:
    tree = made.ForwardDeclaration(made.PyObjectType(), made.TensorType(()))
    deeper = made.Map(tree()) >> made.Max() >> made.Function(lambda x: x + 1.0)
    block = made.OneOf(lambda x: isinstance(x, list), {False: one_for_all(), True: deeper})
    tree.resolve_to(block)
    return block


def one_for_all() -> Any:
    return made.InputTransform(lambda x: 0.0) >> made.Scalar()


def even_and_odd() -> Any:
    """Two declarations that need each other: how many elements stand at even places, less those at odd ones."""
    even, odd = (made.ForwardDeclaration(made.PyObjectType(), made.TensorType(())) for _ in range(2))

    def rest(then: Any, sign: float) -> Any:
        following = made.InputTransform(lambda x: x[1:]) >> then() >> made.Function(lambda n: n + sign)
        return made.OneOf(bool, {False: one_for_all(), True: following})

    blocks = rest(odd, 1.0), rest(even, -1.0)
    for declared, block in zip((even, odd), blocks, strict=True):
        declared.resolve_to(block)
    return blocks[0]


def running_sums() -> Any:
    cell = made.Function(lambda x, state: (state + x, state + x))
    return made.Map(made.Scalar()) >> made.RNN(cell, initial_state=made.Zeros([])) >> made.GetItem(0)


def diamond() -> Any:
    c = made.Composition()
    with c.scope():
        number = made.Scalar().reads(c.input)
        twice, thrice = (made.Function(lambda x, k=k: x * k).reads(number) for k in (2.0, 3.0))
        c.output.reads(made.Function(wg.add).reads(twice, thrice))
    return c


def attention() -> Any:
    def read(rows: Any) -> Any:
        weights = wg.softmax(rows[:, 0])
        return wg.sum(weights * rows[:, 1])

    return made.Map(made.Vector(2)) >> made.Stack() >> made.Function(read)


def messages() -> Any:
    def summed(x: Any, start: Any, end: Any) -> Any:
        return wg.sum(wg.segment_sum(wg.take(x, start), end, num_segments=x.shape[0]) * x)

    ends = made.Map(made.Scalar("int64")) >> made.Stack()
    return made.Record((made.Map(made.Vector(2)) >> made.Stack(), ends, ends)) >> made.Function(summed)


def weighed(x: list[list[float]]) -> float:
    e = np.exp([a for a, _ in x])
    return float((e / e.sum()) @ [b for _, b in x])


PROGRAMS = {
    "sum": Program(lambda: made.Map(made.Scalar()) >> made.Sum(), [([1, 2, 3], 6.0), ([], 0.0), ([5], 5.0)]),
    "mean": Program(lambda: made.Map(made.Scalar()) >> made.Mean(), [([1, 2, 6], 3.0), ([4], 4.0)]),
    "bag of words": Program(bag_of_words, [("the cat the dog", [2.0, 1.0, 0.0]), ("sat", [0.0, 0.0, 1.0])]),
    "digits": Program(number_of_digits, [(907, 907.0), (4, 4.0)]),
    "record": Program(
        lambda: (
            made.Record({"age": made.Scalar(), "name": made.InputTransform(len) >> made.Scalar()})
            >> made.Concat()
        ),
        [({"age": 7, "name": "ab"}, [7.0, 2.0]), ({"age": 1, "name": ""}, [1.0, 0.0])],
    ),
    "calculator": Program(
        calculator, [(("+", 1, ("*", 2, ("-", 7, 4))), 7.0), (3, 3.0), (("-", 1, 2), -1.0)]
    ),
    "depth": Program(depth_of_a_tree, [([[1], [[2], 3]], 3.0), (5, 0.0), ([1, 2], 1.0)]),
    "even and odd": Program(even_and_odd, [([1, 2, 3], 1.0), ([], 0.0), ([1, 2], 0.0)]),
    "optional": Program(
        lambda: made.Record({"x": made.Optional(made.Scalar(), np.float32(42))}) >> made.GetItem(0),
        [({"x": None}, 42.0), ({"x": 1}, 1.0)],
    ),
    "differences": Program(
        lambda: (
            made.Map(made.Scalar()) >> made.NGrams(2) >> made.Map(made.Function(wg.subtract)) >> made.Sum()
        ),
        [([5, 3, 2], 3.0), ([1], 0.0)],
    ),
    "product of pairs": Program(
        lambda: (
            (made.Map(made.Scalar()), made.Map(made.Scalar()))
            >> made.ZipWith(made.Function(wg.multiply))
            >> made.Sum()
        ),
        [(([1, 2, 3], [4, 5, 6]), 32.0), (([1, 2], [7]), 7.0)],
    ),
    "broadcast": Program(
        lambda: (
            (made.Map(made.Scalar()), made.Scalar() >> made.Broadcast())
            >> made.ZipWith(made.Function(wg.add))
            >> made.Max()
        ),
        [(([1, 5, 2], 10), 15.0), (([-1], 1), 0.0)],
    ),
    "reduce": Program(
        lambda: made.Map(made.Scalar()) >> made.Reduce(made.Function(lambda a, b: a - b)),
        [([8, 4, 2, 1], 3.0), ([5], 5.0), ([3, 2, 1], 0.0)],  # (8 - 4) - (2 - 1); (3 - 2) - 1
    ),
    "running sums": Program(lambda: running_sums() >> made.GetItem(-1), [([1, 2, 3], 6.0), ([4, -4], 0.0)]),
    "diamond": Program(diamond, [(5, 25.0), (-1, -5.0)]),
    "all of": Program(
        lambda: made.Vector(2) >> made.AllOf(made.Function(wg.sum), made.Function(wg.max)) >> made.Concat(),
        [([1, 2], [3.0, 2.0]), ([4, -1], [3.0, 4.0])],
    ),
    "reversed": Program(
        lambda: made.Map(made.Scalar()) >> made.Slice(step=-1) >> made.GetItem(0),
        [([1, 2, 3], 3.0), ([9], 9.0)],
    ),
    "nth": Program(
        lambda: (made.Map(made.Scalar()), made.Identity()) >> made.Nth(),
        [(([4, 5, 6], 1), 5.0), (([4, 5], -2), 4.0)],
    ),
    "attention": Program(
        attention, [([[0, 1], [1, 2], [2, 4]], weighed([[0, 1], [1, 2], [2, 4]])), ([[3, 7]], 7.0)]
    ),
    "lists of lists": Program(
        lambda: made.Map(made.Map(made.Scalar()) >> made.Sum()) >> made.Max(),
        [([[1, 2], [5], []], 5.0), ([[-1], [0]], 0.0)],
    ),
    "embedding": Program(
        lambda: (
            made.Map(made.Scalar("int32") >> made.Embedding(2, 2, np.array([[1, 2], [3, 4]], np.float32)))
            >> made.Sum()
        ),
        [([0, 1, 1], [7.0, 10.0]), ([3], [3.0, 4.0])],
    ),
    "tuples": Program(
        lambda: (
            made.Vector(2) >> made.Function(lambda x: (x * 2.0, x + 1.0)) >> made.Function(lambda a, b: a * b)
        ),
        [([1, 2], [4.0, 12.0]), ([0, -1], [0.0, 0.0])],
    ),
    "loop": Program(
        lambda: (
            made.Scalar() >> made.Loop(made.Function(lambda x: x * 2.0), made.Function(lambda x: x - 100.0))
        ),
        [(3, 192.0), (60, 120.0)],
    ),
    "messages": Program(
        messages,
        [
            (([[1, 0], [0, 1]], [0, 1], [0, 0]), 1.0),
            (([[1, 2], [3, 4], [5, 6]], [0, 2], [2, 1]), 17.0 + 39.0),
        ],
    ),
}
EXECUTORS: dict[str, Callable[[], Any]] = {  # Any: executors of all kinds
    "sequential": wg.run.Sequential,
    "interpreter": lambda: wg.run.Sequential(compiled=False),
    "batched": wg.run.Batched,
    "two threads": lambda: wg.run.Batched(threads=2),
    "parallel": lambda: wg.run.Parallel(threads=2),
}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_its_answers_alone_and_in_a_batch(name: str, executor: str) -> None:
    program, run = PROGRAMS[name], EXECUTORS[executor]()
    block = program.block()
    for data, answer in program.answers:
        np.testing.assert_allclose(block.eval(data, run), answer, rtol=1e-6)
    compiler = td.Compiler.create(block)
    examples = [data for data, _ in program.answers] * 2
    (column,) = compiler.build(examples).output_tensors
    right = [answer for _, answer in program.answers] * 2
    np.testing.assert_allclose(column.predict().run(run), right, rtol=1e-6)


def test_a_wrong_answer_would_be_seen() -> None:
    """The programs are told apart: no answer is that of every program."""
    answers = {repr(answer) for program in PROGRAMS.values() for _, answer in program.answers}
    assert len(answers) > len(PROGRAMS) and len(PROGRAMS) >= 20
