"""Passes over equations: what nobody reads goes; sums of slices and joined arrays become one, written piece by piece;
for a device there are no detours that are fast on the host, and every array that can be is a matrix.

Knows: variables and calls; that what lies in memory in order has several shapes, so that element-by-element work on
(2, 8, 32) and on (16, 32) belongs to one loop; that what is one number for a line keeps the axis of the line with
size 1; that a product with ones is a sum, the sum of all elements that of one long line, and picking an element of each
line a sum of which one term is not zero.
Refuses to know: where values lie, which equations become one kernel, and text.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import prod
from typing import Any, Final

from wengert.arrays import HOST, is_host_array, reductions
from wengert.arrays.abstract import Aval, RowCount, Size, Sizes, is_open
from wengert.arrays.infer import infer
from wengert.arrays.kernels import (
    FOR_ANY_ROWS,
    VIEWS,
    joined,
    minus_one_at,
    ones_at,
    picked,
    transposed,
    transposed_copy,
)
from wengert.arrays.scatter import places
from wengert.arrays.thin import blas_dot, by_copy, dot, product
from wengert.program.program import Argument, Eqn, Function, Program, Var, mapped, vars_in

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


# -- for a device: no detours that are fast on the host, and every array that can be is a matrix --------------

Formula = Callable[[Any, Any], str | None]  # of a function and numpy's dtype
_VIEWS: Final = (HOST.squeeze, HOST.expand_dims, HOST.reshape)
_OF_LINES: Final = (reductions.add_reduce, reductions.max_reduce, HOST.sum_to)


def as_matrices(p: Program, formula_of: Formula) -> Program:
    """The program with matrices where that can be; `formula_of` tells what works element by element."""
    read = (*p.outputs, *(e.reads for e in p.effects))
    made = _Rewriting(assembled(needed(p.eqns, read, impure=True), read), formula_of)
    outputs = tuple(mapped(made.now, x) for x in p.outputs)
    effects = [made.renamed(e) for e in p.effects]
    read = (*outputs, *(e.reads for e in effects))
    eqns = needed(made.eqns, read, impure=True)
    return replace(p, eqns=eqns, outputs=outputs, effects=effects, forward=None)


class _Rewriting:
    """The equations in the making, and the shapes in which each value is known already."""

    def __init__(self, eqns: Sequence[Eqn], formula_of: Formula) -> None:
        self.eqns: list[Eqn] = []
        self._formula_of = formula_of
        self._forms: dict[Var, dict[Sizes, Var]] = {}  # shared by all that look at the same memory
        self._same: dict[Var, Var] = {}  # another name of one that is there
        self._made: Mapping[Var, Eqn] = {e.result: e for e in eqns}
        for e in eqns:
            self._rewrite(self.renamed(e))

    def now(self, x: Argument) -> Argument:
        """An argument by its name now."""
        while isinstance(x, Var) and x in self._same:  # first another order, then another shape
            x = self._same[x]
        return x

    def renamed(self, e: Eqn) -> Eqn:
        """An equation with the names of now."""
        if not any(x in self._same for x in e.reads):
            return e
        options = {name: mapped(self.now, x) for name, x in e.options.items()}
        return replace(e, arguments=mapped(self.now, e.arguments), options=options)

    def _rewrite(self, e: Eqn) -> None:
        if (
            e.pure
            and e.result.aval.form == "array"
            and self._formula_of(e.function, e.result.dtype) is not None
        ):
            e = self._ordered(e)
        done = e.pure and (self._view(e) or self._sum(e) or self._at_labels(e) or self._by_elements(e))
        if not done:
            self.eqns.append(e)

    def _ordered(self, e: Eqn) -> Eqn:
        """The equation with a result in C order, however its operands lie: kernels have no other."""
        if e.result.aval.order == "compact":
            return e
        made = Var(Aval(e.result.shape, e.result.dtype))
        self._same[e.result] = made
        return replace(e, result=made)

    # -- one memory, several shapes -------------------------------------------------------------------------

    def _view(self, e: Eqn) -> bool:
        """Take a view in C order as one more shape of what it looks at."""
        x = e.arguments[0] if e.function in _VIEWS else None
        if not isinstance(x, Var) or x.aval.form not in ("array", "scalar"):
            return False
        if not _in_order(x):
            if e.function is not HOST.reshape:
                return False
            x = self._copied(e, x)
        if not _in_order(e.result):
            self._same[e.result] = self._as(x, e.result.shape)
            return True
        forms = self._forms_of(x)
        if e.result.shape in forms:
            self._same[e.result] = forms[e.result.shape]
        else:
            forms[e.result.shape] = e.result
            self._forms[e.result] = forms
            self.eqns.append(replace(e, function=HOST.reshape, arguments=(x, e.result.shape), options={}))
        return True

    def _copied(self, e: Eqn, x: Var) -> Var:
        """A copy in C order."""
        made = Var(Aval(x.shape, x.dtype))
        self.eqns.append(Eqn(operator.pos, (x,), {}, made, source=e.source))
        return made

    def _forms_of(self, x: Var) -> dict[Sizes, Var]:
        return self._forms.setdefault(x, {x.shape: x})

    def _as(self, x: Var, shape: Sizes) -> Var:
        """A value in another shape."""
        forms = self._forms_of(x)
        if shape not in forms:
            forms[shape] = made = Var(Aval(shape, x.dtype))
            self._forms[made] = forms
            self.eqns.append(Eqn(HOST.reshape, (x, shape), {}, made))
        return forms[shape]

    def _write(
        self, e: Eqn, function: Function, arguments: tuple[Argument, ...], shape: Sizes, **options: Any
    ) -> None:
        """Write an equation whose result has another shape, and the view of it that others want."""
        made = Var(Aval(shape, e.result.dtype))
        self.eqns.append(Eqn(function, arguments, options, made, source=e.source))
        self._forms[made] = forms = {shape: made}
        if e.result.shape == shape and e.result.aval.form == "array":
            self._same[e.result] = made
        else:
            forms[e.result.shape] = e.result
            self._forms[e.result] = forms
            self.eqns.append(Eqn(HOST.reshape, (made, e.result.shape), {}, e.result, source=e.source))

    # -- sums -----------------------------------------------------------------------------------------------

    def _sum(self, e: Eqn) -> bool:
        """Write a reduction as one of lines, of columns, or of one long line."""
        found = self._reduced(e)
        if found is None:
            return False
        function, x, axes = found
        options = {"initial": e.options["initial"]} if "initial" in e.options else {}
        rank = x.ndim
        if not rank:
            self._same[e.result] = x
        elif axes == {*range(rank)} and not is_open(x.shape):
            line = self._as(x, (1, prod(x.shape)))
            self._write(e, function, (line,), (1, 1), axis=-1, keepdims=True, **options)
        elif axes == {rank - 1}:
            line = self._as(x, matrix(x.shape))
            self._write(e, function, (line,), (line.shape[0], 1), axis=-1, keepdims=True, **options)
        elif axes == {*range(len(axes))} and function is reductions.add_reduce:
            rest = x.shape[len(axes) :]
            columns = self._as(x, (prod(x.shape[: len(axes)]), prod(rest)))
            self._write(e, function, (columns,), (prod(rest),), axis=0, keepdims=False)
        else:
            return False
        return True

    def _reduced(self, e: Eqn) -> tuple[Function, Var, set[int]] | None:
        """The reduction that an equation is: its function, what is reduced, and along which axes; else None."""
        if e.result.aval.form not in ("array", "scalar") or not e.arguments:
            return None
        x, axes = e.arguments[0], e.options.get("axis")
        if e.function in _PRODUCTS and len(e.arguments) == 2:
            y = e.arguments[1]
            if self._are_ones(y):
                axes = -1
            elif self._are_ones(x):
                x, axes = y, 0
            else:
                return None
        elif e.function is HOST.sum_to and isinstance(x, Var) and x.ndim:
            axes = _axes_to(x.shape, e.result.shape)
        elif e.function not in _OF_LINES:
            return None
        if not isinstance(x, Var) or not (_in_order(x) or x.aval.form == "scalar"):
            return None
        if axes is None:
            axes = tuple(range(x.ndim))
        function = e.function if e.function is reductions.max_reduce else reductions.add_reduce
        return (
            function,
            x,
            {i % x.ndim for i in (axes if isinstance(axes, tuple) else (axes,))} if x.ndim else set(),
        )

    def _are_ones(self, x: Argument) -> bool:
        """True of a vector of ones: a constant, or one for any number of rows."""
        if isinstance(x, Var):
            return x in self._made and self._made[x].function is reductions.ones_of
        return is_host_array(x) and x.ndim == 1 and bool((x == 1).all())

    # -- elements -------------------------------------------------------------------------------------------

    def _at_labels(self, e: Eqn) -> bool:
        """Write what labels choose in each line as work on all elements of the line."""
        at = {picked: 1, minus_one_at: 1, ones_at: 0}.get(e.function)
        made_at = e.arguments[at] if at is not None else None
        places_of = self._made.get(made_at) if isinstance(made_at, Var) else None
        if places_of is None or places_of.function is not places:
            return False
        labels = self.now(places_of.arguments[0])
        if not isinstance(labels, Var) or not _in_order(labels):
            return False
        column = self._as(labels, (prod(labels.shape), 1))
        if e.function is ones_at:
            self._write(e, ones_at, (column,), matrix(e.result.shape))
            return True
        x = self._as(e.arguments[0], matrix(e.arguments[0].shape))
        if e.function is minus_one_at:
            self._write(e, minus_one_at, (x, column), x.shape)
            return True
        chosen = Var(Aval(x.shape, x.dtype))
        self.eqns.append(Eqn(picked, (x, column), {}, chosen, source=e.source))
        self._write(e, reductions.add_reduce, (chosen,), column.shape, axis=-1, keepdims=True)
        return True

    def _by_elements(self, e: Eqn) -> bool:
        """Write work on elements as that on a matrix, or on one number for each line."""
        x = e.result
        if e.options or x.aval.form not in ("array", "scalar") or x.aval.order != "compact":
            return False
        if self._formula_of(e.function, x.dtype) is None:
            return False
        column, known = (prod(x.shape), 1), [y for y in e.reads if _in_order(y) and y.shape == x.shape]
        if x.aval.form == "scalar" or any(column in self._forms_of(y) for y in known):
            fits = [self._number(y, x.shape) for y in e.arguments]
            shape: Sizes = column
        elif x.ndim > 2:
            fits = [self._row(y, x.shape) for y in e.arguments]
            shape = matrix(x.shape)
        else:
            return False
        if e.function is HOST.broadcast_to:
            fits[1] = shape
        if any(fit is None for fit in fits):
            return False
        given = [
            self._as(y, fit) if isinstance(fit, tuple) and isinstance(y, Var) else y
            for y, fit in zip(e.arguments, fits, strict=True)
        ]
        if e.function is HOST.broadcast_to:
            given[1] = shape
        self._write(e, e.function, tuple(given), shape)
        return True

    def _number(self, y: Argument, shape: Sizes) -> Sizes | bool | None:
        """The shape of an operand beside numbers of lines; True as it is, None where it does not fit."""
        if not isinstance(y, Var) or y.aval.form == "number":
            return None if is_host_array(y) and y.ndim else True
        if y.aval.form == "scalar":
            return (1, 1) if not shape or (1, 1) in self._forms_of(y) else True
        return (prod(shape), 1) if y.shape == shape and _in_order(y) else None

    def _row(self, y: Argument, shape: Sizes) -> Sizes | bool | None:
        """The shape of an operand of work on matrices, as above."""
        if not isinstance(y, Var) or y.aval.form in ("number", "scalar"):
            return True if not is_host_array(y) or not y.ndim else None
        if not _in_order(y):
            return None
        if y.shape == shape:
            return matrix(shape)
        if y.shape == (*shape[:-1], 1):
            return (prod(shape[:-1]), 1)
        return shape[-1:] if y.shape[-1:] == shape[-1:] and all(n == 1 for n in y.shape[:-1]) else None


def matrix(shape: Sizes) -> tuple[Size, Size]:
    """The shape as that of a matrix with the same lines.

    >>> matrix((2, 8, 32)), matrix((5,))
    ((16, 32), (1, 5))
    """
    return prod(shape[:-1]), shape[-1]


def _in_order(x: Var) -> bool:
    return x.aval.form in ("array", "scalar") and x.aval.order == "compact"


def _axes_to(have: Sizes, wanted: Sizes) -> tuple[int, ...]:
    """The axes along which an array is summed to a smaller shape."""
    added = len(have) - len(wanted)
    return tuple(i for i, n in enumerate(have) if i < added or (wanted[i - added] == 1 and n != 1))
