"""Base of layers that do something else in training: a call with a seed trains, one without evaluates.

Knows: how one seed becomes many, so that no two layers of a network draw alike.
Refuses to know: what is drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

from wengert.graph import ArrayLayer

Seeds: TypeAlias = int | tuple[int, ...]


class Seeded(ABC):
    """A layer that trains where it is given a seed, random or not; a `Sequential` passes its own on to such layers."""

    # Any: of a layer
    @abstractmethod
    def __call__(self, x: Any, /, *, seed: Seeds | None = None) -> ArrayLayer[Any, Any, Any]:
        """The result for training with this seed, or without one for evaluation."""


def derived(seed: Seeds | None, index: int) -> Seeds | None:
    """The seed of a part of a network; None stays None.

    >>> derived(7, 0), derived((7, 0), 2), derived(None, 1)
    ((7, 0), (7, 0, 2), None)
    """
    if seed is None:
        return None
    return (*(seed if isinstance(seed, tuple) else (seed,)), index)
