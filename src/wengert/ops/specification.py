"""The meaning of a specification such as "ij,jk->ik" for operands of known shapes.

Knows: how it names axes, which sizes have to be equal, and what "..." stands for.
Refuses to know: what is done with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from string import ascii_letters
from typing import Final

from wengert.errors import ShapeError
from wengert.graph.kinds import Shape
from wengert.ops.kinds import broadcast_batch

DOTS: Final = "…"  # one character for "..."


@dataclass(frozen=True, slots=True)
class Contraction:
    """A specification for operands of known shapes: one letter an axis, equal letters of equal sizes.

    `shapes` are the operands' shapes without the axes of size 1 that `...` stretches; those have no letter.
    """

    terms: tuple[str, ...]
    out: str
    shapes: tuple[Shape, ...]
    sizes: dict[str, int]

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return self.shape_of(self.out)

    def shape_of(self, letters: str) -> Shape:
        return tuple(self.sizes[letter] for letter in letters)


@lru_cache(maxsize=1024)
def parsed(spec: str, count: int) -> tuple[tuple[str, ...], str]:
    """The terms of the operands and that of the result, which is worked out if `spec` has no arrow."""
    left, arrow, out = spec.replace(" ", "").replace("...", DOTS).partition("->")
    terms = tuple(left.split(","))
    for letter in left.replace(",", "") + out:
        if letter not in ascii_letters and letter != DOTS:
            raise ShapeError(f'"{spec}" has {letter!r}; indices are letters, as in "ij,jk->ik"')
    if any(term.count(DOTS) > 1 for term in (*terms, out)):
        raise ShapeError(f'"{spec}" has "..." twice in one term')
    if len(terms) != count:
        raise ShapeError(f'"{spec}" has {len(terms)} terms, and there are {count} operands')
    if not arrow:
        once = sorted(letter for letter in set(left) & set(ascii_letters) if left.count(letter) == 1)
        return terms, "".join([DOTS] * (DOTS in left) + once)
    for letter in out.replace(DOTS, ""):
        if letter not in left:
            raise ShapeError(f'index "{letter}" of the result is in no operand')
        if out.count(letter) > 1:
            raise ShapeError(f'index "{letter}" is twice in the result')
    return terms, out


@lru_cache(maxsize=4096)
def contraction(spec: str, shapes: tuple[Shape, ...]) -> Contraction:
    """The contraction that a specification means for these shapes; `ShapeError` where they do not fit."""
    terms, out = parsed(spec, len(shapes))
    stretched = [_stretched(term, shape) for term, shape in zip(terms, shapes, strict=True)]
    joint = broadcast_batch(*(shape for shape in stretched if shape is not None))
    if joint and DOTS not in out:
        raise ShapeError(f'"..." stands for axes of sizes {joint}, and the result has no "..."')
    names = "".join(letter for letter in ascii_letters if letter not in spec)[: len(joint)]
    sizes = dict(zip(names, joint, strict=True))
    named: list[str] = []
    kept: list[Shape] = []
    for term, shape in zip(terms, shapes, strict=True):
        dots = names[len(names) - (len(shape) - len(term) + 1) :] if DOTS in term else ""
        pairs = list(zip(term.replace(DOTS, dots), shape, strict=True))
        for letter, n in pairs:
            if letter not in names and sizes.setdefault(letter, n) != n:
                raise ShapeError(f'index "{letter}" is both {sizes[letter]} and {n}')
        pairs = [(letter, n) for letter, n in pairs if n == sizes[letter]]
        named.append("".join(letter for letter, _ in pairs))
        kept.append(tuple(n for _, n in pairs))
    return Contraction(tuple(named), out.replace(DOTS, names), tuple(kept), sizes)


def _stretched(term: str, shape: Shape) -> Shape | None:
    """The axes of one operand that "..." stands for; None where its term has none."""
    before, dots, after = term.partition(DOTS)
    letters = len(before) + len(after)
    if len(shape) < letters or (not dots and len(shape) > letters):
        shown = term.replace(DOTS, "...")
        raise ShapeError(f'term "{shown}" has {letters} indices, shape {shape} has {len(shape)} axes')
    return shape[len(before) : len(shape) - len(after)] if dots else None
