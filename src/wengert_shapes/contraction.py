"""The shape rules of `einsum` and `tensordot`, in the words of the run time.

Knows: how a specification names axes, and that equal names are equal sizes.
Refuses to know: mypy, and how a specification is found in a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from wengert_shapes.algebra import ONE
from wengert_shapes.rules import Misfit, Shape, Size, axes_in, broadcast, differ, size_text, text

DOTS: Final = "…"  # one character for "..."
# those of `string`, which takes 2 ms to import
LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@lru_cache(maxsize=1024)
def parsed(spec: str, count: int) -> tuple[tuple[str, ...], str]:
    """The terms of the operands and that of the result, which is worked out if `spec` has no arrow."""
    left, arrow, out = spec.replace(" ", "").replace("...", DOTS).partition("->")
    terms = tuple(left.split(","))
    for letter in left.replace(",", "") + out:
        if letter not in LETTERS and letter != DOTS:
            raise Misfit(f'"{spec}" has {letter!r}; indices are letters, as in "ij,jk->ik"')
    if any(term.count(DOTS) > 1 for term in (*terms, out)):
        raise Misfit(f'"{spec}" has "..." twice in one term')
    if len(terms) != count:
        raise Misfit(f'"{spec}" has {len(terms)} terms, and there are {count} operands')
    if not arrow:
        once = sorted(letter for letter in set(left) & set(LETTERS) if left.count(letter) == 1)
        return terms, "".join([DOTS] * (DOTS in left) + once)
    for letter in out.replace(DOTS, ""):
        if letter not in left:
            raise Misfit(f'index "{letter}" of the result is in no operand')
        if out.count(letter) > 1:
            raise Misfit(f'index "{letter}" is twice in the result')
    return terms, out


def einsum(spec: str, shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape of a sum of products; None where an operand of unknown rank has axes under "..."."""
    if not shapes:
        raise Misfit("expected at least one array")
    terms, out = parsed(spec, len(shapes))
    parts = [_taken_apart(term, shape) for term, shape in zip(terms, shapes, strict=True)]
    dots = [stretched for _, stretched in parts if stretched is not None]
    rank = max(map(len, dots), default=0)
    joint = broadcast(*((ONE,) * (rank - len(s)) + s for s in dots))
    if joint and DOTS not in out:
        raise Misfit(f'"..." stands for axes of sizes {text(joint)}, and the result has no "..."')
    sizes: dict[str, Size] = {}
    for named, _ in parts:
        for letter, size in named:
            known = sizes.get(letter)
            if differ(known, size):
                raise Misfit(f'index "{letter}" is both {size_text(known)} and {size_text(size)}')
            sizes[letter] = size if known is None else known
    if any(shape is None and DOTS in term for term, shape in zip(terms, shapes, strict=True)):
        return None
    result: list[Size] = []
    for letter in out:
        result += joint if letter == DOTS else (sizes.get(letter),)
    return tuple(result)


def _taken_apart(term: str, shape: Shape | None) -> tuple[list[tuple[str, Size]], Shape | None]:
    """The axes of one operand that letters name, and those that "..." stands for."""
    if shape is None:
        return [], None
    before, dots, after = term.partition(DOTS)
    letters = len(before) + len(after)
    if len(shape) < letters or (not dots and len(shape) > letters):
        shown = term.replace(DOTS, "...")
        raise Misfit(f'term "{shown}" has {letters} indices, shape {text(shape)} has {len(shape)} axes')
    end = len(shape) - len(after)
    named = [*zip(before, shape, strict=False), *zip(after, shape[end:], strict=True)]
    return named, shape[len(before) : end] if dots else None


def tensordot(a: Shape, b: Shape, axes: int | tuple[Sequence[int], Sequence[int]]) -> Shape:
    """The axes of a and of b that are not summed over."""
    if isinstance(axes, int):
        if not 0 <= axes <= min(len(a), len(b)):
            raise Misfit(f"cannot sum over {axes} axes of shapes {text(a)} and {text(b)}")
        left, right = list(range(len(a) - axes, len(a))), list(range(axes))
    else:
        left, right = axes_in(axes[0], a), axes_in(axes[1], b)
        if len(left) != len(right):
            raise Misfit(f"axes {tuple(axes[0])} and {tuple(axes[1])} are not as many in both operands")
    for i, j in zip(left, right, strict=True):
        if differ(a[i], b[j]):
            raise Misfit(
                f"cannot sum over axis {i} of shape {text(a)} and axis {j} of shape {text(b)}: "
                f"{size_text(a[i])} and {size_text(b[j])} differ"
            )
    free = [n for i, n in enumerate(a) if i not in left]
    return (*free, *(n for j, n in enumerate(b) if j not in right))
