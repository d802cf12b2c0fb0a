"""The protocol of steps with remote parts: every order of two nodes, two steps and two faults, and mistakes in it."""

from __future__ import annotations

import inspect
import pickle
import sys
from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, Final

import pytest

from tests.cluster.experts import here, there
from tests.cluster.model import NODES, Model, explore
from wengert.cluster import Fault, Local, Message, protocol

# what the source says, and what it would say by mistake
MISTAKES: Final = {
    "a node without its past takes any message": (
        "Verdict.PERFORM if ask.kind is Request.RESTORE else Verdict.UNKNOWN",
        "Verdict.PERFORM",
    ),
    "a message that comes twice is carried out twice": (
        "return Verdict.REPEAT",
        "return Verdict.PERFORM",
    ),
    "a message that comes twice is not answered again": (
        "return Verdict.REPEAT",
        "return Verdict.STALE",
    ),
    "a late copy is carried out": (
        "return Verdict.PERFORM if ask.number > self.number else Verdict.STALE",
        "return Verdict.PERFORM",
    ),
    "a step that is shown is shown again": ("return self.version < ask.step", "return True"),
    "a step is never shown": ("return self.version < ask.step", "return False"),
    "a new life forgets which step it has": (
        "version, staged = ask.step, None",
        "version, staged = 0, None",
    ),
    "a commit leaves the stage": (
        "version, staged = max(version, ask.step), None",
        "version = max(version, ask.step)",
    ),
    "a commit leaves the version": ("version, staged = max(version, ask.step), None", "staged = None"),
    "a node does not remember what it has done": (
        "life, number, version, staged = ask.life, ask.number,",
        "life, number, version, staged = ask.life, self.number,",
    ),
    "a node does not begin another life": (
        "life, number, version, staged = ask.life, ask.number,",
        "life, number, version, staged = self.life, ask.number,",
    ),
    "two messages have one number": (
        "Ask(self.life, self.number + 1, kind",
        "Ask(self.life, self.number, kind",
    ),
    "a late answer is taken for that to another message": (
        "and ask.life == life and ask.number == number",
        "and ask.life == life",
    ),
    "a refusal counts as a vote": ("if not yes:", "if False:"),
    "a majority decides": (
        "return self.voted == self.nodes and not self.dropped",
        "return 2 * len(self.voted) >= len(self.nodes) and not self.dropped",
    ),
    "nobody is told of an abort": ("return Request.DROP", "return None"),
    "the first acknowledgement ends a step": (
        "return (self.decided or self.dropped) and self.told == self.nodes",
        "return (self.decided or self.dropped) and bool(self.told)",
    ),
    "who has been told is told again": (
        "if node in self.told:\n            return None",
        "if node in self.told:\n            pass",
    ),
    "the journal lacks a step": ("(*self.steps, step))", "self.steps)"),
    "the journal keeps what is saved": ("if x > step)", "if x)"),
    "a step that the checkpoint has is taken again": (
        "tuple(x for x in self.steps if x > loaded)",
        "tuple(x for x in self.steps if x >= loaded)",
    ),
    "all of the journal is taken, whatever was loaded": (
        "tuple(x for x in self.steps if x > loaded)",
        "self.steps",
    ),
    "a checkpoint that was not acknowledged is refused": (
        "return loaded == self.saved or loaded in self.steps",
        "return loaded == self.saved",
    ),
}


def with_mistake(before: str, after: str) -> ModuleType:
    source = inspect.getsource(protocol)
    assert source.count(before) == 1, before
    made = ModuleType("protocol_with_a_mistake")
    sys.modules[made.__name__] = made  # where dataclasses look
    try:
        exec(compile(source.replace(before, after), made.__name__, "exec"), vars(made))
    finally:
        del sys.modules[made.__name__]
    return made


def test_every_order_of_one_fault_ends_with_each_step_once_everywhere() -> None:
    found = explore(Model(protocol, faults=1))
    assert found.wrong is None, found
    assert found.traces > 100_000 and found.states > 2_000


@pytest.mark.slow
def test_every_order_of_two_faults_ends_with_each_step_once_everywhere() -> None:
    found = explore(Model(protocol, faults=2))
    assert found.wrong is None, found
    assert found.traces > 10**12 and found.states > 50_000


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found(mistake: str) -> None:
    model = with_mistake(*MISTAKES[mistake])
    assert any(explore(Model(model, faults)).wrong for faults in (1, 2))


def test_twenty_mistakes_are_made() -> None:
    assert len(MISTAKES) >= 20


# -- the real driver and nodes on traces of the model -------------------------------------------------

REAL: Final = {
    "lost before": Fault.LOST_BEFORE,
    "lost after": Fault.LOST_AFTER,
    "doubled": Fault.DOUBLED,
    "late": Fault.DELAYED,
    "died": Fault.DIED_BEFORE,
}
Where = tuple[str, protocol.Request, int]  # a node, what was asked, for which step


class Told(Local):
    """The engine in this process, which meets messages with the faults that a trace has at them."""

    def __init__(self, faults: dict[Where, Fault]) -> None:
        super().__init__(workers=0, faults=self._fault)
        self.left = faults
        self.asked = protocol.Ask(0, 0, protocol.Request.WORK)
        self.works: Counter[str] = Counter()

    def send(self, to: str, what: str, call: bytes) -> Future[Any]:  # Any: as in `Local`
        self.asked = pickle.loads(call)[1][0]
        return super().send(to, what, call)

    def _fault(self, message: Message) -> Fault | None:
        kind, step = self.asked.kind, self.asked.step
        if kind is protocol.Request.WORK:  # forward, then backward, in each step: the model has both as one
            self.works[message.to] += 1
            step, backward = divmod(self.works[message.to] + 1, 2)
            if not backward:
                return None
        return self.left.pop((message.to, kind, step), None)


def faults_of(random: Random) -> dict[Where, Fault]:
    """The faults of a random trace of the model, each at the message that it has them at."""
    model = Model(protocol)
    world, found = model.begin(), dict[Where, Fault]()
    while moves := [*model.moves(world)]:
        harmless = [x for x in moves if x[0][0] not in REAL]
        move, after = random.choice(moves if random.random() < 0.1 or not harmless else harmless)
        if move[0] in REAL and (ask := world.links[move[1]].pending) is not None:
            found.setdefault((NODES[move[1]], ask.kind, ask.step), REAL[move[0]])
        world = after
    return found


def test_driver_and_nodes_do_as_traces_of_the_model(tmp_path: Path) -> None:
    expected, random, met = here(2), Random(0), Counter[Fault]()
    for _ in range(60):
        faults = faults_of(random)
        engine = Told(dict(faults))
        assert there(2, engine=engine, folder=str(tmp_path)) == expected, faults
        met.update(fault for where, fault in faults.items() if where not in engine.left)
    assert met.keys() == {*REAL.values()} and met.total() > 40
