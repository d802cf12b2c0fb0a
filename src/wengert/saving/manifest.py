"""The manifest: what a file says about its weights, and how much of that is believed.

Knows: names, forms, optimizer state, step, seed, version and note as JSON; that JSON of a stranger may be anything.
Refuses to know: how bytes are laid out in a file, and which model is there.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from reprlib import Repr
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, get_args

from wengert.arrays import Sort, StoredForm
from wengert.version import __version__

A = TypeVar("A")
Plain: TypeAlias = int | bool | str | None  # what JSON has exactly; a float goes as bytes, bit for bit
STATES: Final = "optimizer/"
_FORMAT: Final = 1
_LARGEST: Final = 2**63  # bytes of a value, as in numpy
_AXES: Final = 64  # of an array, as in numpy
# Signs of structure in JSON: what Python makes of one has up to 120 bytes, so this bounds what is made of a header
# that nothing but signs fills. `fit` writes 7 an epoch, Adam 60 a weight.
_SIGNS: Final = (b"{", b"[", b",")
_MOST_SIGNS: Final = 4_000_000
_SIGNS_EACH: Final = 500
DIGITS: Final = 640  # of an integer: Python reads and writes so many, whatever limit a program has set it
_BEYOND: Final = 10**DIGITS
_SHORT: Final = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlong = 2, 120, 60


class Broken(Exception):
    """Reason why a file cannot be loaded; whoever knows its path makes a `CheckpointError` of it."""


class Saved(NamedTuple):
    """One weight: the form of its data, the parts of its optimizer, and the state that their steps have left."""

    data: StoredForm
    parts: tuple[str, ...]
    state: dict[str, StoredForm | Plain]


class Manifest(NamedTuple):
    """Description of a file's weights."""

    step: int | None
    seed: int | None
    weights: dict[str, Saved]
    version: str = __version__
    note: str | None = None

    def forms(self) -> dict[str, StoredForm]:
        """Everything that the file has as bytes, by name."""
        found = {name: saved.data for name, saved in self.weights.items()}
        for name, saved in self.weights.items():
            states = {n: x for n, x in saved.state.items() if isinstance(x, StoredForm)}
            found.update({state_name(name, state): form for state, form in states.items()})
        return found


def writable(x: int) -> bool:
    """Tell whether an integer can be written as JSON, and read back."""
    return -_BEYOND < x < _BEYOND


def brief(x: object) -> str:
    """The beginning of a `repr`, and the end of a text: what stands in a file may be as long as it, or as deep."""
    return _SHORT.repr(x)


def state_name(weight: str, state: str) -> str:
    """The name that a part of an optimizer's state has in a file."""
    return f"{STATES}{state}/{weight}"


def written(manifest: Manifest) -> str:
    """The manifest as JSON."""
    weights = {
        name: {**_form(saved.data), "optimizer": list(saved.parts), "state": _state(saved)}
        for name, saved in manifest.weights.items()
    }
    return json.dumps(
        {
            "format": _FORMAT,
            "version": manifest.version,
            "step": manifest.step,
            "seed": manifest.seed,
            "note": manifest.note,
            "weights": weights,
        }
    )


def _form(form: StoredForm) -> dict[str, object]:
    return {"sort": form.sort, "dtype": form.dtype, "shape": list(form.shape)}


def _state(saved: Saved) -> dict[str, dict[str, object]]:
    return {n: _form(x) if isinstance(x, StoredForm) else {"value": x} for n, x in saved.state.items()}


def bounded(text: bytes, what: str, weights: int) -> None:
    """Broken for JSON that takes more memory than a file of so many weights needs."""
    most = _MOST_SIGNS + _SIGNS_EACH * weights
    if sum(map(text.count, _SIGNS)) > most:
        raise Broken(f"{what} has more than {most:,} entries, of which no more are read")


def parsed(text: bytes, what: str, weights: int) -> dict[str, Any]:  # Any: JSON of a stranger
    """A JSON object in which no name stands twice, of a file of so many weights; Broken if that is not what it is."""
    bounded(text, what, weights)
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Broken(f"{what} is no JSON: {error!s:.200}") from error
    return _is(dict, found, what)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise Broken(f"the name {brief(twice)} stands there twice")
    return found


def _no_number(text: str) -> object:
    raise Broken(f"{text} stands where a number has to be")


def read(text: str, weights: int) -> Manifest:
    """The manifest that `written` wrote, of so many weights as expected; Broken for anything else."""
    found = parsed(text.encode("utf-8", "surrogatepass"), "its manifest", weights)
    number = found.get("format")
    if type(number) is not int or number != _FORMAT:
        raise Broken(
            f"its manifest is of format {brief(number)}; this is version {__version__}, which reads {_FORMAT}"
        )
    entries = {name: _saved(x, name) for name, x in _is(dict, found.get("weights"), "weights").items()}
    note = found.get("note")
    return Manifest(
        _number(found.get("step"), "step"),
        _number(found.get("seed"), "seed"),
        entries,
        _is(str, found.get("version"), "version"),
        None if note is None else _is(str, note, "note"),
    )


def _is(kind: type[A], x: object, what: str) -> A:
    if type(x) is not kind:  # exactly: True is no number here
        raise Broken(f"{what:.80} is no {kind.__name__}: {brief(x)}")
    return x


def _number(x: object, what: str) -> int | None:
    return None if x is None else _is(int, x, what)


def _saved(x: object, name: str) -> Saved:
    found = _is(dict, x, name)
    parts = tuple(_is(str, part, "an optimizer") for part in _is(list, found.get("optimizer"), "optimizer"))
    states = _is(dict, found.get("state"), "state").items()
    return Saved(_read_form(found, name), parts, {state: _entry(y, state) for state, y in states})


def _entry(x: object, state: str) -> StoredForm | Plain:
    found = _is(dict, x, state)
    if not state.isidentifier() or state.startswith("_"):
        raise Broken(f"{brief(state)} is no name of an optimizer's state")
    if "value" not in found:
        return _read_form(found, state)
    value = found["value"]
    if type(value) in (int, bool, str) or value is None:
        plain: Plain = value
        return plain
    raise Broken(f"{state:.80} is neither a number nor a text: {brief(value)}")


def _read_form(found: dict[str, object], name: str) -> StoredForm:
    what = f"the shape of {brief(name)}"
    lengths = _is(list, found.get("shape"), what)
    if len(lengths) > _AXES:
        raise Broken(f"{brief(name)} has the impossible shape of {len(lengths):,} axes")
    shape = tuple(_is(int, n, what) for n in lengths)
    if not all(0 <= n < _LARGEST for n in shape) or math.prod(n or 1 for n in shape) >= _LARGEST // 8:
        raise Broken(f"{brief(name)} has the impossible shape {brief(shape)}")
    sort = next((sort for sort in get_args(Sort) if sort == found.get("sort")), None)
    form = StoredForm(sort or "array", _is(str, found.get("dtype"), "a dtype"), shape)
    known = form.size is not None and sort is not None and (sort == "array" or not shape)
    if not known or (sort == "float" and form.dtype != "float64"):
        raise Broken(f"{brief(name)} is of an unknown form: {brief(found)}")
    return form
