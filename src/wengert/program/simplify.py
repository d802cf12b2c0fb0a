"""Passes over equations: what nobody reads goes, and sums of slices become one array that is written piece by piece.

Knows: variables and calls.
Refuses to know: where values lie, and text.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from wengert.arrays import HOST
from wengert.arrays.abstract import RowCount
from wengert.arrays.infer import infer
from wengert.arrays.kernels import FOR_ANY_ROWS, transposed, transposed_copy
from wengert.arrays.thin import blas_dot, by_copy, dot, product
from wengert.program.program import Argument, Eqn, Var, vars_in

Key = tuple[slice, ...]
_PRODUCTS: Final = (blas_dot, dot, product)
_USERS: Final = 8  # products that pay for a copy


def needed(eqns: Sequence[Eqn], outputs: Argument, impure: bool = False) -> list[Eqn]:
    """The equations that lead to the outputs; and those that are not pure, if asked."""
    wanted = set(vars_in(outputs))
    kept = []
    for e in reversed(eqns):
        if e.result in wanted or (impure and not e.pure):
            wanted.update(e.reads)
            kept.append(e)
    return kept[::-1]


def copied_once(eqns: Sequence[Eqn]) -> list[Eqn]:
    """The equations, with one copy of a transposed matrix in place of the view that many products of few rows read.

    Such are the products that carry deltas from step to step through a recurrent network.
    """
    views = {e.result: e for e in eqns if _is_transposed(e)}
    found: dict[Var, list[Eqn]] = {}
    for e in eqns:
        x = e.arguments[1] if e.function in _PRODUCTS and len(e.arguments) == 2 else None
        if isinstance(x, Var) and x in views and _by_copy(e.arguments[0], x):
            found.setdefault(x, []).append(e)
    copies: dict[Eqn, Eqn] = {}
    products: dict[Eqn, Eqn] = {}
    for x, users in found.items():
        if len(users) >= _USERS:
            view = views[x]
            copy = Var(infer(transposed_copy, [y.aval for y in view.reads], {}))
            copies[view] = Eqn(transposed_copy, view.arguments[:1], {}, copy, source=view.source)
            products |= {e: replace(e, function=blas_dot, arguments=(e.arguments[0], copy)) for e in users}
    return [y for e in eqns for y in ((e, copies[e]) if e in copies else (products.get(e, e),))]


def _is_transposed(e: Eqn) -> bool:
    x = e.arguments[0] if e.arguments else None
    if not isinstance(x, Var) or not x.compact or x.ndim != 2:
        return False
    return e.function in (transposed, HOST.swap_last)


def _by_copy(a: Argument, b: Var) -> bool:
    """Tell whether a product of `a` with a transposed matrix counts."""
    if not isinstance(a, Var) or not a.compact or a.ndim != 2 or a.dtype != b.dtype:
        return False
    (rows, lines), columns = a.shape, b.shape[1]
    if isinstance(rows, RowCount) or isinstance(lines, RowCount) or isinstance(columns, RowCount):
        return False
    return by_copy(rows, lines, columns, b.dtype)


def for_any_rows(eqns: Sequence[Eqn]) -> list[Eqn]:
    """The equations with functions that choose their way by the sizes of each call."""
    return [replace(e, function=FOR_ANY_ROWS[e.function]) if e.function in FOR_ANY_ROWS else e for e in eqns]


@dataclass(frozen=True, eq=False)
class Pieces:
    """The function of an equation that gives an array of which `keys` are written, and the rest is zero."""

    keys: tuple[Key, ...]
    whole: bool  # the keys leave nothing out

    def __call__(self, *parts: Any) -> Any:  # Any: arrays
        raise AssertionError("pieces are written one by one")


def assembled(eqns: Sequence[Eqn], outputs: Argument, exact: bool = False) -> list[Eqn]:
    """The equations with sums of parts as one equation each, where the parts do not overlap.

    The deltas of the parts of a split are arrays that are zero but for a slice each: four sums and five fills with
    zeros can be left out, and each part may be computed where it belongs. `exact`: with the bits of the sums, which
    have no -0, so that 0 is added once; then the parts have to leave nothing out.
    """
    uses: dict[Var, int] = {}
    for x in [*vars_in(outputs), *(x for e in eqns for x in vars_in((e.arguments, *e.options.values())))]:
        uses[x] = uses.get(x, 0) + 1
    made = {e.result: e for e in eqns}
    replaced: dict[Eqn, list[Eqn]] = {}
    for e in reversed(eqns):
        if e in replaced:
            continue
        leaves, inner = _leaves(e, made, uses)
        pieces = None if exact and len(leaves) == 1 else _pieces(leaves)
        if pieces is None or (exact and not pieces.whole):
            continue
        replaced |= {x: [] for x in inner}
        whole = Var(e.result.aval) if exact else e.result
        replaced[e] = [Eqn(pieces, tuple(leaf.arguments[3] for leaf in leaves), {}, whole, source=e.source)]
        if exact:
            replaced[e].append(Eqn(operator.add, (whole, 0.0), {}, e.result, source=e.source))
    return [found for e in eqns for found in replaced.get(e, (e,))]


def _leaves(e: Eqn, made: Mapping[Var, Eqn], uses: Mapping[Var, int]) -> tuple[list[Eqn], list[Eqn]]:
    """The summands of a sum that nobody else reads, and the equations that it is made of."""
    leaves, inner, todo = [], [], [e]
    while todo:
        found = todo.pop()
        inner.append(found)
        parts = [made.get(x) for x in found.arguments if isinstance(x, Var)]
        known = [x for x in parts if x is not None and uses[x.result] == 1]
        if found.function is operator.add and len(known) == len(found.arguments):
            todo += known
        else:
            leaves.append(found)
    return leaves, inner


def _pieces(leaves: Sequence[Eqn]) -> Pieces | None:
    """Pieces that the leaves write, if all of them write slices of one axis of one shape."""
    if any(leaf.function is not HOST.add_at for leaf in leaves):
        return None
    shape = leaves[0].arguments[0]
    if not shape:
        return None
    keys = [_as_slices(leaf.arguments[2], shape) for leaf in leaves]
    known = [key for key in keys if key is not None]
    if len(known) < len(keys):
        return None
    axes = {axis for key in known for axis, part in enumerate(key) if part != slice(None)}
    if len(axes) > 1:
        return None
    (axis,) = axes or {0}
    size = shape[axis]
    if isinstance(size, RowCount):
        return Pieces((known[0],), True) if known == [(slice(None),) * len(shape)] else None
    spans = sorted(part.indices(size)[:2] for part in (key[axis] for key in known))
    if any(end > begin for (_, end), (begin, _) in pairwise(spans)):
        return None
    return Pieces(tuple(known), sum(end - begin for begin, end in spans) == size)


def _as_slices(key: Argument, shape: Sequence[Any]) -> Key | None:  # Any: sizes
    """A key of slices without steps, one for each axis; None for any other."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(part, slice) and part.step in (None, 1) for part in parts):
        return None
    parts = tuple(slice(None) if part == slice(0, n) else part for part, n in zip(parts, shape, strict=False))
    if any(part != slice(None) and isinstance(n, RowCount) for part, n in zip(parts, shape, strict=False)):
        return None
    return (*parts, *(slice(None),) * (len(shape) - len(parts)))
