"""Dimensions as numbers that may have names: polynomials with integer coefficients over atoms.

Knows: that two dimensions are equal exactly when their normal forms are, and how to divide by a dimension.
Refuses to know: mypy. An atom carries the type that stands for it as an opaque object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias


class Atom:
    """A dimension of a size that is not known but has an identity: a named one, or a type variable."""

    __slots__ = ("key", "name", "type")

    def __init__(self, key: str, name: str, type: object = None) -> None:
        self.key = key
        self.name = name
        self.type = type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and (self.key, self.name) == (other.key, other.name)

    def __hash__(self) -> int:
        return hash((self.key, self.name))


class Quotient:
    """Remainder of a floor division that does not come out even."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: Dim, denominator: Dim) -> None:
        self.numerator = numerator
        self.denominator = denominator

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quotient):
            return False
        return self.numerator == other.numerator and self.denominator == other.denominator

    def __hash__(self) -> int:
        return hash((self.numerator, self.denominator))

    @property
    def key(self) -> str:
        return f"{self.numerator.sort_key()}//{self.denominator.sort_key()}"

    @property
    def name(self) -> str:
        return f"{_factor(self.numerator)}//{_factor(self.denominator)}"


Factor: TypeAlias = "Atom | Quotient"
Monomial: TypeAlias = tuple[Factor, ...]


class Dim:
    """A sum of products of atoms, in one order, without zero terms.

    >>> h = atom(Atom("m.H", "H"))
    >>> str((h + number(1)) * number(2)), (h + h) == h * number(2)
    ('2*H + 2', True)
    """

    __slots__ = ("terms",)

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.terms)

    @property
    def value(self) -> int | None:
        """The number, if it is one."""
        if not self.terms:
            return 0
        (product, count), *rest = self.terms
        return count if not rest and not product else None

    @property
    def named(self) -> bool:
        """Tell whether this is one atom, not a number or a formula."""
        return len(self.terms) == 1 and len(self.terms[0][0]) == 1 and self.terms[0][1] == 1

    def sort_key(self) -> str:
        """Equal for equal dimensions, and different for different ones."""
        return "+".join(f"{count}*{'*'.join(f.key for f in product)}" for product, count in self.terms)

    def __add__(self, other: Dim) -> Dim:
        total: Counter[Monomial] = Counter(dict(self.terms))
        for product, count in other.terms:
            total[product] += count
        return _dim(total)

    def __neg__(self) -> Dim:
        return Dim(tuple((product, -count) for product, count in self.terms))

    def __sub__(self, other: Dim) -> Dim:
        return self + -other

    def __mul__(self, other: Dim) -> Dim:
        total: Counter[Monomial] = Counter()
        for left, n in self.terms:
            for right, m in other.terms:
                total[tuple(sorted(left + right, key=_by_key))] += n * m
        return _dim(total)

    def __str__(self) -> str:
        text = ""
        for product, count in self.terms:
            alone = len(product) == 1 and abs(count) == 1
            names = "*".join(f.name if alone else _in_product(f) for f in product)
            size = str(abs(count)) if not names else names if abs(count) == 1 else f"{abs(count)}*{names}"
            sign = (" - " if count < 0 else " + ") if text else ("-" if count < 0 else "")
            text += sign + size
        return text or "0"


def number(n: int) -> Dim:
    """A known size."""
    return Dim((((), n),)) if n else Dim(())


def atom(of: Factor) -> Dim:
    """A size that is one atom."""
    return Dim((((of,), 1),))


ONE = number(1)
MINUS_ONE = number(-1)


def product_of(dims: Iterable[Dim]) -> Dim:
    """The product of all, 1 of none."""
    result = ONE
    for dim in dims:
        result = result * dim
    return result


def floor_divide(a: Dim, b: Dim) -> Dim | None:
    """a // b for every size of the atoms, None where b is 0.

    What b divides term by term comes out; the rest stays under one division, so that equal quotients are
    equal: (H - 1) // 2 + 1 and (H + 1) // 2 are one dimension.
    >>> h = atom(Atom("m.H", "H"))
    >>> str(floor_divide(h * number(6), number(2))), str(floor_divide(h - ONE, number(2)))
    ('3*H', '(H + 1)//2 - 1')
    """
    if not b.terms:
        return None
    if a == b:
        return ONE
    if len(b.terms) > 1:
        return atom(Quotient(a, b)) if a.terms else a
    ((divisor, size),) = b.terms
    whole: Counter[Monomial] = Counter()
    rest: Counter[Monomial] = Counter()
    for factors, count in a.terms:
        left = without(factors, divisor)
        if left is None:
            rest[factors] += count
            continue
        whole[left] += count // size
        rest[factors] += count % size
    remainder = _dim(rest)
    if not remainder.terms or (remainder.value is not None and not divisor):
        return _dim(whole)
    return _dim(whole) + atom(Quotient(remainder, b))


def divides(a: Dim, b: Dim) -> Dim | None:
    """a / b where that is a dimension without a division, else None."""
    found = floor_divide(a, b)
    return found if found is not None and found * b == a else None


def without(factors: Monomial, divisor: Monomial) -> Monomial | None:
    """The factors that are left when those of `divisor` are taken out; None if one is missing."""
    left = list(factors)
    for f in divisor:
        if f not in left:
            return None
        left.remove(f)
    return tuple(left)


def _dim(terms: Mapping[Monomial, int]) -> Dim:
    """The normal form: highest degree first, then by name, no zeros."""
    kept = [(product, count) for product, count in terms.items() if count]
    return Dim(tuple(sorted(kept, key=lambda term: (-len(term[0]), [f.key for f in term[0]]))))


def _by_key(f: Factor) -> str:
    return f.key


def _in_product(f: Factor) -> str:
    return f.name if isinstance(f, Atom) else f"({f.name})"


def _factor(dim: Dim) -> str:
    text = str(dim)
    return f"({text})" if " " in text or "*" in text or "//" in text else text
