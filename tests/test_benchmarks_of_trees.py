"""Benchmarks of trees: their trees, their plans, and the checks that have to fail."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from benchmarks import bookkeeping, sentiment, table_one, treebank, trees
from benchmarks.__main__ import main
from benchmarks.agreement import LIKE, check_losses, losses_apart
from benchmarks.forest import Forest, Tree, below
from benchmarks.levels import added_by_word, planned
from benchmarks.registry import WORKLOADS
from benchmarks.trees_ours import Ours
from wengert.run import Batched

Check = Callable[[float], str]


def shape(tree: Tree) -> object:
    return tuple(map(shape, tree.parts))


def test_unseen_batches_come_once_and_in_the_same_order_for_all() -> None:
    batches = Forest(9, 5, 2, pool=8).batches()
    first = [*zip(batches.new(2), range(6), strict=False)]
    assert first == [*zip(batches.new(2), range(6), strict=False)]
    seen, again, *unseen = (batch for batch, _ in first)
    assert seen is again is batches.seen[0]
    assert len({tuple(map(shape, batch)) for batch in (seen, *unseen)}) == 5
    assert all(len(below(batch)) == 2 * (2 * 9 - 1) for batch in unseen)


def test_shuffled_batches_are_others_of_the_same_trees() -> None:
    batches = Forest(9, 5, 2, pool=8).batches()
    trees = batches.epoch()
    first = [*zip(batches.shuffled(2, trees), range(10), strict=False)]
    seen, again, *shuffled = (batch for batch, _ in first)
    assert seen is again is batches.seen[0]
    for epoch in (shuffled[:4], shuffled[4:]):
        assert sorted(id(tree) for batch in epoch for tree in batch) == sorted(map(id, trees))
    assert [id(tree) for tree in shuffled[0]] != [id(tree) for tree in shuffled[4]]


@pytest.mark.parametrize("alike", [True, False])
def test_only_a_batch_that_is_alike_has_one_shape(alike: bool) -> None:
    batches = Forest(12, 5, 3, pool=12, alike=True).batches(alike)
    assert len(set(map(shape, batches.seen[0]))) == 1
    assert all((len(set(map(shape, batch))) == 1) is alike for batch in batches.unseen())


def test_a_plan_computes_parts_before_their_whole() -> None:
    several = Forest(9, 5, 3).batches().seen[0]
    plan = planned(several)
    assert plan.leaves == 27
    assert plan.size == 51
    done = plan.leaves
    read: list[int] = []
    for level in plan.levels:
        assert level.rows.start == done
        assert max(*level.left, *level.right) < done
        read += [*level.left, *level.right]
        done = level.rows.stop
    assert sorted([*read, *plan.roots]) == [*range(plan.size)]


def test_rows_of_a_word_are_added() -> None:
    places, sums = added_by_word(np.array([2, 0, 2]), np.array([[1.0], [2.0], [4.0]]))
    assert (places.tolist(), sums.tolist()) == ([0, 2], [[2.0], [5.0]])


@pytest.mark.slow
@pytest.mark.parametrize(
    "check",
    [
        lambda wrong: trees.check("w", trees.SMALL, wrong),
        lambda wrong: table_one.check("w", table_one.SMALL, wrong),
        lambda wrong: treebank.check("w", wrong),
    ],
    ids=["trees", "table-1", "sst"],
)
def test_a_rate_wrong_by_a_thousandth_is_found_in_the_losses(check: Check) -> None:
    assert check(1.0).startswith("w: the losses of 18 steps lie within")
    with pytest.raises(AssertionError, match=r"w: a loss of 'wengert, .*' lies .* from plain numpy's"):
        check(1.001)


def test_each_loss_is_compared() -> None:
    def steps(last: float) -> Callable[[], float]:
        return iter([1.0] * 17 + [last]).__next__

    assert losses_apart(partial(steps, 1.0), {"a": partial(steps, 1.0), "b": partial(steps, 1.5)}) == {
        "a": 0.0,
        "b": 0.5,
    }
    with pytest.raises(AssertionError, match=r"w: a loss of 'b' lies 4e-05 .* in 18 steps, not 2e-05"):
        check_losses("w", partial(steps, 1.0), {"b": partial(steps, 1 + 2 * LIKE)})


@pytest.mark.slow
def test_without_its_trees_a_workload_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(sentiment.FOLDER, raising=False)
    main(["sst"])
    assert "left out: sst: no trees: set WENGERT_SST, or --sst, to the folder" in capsys.readouterr().out
    monkeypatch.setenv(sentiment.FOLDER, "nowhere")
    assert sentiment.absent() == "no trees: nowhere/train.txt is not there"


def test_stand_ins_are_like_the_real_trees() -> None:
    corpus = sentiment.stand_in(300)
    sizes = [len(below((tree,))) for tree in corpus.trees]
    assert 34 < np.mean(sizes) < 41  # 37.3
    words = [node.word for node in below(corpus.trees) if not node.parts]
    assert max(words) < corpus.words
    assert words.count(0) > 20  # a word as common as "the"


def test_the_launches_of_sentences_are_the_fewest_possible() -> None:
    made, fewest = bookkeeping.launches(sentiment.Sentiment(4, 4, made=20), 20)
    assert made == fewest


def test_more_launches_or_more_time_than_is_accepted_misses_the_bar() -> None:
    batches = Forest(6, 20, 4, pool=12).batches().unseen()
    found = bookkeeping.times(batches, 4)
    assert {what: len(seconds) for what, seconds in found.items()} == dict.fromkeys(bookkeeping.MOST, 2)
    assert found[bookkeeping.KEPT] == [0.0, 0.0]
    assert all(seconds > 0 for seconds in found[bookkeeping.FRESH])


def test_small_workloads_have_the_names_and_variants_of_the_large_ones() -> None:
    for name, workload in WORKLOADS.items():
        small = workload.small or workload
        assert small.name == name
        assert [v.name for v in small.variants] == [v.name for v in workload.variants]


def test_what_is_rebuilt_has_not_been_scheduled_before() -> None:
    model, executor = Ours(trees.SMALL), Batched()
    batches = trees.SMALL.batches()
    model.loss(batches.seen[0]).predict().run(executor)
    before = executor.report.launches
    for unseen in batches.unseen()[:2]:
        model.loss(unseen).predict().run(executor)
    assert executor.report.launches > before
    assert executor.report.runs == 3
