"""The shape rules of the operations, on dimensions of which some are unknown, in the words of the run time.

Knows: what `wengert.ops` does with shapes, and that an unknown dimension agrees with every other one.
Refuses to know: mypy, and which operation asks: the caller puts its name before the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from wengert_shapes.algebra import ONE, Dim, number

Size: TypeAlias = Dim | None  # None: not known here
Shape: TypeAlias = tuple[Size, ...]


class Misfit(Exception):
    """Shapes that do not fit; the text is what the run would say."""


def text(shape: Shape) -> str:
    """A shape in Python notation, with names, and `?` for what is unknown."""
    return f"({size_text(shape[0])},)" if len(shape) == 1 else f"({', '.join(map(size_text, shape))})"


def size_text(size: Size) -> str:
    """One dimension."""
    return "?" if size is None else str(size)


def differ(a: Size, b: Size) -> bool:
    """Tell whether two dimensions are known not to be equal."""
    return a is not None and b is not None and a != b


def known(shape: Sequence[Size]) -> list[Dim] | None:
    """All dimensions, or None where one is unknown."""
    sizes = [n for n in shape if n is not None]
    return sizes if len(sizes) == len(shape) else None


def broadcast(*shapes: Shape) -> Shape:
    """The broadcast shape; never that of a column of n rows with a vector of n, or of as many as are not known."""
    if not shapes or all(s == shapes[0] for s in shapes):
        return shapes[0] if shapes else ()
    rank = max(map(len, shapes))
    padded = [(ONE,) * (rank - len(s)) + s for s in shapes]
    made = tuple(_joint(sizes, shapes) for sizes in zip(*padded, strict=True))
    full = [s for s in shapes if len(s) == rank and s[-1] != ONE]
    if _squares(shapes) and not any(_may_be(made, s) for s in full):
        raise Misfit(
            f"shapes {_listed(shapes)} would broadcast to {text(made)}, a shape of neither, with ranks that "
            f"differ; say which axes you mean with expand_dims or broadcast_to"
        )
    return made


def _squares(shapes: Sequence[Shape]) -> bool:
    """True if a column of n rows meets a vector of n: predictions of shape (n, 1), targets of shape (n,)."""
    return any(
        len(column) > 1
        and column[-1] == ONE
        and ONE not in (vector[0], column[-2])
        and not differ(column[-2], vector[0])
        for vector in shapes
        if len(vector) == 1
        for column in shapes
    )


def _joint(sizes: Sequence[Size], shapes: Sequence[Shape]) -> Size:
    wanted = list(dict.fromkeys(n for n in sizes if n is not None and n != ONE))
    if len(wanted) > 1:
        shown = " and ".join(str(n) for n in sizes if n is not None and n != ONE)
        raise Misfit(f"shapes {_listed(shapes)} do not broadcast: {shown} differ")
    if wanted:
        return wanted[0]
    return None if None in sizes else ONE


def _may_be(made: Shape, stated: Shape) -> bool:
    return not any(differ(n, m) for n, m in zip(made, stated, strict=True))


def _listed(shapes: Sequence[Shape]) -> str:
    return " and ".join(map(text, shapes))


def matmul(a: Shape, b: Shape) -> Shape:
    """The product of matrices, rows or columns, with batches."""
    if not a or not b:
        raise Misfit(
            f"cannot multiply {text(a)} by {text(b)}: an array of shape () is no matrix; use multiply"
        )
    inner = b[-2] if len(b) > 1 else b[0]
    if differ(a[-1], inner):
        raise Misfit(
            f"cannot multiply {text(a)} by {text(b)}: "
            f"inner dimensions {size_text(a[-1])} and {size_text(inner)} differ"
        )
    rank = max(len(a), len(b), 2) - 2
    batches = [(ONE,) * (rank - len(batch)) + batch for batch in (a[:-2], b[:-2])]
    return broadcast(*batches) + a[-2:-1] + (b[-1:] if len(b) > 1 else ())


def axis_in(axis: int, rank: int, shape: Shape) -> int:
    """A non-negative axis."""
    if not -rank <= axis < rank:
        raise Misfit(f"axis {axis} is out of range for shape {text(shape)}")
    return axis % rank


def axes_in(axes: Sequence[int], shape: Shape) -> list[int]:
    """All axes, non-negative and distinct."""
    found = [axis_in(a, len(shape), shape) for a in axes]
    if len(set(found)) != len(found):
        raise Misfit(f"axes {tuple(axes)} name one axis of shape {text(shape)} twice")
    return found


def reduced(shape: Shape, axes: Sequence[int] | None, keepdims: bool) -> Shape:
    """Shape that a reduction over some or all axes leaves."""
    gone = range(len(shape)) if axes is None else axes_in(axes, shape)
    if keepdims:
        return tuple(ONE if i in gone else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def check_stated(dims: Shape, array: Shape | None) -> None:
    """`literal`: numpy's types know at least how many axes an array has."""
    if array is not None and (
        len(array) != len(dims) or any(differ(n, m) for n, m in zip(array, dims, strict=True))
    ):
        stated = ", ".join(map(size_text, dims))
        raise Misfit(f"the array has shape {text(array)}, the stated dimensions are ({stated})")


