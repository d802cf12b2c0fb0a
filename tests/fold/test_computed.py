"""Blocks that choose by computed values (F74 to F76)."""

from __future__ import annotations

from typing import Any

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from tests.fold.made import EXECUTORS, Unchecked, deltas, made, weight
from wengert import fold as td
from wengert.errors import BlockError, WengertError


def sign() -> Unchecked:
    """1 for what is not negative."""
    return made.Function(lambda x: wg.where(wg.less(x, 0.0), x * 0.0, x * 0.0 + 1.0), name="sign")


def absolute() -> Unchecked:
    return made.Switch(sign(), (made.Function(wg.negative), made.Identity()))


def test_a_switch_asks_only_the_case_that_was_computed() -> None:  # F74
    asked: list[float] = []

    def seen(x: float) -> float:
        asked.append(x)
        return x

    cases = {0: made.InputTransform(seen) >> made.Scalar(), 1: made.FromTensor(7.0)}
    block = made.Switch(made.Scalar() >> sign(), cases)
    assert block.eval(3) == 7.0
    assert asked == []
    assert block.build(-2).predict().run() == -2.0
    assert asked == [-2]


def test_the_greatest_score_chooses() -> None:  # F74
    cases = [made.Function(lambda x, i=i: x * float(i)) for i in range(3)]
    block = made.Vector(3) >> made.Switch(made.Function(wg.negative), tuple(cases))
    assert [block.eval(x).tolist() for x in ([1, 2, 3], [3, 2, 1], [2, 1, 3])] == [
        [0.0] * 3,
        [6.0, 4.0, 2.0],
        [2.0, 1.0, 3.0],
    ]


def test_the_key_of_a_switch_is_not_differentiated() -> None:  # F74
    w = weight(-2.0)
    block = made.Scalar() >> made.Function(lambda x: x * w) >> absolute()
    layer = block.build(3)
    assert layer.predict().run() == 6.0
    assert deltas(layer, w) == [-3.0]
    layer.train().run()
    assert w.data == pytest.approx(-1.7)


def test_a_run_chooses_anew() -> None:  # S14
    w = weight(1.0)
    layer = (made.Scalar() >> made.Function(lambda x: x * w) >> absolute()).build(2)
    assert layer.predict().run() == 2.0
    wg.train(w * 3.0).run()
    wg.train(w * 30.0).run()
    assert float(w.data) < 0.0
    assert layer.predict().run() == -2.0 * float(w.data)


def test_what_waits_crosses_processes() -> None:  # S14
    layer = cloudpickle.loads(cloudpickle.dumps((made.Scalar() >> absolute()).build(-3)))
    assert layer.predict().run() == 3.0


def test_a_switch_within_recursion_over_data() -> None:
    tree: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    node = made.Record((tree(), tree())) >> made.Function(wg.add) >> absolute()
    block = made.OneOf(lambda x: isinstance(x, tuple), {True: node, False: made.Scalar()})
    tree.resolve_to(block)
    assert block.eval(((1, -3), (2, -7))) == 7.0
    assert block.max_depth(((1, -3), (2, -7))) > 2
    assert (made.Map(block) >> made.Sum()).build([(1, -3), (-4, 1)]).predict().run() == 5.0


def test_a_loop_turns_until_a_number_is_positive() -> None:  # F75
    w = weight(2.0)
    doubled = made.Loop(made.Function(lambda x: x * w), made.Function(lambda x: x - 20.0))
    layer = (made.Scalar() >> doubled).build(3)
    assert layer.predict().run() == 24.0
    assert deltas(layer, w) == [3 * 3 * 2.0**2]
    assert (made.Scalar() >> doubled).eval(50) == 100.0


def test_the_state_of_a_loop_may_be_a_tuple() -> None:
    def turn(n: Any, total: Any) -> Any:
        return n - 1.0, total + n

    block = (made.Scalar(), made.Scalar()) >> made.Loop(
        made.Function(turn), made.Function(lambda n, total: 0.5 - n)
    )
    left, total = block.build((4, 0))
    assert wg.predict((left, total)).run() == (0.0, 10.0)
    assert total.predict().run() == 10.0
    assert block.eval((4, 0)) == (0.0, 10.0)


