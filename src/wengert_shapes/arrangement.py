"""The shape rules of `reshape`, `split`, `roll`, `segment_sum` and `take_along_axis`, in the words of the run time.

Knows: how an axis is cut, and that an unknown dimension agrees with every other one; that `reshape` keeps the number
of elements for every size of what is named, and that a named axis which is cut up is no axis of that name any more,
although no run could see it.
Refuses to know: mypy, and how the arguments are written.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert_shapes.algebra import MINUS_ONE, ONE, Dim, divides, floor_divide, number, product_of
from wengert_shapes.index import Cut, indexed
from wengert_shapes.rules import (
    Misfit,
    Shape,
    Size,
    axes_in,
    axis_in,
    broadcast,
    differ,
    known,
    size_text,
    text,
)


def split_equally(shape: Shape, sections: Size, axis: int) -> Shape:
    """The shape of each of several equal parts."""
    if sections is not None and sections.value is not None and sections.value < 1:
        raise Misfit(f"cannot split into {sections} parts")
    at = axis_in(axis, len(shape), shape)
    return (*shape[:at], _part(shape, at, sections), *shape[at + 1 :])


def _part(shape: Shape, at: int, sections: Size) -> Size:
    size = shape[at]
    if size is None or sections is None:
        return None
    exact = divides(size, sections)
    if exact is None and size.value is not None and sections.value is not None:
        raise Misfit(
            f"cannot split axis {at} of shape {text(shape)} into {sections} equal parts: "
            f"{size} is no multiple of {sections}"
        )
    return floor_divide(size, sections) if exact is None else exact


def split_at(shape: Shape, cuts: Sequence[int | None], axis: int) -> list[Shape | None]:
    """The shapes of the parts before, between and behind indices, of which some may be unknown."""
    at = axis_in(axis, len(shape), shape)
    places = [
        None if start is None or stop is None else slice(start or None, stop)
        for start, stop in zip([0, *cuts], cuts, strict=False)
    ]
    last = cuts[-1] if cuts else 0
    places.append(None if last is None else slice(last or None, None))
    return [indexed(shape, [*(Cut(slice(None)),) * at, Cut(place)]) for place in places]


def rolled(shape: Shape, shifts: Sequence[int | None] | None, axes: Sequence[int] | None) -> Shape:
    """`roll`: one shift for each axis; None stands for one number."""
    wanted = 1 if axes is None else len(axes)
    if shifts is not None and len(shifts) != wanted:
        shown = ", ".join("?" if n is None else str(n) for n in shifts) + "," * (len(shifts) == 1)
        why = "there is no axis" if axes is None else f"there are axes {tuple(axes)}"
        raise Misfit(f"shift ({shown}) has {len(shifts)} numbers, not {wanted}: {why}")
    return flipped(shape, axes)


def flipped(shape: Shape, axes: Sequence[int] | None) -> Shape:
    """`flip`: the shape stays."""
    if axes is not None:
        axes_in(axes, shape)
    return shape


def along(shape: Shape, indices: Shape, axis: int) -> Shape:
    """`take_along_axis`: the size that the axis has in the indices; the other axes broadcast."""
    at = axis_in(axis, len(shape), shape)
    if len(indices) != len(shape):
        raise Misfit(
            f"the indices have {len(indices)} axes, and the array of shape {text(shape)} has {len(shape)}"
        )
    result: list[Size] = []
    for i, (n, m) in enumerate(zip(shape, indices, strict=True)):
        if i == at or n == ONE:
            result.append(m)
        elif m is None or m == ONE:
            result.append(n)
        elif differ(n, m):
            raise Misfit(
                f"indices of shape {text(indices)} do not fit shape {text(shape)} along axis {at}: "
                f"{size_text(n)} and {size_text(m)} differ on axis {i}"
            )
        else:
            result.append(m if n is None else n)
    return tuple(result)


def moved(shape: Shape, source: Sequence[int], destination: Sequence[int]) -> Shape:
    """`moveaxis`: the shape with some axes at other places."""
    return tuple(shape[a] for a in order_of(shape, source, destination))


def order_of(shape: Shape, source: Sequence[int], destination: Sequence[int]) -> tuple[int, ...]:
    """The permutation that moves the axes `source` to the places `destination`; the others keep their order."""
    if len(source) != len(destination):
        raise Misfit(f"{len(source)} axes cannot move to {len(destination)} places")
    places = dict(zip(axes_in(destination, shape), axes_in(source, shape), strict=True))
    rest = iter(a for a in range(len(shape)) if a not in places.values())
    return tuple(places[i] if i in places else next(rest) for i in range(len(shape)))


def transposed(shape: Shape) -> Shape:
    """`matrix_transpose`: the last two axes exchanged."""
    return (*shape[:-2], *matrix(shape)[::-1])


def matrix(shape: Shape) -> tuple[Size, Size]:
    """Rows and columns of each matrix of a stack of them."""
    if len(shape) < 2:
        raise Misfit(f"expected a matrix or a stack of them, got shape {text(shape)}")
    return shape[-2], shape[-1]


def square(shape: Shape) -> Shape:
    """A stack of square matrices."""
    rows, columns = matrix(shape)
    if differ(rows, columns):
        raise Misfit(f"expected square matrices, got shape {text(shape)}")
    return (*shape[:-2], columns if rows is None else rows, rows if columns is None else columns)


def solution(a: Shape, b: Shape) -> Shape:
    """`solve`: the shape of the right side, axes before the matrices broadcast."""
    n = square(a)[-1]
    rows = b[0] if len(b) == 1 else matrix(b)[0]
    if differ(n, rows):
        raise Misfit(f"{size_text(n)} unknowns and {size_text(rows)} rows: shapes {text(a)} and {text(b)}")
    own = b[1:] if len(b) == 1 else b[-1:]
    before = () if len(b) == 1 else b[:-2]
    rank = max(len(a) - 2, len(before))
    joint = broadcast(*((ONE,) * (rank - len(s)) + s for s in (a[:-2], before)))
    return (*joint, n if rows is None else rows, *own)


def eigenvalues(shape: Shape) -> Shape:
    """One number for each row of square matrices."""
    return square(shape)[:-1]


def singular_values(shape: Shape) -> Shape:
    """As many numbers as the lesser of rows and columns."""
    rows, columns = matrix(shape)
    if rows == columns:
        return shape[:-1]
    if rows is None or columns is None or rows.value is None or columns.value is None:
        return (*shape[:-2], None)
    return (*shape[:-2], number(min(rows.value, columns.value)))


def outer(a: Shape, b: Shape) -> Shape:
    """`outer`: the sizes of two vectors."""
    return vector(a) + vector(b)


def dot(a: Shape, b: Shape, axis: int) -> Shape:
    """`vecdot`: the axis, counted from the end, goes; the others broadcast."""
    places = [axis_in(axis, len(shape), shape) for shape in (a, b)]
    sizes = [shape[at] for shape, at in zip((a, b), places, strict=True)]
    if differ(*sizes):
        raise Misfit(f"sizes {size_text(sizes[0])} and {size_text(sizes[1])} of axis {axis} differ")
    rank = max(len(a), len(b))
    joint = broadcast(*((ONE,) * (rank - len(shape)) + shape for shape in (a, b)))
    return joint[: rank + axis] + joint[rank + axis + 1 :]


def kron(a: Shape, b: Shape) -> Shape:
    """`kron`: the sizes multiplied, axis by axis."""
    if len(a) != len(b):
        raise Misfit(f"shapes {text(a)} and {text(b)} differ in rank")
    return tuple(None if n is None or m is None else n * m for n, m in zip(a, b, strict=True))


def vector(shape: Shape) -> Shape:
    """An array of one axis."""
    if len(shape) != 1:
        raise Misfit(f"expected a vector, got shape {text(shape)}")
    return shape


def repeated(shape: Shape, count: Size, axis: int | None) -> Shape:
    """`repeat`: an axis has each slice so many times; without an axis all elements are one line."""
    if axis is None:
        sizes = known(shape)
        return (None if sizes is None or count is None else product_of(sizes) * count,)
    at = axis_in(axis, len(shape), shape)
    size = shape[at]
    return (*shape[:at], None if size is None or count is None else size * count, *shape[at + 1 :])


def tiled(shape: Shape, counts: Sequence[Size]) -> Shape:
    """`tile`: each axis so many times, the last counts for the last axes."""
    rank = max(len(shape), len(counts))
    sizes = (*(ONE,) * (rank - len(shape)), *shape)
    times = (*(ONE,) * (rank - len(counts)), *counts)
    return tuple(None if n is None or m is None else n * m for n, m in zip(sizes, times, strict=True))


def differences(shape: Shape, n: int, axis: int) -> Shape:
    """`diff`: n elements fewer along the axis, none where there are not so many."""
    at = axis_in(axis, len(shape), shape)
    size = shape[at]
    if size is None or n < 0:
        left: Size = None
    elif size.value is not None:
        left = number(max(size.value - n, 0))
    else:
        left = size if n == 0 else size + number(-n)
    return (*shape[:at], left, *shape[at + 1 :])


def longer(shape: Shape, count: int, axis: int) -> Shape:
    """Some elements more along an axis."""
    at = axis_in(axis, len(shape), shape)
    size = shape[at]
    return (*shape[:at], None if size is None else size + number(count), *shape[at + 1 :])


def diagonal(shape: Shape, offset: int) -> Shape:
    """`diagonal`: the last two axes become the line of the diagonal, which `offset` moves."""
    rows, columns = matrix(shape)
    if rows is None or columns is None:
        return (*shape[:-2], None)
    if rows == columns and offset == 0:
        return (*shape[:-2], rows)
    if rows.value is None or columns.value is None:
        return (*shape[:-2], None)
    length = min(rows.value + min(offset, 0), columns.value - max(offset, 0))
    return (*shape[:-2], number(max(length, 0)))


def of_segments(shape: Shape, ids: Shape) -> Shape:
    """`segment_sum`: the axes behind the segments; each slice along axis 0 has an id."""
    axis_in(0, len(shape), shape)
    if len(ids) != 1 or differ(shape[0], ids[0]):
        raise Misfit(
            f"segment ids of shape {text(ids)} do not fit shape {text(shape)}: one id for each slice"
        )
    return shape[1:]


def chosen(shape: Shape, k: int, axis: int) -> Shape:
    """`top_k`: the axis gets the size k, which it has at least."""
    at = axis_in(axis, len(shape), shape)
    size = shape[at]
    if size is not None and size.value is not None and size.value < k:
        raise Misfit(
            f"the {k} greatest along axis {axis} of shape {text(shape)}: there are only {size.value}"
        )
    return (*shape[:at], number(k), *shape[at + 1 :])


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
