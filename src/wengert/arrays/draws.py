"""Random numbers that weights begin with, from a seed or from a generator that somebody passes on.

Knows: numpy's generators, and that one seed gives the same numbers in both element types, up to rounding.
Refuses to know: which distribution a network wants, and why.

Not among the names of `wengert.arrays`: numpy loads its generators when they are first asked for, which takes
20 ms, and who makes no network should not wait for them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from wengert.arrays.namespace import Shape, Value
from wengert.arrays.types import Floating

__all__ = ["Generator", "generator", "normal", "orthogonal", "truncated", "uniform"]

Generator: TypeAlias = np.random.Generator


def generator(seed: int | Generator) -> Generator:
    """The generator itself, or a new one that a seed begins.

    >>> generator(0).random() == generator(0).random()
    True
    """
    return np.random.default_rng(seed)


def uniform(chance: Generator, shape: Shape, limit: float, dtype: np.dtype[Floating]) -> Value:
    """Numbers from -limit to limit, each as likely as the others."""
    return chance.uniform(-limit, limit, shape).astype(dtype)


def normal(chance: Generator, shape: Shape, deviation: float, dtype: np.dtype[Floating]) -> Value:
    """Numbers of mean 0 and a standard deviation."""
    return (deviation * chance.standard_normal(shape)).astype(dtype)


def truncated(chance: Generator, shape: Shape, deviation: float, dtype: np.dtype[Floating]) -> Value:
    """Normal numbers of mean 0, of which those beyond two deviations are drawn again.

    >>> bool(abs(truncated(generator(0), (1000,), 1.0, np.dtype("float32"))).max() <= 2.0)
    True
    """
    found = chance.standard_normal(shape)
    while (beyond := np.abs(found) > 2.0).any():
        found[beyond] = chance.standard_normal(int(beyond.sum()))
    return (deviation * found).astype(dtype)


def orthogonal(chance: Generator, shape: Shape, gain: float, dtype: np.dtype[Floating]) -> Value:
    """Orthonormal rows, or columns where there are more rows, times a gain; axes behind the first are one.

    >>> x = orthogonal(generator(0), (3, 2), 1.0, np.dtype("float64"))
    >>> np.allclose(x.T @ x, np.eye(2))
    True
    """
    rows, columns = shape[0] if shape else 1, int(np.prod(shape[1:]))
    tall = chance.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(tall)
    q = q * np.where(np.diagonal(r) < 0.0, -1.0, 1.0)  # else not every rotation is as likely as the others
    return (gain * (q if rows >= columns else q.T).reshape(shape)).astype(dtype)
