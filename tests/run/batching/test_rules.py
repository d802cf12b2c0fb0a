"""Every operation for many rows: what one launch computes is what its rows compute one by one (S9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import wengert as wg
from tests.often import examples
from tests.ops.backward import BACKWARD
from tests.ops.subjects import SUBJECTS
from tests.run.attacked import OPTIMIZERS, weights_of
from wengert.arrays import all_quiet
from wengert.graph.node import Expression
from wengert.graph.operation import OPERATIONS, Signature
from wengert.graph.order import below
from wengert.run.batching.kernel import BatchedKernel

from .agreement import ROWS, agrees

EXAMPLES = {**{name: subject.examples for name, subject in SUBJECTS.items()}, **BACKWARD}
LOOPS = {"add_at": "has no batching rule for such operands"}  # keys of each row would have to be counted
FLOATS = [name for name in SUBJECTS if SUBJECTS[name].floats]
ROLES: tuple[Callable[[Any], Any], ...] = (lambda w: w, lambda w: w * 1.5)  # Any: weights and layers


def calls(x: Any) -> Iterator[tuple[Signature, list[Any]]]:  # Any: expressions, and data of every column
    """Each node below an expression, or several: its signature, and the values of its operands."""
    values: dict[Expression, Any] = {}
    for root in x if isinstance(x, tuple) else (x,):
        nodes, weights = below(root, values)
        values |= {w: w.ref.data for w in weights}
        for node in nodes:
            at = node.signature.nodes
            operands = [values[y] if i in at else y for i, y in enumerate(node.operands)]
            with all_quiet():
                values[node] = node.signature.value(*operands)
            yield node.signature, operands


def all_agree(x: Any) -> None:  # Any: expressions
    """Each launch below an expression."""
    for signature, operands in calls(x):
        for shared in product((True, False), repeat=len(operands)):
            launch = BatchedKernel(signature, shared)
            for rows in ROWS:
                agrees(signature, operands, shared, rows, launch)
            name = signature.operation.name
            assert launch.reason in (None, f"{name} {LOOPS.get(name)}")


def drawn(name: str, data: st.DataObject) -> Any:  # Any: expressions
    """An example of an operation on arrays: weights or layers, of either element type."""
    example = data.draw(EXAMPLES[name])
    column = data.draw(st.sampled_from((np.float64, np.float32))) if name in SUBJECTS else np.float64
    weights = weights_of(OPTIMIZERS["SGD"](), [x.astype(column) for x in example.operands])
    return example.call(*map(data.draw(st.sampled_from(ROLES)), weights))


def drawn_numbers(name: str, data: st.DataObject) -> Any:  # Any: expressions
    """An example of an operation on numbers."""
    column = data.draw(st.sampled_from((float, np.float32)))
    numbers = [column(data.draw(x)) for x in SUBJECTS[name].floats or ()]
    role = data.draw(st.sampled_from(ROLES))
    return getattr(wg, name)(*map(role, weights_of(OPTIMIZERS["SGD"](), numbers)))


# rows are drawn freely: lines that are not sorted have no places, few matrices are positive definite, and of matrices
# without full rank rounding decides which vectors are singular
NARROW = {"searchsorted", "cholesky", "matrix_rank"}


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in NARROW])
@examples(4)
@given(data=st.data())
def test_rows_agree(name: str, data: st.DataObject) -> None:
    all_agree(drawn(name, data))


@pytest.mark.parametrize("name", FLOATS)
@examples(3)
@given(data=st.data())
def test_rows_of_numbers_agree(name: str, data: st.DataObject) -> None:
    all_agree(drawn_numbers(name, data))


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in NARROW])
@examples(50)
@given(data=st.data())
def test_many_rows_agree(name: str, data: st.DataObject) -> None:
    all_agree(drawn(name, data))


def test_every_operation_of_wengerts_own_has_a_rule() -> None:
    """But those that a graph is entered and left by, of buffers too, and those that only rules make."""
    without = {x.name for x in OPERATIONS.values() if not x.module and x.rules and x.rules.batch is None}
    assert without == {"beside", "filled", "forward", "parameter", "part", "update"}


def test_rows_of_narrow_domains_agree() -> None:
    rng = np.random.default_rng(0)
    lines, wanted = np.sort(rng.normal(size=(5, 4))), rng.normal(size=(5, 3))
    found = [
        wg.astype(wg.searchsorted(line * 1.0, x), np.float64) for line, x in zip(lines, wanted, strict=True)
    ]
    masks = [wg.greater(x * 1.0, y) for x, y in zip(lines, np.sort(lines, axis=1)[:, 1], strict=True)]
    above = [wg.astype(wg.nonzero(mask, size=2)[0], np.float64) for mask in masks]
    factors = [wg.linalg.cholesky(x @ x.T + np.eye(3)) for x in rng.normal(size=(5, 3, 3))]
    cases: tuple[list[Any], ...] = (found, above, factors)  # Any: of one axis and of two
    for layers in cases:
        alone = wg.predict(wg.stack(layers)).run()
        assert_allclose(wg.predict(wg.stack(layers)).run(wg.run.Batched()), alone, rtol=1e-12)
