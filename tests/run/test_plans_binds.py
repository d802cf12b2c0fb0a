"""Expressions with binds, whose parts between binds programs run: as the interpreter runs them, in all respects."""

from __future__ import annotations

import gc
import importlib.util
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import wengert as wg
from tests.run.attacked import OPTIMIZERS, interruptions, near, none_interrupted
from tests.run.counting import Boom, Counted, state_of
from tests.run.drawn import MAKERS, Draw, Layer, Maker, network
from tests.run.planned import eager, plain, same, trained
from tests.run.test_leaks import growth
from wengert import ArrayLayer, Do, Tape, nn
from wengert.extend import data_of
from wengert.graph.operand import external
from wengert.graph.order import below
from wengert.lazy import LazyDelta, Rows
from wengert.plugins import SGD, FailOnNonFinite
from wengert.run import Parallel, Sequential
from wengert.run.compiled import stretch, stretches, ways
from wengert.run.compiled.homeward import Way
from wengert.run.compiled.interrupted import Interrupted
from wengert.run.compiled.passages import Passages
from wengert.run.compiled.scope import Scope
from wengert.run.compiled.stretch import Back, Stretch
from wengert.run.compiled.ways import Ways

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(OPTIMIZERS)


@contextmanager
def programs_counted() -> Iterator[dict[str, int]]:
    """How often programs ran inside: of stretches, each way, and of whole ways back; how often they were given up."""
    calls = {"forward": 0, "backward": 0, "way": 0, "opened": 0}

    def counting(owner: type, name: str, what: str) -> Any:  # Any: a patch
        usual = getattr(owner, name)

        def method(*arguments: Any) -> Any:  # Any: as the usual one
            found = usual(*arguments)
            calls[what] += found is not None or what == "opened"
            return found

        return patch.object(owner, name, method)

    with (
        counting(Stretch, "passage", "forward"),
        counting(Back, "run", "backward"),
        counting(Way, "gone", "way"),
        counting(Passages, "open", "opened"),
    ):
        yield calls


# -- ways of waiting --------------------------------------------------------------------------------------------

Two = Callable[[], Layer]


