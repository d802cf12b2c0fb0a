"""Passes over equations: what nobody reads goes; sums of slices and joined arrays become one, written piece by piece.

Knows: variables and calls.
Refuses to know: where values lie, and text.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Final

from wengert.arrays import HOST
from wengert.arrays.abstract import Aval, RowCount, Sizes
from wengert.arrays.infer import infer
from wengert.arrays.kernels import FOR_ANY_ROWS, VIEWS, joined, transposed, transposed_copy
from wengert.arrays.thin import blas_dot, by_copy, dot, product
from wengert.program.program import Argument, Eqn, Var, vars_in

Key = tuple[Any, ...]  # Any: slices; the first may be an integer
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
    have no -0, so that 0 is added to each part; then the parts have to leave nothing out.
    """
    uses = _uses(eqns, outputs)
    made = {e.result: e for e in eqns}
    replaced: dict[Eqn, list[Eqn]] = {}
    for e in reversed(eqns):
        if e in replaced:
            continue
        leaves, inner = _leaves(e, made, uses)
        pieces = None if exact and len(leaves) == 1 else _pieces(leaves, e.result.shape)
        if pieces is None or (exact and not pieces.whole):
            continue
        parts = tuple(leaf.arguments[3] for leaf in leaves)
        if exact and not _are_alike(parts, e.result):
            continue
        replaced |= {x: [] for x in inner}
        replaced[e] = [Eqn(pieces, parts, {}, e.result, source=e.source)]
    found = [x for e in eqns for x in replaced.get(e, (e,))]
    return needed(_Joining(found, outputs).eqns, outputs, impure=True) if exact else found


def _uses(eqns: Sequence[Eqn], outputs: Argument) -> Counter[Var]:
    return Counter([*vars_in(outputs), *(x for e in eqns for x in e.reads)])


def _are_alike(parts: Sequence[Argument], whole: Var) -> bool:
    """True if all are arrays of the element type of the whole."""
    return all(isinstance(x, Var) and x.aval.form == "array" and x.dtype == whole.dtype for x in parts)


class _Joining:
    """The equations, with 0 added once to what sums are assembled of, and arrays that are joined in one place.

    The deltas of a recurrent network's steps are parts of that of all steps, and the rows of one product: the sums of
    sums are one array, in which each step computes its delta, and which is the joined array as well.
    """

    def __init__(self, eqns: Sequence[Eqn], outputs: Argument) -> None:
        self.eqns: list[Eqn] = []
        self._uses = _uses(eqns, outputs)
        self._made: dict[Var, Eqn] = {}
        self._positive: set[Var] = set()  # without -0
        self._lines: dict[tuple[Var, ...], Var] = {}  # the array whose lines along the first axis these are
        for e in eqns:
            if isinstance(e.function, Pieces):
                self._sum(e, e.function)
            else:
                if e.function is joined and e.arguments[1] == 0 and e.result.compact:
                    e = self._joined(e, e.arguments[0])
                elif e.function in VIEWS and e.arguments[0] in self._positive:
                    self._positive.add(e.result)
                self._write(e)

    def _write(self, e: Eqn) -> None:
        self.eqns.append(e)
        self._made[e.result] = e

    def _sum(self, e: Eqn, pieces: Pieces) -> None:
        """Write a sum whose parts have no -0, sums among them opened."""
        opened: list[tuple[Key, Var]] = []
        for key, x in zip(pieces.keys, e.arguments, strict=True):
            if x in self._positive:
                opened += self._opened(key, x, e.result.shape[0])
            else:
                made = Var(Aval(x.shape, x.dtype))
                self._write(Eqn(operator.add, (x, 0.0), {}, made, source=e.source))
                opened.append((key, made))
        if all(type(key[0]) is int for key, _ in opened):
            opened.sort(key=lambda part: part[0][0])
            self._lines[tuple(x for _, x in opened)] = e.result
        keys, parts = zip(*opened, strict=True)
        self._write(replace(e, function=Pieces(keys, whole=True), arguments=parts))
        self._positive.add(e.result)

    def _opened(self, key: Key, x: Var, size: Any) -> list[tuple[Key, Var]]:  # Any: a number
        """A part that is one line, or a sum of lines, as lines, where the key is of the first axis."""
        e, (first, *rest) = self._made[x], key
        if isinstance(first, slice) and all(part == slice(None) for part in rest):  # a number: one line
            begin = first.indices(size)[0]
            if e.function is HOST.reshape and x.shape == (1, *e.arguments[0].shape):
                return [((begin, *rest), e.arguments[0])]
            if isinstance(e.function, Pieces) and e.arguments in self._lines and self._uses[x] == 1:
                return [((begin + i, *rest), y) for i, y in enumerate(e.arguments)]
        return [(key, x)]

    def _joined(self, e: Eqn, xs: tuple[Var, ...]) -> Eqn:
        """Arrays joined along the first axis as the array that they are in, or with each computed in its place."""
        if not _are_alike(xs, e.result):
            return e
        if xs in self._lines:
            return replace(e, function=HOST.reshape, arguments=(self._lines[xs], e.result.shape))
        rest = (slice(None),) * (e.result.ndim - 1)
        edges = accumulate((x.shape[0] for x in xs), initial=0)
        return replace(
            e, function=Pieces(tuple((slice(a, b), *rest) for a, b in pairwise(edges)), True), arguments=xs
        )


def _leaves(e: Eqn, made: Mapping[Var, Eqn], uses: Mapping[Var, int]) -> tuple[list[Eqn], list[Eqn]]:
    """The summands of a sum that nobody else reads, and the equations that it is made of.

    All of them where each is a part of an array; else it ends at one that is not, as sums of sums may be long.
    """
    leaves: list[Eqn] = []
    inner, todo = [], [e]
    while todo and not (leaves and leaves[-1].function is not HOST.add_at):
        found = todo.pop()
        inner.append(found)
        parts = [made.get(x) for x in found.arguments if isinstance(x, Var)]
        known = [x for x in parts if x is not None and uses[x.result] == 1]
        if found.function is operator.add and len(known) == len(found.arguments):
            todo += known
        else:
            leaves.append(found)
    return leaves, inner


def _pieces(leaves: Sequence[Eqn], shape: Sizes) -> Pieces | None:
    """Pieces that the leaves write, if all of them write slices of one axis of this shape, that of their sum."""
    if not shape or any(leaf.function is not HOST.add_at or leaf.result.shape != shape for leaf in leaves):
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
