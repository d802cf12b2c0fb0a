"""`save` and `load`: weights and what goes with them, into one file and back.

Knows: that all is taken between two trainings and given back in one commit, or not at all; that the state of an
optimizer is what it keeps under names without an underscore, and which of it a file may have.
Refuses to know: the layout of the file, and any optimizer's formula.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO, Final, NamedTuple

from wengert.arrays import Stored, StoredForm, Value, as_form, form_of, restored, shape_of, stored
from wengert.arrays.changes import Change, carry_out
from wengert.delta import zero
from wengert.errors import CheckpointError
from wengert.graph import Weight
from wengert.graph.operand import shown
from wengert.graph.paths import Path, path_of
from wengert.graph.paths import opened as opened_file
from wengert.graph.store import STORE, Ref
from wengert.graph.weights import Updates, array_of, by_settings, data_of, made_of
from wengert.plugins.optimizer import Optimizer
from wengert.saving.container import Container, Entry, encoded
from wengert.saving.files import remove_partial, replace
from wengert.saving.layouts import Fit, Layout, Part, Rename, check_differences, fit, sources
from wengert.saving.manifest import DIGITS, Broken, Manifest, Plain, Saved, brief, state_name, writable
from wengert.saving.naming import former_names, weights_by_name
from wengert.site import user_position

_HINT: Final = "; write rename= for names, strict=False for a part"
_WANTED: Final[dict[type, str]] = {int: "an int", str: "a str"}


@dataclass(frozen=True)
class Checkpoint:
    """Content of a file besides its weights: step, seed and note of `save`, and the version that saved.

    `used` and `unused` are the names of the file's tensors that `load` has given to weights, or left; `missing` are the
    places of weights that have kept their values. A file that `save` has not written is of version "".
    """

    step: int | None
    seed: int | None
    version: str
    note: str | None = None
    used: tuple[str, ...] = field(default=(), compare=False)
    unused: tuple[str, ...] = field(default=(), compare=False)
    missing: tuple[str, ...] = field(default=(), compare=False)


# object: a dictionary of weights, an iterable of named ones, or a model of any class
def save(
    path: Path | BinaryIO,
    weights: object,
    *,
    step: int | None = None,
    seed: int | None = None,
    optimizer: bool = True,
    note: str | None = None,
) -> None:
    """Write weights, the state of their optimizers, `step`, `seed` and `note` to a file, which is replaced at once.

    An open binary file, or anything with such a `write`, is written to where it stands. `weights` is a model, by
    whose attributes they are named, a dictionary, or an iterable of weights with names of their own. All are as they
    were between two trainings. A file that is replaced keeps its mode. Raises CheckpointError for names that a file
    cannot have, state that is neither number nor array, and what `load` would not read; CheckpointWriteError, an
    OSError too, if the file cannot be written; ArgumentError for a path that is none. After all, and after a kill at
    any moment, the old file is there as it was; what a killed process has left beside it goes with the next `save` or
    `load`.

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
    place = None if _writes(path) else path_of("save", path, CheckpointError)
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
    content = encoded(manifest, values)
    if place is None:
        _written(path, content)
    else:
        replace(place, content)


def _writes(given: object) -> bool:
    return not isinstance(given, str | os.PathLike) and hasattr(given, "write")


def _written(file: Any, content: bytes) -> None:  # Any: whatever has `write`
    try:
        file.write(content)
    except TypeError as error:
        raise CheckpointError(
            f"save: {shown(file)} does not take bytes; open the file with mode 'wb'\n  at {user_position()}"
        ) from error


