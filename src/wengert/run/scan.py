"""`scan`: a cell applied along the first axis of arrays, each step with what the one before has left.

Knows: that all steps together are one cell, traced once for each length, so that a call is one node; that an array is
taken apart in two levels, as the delta of each part is an array of the whole that it is part of.
Refuses to know: how a cell is run, and what the steps compute. In a plan the steps stand one after the other, so that
making one takes time in proportion to the length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import isqrt
from typing import Any, Final, TypeVar, overload

from wengert.arrays import Dv, T
from wengert.errors import ArgumentError, ShapeError
from wengert.graph.answers import Structure
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.operand import lift_any, shown
from wengert.graph.products import is_product, leaves_of
from wengert.ops import reshape, split, stack
from wengert.run.cell import Cell
from wengert.site import user_position

State = TypeVar("State")
Step = Callable[[State, Any], tuple[State, Any]]  # Any: structures of arrays, in and out


@overload
def scan(
    cell: Callable[[State, ArrayLayer[Any, T, Dv]], tuple[State, ArrayLayer[Any, T, Dv]]],
    init: State,
    xs: ArrayExpression[Any, T, Dv],
    /,
) -> tuple[State, ArrayLayer[Any, T, Dv]]: ...
# Any, here and below: structures of arrays with one axis more than those that the cell has, which no type can say
@overload
def scan(
    cell: Callable[[State, ArrayLayer[Any, T, Dv]], tuple[State, tuple[Any, ...] | Structure]],
    init: State,
    xs: ArrayExpression[Any, T, Dv],
    /,
) -> tuple[State, Any]: ...
@overload
def scan(cell: Step[State], init: State, xs: tuple[Any, ...] | Structure, /) -> tuple[State, Any]: ...
def scan(cell: Step[State], init: State, xs: Any, /) -> tuple[State, Any]:
    """The last state and all outputs of a cell along the first axis: `s, y = cell(s, x)` for each x of xs.

    s₀ = init, (sₜ₊₁, yₜ) = cell(sₜ, xₜ); the result is (s_n, y) with y[t] = yₜ. States, inputs and outputs are
    arrays, or tuples and frozen dataclasses of arrays; a cell without output gives the empty tuple for it. It is traced
    once for each combination of operand types if it is a `@cell`, or a frozen dataclass of weights with a `__call__`,
    else in each call of `scan`.
    Derivative: that of the steps; the delta of a matrix that all steps multiply by is one product of all their rows.
    Shapes: xs (Time, ...), init as the cell takes it, to the same and (Time, ...) of each output. Raises ShapeError
    where lengths differ, are 0 or known in the run only, and where a state changes its shape; ArgumentError for a cell
    that does not give two things.
    >>> import numpy as np
    >>> from wengert import ArrayLayer, cell, lift
    >>> @cell
    ... def add(total: ArrayLayer, x: ArrayLayer) -> tuple[ArrayLayer, ArrayLayer]:
    ...     return total + x, total * x
    >>> last, seen = scan(add, lift(np.zeros(2, np.float32)), np.ones((3, 2), np.float32))
    >>> last.predict().run().tolist(), seen.predict().run().tolist()
    ([3.0, 3.0], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])

    Source: JAX, `jax.lax.scan`.
    """
    if isinstance(cell, Cell):
        if cell.scanned is None:
            cell.scanned = _scanned(cell)
        made: tuple[State, Any] = cell.scanned(init, xs)
        return made
    if not callable(cell):
        raise ArgumentError(
            f"scan: expected a cell, a function of a state and an input, got {shown(cell)}\n  at {user_position()}"
        )
    if is_product(cell):
        return _OF_LAYERS(cell, init, xs)
    found: tuple[State, Any] = _scanned(cell)(init, xs)
    return found


def _scanned(cell: Step[Any]) -> Cell[..., tuple[Any, Any]]:
    """All steps of a cell as one."""
    return Cell(partial(_steps, cell), called=f"scan of {getattr(cell, '__name__', 'a cell')}")


def _steps(cell: Step[Any], init: Any, xs: Any) -> tuple[Any, Any]:  # Any: as in `Step`
    """All steps, one after the other."""
    arrays, put_together = leaves_of(xs)
    together = put_together  # of outputs, as each step tells
    parts = [_apart(x, n) for x, n in zip(arrays, _lengths(arrays), strict=True)]
    state, outputs = init, list[list[Any]]()
    for inputs in zip(*parts, strict=True):
        made = cell(state, put_together(inputs))
        if type(made) is not tuple or len(made) != 2:
            raise ArgumentError(
                f"scan: a cell gives a state and an output, as a tuple of two; got {shown(made)}; write "
                f"`return state, ()` for one without output"
            )
        _check_alike(state, made[0])
        state, output = made
        found, together = leaves_of(output)
        outputs.append(found)
    return state, together([stack(each) for each in zip(*outputs, strict=True)])


_OF_LAYERS: Final = Cell(_steps, called="scan")  # its weights are operands, as those of any frozen dataclass


def _lengths(arrays: Sequence[Any]) -> list[int]:  # Any: expressions
    """The length of the first axis of each array, which is the same."""
    shapes = [lift_any(x).kind.shape for x in arrays]
    if not arrays:
        raise ArgumentError("scan: expected an array, or several in a tuple, to go along; got none")
    found: list[int] = []
    for shape in shapes:
        if shape is None:
            raise ShapeError(
                "scan: only the run will know how long xs is, and the steps are written down before; state the shape "
                "in the annotation of what makes it"
            )
        if not shape or shape[0] < 1:
            raise ShapeError(f"scan: expected xs with a first axis of at least one step, got {shape}")
        found.append(shape[0])
    if len(set(found)) > 1:
        raise ShapeError(f"scan: expected arrays of one length, got first axes {', '.join(map(str, found))}")
    return found


def _apart(x: Any, length: int) -> Iterable[Any]:  # Any: an expression
    """The parts of an array along its first axis."""
    chunk = isqrt(length)
    edges = range(chunk, length, chunk)
    shape = lift_any(x).kind.shape
    assert shape is not None, "its length is known"
    for some in split(x, tuple(edges)) if edges else (x,):
        for part in split(some, some.shape[0]):
            yield reshape(part, shape[1:])


def _check_alike(before: Any, after: Any) -> None:  # Any: structures of expressions
    """Refuse a state that has become another kind of state."""
    old, new = ([lift_any(x).kind for x in leaves_of(of)[0]] for of in (before, after))
    if len(old) != len(new):
        raise ArgumentError(
            f"scan: the cell was given a state of {len(old)} arrays and gave one of {len(new)}"
        )
    for a, b in zip(old, new, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            raise ShapeError(
                f"scan: the cell was given a state of {a.text()} and gave one of {b.text()}: a state keeps its "
                f"shape and dtype"
            )


__all__ = ["scan"]
