"""The shape rule of `reshape`, the one that has to solve an equation.

Knows: that the number of elements stays, for every size of what is named, and that a named axis which is cut up
is no axis of that name any more, although no run could see it.
Refuses to know: mypy, and how the new shape was written.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert_mypy.algebra import MINUS_ONE, Dim, divides, product_of
from wengert_mypy.rules import Misfit, Shape, Size, known, text


def reshaped(old: Shape, new: Shape) -> Shape:
    """The new shape, with one -1 worked out where that is possible; what has a name stays in one piece."""
    result = _solved(old, new)
    for n in result:
        if n is not None and n.named and _cut(n, old, result):
            raise Misfit(
                f"cannot reshape {text(old)} into {text(new)}: {n} would not stay in one piece; "
                f"move axes with permute_dims first"
            )
    return result


def _cut(n: Dim, old: Shape, new: Shape) -> bool:
    """Tell whether an axis that both shapes have begins elsewhere in each line: the run could not see it."""
    if old.count(n) != 1 or new.count(n) != 1:
        return False
    left, right = known(old[: old.index(n)]), known(new[: new.index(n)])
    return left is not None and right is not None and product_of(left) != product_of(right)


def _solved(old: Shape, new: Shape) -> Shape:
    values = [None if n is None else n.value for n in new]
    if values.count(-1) > 1 or any(n is not None and n < -1 for n in values):
        raise Misfit(f"cannot reshape {text(old)} into {text(new)}: at most one dimension may be -1")
    fixed = [n for n in new if n != MINUS_ONE]
    left, right = _cancelled(old, fixed)
    if -1 not in values:
        if left is not None and right is not None and left != right:
            raise _miscounted(old, new)
        return new
    if left is None or right is None:
        return tuple(None if n == MINUS_ONE else n for n in new)
    solved = divides(left, right)
    if solved is None and (right.value == 0 or (left.value is not None and right.value is not None)):
        raise _miscounted(old, new)
    return tuple(solved if n == MINUS_ONE else n for n in new)


def _cancelled(old: Sequence[Size], new: Sequence[Size]) -> tuple[Dim | None, Dim | None]:
    """The two products, without the dimensions that both have; None where one is unknown."""
    left, right = list(old), list(new)
    for n in new:
        if n is not None and n.value != 0 and n in left:
            left.remove(n)
            right.remove(n)
    sizes = known(left), known(right)
    a, b = (None if s is None else product_of(s) for s in sizes)
    return a, b


def _miscounted(old: Shape, new: Shape) -> Misfit:
    def counted(shape: Shape) -> str:
        sizes = known([n for n in shape if n != MINUS_ONE])
        return f"{text(shape)} ({'?' if sizes is None else product_of(sizes)} elements)"

    return Misfit(f"cannot reshape {counted(old)} into {counted(new)}")
