"""Deltas that nobody has carried out yet: sums of terms, and the two terms worth keeping as they are.

Knows: that the best way to add a delta to a weight is often not to make it: `W -= r * x.T @ d` is one BLAS
call, and the delta of `take` touches a few rows of a table.
Refuses to know: graphs, and which operation made a term.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import setitem
from typing import ClassVar, Protocol, Self

from wengert.arrays import (
    Value,
    all_quiet,
    as_readonly,
    indexed_shape,
    is_array,
    is_host_array,
    is_integer,
    namespace_of,
    shape_of,
    touched,
)
from wengert.arrays.changes import Change, carry_out
from wengert.arrays.ownership import own_copy
from wengert.errors import ArgumentError, ShapeError


class Term(Protocol):
    """One summand of a delta that has not been carried out."""

    def dense(self) -> Value:
        """The summand as an array."""

    def changes(self, buffer: Value, scale: float) -> list[Change]:
        """Changes that make `buffer -= scale * self`, in place."""

    def arrays(self) -> tuple[Value, ...]:
        """The arrays that it reads."""

    def of(self, made: Callable[[Value], Value]) -> Self:
        """This summand, of what is made of each of its arrays."""

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise if it is no summand of a delta of this shape."""


@dataclass(slots=True, eq=False)  # not frozen: that takes 1.5 us to make in place of 0.4
class Product:
    """`left.T @ right` of two matrices: the delta of a matrix weight."""

    left: Value
    right: Value

    def arrays(self) -> tuple[Value, ...]:
        return (self.left, self.right)

    def of(self, made: Callable[[Value], Value]) -> Product:
        return Product(made(self.left), made(self.right))

    def check(self, shape: tuple[int, ...]) -> None:
        (n, k), (rows, m) = self.left.shape, self.right.shape
        if n != rows or (k, m) != shape:
            raise ShapeError(f"a product of {(k, n)} and {(rows, m)} is no delta of shape {shape}")

    def dense(self) -> Value:
        of = self.right if is_array(self.left) else self.left  # while it is traced one may be a constant
        return namespace_of(of).matmul(self.left.T, self.right)

    def changes(self, buffer: Value, scale: float) -> list[Change]:
        return namespace_of(buffer).fused_update(buffer, self.left, self.right, scale)


@dataclass(slots=True, eq=False)  # not frozen: that takes 1.5 us to make in place of 0.4
class Rows:
    """`values` at `key` of an array of `shape`, zero elsewhere; equal indices add up (the sparse delta)."""

    key: Value  # anything that indexes an array
    values: Value
    shape: tuple[int, ...]

    def arrays(self) -> tuple[Value, ...]:
        return (self.values,)

    def of(self, made: Callable[[Value], Value]) -> Rows:
        key = tuple(map(made, self.key)) if isinstance(self.key, tuple) else made(self.key)
        return Rows(key, made(self.values), self.shape)

    def check(self, shape: tuple[int, ...]) -> None:
        if is_integer(self.key) or _index_type(self.key) is None:
            found = indexed_shape(shape, self.key)
        else:  # the usual keys, at once
            found = (*self.key.shape, *shape[1:])
        if self.shape != shape or found != self.values.shape:
            raise ShapeError(
                f"rows of shape {self.values.shape} of an array of {self.shape} are no delta of shape {shape}"
            )

    def dense(self) -> Value:
        return namespace_of(self.values).add_at(self.shape, self.values.dtype, self.key, self.values)

    def changes(self, buffer: Value, scale: float) -> list[Change]:
        return namespace_of(buffer).subtract_at(buffer, self.key, scale * self.values)


def _joined(terms: Sequence[Term]) -> Sequence[Term]:
    """The terms with products of few rows as one product of all their rows, and rows of a table as one term.

    A product of n rows goes through a whole matrix, k m elements, to add n (k + m) of them. A weight that is used in
    every step of a sequence, or at every node of a tree, has as many such terms, and a table of words one at each leaf.
    """
    if len(terms) < 2:
        return terms
    few: list[Product] = []
    rows: dict[object, list[Rows]] = {}  # by what their keys have to have in common
    others: list[Term] = []
    for x in terms:
        if isinstance(x, Product) and _has_few_rows(x):
            few.append(x)
        elif isinstance(x, Rows) and (dtype := _index_type(x.key)) is not None:
            rows.setdefault((type(x.key), dtype), []).append(x)
        else:
            others.append(x)
    return [*_one_product(few), *[y for several in rows.values() for y in _one_of_rows(several)], *others]


def _index_type(key: Value) -> object:
    """The element type of an integer or an array of integers; None for any other key."""
    if is_integer(key):
        return int
    dtype = getattr(key, "dtype", None)
    return dtype if dtype is not None and dtype.kind in "iu" else None


def _one_product(terms: list[Product]) -> list[Product]:
    """Products as one of all their rows, those of the last step of a sequence, whose delta is the first, at the end."""
    if len(terms) < 2:
        return terms
    terms = terms[::-1]
    sides = [x.left for x in terms], [x.right for x in terms]
    left, right = map(_concatenated, sides)
    return [Product(left, right)]


