"""Which of the rules that were added to an operation its operands get: those for the most specific classes.

Knows: the classes of the data of operands.
Refuses to know: what rules are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from wengert.arrays import ARRAY_CLASS, Float32
from wengert.errors import NotDifferentiableError
from wengert.graph.kinds import Column, Kind

R = TypeVar("R")
Classes = tuple[type, ...]


def best_of(added: Mapping[Classes, R], kinds: Sequence[Kind]) -> R | None:
    """What was added for the most specific classes that fit all operands; None where nothing fits."""
    classes = tuple(map(data_class, kinds))
    fitting = [key for key in added if _fits(classes, key)]
    best = [key for key in fitting if all(_fits(key, other) for other in fitting)]
    if best:
        return added[best[0]]
    if fitting:
        raise NotDifferentiableError(f"more than one rule fits {names_of(kinds)}, none best: add one")
    return None


def _fits(classes: Classes, wanted: Classes) -> bool:
    return len(classes) == len(wanted) and all(map(issubclass, classes, wanted))


def data_class(of: Kind) -> type:
    """The class of the data of such operands."""
    if of.column is Column.OTHER:
        return of.dtype if isinstance(of.dtype, type) else object
    if of.column in (Column.NUMBER, Column.DOUBLE):
        return float
    return Float32 if of.column is Column.FLOAT else ARRAY_CLASS


def names_of(kinds: Sequence[Kind]) -> str:
    """Those classes in a message."""
    return ", ".join(data_class(k).__name__ for k in kinds)
