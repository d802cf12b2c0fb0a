"""Sizes that have names: each stands for several numbers, and what is computed of them is told by those.

Knows: that a polynomial is found again by its values. A model is called for several choices of the named sizes, which
are unlike each other and of every remainder by 2, 4 and 8; whatever it computes of them, by Python, numpy or a library,
is a list of numbers, and the simplest formula of the names that gives all of them is printed.
Refuses to know: how anything is computed of a size.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Final

from wengert_shapes.algebra import Atom, Dim, atom, floor_divide, number, product_of

CHOICES: Final = (
    8  # of numbers for each name; a formula of one name is known by two, and the others confirm it
)
_LEAST: Final = (
    33  # a size that a kernel fits in; the numbers of a name are this and the next ones, without powers of 2
)
_DIVISORS: Final = (2, 3, 4, 8, 16, 32)
_NUMBER: Final = re.compile(r"(?<![\w.:])(\d+)(?![\w.])")  # no part of a name, of 0.5, nor the line of a file


def chosen(names: Sequence[str]) -> list[dict[str, int]]:
    """Several choices of a number for each name, none twice.

    >>> [sorted(choice["Time"] for choice in chosen(["Batch", "Time"]))]
    [[41, 44, 47, 66, 69, 72, 91, 94]]
    """
    chance = random.Random(0)
    apart = CHOICES * max(3, len(names))
    found: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        numbers = [_LEAST + CHOICES * i + k + apart * (k % 3) for k in range(CHOICES)]
        found[name] = chance.sample(numbers, CHOICES)
    return [{name: numbers[k] for name, numbers in found.items()} for k in range(CHOICES)]


class NamedSizes:
    """The names of sizes, with the numbers that each of them has stood for."""

    def __init__(self, choices: Sequence[Mapping[str, int]]) -> None:
        self._values = {name: [choice[name] for choice in choices] for name in choices[0]}
        self._atoms = {name: atom(Atom(name, name)) for name in self._values}
        self._products = list(self._all_products())

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def at(self, places: Sequence[int]) -> NamedSizes:
        """A part of the choices, with the names."""
        return NamedSizes([{name: values[i] for name, values in self._values.items()} for i in places])

    def _all_products(self) -> Iterator[tuple[Dim, list[int]]]:
        """Products of up to three names, and their values."""
        for factors in range(1, 4):
            for names in combinations_with_replacement(self._values, factors):
                columns = zip(*(self._values[name] for name in names), strict=True)
                yield (
                    product_of(self._atoms[name] for name in names),
                    [math.prod(column) for column in columns],
                )

    def formula(self, values: Sequence[int]) -> Dim | None:
        """The dimension that has these values; None where none is found."""
        if len(set(values)) == 1:
            return number(values[0])
        return self._line(values) or self._quotient(values) or self._sum(values)

    def _line(self, values: Sequence[int]) -> Dim | None:
        """A product of names times a number, plus a number."""
        for product, sizes in self._products:
            i = next((i for i, size in enumerate(sizes) if size != sizes[0]), 0)
            slope = (values[i] - values[0]) // (sizes[i] - sizes[0]) if i else 0
            rest = values[0] - slope * sizes[0]
            if slope and all(n == slope * m + rest for n, m in zip(values, sizes, strict=True)):
                return number(slope) * product + number(rest)
        return None

    def _quotient(self, values: Sequence[int]) -> Dim | None:
        """A product of names, plus a number, divided by one and rounded down, plus a number."""
        for product, sizes in self._products:
            for divisor in _DIVISORS:
                for more in range(divisor):
                    rest = {n - (m + more) // divisor for n, m in zip(values, sizes, strict=True)}
                    if len(rest) == 1:
                        parts = floor_divide(product + number(more), number(divisor))
                        return None if parts is None else parts + number(rest.pop())
        return None

    def _sum(self, values: Sequence[int]) -> Dim | None:
        """A product of names, once, twice or taken away, and a formula of another."""
        for product, sizes in self._products:
            for times in (1, -1, 2):
                found = self._line([n - times * m for n, m in zip(values, sizes, strict=True)])
                if found is not None:
                    return found + number(times) * product
        return None

    def shape(self, shapes: Sequence[Sequence[int]]) -> str:
        """One shape, as every choice has given it."""
        if len({len(shape) for shape in shapes}) > 1:
            return "?"
        sizes = [self._text(values) for values in zip(*shapes, strict=True)]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def text(self, texts: Sequence[str]) -> str:
        """One text, as every choice has given it: its numbers by names."""
        parts = [_NUMBER.split(text) for text in texts]
        if len({(*part[::2],) for part in parts}) > 1:
            return texts[0]
        words = list(parts[0])
        for i in range(1, len(words), 2):
            words[i] = self._text([int(part[i]) for part in parts])
        return "".join(words)

    def _text(self, values: Sequence[int]) -> str:
        found = self.formula(values)
        return "?" if found is None else str(found)