def _taken(
    named: Mapping[str, Weight], manifest: Manifest, optimizer: bool
) -> tuple[Manifest, dict[str, Stored]]:
    """Everything as bytes, which no later training changes; the manifest with the weights in it."""
    weights: dict[str, Saved] = {}
    values: dict[str, Stored] = {}
    for name, weight in named.items():
        values[name] = data = _stored(array_of(weight))
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
    path: Path | BinaryIO,
    weights: object,
    *,
    strict: bool = True,
    rename: Rename | None = None,
    layout: Layout | None = None,
    optimizer: bool = True,
    check: Callable[[Checkpoint], object] | None = None,
) -> Checkpoint:
    """Give weights, and their optimizers, what a file has, all at once; `weights` as for `save`.

    Any safetensors file is read, from a path or an open binary file; of one that `save` wrote also the state of
    optimizers, which must be the same ones, or are left as they are by `optimizer=False`. The file must have these
    weights and no others, with their shapes; with `strict=False` what it has of them is taken, at least one. The
    answer says what was and was not used. Elements may be of a type that the weight's holds exactly, as bfloat16 in
    float32. `rename`, a function or a mapping, tells the place of a tensor by its name in the file; None drops it.
    `layout="pytorch"` reads a `state_dict`: names and axes of its modules for the layers of `wengert.nn`.
    `check` is told what else the file says, and may refuse it by raising.

    Raises CheckpointError, after which no weight has changed, for a file that is of another model, with all that
    differs, or is broken in whatever way; OSError where there is none; ArgumentError for a path that is none. Nothing
    in a file is ever run.

    >>> from io import BytesIO
    >>> from wengert.plugins import SGD
    >>> settings, file = SGD(learning_rate=0.5), BytesIO()
    >>> save(file, {"body": settings.double_weight(2.0), "old": settings.double_weight(3.0)})
    >>> model = {"backbone": settings.double_weight(0.0), "head": settings.double_weight(1.0)}
    >>> found = load(BytesIO(file.getvalue()), model, strict=False, rename={"body": "backbone"})
    >>> found.used, found.unused, found.missing, model["backbone"].data
    (('body',), ('old',), ('head',), 2.0)

    Source: as for `save`.
    """
    named = weights_by_name(weights)
    place, opening = _opened("load", path)
    with opening as file:
        try:
            container = Container(file, len(named))
            manifest, former = container.manifest, former_names(weights, container.weights())
            if manifest is not None and strict and rename is None and layout is None:
                named = former if former.keys() == manifest.weights.keys() else named
                _agree(manifest, named, optimizer)
                said = _said(manifest, tuple(named))
                if check is not None:
                    check(said)
                given = _all(named, manifest, container.values(manifest), optimizer)
            else:
                fitting = fit(container.weights(), named, former, rename, sources(weights, layout))
                given, differ = _some(container, fitting.parts, optimizer)
                _check_fit(fitting, differ, strict, container, layout)
                said = _said(manifest, *fitting[1:])
                if check is not None:
                    check(said)
        except Broken as reason:
            raise CheckpointError(
                f"{place} cannot be loaded, and no weight has changed: {reason}\n  at {user_position()}"
            ) from reason
    STORE.alone(partial(_give, given))
    return said


# Any: `names` and `load` tell a path from an open file
def _opened(who: str, given: Any) -> tuple[str, AbstractContextManager[BinaryIO]]:
    """A file to read, as errors call it, and the file; that of a user's stays open."""
    if isinstance(given, str | os.PathLike) or not hasattr(given, "read"):
        place = path_of(who, given, CheckpointError)
        remove_partial(place)
        return place, opened_file(who, place, CheckpointError)
    content = given.read()
    if not isinstance(content, bytes):
        raise CheckpointError(
            f"{who}: {shown(given)} does not give bytes; open the file with mode 'rb'\n  at {user_position()}"
        )
    return "the open file", BytesIO(content)


def names(path: Path | BinaryIO) -> list[str]:
    """The names of the tensors in a safetensors file, in its order; of one that `save` wrote, those of its weights.

    Raises CheckpointError for a file that is broken, OSError where there is none.
    >>> from io import BytesIO
    >>> from wengert.plugins import SGD
    >>> file = BytesIO()
    >>> save(file, {"w": SGD(learning_rate=0.1).double_weight(2.0)})
    >>> names(BytesIO(file.getvalue()))
    ['w']

    Source: as for `save`.
    """
    place, opening = _opened("names", path)
    with opening as file:
        try:
            container = Container(file, 0)
            return [*container.weights()]
        except Broken as reason:
            raise CheckpointError(f"{place} has no names: {reason}\n  at {user_position()}") from reason


def _said(manifest: Manifest | None, used: Sequence[str], *others: tuple[str, ...]) -> Checkpoint:
    of = Manifest(None, None, {}, "") if manifest is None else manifest
    return Checkpoint(of.step, of.seed, of.version, of.note, tuple(used), *others)


