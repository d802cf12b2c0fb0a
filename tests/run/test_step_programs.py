"""Where no plan has a step, a program of its own takes it, with the interpreter's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam, WithNames
from tests.run.planned import plain, same, trained
from tests.run.test_plans import NETWORKS
from tests.run.test_plans_optimizers import ASKED, PLANNED
from tests.run.test_plans_sharing import WithCopies
from wengert.errors import ProgramWarning
from wengert.extend import LazyDelta
from wengert.plugins import SGD
from wengert.run.compiled.steps import StepProgram, StepPrograms
from wengert.run.loops import Loops
from wengert.run.sequential import Engine, Interpreter


def by_programs(**options: Any) -> tuple[Any, StepPrograms]:  # Any: an executor, which has few of its methods
    """The interpreter, whose steps are taken by programs."""
    given: dict[str, Any] = {"worth": 2, "least": 1, "few": 0, **options}
    programs, loops = StepPrograms(**given), Loops()
    loops.step = programs.stepped
    return Interpreter(Engine(loops=loops)), programs


def kept(executor: Any, settings: Any, steps: int = 8) -> list[Any]:  # Any: as above; data and states
    """A matrix and a vector after some steps of a loss that is a sum over parts of a batch."""
    chance = np.random.default_rng(0)
    x = chance.standard_normal((6, 5)).astype(np.float32)
    w = settings.array_weight(chance.standard_normal((5, 4)).astype(np.float32))
    b = settings.array_weight(np.zeros(4, np.float32))

    def loss(part: Any, seed: Any) -> Any:
        return wg.mean(wg.square(wg.tanh(wg.lift(part) @ w) + b))

    for _ in range(steps):
        wg.shards(loss, x, 2).train().run(executor)
    return [w.data, b.data, *(np.array(state) for of in (w, b) for state in of.optimizer.kept().values())]


NONE = ("noise", "a part that decides by a number")


@pytest.mark.parametrize("name", [*PLANNED, *ASKED])
def test_steps_of_sums_have_the_bits_of_the_interpreter(name: str) -> None:
    make = {**PLANNED, **ASKED}[name]
    executor, programs = by_programs()
    same(kept(executor, make()), kept(plain(), make()))
    assert programs.made == (0 if name in NONE else 2)


@pytest.mark.parametrize("optimizer", ["AdamW", "Nesterov", "clip by a schedule", "Adagrad", "clip each"])
@pytest.mark.parametrize("name", NETWORKS)
def test_lazy_deltas_are_carried_out_as_by_the_interpreter(name: str, optimizer: str) -> None:
    executor, _ = by_programs()
    network = lambda: NETWORKS[name](PLANNED[optimizer]())  # noqa: E731 # both runs make their own
    same(trained(network, plain(), 8), trained(network, executor, 8))


def test_a_delta_that_stays_lazy_has_no_program() -> None:
    executor, programs = by_programs()
    w = SGD(learning_rate=0.1).array_weight(np.ones((8, 8)), name="w")
    for _ in range(5):
        wg.sum(np.ones((2, 8)) @ w).train().run(executor)
    assert programs.made == 0
    wg.apply({w: np.ones((8, 8))}).run(executor)
    wg.apply({w: np.ones((8, 8))}).run(executor)
    assert programs.made == 1


def test_small_weights_and_short_steps_are_left_to_the_interpreter() -> None:
    executor, programs = by_programs(least=20, few=8)
    kept(executor, WithAdam(learning_rate=0.1))
    assert programs.made == 1  # of the matrix
    executor, programs = by_programs(few=8)
    kept(executor, SGD(learning_rate=0.1))
    assert programs.made == 0


def test_a_program_that_fails_is_told_of_and_its_step_is_the_interpreters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*given: object) -> Any:
        raise ZeroDivisionError("not today")

    expected = kept(plain(), WithAdam(learning_rate=0.1))
    executor, programs = by_programs(least=20)
    monkeypatch.setattr(StepProgram, "outputs", fail)
    with pytest.warns(ProgramWarning, match=r"a step of <ArrayWeight .* with ZeroDivisionError"):
        found = kept(executor, WithAdam(learning_rate=0.1), 4)
    assert programs.made == 0
    monkeypatch.undo()
    same(found, kept(plain(), WithAdam(learning_rate=0.1), 4))
    same(kept(executor, WithAdam(learning_rate=0.1)), expected)


@pytest.mark.parametrize("orders", ["CF", "FC"])
def test_a_lazy_delta_of_another_layout_has_the_interpreters_sums(orders: str) -> None:
    """How it lies is known only once it has been carried out, and the norm of a step is a sum in that order."""
    chance = np.random.default_rng(0)
    data, d = (chance.standard_normal((40, 30)).astype(np.float32) for _ in range(2))
    laid = {"C": d, "F": np.asfortranarray(d)}

    def stepped(executor: Any) -> list[Any]:  # Any: as above
        w = PLANNED["Adafactor"]().array_weight(data)
        for i in range(9):
            wg.apply({w: LazyDelta((), 1.0, laid[orders[i % 2]])}).run(executor)
        return [w.data, *w.optimizer.kept().values()]

    executor, programs = by_programs()
    same([np.array(x) for x in stepped(executor)], [np.array(x) for x in stepped(plain())])
    assert programs.made == 1


def test_a_program_keeps_no_delta_with_its_weight() -> None:
    """A clip by the norm of all computes a lazy delta once, in the middle of a commit."""

    def left(executor: Any) -> dict[str, Any]:  # Any: as above, and what an optimizer has
        w = PLANNED["clip"]().array_weight(np.ones((3, 4)))
        for _ in range(6):
            wg.apply({w: np.full((3, 4), 0.5)}).run(executor)
        return {name: x for name, x in vars(w.optimizer).items() if name not in ("_settings", "ahead")}

    executor, programs = by_programs()
    assert left(executor) == left(plain())
    assert programs.made == 1


def test_steps_that_ask_for_names_have_a_program_for_each_name() -> None:
    def stepped(executor: Any) -> list[Any]:  # Any: as above
        settings = WithNames(learning_rate=0.1)
        weights = [settings.array_weight(np.ones((3, 4)), name=name) for name in ("a", "b", "a")]
        for _ in range(8):
            wg.apply({w: np.full((3, 4), 0.5) for w in weights}).run(executor)
        return [w.data for w in weights]

    executor, programs = by_programs()
    a, b, c = stepped(executor)
    same([a, b, c], stepped(plain()))
    assert programs.made == 2
    assert not np.array_equal(a, b)


def test_without_a_compiler_steps_have_the_same_bits() -> None:
    executor, programs = by_programs(native=False)
    same(kept(executor, WithAdam(learning_rate=0.1)), kept(plain(), WithAdam(learning_rate=0.1)))
    assert programs.made == 2


def test_copies_that_a_step_keeps_are_arrays_of_their_own() -> None:
    """A product with 1 is its operand in a program: the user's delta and the data of the weight were states."""

    def stepped(executor: Any) -> list[Any]:  # Any: as above
        settings = WithCopies(learning_rate=0.125, keeps=lambda optimizer, d, x: (d * 1.0, x * 1.0))
        w: Any = settings.array_weight(np.ones((3, 4)))
        delta, states = np.zeros((3, 4)), []
        for i in range(8):
            delta[:] = i
            wg.apply({w: delta}).run(executor)
            states.append((w.optimizer.last, w.optimizer.older))
            assert not any(np.shares_memory(x, y) for x in states[-1] for y in (delta, w.ref.data))
        return [*(x for pair in states for x in pair), w.data]

    executor, programs = by_programs()
    same(stepped(executor), stepped(plain()))
    assert programs.made == 1
