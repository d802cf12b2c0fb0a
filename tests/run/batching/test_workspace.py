"""Programs of launches, and the workspace in which the launches of one run lie side by side."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.arrays import all_quiet
from wengert.graph.operation import Signature
from wengert.lazy import LazyDelta, Product, Rows, dense
from wengert.run.batching.kernel import BatchedKernel, Workspace, batched_kernel, joined

from .agreement import Rowwise, near
from .test_launch import CELLS, CHANCE, SETTINGS, Layer, layer, signature

SHARED = (False,) * 4 + (True, True)


def operands(of: Signature, rows: int) -> list[Any]:  # Any: data of every column
    """Rows of the tree's operands, and its weights."""
    captured = of.template.captured  # type: ignore[attr-defined] # of a cell
    return [CHANCE.uniform(-1, 1, (rows, 3)) for _ in range(4)] + [w.ref.data for w in captured]


Done = list[tuple[int, list[Any], tuple[Any, ...], object]]  # Any: as above


def forward(launch: BatchedKernel, workspace: Workspace, widths: Sequence[int]) -> Done:
    done: Done = []
    for rows in widths:
        given = operands(launch.signature, rows)
        results, kept = launch.forward(rows, given, None, workspace)
        done.append((rows, given, results, kept))
    return done


def backward(
    launch: BatchedKernel, workspace: Workspace, done: Done, pattern: Sequence[bool] = (True, True)
) -> None:
    """Each launch against its rows one by one; then the joined products against the sum over all."""
    definition = Rowwise(launch.signature, launch.shared)
    total: list[Any] = [None] * len(launch.shared)
    for rows, given, results, kept in reversed(done):
        expected, own = definition.forward(rows, given)
        deltas = [
            CHANCE.uniform(0.5, 1.5, y.shape) if there else None
            for y, there in zip(results, pattern, strict=True)
        ]
        wanted = definition.backward(rows, own, deltas)
        sent = launch.backward(rows, kept, deltas)
        for y, z in zip(results, expected, strict=True):
            near(y, z)
        for i, (a, b) in enumerate(zip(sent, wanted, strict=True)):
            if not launch.shared[i]:
                assert (a is None) == (b is None)
                if a is not None:
                    near(a, b)
            elif a is not None:
                total[i] = dense(a) if total[i] is None else total[i] + dense(a)
            if launch.shared[i] and b is not None:
                sums[i] = sums.get(i, 0.0) + dense(b)
    for i, found in enumerate(workspace.deltas(len(total))):
        if found is not None:
            total[i] = dense(found) if total[i] is None else total[i] + dense(found)
    for i, expected_sum in sums.items():
        near(total[i], expected_sum)
    sums.clear()


sums: dict[int, Any] = {}  # Any: as above


def test_launches_of_one_run_share_one_product() -> None:
    launch = BatchedKernel(CELLS["tree"](), SHARED)
    workspace = Workspace(12)
    with all_quiet():
        for widths in ((7, 4, 1), (1, 2), (12,)):  # three runs in the same workspace
            workspace.begin(sum(widths))
            done = forward(launch, workspace, widths)
            backward(launch, workspace, done)
            shift, found = [x for x in workspace.deltas(6) if x is not None]
            assert isinstance(found, LazyDelta)
            (term,) = found.terms
            assert isinstance(term, Product)
            assert len(term.left) == len(term.right) == sum(widths)
            near(shift, term.right.sum(0))  # of all launches: what is added to a product has its delta's sum


def test_a_launch_without_deltas_is_left_out_of_the_product() -> None:
    launch = BatchedKernel(CELLS["tree"](), SHARED)
    workspace = Workspace(9)
    with all_quiet():
        done = forward(launch, workspace, (3, 2, 4))
        backward(launch, workspace, [done[0], done[2]])
    shift, found = [x for x in workspace.deltas(6) if x is not None]
    assert isinstance(found, LazyDelta)
    near(shift, sum(term.right.sum(0) for term in found.terms if isinstance(term, Product)))
    assert [len(term.left) for term in found.terms if isinstance(term, Product)] == [3, 4]


@pytest.mark.parametrize("pattern", [(True, False), (False, True), (True, True)])
def test_deltas_of_some_results_only(pattern: tuple[bool, bool]) -> None:
    launch = BatchedKernel(CELLS["tree"](), SHARED)
    with all_quiet():
        workspace = Workspace(6)
        backward(launch, workspace, forward(launch, workspace, (4, 2)), pattern)


