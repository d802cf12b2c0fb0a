"""Launches of cells and of users' operations: several results, nesting, captured weights, and no rule at all."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.graph.kinds import Kind
from wengert.graph.operation import OPERATIONS, Signature
from wengert.lazy import LazyDelta, Product, Rows
from wengert.run.batching.kernel import batched_kernel

from .agreement import ROWS, agrees

Layer = Any  # expressions of any shape
CHANCE = np.random.default_rng(0)
SETTINGS = wg.plugins.SGD(learning_rate=0.1)
W: Layer = SETTINGS.array_weight(CHANCE.uniform(-1, 1, (6, 15)))
B: Layer = SETTINGS.array_weight(CHANCE.uniform(-1, 1, 15))
SCALE: Layer = SETTINGS.double_weight(0.75)


@wg.cell
def tree(left: Layer, right: Layer) -> Layer:
    (hl, cl), (hr, cr) = left, right
    i, fl, fr, o, u = wg.split(wg.concat((hl, hr)) @ W + B, 5)
    c = wg.sigmoid(i) * wg.tanh(u) + wg.sigmoid(fl) * cl + wg.sigmoid(fr) * cr
    return wg.sigmoid(o) * wg.tanh(c), c


@wg.cell
def nested(x: Layer, y: Layer) -> Layer:
    h, c = tree((x, y), (y, x))
    norm = W / (1.0 + wg.sum(W * W))  # of weights alone: once for all rows
    return h * SCALE, wg.sum(c) * SCALE, wg.concat((h, x)) @ norm, x, B


@wg.cell
def attention(states: Layer, query: Layer) -> Layer:
    scores = states @ query
    return wg.softmax(scores) @ states


@wg.cell
def scalars(a: Layer, b: Layer) -> Layer:
    return wg.where(wg.greater(a, b), a * b, wg.exp(a)) * SCALE, wg.maximum(a, 0.5)


@wg.cell
def divided(x: Layer) -> Layer:
    """The dividend's delta may be either of two values, which a program computes one after the other."""
    y = wg.tanh(W / (1.5 + wg.tanh(x @ W)))
    return y, y * SCALE


@wg.cell
def with_view(x: Layer) -> Layer:
    """A result that is a view of what nobody else gets, read by what could be computed in its place."""
    seen = wg.tanh(x)[:]
    return wg.logsumexp(seen, axis=0), seen


def signature(cell: Callable[..., Any], *given: Any) -> Signature:  # Any: what the cell takes and gives
    made = cell(*given)
    node = made[0].operands[0] if isinstance(made, tuple) else made
    found: Signature = node.signature
    return found


def layer(*shape: int) -> Layer:
    return SETTINGS.array_weight(CHANCE.uniform(-1, 1, shape)) * 1.0


def values(of: Signature) -> list[Any]:  # Any: data of every column
    parameters = len(of.kinds) - len(of.template.captured)  # type: ignore[attr-defined] # of a cell
    own = [_value(k) for k in of.kinds[:parameters]]
    return [*own, *(w.ref.data for w in of.template.captured)]  # type: ignore[attr-defined] # of a cell


def _value(of: Kind) -> Any:  # Any: as above
    return float(CHANCE.uniform(-1, 1)) if of.shape == () else CHANCE.uniform(-1, 1, of.shape)


