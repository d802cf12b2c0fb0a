"""The protocol of steps with remote parts: every order of two nodes, two steps and two faults, and mistakes in it."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType
from typing import Final

import pytest

from tests.cluster.model import Model, explore
from wengert.cluster import protocol

# what the source says, and what it would say by mistake
MISTAKES: Final = {
    "a node without its past takes any message": (
        "Verdict.PERFORM if ask.kind is Kind.RESTORE else Verdict.UNKNOWN",
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
    "nobody is told of an abort": ("return Kind.DROP", "return None"),
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
