"""Failures in the programs between binds are told as by the interpreter, and what they remember has bounds."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import wengert as wg
from tests.run.attacked import interruptions
from tests.run.counting import Boom, Counted
from tests.run.planned import eager, plain, same
from tests.run.waiting import Gated, programs_counted
from wengert import Do
from wengert.graph.operand import external
from wengert.plugins import SGD, FailOnNonFinite
from wengert.program.build import NoProgram
from wengert.program.derive import Lowering
from wengert.run.commit import Interrupted
from wengert.run.compiled import cache, plans, segment
from wengert.run.compiled.plans import BackwardProgram, BackwardPrograms
from wengert.run.compiled.segment import BackwardCase, Segment


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
    """S6: the first segment has run by a program when data make another one fail."""
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
    programs = {
        "forward": (Segment, Segment.evaluate),
        "backward": (BackwardCase, BackwardCase.run),
        "way": (BackwardProgram, BackwardProgram.back),
    }
    of, method = programs[part]
    others = (
        patch.object(BackwardPrograms, "back", lambda *arguments: None)
        if part == "backward"
        else nullcontext()
    )
    with others:
        for i in range(8):
            same([ours.step(i, executor)], [theirs.step(i, plain())])
        with patch.object(of, method.__name__, side_effect=Interrupted) as patched:
            same([ours.step(8, executor)], [theirs.step(8, plain())])
        assert patched.called
        same([ours.step(9, executor)], [theirs.step(9, plain())])
    same(ours.data(), theirs.data())


def test_a_derivative_that_cannot_be_traced_is_left_to_the_interpreter() -> None:
    ours, theirs, executor = Gated(), Gated(), eager(worth=2)[0]
    for i in range(12):
        fails = patch.object(Lowering, "backward", side_effect=NoProgram) if i < 6 else nullcontext()
        with fails, programs_counted() as calls:
            same([ours.step(i, executor)], [theirs.step(i, plain())])
        assert not calls["backward"]
    same(ours.data(), theirs.data())
    assert calls["way"] == 1


BOUNDS: dict[str, dict[Any, dict[str, int]]] = {  # Any: modules
    "counts": {cache: {"_MOST_COUNTS": 1}},
    "programs": {segment: {"_MOST_BACK": 1}},
    "steps of a way": {plans: {"_MOST_STEPS": 3}},
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
    found, back = executor.engine.segments, executor.engine.backward
    assert found is not None
    assert back is not None
    assert len(found._made.items()) <= 8
    assert len(back._made.items()) <= {"steps of a way": 0}.get(bounds, 4)


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
