"""What every optimizer is: a chain of parts through which a weight's whole delta goes, leftmost plugin first.

Knows: that a part changes the delta and hands it to `super()`, and that its state is assigned, never changed
in place, so that a copy can be stepped and thrown away (S6).
Refuses to know: any particular step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from wengert.arrays import Value
from wengert.graph.weights import Weight

if TYPE_CHECKING:
    from wengert.plugins.plugin import Plugin


class Optimizer:
    """The end of the chain; a part is a subclass that a plugin names as its `optimizer`.

    `settings` is the settings object of the weight; a part annotates it with the plugin that it belongs to.
    Whatever else a part keeps is the weight's state: it starts at the first step and is saved with the weight.
    """

    settings: Plugin

    def __init__(self, settings: Plugin) -> None:
        self.settings = settings

    def staged(self) -> Self:
        """A copy to step; the original stays as it is until the commit."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy

    def admit(self, loss: Value, weight: Weight) -> None:
        """Called with the loss before any step; raise to refuse the update."""

    def step(self, delta: Value, weight: Weight) -> Value:
        """What is subtracted from the weight; `delta` may be lazy: `wengert.extend.dense` makes it an array."""
        return delta
