"""Index expressions as data: `x[1:3, i, ..., None, rows]` split into a static pattern and array operands.

Knows: which parts of an index are static (hashable, part of the signature) and which are arrays of integers; that a
mask of data stands for the places where it is true.
Refuses to know: what indexing gives; the shape rule of `getitem` says.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

from wengert.arrays import MASK, integer_array, is_array
from wengert.errors import ArgumentError, DTypeError, ShapeError
from wengert.graph.kinds import Column
from wengert.graph.node import Expression
from wengert.graph.operand import operand, shown
from wengert.site import user_position

Part = tuple[Any, ...]  # ("int", i) ("slice", a, b, c) ("ellipsis",) ("new",) ("array",)


def index_of(x: object, key: object) -> tuple[tuple[object, ...], tuple[Part, ...]]:
    """The operands of a getitem node, the indexed expression first, and the static pattern of the key."""
    operands: list[object] = [x]
    pattern: list[Part] = []
    parts = key if isinstance(key, tuple) else (key,)
    for i, part in enumerate(parts):
        if isinstance(part, slice):
            if part.step == 0:
                raise ShapeError(f"getitem: the step of a slice cannot be 0\n  at {user_position()}")
            pattern.append(("slice", *(_bound(b) for b in (part.start, part.stop, part.step))))
        elif part is Ellipsis:
            pattern.append(("ellipsis",))
        elif part is None:
            pattern.append(("new",))
        elif type(part) is int or (isinstance(part, Integral) and not isinstance(part, bool)):
            pattern.append(("int", int(part)))
        elif isinstance(part, list) or is_array(part) or is_index(part):
            found = indices(part)
            places = _places(x, parts, i, found) if is_mask(found) else (found,)
            operands.extend(places)
            pattern.extend([("array",)] * len(places))
        elif isinstance(part, Expression) and part.kind.column is Column.MASK:
            raise DTypeError(
                "getitem: how many elements a computed mask chooses only the run knows; write where(mask, x, 0.0), "
                f"or nonzero(mask, size=n) as the index, or a mask that is data\n  at {user_position()}"
            )
        else:
            raise DTypeError(
                f"getitem: an index is made of integers, slices, None, ... and integer arrays; "
                f"got {part!r:.60}\n  at {user_position()}"
            )
    return tuple(operands), tuple(pattern)


def is_mask(x: Any) -> bool:  # Any: an operand
    """True if `x` is an array of truth values."""
    return is_array(x) and x.dtype == MASK


# Any: arrays of the mask's library
def _places(x: object, parts: tuple[object, ...], i: int, mask: Any) -> tuple[Any, ...]:
    """The places where part `i` of a key is true: an array of integers for each axis that it covers."""
    shape = operand(x)[1].shape
    if shape is None or not mask.shape:
        what = "a mask of no axis" if shape is not None else "a mask where only the run knows the shape"
        raise ShapeError(f"getitem: {what} is no index; write numpy.nonzero(mask)\n  at {user_position()}")
    begin = sum(map(_covered, parts[:i]))
    if any(part is Ellipsis for part in parts[:i]):
        begin = len(shape) - sum(map(_covered, parts[i:]))
    covered = shape[begin : begin + len(mask.shape)]
    if covered != mask.shape:
        raise ShapeError(
            f"getitem: a mask of shape {mask.shape} for axes of shape {covered} of {shape}\n  at {user_position()}"
        )
    places: tuple[Any, ...] = mask.nonzero()
    return places


def _covered(part: Any) -> int:  # Any: a part of a key, as a person writes it
    """The number of axes that a part of a key takes."""
    if part is None or part is Ellipsis:
        return 0
    return len(part.shape) if is_mask(part) else 1


def is_index(x: object) -> bool:
    """True if `x` is an expression of integers, such as an index that a cell is given."""
    return isinstance(x, Expression) and x.kind.column is Column.INDEX


def indices(x: Any) -> Any:  # Any: integers in any form that a person writes, and an operand
    """Integers as an operand."""
    if is_array(x) or is_index(x):
        return x
    try:
        return integer_array(x)
    except Exception as failure:  # an array of another library refuses in its own way
        raise ArgumentError(
            f"indices and labels are integers, a list of such or an array; {shown(x)} gave none: {failure!r:.200}\n"
            f"  at {user_position()}"
        ) from failure


def _bound(x: object) -> int | None:
    if x is None:
        return None
    if isinstance(x, Integral):
        return int(x)
    raise DTypeError(f"getitem: the bounds of a slice are integers; got {x!r:.60}\n  at {user_position()}")


# Any: whatever numpy takes as an index
def key_of(pattern: tuple[Part, ...], arrays: tuple[Any, ...]) -> Any:
    """The key that an array library takes, with its arrays put back."""
    remaining = iter(arrays)
    parts: list[Any] = []
    for part in pattern:
        match part:
            case ("int", index):
                parts.append(index)
            case ("slice", start, stop, step):
                parts.append(slice(start, stop, step))
            case ("ellipsis",):
                parts.append(Ellipsis)
            case ("new",):
                parts.append(None)
            case _:
                parts.append(next(remaining))
    return parts[0] if len(parts) == 1 else tuple(parts)
