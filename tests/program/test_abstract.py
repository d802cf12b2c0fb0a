"""Abstract values: what is said of a result before it is there is what the function gives."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tests.often import examples
from tests.run.batching.test_rules import EXAMPLES, FLOATS, drawn, drawn_numbers
from wengert.arrays import HOST, all_quiet
from wengert.arrays.abstract import UNKNOWN, Aval, RowCount, broadcast_sizes, indexed_sizes
from wengert.arrays.contraction import in_order
from wengert.arrays.infer import aval_of, infer, infers
from wengert.arrays.kernels import joined
from wengert.program.program import mapped

from .drawn import lowered

N = RowCount()
# The functions that equations call without a rule: those that put lazy deltas together, which a weight may get.
LAZY = {"LazyDelta", "Product", "Rows", "_add"}
# Operations whose rules look at values, so that they are called as they are: gaps of eigenvalues, and ranks.
BY_VALUES = {"eigh", "eigvalsh", "matrix_norm", "matrix_rank", "pinv", "qr", "svd", "svdvals"}


def agrees(name: str, aval: Aval, found: Any) -> None:
    """P3: shape, element type, form and layout."""
    if aval.form == "other" or aval is UNKNOWN:
        return
    real = aval_of(found)
    assert (aval.shape, aval.form) == (real.shape, real.form), name
    assert aval.dtype == real.dtype, name
    if aval.form == "array" and found.size > 1:
        known = {"compact": ("compact",), "gaps": ("compact", "gaps"), "other": ("compact", "gaps", "other")}
        assert real.order in known[aval.order], f"{name}: said to be {aval.order}, strides {found.strides}"


@pytest.mark.parametrize("name", EXAMPLES)
@examples(10, nightly=100)
@given(data=st.data())
def test_every_equation_gives_what_was_inferred(name: str, data: st.DataObject) -> None:
    x = drawn(name, data)
    for root in x if isinstance(x, tuple) else (x,):
        program = lowered(root)
        assert program.opaque <= LAZY or name in BY_VALUES, f"called as they are: {program.opaque}"
        for function, aval, found in program.steps():
            agrees(function, aval, found)


@pytest.mark.parametrize("name", FLOATS)
@examples(5, nightly=100)
@given(data=st.data())
def test_every_equation_of_numbers_gives_what_was_inferred(name: str, data: st.DataObject) -> None:
    program = lowered(drawn_numbers(name, data))
    assert not program.opaque
    for function, aval, found in program.steps():
        agrees(function, aval, found)


@examples(300, nightly=3000)
@given(x=npst.arrays(np.float32, npst.array_shapes(max_dims=4, max_side=4)), data=st.data())
def test_indexing(x: np.ndarray[Any, Any], data: st.DataObject) -> None:
    """Basic keys of every sort, on arrays in C order, with gaps, and transposed."""
    x = data.draw(st.sampled_from((x, x[..., ::2], x.T, x[::-1])))
    key = data.draw(npst.basic_indices(x.shape, allow_newaxis=True))
    agrees("getitem", infer(operator.getitem, (aval_of(x), key), {}), x[key])


@examples(200, nightly=3000)
@given(shapes=npst.mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=3), data=st.data())
def test_layouts_that_meet(shapes: npst.BroadcastableShapes, data: st.DataObject) -> None:
    """Results made element by element lie as numpy lays them, whatever lies how."""
    first, second = (
        np.ones(shape[::-1], np.float32).T if data.draw(st.booleans()) else np.ones(shape, np.float32)
        for shape in shapes.input_shapes
    )
    agrees("add", infer(operator.add, (aval_of(first), aval_of(second)), {}), first + second)
    agrees("exp", infer(np.exp, (aval_of(first),), {}), np.exp(first))


def laid(x: np.ndarray[Any, Any], data: st.DataObject) -> Any:  # Any: an array of any shape
    """The elements of an array in another layout."""
    turned = np.transpose(x, data.draw(st.permutations(range(x.ndim))))
    return data.draw(st.sampled_from((turned, turned[::-1], turned[..., ::2])))


CALLS: dict[str, Callable[[Any, int], tuple[Any, ...]]] = {  # Any: a function and its arguments
    "sum": lambda x, axis: (np.add.reduce, x, {"axis": axis, "keepdims": axis % 2 == 0}),
    "sum_to": lambda x, axis: (HOST.sum_to, x, (*x.shape[:axis], 1, *x.shape[axis + 1 :])),
    "sum_to of fewer axes": lambda x, axis: (HOST.sum_to, x, x.shape[axis + 1 :]),
    "in_order": lambda x, axis: (in_order, x, np.ones((x.shape[-1], 2), x.dtype)),
    "in_order to the left": lambda x, axis: (in_order, np.ones(x.shape[-2], x.dtype), x),
    "take": lambda x, axis: (HOST.take, x, np.zeros((2, 1), int), axis),
    "joined": lambda x, axis: (joined, (x, x), axis),
    "joined with C order": lambda x, axis: (joined, (x, np.ones(x.shape, x.dtype)), axis),
    "stack": lambda x, axis: (HOST.stack, (x, x), axis),
    "cumsum": lambda x, axis: (HOST.cumsum, x, {"axis": axis}),
    "softmax": lambda x, axis: (HOST.softmax, x, {"axis": axis}),
    "roll": lambda x, axis: (HOST.roll, x, 1, {"axis": axis}),
    "pad": lambda x, axis: (HOST.pad, x, ((1, 0),) * x.ndim, 0.0),
    "where": lambda x, axis: (np.where, x > 0, x, 0.0),
    "astype": lambda x, axis: (HOST.astype, x, np.dtype(np.float64)),
    "nonzero_safe": lambda x, axis: (HOST.nonzero_safe, x, x),
    "squeeze": lambda x, axis: (HOST.squeeze, x[(slice(None),) * axis + (slice(1),)], {"axis": axis}),
    "expand_dims": lambda x, axis: (HOST.expand_dims, x, {"axis": axis}),
    "reshape": lambda x, axis: (HOST.reshape, x, (-1, x.shape[-1])),
    "broadcast_to": lambda x, axis: (HOST.broadcast_to, x, (2, *x.shape)),
    "take_along_axis": lambda x, axis: (HOST.take_along_axis, x, np.zeros(x.shape, int), axis),
}


@pytest.mark.parametrize("name", CALLS)
@examples(60, nightly=600)
@given(x=npst.arrays(np.float32, npst.array_shapes(min_dims=2, max_dims=5, max_side=4)), data=st.data())
def test_layouts_of_results(name: str, x: np.ndarray[Any, Any], data: st.DataObject) -> None:
    """What is said to be in C order is, whatever the order of an operand's axes: sums are rounded by it."""
    operand = laid(x, data)
    function, *given = CALLS[name](operand, data.draw(st.integers(0, x.ndim - 1)))
    options = given.pop() if isinstance(given[-1], dict) else {}
    abstract = [mapped(lambda y: aval_of(y) if isinstance(y, np.ndarray) else y, y) for y in given]
    with all_quiet():
        agrees(name, infer(function, abstract, options), function(*given, **options))