def _one_of_rows(terms: list[Rows]) -> list[Rows]:
    """Rows at integers, or at arrays of them, as one term: a list, or an array of rank 1, in the order of the terms."""
    if len(terms) < 2:
        return terms
    keys, shape = [x.key for x in terms], terms[0].shape
    key = keys if is_integer(keys[0]) else _in_turn(keys, [(-1,)] * len(keys))
    # -1 is no size of 0 x 0
    counts = [-1 if all(shape[1:]) else math.prod(getattr(x, "shape", ())) for x in keys]
    return [Rows(key, _in_turn([x.values for x in terms], [(n, *shape[1:]) for n in counts]), shape)]


def _in_turn(arrays: list[Value], shapes: list[tuple[int, ...]]) -> Value:
    """Arrays, which get these shapes, as one along the first axis."""
    return _concatenated([namespace_of(x).reshape(x, shape) for x, shape in zip(arrays, shapes, strict=True)])


def _concatenated(arrays: Sequence[Value]) -> Value:
    """Arrays along the first axis, by the functions of the first that is traced: others may be constants."""
    traced = (x for x in arrays if not is_array(x))
    return namespace_of(next(traced, arrays[0])).concat(arrays, axis=0)


def _has_few_rows(x: Product) -> bool:
    (n, k), (_, m) = x.left.shape, x.right.shape
    return bool(n * (k + m) < k * m)


@dataclass(slots=True, eq=False)
class Replacement:
    """The delta after which the data are `value`, whatever they were: no optimizer is asked, and nothing is added.

    `frozen`: nobody can write to `value`, so that it becomes the data as it is.
    At a `rate` below 1 the data go so much of the way to `value`, and n such terms go n times, to the mean of theirs.
    """

    value: Value
    frozen: bool = False
    rate: float = 1.0

    def arrays(self) -> tuple[Value, ...]:
        return (self.value,)

    def of(self, made: Callable[[Value], Value]) -> Replacement:
        return Replacement(made(self.value), self.frozen, self.rate)

    def after(self, data: Value) -> Value:
        """The data that take the place of these."""
        return self.value if self.rate == 1.0 else data + self.rate * (self.value - data)

    def check(self, shape: tuple[int, ...]) -> None:
        if shape_of(self.value) != shape:
            raise ShapeError(f"a value of shape {shape_of(self.value)} replaces no data of shape {shape}")

    def dense(self) -> Value:
        return self.value

    def changes(self, buffer: Value, scale: float) -> list[Change]:
        return [(setitem, buffer, ..., self.value)]


