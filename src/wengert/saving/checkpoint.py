"""`save` and `load`: weights and what goes with them, into one file and back.

Knows: that all is taken between two trainings and given back in one commit, or not at all (S6).
Refuses to know: the layout of the file, and which optimizers there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from wengert.arrays import Stored, StoredForm, Value, form_of, restored, stored
from wengert.arrays.changes import Change, carry_out
from wengert.errors import CheckpointError
from wengert.graph import Weight
from wengert.graph.operand import shown
from wengert.graph.paths import path_of
from wengert.graph.store import STORE, Ref
from wengert.graph.weights import Updates, by_settings, data_of
from wengert.saving.container import encoded, opened
from wengert.saving.files import remove_partial, replace
from wengert.saving.manifest import DIGITS, Broken, Manifest, Plain, Saved, brief, state_name, writable
from wengert.saving.naming import weights_by_name
from wengert.saving.states import check_state, parts_of, state_of, with_state
from wengert.site import user_position

Path: TypeAlias = str | os.PathLike[str]
_WANTED: Final[dict[type, str]] = {int: "an int", str: "a str"}


@dataclass(frozen=True)
class Checkpoint:
    """Content of a file besides its weights: step, seed and note of `save`, and the version that saved."""

    step: int | None
    seed: int | None
    version: str
    note: str | None = None


# object: a dictionary of weights, an iterable of named ones, or a model of any class
def save(
    path: Path,
    weights: object,
    *,
    step: int | None = None,
    seed: int | None = None,
    optimizer: bool = True,
    note: str | None = None,
) -> None:
    """Write weights, the state of their optimizers, `step`, `seed` and `note` to a file, which is replaced at once.

    `weights` is a model, by whose attributes they are named, a dictionary, or an iterable of weights with names of
    their own. All are as they were between two trainings. A file that is replaced keeps its mode. Raises
    CheckpointError for names that a file cannot have, state that is neither number nor array, and what `load` would
    not read; CheckpointWriteError, an OSError too, if the file cannot be written; ArgumentError for a path that is
    none. After all, and after a kill at any moment, the old file is there as it was; what a killed process has left
    beside it goes with the next `save` or `load`.

    >>> from tempfile import TemporaryDirectory
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.5).double_weight(2.0, name="w")
    >>> with TemporaryDirectory() as folder:
    ...     save(f"{folder}/model.safetensors", [w], step=7)
    ...     before = (w * w).train().run(), w.data
    ...     found = load(f"{folder}/model.safetensors", [w])
    >>> before, w.data, found.step
    ((4.0, 0.0), 2.0, 7)

    Source: the safetensors format, https://huggingface.co/docs/safetensors.
    """
    place = path_of("save", path, CheckpointError)
    for what, said, kind in (("step", step, int), ("seed", seed, int), ("note", note, str)):
        if said is not None and type(said) is not kind:
            raise CheckpointError(
                f"save: {what} is {shown(said)}, a {type(said).__name__}; it has to be {_WANTED[kind]} or None\n"
                f"  at {user_position()}"
            )
        if isinstance(said, int) and not writable(said):
            raise CheckpointError(
                f"save: {what} has more than {DIGITS:,} digits, which no file can have\n  at {user_position()}"
            )
    named = weights_by_name(weights)
    manifest, values = STORE.alone(partial(_taken, named, Manifest(step, seed, {}, note=note), optimizer))
    replace(place, encoded(manifest, values))


def _taken(
    named: Mapping[str, Weight], manifest: Manifest, optimizer: bool
) -> tuple[Manifest, dict[str, Stored]]:
    """Everything as bytes, which no later training changes; the manifest with the weights in it."""
    weights: dict[str, Saved] = {}
    values: dict[str, Stored] = {}
    for name, weight in named.items():
        values[name] = data = _stored(data_of(weight))
        state: dict[str, StoredForm | Plain] = {}
        for key, value in (state_of(weight, name) if optimizer else {}).items():
            if form_of(value) is None:
                state[key] = value
            else:
                values[state_name(name, key)] = entry = _stored(value)
                state[key] = entry.form
        weights[name] = Saved(data.form, parts_of(weight) if optimizer else (), state)
    return manifest._replace(weights=weights), values


def _stored(x: Value) -> Stored:
    found = stored(x)
    assert found is not None, "weights hold floats, and other state was refused"
    return found


def load(
    path: Path,
    weights: object,
    *,
    optimizer: bool = True,
    check: Callable[[Checkpoint], object] | None = None,
) -> Checkpoint:
    """Give weights and their optimizers what `save` wrote, all at once; `weights` as for `save`.

    The file must have these weights and no others, with their shapes and dtypes, and state of the same optimizers,
    which `optimizer=False` leaves as it is. `check` is told what else the file says, and may refuse it by raising.
    Raises CheckpointError, after which no weight has changed, for a file that is of another model or is broken in
    whatever way; OSError where there is none; ArgumentError for a path that is none. Nothing in a file is ever run.

    Example: see `save`. Source: as for `save`.
    """
    place = path_of("load", path, CheckpointError)
    named = weights_by_name(weights)
    remove_partial(place)

    def agree(manifest: Manifest) -> None:
        _agree(manifest, named, optimizer)
        if check is not None:
            check(_said(manifest))

    try:
        manifest, values = opened(place, len(named), agree)
    except Broken as reason:
        raise CheckpointError(
            f"{place} cannot be loaded, and no weight has changed: {reason}\n  at {user_position()}"
        ) from reason
    STORE.alone(partial(_give, named, manifest, values, optimizer))
    return _said(manifest)


def _said(manifest: Manifest) -> Checkpoint:
    return Checkpoint(manifest.step, manifest.seed, manifest.version, manifest.note)


def _agree(manifest: Manifest, named: Mapping[str, Weight], optimizer: bool) -> None:
    """Broken if a file is of another model."""
    missing, unexpected = named.keys() - manifest.weights.keys(), manifest.weights.keys() - named.keys()
    if missing or unexpected:
        raise Broken(f"it is of another model: it {_lacks(missing, unexpected)}")
    for name, weight in named.items():
        saved, form = manifest.weights[name], form_of(data_of(weight))
        if saved.data != form:
            raise Broken(
                f"it is of another model: {brief(name)} is {saved.data!s:.200} there, and {form} here"
            )
        if optimizer:
            check_state(weight, name, saved)


def _lacks(missing: set[str], unexpected: set[str]) -> str:
    said = [f"lacks {_listed(missing)}"] * bool(missing) + [f"has {_listed(unexpected)}"] * bool(unexpected)
    return " and ".join(said)


def _listed(names: set[str]) -> str:
    first = sorted(names)[:10]
    return ", ".join(map(brief, first)) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _give(
    named: Mapping[str, Weight], manifest: Manifest, values: Mapping[str, Stored], optimizer: bool
) -> None:
    """All data as one version, and the optimizers with them; for one who keeps others from training."""
    data: list[tuple[Ref, Value]] = []
    states: list[dict[str, Value]] = []
    for name, weight in named.items():
        device = weight._device
        data.append((weight.ref, restored(values[name], device)))
        state = manifest.weights[name].state.items()
        states.append(
            {
                k: restored(values[state_name(name, k)], device) if isinstance(x, StoredForm) else x
                for k, x in state
            }
        )
    optimizers: dict[Weight, Updates] = {}
    if optimizer:
        optimizers = {w: with_state(w, s) for w, s in zip(named.values(), states, strict=True)}
    groups = by_settings(optimizers)
    besides: list[Change] = [
        (setattr, weight, "optimizer", stepped) for weight, stepped in optimizers.items()
    ]
    for group in groups:
        stepped = [optimizers[weight] for weight in group]
        besides += stepped[0]._loading(stepped)
    with STORE.lock:
        carry_out([*STORE.replaced(data, [*STORE.readers.values()]), *besides])
    for group in groups:
        group[0].optimizer.loaded(group)
