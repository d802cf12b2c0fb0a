"""The state of optimizers, out of a weight and into one.

Knows: that state is what an optimizer keeps under names without an underscore, and which of it a file may have.
Refuses to know: any optimizer's formula, and files.
"""

from __future__ import annotations

from typing import Final

from wengert.arrays import StoredForm, Value, form_of, shape_of
from wengert.delta import zero
from wengert.errors import CheckpointError
from wengert.graph import Weight
from wengert.graph.weights import Updates, data_of
from wengert.plugins.optimizer import Optimizer
from wengert.saving.manifest import DIGITS, Broken, Plain, Saved, brief, writable

_MOST_STEPS: Final = 2**63  # a power of a decay by an int that no float can have would raise in the next step


def parts_of(weight: Weight) -> tuple[str, ...]:
    """The plugins whose parts make steps, in the order of these: state is of use to the same ones only."""
    return tuple(plugin.__qualname__ for plugin in _parts(weight).values())


def _parts(weight: Weight) -> dict[type, type]:
    """The plugin of each part; a part that only another one is made of has none."""
    plugins = type(getattr(weight.optimizer, "settings", None)).__mro__
    named = {vars(plugin)["optimizer"]: plugin for plugin in reversed(plugins) if "optimizer" in vars(plugin)}
    chain = type(weight.optimizer).__mro__
    return {part: named[part] for part in chain if part in named and _steps(part)}


def _steps(part: type) -> bool:
    return getattr(part, "step", Optimizer.step) is not Optimizer.step


def state_of(weight: Weight, name: str) -> dict[str, Value]:
    """State of a weight's optimizer by name; CheckpointError for what no file can have."""
    found = weight.optimizer.kept()
    for key, value in found.items():
        if isinstance(value, int) and not writable(value):
            raise CheckpointError(
                f"the optimizer of {brief(name)} keeps {brief(key)}, an int of more than {DIGITS:,} digits, which no "
                "file can have"
            )
        if form_of(value) is None and not (type(value) in (int, bool, str) or value is None):
            raise CheckpointError(
                f"the optimizer of {name!r} keeps {key!r}, a {type(value).__name__}, and a file of weights has "
                "numbers, texts and arrays of numbers only; keep it under a name with an underscore if it is no "
                "state, or save the data alone with optimizer=False"
            )
    return found


def check_state(weight: Weight, name: str, saved: Saved) -> None:
    """Broken if the optimizer of this weight cannot go on from this state."""
    parts = parts_of(weight)
    if saved.parts != parts:
        raise Broken(
            f"the optimizer of {brief(name)} was {_chain(saved.parts):.200}, and is {_chain(parts)} here; write "
            "load(..., optimizer=False) for the data alone"
        )
    ours = all(part.__module__.startswith("wengert.") for part in _parts(weight))
    cls, now = type(weight.optimizer), weight.optimizer.kept()  # which may have numbers of its settings
    for state, entry in saved.state.items():
        default = getattr(cls, state, None)
        if (
            callable(default)
            or isinstance(default, property)
            or (ours and not (hasattr(cls, state) or state in now))
        ):
            raise Broken(f"the optimizer of {brief(name)}, {_chain(parts)}, has no state {brief(state)}")
        if ours and not _fits(entry, default, weight, state in cls.reduced):
            raise Broken(
                f"the state {brief(state)} of {brief(name)} is {_told(entry)}, which its optimizer never has"
            )


def _chain(parts: tuple[str, ...]) -> str:
    return " with ".join(parts) or "none"


def _told(entry: StoredForm | Plain) -> str:
    return f"{entry!s:.200}" if isinstance(entry, StoredForm) else brief(entry)


def _fits(entry: StoredForm | Plain, default: object, weight: Weight, reduced: bool) -> bool:
    if type(default) is int:
        return type(entry) is int and 0 <= entry < _MOST_STEPS
    if not isinstance(entry, StoredForm) or not entry.dtype.startswith("float"):
        return False
    shape = shape_of(zero(data_of(weight)))
    if reduced and len(entry.shape) == len(shape):
        return all(n in (1, whole) for n, whole in zip(entry.shape, shape, strict=True))
    return entry.shape in ((), shape)


def with_state(weight: Weight, state: dict[str, Value]) -> Updates:
    """A copy of the optimizer that goes on from this state."""
    copy = weight.optimizer.staged()
    for name in [name for name in vars(copy) if not name.startswith("_")]:
        delattr(copy, name)
    for name, value in state.items():
        setattr(copy, name, value)
    return copy