def by_coroutine(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Stated in full, so that what comes after it is known before the run."""

    async def chosen() -> Layer:
        return left() if float(np.asarray(await asked)) > 0 else right()

    return external(Do.coroutine(chosen).flat_map(lambda layer: layer.forward), x.kind)


def by_flat_map(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """What comes after it has a kind that only the run tells."""
    made: Layer = ArrayLayer(
        asked.forward.flat_map(lambda tape: (left() if float(np.asarray(tape.data)) > 0 else right()).forward)
    )
    return made


def by_gather(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Both values, and the mean of both."""

    async def both() -> Layer:
        a, b = left(), right()
        u, v = await wg.gather(wg.sum(a), wg.sum(b))
        return (a + b) * 0.5 if u > v else b - a * 0.25

    return external(Do.coroutine(both).flat_map(lambda layer: layer.forward), x.kind)


def a_constant(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Whose deltas nobody asks for."""

    async def constant() -> Layer:
        value: Any = await x
        return wg.lift(value.copy())

    return external(Do.coroutine(constant).flat_map(lambda layer: layer.forward), x.kind)


def an_own_tape(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    """Which sends half of what arrives, twice."""

    def halved(tape: Tape[Any, Any]) -> Tape[Any, Any]:
        def back(delta: Do[Any]) -> wg.UnitContinuation[None]:
            half = delta.map(lambda d: d * x.kind.dtype.type(0.5))
            return tape.backward(half).flat_map(lambda _: tape.backward(half))

        return Tape(tape.data, back)

    return external(left().forward.map(halved), x.kind)


def recovered(x: Layer, asked: Layer, left: Two, right: Two) -> Layer:
    def failing(tape: Tape[Any, Any]) -> Do[Any]:
        if float(np.asarray(tape.data)) > 0:
            return Do.fail(Boom("chosen"))
        tapes: Do[Any] = left().forward
        return tapes

    return external(asked.forward.flat_map(failing).recover(lambda _: right().forward), x.kind)


WAYS = (by_coroutine, by_flat_map, by_gather, a_constant, an_own_tape, recovered)


def small(x: Layer) -> Layer:
    return wg.tanh(x)


def bind(d: Draw, pool: list[Layer], ways: Sequence[Any] = WAYS) -> Layer:  # Any: functions as above
    """One of two expressions, chosen in the run; both read what has been built before."""
    way = d.pick(ways)
    x = d.pick(pool)
    y, z = (d.pick([other for other in pool if other.shape == x.shape]) for _ in range(2))
    asked = wg.sum(d.pick(pool))
    waits = by_coroutine if d.chance.random() < 0.3 else None

    def left() -> Layer:
        inner = small(x * y)
        return inner if waits is None else waits(x, wg.sum(inner), lambda: inner + z, lambda: inner * z)

    if way is by_flat_map:  # its shape is open: what is made of it is stated for the rest of the drawing
        found = way(x, asked, left, lambda: small(z) * 0.5)
        return external(small(found * 0.5 + z).forward, x.kind)
    return way(x, asked, left, lambda: small(z + x) * y)


def counting_maker(counted: Counted) -> Maker:
    return lambda d, pool: small(counted.apply(d.pick(pool)))


def both_ways(seed: int, steps: int, makers: Callable[[Counted], Sequence[Maker]]) -> dict[str, int]:
    """A network of a seed, trained both ways: the same results, failures, and calls of a user's rule."""
    found: list[Any] = []  # Any: losses and weights, or what was raised
    with programs_counted() as calls:
        for executor in (plain(), eager(worth=2)[0]):
            counted = Counted()
            made = network(seed, OPTIMIZERS[NAMES[seed % len(NAMES)]], makers(counted))
            with none_interrupted():
                found.append((trained(made, executor, steps), counted.calls))
    near(found[1][0], found[0][0])
    assert found[1][1] == found[0][1]
    return calls


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_with_binds_train_alike(seed: int) -> None:
    both_ways(seed, 5, lambda counted: (*MAKERS, *[bind] * 5, counting_maker(counted)))


def plain_bind(d: Draw, pool: list[Layer]) -> Layer:
    """A bind without a tape of a user's."""
    return bind(d, pool, (by_coroutine, by_flat_map, by_gather, a_constant))


def test_random_graphs_go_back_by_one_program() -> None:
    gone = 0
    for seed in range(100, 130):
        gone += both_ways(seed, 6, lambda counted: (*MAKERS, *[plain_bind] * 3))["way"]
    assert gone > 30


@pytest.mark.parametrize("seed", range(200, 212))
def test_random_graphs_have_the_same_gradients_and_data(seed: int) -> None:
    executor, _ = eager()
    weights, loss = network(seed, OPTIMIZERS["SGD"], (*MAKERS, *[plain_bind] * 3))()
    for step in range(4):
        x = loss(step)
        inner = [node for node in below(x, {})[0] if node.kind.trainable][:: 5 + seed % 3]
        near([np.array(x.predict().run(executor))], [np.array(x.predict().run(plain()))])
        for wrt in (list(weights), [*weights, *inner]):
            found, wanted = (wg.gradients(x, wrt).run(by) for by in (executor, plain()))
            near([*map(np.array, found)], [*map(np.array, wanted)])


def test_the_comparison_finds_a_difference() -> None:
    usual = Back.run

    def doubled(self: Back, *arguments: Any) -> Any:  # Any: as the usual one
        return [(x, delta + delta) for x, delta in usual(self, *arguments)]

    with patch.object(Back, "run", doubled), pytest.raises(AssertionError, match="Not equal"):
        both_ways(0, 5, lambda counted: (*MAKERS, *[bind] * 5, counting_maker(counted)))


# -- networks that decide ---------------------------------------------------------------------------------------

State = ArrayLayer[tuple[int, ...], np.float64]


class Gated:
    """A score decides which of two branches is computed; the score stays in what is trained."""

    def __init__(self, settings: Any = None, size: int = 6) -> None:  # Any: settings have no common type
        settings = settings or SGD(learning_rate=0.05)
        chance = np.random.default_rng(0)

        def make(*shape: int) -> Any:
            return settings.array_weight(chance.standard_normal(shape) / 2)

        self.below, self.score, self.head = make(4, size), make(size, 2), make(size, 3)
        self.branches = [make(size, size) for _ in range(2)]
        self.weights: list[Any] = [self.below, self.score, self.head, *self.branches]
        self.xs, self.labels = chance.standard_normal((30, 5, 4)), chance.integers(0, 3, (30, 5))
        self.chosen: list[int] = []
        self.before: Callable[[Any], Any] = lambda x: x
        self.inside: Callable[[Any], Any] = lambda x: x

    def loss(self, i: int) -> Any:
        """Of one batch."""
        h = self.before(wg.tanh(wg.matmul(self.xs[i % 30], self.below)))
        scores = wg.mean(h @ self.score, axis=0)

        def choose(tape: Tape[Any, Any]) -> Do[Any]:
            self.chosen.append(which := int(tape.data.argmax()))
            found: Do[Any] = self.inside(wg.tanh(h @ self.branches[which]) * scores[which]).forward
            return found

        layer: Any = ArrayLayer(scores.forward.flat_map(choose))
        return wg.cross_entropy(layer @ self.head, self.labels[i % 30])

    def step(self, i: int, executor: Any) -> Any:
        """One step of training."""
        return self.loss(i).train().run(executor)

    def data(self) -> list[Any]:
        return [np.array(w.data) for w in self.weights]

    def state(self) -> list[object]:
        return [state_of(w) for w in self.weights]


@pytest.mark.parametrize("optimizer", NAMES)
def test_both_branches_train_to_the_same_bits(optimizer: str) -> None:
    ours, theirs = Gated(OPTIMIZERS[optimizer]()), Gated(OPTIMIZERS[optimizer]())
    executor = eager(worth=2)[0]
    with none_interrupted(), programs_counted() as calls:
        for i in range(60):
            same([ours.step(i, executor)], [theirs.step(i, plain())])
    same(ours.data(), theirs.data())
    assert ours.state() == theirs.state()
    assert ours.chosen == theirs.chosen
    assert {*ours.chosen} == {0, 1}
    assert calls["forward"] > 150
    assert calls["way"] > 50


def test_a_structure_comes_by_its_programs_when_it_is_hot_and_never_without_compiling() -> None:
    net = Gated()
    for executor, least, most in ((Sequential(), 1, 24), (Sequential(compiled=False), 0, 0)):
        with programs_counted() as calls:
            for _ in range(7):
                net.step(0, executor)
            assert calls["forward"] == calls["way"] == 0
            for _ in range(8):
                net.step(0, executor)
        assert least <= calls["forward"] <= most


def test_parallel_runs_them_too() -> None:
    ours, theirs = Gated(), Gated()
    executor = Parallel(threads=2)
    with programs_counted() as calls:
        for i in range(40):
            same([ours.step(i, executor)], [theirs.step(i, plain())])
    same(ours.data(), theirs.data())
    assert calls["forward"] > 50


class Speller:
    """Ten steps, each of which reads what the one before it said."""

    def __init__(self, cells: bool) -> None:
        chance = np.random.default_rng(0)
        settings = OPTIMIZERS["Momentum"]()
        self.rows = nn.Embedding.make(settings, 7, 5, seed=chance)
        self.lstm = nn.LSTMCell.make(settings, 5, 5, seed=chance)
        self.scores = nn.Linear.make(settings, 5, 7, seed=chance)
        self.weights: list[Any] = list(nn.weights((self.rows, self.lstm, self.scores)).values())
        step: Any = lambda x, state: self.lstm(x, state)  # noqa: E731 # a cell is made of it or not
        self.step = wg.cell(step) if cells else step
        self.said: list[int] = []

    def loss(self, i: int) -> Any:
        code = np.full(5, 0.1 * (i % 5), np.float32)

        @wg.differentiable
        async def cost() -> ArrayLayer[tuple[()], np.float32]:
            state, last = (wg.lift(code), wg.lift(code)), i % 7
            total: Any = 0.0
            for t in range(10):
                state = self.step(self.rows(np.array(last)), state)
                scores = self.scores(state[0])
                total = total + wg.cross_entropy(scores, np.array((i + t) % 7))
                last = int((await scores).argmax())
                self.said.append(last)
            made: ArrayLayer[tuple[()], np.float32] = total
            return made

        return cost()

    async def spelled(self, i: int) -> list[int]:
        code = np.full(5, 0.1 * (i % 5), np.float32)
        state, last, found = (wg.lift(code), wg.lift(code)), i % 7, list[int]()
        for _ in range(10):
            state = self.step(self.rows(np.array(last)), state)
            found.append(last := int((await self.scores(state[0])).argmax()))
        return found


@pytest.mark.parametrize("cells", [True, False], ids=["cells", "operations"])
def test_a_decoder_trains_and_spells_alike(cells: bool) -> None:
    ours, theirs, executor = Speller(cells), Speller(cells), eager(worth=3)[0]
    with none_interrupted(), programs_counted() as calls:
        for i in range(20):
            same(
                [np.array(ours.loss(i).train().run(executor))],
                [np.array(theirs.loss(i).train().run(plain()))],
            )
            words = [Do.coroutine(lambda: net.spelled(i)) for net in (ours, theirs)]
            assert words[0].run(executor) == words[1].run(plain())
    same([np.array(w.data) for w in ours.weights], [np.array(w.data) for w in theirs.weights])
    assert ours.said == theirs.said
    assert calls["forward"] > 200
    assert calls["way"] > 10


def example(name: str) -> Any:  # Any: a module
    spec = importlib.util.spec_from_file_location(f"bound_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_calculator_whose_layers_are_chosen() -> None:
    module = example("calculator")
    chance = np.random.default_rng(0)
    batch = [module.expression(chance, 3) for _ in range(4)]
    ours, theirs, executor = module.Chosen(), module.Chosen(), eager(worth=2)[0]
    with none_interrupted(), programs_counted() as calls:
        for _ in range(6):
            same([ours.loss(batch).train().run(executor)], [theirs.loss(batch).train().run(plain())])
    assert ours.used == theirs.used
    assert calls["forward"] > 20


# -- failures ---------------------------------------------------------------------------------------------------


def told(net: Gated, executor: Any, i: int) -> tuple[type[BaseException], str, list[str]]:
    before = net.state()
    with pytest.raises(Exception) as failure:  # noqa: PT011 # which one is compared
        net.step(i, executor)
    assert net.state() == before
    return type(failure.value), str(failure.value), failure.value.__notes__


@pytest.mark.parametrize("runs", [1, 6], ids=["when it is traced", "later"])
@pytest.mark.parametrize("where", ["before", "inside"])
@pytest.mark.parametrize("which", ["forward_failure", "backward_failure"])
def test_a_users_failure_is_told_as_by_the_interpreter(where: str, which: str, runs: int) -> None:
    said = []
    for executor in (eager(worth=2)[0], plain()):
        net, counted = Gated(), Counted()
        setattr(net, where, counted.apply)
        for i in range(runs):
            net.step(i, executor)
        setattr(counted, which, Boom)
        said.append(told(net, executor, 6))
        setattr(counted, which, None)
        net.step(7, executor)
        said[-1] = (said[-1], net.data()[0].tolist())  # type: ignore[assignment] # both are compared
    assert said[0] == said[1]


def test_a_failure_in_a_later_stretch_changes_nothing() -> None:
    """S6: the first stretch has run by a program when data make another one fail."""
    said = []
    for executor in (eager(worth=2)[0], plain()):
        net = Gated()
        rows = [0, 1]
        net.inside = lambda x, rows=rows: x + wg.take(x, list(rows), axis=0)[0]  # type: ignore[misc] # a default
        for i in range(6):
            net.step(i, executor)
        rows[1] = 99
        with programs_counted() as calls, interruptions() as found:
            said.append(told(net, executor, 6))
        assert (len(found), calls["forward"] > 0) == ((1, True) if len(said) == 1 else (0, False))
    assert said[0] == said[1]
    assert any("take" in note for note in said[0][2])


@pytest.mark.parametrize("part", ["forward", "backward", "way"])
def test_a_program_that_fails_is_made_good(part: str) -> None:
    ours, theirs, executor = Gated(), Gated(), eager(worth=2)[0]
    failing = {"forward": (Stretch, "passage"), "backward": (Back, "run"), "way": (Way, "gone")}[part]
    others = patch.object(Ways, "back", lambda *arguments: None) if part == "backward" else nullcontext()
    with others:
        for i in range(8):
            same([ours.step(i, executor)], [theirs.step(i, plain())])
        with patch.object(*failing, side_effect=Interrupted) as patched:
            same([ours.step(8, executor)], [theirs.step(8, plain())])
        assert patched.called
        same([ours.step(9, executor)], [theirs.step(9, plain())])
    same(ours.data(), theirs.data())


def test_a_derivative_that_cannot_be_traced_is_left_to_the_interpreter() -> None:
    ours, theirs, executor = Gated(), Gated(), eager(worth=2)[0]
    for i in range(12):
        fails = patch.object(Scope, "sent", side_effect=Boom) if i < 6 else nullcontext()
        with fails, programs_counted() as calls:
            same([ours.step(i, executor)], [theirs.step(i, plain())])
        assert not calls["backward"]
    same(ours.data(), theirs.data())
    assert calls["way"] == 1


BOUNDS: dict[str, dict[Any, dict[str, int]]] = {  # Any: modules
    "counts": {stretches: {"_MOST_COUNTS": 2}, ways: {"_MOST_COUNTS": 0}},
    "programs": {stretches: {"_MOST_ALIKE": 1, "_MOST_OF_ALL": 3}, stretch: {"_MOST_BACK": 1}},
    "ways": {ways: {"_MOST_WAYS": 1}},
    "steps of a way": {ways: {"_MOST_STEPS": 3}},
}


@pytest.mark.parametrize("bounds", BOUNDS)
def test_what_is_remembered_has_bounds(bounds: str) -> None:
    """Beyond them the interpreter, or a program made again, gives the same."""
    executor = eager(worth=2)[0]
    pairs = [(Gated(size=size), Gated(size=size)) for size in (6, 7)]
    with ExitStack() as stack:
        for module, names in BOUNDS[bounds].items():
            for name, bound in names.items():
                stack.enter_context(patch.object(module, name, bound))
        for i in range(16):
            for ours, theirs in pairs:
                same([ours.step(i, executor)], [theirs.step(i, plain())])
    for ours, theirs in pairs:
        same(ours.data(), theirs.data())
    found = executor._stretches
    assert found is not None
    assert sum(map(len, found._made.values())) <= (3 if bounds == "programs" else 8)
    assert len(found.ways._made) <= {"ways": 1, "steps of a way": 0}.get(bounds, 4)


def test_another_sharing_is_another_structure() -> None:
    executor, settings = eager()[0], SGD(learning_rate=0.0)
    a, b = settings.double_weight(2.0), settings.double_weight(5.0)

    def loss(x: Any, y: Any) -> Any:
        async def product() -> Any:
            u, v = wg.tanh(x * 1.0), y * 1.0
            return x * y + u * 0.0 if await v > 0 else v

        made: Any = external(Do.coroutine(product).flat_map(lambda layer: layer.forward), (a * b).kind)
        return made * 1.0

    for x, y in ((a, a), (a, b), (b, a), (b, b)) * 3:
        assert wg.train(loss(x, y)).run(executor) == x.data * y.data
        assert wg.gradients(loss(x, y), [a, b]).run(executor) == wg.gradients(loss(x, y), [a, b]).run(plain())


def test_a_refusal_changes_nothing_and_says_where_infinity_began() -> None:
    class Settings(FailOnNonFinite, SGD): ...

    said = []
    for executor in (eager(worth=2)[0], plain()):
        net = Gated(Settings(learning_rate=0.05))
        for i in range(6):
            net.step(i, executor)
        net.xs[6] = np.inf
        said.append(told(net, executor, 6))
    assert said[0] == said[1]
    assert any("first not finite" in note for note in said[0][2])


# -- what changes between runs ----------------------------------------------------------------------------------


def test_other_settings_and_replaced_data_are_not_those_of_before() -> None:
    executor = eager(worth=2)[0]
    pairs = [(Gated(SGD(learning_rate=rate)), Gated(SGD(learning_rate=rate))) for rate in (0.5, 0.01)]
    for i in range(16):
        for ours, theirs in pairs:
            if i == 8:
                for w in (ours.head, theirs.head):
                    w._cell.data = np.asfortranarray(w._cell.data * 2.0)
            same([ours.step(i, executor)], [theirs.step(i, plain())])
    for ours, theirs in pairs:
        same(ours.data(), theirs.data())


def test_values_that_are_views_of_weights_are_those_of_before_the_update() -> None:
    """Each weight's step is made of a view of the other's data, which change in place in the same commit."""
    found = []
    for executor in (eager(worth=2)[0], plain()):
        settings = SGD(learning_rate=0.001)
        chance = np.random.default_rng(0)
        # large enough for an update that is one product
        a, b = (settings.array_weight(chance.standard_normal((20, size)) / 99) for size in (1000, 1100))

        def loss(a: Any = a, b: Any = b) -> Any:
            left, right = wg.permute_dims(b, (1, 0)), wg.permute_dims(a, (1, 0))

            async def through() -> Any:
                await wg.sum(left)
                return wg.permute_dims(right, (1, 0))

            seen: Any = external(Do.coroutine(through).flat_map(lambda layer: layer.forward), a.kind)
            return wg.sum(wg.square(left @ a)) + wg.sum(wg.permute_dims(seen, (1, 0)) @ b) + wg.sum(right @ b)

        with programs_counted() as calls:
            losses = [loss().train().run(executor) for _ in range(6)]
        found.append([*losses, np.array(a.data), np.array(b.data)])
        assert (calls["way"] > 0) == (len(found) == 1)
    same(found[0], found[1])


def test_a_training_within_a_bind_is_part_of_the_run() -> None:
    """It changes weights between the way there and the way back."""
    nets = []
    for executor in (eager(worth=2)[0], plain()):
        net = Gated(OPTIMIZERS["Momentum"]())

        def inside(x: Any, net: Gated = net, executor: Any = executor) -> Any:
            wg.sum(net.head * net.head).train().run(executor)
            return x

        net.inside = inside
        for i in range(10):
            net.step(i, executor)
        nets.append(net)
    same(nets[0].data(), nets[1].data())
    assert nets[0].state() == nets[1].state()


def nested_cells() -> Callable[[Any], Any]:
    """Two results, one of them of a cell within."""
    inner = wg.cell(lambda x: wg.tanh(x) * 2.0)
    several = wg.cell(lambda x: (inner(x) + x, x * x))
    return lambda x: wg.subtract(*several(x))


def after_a_bind(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: f(ArrayLayer(x.forward))


BETWEEN: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "operations": lambda: wg.sin,
    "cells": nested_cells,
    "after a bind of open kind": lambda: lambda x: ArrayLayer(x.forward) * 2.0 + 1.0,
    "cells after a bind of open kind": lambda: after_a_bind(nested_cells()),
}


def half(tape: Tape[Any, Any]) -> Any:
    return np.full(tape.data.shape, 0.5)


def test_a_sparse_delta_by_hand() -> None:
    """Which derivatives are not made for: the interpreter says so."""
    said = []
    for executor in (eager(worth=2)[0], plain()):
        net = Gated()

        def send(tape: Tape[Any, Any]) -> Do[None]:
            delta = LazyDelta([Rows(0, np.full(tape.data.shape[1:], 0.5, np.float64), tape.data.shape)])
            return Do.delay(tape.backward(Do.now(delta)).run)

        for i in range(4):
            with pytest.raises(TypeError) as failure:
                wg.tanh(wg.matmul(net.xs[i], net.below)).forward.flat_map(send).run(executor)
            said.append((str(failure.value), failure.value.__notes__))
    assert said[:4] == said[4:]


@pytest.mark.parametrize("between", BETWEEN)
def test_backward_by_hand(between: str) -> None:
    """Two tapes of one run, deltas sent to the middle of what a program has run, and to its end."""
    found = []
    for executor in (eager(worth=2)[0], plain()):
        net, through = Gated(), BETWEEN[between]()
        for i in range(8):
            h = through(wg.tanh(wg.matmul(net.xs[i], net.below)))
            y = wg.mean(h @ net.score, axis=0)

            def send(tapes: tuple[Tape[Any, Any], Tape[Any, Any]]) -> Do[None]:
                a, b = tapes
                sent = a.backward(Do.now(half(a))).flat_map(lambda _: b.backward(Do.now(half(b))))
                return Do.delay(sent.run)

            first, second = (y, h) if i % 2 else (h, y)
            wg.gather(first.forward, second.forward).flat_map(send).run(executor)
        found.append(net.data())
    same(found[0], found[1])


def test_scalars_and_weights_that_binds_give() -> None:
    found = []
    for executor in (eager(worth=2)[0], plain()):
        settings = OPTIMIZERS["Adam"]()
        a, b, c = (settings.double_weight(x) for x in (0.5, -1.5, 0.25))

        def loss(i: int, a: Any = a, b: Any = b, c: Any = c) -> Any:
            @wg.differentiable
            async def larger(x: wg.DoubleLayer) -> wg.DoubleLayer:
                return a * x if await x > i % 3 else wg.exp(x)

            async def weight() -> Any:
                return c if await (a * 1.0) > 0 else b

            given: Any = external(Do.coroutine(weight).flat_map(lambda layer: layer.forward), (a * 1.0).kind)
            return larger(a * b) * given + larger(wg.square(b)) + given * given

        losses = [float(loss(i).train().run(executor)) for i in range(12)]
        found.append([*losses, *map(data_of, (a, b, c))])
    assert found[0] == found[1]


# -- threads and memory -----------------------------------------------------------------------------------------


def test_runs_on_four_threads_lose_nothing() -> None:
    """S10: every update is a whole number, so their sum does not depend on who comes first."""
    executor = eager(worth=2)[0]
    w = SGD(learning_rate=1.0).array_weight(np.zeros(3))

    def step(i: int) -> None:
        x = w * 0.0 + float(i % 3)

        @wg.differentiable
        async def chosen() -> ArrayLayer[tuple[int, ...], np.float64]:
            up = bool((await x).sum() > 0)
            return w * 2.0 + x if up else w * 1.0 + x * 0.0

        wg.sum(chosen()).train().run(executor)

    def work() -> None:
        for i in range(60):
            step(i)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        with programs_counted() as calls:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(before)
    assert w.data.tolist() == [-4.0 * (40 * 2.0 + 20 * 1.0)] * 3
    assert calls["forward"] > 300


@pytest.fixture
def collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.slow  # about 3 s
@pytest.mark.usefixtures("collector_off")
def test_2000_steps_grow_by_less_than_1_megabyte() -> None:
    net, executor = Gated(), eager(worth=2)[0]
    steps = count()
    with none_interrupted(), programs_counted() as calls:
        assert growth(lambda: net.step(next(steps), executor), 2000) < 1_000_000
    net.chosen.clear()
    assert calls["way"] > 1900


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize("question", ["predict", "train", "gradients"])
def test_nothing_of_a_run_outlives_it(question: str) -> None:
    net, executor = Gated(), eager(worth=2)[0]
    seen: list[weakref.ref[Any]] = []

    def noted(x: Any) -> Any:
        seen.append(weakref.ref(x))
        return x

    net.before = net.inside = noted
    for i in range(8):
        loss = net.loss(i)
        asked = wg.gradients(loss, (net.below,)) if question == "gradients" else getattr(loss, question)()
        asked.run(executor)
    del loss, asked
    assert len(seen) == 16
    assert [ref() for ref in seen] == [None] * 16


@pytest.mark.usefixtures("collector_off")
def test_weights_do_not_outlive_their_users() -> None:
    executor, settings = eager(worth=2)[0], SGD(learning_rate=0.1)
    alive: list[weakref.ref[Any]] = []
    for _ in range(3):
        net = Gated(settings)
        for i in range(6):
            net.step(i, executor)
        alive += map(weakref.ref, net.weights)
        del net
    assert [ref() for ref in alive] == [None] * 15