class LazyDelta:
    """A sum of terms, and of one dense part, times a factor; `dense()` carries it out.

    Adding is one append, however many terms there are: sums share one list and each knows how much of it is its
    own, so a weight that is used n times costs n. A dense summand is added to the dense part at once.

    >>> import numpy as np
    >>> row = LazyDelta([Rows(0, np.ones(2), (2, 2))])
    >>> (row + row + np.ones((2, 2))).dense().tolist()
    [[3.0, 3.0], [1.0, 1.0]]
    """

    __slots__ = ("_count", "_terms", "factor", "rest")
    __array_ufunc__: ClassVar[None] = None  # numpy's `array + lazy` comes to `__radd__`

    def __init__(self, terms: Sequence[Term], factor: float = 1.0, rest: Value = None) -> None:
        self._terms = list(terms)
        self._count = len(self._terms)
        self.factor = factor
        self.rest = rest

    @property
    def terms(self) -> list[Term]:
        """The summands that are not carried out."""
        return self._terms[: self._count]

    @property
    def first(self) -> Term | None:
        """The first summand that is not carried out."""
        return self._terms[0] if self._count else None

    def dense(self) -> Value:
        """The whole delta as an array."""
        total = self.rest
        with all_quiet():  # somebody may ask when the run is over
            for term in _joined(self.terms):
                total = term.dense() if total is None else total + term.dense()
            return total if _is_one(self.factor) else self.factor * total

    def touched(self) -> tuple[Value, Value] | None:
        """The few lines where this is not 0, each once, and its value there; None where that is not known.

        >>> import numpy as np
        >>> delta = LazyDelta([Rows(np.array([7, 7]), np.ones((2, 2)), (20, 2))])
        >>> [part.tolist() for part in delta.touched() or ()]
        [[7], [[2.0, 2.0]]]
        """
        if self.rest is not None or not _is_one(self.factor) or not isinstance(self.first, Rows):
            return None
        term, *others = _joined(self.terms)
        if others or not isinstance(term, Rows) or (is_array(term.values) and not is_host_array(term.values)):
            return None
        return touched(term.key, term.values, term.shape)

    def replacement(self) -> Replacement | None:
        """The value that takes the place of the data, if that is what this is.

        Several make as many steps, in no order: all go to the mean of their values.
        """
        first = self.first
        if not isinstance(first, Replacement) or self._count == 1:
            return first if isinstance(first, Replacement) else None
        total = first.value
        for (value,) in [term.arrays() for term in self.terms[1:]]:
            total = total + value
        return Replacement(total / self._count, rate=1.0 - (1.0 - first.rate) ** self._count)

    def subtract_from(self, buffer: Value) -> None:
        """`buffer -= self`, in place; an interrupt comes before all of it, or afterwards."""
        carry_out(self.changes(buffer))

    def changes(self, buffer: Value) -> list[Change]:
        """Changes that make `buffer -= self`, in place."""
        found: list[Change] = []
        if self.rest is not None:
            found += namespace_of(buffer).scaled_update(buffer, self.rest, self.factor)
        for term in _joined(self.terms):
            found += term.changes(buffer, self.factor)
        return found

    def joined(self) -> LazyDelta:
        """This sum, with terms that make one product, or rows of one table, as one term.

        >>> import numpy as np
        >>> row = Product(np.ones((1, 4)), np.ones((1, 3)))
        >>> delta = LazyDelta([row, row])
        >>> len(delta.joined().terms), np.array_equal(delta.joined().dense(), delta.dense())
        (1, True)
        """
        if self._count < 2:
            return self
        terms = [*_joined(self.terms)]
        return self._sharing(terms, len(terms), self.factor, self.rest)

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise if this is no delta of data of `shape`."""
        if self.rest is not None and self.rest.shape != shape:
            raise ShapeError(f"an array of shape {self.rest.shape} is no delta of shape {shape}")
        for term in self.terms:
            term.check(shape)

    def of(self, made: Callable[[Value], Value]) -> LazyDelta:
        """This sum, of what is made of each of its arrays: of a copy it has the same bits."""
        terms = [term.of(made) for term in self.terms]
        return self._sharing(terms, len(terms), self.factor, None if self.rest is None else made(self.rest))

    def scaled(self, factor: float) -> LazyDelta:
        """`factor * self`."""
        return self._sharing(self._terms, self._count, self.factor * factor, self.rest)

    @staticmethod
    def _sharing(terms: list[Term], count: int, factor: float, rest: Value) -> LazyDelta:
        made = object.__new__(LazyDelta)
        made._terms, made._count, made.factor, made.rest = terms, count, factor, rest
        return made

    def __add__(self, other: LazyDelta | Value) -> LazyDelta:
        if not _is_one(self.factor):
            return LazyDelta([], 1.0, self.dense()) + other
        if not isinstance(other, LazyDelta):
            return self._with((), other)
        if not _is_one(other.factor):
            return self._with((), other.dense())
        return self._with(other.terms, other.rest)

    __radd__ = __add__

    def _with(self, terms: Sequence[Term], rest: Value) -> LazyDelta:
        first = self._terms[0] if self._count else None
        if isinstance(first, Replacement) or (terms and isinstance(terms[0], Replacement)):
            _check_replacements((first, *terms[:1]), rest)
        own = self._terms if self._count == len(self._terms) else self.terms
        own.extend(terms)
        if self.rest is not None:
            rest = self.rest if rest is None else self.rest + rest
        return self._sharing(own, len(own), 1.0, rest)


def _check_replacements(first: Sequence[Term | None], rest: Value) -> None:
    """Raise where one delta replaces the data and another one changes them; `first` are the first terms of both."""
    rates = {x.rate if isinstance(x, Replacement) else None for x in first}
    if len(rates) > 1 or 1.0 in rates or rest is not None:
        raise ArgumentError(
            "the data of a weight or buffer are set in this run, and set or trained once more in it: of both only one "
            "can stand; do it in two runs, or add what belongs together (updates of a buffer at one rate below 1 do "
            "add up)"
        )


def dense(delta: Value) -> Value:
    """The delta as a number or an array."""
    return delta.dense() if isinstance(delta, LazyDelta) else delta


def without_products(delta: Value) -> Value:
    """The delta with its products carried out, so that the matrices that they are of can go."""
    lazy = isinstance(delta, LazyDelta) and isinstance(delta.first, Product)
    return delta.dense() if lazy else delta


def told(delta: Value) -> Value:
    """The delta as a number or an array; what replaces the data of a buffer stays that, with arrays of its own."""
    if isinstance(delta, LazyDelta) and isinstance(delta.first, Replacement):
        return LazyDelta(
            [
                Replacement(own_copy(term.value), rate=term.rate)
                for term in delta.terms
                if isinstance(term, Replacement)
            ]
        )
    return dense(delta)


def read_only(delta: Value) -> Value:
    """The delta for somebody else: what arrays it has cannot be written to."""
    return delta.of(as_readonly) if isinstance(delta, LazyDelta) else as_readonly(delta)


def _is_one(factor: Value) -> bool:
    """True for a number 1; what only a run tells is none."""
    return isinstance(factor, float) and factor == 1.0


def scaled(delta: Value, factor: float) -> Value:
    """`factor * delta` in the delta's own dtype; a lazy one stays lazy."""
    if isinstance(delta, LazyDelta):
        return delta.scaled(factor)
    return factor * delta
