"""Programs as a device computes them: no detours that are fast on the host, and every array that can be is a matrix.

Knows: that what lies in memory in order has several shapes, so that element-by-element work on (2, 8, 32) and on
(16, 32) belongs to one loop; that what is one number for a line keeps the axis of the line with size 1; that a product
with ones is a sum, the sum of all elements that of one long line, and picking an element of each line a sum of which
one term is not zero.
Refuses to know: which equations become one kernel, and its text.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

from wengert.arrays import HOST, is_host_array, reductions
from wengert.arrays.abstract import Aval, Size, Sizes, is_open
from wengert.arrays.kernels import minus_one_at, ones_at, picked
from wengert.arrays.scatter import places
from wengert.arrays.thin import blas_dot, dot, product
from wengert.program.program import Argument, Eqn, Function, Program, Var, mapped
from wengert.program.simplify import assembled, needed

__all__ = ["as_matrices"]

Formula = Callable[[Any, Any], str | None]  # of a function and numpy's dtype
_PRODUCTS: Final = (blas_dot, dot, product)
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