def test_parts_of_what_waits_are_computed_once_and_get_their_own_delta() -> None:  # S2
    w, v = weight(2.0), weight(3.0)
    both = made.AllOf(made.Function(lambda x: x * w), made.Function(lambda x: x * v)) >> made.Switch(
        made.GetItem(0) >> sign(), (made.Identity(), made.Identity())
    )
    a, b = (made.Scalar() >> both).build(5)
    assert deltas(a * a + b, w, v) == [100.0, 5.0]
    assert deltas(b, w, v) == [0.0, 5.0]


def test_a_loop_that_is_not_done_is_refused() -> None:  # F75
    endless = made.Loop(made.Identity(), made.Function(lambda x: x * 0.0), limit=3)
    with pytest.raises(RuntimeError, match=r"(?s)not done after 3 turns.*test_computed\.py:") as caught:
        (made.Scalar() >> endless).eval(1)
    assert isinstance(caught.value, BlockError)


def test_a_loop_without_an_end_is_refused_by_itself() -> None:  # F75
    def after(number: Any) -> Any:
        return made.Scalar() >> made.Loop(made.Identity(), made.Function(number))

    with pytest.raises(RuntimeError, match=r"<td.Loop .*not done after 10,000 turns, its limit; .*limit="):
        after(lambda x: x * 0.0).eval(1)
    with pytest.raises(RuntimeError, match=r"<td.Loop .*is NaN after 1 turns"):
        after(wg.log).eval(-1)


def test_a_filter_keeps_what_a_computed_number_says() -> None:  # F76
    positive = made.Map(made.Scalar()) >> made.Filter(made.Identity())
    assert positive.eval([1, -2, 3]) == [1.0, 3.0]
    assert positive.eval([]) == positive.eval([-1]) == []
    words = made.Filter(made.InputTransform(len) >> made.Scalar() >> made.Function(lambda n: n - 2.5))
    assert words.eval(["to", "the", "be", "then"]) == ["the", "then"]
    total = positive >> made.Sum()
    assert total.build([1, -2, 3]).predict().run() == 4.0


def test_a_filter_waits_once_for_all_elements() -> None:
    w = weight(2.0)
    kept = made.Map(made.Scalar() >> made.Function(lambda x: x * w)) >> made.Filter(made.Identity())
    assert deltas((kept >> made.Sum()).build([1, -2, 3]), w) == [4.0]


def test_a_batch_of_blocks_that_wait() -> None:
    w = weight(-1.0)
    compiler = td.Compiler.create(made.Scalar() >> made.Function(lambda x: x * w) >> absolute())
    (sizes,) = compiler.build([1, -2, 3]).output_tensors
    assert sizes.predict().run().tolist() == [1.0, 2.0, 3.0]
    assert deltas(wg.sum(sizes), w) == [-6.0]


def test_metrics_of_a_block_that_waits() -> None:
    block = made.Scalar() >> absolute() >> made.AllOf(made.Metric("size"), made.Identity())
    assert block.eval(-3, metrics=True) == ((None, 3.0), {"size": [3.0]})


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: made.Switch(sign(), ()), ValueError, "there are no cases"),
        (
            lambda: (made.Scalar() >> made.Switch(made.Identity(), (made.Identity(),))).eval(5),
            KeyError,
            "no case 5.0",
        ),
        (
            lambda: made.Scalar() >> made.Switch(sign(), (made.Identity(), made.Zeros(3))),
            TypeError,
            r"float32 \(3,\)",
        ),
        (
            lambda: made.Tensor((2, 2)) >> made.Switch(made.Identity(), (made.Identity(),)),
            TypeError,
            "a computed number, a scalar or a vector",
        ),
        (lambda: made.Vector(0) >> made.Switch(made.Identity(), ()), ValueError, "no cases"),
        (
            lambda: made.Vector(0) >> made.Switch(made.Identity(), (made.Identity(),)),
            TypeError,
            "a computed number",
        ),
        (
            lambda: made.Vector(2) >> made.Loop(made.Identity(), made.Identity()),
            TypeError,
            "a computed number",
        ),
        (lambda: made.Loop(made.Identity(), sign(), limit=0), ValueError, "at least one turn, not 0"),
        (lambda: made.Loop(made.Scalar(), sign()), TypeError, "float32"),
        (lambda: made.Scalar() >> made.Broadcast() >> made.Filter(sign()), TypeError, "is endless"),
        (lambda: made.Filter(made.Scalar()).build([1, 2]), TypeError, "in it waits for computed values"),
        (
            lambda: (made.Map(made.Scalar()) >> made.Filter(sign())).build([1]),
            TypeError,
            "in it waits for computed",
        ),
        (
            lambda: td.Compiler.create(
                made.Scalar() >> absolute() >> made.AllOf(made.Metric("x"), made.Identity())
            ),
            TypeError,
            "how many metrics",
        ),
        (
            lambda: td.Compiler.create(made.Scalar() >> absolute()).build_loom_inputs([1]),
            TypeError,
            "no wiring is known before a run",
        ),
    ],
)
def test_what_cannot_be_chosen(make: Unchecked, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}.*test_computed.py:") as caught:
        make()
    assert isinstance(caught.value, WengertError)