def test_an_operand_that_is_one_side_of_a_product_gets_a_place_too() -> None:
    weight = SETTINGS.array_weight(CHANCE.uniform(-1, 1, (3, 5)))
    node: Any = layer(3) @ weight  # Any: has a signature
    launch, workspace = BatchedKernel(node.signature, (False, True)), Workspace(6)
    xs = [CHANCE.uniform(-1, 1, (n, 3)) for n in (4, 2)]
    with all_quiet():
        kept = [launch.forward(len(x), (x, weight.ref.data), None, workspace)[1] for x in xs]
        deltas = [CHANCE.uniform(-1, 1, (len(x), 5)) for x in xs]
        for x, k, d in zip(xs, kept, deltas, strict=True):
            given, none = launch.backward(len(x), k, [d])
            assert none is None
            near(given, d @ weight.ref.data.T)
    _, found = workspace.deltas(2)
    assert isinstance(found, LazyDelta)
    assert len(found.terms) == 1
    near(found.dense(), np.concatenate(xs).T @ np.concatenate(deltas))


def test_the_values_of_a_single_launch_stay_where_they_are() -> None:
    weight = SETTINGS.array_weight(CHANCE.uniform(-1, 1, (3, 5)))
    node: Any = layer(3) @ weight  # Any: has a signature
    launch, workspace = BatchedKernel(node.signature, (False, True)), Workspace(6)
    x = CHANCE.uniform(-1, 1, (4, 3))
    workspace.begin(len(x))
    with all_quiet():
        _, kept = launch.forward(len(x), (x, weight.ref.data), None, workspace)
        launch.backward(len(x), kept, [np.ones((len(x), 5))])
    _, found = workspace.deltas(2)
    assert found is not None
    (term,) = found.terms
    assert isinstance(term, Product)
    assert term.left is x
    launch.give_back(workspace)
    assert not workspace.lent  # or an idle workspace would hold the values of a run that is over


def test_several_lines_a_row() -> None:
    weight = SETTINGS.array_weight(CHANCE.uniform(-1, 1, (3, 5)))
    node: Any = layer(2, 3) @ weight  # Any: has a signature
    launch, workspace = BatchedKernel(node.signature, (False, True)), Workspace(6)
    xs = [CHANCE.uniform(-1, 1, (n, 2, 3)) for n in (4, 2)]
    with all_quiet():
        kept = [launch.forward(len(x), (x, weight.ref.data), None, workspace)[1] for x in xs]
        for x, k in zip(xs, kept, strict=True):
            launch.backward(len(x), k, [np.ones((len(x), 2, 5))])
    _, found = workspace.deltas(2)
    assert found is not None
    (term,) = found.terms
    assert isinstance(term, Product)
    assert term.left.shape == (12, 3)
    near(found.dense(), np.concatenate(xs).reshape(12, 3).T @ np.ones((12, 5)))


def test_rows_of_a_table_are_given_back_at_once() -> None:
    table = SETTINGS.array_weight(CHANCE.uniform(-1, 1, (9, 3)))
    node: Any = wg.take(table, np.array(0))  # Any: has a signature
    launch, workspace = BatchedKernel(node.signature, (True, False)), Workspace(4)
    _, kept = launch.forward(4, (table.ref.data, np.array([3, 1, 3, 0])), None, workspace)
    found, none = launch.backward(4, kept, [np.ones((4, 3))])
    assert none is None
    assert isinstance(found, LazyDelta)
    assert isinstance(found.terms[0], Rows)
    assert found.dense()[3].tolist() == [2.0, 2.0, 2.0]


def test_what_outlives_a_launch_is_not_written_over() -> None:
    """Sparse rows and summed deltas of one launch, after the next one."""
    table, bias = SETTINGS.array_weight(CHANCE.uniform(-1, 1, (9, 3))), SETTINGS.array_weight(np.ones(3))

    @wg.cell
    def looked_up(x: Layer, index: Layer) -> Layer:
        return wg.tanh(x * bias + table[2])

    of = signature(looked_up, layer(3), layer(3))
    shared = (False, False, *(True,) * len(of.template.captured))  # type: ignore[attr-defined] # of a cell
    captured = [w.ref.data for w in of.template.captured]  # type: ignore[attr-defined] # of a cell
    launch, workspace = BatchedKernel(of, shared), Workspace(6)
    definition = Rowwise(of, shared)
    found, wanted = [], []
    with all_quiet():
        for rows in (4, 2):
            given = [*(CHANCE.uniform(-1, 1, (rows, 3)) for _ in range(2)), *captured]
            g = CHANCE.uniform(-1, 1, (rows, 3))
            found.append(launch.backward(rows, launch.forward(rows, given, None, workspace)[1], [g]))
            wanted.append(definition.backward(rows, definition.forward(rows, given)[1], [g]))
    for sent, expected in zip(found, wanted, strict=True):
        for a, b in zip(sent[2:], expected[2:], strict=True):
            near(dense(a), dense(b))