def _check_fit(
    found: Fit, differ: Sequence[str], strict: bool, container: Container, layout: Layout | None
) -> None:
    """Broken for tensors of other forms, and, with `strict` or if none fits, for those that lack or are too many."""
    if not strict and found.parts:
        return check_differences((), (), differ)
    foreign = container.manifest is None
    origin = "it has no manifest, so `wengert.saving.save` did not write it, and " if foreign else ""
    hint = _HINT + (", layout='pytorch' for a state_dict" if foreign and layout is None else "")
    try:
        return check_differences(
            found.missing, found.unused, differ, hint if found.missing or found.unused else ""
        )
    except Broken as reason:
        raise Broken(f"{origin}{reason}") from reason


def _agree(manifest: Manifest, named: Mapping[str, Weight], optimizer: bool) -> None:
    """Broken if a file is of another model."""
    forms = {name: form_of(array_of(weight)) for name, weight in named.items()}
    both = [name for name in named if name in manifest.weights]
    differ = [
        f"{brief(name)} is {manifest.weights[name].data!s:.200} there, and {forms[name]} here"
        for name in both
        if manifest.weights[name].data != forms[name]
    ]
    missing, unexpected = named.keys() - manifest.weights.keys(), manifest.weights.keys() - named.keys()
    check_differences(missing, unexpected, differ, _HINT if missing or unexpected else "")
    for name in both if optimizer else ():
        check_state(named[name], name, manifest.weights[name])


class Loaded(NamedTuple):
    """The new data of a weight, and the state of its optimizer; None leaves that as it is."""

    weight: Weight
    data: Value
    state: dict[str, Value] | None


def _all(
    named: Mapping[str, Weight], manifest: Manifest, values: Mapping[str, Stored], optimizer: bool
) -> list[Loaded]:
    """Of each weight, what a file that `save` wrote has."""
    given: list[Loaded] = []
    for name, weight in named.items():
        device, saved = weight.kind.device, manifest.weights[name].state if optimizer else None
        state = (
            None
            if saved is None
            else {
                key: restored(values[state_name(name, key)], device) if isinstance(x, StoredForm) else x
                for key, x in saved.items()
            }
        )
        given.append(Loaded(weight, made_of(weight, restored(values[name], device)), state))
    return given


def _some(container: Container, parts: Sequence[Part], optimizer: bool) -> tuple[list[Loaded], list[str]]:
    """Of some weights, what a file has; and in words those that have another form there."""
    entries, given, differ = container.entries(), list[Loaded](), list[str]()
    saved = {} if container.manifest is None else container.manifest.weights
    for place, weight, source in parts:
        form = form_of(array_of(weight))
        assert form is not None, "weights hold floats"
        made = source.made([container.value(name, entries[name]) for name in source.names])
        data = None if made is None else as_form(made, form)
        if data is None:
            there = " and ".join(f"{brief(x)}, {entries[x]}" for x in source.names)
            differ.append(f"{brief(place)} is {form} here, and there {there}")
            continue
        state = None
        if optimizer and len(source.names) == 1 and (own := saved.get(source.names[0])) is not None:
            check_state(weight, place, own)
            state = _state_in(container, entries, source.names[0], own, weight)
        given.append(Loaded(weight, made_of(weight, restored(data, weight.kind.device)), state))
    return given, differ


def _state_in(
    container: Container, entries: Mapping[str, Entry], name: str, saved: Saved, weight: Weight
) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for key, x in saved.state.items():
        if not isinstance(x, StoredForm):
            found[key] = x
            continue
        at = state_name(name, key)
        stands = as_form(container.value(at, entries[at]), x) if at in entries else None
        if stands is None:
            raise Broken(f"its header and its manifest do not have the same: {brief(at)}")
        found[key] = restored(stands, weight.kind.device)
    return found


def _give(given: Sequence[Loaded]) -> None:
    """All data as one version, and the optimizers with them; for one who keeps others from training."""
    data: list[tuple[Ref, Value]] = [(x.weight.ref, x.data) for x in given]
    optimizers: dict[Weight, Updates] = {
        x.weight: with_state(x.weight, x.state) for x in given if x.state is not None
    }
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
