"""Derivatives as expressions of calls of cells, and inside of cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import wengert as wg
from wengert.graph.order import below

from .cells import EXECUTORS
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


def test_a_part_that_no_delta_passes_is_a_constant() -> None:
    """Derivatives by it, by others, and beside one another are those of its nodes, whoever runs them."""
    scale, own = weight(3, seed=2), weight(3, seed=3)

    def pair(x: Any) -> tuple[Any, Any]:  # Any: expressions
        return wg.stop_gradient(wg.tanh(x) * scale), x * own

    def loss(of: Callable[..., Any]) -> tuple[Any, ...]:  # Any: expressions
        made = [of(array(0.5, 1.5, float(i)) * SHARED) for i in range(3)]
        (a, b), (c, d), (e, f) = made
        total = wg.sum(wg.square(a)) + wg.sum(b * d) + wg.sum(c * e * own) + wg.sum(f)
        return total, a, b, c, e

    for executor in [make() for make in EXECUTORS.values()]:
        for _ in range(4):  # a plan comes later
            total, *parts = loss(wg.cell(pair))
            plain, *nodes = loss(pair)
            assert [x.kind.trainable for x in parts] == [x.kind.trainable for x in nodes]
            for some in ([], parts[:2], parts):
                asked = [scale, own, SHARED, *some]
                wanted = [scale, own, SHARED, *nodes[: len(some)]]
                found = wg.gradients(total, asked).run(executor)
                same(found, wg.gradients(plain, wanted).run(), 1e-12)


def test_a_constant_part_becomes_a_variable_with_what_it_is_made_of() -> None:
    x, own = wg.lift(array(0.5, 1.5, 2.0)), weight(3)

    def pair(h: Any) -> tuple[Any, Any]:  # Any: expressions
        return wg.exp(h), h * own

    a, b = wg.cell(pair)(x)
    assert not a.kind.trainable
    for executor in EXECUTORS.values():
        found = wg.gradients(wg.sum(a * a * b), [x, own]).run(executor())
        c, d = pair(x)
        same(found, wg.gradients(wg.sum(c * c * d), [x, own]).run(), 1e-12)


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