def test_threads_share_a_launch() -> None:
    launch = BatchedKernel(CELLS["tree"](), SHARED)
    given = operands(launch.signature, 40)

    def run(workspace: Workspace | None) -> list[Any]:  # Any: arrays
        with all_quiet():
            if workspace is not None:
                workspace.begin(40)
            results, kept = launch.forward(40, given, None, workspace)
            sent = launch.backward(40, kept, [np.ones_like(y) for y in results])
            return [*map(np.copy, results), *(np.copy(dense(x)) for x in sent[:4])]

    expected = run(None)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda i: run(Workspace(40) if i % 2 else None), range(40)):
            for y, z in zip(found, expected, strict=True):
                np.testing.assert_array_equal(y, z)


def test_a_launch_dies_with_its_signature() -> None:
    """Without the collector: it is part of no cycle."""
    of = CELLS["tree"]()
    launch: BatchedKernel | None = batched_kernel(of, SHARED)
    assert launch is not None
    gone = weakref.ref(launch)
    with all_quiet():
        for _ in range(4):
            (h, c), kept = launch.forward(5, operands(of, 5), None, Workspace(5))
            launch.backward(5, kept, [h, None])
            launch.backward(5, launch.forward(5, operands(of, 5))[1], [h, c])
    assert launch.reason is None
    launch = None
    gc.collect()
    gc.disable()
    try:
        del of.kernels
        assert gone() is None
    finally:
        gc.enable()


def test_prediction_keeps_nothing() -> None:
    launch = BatchedKernel(CELLS["tree"](), SHARED)
    given = operands(launch.signature, 5)
    with all_quiet():
        results, kept = launch.forward(5, given, None, None, keep=False)
        expected, _ = launch.forward(5, given)
    assert kept is None
    for y, z in zip(results, expected, strict=True):
        np.testing.assert_array_equal(y, z)


def test_a_program_writes_where_it_is_told() -> None:
    launch = BatchedKernel(CELLS["nested"](), (False, False, True, True, True))
    captured = launch.signature.template.captured  # type: ignore[attr-defined] # of a cell
    given = [*(CHANCE.uniform(-1, 1, (4, 3)) for _ in range(2)), *(w.ref.data for w in captured)]
    with all_quiet():
        expected, _ = launch.forward(4, given)
        arenas = [np.zeros((9, *y.shape[1:])) for y in expected]
        found, _ = launch.forward(4, given, [arena[3:7] for arena in arenas])
    for arena, y, z in zip(arenas, found, expected, strict=True):
        assert y.base is arena
        np.testing.assert_array_equal(arena[3:7], z)
        assert not arena[:3].any()
        assert not arena[7:].any()


def test_a_cell_of_a_users_operation_with_a_rule_has_a_Launch() -> None:
    @wg.extend.operation(
        wg.extend.kinds.elementwise,
        lambda case, x: x * case.xp.exp(x),
        lambda case, g, y, x: g * (1.0 + x) * case.xp.exp(x),
        batch=wg.extend.rowwise,
    )
    def lambert(x: Any, /) -> Any:
        raise NotImplementedError

    @wg.cell
    def outer(x: Any) -> Any:
        return lambert(wg.tanh(x)) * 2.0

    launch = BatchedKernel(signature(outer, layer(3)), (False,))
    definition = Rowwise(launch.signature, (False,))
    for rows in (1, 2, 7):
        x, g = CHANCE.uniform(-1, 1, (rows, 3)), CHANCE.uniform(-1, 1, (rows, 3))
        with all_quiet():
            (y,), kept = launch.forward(rows, (x,))
            (z,), own = definition.forward(rows, (x,))
            near(y, z)
            near(launch.backward(rows, kept, [g])[0], definition.backward(rows, own, [g])[0])
    assert launch.reason is None


def test_spans_that_follow_each_other_are_one() -> None:
    assert joined([(5, 2), (0, 3), (3, 2), (9, 1)]) == [(0, 7), (9, 1)]
    assert joined([]) == []


def test_workspaces_are_used_again() -> None:
    launch = BatchedKernel(CELLS["tree"](), SHARED)
    workspace = launch.workspace(10)
    assert launch.workspace(10) is not workspace, "it is in use"
    launch.give_back(workspace)
    assert launch.workspace(20) is not workspace, "it is too small"
    launch.give_back(workspace)
    assert launch.workspace(1) is not workspace, "it would be a waste"
    launch.give_back(workspace)
    workspace.claim(7)
    assert launch.workspace(8) is workspace
    assert workspace.used == 0
