"""Products of numpy's arrays: `matmul`, and `einsum` as a series of matrix products.

Knows: that BLAS multiplies matrices many times faster than any loop over indices, and which layouts it takes.
Refuses to know: specifications with `...`, without `->`, or for shapes that do not fit: whoever builds a node
has dealt with those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations

import numpy as np

from wengert.arrays import thin
from wengert.arrays.namespace import Shape, Value

__all__ = ["einsum", "in_order", "is_stack", "matmul"]

Sizes = Mapping[str, int]  # of each letter
Single = tuple[int, Callable[[Value], Value]]  # an operand, and what is made of it first
Pair = tuple[int, int, Callable[[Value, Value], Value]]  # two operands, and their product, which goes last


def matmul(a: Value, b: Value, /) -> Value:
    if a.ndim == 2 == b.ndim:
        return thin.dot(a, b) if thin.is_thin(a.shape, b.shape) else a.dot(b)  # `np.dot` takes 0.14 us more
    return in_order(a, b) if is_stack(a.ndim, b.ndim) else np.matmul(a, b)


def is_stack(rank: int, other: int) -> bool:
    """True if a product of operands of these ranks has two axes of matrices, which `np.matmul` may lay out anyhow."""
    return rank > 3 or other > 3


def in_order(a: Value, b: Value, /, out: Value = None) -> Value:
    """`np.matmul` in C order, whatever the order of the operands' axes; a later sum would be rounded otherwise.

    >>> a = np.ones((3, 2, 4, 5)).transpose(1, 0, 2, 3)
    >>> [f(a, np.ones(5)).flags.c_contiguous for f in (np.matmul, in_order)]
    [False, True]
    """
    return np.matmul(a, b, out=out, order="C")


def einsum(spec: str, /, *xs: Value) -> Value:
    """The sum of products that `spec` says.

    >>> einsum("ij,jk->ki", np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    singles, pairs = _plan(spec, tuple(x.shape for x in xs))
    waiting = list(xs)
    for i, made in singles:
        waiting[i] = made(waiting[i])
    for i, j, product in pairs:
        b, a = waiting.pop(j), waiting.pop(i)
        waiting.append(product(a, b))
    return waiting[0]


@lru_cache(maxsize=4096)
def _plan(spec: str, shapes: tuple[Shape, ...]) -> tuple[list[Single], list[Pair]]:
    """Steps of a contraction: on single operands, then on pairs, the cheapest pair first."""
    left, _, out = spec.partition("->")
    given = left.split(",")
    sizes = {name: n for term, s in zip(given, shapes, strict=True) for name, n in zip(term, s, strict=True)}
    terms = [_needed(term, [out, *given[:i], *given[i + 1 :]]) for i, term in enumerate(given)]
    if len(terms) == 1:
        terms = [out]
    singles: list[Single] = [
        (i, partial(_alone, given[i], terms[i])) for i in range(len(terms)) if given[i] != terms[i]
    ]
    pairs: list[Pair] = []
    while len(terms) > 1:
        i, j = _cheapest(terms, out, sizes)
        b, a = terms.pop(j), terms.pop(i)
        made = _needed(a + b, [out, *terms]) if terms else out
        pairs.append((i, j, _product(a, b, made, sizes)))
        terms.append(made)
    return singles, pairs


def _needed(letters: str, others: Sequence[str]) -> str:
    """Each letter once that is in one of the others too."""
    wanted = "".join(others)
    return "".join(letter for letter in dict.fromkeys(letters) if letter in wanted)


def _alone(term: str, kept: str, x: Value) -> Value:
    """Step on one operand: the diagonal of letters that it has twice, the sum over letters of its own."""
    letters = "".join(dict.fromkeys(term))
    if letters != term:
        x = np.einsum(f"{term}->{letters}", x)
    gone = tuple(i for i, letter in enumerate(letters) if letter not in kept)
    if gone:
        x = np.add.reduce(x, axis=gone)
        letters = "".join(letter for letter in letters if letter in kept)
    return x.transpose([letters.index(letter) for letter in kept]) if letters != kept else x


def _cheapest(terms: Sequence[str], out: str, sizes: Sizes) -> tuple[int, int]:
    """The two operands whose product adds least to, or takes most from, the elements that are held."""

    def growth(pair: tuple[int, int]) -> int:
        a, b = (terms[i] for i in pair)
        made = _needed(a + b, [out, *(term for i, term in enumerate(terms) if i not in pair)])
        return _size(made, sizes) - _size(a, sizes) - _size(b, sizes)

    return min(combinations(range(len(terms)), 2), key=growth)


def _size(term: str, sizes: Sizes) -> int:
    return math.prod(sizes[letter] for letter in term)


def _product(a: str, b: str, out: str, sizes: Sizes) -> Callable[[Value, Value], Value]:
    """The product of two operands without letters of their own that `out` lacks."""
    batch = [letter for letter in out if letter in a and letter in b]
    inner = [letter for letter in a if letter in b and letter not in out]
    if not inner:
        return partial(_elementwise, _aligned(a, out, sizes), _aligned(b, out, sizes))
    rows = [letter for letter in out if letter in a and letter not in b]
    columns = [letter for letter in out if letter in b and letter not in a]
    if out.startswith("".join(batch + columns)) and columns and rows:  # the transposed product needs no turn
        return partial(_swapped, _product(b, a, out, sizes))
    made = [*batch, *rows, *columns]
    turn = tuple(made.index(letter) for letter in out) if "".join(made) != out else ()
    return partial(
        _matrices,
        _merged(a, batch, rows, inner, sizes),
        _merged(b, batch, inner, columns, sizes),
        tuple(sizes[letter] for letter in made),
        turn,
    )


Layout = tuple[tuple[int, ...], Shape]  # an order of axes, and the shape that they are brought into


def _aligned(term: str, out: str, sizes: Sizes) -> Layout:
    """A term as `out` has its letters, with size 1 for those it lacks."""
    return (
        tuple(term.index(letter) for letter in out if letter in term),
        tuple(sizes[letter] if letter in term else 1 for letter in out),
    )


def _merged(
    term: str, batch: Sequence[str], first: Sequence[str], second: Sequence[str], sizes: Sizes
) -> Layout:
    """A term as matrices: axes of `batch`, then one axis for `first` and one for `second`."""
    sides = (math.prod(sizes[letter] for letter in side) for side in (first, second))
    return (
        tuple(term.index(letter) for letter in (*batch, *first, *second)),
        (*(sizes[letter] for letter in batch), *sides),
    )


def _laid_out(x: Value, layout: Layout) -> Value:
    return x.transpose(layout[0]).reshape(layout[1])


def _elementwise(left: Layout, right: Layout, a: Value, b: Value) -> Value:
    return np.multiply(_laid_out(a, left), _laid_out(b, right))


def _swapped(product: Callable[[Value, Value], Value], a: Value, b: Value) -> Value:
    return product(b, a)


def _matrices(left: Layout, right: Layout, shape: Shape, axes: tuple[int, ...], a: Value, b: Value) -> Value:
    product = matmul(_for_blas(_laid_out(a, left)), _for_blas(_laid_out(b, right)))
    if product.shape != shape:
        product = product.reshape(shape)
    return product.transpose(axes) if axes else product


def _for_blas(x: Value) -> Value:
    """Stacked matrices in a layout that BLAS takes: 64 of 64 x 8 take 0.5 ms after a copy, 1 ms without."""
    if x.ndim == 2 or x.itemsize in x.strides[-2:]:
        return x
    return np.ascontiguousarray(x)
