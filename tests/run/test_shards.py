"""`shards`: how a batch is divided, what is added in which order, and what is refused. Who agrees: tests/executors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam
from wengert.data import Items, Rows
from wengert.errors import ArgumentError, DTypeError, Failures, ShapeError
from wengert.lazy import LazyDelta
from wengert.plugins import SGD
from wengert.run.shards import Shard, shards_of, total

Array = np.ndarray[Any, np.dtype[Any]]  # Any: shapes and element types are what varies
SETTINGS = SGD(learning_rate=0.5)
X = np.arange(7, dtype=np.float64)


def weighted(w: Any) -> Callable[[Any, object], Any]:  # Any: a weight, a batch, and a loss of any kind
    return lambda batch, seed: wg.mean(w * batch)


def _plain(part: Any) -> Any:  # Any: of every class
    if isinstance(part, tuple):
        return tuple(map(_plain, part))
    return part.tolist() if isinstance(part, np.ndarray) else part


@dataclass(frozen=True, eq=False)
class Points(Rows):
    x: Array
    y: Array


@pytest.mark.parametrize(
    ("batch", "count", "parts"),
    [
        (X, 3, [[0, 1, 2], [3, 4], [5, 6]]),
        ((X, X[::-1]), 2, [([0, 1, 2, 3], [6, 5, 4, 3]), ([4, 5, 6], [2, 1, 0])]),
        (["a", "b", "c"], 3, [["a"], ["b"], ["c"]]),
        ("word", 1, ["word"]),
    ],
)
def test_parts_follow_each_other(batch: Any, count: int, parts: list[Any]) -> None:  # Any: of every class
    met: list[tuple[Any, object]] = []  # Any: as above
    w = SETTINGS.double_weight(1.0)

    def loss(part: Any, seed: tuple[int, ...] | None) -> wg.DoubleLayer:  # Any: as above
        met.append(
            (
                tuple(x.tolist() for x in part)
                if isinstance(part, tuple)
                else getattr(part, "tolist", lambda: part)(),
                seed,
            )
        )
        return w * 1.0

    wg.shards(loss, batch, count, seed=5)
    wg.shards(loss, batch, count, seed=(1, 2))
    wg.shards(loss, batch, count)
    assert [part for part, _ in met] == 3 * parts
    seeds = [seed for _, seed in met]
    assert seeds == [*((5, i) for i in range(count)), *((1, 2, i) for i in range(count)), *[None] * count]


def test_sets_of_examples_are_taken() -> None:
    met: list[object] = []
    w = SETTINGS.double_weight(1.0)

    def loss(part: Any, seed: object) -> wg.DoubleLayer:  # Any: of both classes
        met.append(part.x.tolist() if isinstance(part, Points) else list(part))
        return w * 1.0

    wg.shards(loss, Points(X[:3], X[:3]), 2)
    wg.shards(loss, Items(["a", "b", "c"]), 2)
    assert met == [[0.0, 1.0], [2.0], ["a", "b"], ["c"]]


def test_the_sum_weighs_parts_by_their_size_or_not() -> None:
    w = SETTINGS.double_weight(2.0)
    mean, added = (wg.shards(weighted(w), X, 2, weigh=how) for how in ("mean", "sum"))
    assert mean.predict().run() == pytest.approx(6.0) and added.predict().run() == 2 * 1.5 + 2 * 5.0
    assert wg.gradients(mean * 3.0, w).run() == pytest.approx(9.0)
    assert added.train().run() == 13.0 and w.data == 2.0 - 0.5 * 6.5


def test_deltas_are_added_from_the_last_to_the_first() -> None:
    w = SETTINGS.array_weight(np.zeros(1, np.float32))
    big, small = np.float32(1e8), np.float32(1.0)
    deltas = [np.array([x], np.float32) for x in (small, -big, big, small)]
    found = total([Shard(1.0, {w: delta}) for delta in deltas])
    assert (
        found.deltas[w].tolist() == [1.0] and found.value == 4.0
    )  # ((1 + 1e8) - 1e8) + 1, where 1 + 1e8 is 1e8
    loss = wg.shards(lambda part, seed: wg.sum(w * part), np.concatenate(deltas), 4, weigh="sum")
    loss.train().run()
    assert w.data.tolist() == [-0.5] and [x.tolist() for x in deltas] == [[1.0], [-1e8], [1e8], [1.0]]


def test_few_rows_of_a_table_stay_rows_each_once() -> None:
    table = SGD(learning_rate=1.0).array_weight(np.zeros((1000, 2)))
    x = np.array([7, 3, 7, 900, 3])
    loss = wg.shards(lambda part, seed: wg.sum(wg.take(table, part)), x, 3, weigh="sum")
    found: list[Shard] = wg.Do.program(lambda c: c.run.executor.shards(shards_of(loss), True, c)).run()
    delta: Any = total(found).deltas[table]  # Any: a lazy one, as is checked
    assert isinstance(delta, LazyDelta) and len(delta.terms) == 1
    lines, sums = delta.touched() or ((), ())
    assert [*lines] == [3, 7, 900] and np.asarray(sums).tolist() == [[2.0, 2.0], [2.0, 2.0], [1.0, 1.0]]
    loss.train().run()
    assert table.data[[3, 7, 900, 8]].tolist() == [[-2.0, -2.0], [-2.0, -2.0], [-1.0, -1.0], [0.0, 0.0]]


def test_a_loss_with_other_data_or_of_no_weight_of_its_own() -> None:
    w, v = SETTINGS.double_weight(2.0), SETTINGS.double_weight(1.0)
    loss = wg.shards(weighted(w), X, 2) + v
    assert loss.predict(at={w: 0.0}).run() == 1.0 and wg.gradients(loss, (w, v), at={v: 5.0}).run() == (
        3.0,
        1.0,
    )
    assert wg.predict(loss, at={v: 0.0}).run() == pytest.approx(6.0)


def test_derivatives_of_what_is_no_weight() -> None:
    w, x = SETTINGS.double_weight(2.0), wg.lift(3.0)
    loss = wg.shards(lambda part, seed: wg.mean(w * x * part), X, 2)
    assert wg.gradients(loss, {"x": x, "w": w}).run() == {"x": pytest.approx(6.0), "w": pytest.approx(9.0)}


def test_questions_of_one_run_share_one_sum_of_deltas() -> None:
    w = SETTINGS.double_weight(2.0)
    loss = wg.shards(weighted(w), X, 2)

    async def asked() -> float:
        value: Any = await loss  # Any: an array without axes
        return float(value) + float(await (loss * 2.0).train())

    assert wg.Do.coroutine(asked).run() == pytest.approx(18.0) and w.data == pytest.approx(2.0 - 0.5 * 6.0)


def test_a_failure_says_in_which_shard_and_changes_nothing() -> None:
    w = SETTINGS.double_weight(2.0)

    def loss(part: np.ndarray[tuple[int], np.dtype[np.float64]], seed: object) -> Any:  # Any: a loss
        @wg.differentiable
        async def checked(x: wg.ArrayLayer[tuple[()], np.float64]) -> wg.ArrayLayer[tuple[()], np.float64]:
            if float(await x) > 5.0:
                raise LookupError("above 5")
            return x

        return checked(wg.mean(w * part))

    whole = wg.shards(loss, X, 7)
    with pytest.raises(Failures) as several:
        whole.train().run()
    assert [
        [note for note in x.__notes__ if note.startswith("in shard")] for x in several.value.exceptions
    ] == [[f"in shard {i} of 7"] for i in (3, 4, 5, 6)]
    with pytest.raises(LookupError, match="above 5"):
        wg.shards(loss, X, 2).train().run()
    assert w.data == 2.0

    def refused(part: Array, seed: object) -> wg.DoubleLayer:
        raise LookupError("never")

    with pytest.raises(LookupError) as failure:
        wg.shards(refused, X, 2)
    assert failure.value.__notes__ == ["in shard 0 of 2"]


@pytest.mark.parametrize("count", [0, 8, -1, 1.5, True, None])
def test_a_count_that_divides_no_batch_is_refused(count: Any) -> None:  # Any: what is refused
    with pytest.raises(
        ArgumentError, match=r"from 1 to the number of examples, which is 7.*\n  at .*test_shards"
    ):
        wg.shards(weighted(SETTINGS.double_weight(1.0)), X, count)


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        (5, "a batch has a length"),
        ((X, X[:2]), "one length; got 7, 2"),
        ((), "an empty tuple"),
        (X[:0], "which is 0"),
    ],
)
def test_a_batch_that_cannot_be_divided_is_refused(batch: Any, said: str) -> None:  # Any: what is refused
    with pytest.raises(ArgumentError, match=said):
        wg.shards(weighted(SETTINGS.double_weight(1.0)), batch, 1)


def test_losses_that_cannot_be_added_are_refused() -> None:
    w = SETTINGS.array_weight(np.zeros(2))
    with pytest.raises(ShapeError, match="a loss is a scalar"):
        wg.shards(lambda part, seed: w * 1.0, X, 2)
    kinds: Any = iter((np.float32, np.float64))  # Any: either
    said = r"the loss of shard 1 is \(\) float64 on cpu, and that of shard 0 \(\) float32"
    with pytest.raises(DTypeError, match=said):
        wg.shards(lambda part, seed: wg.sum(wg.astype(w, next(kinds))), X, 2)
    with pytest.raises(ArgumentError, match="weigh is 'mean' or 'sum'; got 'max'"):
        wg.shards(weighted(w), X, 2, weigh="max")  # type: ignore[call-overload] # what is refused


def test_shards_cross_a_process_boundary_and_say_what_they_add() -> None:
    w = WithAdam(learning_rate=0.1).array_weight(np.ones(3), name="w")
    loss = wg.shards(_loss_of(w), X, 2)
    assert len(shards_of(loss)) == 2 and shards_of(w * 1.0)[0] is not w
    copy = pickle.loads(pickle.dumps(loss.predict()))
    assert copy.run() == loss.predict().run()


def _loss_of(w: Any) -> Callable[[Any, object], Any]:  # Any: as above
    return lambda part, seed: wg.sum(w) * wg.mean(wg.lift(part))
