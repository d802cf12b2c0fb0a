"""What every optimizer is: a chain of parts through which a weight's whole delta goes, leftmost plugin first.

Knows: that a part changes the delta and hands it to `super()`, and that its state is assigned, never changed
in place, so that a copy can be stepped and thrown away (S6).
Refuses to know: any particular step.
"""

from __future__ import annotations

from typing import Any, Generic, Self

from typing_extensions import TypeVar

from wengert.arrays import Value
from wengert.graph.weights import Weight

P = TypeVar("P", default=Any)  # Any: parts of different plugins stand in one chain


class Optimizer(Generic[P]):
    """The end of the chain; a part is a subclass that a plugin names as its `optimizer`.

    `Optimizer[SomePlugin]` is a part whose `settings` are at least that plugin. Whatever else a part keeps
    is the weight's state: it starts at the first step and is saved with the weight.
    """

    def __init__(self, settings: P) -> None:
        self._settings = settings

    @property
    def settings(self) -> P:
        """The settings object that made the weight."""
        return self._settings

    def staged(self) -> Self:
        """A copy to step; the original stays as it is until the commit."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy

    def admit(self, loss: Value, delta: Value, weight: Weight) -> None:
        """Called for every weight before any step; raise to refuse the update of all."""

    def step(self, delta: Value, weight: Weight) -> Value:
        """What is subtracted from the weight; `delta` may be lazy: `wengert.extend.dense` makes it an array."""
        return delta
