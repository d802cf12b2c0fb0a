"""Derivatives as expressions of calls of cells, and inside of cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import wengert as wg
from wengert.graph.order import below

from .planned import same
from .slopes import SETTINGS, array, penalty, weight


def both(h: Any, x: Any) -> tuple[Any, Any]:
    """Any: expressions."""
    return wg.tanh(h * x), h + x * x


def twice(pair: Callable[..., Any]) -> Callable[..., Any]:
    def made(h: Any, x: Any) -> Any:  # Any: expressions
        a, c = pair(*pair(h, x))
        return wg.sin(a * c) * h * SHARED

    return made


SHARED = SETTINGS.array_weight(array(0.5, 1.5, -1.0))


def test_calls_of_cells_are_differentiated_as_their_nodes() -> None:
    """Nested ones, with several results, that read a weight of their own, of which one is given to another."""
    pair = wg.cell(both)
    deep = wg.cell(twice(pair))
    same_again = wg.cell(lambda h, x: (h, wg.exp(x)))
    h, x, fixed = weight(3), weight(3, seed=1), array(1.0, 0.5, 2.0)

    def loss(cells: bool) -> Any:  # Any: an expression
        first, second = (deep, same_again) if cells else (twice(both), lambda h, x: (h, wg.exp(x)))
        a, b = second(first(h, x), first(x, fixed))
        return wg.sum(a * b)

    targets = [h, x, SHARED]
    for made, wanted in (
        (loss(True), loss(False)),
        (penalty(loss(True), *targets), penalty(loss(False), *targets)),
    ):
        values = [layer.predict().run() for layer in wg.gradients(made, targets).layers]
        same(values, wg.gradients(wanted, targets).run(), 1e-12)
        same(values, wg.gradients(made, targets).run(), 1e-12)


def test_targets_may_be_calls_of_cells_and_parts_of_them() -> None:
    pair, single = wg.cell(both), wg.cell(lambda h, x: wg.exp(h * x))
    h, x = weight(3), weight(3, seed=1)
    a, b = pair(h, x)
    c = single(a, b)
    da, db, dc = wg.gradients(wg.sum(c * c * a), (a, b, c)).layers
    assert_allclose(dc.predict().run(), (c * a * 2.0).predict().run(), rtol=1e-12)
    inside = {node.signature.operation.name for node in below(db, frozenset())[0]}
    assert "exp" in inside
    assert "tanh" not in inside, "what is outside of the call has its value from where it stands"
    wanted = wg.gradients(wg.sum(c * c * a), (a, b, c)).run()
    same([da.predict().run(), db.predict().run(), dc.predict().run()], wanted, 1e-12)


def test_cells_are_given_labels_and_masks() -> None:
    """And pass them on to other cells."""

    def picked(t: Any, at: Any, keep: Any) -> Any:  # Any: expressions, integers and booleans
        rows = wg.where(keep, wg.take(t, at), 0.0)
        return wg.cross_entropy(rows, at, reduction="none") * wg.sum(t[at] * t[at], axis=1)

    inner = wg.cell(picked)
    outer = wg.cell(lambda t, at, keep: inner(wg.tanh(t), at, keep))
    at, keep, t = np.array([1, 2, 1]), np.array([[True], [False], [True]]), weight(3, 3)
    made, plainly = wg.sum(outer(t, at, keep)), wg.sum(picked(wg.tanh(t), at, keep))
    same(wg.gradients(penalty(made, t), (t,)).run(), wg.gradients(penalty(plainly, t), (t,)).run(), 1e-12)
    same([wg.gradients(made, (t,)).layers[0].predict().run()], wg.gradients(plainly, (t,)).run(), 1e-12)


def test_a_derivative_stands_inside_a_cell() -> None:
    @wg.cell
    def slope(u: Any, v: Any) -> Any:  # Any: expressions
        (du,) = wg.gradients(wg.sum(wg.sin(u) * v), (u,)).layers
        return du * du

    h, x = weight(3), weight(3, seed=1)
    assert_allclose(slope(h, x).predict().run(), (np.cos(h.data) * x.data) ** 2, rtol=1e-12)
    (dh,) = wg.gradients(wg.sum(slope(h, x)), (h,)).layers
    assert_allclose(dh.predict().run(), -np.sin(2.0 * h.data) * x.data**2, rtol=1e-12)


def test_a_derivative_inside_a_cell_is_given_labels() -> None:
    def squares(t: Any, at: Any) -> Any:  # Any: expressions, and integers
        rows = wg.take(t, at)
        loss = wg.sum(wg.sin(rows)) + wg.cross_entropy(rows, at) + wg.sum(wg.square(t[at]))
        (dt,) = wg.gradients(loss, (t,)).layers
        return dt * dt

    t, at = weight(5, 3), np.array([1, 2, 1])
    made, plainly = wg.sum(wg.cell(squares)(t, at)), wg.sum(squares(t, at))
    same([made.predict().run()], [plainly.predict().run()], 1e-12)
    same(wg.gradients(made, (t,)).run(), wg.gradients(plainly, (t,)).run(), 1e-12)
