"""Every function over numpy against the plain formula, element types and layouts kept or allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.testing import assert_allclose, assert_array_equal

from wengert.arrays import HOST, Shape, all_quiet
from wengert.arrays.axes import broadcast_axes, count, expanded
from wengert.arrays.changes import carry_out

from .samples import IEEE, Sample, arrays, tolerance

UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": abs,
    "sign": np.sign,
    "sqrt": lambda x: x**0.5,
    "square": lambda x: x * x,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "expm1": np.expm1,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    **{name: getattr(np, name) for name in ("asinh", "atan", "floor", "ceil", "trunc", "round")},
    **{name: getattr(np, name) for name in ("log2", "log10", "exp2")},
    "acosh": lambda x: np.log(x + np.sqrt(x * x - 1.0)),
    "erf": np.vectorize(math.erf, otypes=[float]),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "relu": lambda x: np.where(x > 0, x, 0),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "pow": lambda a, b: a**b,
    "divide": lambda a, b: a / b,
    "hypot": lambda a, b: np.sqrt(a * a + b * b),
    "logaddexp": lambda a, b: np.log(np.exp(a) + np.exp(b)),
    "copysign": lambda a, b: np.where(np.signbit(a) == np.signbit(b), a, -a),
    **{name: getattr(np, name) for name in ("atan2", "remainder", "floor_divide")},
    "maximum": lambda a, b: np.where(a > b, a, b),
    "minimum": lambda a, b: np.where(a < b, a, b),
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "logical_and": lambda a, b: (a != 0) & (b != 0),
    "logical_or": lambda a, b: (a != 0) | (b != 0),
}
POSITIVE = {"sqrt", "log", "log1p", "log2", "log10"}


def close(got: Any, wanted: Any, dtype: np.dtype[Any]) -> None:
    assert got.dtype == dtype
    assert got.shape == np.shape(wanted)
    assert_allclose(got, wanted, rtol=tolerance(dtype), atol=tolerance(dtype))


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
def test_unary(name: str, data: st.DataObject) -> None:
    x = data.draw(arrays(low=1.25 if name == "acosh" else 0.25 if name in POSITIVE else -10))
    before = x.copy()
    close(getattr(HOST, name)(x), UNARY[name](x.astype(np.longdouble)), x.dtype)
    assert_array_equal(x, before)


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_binary(name: str, data: st.DataObject) -> None:
    a = data.draw(arrays(low=0.25 if name == "pow" else -10, high=4))
    b = data.draw(
        arrays(
            st.just(a.shape),
            low=0.25 if name in ("divide", "remainder", "floor_divide") else -3,
            high=4,
            dtype=a.dtype,
        )
    )
    wanted = BINARY[name](a.astype(np.longdouble), b.astype(np.longdouble))
    got = getattr(HOST, name)(a, b)
    assert got.dtype == (np.bool if wanted.dtype == np.bool else a.dtype)
    near = (
        {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-15}[a.dtype] if name == "logaddexp" else 0.0
    )  # log(0.99)
    assert_allclose(got, wanted, rtol=1e-5 if a.dtype == np.float32 else 1e-14, atol=near)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_python_numbers_are_weak(dtype: type[np.floating[Any]]) -> None:
    x = np.array([-1.0, 2.0], dtype)
    for got in (
        HOST.maximum(x, 0.0),
        HOST.divide(1.0, x),
        HOST.pow(x, 2),
        HOST.where(x > 0, x, 0.0),
        HOST.mean(x),
        HOST.relu(dtype(3)),
        HOST.sigmoid(dtype(3)),
    ):
        assert got.dtype == dtype


def test_no_warning_from_ieee_values_in_a_quiet_scope() -> None:
    x = np.array(IEEE)
    with all_quiet():
        for name in UNARY:
            getattr(HOST, name)(x)
        assert_array_equal(HOST.sigmoid(np.array([-800.0, 800.0, -np.inf, np.inf])), [0.0, 1.0, 0.0, 1.0])
    assert np.isnan(HOST.maximum(np.nan, 1.0))
    assert np.isnan(HOST.minimum(1.0, np.nan))
    assert np.isnan(HOST.relu(np.array([np.nan])))


def axes_of(x: Sample) -> st.SearchStrategy[Any]:
    one: st.SearchStrategy[Any] = st.none()
    if x.ndim:
        one |= st.integers(-x.ndim, x.ndim - 1)
        one |= npst.valid_tuple_axes(x.ndim, min_size=1)
    return one


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "logsumexp": lambda x, axis, keepdims: np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@given(data=st.data())
def test_reductions(name: str, data: st.DataObject) -> None:
    x = data.draw(arrays(npst.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4)))
    axis, keepdims = data.draw(axes_of(x)), data.draw(st.booleans())
    wanted = REDUCTIONS[name](x.astype(np.longdouble), axis=axis, keepdims=keepdims)
    got = getattr(HOST, name)(x, axis=axis, keepdims=keepdims)
    assert got.dtype == x.dtype
    assert got.shape == wanted.shape
    assert_allclose(got, wanted, rtol=tolerance(x.dtype), atol=4 * tolerance(x.dtype))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_sums_of_nothing_are_zero(shape: Shape) -> None:
    x = np.zeros(shape, np.float32)
    for axis in (0, 1, -1, -2, (0, 1), None):
        got = HOST.sum(x, axis)
        assert_array_equal(got, np.sum(x, axis=axis))
        assert got.dtype == np.float32


def test_sums_longer_than_the_short_path_are_numpys() -> None:
    x = np.full((5000, 2), 0.1, np.float32)
    assert_array_equal(HOST.sum(x, 0), np.sum(x, axis=0))
    assert_array_equal(HOST.sum(x.T, 1), np.sum(x.T, axis=1))


def test_masks_are_counted() -> None:
    assert HOST.sum(np.array([[True, True], [False, True]]), 0).tolist() == [1, 2]


@given(data=st.data())
def test_softmax_family(data: st.DataObject) -> None:
    x = data.draw(arrays(npst.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    e = np.exp(x.astype(np.longdouble))
    wanted = e / np.sum(e, axis=axis, keepdims=True)
    close(HOST.softmax(x, axis), wanted, x.dtype)
    with all_quiet():  # the logarithm of an empty sum
        got = HOST.log_softmax(x, axis)
    assert got.dtype == x.dtype
    if not x.size:
        return
    assert_allclose(got, np.log(wanted), rtol=4 * tolerance(x.dtype), atol=10 * tolerance(x.dtype))


def test_softmax_family_far_from_zero() -> None:
    x = np.array([[1000.0, 1000.0], [-1000.0, -1000.0], [0.0, -np.inf]])
    assert_allclose(HOST.softmax(x), [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    assert_allclose(HOST.log_softmax(x)[:2], np.log(0.5))
    assert_allclose(HOST.logsumexp(x, 1), [1000 + np.log(2), -1000 + np.log(2), 0.0])
    with all_quiet():
        assert HOST.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
        assert HOST.logsumexp(np.array([np.inf, 0.0])) == np.inf
        assert HOST.logsumexp(np.zeros(0)) == -np.inf


@given(data=st.data())
def test_matmul(data: st.DataObject) -> None:
    shape = data.draw(
        npst.mutually_broadcastable_shapes(signature="(n?,k),(k,m?)->(n?,m?)", max_dims=2, max_side=3)
    )
    a = data.draw(arrays(st.just(shape.input_shapes[0])))
    b = data.draw(arrays(st.just(shape.input_shapes[1]), dtype=a.dtype))
    got = HOST.matmul(a, b)
    assert got.dtype == a.dtype
    assert got.shape == shape.result_shape
    assert_allclose(got, np.matmul(a.astype(np.longdouble), b.astype(np.longdouble)), rtol=tolerance(a.dtype))


@given(data=st.data())
def test_shapes(data: st.DataObject) -> None:
    x = data.draw(arrays())
    rank = x.ndim
    axes = tuple(data.draw(st.permutations(range(rank))))
    assert_array_equal(HOST.permute_dims(x, axes), np.transpose(x, axes))
    assert_array_equal(HOST.reshape(x, (x.size,)), np.ravel(x))
    if rank > 1:
        assert_array_equal(HOST.swap_last(x), np.swapaxes(x, -1, -2))
    axis = data.draw(st.integers(-rank - 1, rank) | npst.valid_tuple_axes(rank + 2, min_size=2, max_size=2))
    wide = HOST.expand_dims(x, axis)
    assert_array_equal(wide, np.expand_dims(x, axis))
    assert_array_equal(HOST.squeeze(wide, axis), x)
    place = data.draw(st.integers(-rank - 1, rank))
    assert_array_equal(HOST.stack([x, x, x], place), np.stack([x, x, x], place))
    assert HOST.zeros_like(x).tolist() == np.zeros(x.shape).tolist()
    if rank:
        axis = data.draw(st.integers(-rank, rank - 1))
        assert_array_equal(HOST.concat([x, x], axis), np.concatenate([x, x], axis))
        assert_array_equal(HOST.cumsum(x, axis), np.cumsum(x, axis))
        assert_array_equal(HOST.cumprod(x, axis), np.cumprod(x, axis))
        if x.shape[axis]:
            indices = data.draw(arrays_of_indices(x.shape[axis]))
            assert_array_equal(HOST.take(x, indices, axis), np.take(x, indices, axis))
            top = np.argmax(x, axis=axis, keepdims=True)
            assert_array_equal(HOST.take_along_axis(x, top, axis), np.max(x, axis=axis, keepdims=True))
        assert_array_equal(HOST.getitem(x, slice(1, None)), x[1:])


def arrays_of_indices(size: int) -> st.SearchStrategy[Any]:
    return npst.arrays(np.intp, npst.array_shapes(max_dims=2), elements=st.integers(-size, size - 1))


@given(data=st.data())
def test_sum_to_undoes_broadcasting(data: st.DataObject) -> None:
    other, small = data.draw(
        npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3)
    ).input_shapes
    g = data.draw(arrays(st.just(np.broadcast_shapes(small, other))))
    got = HOST.sum_to(g, small)
    assert got.dtype == g.dtype
    assert got.shape == small
    # the definition: the inner product with any x broadcast is the inner product of the sum with x
    x = data.draw(arrays(st.just(small), dtype=np.dtype(np.float64)))
    assert_allclose(
        np.vdot(got, x), np.sum(g * np.broadcast_to(x, g.shape), dtype=float), rtol=1e-5, atol=1e-5
    )


@given(data=st.data())
def test_broadcast_to_is_a_copy(data: st.DataObject) -> None:
    x = data.draw(arrays())
    shape = (2, *x.shape)
    got = HOST.broadcast_to(x, shape)
    assert_array_equal(got, np.broadcast_to(x, shape))
    assert got.flags.writeable
    assert got.dtype == x.dtype


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@given(data=st.data())
def test_all_finite(bad: float, data: st.DataObject) -> None:
    x = data.draw(arrays()).copy()
    assert HOST.all_finite(x)
    if x.size:
        x[np.unravel_index(data.draw(st.integers(0, x.size - 1)), x.shape)] = bad
        assert not HOST.all_finite(x)


def test_all_finite_where_the_square_overflows() -> None:
    assert HOST.all_finite(np.array([1e300, -1e300]))
    assert HOST.all_finite(np.array([1e30], np.float32))
    assert HOST.all_finite(np.float32(2))
    assert not HOST.all_finite(np.float32(np.inf))
    assert HOST.all_finite(np.array([True]))


def test_nonzero_safe_keeps_zero_deltas() -> None:
    g = np.array([0.0, 0.0, 1.0, 2.0], np.float32)
    with all_quiet():
        r = g * np.array([np.inf, np.nan, np.inf, 3.0], np.float32)
        got = HOST.nonzero_safe(g, r)
    assert_array_equal(got, np.array([0.0, 0.0, np.inf, 6.0], np.float32))
    assert got.dtype == np.float32
    assert HOST.nonzero_safe(g, g) is g


def test_updates_in_place() -> None:
    w = np.ones((2, 3), np.float32)
    carry_out(HOST.scaled_update(w, np.full((2, 3), 2.0, np.float32), 0.25))
    assert_array_equal(w, np.full((2, 3), 0.5, np.float32))
    with pytest.raises(TypeError):
        carry_out(HOST.scaled_update(np.float32(1), np.float32(1), 0.5))


def test_axes_refuse_what_is_none() -> None:
    assert expanded((4, 5), (0, -1)) == (1, 4, 5, 1)
    with pytest.raises(IndexError, match="axis 3 is out of range for the 3 axes of the result"):
        expanded((4, 5), 3)
    with pytest.raises(ValueError, match=r"axes \(0, -3\) name one axis of the result twice"):
        expanded((4,), (0, -3))
    assert broadcast_axes((5, 2, 3), (2, 1)) == (0, 2)
    assert count((4, 5, 6), None) == 120
    assert count((), None) == 1
