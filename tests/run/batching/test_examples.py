"""Examples that are one cell each: their region is found without a traversal, and is the one that a traversal finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import run
from wengert.plugins import SGD
from wengert.run.batching.cache import ScheduleCache, number_as_read, region_of_examples
from wengert.run.batching.region import Region
from wengert.run.batching.traversal import region_of

Layer = Any  # of every shape
WEIGHT = SGD(learning_rate=0.1).array_weight(np.arange(6.0).reshape(2, 3).astype(np.float32), name="w")


@wg.cell
def total(x: Layer) -> Layer:
    return wg.sum(wg.tanh(x @ WEIGHT))


@wg.cell
def scaled(x: Layer, by: Layer) -> Layer:
    return wg.sum(x * by)


def rows(n: int, begin: float) -> Any:
    return np.linspace(begin, 1.0, 2 * n, dtype=np.float32).reshape(n, 2)


ONE_SIZE = [total(rows(3, i / 10)) for i in range(6)]
SIZES = [total(rows(1 + i % 3, i / 10)) for i in range(6)]
TOPS: dict[str, Callable[[Any], Layer]] = {
    "stack": wg.stack,
    "mean": lambda xs: wg.mean(wg.stack(xs)),
    "three": lambda xs: wg.sum(wg.exp(wg.stack(xs) * 0.5)),
    "labels": lambda xs: wg.cross_entropy(wg.stack(xs), np.array(1)),
}


def plain(region: Region) -> list[Any]:
    """All that a schedule is made of, and what it is bound to."""
    found: list[Any] = [region.size]
    for group in region.groups:
        literals = [
            list(map(id, group.each_literal(i, np.arange(len(group.members))))) for i in group.form.literals
        ]
        signatures = [group.signatures[i] for i in group.order.tolist()] if group.signatures else []
        found.append(
            (group.form, group.weights, group.members.tolist(), group.refs.tolist(), literals, signatures)
        )
    return found


@pytest.mark.parametrize("top", TOPS.values(), ids=TOPS)
@pytest.mark.parametrize("examples", [ONE_SIZE, SIZES], ids=["one size", "several"])
def test_the_region_is_that_of_a_traversal(examples: list[Layer], top: Callable[[Any], Layer]) -> None:
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(6).tolist()
        some = [examples[i] for i in order]
        root = top(some)
        found, walked = region_of_examples(root), region_of([root])
        number_as_read(walked)
        assert found is not None
        assert plain(found) == plain(walked)
        for x in (*some, root):
            assert found.code(x) == walked.code(x)
            assert found.node(found.code(x) >> 20) is x  # type: ignore[operator] # it has a code
        assert found.serials.tolist() == walked.serials.tolist()


@pytest.mark.parametrize(
    "root",
    [
        wg.mean(wg.stack([SIZES[0], SIZES[0]])),  # one example twice
        wg.mean(wg.stack([total(wg.permute_dims(WEIGHT, (1, 0))[:, :2]), SIZES[0]])),  # of more than data
        wg.mean(wg.stack([SIZES[0], scaled(rows(2, 0.0), 2.0)])),  # two cells
        wg.mean(wg.stack([SIZES[0], wg.sum(SIZES[1] * 1.0)])),  # an operation
        wg.exp(wg.exp(wg.stack(SIZES))),  # two operations that are alike
        wg.mean(wg.stack(SIZES)) + wg.mean(wg.stack(ONE_SIZE)),  # two stacks
        wg.sum(wg.stack([SIZES[0], SIZES[1]]) * WEIGHT[0, :2]),  # a stack and a weight
        wg.exp(wg.sum(wg.tanh(wg.sqrt(wg.abs(wg.stack(SIZES)))))),  # many operations
        SIZES[0],
    ],
)
def test_any_other_region_is_traversed(root: Layer) -> None:
    assert region_of_examples(root) is None
    assert np.asarray(root.predict().run(run.Batched())).tolist() == pytest.approx(
        root.predict().run().tolist()
    )


def test_batches_of_shuffled_sizes_train_with_one_schedule() -> None:
    batched = run.Batched()
    losses = []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(6).tolist()
        losses.append(wg.mean(wg.stack([SIZES[i] for i in order])).predict().run(batched).item())
    assert losses == pytest.approx([losses[0]] * 3)
    assert batched.report.launches == 9


@pytest.mark.parametrize("examples", [ONE_SIZE, SIZES], ids=["one size", "several"])
def test_a_stack_that_comes_back_is_traversed_once(
    examples: list[Layer], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[object] = []
    record = ScheduleCache.record

    def counted(self: ScheduleCache, *given: Any) -> Region:
        recorded.append(given)
        return record(self, *given)

    monkeypatch.setattr(ScheduleCache, "record", counted)
    batched, stack = run.Batched(), wg.stack(examples)
    before = WEIGHT.data.copy()
    losses = [wg.mean(stack).train().run(batched).item() for _ in range(3)]
    assert len(recorded) == 1
    data, one_by_one = WEIGHT.data.copy(), run.Sequential()
    wg.assign({WEIGHT: before}).run()
    assert [wg.mean(stack).train().run(one_by_one).item() for _ in range(3)] == pytest.approx(losses)
    np.testing.assert_allclose(WEIGHT.data, data, rtol=1e-5)
    assert wg.sum(stack).predict().run(batched) == pytest.approx(6 * wg.mean(stack).predict().run(batched))
    assert wg.mean(stack * 2.0).predict().run(batched) == pytest.approx(
        2 * wg.mean(stack * 1.0).predict().run(batched)
    )
    wg.assign({WEIGHT: before}).run()
