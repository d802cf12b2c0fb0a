"""Element types under `run.Batched()`: a number takes that of what it meets, at any depth, as in `run.Sequential()`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.fold as td
from tests.often import few
from tests.run.batching.trees import Layer, sequential
from tests.run.counting import registry_kept
from tests.run.numbered import Numbered
from wengert import run
from wengert.control import Executor
from wengert.extend import kinds, operation
from wengert.graph.kinds import Column
from wengert.plugins import SGD, Adam, LearningRate
from wengert.saving.checkpoint import state_of

F32 = np.float32
PARTS = 250  # seeds of one case
Fetched = list[Any]  # Any: numbers and arrays


class Adapting(Adam, LearningRate): ...


def form(x: Any) -> tuple[object, ...]:  # Any: as above
    return type(x), getattr(x, "dtype", None), np.shape(x)


def stated(x: Layer) -> tuple[object, ...]:
    """The form that the kind of an expression promises."""
    of = x.kind
    if of.column is Column.DOUBLE:
        return float, None, ()
    return (F32 if of.column is Column.FLOAT else np.ndarray), of.dtype, of.shape


def alike(found: Sequence[Any], expected: Sequence[Any], tolerance: float) -> None:
    """Of the same types, and equal up to rounding, in the size of the larger numbers; without a tolerance, in bits."""
    assert [*map(form, found)] == [*map(form, expected)]
    for x, y in zip(found, expected, strict=True):
        if tolerance:
            scale = max(1.0, float(np.abs(y).max(initial=0)))
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale)
        else:
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


def fetched(graph: tuple[Layer, tuple[Layer, ...], tuple[Layer, ...]], executor: Executor) -> Fetched:
    """The values of a loss and of some nodes, and the deltas of weights and of nodes."""
    loss, nodes, targets = graph
    values = wg.predict((*nodes, loss)).run(executor) if nodes else (loss.predict().run(executor),)
    return [*values, *wg.gradients(loss, targets).run(executor)]


def agrees(seed: int) -> None:
    graphs = Numbered(seed)
    loss, nodes, targets = graphs.graph(0)
    if seed % 8 < 4:
        nodes = ()  # a tuple takes as long again
    expected = fetched((loss, nodes, targets), sequential())
    assert [*map(form, expected)] == [*map(stated, (*nodes, loss, *targets))]
    alike(fetched((loss, nodes, targets), run.Batched()), expected, graphs.tolerance)


@pytest.mark.parametrize("begin", few([25, 70], 1))
def test_graphs_with_numbers_agree(begin: int) -> None:
    for seed in range(begin, begin + 25):
        agrees(seed)


@pytest.mark.slow
@pytest.mark.parametrize("begin", few(range(100, 2100, PARTS), 4, 4))
def test_thousands_of_graphs_with_numbers_agree(begin: int) -> None:
    for seed in range(begin, begin + PARTS):
        agrees(seed)


@pytest.mark.nightly
@pytest.mark.parametrize("begin", range(2100, 52_100, 10 * PARTS))
def test_fifty_thousand_graphs_with_numbers_agree(begin: int) -> None:
    for seed in range(begin, begin + 10 * PARTS):
        agrees(seed)


@pytest.mark.parametrize("begin", few([70, 0, 26, *range(100, 160, 4)], 1, 6))
def test_later_runs_agree_and_plans_and_threads_give_the_same_bits(begin: int) -> None:
    for seed in range(begin, begin + 4):
        graphs, executors = Numbered(seed), (run.Batched(), run.Parallel(threads=2), run.Sequential())
        kept = graphs.graph(0)
        for graph in (kept, kept, kept, graphs.graph(1), graphs.graph(2), graphs.graph(0)):
            expected = fetched(graph, sequential())
            for executor in executors:
                batched = isinstance(executor, run.Batched)
                alike(fetched(graph, executor), expected, graphs.tolerance if batched else 0)


@pytest.mark.parametrize("seed", [1, 2, 28, 72])
def test_training_leaves_weights_and_their_state_in_their_types(seed: int) -> None:
    found = []
    for executor in (sequential(), run.Batched()):
        graphs = Numbered(seed, Adapting(learning_rate=0.01))
        seen: Fetched = [graphs.graph(step)[0].train().run(executor) for step in range(3)]
        for w in graphs.weights:
            seen += [w.data, *map(np.asarray, state_of(w, w.name).values())]
        found.append(seen)
    alike(found[1], found[0], 100 * graphs.tolerance)  # Adam divides by the root of a small average


def test_another_type_or_value_is_seen() -> None:
    one = np.ones(2, F32)
    alike([one], [one + F32(1e-6)], 1e-5)
    for other in (np.ones(2), one + F32(1e-4), one[0], [1.0, 1.0]):
        with pytest.raises(AssertionError):
            alike([other], [one], 1e-5)
    with pytest.raises(AssertionError):
        alike([one], [one + F32(1e-6)], 0)


# -- written by hand ------------------------------------------------------------------------------------


def weight() -> Layer:
    return SGD(learning_rate=1.0).array_weight(np.array([-0.57, -1.36], F32))


def in_extrema(w: Layer) -> Layer:
    """`min` of what a number went into: its derivative goes where an element equals the least one."""
    h = wg.log(wg.add(wg.square(w), 0.5))
    return wg.add(wg.add(wg.min(w), wg.min(wg.sum(h))), wg.add(wg.std(wg.add(h, 0.0)), 0.3))


def of_types(w: Layer) -> Layer:
    """Numbers of each of Python's types and of numpy's."""
    h = wg.tanh(w * 1 + 2) * 1.0 + 3.0
    h = wg.tanh(h) * True + np.float64(0.1)
    return wg.sum(wg.tanh(h) * 2**70)


with registry_kept():

    @operation(kinds.broadcasting, lambda case, x, c: x * c, lambda case, g, y, x, c: g * c, None)
    def scaled(x: Layer, c: float, /) -> Layer:
        """An operation of a user's, without a batching rule."""
        raise NotImplementedError


