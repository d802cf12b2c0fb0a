"""Plans are made when they pay: what that takes is bounded by what runs have earned and plans have saved.

The clock is no clock here, and plans are none: each run, each making says how long it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from wengert import run
from wengert.plugins import SGD
from wengert.run import Sequential
from wengert.run.compiled import plans
from wengert.run.compiled.cache import Item
from wengert.run.compiled.plans import WORTH, Account, Plans, Statistics
from wengert.run.evaluation import Evaluation

SHARE, FREE = 0.05, 0.06  # of the interpreter's time, and seconds: more than the account has
W = SGD(learning_rate=0.0).double_weight(0.5)


class FakePlan(Item):
    """A plan that takes so many seconds a run, and as many steps until it is ready."""

    early = failed = False

    def __init__(self, scene: Scene, nodes: int, steps: int) -> None:
        super().__init__()
        self.scene, self.nodes, self.steps = scene, nodes, steps
        self.targets = ()

    @property
    def plan(self) -> FakePlan:
        return self

    @property
    def ready(self) -> bool:
        return self.steps == 0

    def advance(self) -> bool:
        self.scene.now += self.scene.step
        self.steps -= 1
        return self.steps > 0

    def size(self) -> int:
        return 1000

    def bound(self, root: Any) -> FakePlan | None:
        return self if self.ready and length(root) == self.nodes else None

    def predict(self, root: Any, snapshot: int) -> float:
        self.scene.now += self.scene.planned
        return 0.0


def chain(nodes: int) -> Any:
    """An expression of so many nodes."""
    x: Any = W
    for _ in range(nodes):
        x = x * W
    return x


def length(root: Any) -> int:
    """How many nodes such an expression has."""
    count = 0
    while root is not W:
        root, count = root.operands[0], count + 1
    return count


class Scene:
    """An interpreter and plans in a time of their own, in seconds."""

    def __init__(
        self,
        interpreted: float = 1e-3,
        planned: float = 5e-4,
        making: float = 0.02,
        steps: int = 0,
        step: float = 0,
    ) -> None:
        self.now, self.reads = 0.0, 0
        self.interpreted, self.planned, self.making, self.steps, self.step = (
            interpreted,
            planned,
            making,
            steps,
            step,
        )
        self.made: list[int] = []  # nodes of each plan
        self.runs = 0
        self.fails = False
        self.account = Account(self.clock, free=0.04)
        self.plans = Plans(account=self.account)

    def clock(self) -> float:
        self.reads += 1
        return self.now

    def makes(self, evaluation: Any, nodes: Any, *others: Any) -> FakePlan:
        self.now += self.making
        self.made.append(len(nodes))
        plan = FakePlan(self, len(nodes), self.steps)
        plan.failed = self.fails
        return plan

    def ask(self, nodes: int) -> bool:
        """Run a structure of so many nodes once; whether a plan did it."""
        self.runs += 1
        root = chain(nodes)
        found: Any = self.plans.find(root, "predict")
        if found is not None:
            found.predict(root, 0)
            return True
        with Evaluation(0) as evaluation:
            found = self.plans.answer(evaluation, evaluation.begin(root), "predict")
            if found is None:
                self.now += self.interpreted
            else:
                found.predict(root, 0)
        return found is not None

    def behind(self) -> float:
        """Seconds behind the interpreter, and beyond its share."""
        return self.now - (1 + SHARE) * self.interpreted * self.runs


@pytest.fixture
def scene() -> Iterator[Callable[..., Scene]]:
    scenes: list[Scene] = []

    def make(**given: Any) -> Scene:
        scenes.append(Scene(**given))
        return scenes[-1]

    def made(*asked: Any) -> FakePlan:
        return scenes[-1].makes(*asked)

    with patch.object(plans, "_traced_plan", SimpleNamespace(load=lambda: made)):
        yield make


def test_a_small_model_has_its_plan_at_once(scene: Callable[..., Scene]) -> None:
    one = scene()
    assert [one.ask(3) for _ in range(WORTH + 2)] == [False] * WORTH + [True] * 2


@pytest.mark.parametrize("steps", [0, 10])
@pytest.mark.parametrize("cost", [3, 10])
def test_it_is_never_behind_by_more_than_its_share(
    scene: Callable[..., Scene], cost: int, steps: int
) -> None:
    """Whatever a plan takes to make, and with any number of structures in turn."""
    one = scene(making=cost * 1e-3 / (1 + steps), steps=steps, step=cost * 1e-3 / (1 + steps))
    for _ in range(80):
        for nodes in range(3, 43):
            one.ask(nodes)
            assert one.behind() < FREE + cost * 1e-3, (
                "one making beyond the account, which has not been timed before"
            )
    assert len({*one.made}) >= 80 / cost
    assert len(one.made) == len({*one.made})


def test_savings_pay_for_more_plans_until_all_have_one(scene: Callable[..., Scene]) -> None:
    one = scene(making=0.02)
    numbers = []
    for _ in range(200):
        for nodes in range(3, 43):
            one.ask(nodes)
        numbers.append(len(one.made))
    assert numbers[WORTH] < 10
    assert numbers[-1] == 40
    grown = [numbers.index(next(n for n in numbers if n >= wanted)) for wanted in (10, 20, 40)]
    assert grown[2] - grown[1] < 2 * (grown[1] - grown[0]), "the more there are, the sooner come the next"
    assert one.now < 0.95 * one.interpreted * one.runs


def test_one_of_hundreds_earns_its_plan_first(scene: Callable[..., Scene]) -> None:
    """What the account begins with is for the structures of which there are few."""
    made = {}
    for structures in (40, 240):
        one = scene(making=0.005)
        for _ in range(WORTH + 2):
            for _ in range(structures):
                one.ask(3 + one.runs % structures)
        made[structures] = len(one.made) * one.making / one.now
    assert made[240] < SHARE / 2 < made[40]


def test_what_never_pays_gets_none(scene: Callable[..., Scene]) -> None:
    one = scene(making=0.02)
    for _ in range(30):
        one.ask(5_000)  # half a second, as far as anybody knows
    assert one.made == []
    other = scene(planned=2e-3)
    for _ in range(4000):
        other.ask(3)
    assert 1 <= len(other.made) <= 9, (
        "one that is slower than the interpreter goes, and is made ever more seldom"
    )
    assert other.behind() < FREE + other.making


def test_a_making_that_fails_is_tried_ever_more_seldom(scene: Callable[..., Scene]) -> None:
    one = scene(making=1e-3)
    one.fails = True
    for _ in range(4000):
        assert not one.ask(3)
        assert one.behind() < FREE
    assert 2 <= len(one.made) <= 9


def test_what_has_to_go_for_others_has_been_paid_for(scene: Callable[..., Scene]) -> None:
    before = run.set_cache_limit(0)
    try:
        one = scene(making=0.02)
        for i in range(4000):
            one.ask(3 + i % 2)
            assert one.behind() < FREE + one.making
    finally:
        run.set_cache_limit(before)
    assert 2 < len(one.made) <= 18


def test_one_that_does_not_come_again_holds_nobody_up_for_ever(scene: Callable[..., Scene]) -> None:
    one = scene(steps=5, step=1e-3)
    for _ in range(WORTH):
        one.ask(9)
    assert one.made == [9]
    for _ in range(2000):
        one.ask(3)
    assert one.made == [9, 3]


def test_what_takes_most_of_the_time_has_its_plan_on_credit(scene: Callable[..., Scene]) -> None:
    one = scene(making=0.02)
    one.account.balance = -1.0
    runs = next(
        i for i in range(1000) if one.ask(100)
    )  # a price of 24 ms is that of 24 runs of a millisecond
    assert 20 < runs < 30
    several = scene(making=0.02)
    several.account.balance = -1.0
    assert not any(several.ask(100 + i % 3) for i in range(400))


def test_a_price_is_learnt(scene: Callable[..., Scene]) -> None:
    one = scene(making=0.02)
    one.account.balance = 1.0
    for nodes in range(3, 43):
        for _ in range(WORTH + 1):
            one.ask(nodes)
    prices = [x.price for x in one.plans._structures.values()]
    assert prices[0] < 0.005
    assert prices[-1] == pytest.approx(0.02, rel=0.2)


def test_the_clock_is_seldom_read(scene: Callable[..., Scene]) -> None:
    one = scene(making=0.02)
    for nodes in (3, 4) * 100:
        one.ask(nodes)
    one.reads = 0
    for nodes in (3, 4) * 100:
        assert one.ask(nodes)
    assert one.reads == 0, "once all has been timed"
    waits = scene()
    waits.account.balance = -1.0
    for _ in range(12):
        assert not waits.ask(100)
    assert waits.reads == 2 * 6, "of the runs that are timed"


def test_plans_of_the_default_executor_have_an_account_and_those_at_a_known_run_have_none() -> None:
    executor: Any = Sequential()
    assert executor.engine.plans.account is not None
    assert Plans(worth=3).account is None


def test_a_structure_that_is_forgotten_while_its_plan_is_made_costs_what_was_spent() -> None:
    account, forgotten = (
        Account(free=1.0),
        Statistics(1, 8),
    )  # begun by another of the same key, which is gone
    forgotten.spent = 0.25
    account.settle(forgotten, made=True)
    assert account.balance == 0.75
