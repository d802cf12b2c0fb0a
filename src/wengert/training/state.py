"""Progress of a training, and that as text: the part of a checkpoint besides weights.

Knows: that with the seed this is all that the rest of a training depends on.
Refuses to know: files.
"""

from __future__ import annotations

import base64
import json
import math
import struct
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from wengert.errors import CheckpointError
from wengert.saving.manifest import brief
from wengert.site import user_position
from wengert.training.records import Epoch, History, Watch

KEPT: Final = (
    1_000_000  # losses of single steps: 11 MB in a checkpoint, and no more in memory however long it takes
)
_FORMAT: Final = 1
# steps and examples: beyond what a mean of losses can be divided by, there is no training
_MOST: Final = 2**63
_NUMBERS: Final = {
    "epoch": int,
    "done": int,
    "step": int,
    "count": int,
    "seen": int,
    "total": float,
    "seconds": float,
}


@dataclass
class State:
    """The present epoch, the steps in it that are done, how many it has, and what they have added up to."""

    epoch: int = 0
    done: int = 0
    step: int = 0
    count: int = 0  # batches of the present epoch; 0 before its first step
    seen: int = 0  # examples
    total: float = 0.0  # the sum of their losses
    seconds: float = 0.0
    epochs: list[Epoch] = field(default_factory=list)
    losses: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    rates: Mapping[str, float] = field(default_factory=dict)  # of the last step

    def stepped(self, loss: float, examples: int, seconds: float, batches: int = 1) -> None:
        """Count a step."""
        self.done += batches
        self.step += 1
        self.seen += examples
        self.total += loss * examples
        self.seconds += seconds
        self.losses.append(loss)

    @property
    def mean(self) -> float:
        """The loss of the present epoch so far, a mean over its examples."""
        return self.total / self.seen if self.seen else 0.0

    def ended(self, epoch: Epoch) -> None:
        """Count an epoch; the next one begins."""
        self.epochs.append(epoch)
        self.epoch += 1
        self.done = self.count = self.seen = 0
        self.total = 0.0

    def history(self, *, stopped_early: bool, watch: Watch, stale: int = 0) -> History:
        """Records so far, frozen."""
        return History(
            tuple(self.epochs), tuple(self.losses), self.step, stopped_early, self.seconds, watch, stale
        )

    def text(self) -> str:
        """All of it, floats bit for bit."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        losses = base64.b64encode(struct.pack(f"<{len(self.losses)}d", *self.losses)).decode()
        epochs = [asdict(epoch) for epoch in self.epochs]
        rates = dict(self.rates)
        return json.dumps({"fit": _FORMAT, **numbers, "losses": losses, "epochs": epochs, "rates": rates})


def read(text: str | None, path: str) -> State:
    """The state that `State.text` wrote; CheckpointError for anything else."""
    try:
        found = json.loads(text or "null")
        if not isinstance(found, dict):
            raise ValueError("it says nothing of a training")
        if found["fit"] != _FORMAT:
            raise ValueError(f"format {brief(found['fit'])}")
        numbers: dict[str, Any] = {name: _is(kind, found[name]) for name, kind in _NUMBERS.items()}
        if len(found["losses"]) > 11 * KEPT:  # 8 bytes are 11 characters
            raise ValueError(f"more than {KEPT:,} losses")
        packed = base64.b64decode(_is(str, found["losses"]), validate=True)
        losses = deque(struct.unpack(f"<{len(packed) // 8}d", packed), maxlen=KEPT)
        epochs = [_epoch(_is(dict, epoch)) for epoch in _is(list, found["epochs"])]
        rates = _numbers(found.get("rates", {}))
        if not (math.isfinite(numbers["total"]) and 0.0 <= numbers["seconds"] < math.inf):
            raise ValueError("a sum that is none")
    except (ValueError, TypeError, KeyError, RecursionError, struct.error) as error:
        raise CheckpointError(
            f"{path} cannot be resumed, and no weight has changed: `fit` did not save it, or another version did "
            f"({type(error).__name__}: {error!s:.100})\n  at {user_position()}"
        ) from error
    return State(**numbers, epochs=epochs, losses=losses, rates=rates)


def _epoch(found: dict[str, Any]) -> Epoch:
    metrics, rates = _numbers(found["metrics"]), _numbers(found.get("rates", {}))
    validation = None if found["validation"] is None else _is(float, found["validation"])
    return Epoch(
        _is(int, found["number"]),
        _is(int, found["steps"]),
        _is(float, found["loss"]),
        validation,
        metrics,
        _is(float, found["seconds"]),
        rates,
    )


def _numbers(found: object) -> dict[str, float]:
    """Numbers by name; a version before there were rates has none."""
    return {_is(str, name): _is(float, value) for name, value in _is(dict, found).items()}


def _is(kind: type[Any], x: Any) -> Any:  # Any: JSON of a stranger
    if type(x) is not kind:
        raise TypeError(f"{brief(x)} is no {kind.__name__}")
    if kind is int and not 0 <= x < _MOST:
        raise ValueError(f"the number {brief(x)}")
    return x