def in_products(w: Layer) -> Layer:
    return wg.multiply(wg.tanh(wg.multiply(wg.tanh(w), 0.3)), 2.0)


def in_numbers(w: Layer) -> Layer:
    return wg.sum(wg.add(wg.tanh(wg.add(wg.sum(w), 0.3)), 2.0))


def on_the_left(w: Layer) -> Layer:
    return wg.sum(wg.divide(2, wg.exp(wg.divide(0.3, wg.exp(w)))))


def in_powers(w: Layer) -> Layer:
    return wg.sum(wg.pow(wg.pow(wg.square(w) + 1, 0.5) + 2.5, 3))


def in_choices(w: Layer) -> Layer:
    h = wg.where(wg.greater(w, -1.0), w, 0.3)
    return wg.sum(wg.where(wg.greater(h, 0.1), wg.tanh(w), 0.7))


def of_literals(w: Layer) -> Layer:
    h = wg.tanh(w + np.array(0.3, F32)) + np.array(0.2, F32)
    return wg.sum(h) * F32(0.1) + F32(0.4)


def by_indices(w: Layer) -> Layer:
    return wg.sum(wg.take(wg.take(wg.stack((w, w * 0.3)), 1) * 0.7, 0))


def by_masks(w: Layer) -> Layer:
    h = wg.where(np.array(False), w, 0.3) * w
    return wg.sum(wg.where(np.array(True), h, 0.2))


def by_an_own_rule(w: Layer) -> Layer:
    return wg.sum(scaled(wg.tanh(scaled(w, 0.3)), 2.0))


# functions and no lambdas, in which mypy keeps no types of calls: as lambdas these take it half a minute
WAYS: dict[str, Callable[[Layer], Layer]] = {
    "extrema": in_extrema,
    "product": in_products,
    "scalar": in_numbers,
    "left": on_the_left,
    "types": of_types,
    "power": in_powers,
    "choice": in_choices,
    "literals": of_literals,
    "indices": by_indices,
    "masks": by_masks,
    "own rule": by_an_own_rule,
}


@pytest.mark.parametrize("ways", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("rows", [1, 3])
def test_a_number_takes_the_type_of_what_it_meets(ways: Callable[[Layer], Layer], rows: int) -> None:
    w, batched = weight(), run.Batched()
    parts = [ways(w * float(i)) if i else ways(w) for i in range(rows)]
    loss: Layer = wg.sum(parts[0])
    for part in parts[1:]:
        loss = loss + wg.sum(part)
    expected = fetched((loss, tuple(parts), (w, *parts)), sequential())
    for _ in range(4):
        alike(fetched((loss, tuple(parts), (w, *parts)), batched), expected, 1e-5)
    loss.train().run(batched)
    assert w.data.dtype == F32
    np.testing.assert_allclose(w.data, weight().data - expected[len(parts) + 1], rtol=1e-5)


def test_a_number_that_is_waited_for_has_the_type_of_its_layer() -> None:
    x = SGD(learning_rate=1.0).float_weight(0.3)
    seen: Fetched = []

    @wg.differentiable
    async def example() -> wg.FloatLayer:
        h = wg.where(wg.greater(x, 0.1), x * 0.3, 0.2)
        seen.append(await h)
        seen.extend(await wg.gather(h * 2.0, h))
        return h * 0.7

    for executor in (sequential(), run.Sequential(), run.Parallel(threads=2), run.Batched()):
        seen.clear()
        (delta,) = wg.gradients(example(), (x,)).run(executor)
        assert [*map(type, (*seen, delta))] == [F32] * 4
        chosen = wg.where(wg.greater(x, 0.1), x, 0.2)
        assert type(wg.predict((chosen, x)).run(executor)[0]) is F32


def test_blocks_with_numbers() -> None:
    settings = SGD(learning_rate=0.1)
    w = settings.array_weight(np.array([0.5, -0.3], F32))
    loose: Any = td  # blocks without their types
    tree: Any = loose.ForwardDeclaration()
    pair = loose.Record((tree(), tree())) >> loose.Function(lambda a, b: wg.tanh(a * 0.3 + b * 0.7) + 0.1)
    leaf = loose.Scalar() >> loose.Function(lambda x: wg.tanh(w * x) * 2)
    whole = loose.OneOf(lambda x: isinstance(x, tuple), {True: pair, False: leaf})
    tree.resolve_to(whole)
    trees = (((1.0, 2.0), 3.0), (0.5, (0.2, (0.1, 4.0))), 7.0)
    found = []
    for executor in (sequential(), run.Batched()):
        layers = [whole.build(x) for x in trees]
        loss = wg.sum(wg.stack(layers)) * 0.3
        found.append([*wg.predict(tuple(layers)).run(executor), *wg.gradients(loss, (w,)).run(executor)])
    alike(found[1], found[0], 1e-5)
    assert {x.dtype for x in found[1]} == {np.dtype(F32)}
