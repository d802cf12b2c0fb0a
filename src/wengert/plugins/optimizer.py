"""Optimizers as chains of parts through which a weight's whole delta goes, leftmost plugin first.

Knows: that a part changes the delta and hands it to `super()`, and that its state is assigned, never changed
in place, so that a copy can be stepped and thrown away; that a commit asks one optimizer of each settings
object with all weights before the first step.
Refuses to know: any particular step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Generic, Self

from wengert.arrays import Value
from wengert.arrays.changes import Change
from wengert.generics import TypeVar
from wengert.graph.weights import Update, Weight
from wengert.plugins.parts import merged_part

P = TypeVar("P", default=Any)  # Any: parts of different plugins stand in one chain


class Optimizer(Generic[P]):
    """The end of the chain; a part is a subclass that a plugin names as its `optimizer`.

    `Optimizer[SomePlugin]` is a part whose `settings` are at least that plugin. Whatever else a part keeps
    is the weight's state: it starts at the first step and is saved with the weight. Names with an underscore are
    for one commit only.

    What a part is given may be the delta or the value of others as well: its arrays cannot be written to, so
    `d *= 0.5` is an error, and `d = d * 0.5` is right. `class Half(Optimizer, pure=True)` promises that no method of
    that class writes into what it is given or keeps it, and that `step` depends on the delta, the weight's data and
    name, the settings and the state alone: such a part gets the arrays as they are, and plans may trace its steps.
    """

    pure: ClassVar[bool] = True
    within_plans: ClassVar[bool] = (
        False  # for Wengert's own: hooks of this very class besides `step` may be traced
    )
    only_finite: ClassVar[bool] = False  # for Wengert's own: see `Updates`
    tells: ClassVar[bool] = False  # whether a part has its own `committed`
    # states that have some axes of the weight with one element only
    reduced: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, pure: bool = False, **others: object) -> None:
        super().__init_subclass__(**others)
        silent = [c for c in cls.__mro__ if not issubclass(c, Optimizer) or (c is cls and not pure)]
        cls.pure = not any(hook in vars(c) for c in silent for hook in _HOOKS) and all(
            c.pure for c in cls.__mro__[1:] if issubclass(c, Optimizer)
        )

        cls.tells = cls.committed is not Optimizer.committed

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

    def staged_with(self, settings: P) -> Self:
        """A copy to step that has these settings; for a plan, where they have its inputs in place of numbers."""
        copy = self.staged()
        copy._settings = settings
        return copy

    def __reduce__(self) -> tuple[object, ...]:
        """Settings and state: the class has no name of its own, and is found again by that of the settings."""
        return _restored, (self._settings, vars(self))

    def state(self) -> dict[str, Value] | None:
        """State after the steps so far, by name; None if a part has not promised to be `pure`.

        Such a part may look at more than the delta, the weight and its settings, or keep what it is given, so a
        plan does not reuse its steps; nor those of a part that looks at other weights, or does something besides.
        """
        if not self.pure:
            return None
        others = [c for c in type(self).__mro__ if c is not Optimizer and not vars(c).get("within_plans")]
        return None if any(hook in vars(c) for c in others for hook in _BESIDES) else Optimizer.kept(self)

    def kept(self) -> dict[str, Value]:
        """State that a file of weights has, by name: `state` after the steps so far."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def admit(self, loss: Value, delta: Value, weight: Weight) -> None:
        """Called for every weight before any step; raise to refuse the update of all."""

    def admit_all(self, loss: Value, deltas: Sequence[tuple[Weight, Value]]) -> None:
        """Called once a commit for each settings object, after `admit`, with all weights that have a delta.

        Raise to refuse the update of all. One question about many arrays of a device waits for it once.
        """

    def together(self, updates: Sequence[Update]) -> None:
        """Called once a commit for each settings object, before any step, with all weights that have a delta.

        The weights of this settings object are those with `update.optimizer.settings is self.settings`; the others
        may have other parts. Raise to refuse the update of all. What a part has to tell the optimizers that will
        step, it sets there, under a name with an underscore.
        """

    def step(self, delta: Value, weight: Weight) -> Value:
        """Amount to subtract from the weight; `delta` may be lazy: `wengert.extend.dense` makes it an array.

        A part that needs the weight's data asks `wengert.extend.data_of`.
        """
        return delta

    def inputs(self) -> dict[str, float]:
        """Numbers of the settings that commits change, by attribute: for parts of the library, see `Updates`."""
        return {}

    def _late_changes(self, alone: bool) -> list[Change]:
        """For Wengert's own parts, called for every weight before any changes: see `Updates`."""
        return []

    def _loading(self, optimizers: Sequence[Self]) -> list[Change]:
        """For Wengert's own parts, called once for a settings object before any changes: see `Updates`."""
        return []

    def committed(self, weights: Sequence[Weight]) -> None:
        """Called once after a commit that has changed these weights of this settings object.

        What it raises reaches the caller of the run; the commit stays.
        """

    def loaded(self, weights: Sequence[Weight]) -> None:
        """Called once after these weights of this settings object have got their states from a file."""


def _restored(settings: object, state: dict[str, object]) -> Optimizer:
    made = object.__new__(merged_part(type(settings), "optimizer", Optimizer))
    vars(made).update(state)
    return made


_BESIDES: Final = ("admit", "admit_all", "together")  # `committed` is given no array
_HOOKS: Final = ("step", *_BESIDES)