CELLS = {
    "tree": lambda: signature(tree, (layer(3), layer(3)), (layer(3), layer(3))),
    "nested": lambda: signature(nested, layer(3), layer(3)),
    "attention": lambda: signature(attention, layer(5, 3), layer(3)),
    "scalars": lambda: signature(scalars, SCALE * 1.0, SCALE * 2.0),
    "divided": lambda: signature(divided, layer(6, 6)),
    "with a view": lambda: signature(with_view, layer(3, 2)),
    "literals": lambda: signature(tree, (layer(3), np.zeros(3)), (np.ones(3), layer(3))),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", CELLS)
def test_rows_of_cells_agree(name: str, rows: int) -> None:
    of = CELLS[name]()
    parameters = len(of.kinds) - len(of.template.captured)  # type: ignore[attr-defined] # of a cell
    for shared in product((True, False), repeat=parameters):
        launch = agrees(of, values(of), (*shared, *(True,) * (len(of.kinds) - parameters)), rows)
        assert launch.reason is None


def test_a_shared_matrix_gets_one_product_of_all_rows() -> None:
    of = CELLS["tree"]()
    launch = batched_kernel(of, (False,) * 4 + (True, True))
    operands = [CHANCE.uniform(-1, 1, (7, 3)) for _ in range(4)] + values(of)[4:]
    (h, c), kept = launch.forward(7, operands)
    deltas = launch.backward(7, kept, [np.ones_like(h), None])
    found = next(d for d in deltas if isinstance(d, LazyDelta))
    (term,) = found.terms
    assert isinstance(term, Product)
    assert term.left.shape == (7, 6)
    assert term.right.shape == (7, 15)
    assert c.shape == (7, 3)


def test_a_shared_matrix_times_a_vector_of_each_row_too() -> None:
    weight = SETTINGS.array_weight(CHANCE.uniform(-1, 1, (4, 3)))
    node: Any = weight @ layer(3)  # Any: has a signature
    launch = batched_kernel(node.signature, (True, False))
    x = CHANCE.uniform(-1, 1, (7, 3))
    (y,), kept = launch.forward(7, (weight.ref.data, x))
    np.testing.assert_allclose(y, x @ weight.ref.data.T, rtol=1e-12)
    found, _ = launch.backward(7, kept, [np.ones((7, 4))])
    assert isinstance(found, LazyDelta)
    assert isinstance(found.terms[0], Product)


def test_rows_of_a_table_stay_sparse() -> None:
    table = SETTINGS.array_weight(CHANCE.uniform(-1, 1, (9, 3)))
    node: Any = wg.take(table, np.array(0))  # Any: has a signature
    launch = batched_kernel(node.signature, (True, False))
    (y,), kept = launch.forward(4, (table.ref.data, np.array([3, 1, 3, 0])))
    np.testing.assert_array_equal(y, table.ref.data[[3, 1, 3, 0]])
    found, none = launch.backward(4, kept, [np.ones((4, 3))])
    assert none is None
    assert isinstance(found, LazyDelta)
    (term,) = found.terms
    assert isinstance(term, Rows)
    assert found.dense()[3].tolist() == [2.0, 2.0, 2.0]


def test_a_launch_is_remembered_by_its_signature() -> None:
    of = CELLS["tree"]()
    shared = (False,) * 4 + (True, True)
    assert batched_kernel(of, shared) is batched_kernel(of, shared)
    assert batched_kernel(of, (True,) * 6) is not batched_kernel(of, shared)


def test_nothing_below_what_has_no_delta() -> None:
    of = CELLS["literals"]()
    launch = batched_kernel(of, (False,) * 4 + (True, True))
    operands = [CHANCE.uniform(-1, 1, (2, 3)) for _ in range(4)] + values(of)[4:]
    _, kept = launch.forward(2, operands)
    deltas = launch.backward(2, kept, [np.ones((2, 3)), None])
    assert [d is None for d in deltas] == [False, True, True, False, False, False]
    assert launch.backward(2, launch.forward(2, operands)[1], [None, None]) == [None] * 6


# -- operations of users ---------------------------------------------------------------------------


def _cubed(**options: Any) -> Any:  # Any: keywords of `operation`, and an operation
    @wg.extend.operation(
        wg.extend.kinds.elementwise,
        lambda case, x: x * x * x,
        lambda case, g, y, x: g * (3.0 * x * x),
        **options,
    )
    def cubed(x: Layer, /) -> Layer:
        raise NotImplementedError

    return cubed


def test_without_a_rule_rows_go_one_by_one() -> None:
    cubed = _cubed()
    x, v = np.arange(1.0, 4.0), SETTINGS.array_weight(np.ones((1, 3)))
    assert agrees(cubed(layer(3)).signature, [x], (False,), 7).reason == "cubed has no batching rule"
    parts = [cubed(v[0] * float(i)) + cubed(wg.lift(x) * v[0]) for i in range(4)]
    loss = wg.sum(wg.stack(parts) * np.arange(12.0).reshape(4, 3))
    batched = wg.run.Batched()
    (found,), (expected,) = wg.gradients(loss, (v,)).run(batched), wg.gradients(loss, (v,)).run()
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12)
    assert {(one.name, one.count) for one in batched.report.unbatched.values()} == {("cubed", 8)}


def test_without_a_rule_a_cell_of_several_results_goes_row_by_row() -> None:
    cubed = _cubed()

    @wg.cell
    def both(x: Layer) -> Layer:
        y = cubed(x)
        return y, wg.sum(y), x * 2.0

    v = SETTINGS.array_weight(np.ones((1, 3)))
    rows = [both(v[0] * float(i)) for i in range(4)]
    for used in ((0, 1), (1,), (0, 2)):
        loss = sum((wg.sum(wg.square(row[i])) for row in rows for i in used), wg.lift(np.float64(0.0)))
        (found,), (expected,) = wg.gradients(loss, (v,)).run(wg.run.Batched()), wg.gradients(loss, (v,)).run()
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12)


def test_a_cell_says_which_of_its_operations_has_none() -> None:
    cubed = _cubed()

    @wg.cell
    def outer(x: Layer) -> Layer:
        return cubed(x) @ W[:3], wg.sum(x)

    of = signature(outer, layer(3))
    launch = agrees(of, values(of), (False, True), 7)
    assert launch.reason is not None
    assert launch.reason.startswith("cubed has no batching rule\n  built at ")
    assert "test_launch.py:" in launch.reason


def test_a_user_gives_a_rule() -> None:
    node = _cubed(batch=wg.extend.rowwise)(layer(3))
    assert agrees(node.signature, [CHANCE.uniform(-1, 1, 3)], (False,), 7).reason is None


def test_data_of_a_registered_type_go_one_by_one() -> None:
    launch = batched_kernel(
        OPERATIONS["literal"].signature((wg.extend.kind(wg.extend.Column.OTHER, None, dict),), ()), (False,)
    )
    assert launch.reason is not None


# -- the checker -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        lambda b, x: b.again(x) + 1e-6,  # other values
        lambda b, x: wg.flip(b.again(x), axis=0),  # other rows
        lambda b, x: wg.stop_gradient(b.again(x)),  # no delta
        lambda b, x: (
            b.again(x) + 0.0 * wg.sum(wg.square(x)) + (wg.square(x) - wg.stop_gradient(wg.square(x)))
        ),
    ],
)
def test_a_wrong_rule_is_found(wrong: Any) -> None:  # Any: rules
    node = _cubed(batch=wrong)(layer(3))
    with pytest.raises(AssertionError):
        agrees(node.signature, [np.array([0.5, 0.25, 1.0])], (False,), 7)


def test_a_rule_of_a_wrong_shape_is_refused() -> None:
    node = _cubed(batch=lambda b, x: wg.sum(b.again(x), axis=0))(layer(3))
    with pytest.raises(wg.errors.ShapeError, match="cubed: the batching rule gives"):
        batched_kernel(node.signature, (False,))