def waiting(w: Any) -> dict[str, tuple[Unchecked, list[Any]]]:
    """Blocks that wait, each with examples."""
    scaled = made.Scalar() >> made.Function(lambda x: x * w)
    tree: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    node = made.Record((tree(), tree())) >> made.Function(wg.add) >> absolute()
    total = made.OneOf(lambda x: isinstance(x, tuple), {True: node, False: scaled})
    tree.resolve_to(total)
    doubled = made.Loop(made.Function(lambda x: x * w), made.Function(lambda x: x - 20.0))
    pair = made.AllOf(scaled, scaled >> absolute()) >> made.Switch(
        made.GetItem(0) >> sign(), (made.Identity(), made.Function(lambda a, b: (b, a * b)))
    )
    return {
        "switch": (scaled >> absolute(), [1, -2, 3, -4]),
        "tree": (total, [1, (1, -3), ((1, -2), 3), (-4, (1, (2, -9)))]),
        "loop": (made.Scalar() >> doubled, [1, 2, 3, 30]),
        "filter": (
            made.Map(scaled) >> made.Filter(made.Identity()) >> made.Sum(),
            [[1, -2, 3], [], [-1], [5]],
        ),
        "pair": (pair >> made.Function(lambda a, b: a * a + b), [1, -2]),
    }


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
@pytest.mark.parametrize("name", ["switch", "tree", "loop", "filter", "pair"])
def test_interpreters_agree_on_blocks_that_wait(name: str, executor: Any) -> None:  # S9
    w = weight(2.0)
    block, examples = waiting(w)[name]
    alone = [float(block.build(x).predict().run()) for x in examples]
    (batch,) = td.Compiler.create(block).build(examples).output_tensors
    np.testing.assert_allclose(np.asarray(batch.predict().run(executor)), alone, rtol=1e-6)
    expected = sum(deltas(block.build(x), w)[0] for x in examples)
    (delta,) = wg.gradients(wg.sum(batch), (w,)).run(executor)
    assert float(np.asarray(delta)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
def test_interpreters_agree_on_what_has_several_parts(executor: Any) -> None:
    w = weight(2.0)
    scaled = made.Scalar() >> made.Function(lambda x: x * w)
    a, b = made.AllOf(scaled, scaled >> absolute()).build(-3)
    loss = a * b + b * b * a
    assert loss.predict().run(executor) == -252.0
    assert (
        deltas(loss, w) == [float(np.asarray(x)) for x in wg.gradients(loss, (w,)).run(executor)] == [-360.0]
    )


def test_an_error_in_a_run_says_which_example_of_the_batch_it_is() -> None:
    never = made.Scalar() >> made.Loop(made.Identity(), made.Function(lambda x: x - 5.0), limit=3)
    batch = td.Compiler.create(never).build([7, 1])
    with pytest.raises(RuntimeError, match="not done after 3 turns") as caught:
        batch.output_tensors[0].predict().run()
    assert "in example 1 of the batch, 1" in caught.value.__notes__


@pytest.mark.parametrize("executor", [wg.run.Sequential(), wg.run.Batched(), wg.run.Parallel(threads=2)])
@pytest.mark.parametrize("count", [3, 300])
def test_an_error_of_a_launch_says_which_example_it_is(executor: Any, count: int) -> None:
    """A column of more than 128 examples is made of several."""
    pick = (made.Vector(2), made.Scalar("int64")) >> made.Function(wg.take)
    examples = [([1, 2], i % 2) for i in range(count - 1)] + [([3, 4], 7)]
    loss = wg.mean(td.Compiler.create(pick).build(examples).output_tensors[0] * weight(2.0))
    for question in (loss.predict(), loss.train()):
        with pytest.raises(IndexError) as caught:
            question.run(executor)
        (note,) = [note for note in caught.value.__notes__ if "example" in note]
        assert note == f"in example {count - 1} of the batch, ([3, 4], 7)"
