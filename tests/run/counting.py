"""Operations that count their own calls, fail or meet others, and resources that are noted when they are left.

Knows: how an operation is made with `wengert.extend`, and how it leaves the registry again.
Refuses to know: what the tests conclude from the counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from wengert import ArrayWeight, DoubleWeight
from wengert.extend import Elementwise, elementwise
from wengert.graph.operation import OPERATIONS

Value = Any  # data of any column: a rule is written once for all of them
A = TypeVar("A")


class Boom(Exception):
    """A failure that only these tests raise."""


def barrier(count: int = 2) -> threading.Barrier:
    """Where as many have to meet, and do not wait for ever."""
    return threading.Barrier(count, timeout=10)


@contextmanager
def left(log: list[A], what: A) -> Generator[A]:
    """A resource: `what`, which the log has as soon as somebody leaves it."""
    try:
        yield what
    finally:
        log.append(what)


@dataclass
class Counted:
    """The identity as an operation; `forward` has each operand it met, `backward` each delta."""

    name: str = "counted"
    forward: list[Value] = field(default_factory=list)
    backward: list[Value] = field(default_factory=list)
    forward_failure: Callable[[], Exception] | None = None
    backward_failure: Callable[[], Exception] | None = None
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        def rule(case: Value, x: Value) -> Value:
            self.forward.append(x)
            self.log.append(f"{self.name} forward")
            if self.forward_failure is not None:
                raise self.forward_failure()
            return x * 1.0

        def derivative(case: Value, g: Value, y: Value, x: Value) -> Value:
            self.backward.append(g)
            self.log.append(f"{self.name} backward")
            if self.backward_failure is not None:
                raise self.backward_failure()
            return g

        self.apply: Elementwise = unregistered(self.name, rule, derivative)

    @property
    def calls(self) -> tuple[int, int]:
        """How often forward and backward ran."""
        return len(self.forward), len(self.backward)


@contextmanager
def registry_kept() -> Generator[None]:
    """Operations that are made inside leave the registry again."""
    before = set(OPERATIONS)
    yield
    for name in OPERATIONS.keys() - before:
        del OPERATIONS[name]


def unregistered(name: str, rule: Value, derivative: Value) -> Elementwise:
    """A unary operation that tests which go through the registry do not find."""
    rule.__name__ = name
    with registry_kept():
        return elementwise(derivative)(rule)


def state_of(weight: DoubleWeight | ArrayWeight[Any, Any]) -> list[object]:  # Any: any array will do
    """What training changes: the weight's data, and the numbers and arrays that its optimizer keeps."""
    kept = [
        (k, v) for k, v in sorted(vars(weight.optimizer).items()) if isinstance(v, (int, float, np.ndarray))
    ]
    return [np.asarray(weight.data).tolist(), *((k, np.asarray(v).tolist()) for k, v in kept)]


def failing(text: str = "boom", *, backward: bool = False) -> Elementwise:
    """The identity, whose forward (or whose derivative only) raises `Boom(text)`."""

    def rule(case: Value, x: Value) -> Value:
        if not backward:
            raise Boom(text)
        return x * 1.0

    def derivative(case: Value, g: Value, y: Value, x: Value) -> Value:
        raise Boom(text)

    return unregistered("failing_backward" if backward else "failing", rule, derivative)
