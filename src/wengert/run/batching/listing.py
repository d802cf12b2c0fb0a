"""What launches are made of: calls on values whose sizes are numbers or multiples of the number of rows.

Knows: values as slots, which have a form and no data; deltas that stay sums of terms.
Refuses to know: where a listing comes from, and where its values will lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wengert.lazy import Term
from wengert.run.compiled.tracing import Function


class NotGeneral(Exception):
    """What is computed depends on the number of rows in a way that one listing cannot say."""


@dataclass(frozen=True, slots=True)
class Count:
    """So many times the number of rows."""

    times: int


@dataclass(frozen=True, slots=True)
class Ones:
    """As many ones."""

    count: Count
    dtype: Any  # Any: numpy's


Dims = tuple[int | Count, ...]


@dataclass(slots=True, eq=False)
class Slot:
    """A value of a listing: its form for any number of rows. `dims` is None where it is no array."""

    dims: Dims | None
    dtype: Any  # Any: numpy's, None where it is no array
    ordered: bool  # whether it lies in C order, and may lie in a buffer


@dataclass(slots=True, eq=False)
class Step:
    """One call: `result = function(*arguments, **options)`, with slots and counts among its arguments."""

    function: Function
    arguments: tuple[Any, ...]  # Any: slots, counts, constants, and tuples of them
    options: dict[str, Any]  # Any: constants
    result: Slot
    pure: bool


@dataclass(slots=True, eq=False)
class Listing:
    """The calls of a launch for any number of rows."""

    inputs: list[Slot]
    forward: list[Step]
    results: list[Any]  # Any: slots and constants
    arriving: list[Slot | None]
    backward: list[Step]
    deltas: list[Any]  # Any: slots, constants, `Sparse` or None


@dataclass(slots=True, eq=False)
class Sparse:
    """A delta that stays a sum of terms: products of slots, rows of a slot; and a dense rest."""

    terms: list[tuple[type[Term], tuple[Any, ...]]]  # Any: slots, dims and constants
    rest: Any  # Any: a slot or None


def of_rows(dims: Dims) -> int | None:
    """How many lines of an array belong to a row; None where its first axis is not of rows."""
    first = dims[0]
    return first.times if isinstance(first, Count) else None


def slots_in(x: object) -> list[Slot]:
    """The slots in an argument."""
    if isinstance(x, Slot):
        return [x]
    if isinstance(x, Sparse):
        return [*(s for _, parts in x.terms for s in slots_in(parts)), *slots_in(x.rest)]
    if isinstance(x, (tuple, list)):
        return [s for item in x for s in slots_in(item)]
    return []


def by_result(steps: Sequence[Step]) -> Mapping[Slot, Step]:
    """Each value's call."""
    return {step.result: step for step in steps}
