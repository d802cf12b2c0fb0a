"""The meaning of a specification such as "ij,jk->ik" for operands of known shapes.

Knows: how it names axes, which sizes have to be equal, and what "..." stands for.
Refuses to know: what is done with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from wengert.errors import ShapeError
from wengert.graph.kinds import Shape
from wengert.ops.kinds import broadcast_batch, ruled
from wengert_shapes import contraction as rules
from wengert_shapes.rules import Misfit

DOTS: Final = rules.DOTS  # one character for "..."
LETTERS: Final = rules.LETTERS


class Contraction(NamedTuple):
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


def parsed(spec: str, count: int) -> tuple[tuple[str, ...], str]:
    """The terms of the operands and that of the result, which is worked out if `spec` has no arrow."""
    try:
        return rules.parsed(spec, count)
    except Misfit as misfit:
        raise ShapeError(str(misfit)) from None


@lru_cache(maxsize=4096)
def contraction(spec: str, shapes: tuple[Shape, ...]) -> Contraction:
    """The contraction that a specification means for these shapes; `ShapeError` where they do not fit."""
    ruled(lambda *xs: rules.einsum(spec, xs), shapes)
    terms, out = parsed(spec, len(shapes))
    stretched = [_stretched(term, shape) for term, shape in zip(terms, shapes, strict=True)]
    joint = broadcast_batch(*(shape for shape in stretched if shape is not None))
    names = "".join(letter for letter in LETTERS if letter not in spec)[: len(joint)]
    sizes = dict(zip(names, joint, strict=True))
    named: list[str] = []
    kept: list[Shape] = []
    for term, shape in zip(terms, shapes, strict=True):
        dots = names[len(names) - (len(shape) - len(term) + 1) :] if DOTS in term else ""
        pairs = list(zip(term.replace(DOTS, dots), shape, strict=True))
        for letter, n in pairs:
            sizes.setdefault(letter, n)
        pairs = [(letter, n) for letter, n in pairs if n == sizes[letter]]
        named.append("".join(letter for letter, _ in pairs))
        kept.append(tuple(n for _, n in pairs))
    return Contraction(tuple(named), out.replace(DOTS, names), tuple(kept), sizes)


def _stretched(term: str, shape: Shape) -> Shape | None:
    """The axes of one operand that "..." stands for; None where its term has none."""
    before, dots, after = term.partition(DOTS)
    return shape[len(before) : len(shape) - len(after)] if dots else None