def permuted(shape: Shape, axes: Sequence[int]) -> Shape:
    """The axes in another order."""
    places = [axis_in(a, len(shape), shape) for a in axes] if len(axes) == len(shape) else []
    if len(axes) != len(shape) or sorted(places) != list(range(len(shape))):
        raise Misfit(f"axes {tuple(axes)} are not a permutation of {len(shape)} axes")
    return tuple(shape[a] for a in axes)


def expanded(shape: Shape, axes: Sequence[int]) -> Shape:
    """Axes of size 1 at the places `axes` of the result."""
    rank = len(shape) + len(axes)
    places = {axis_in(a, rank, shape) for a in axes}
    if len(places) != len(axes):
        raise Misfit(f"axes {tuple(axes)} name one place of the result twice")
    sizes = iter(shape)
    return tuple(ONE if i in places else next(sizes) for i in range(rank))


def squeezed(shape: Shape, axes: Sequence[int]) -> Shape:
    """Without axes of size 1."""
    gone = axes_in(axes, shape)
    for a in gone:
        if differ(shape[a], ONE):
            raise Misfit(f"axis {a} of shape {text(shape)} has size {size_text(shape[a])}, not 1")
    return tuple(n for i, n in enumerate(shape) if i not in gone)


def stretched(old: Shape, new: Shape) -> Shape:
    """`broadcast_to`."""
    padded = (ONE,) * (len(new) - len(old)) + old
    if len(padded) != len(new) or any(n != ONE and differ(n, m) for n, m in zip(padded, new, strict=True)):
        raise Misfit(f"cannot broadcast {text(old)} to {text(new)}")
    return new


def joined(shapes: Sequence[Shape], axis: int) -> Shape:
    """`concat`: sizes add on one axis, the others are equal."""
    if not shapes:
        raise Misfit("expected at least one array")
    result = list(shapes[0])
    at = axis_in(axis, len(result), shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(result):
            raise Misfit(f"shapes {text(shapes[0])} and {text(shape)} differ in rank")
        for i, (n, m) in enumerate(zip(tuple(result), shape, strict=True)):
            if i == at:
                result[i] = None if n is None or m is None else n + m
            elif differ(n, m):
                raise Misfit(
                    f"shapes {text(shapes[0])} and {text(shape)} differ on axis {i}, not only on axis {at}"
                )
            else:
                result[i] = m if n is None else n
    return tuple(result)


def stacked(shapes: Sequence[Shape], axis: int) -> Shape:
    """`stack`: a new axis as long as the list."""
    if not shapes:
        raise Misfit("expected at least one array")
    first = list(shapes[0])
    for shape in shapes[1:]:
        if len(shape) != len(first) or any(differ(n, m) for n, m in zip(first, shape, strict=True)):
            raise Misfit(f"shapes {text(shapes[0])} and {text(shape)} differ")
        first = [m if n is None else n for n, m in zip(first, shape, strict=True)]
    at = axis_in(axis, len(first) + 1, shapes[0])
    return (*first[:at], number(len(shapes)), *first[at:])


def loss_lines(logits: Shape, labels: Shape | None) -> Shape:
    """`cross_entropy`: one label for each line of logits."""
    if not logits:
        raise Misfit("logits of shape () have no axis of classes")
    lines = logits[:-1]
    if labels is not None and (
        len(labels) != len(lines) or any(differ(n, m) for n, m in zip(lines, labels, strict=True))
    ):
        raise Misfit(
            f"logits of shape {text(logits)} need labels of shape {text(lines)}, one a line; "
            f"got {text(labels)}"
        )
    return lines
