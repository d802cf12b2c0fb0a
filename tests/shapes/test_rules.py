"""A rule that holds for named sizes holds for numbers in their place: random calls, with names and with numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

import pytest

from wengert_shapes import arrangement, contraction, rules, windows
from wengert_shapes.algebra import Atom, Dim, Quotient, atom, number
from wengert_shapes.rules import Misfit, Shape

NAMES: Final = {name: atom(Atom(name, name)) for name in ("B", "T", "H")}
VALUES: Final = {"B": 7, "T": 11, "H": 13}
SIZES: Final = (*NAMES.values(), number(1), number(2), number(3), number(6))
DEPENDS: Final = ("split_equally", "convolved")  # on a size: whether 2 divides it, whether a window fits
Case = Callable[[random.Random], tuple[Callable[..., object], tuple[object, ...]]]


def shape(draw: random.Random, low: int = 0, high: int = 3) -> Shape:
    return tuple(draw.choice(SIZES) for _ in range(draw.randint(low, high)))


def near(draw: random.Random, of: Shape) -> Shape:
    """A shape that often fits."""
    return tuple(draw.choice((n, n, n, n, number(1), draw.choice(SIZES))) for n in of)


def axis(draw: random.Random) -> int:
    return draw.randint(-3, 2)


def pair(draw: random.Random, least: int) -> Shape:
    return number(draw.randint(least, 2)), number(draw.randint(least, 2))


def two(draw: random.Random) -> tuple[Shape, Shape]:
    first = shape(draw, 1)
    return first, near(draw, first)[draw.choice((0, 0, 0, 1)) :]


def matrices(draw: random.Random) -> tuple[Shape, Shape]:
    a = shape(draw, 1)
    return a, near(draw, (*a[:-2], a[-1], draw.choice(SIZES))[-draw.randint(1, 3) :])


def images(draw: random.Random) -> Shape:
    return (NAMES["B"], number(3), draw.choice((NAMES["H"], number(8))), draw.choice((NAMES["T"], number(9))))


def reshaping(draw: random.Random) -> tuple[Shape, Shape]:
    old = shape(draw, 1)
    new = list(old)
    draw.shuffle(new)
    return old, tuple(number(-1) if draw.random() < 0.3 else n for n in new)


CASES: Final[dict[str, Case]] = {
    "broadcast": lambda d: (rules.broadcast, two(d)),
    "matmul": lambda d: (rules.matmul, matrices(d)),
    "reduced": lambda d: (rules.reduced, (shape(d), [axis(d)], d.random() < 0.5)),
    "permuted": lambda d: (rules.permuted, (shape(d), [axis(d) for _ in range(d.randint(0, 3))])),
    "expanded": lambda d: (rules.expanded, (shape(d), [axis(d)])),
    "squeezed": lambda d: (rules.squeezed, (shape(d), [axis(d)])),
    "stretched": lambda d: (rules.stretched, two(d)[::-1]),
    "joined": lambda d: (rules.joined, (two(d), axis(d))),
    "stacked": lambda d: (rules.stacked, (two(d), axis(d))),
    "loss_lines": lambda d: (rules.loss_lines, (shape(d, 1), shape(d))),
    "reshaped": lambda d: (arrangement.reshaped, reshaping(d)),
    "split_equally": lambda d: (arrangement.split_equally, (shape(d, 1), number(d.randint(1, 3)), axis(d))),
    "along": lambda d: (arrangement.along, (*two(d), axis(d))),
    "rolled": lambda d: (arrangement.rolled, (shape(d), [1], [axis(d)])),
    "tensordot": lambda d: (contraction.tensordot, (*two(d), d.choice((0, 1, 2, ([axis(d)], [axis(d)]))))),
    "einsum": lambda d: (
        contraction.einsum,
        (d.choice(("ij,jk->ik", "ij,ij", "...i,i->...", "ij,kj->...")), two(d)),
    ),
    "convolved": lambda d: (
        windows.convolved,
        (
            images(d),
            (number(4), *near(d, (number(3), number(3), number(3)))),
            pair(d, 1),
            pair(d, 0),
            pair(d, 1),
        ),
    ),
    "pooled": lambda d: (windows.pooled, (images(d), pair(d, 1), pair(d, 1), pair(d, 0), pair(d, 1))),
    "padded": lambda d: (windows.padded, (shape(d, 2, 2), [pair(d, 0), pair(d, 0)])),
}


def value(dim: Dim) -> int:
    """The number that a dimension is, with numbers for names."""
    total = 0
    for product, count in dim.terms:
        for factor in product:
            if isinstance(factor, Quotient):
                count *= value(factor.numerator) // value(factor.denominator)
            else:
                count *= VALUES[factor.name]
        total += count
    return total


def numbered(x: object) -> object:
    """An argument with numbers for names."""
    if isinstance(x, Dim):
        return number(value(x))
    return type(x)(map(numbered, x)) if isinstance(x, tuple | list) else x


@pytest.mark.parametrize("name", CASES)
def test_what_holds_for_names_holds_for_numbers(name: str) -> None:
    draw = random.Random(name)
    fits = 0
    for _ in range(10_000):
        rule, arguments = CASES[name](draw)
        try:
            made = rule(*arguments)
        except Misfit:
            continue
        try:
            expected = rule(*map(numbered, arguments))
        except Misfit:
            assert name in DEPENDS, arguments
            continue
        assert expected == numbered(made), arguments
        fits += 1
    assert fits > 500, "too few of the calls fit"


def test_axes_of_an_array_without_any_are_refused() -> None:
    with pytest.raises(Misfit, match=r"axes \(0,\) are not a permutation of 0 axes"):
        rules.permuted((), (0,))


def test_the_comparison_can_fail() -> None:
    assert numbered((NAMES["B"] + number(1), [NAMES["H"], None])) == (number(8), [number(13), None])
    assert numbered(rules.reduced((NAMES["B"],), [0], True)) != numbered((NAMES["B"],))
