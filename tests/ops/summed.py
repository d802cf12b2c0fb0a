"""Examples of sums of products over named axes, against products of operands stretched over all axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import wengert as wg

from . import draw as d
from .example import Example

NUMBERS = d.numbers(-3, 3)
DOTS = "XYZ"  # names of the axes that "..." stands for


def product(xp: Any, terms: tuple[str, ...], out: str, xs: tuple[Any, ...]) -> Any:
    """Any: values of numpy or of autograd. All operands with all axes, multiplied, then summed.

    An axis that an operand has twice gets two names, and an identity matrix says that they are one.
    """
    names = list(dict.fromkeys(out + "".join(terms)))
    factors: list[tuple[list[str], Any]] = []  # Any: as above
    for term, x in zip(terms, xs, strict=True):
        own: list[str] = []
        for name, n in zip(term, np.shape(x), strict=True):
            if name in own:
                names.append(f"{name}{len(names)}")
                factors.append(([name, names[-1]], np.eye(n)))
            own.append(names[-1] if name in own else name)
        factors.append((own, x))
    whole: Any = 1.0  # Any: as above
    for own, x in factors:
        places = [names.index(name) for name in own]
        order = [i for _, i in sorted(zip(places, range(len(own)), strict=True))]
        sizes = dict(zip(places, np.shape(x), strict=True))
        stretched = tuple(sizes.get(i, 1) for i in range(len(names)))
        whole = whole * xp.reshape(xp.transpose(x, order), stretched)
    return xp.sum(whole, axis=tuple(range(len(out), len(names))))


@st.composite
def einsum(draw: st.DrawFn) -> Example:
    count = draw(st.integers(1, 3))
    sizes = {"a": draw(st.integers(0, 3)), "b": draw(st.integers(0, 2)), "c": draw(st.integers(1, 2))}
    stretched = draw(
        npst.mutually_broadcastable_shapes(num_shapes=count, min_side=0, max_side=2, max_dims=2)
    ).input_shapes
    written, terms, shapes = [], [], []
    for dots in stretched:
        letters = "".join(draw(st.lists(st.sampled_from("abc"), max_size=3)))
        at = draw(st.integers(0, len(letters)))
        shape = tuple(sizes[letter] for letter in letters)
        if draw(st.booleans()):
            written.append(f"{letters[:at]}...{letters[at:]}")
            terms.append(letters[:at] + DOTS[len(DOTS) - len(dots) :] + letters[at:])
            shapes.append((*shape[:at], *dots, *shape[at:]))
        else:
            written.append(letters)
            terms.append(letters)
            shapes.append(shape)
    found = sorted({letter for term in terms for letter in term} & set("abc"))
    kept = "".join(draw(st.permutations(found))[: draw(st.integers(0, len(found)))])
    dots_in_all = "".join(name for name in DOTS if any(name in term for term in terms))
    spec = f"{', '.join(written)} -> ...{kept}"
    if draw(st.booleans()):
        left = "".join(written)
        kept = "".join(letter for letter in found if left.count(letter) == 1)
        spec = ",".join(written)
    return Example(
        lambda *xs: wg.einsum(spec, *xs),
        lambda xp, *xs: product(xp, tuple(terms), dots_in_all + kept, xs),
        tuple(draw(d.arrays(shape, NUMBERS)) for shape in shapes),
    )


@st.composite
def tensordot(draw: st.DrawFn) -> Example:
    """Axes as a number of them, or as pairs counted from either end."""
    summed = draw(st.lists(st.integers(0, 3), max_size=2))
    left, right = (draw(st.lists(st.integers(0, 3), max_size=2)) for _ in range(2))
    letters, rows, columns = "abc"[: len(summed)], "rst"[: len(left)], "xyz"[: len(right)]
    a, b = rows + letters, letters + columns
    axes: Any = len(summed)  # Any: a number or a pair
    if draw(st.booleans()):
        a, b = ("".join(draw(st.permutations(x))) for x in (a, b))
        axes = tuple(
            tuple(x.index(name) - len(x) * draw(st.integers(0, 1)) for name in letters) for x in (a, b)
        )
    sizes: dict[str, int] = dict(zip(letters + rows + columns, [*summed, *left, *right], strict=True))
    rest = "".join(name for name in a + b if name not in letters)
    return Example(
        lambda x, y: wg.tensordot(x, y, axes=axes),
        lambda xp, x, y: product(xp, (a, b), rest, (x, y)),
        tuple(draw(d.arrays(tuple(sizes[name] for name in term), NUMBERS)) for term in (a, b)),
    )
