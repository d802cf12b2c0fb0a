"""A learning rate that goes down when a loss no longer does.

Knows: that the rate is a function of the epochs so far, so that a training which is resumed has it again.
Refuses to know: how a rate acts on a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from wengert.arrays import is_number
from wengert.errors import ArgumentError
from wengert.plugins.hyperparameters import Hyperparameters
from wengert.site import user_position
from wengert.training.given import whole
from wengert.training.records import Epoch, Event, Watch

_RATE: Final = "learning_rate"
_LEAST: Final = 1e-8  # a change of the rate that is no more is not made


@final
class ReduceOnPlateau:
    """A callback of `fit`: the learning rate of `settings` times `factor`, whenever `patience` + 1 epochs in a row were
    not better than the best before them by the share `threshold` of it.

    Better is less by the loss on the validation data, or without those by that of training; or by the metric `monitor`,
    greater with mode="max". After a change `cooldown` epochs do not count; no rate is below `min_rate`, and no
    change below 1e-8 is made. The settings
    have the plugins `Hyperparameters` and `LearningRate`. The rate is computed of all epochs so far, so a training that
    is resumed from a checkpoint goes on with it. ArgumentError for other settings, and numbers out of range.
    >>> from wengert.plugins import Hyperparameters, LearningRate
    >>> class Settings(Hyperparameters, LearningRate): ...
    >>> settings = Settings(learning_rate=1.0)
    >>> plateau = ReduceOnPlateau(settings, factor=0.5, patience=1)
    >>> for number, loss in enumerate([3.0, 2.0, 2.0, 2.0, 1.0]):
    ...     plateau(Epoch(number, number, loss))
    >>> settings.learning_rate
    0.5

    Source: `torch.optim.lr_scheduler.ReduceLROnPlateau`.
    """

    def __init__(
        self,
        settings: Hyperparameters,
        *,
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        cooldown: int = 0,
        min_rate: float = 0.0,
        monitor: str | None = None,
        mode: str = "min",
    ) -> None:
        if not isinstance(settings, Hyperparameters) or _RATE not in settings.numbers():
            raise ArgumentError(
                f"ReduceOnPlateau: settings have the plugins Hyperparameters and LearningRate, as in `class "
                f"Settings(Hyperparameters, Adam, LearningRate)`; got {settings!r:.100}\n  at {user_position()}"
            )
        if not is_number(factor) or not 0.0 < factor < 1.0 or mode not in ("min", "max"):
            raise ArgumentError(
                f"ReduceOnPlateau: factor is a number with 0 < factor < 1, and mode is 'min' or 'max'; got "
                f"{factor!r:.40} and {mode!r:.40}\n  at {user_position()}"
            )
        self.settings, self.first = settings, settings.numbers()[_RATE]
        self.factor, self.threshold, self.min_rate = factor, threshold, min_rate
        self.patience, self.cooldown = whole("patience", patience, 0), whole("cooldown", cooldown, 0)
        self.watch = Watch(monitor, mode)
        self._start()

    def _start(self) -> None:
        self.rate, self._least, self._bad, self._cooling = self.first, float("inf"), 0, 0

    def resumed(self, epochs: Sequence[Epoch]) -> None:
        """Compute the rate of the epochs before those to come, and assign it."""
        self._start()
        for epoch in epochs:
            self._count(epoch)
        self._assign()

    def __call__(self, event: Event) -> None:
        if isinstance(event, Epoch):
            self._count(event)
            self._assign()

    def _count(self, epoch: Epoch) -> None:
        now = self.watch.of(epoch)
        if self._least == float("inf") or now < self._least - self.threshold * abs(self._least):
            self._least, self._bad = now, 0
        else:
            self._bad += 1
        if self._cooling:
            self._cooling, self._bad = self._cooling - 1, 0
        if self._bad > self.patience:
            less = max(self.rate * self.factor, self.min_rate)
            self.rate = less if self.rate - less > _LEAST else self.rate
            self._cooling, self._bad = self.cooldown, 0

    def _assign(self) -> None:
        if self.settings.numbers()[_RATE] != self.rate:
            self.settings.assign(learning_rate=self.rate).run()
