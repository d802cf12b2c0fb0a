"""Hyperparameters that change: by a schedule with each commit, or by assignment.

Knows: that the numbers of a settings object are read at each step, and are inputs of a plan; that they change in a
commit only, and that a file has them.
Refuses to know: which hyperparameters there are, and their ranges: other settings of the same class are made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, Self

from wengert.arrays import Value, is_number
from wengert.arrays.changes import Change, carry_out
from wengert.control import Do
from wengert.errors import PluginError
from wengert.graph.operand import shown
from wengert.graph.store import STORE
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import plain
from wengert.site import user_position

_NOW: Final = "now_"  # before the name of a hyperparameter, in the state that a file has


class HyperparametersOptimizer(Optimizer["Hyperparameters"]):
    """Tells the settings that a commit comes; a file has their numbers with each weight."""

    time: int = 0  # in a file only, as the numbers: they are those of the settings

    def inputs(self) -> dict[str, float]:
        return {**super().inputs(), **self.settings.numbers()}

    def _late_changes(self, alone: bool) -> list[Change]:
        # of each weight, though one would do: all set the same
        return [*super()._late_changes(alone), *self.settings.going_on(self.settings.time + 1)]

    def kept(self) -> dict[str, Value]:
        now = {f"{_NOW}{name}": float(value) for name, value in self.settings.numbers().items()}
        return {**super().kept(), "time": self.settings.time, **now}

    def _loading(self, optimizers: Sequence[Self]) -> list[Change]:
        found: dict[str, Any] = {}  # Any: numbers
        for state in map(vars, optimizers):
            for key in [key for key in state if key == "time" or key.startswith(_NOW)]:
                found[key] = state.pop(key)
        numbers = {key.removeprefix(_NOW): float(x) for key, x in found.items() if key != "time"}
        changes = self.settings.set_to(int(found.get("time", 0)), numbers) if found else []
        return [*super()._loading(optimizers), *changes]


class Hyperparameters(Plugin):
    """Numbers of these settings that change: by `schedules`, from names to functions of t, or by `assign`.

    t is how many commits this settings object has had before: 0, 1, 2, ... Steps are those of the numbers at their
    time, and a file of weights has the numbers and the time at which it was saved; loading it sets this object's.
    PluginError for a name that is no number of these settings, and for a number out of its range: then nothing has
    changed. The numbers are inputs of plans; steps are taken one by one where a part decides by one, as `Muon` does by
    its iterations.

    >>> from wengert.plugins import LearningRate, L2Regularization
    >>> class Settings(Hyperparameters, L2Regularization, LearningRate): ...
    >>> settings = Settings(learning_rate=1.0, l2=0.0, schedules={"learning_rate": lambda t: 0.5**t})
    >>> w = settings.double_weight(2.0)
    >>> [(w * 1.0).train().run() for _ in range(3)], w.data, settings.learning_rate
    ([2.0, 1.0, 0.5], 0.25, 0.125)
    >>> settings.assign(l2=0.1).run()
    >>> settings.l2
    0.1
    """

    schedules: Mapping[str, Callable[[int], float]] | None = None
    optimizer: ClassVar[type[Optimizer]] = HyperparametersOptimizer

    def __post_init__(self) -> None:
        self._time = 0
        self._numbers = tuple(name for name in self._members if is_number(vars(self).get(name)))
        given: object = self.schedules
        if given is not None and not (isinstance(given, Mapping) and all(map(callable, given.values()))):
            raise PluginError(
                f"{type(self).__name__}: schedules is {shown(given)}; it has to be a dict from names to functions of "
                f"the number of earlier commits, as in {{'learning_rate': lambda t: 0.1 / (1 + t)}}\n"
                f"  at {user_position()}"
            )
        vars(self).update({name: plain(x) for name, x in self.numbers().items()})
        self._known(self.schedules or {}, "schedules")
        self._next: dict[int, dict[str, float]] = {}  # of the next commit
        vars(self).update(self._checked(self._scheduled(0)))

    @property
    def time(self) -> int:
        """Number of commits so far."""
        return self._time

    def numbers(self) -> dict[str, float]:
        """The numbers of these settings, as they are now."""
        return {name: vars(self)[name] for name in self._numbers}

    def assign(self, **numbers: float) -> Do[None]:
        """Other numbers, from the commit of the run that this is part of: for all steps after it.

        Raises PluginError at the call for a name that has a schedule or is no number of these settings, or for a
        number out of its range.
        """
        self._known(numbers, "assign")
        scheduled = sorted(numbers.keys() & (self.schedules or {}).keys())
        if scheduled:
            raise PluginError(
                f"{type(self).__name__}.assign: {', '.join(scheduled)} has a schedule, which sets it with each commit; "
                f"give it no schedule, or let that read a variable of your own\n  at {user_position()}"
            )
        numbers = self._checked(numbers)
        return Do.transaction(partial(self._checked, numbers), partial(self._assigned, numbers), _nothing)

    def going_on(self, time: int) -> list[Change]:
        """The changes to another time; PluginError where a schedule gives what is out of range."""
        if time not in self._next:
            self._next.clear()
            self._next[time] = self._checked(self._scheduled(time))
        return self.set_to(time, self._next[time])

    def set_to(self, time: int, numbers: Mapping[str, float]) -> list[Change]:
        """The changes to a time and some numbers."""
        known = {name: x for name, x in numbers.items() if name in self._numbers}
        return [(vars(self).update, {**known, "_time": time})]

    def _scheduled(self, time: int) -> dict[str, float]:
        return {name: schedule(time) for name, schedule in (self.schedules or {}).items()}

    def _checked(self, numbers: dict[str, float]) -> dict[str, float]:
        if any(vars(self)[name] != x for name, x in numbers.items()):
            given = [name for name, member in self._members.items() if not member.injected]
            members: dict[str, Any] = {name: vars(self)[name] for name in given}  # Any: of all types
            members |= {**numbers, "schedules": None}
            type(self)(**members)  # which refuses what is out of range
        return {name: plain(x) for name, x in numbers.items()}

    def _assigned(self, numbers: dict[str, float]) -> None:
        with STORE.lock:
            carry_out([(vars(self).update, numbers)])

    def _known(self, given: Mapping[str, object], who: str) -> None:
        unknown = sorted(given.keys() - {*self._numbers})
        if unknown:
            raise PluginError(
                f"{type(self).__name__}.{who}: {', '.join(unknown)} is no number of these settings; they have "
                f"{', '.join(self._numbers) or 'none'}\n  at {user_position()}"
            )


def _nothing() -> None:
    """For a run that fails: nothing has changed."""
