"""Bitwise agreement of two ways to compute one thing: tried on the spot, with random elements.

Knows: that BLAS and numpy may round in another order where a shape or an order in memory is another.
Refuses to know: who asks, and what becomes of a way that does not agree.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from hashlib import sha256
from math import prod
from typing import Any, Final

import numpy as np

from wengert.arrays.kernels import gathered, minus_one_at, ones_at, picked
from wengert.arrays.namespace import Function, Shape, Value
from wengert.arrays.scatter import places
from wengert.arrays.stacked import CHANGES, FORMS, Case, Operand

__all__ = [
    "agrees",
    "bits_of",
    "drawn_lines",
    "drawn_specials",
    "fingerprint",
    "same_bits",
    "same_but_for_nan",
]


# functions that round nothing, and how many of their operands have to be stacked
_EXACT: Final[Mapping[Function, int]] = {places: 1, picked: 1, minus_one_at: 1, ones_at: 1}


def agrees(
    function: Function,
    columns: Sequence[Sequence[Value]],
    stacked: Sequence[bool],
    gathers: Sequence[bool],
    options: Mapping[str, Any],  # Any: as in Case
    like: Value,
) -> bool:
    """Test with random elements that a call of all branches gives the bits of their single calls.

    A column has the values that the branches give for one argument, one branch after the other; `gathers` says
    of which a stack is made by copying them. `like` is a result of a branch.
    """
    if function in _EXACT:
        return all(stacked[: _EXACT[function]])
    chance, count = np.random.default_rng(0), len(columns[0])
    drawn = [
        [_drawn(chance, x) for x in column] if apart else [_drawn(chance, column[0])] * count
        for column, apart in zip(columns, stacked, strict=True)
    ]
    operands = [
        Operand(_in_one(column, like, copied) if apart else column[0], np.ndim(column[0]), apart)
        for column, apart, copied in zip(drawn, stacked, gathers, strict=True)
    ]
    case = Case(function, operands, options, np.shape(like), count)
    together = FORMS[function](_now, case)
    if together is None:
        return False
    single = [function(*arguments, **options) for arguments in zip(*drawn, strict=True)]
    if function in CHANGES:
        return same_bits(operands[0].value, np.array(drawn[0]))
    return all(map(same_bits, together, single))


def _in_one(column: Sequence[Value], like: Value, copied: bool) -> Value:
    """The values of all branches in one array, each in its own order if they were made in it."""
    x = column[0]
    if not isinstance(x, np.ndarray | np.generic):
        return gathered(like.dtype, *column)
    if not copied and x.ndim == 2 and x.flags.f_contiguous and not x.flags.c_contiguous:
        return np.array([y.T for y in column]).swapaxes(1, 2)
    return np.array(column)


def bits_of(x: Value, /) -> Hashable:
    """Key that is equal for two arrays with the same elements, bit for bit, in the same order in memory."""
    return x.shape, x.strides, x.dtype, x.tobytes()


def _now(function: Function, *arguments: Value, **options: Value) -> Value:
    """The result; of a function without one something that is no None."""
    result = function(*arguments, **options)
    return arguments[0] if function in CHANGES else result


def _drawn(chance: np.random.Generator, x: Value) -> Value:
    """Random elements in place of an array's or a number's; indices stay as they are."""
    if not isinstance(x, np.ndarray | np.floating) or x.dtype.kind != "f":
        return x
    made = (
        chance.uniform(0.1, 1.0, x.shape).astype(x.dtype)
        if x.ndim
        else x.dtype.type(chance.uniform(0.1, 1.0))
    )
    return made if not isinstance(x, np.ndarray) or x.flags.c_contiguous else np.asfortranarray(made)


def drawn_lines(seed: int, shape: Shape, dtype: Value) -> Value:
    """Such elements in lines, of which half have random ones alone, as one NaN takes the whole of a sum."""
    drawn = drawn_specials(seed, prod(shape), dtype).reshape(shape)
    if len(shape) > 1 and dtype != np.bool_:
        usual = shape[-2] // 2
        drawn[..., usual:, :] = np.random.default_rng(seed).standard_normal(shape)[..., usual:, :]
    return drawn


def drawn_specials(seed: int, size: int, dtype: Value) -> Value:
    """Elements with which a function goes wrong if ever: NaN, infinities, zeros, subnormals; and random ones."""
    chance = np.random.default_rng(seed)
    if dtype == np.bool_:
        return chance.integers(0, 2, size).astype(np.bool_)
    tiny = float(np.finfo(dtype).tiny)
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        np.nan,
        np.inf,
        -np.inf,
        tiny,
        -tiny,
        tiny / 4,
        1 / tiny,
        float(np.finfo(dtype).max),
    ]
    made = chance.standard_normal(size) * 10.0 ** chance.integers(-6, 7, size)
    where = chance.random(size) < 0.4
    made[where] = chance.choice(special, int(where.sum()))
    return made.astype(dtype)


def same_but_for_nan(a: Value, b: Value) -> bool:
    """Tell whether two arrays are equal in every bit where they are numbers, and NaN in the same places."""
    nan = np.not_equal(a, a)
    return bool(np.array_equal(nan, np.not_equal(b, b))) and same_bits(a[~nan], b[~nan])


def same_bits(a: Value, b: Value) -> bool:
    """Tell whether two values are of one type and equal in every bit."""
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def fingerprint() -> str:
    """Digest of what this process computes of fixed numbers: a product of matrices, functions, and a sum.

    Processes with one have the same kernels of BLAS and numpy, and so the same bits.
    >>> fingerprint() == fingerprint()
    True
    """
    chance, digest = np.random.default_rng(0), sha256()
    for dtype in (np.float32, np.float64):
        # Any: numpy's types know no products of these
        x: Any = chance.standard_normal((97, 131)).astype(dtype)
        for y in (x @ x.T, x.T @ x[:, :1], np.exp(x), np.tanh(x), np.log1p(x * x), x.sum(), x.sum(axis=0)):
            digest.update(np.ascontiguousarray(y).tobytes())
    return digest.hexdigest()