def test_a_wrong_rule_is_found() -> None:
    """The check itself: a function whose rule forgets that the sizes change places."""

    def swapped(x: Any) -> Any:
        return x.T

    infers(swapped)(lambda f, x: x)
    x = np.ones((2, 3))
    with pytest.raises(AssertionError, match="swapped"):
        agrees("swapped", infer(swapped, (aval_of(x),), {}), swapped(x))


def test_a_wrong_layout_is_found() -> None:
    with pytest.raises(AssertionError, match="said to be compact"):
        agrees("transposed", Aval((3, 2), np.dtype(np.float64)), np.ones((2, 3)).T)


def test_no_rule_no_guess() -> None:
    with pytest.raises(TypeError, match="no shape is known of what len gives"):
        infer(len, (Aval((2,), np.dtype(np.float32)),), {})
    assert infer(len, (UNKNOWN,), {}) is UNKNOWN


class TestRowCount:
    def test_sizes_of_results(self) -> None:
        assert infer(HOST.reshape, (Aval((N, 2, 3), np.dtype("f4")), (N, 6)), {}).shape == (N, 6)
        assert infer(HOST.reshape, (Aval((N, 2, 3), np.dtype("f4")), (-1, 3)), {}).shape == (2 * N, 3)
        assert infer(np.dot, (Aval((N, 2), np.dtype("f4")), Aval((2, 5), np.dtype("f4"))), {}).shape == (N, 5)
        assert broadcast_sizes((N, 1, 3), (4, 1)) == (N, 4, 3)
        assert indexed_sizes((N, 4), (slice(None), 1)) == (N,)

    @pytest.mark.parametrize(
        "function",
        [
            lambda: N + 1,
            lambda: 3 * N // 2,
            lambda: N % 2,
            lambda: indexed_sizes((N, 4), (slice(1, None),)),
            lambda: broadcast_sizes((N,), (3,)),
            lambda: range(N),  # type: ignore[call-overload] # what is refused
        ],
    )
    def test_what_depends_on_the_number_of_rows_is_refused(self, function: Any) -> None:
        with pytest.raises(TypeError):
            function()

    def test_arithmetic(self) -> None:
        assert (N + N, 2 * N * 3, 6 * N // 3, 4 * N % 2) == (2 * N, 6 * N, 2 * N, 0)
        assert sum([N, N, N]) == 3 * N
        assert N > 100
        assert not N > 101
        assert N <= 2 * N
