"""Operations at the points where formulas break: infinities, NaN, zeros of both signs, ties, nothing at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wengert as wg
from wengert.arrays import HOST
from wengert.errors import ArgumentError, DTypeError, ShapeError
from wengert.graph.operation import OPERATIONS
from wengert.testing import check_gradients

from .test_gradients import SETTINGS, weight_of
from .test_rows import deltas_of, pull

INF, NAN = math.inf, math.nan
POINTS = [INF, -INF, NAN, 0.0, -0.0]


def everywhere(name: str, points: list[float]) -> list[tuple[float, float]]:
    """Value and derivative of an operation at points: the same in every column, the sign of a 0 too."""
    call = getattr(wg, name)
    found = []
    for point in points:
        arrays = (np.array([point]), np.array([point], np.float32), np.array(point))
        columns: tuple[Any, ...] = (point, np.float32(point), *arrays)  # Any: data of every column
        pairs = []
        for x in columns:
            value = np.asarray(call(weight_of(x)).predict().run(), np.float64)
            delta = np.asarray(pull(call, 1.0, x)[0], np.float64)
            pairs.append((value.item(), delta.item()))
        first = np.array(pairs[0])
        for pair in pairs[1:]:
            assert_allclose(np.array(pair), first, rtol=1e-6)
            assert pair[0] != 0.0 or math.copysign(1.0, pair[0]) == math.copysign(1.0, first[0])
        found.append(pairs[0])
    return found


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("log1p", [(INF, 0.0), (NAN, 0.0), (NAN, NAN), (0.0, 1.0), (-0.0, 1.0)]),
        ("expm1", [(INF, INF), (-1.0, 0.0), (NAN, NAN), (0.0, 1.0), (-0.0, 1.0)]),
        ("sin", [(NAN, NAN), (NAN, NAN), (NAN, NAN), (0.0, 1.0), (-0.0, 1.0)]),
        ("cos", [(NAN, NAN), (NAN, NAN), (NAN, NAN), (1.0, -0.0), (1.0, 0.0)]),
        ("erf", [(1.0, 0.0), (-1.0, 0.0), (NAN, NAN), (0.0, 1.1283791670955126), (-0.0, 1.1283791670955126)]),
        ("softplus", [(INF, 1.0), (0.0, 0.0), (NAN, NAN), (math.log(2), 0.5), (math.log(2), 0.5)]),
        ("silu", [(INF, 1.0), (-0.0, 0.0), (NAN, NAN), (0.0, 0.5), (-0.0, 0.5)]),
        ("gelu", [(INF, 1.0), (-0.0, 0.0), (NAN, NAN), (0.0, 0.5), (-0.0, 0.5)]),
    ],
)
def test_where_formulas_break(name: str, wanted: list[tuple[float, float]]) -> None:
    for got, want in zip(everywhere(name, POINTS), wanted, strict=True):
        assert_allclose(got, want, rtol=1e-15)
        assert got[0] != 0.0 or math.copysign(1.0, got[0]) == math.copysign(1.0, want[0])


def test_far_from_zero() -> None:
    assert everywhere("softplus", [800.0, -800.0]) == [(800.0, 1.0), (0.0, 0.0)]
    assert everywhere("silu", [800.0, -1e30]) == [(800.0, 1.0), (-0.0, 0.0)]
    assert everywhere("gelu", [40.0, -1e30]) == [(40.0, 1.0), (-0.0, 0.0)]
    assert everywhere("log1p", [-1.0]) == [(-INF, INF)]


@pytest.mark.parametrize(
    ("call", "points"),
    [(wg.log1p, (-1.0, -2.0)), (wg.expm1, (1e4,)), (wg.sin, (INF,)), (wg.cos, (-INF,))],
)
def test_a_delta_of_zero_stays_zero(call: Any, points: tuple[float, ...]) -> None:
    """Any: an operation. Where `where` leaves a point out, an infinite local derivative does not show (D36)."""
    for point in points:
        for x in (point, np.float32(point), np.array([point, 0.5])):
            w = weight_of(x)
            kept = wg.where(wg.greater(w * 0.0, 1.0), call(w), w * 0.0 if abs(point) < INF else 0.0 * w)
            loss = wg.sum(kept) if isinstance(kept, wg.ArrayLayer) else kept
            if abs(point) < INF:
                assert not np.any(deltas_of(loss, w)[0])
    w = SETTINGS.array_weight(np.array([INF, 0.25, -1.0], np.float64))
    (delta,) = deltas_of(wg.sum(wg.where(np.array([False, True, False]), call(w), 0.0)), w)
    assert delta[0] == delta[2] == 0.0 != delta[1]


def test_erf_is_exact_to_two_units_in_the_last_place() -> None:
    points = np.concatenate(
        [np.linspace(-7, 7, 40_001), np.logspace(-30, 1, 1001), 1 + np.linspace(-1e-3, 1e-3, 101)]
    )
    for dtype in (np.float64, np.float32):
        x = points.astype(dtype)
        wanted = np.array([math.erf(v) for v in x.tolist()])
        found = HOST.erf(x)
        assert found.dtype == dtype
        assert np.max(np.abs(found - wanted) / np.spacing(np.abs(wanted).astype(dtype))) <= 2.0
    with pytest.raises(TypeError):
        HOST.erf(points.astype(np.complex128))
    assert HOST.erf(np.zeros((0, 3))).shape == (0, 3)
    large = np.linspace(-3, 3, 100_000).reshape(100, 1000).T
    assert_array_equal(HOST.erf(large), HOST.erf(large.copy().reshape(-1)).reshape(large.shape))


def test_gelu_in_both_tails() -> None:
    x = np.linspace(-9, 9, 361)
    wanted = np.array([v * 0.5 * math.erfc(-v / math.sqrt(2.0)) for v in x.tolist()])
    assert_allclose(wg.gelu(x).predict().run(), wanted, rtol=1e-15, atol=1e-15)
    numbers = [wg.gelu(v).predict().run() for v in x.tolist()]
    assert_allclose(numbers, wanted, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_the_gate_of_gelu_is_not_computed_again(approximate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    w: wg.ArrayWeight[Any, np.float64] = weight_of(np.array([-1.0, 0.5]))
    usual: Any = HOST.erf if approximate == "none" else HOST.tanh

    def counted(x: Any) -> Any:
        calls.append(x)
        return usual(x)

    monkeypatch.setattr(HOST, "erf" if approximate == "none" else "tanh", counted)
    wg.gradients(wg.sum(wg.gelu(w, approximate=approximate)), [w]).run(wg.run.Sequential(compiled=False))
    assert len(calls) == 1


def test_gelu_by_tanh() -> None:
    x = np.linspace(-4, 4, 33)
    near = wg.gelu(x, approximate="tanh").predict().run()
    assert_allclose(near, x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), rtol=1e-13)
    assert 1e-5 < np.abs(near - wg.gelu(x).predict().run()).max() < 1e-3
    check_gradients(lambda x: wg.gelu(x, approximate="tanh"), x)
    check_gradients(lambda x: wg.gelu(x, approximate="tanh"), 0.7)
    w = SETTINGS.array_weight(np.array([INF, -INF, 1e30, -1e30], np.float32))
    tanh = wg.gelu(w, approximate="tanh")
    assert tanh.predict().run().tolist() == [INF, -0.0, np.float32(1e30), -0.0]
    assert deltas_of(wg.sum(tanh), w)[0].tolist() == [1.0, 0.0, 1.0, 0.0]
    wrong: Any = "fast"  # Any: refused on purpose
    with pytest.raises(
        ArgumentError, match=r"gelu: approximate is 'none' or 'tanh', got 'fast'\n  at .*\.py:"
    ):
        wg.gelu(x, approximate=wrong)


@pytest.mark.parametrize("g", [1.0, -3.0])
def test_clip_at_its_ends(g: float) -> None:
    """As minimum(maximum(x, low), high): one goes to what was chosen, a tie is split."""
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, NAN], np.float64)
    low, high = np.full(6, -1.0), np.full(6, 1.0)
    deltas = pull(wg.clip, g, x, low, high)
    assert deltas[0].tolist() == [0.0, g / 2, g, g / 2, 0.0, 0.0]
    assert deltas[1].tolist() == [g, g / 2, 0.0, 0.0, 0.0, 0.0]
    assert deltas[2].tolist() == [0.0, 0.0, 0.0, g / 2, g, 0.0]
    composed = pull(lambda x, a, b: wg.minimum(wg.maximum(x, a), b), g, x, low, high)
    for delta, same in zip(deltas, composed, strict=True):
        assert_array_equal(delta, same)
    assert_array_equal(wg.clip(x, -1.0, 1.0).predict().run(), np.clip(x, -1.0, 1.0))
    for number, wanted in ((-2.0, 0.0), (-1.0, g / 2), (0.5, g), (1.0, g / 2)):
        assert pull(lambda x: wg.clip(x, -1.0, 1.0), g, number) == [wanted]
        assert pull(lambda x: wg.clip(x, -1.0, 1.0), np.float32(g), np.float32(number)) == [wanted]


def test_clip_without_a_bound() -> None:
    x = np.array([-INF, 0.5, INF], np.float64)
    for call in (wg.clip, lambda x: wg.clip(x, None, None)):
        assert call(x).predict().run().tolist() == x.tolist()
        assert pull(call, 2.0, x)[0].tolist() == [2.0, 2.0, 2.0]
    assert wg.clip(x, max=0.0).predict().run().tolist() == [-INF, 0.0, 0.0]
    assert wg.clip(x, 0.0).predict().run().tolist() == [0.0, 0.5, INF]
    assert pull(lambda x: wg.clip(x, max=0.0), 2.0, x)[0].tolist() == [2.0, 0.0, 0.0]
    with pytest.raises(ArgumentError, match=r"clip: min 2.0 is greater than max 1.0\n  at .*\.py:"):
        wg.clip(x, 2.0, 1.0)  # type: ignore[value] # refused there too


def test_a_product_with_zeros() -> None:
    assert pull(wg.prod, 2.0, np.array([3.0, 0.0, 5.0]))[0].tolist() == [0.0, 30.0, 0.0]
    assert pull(wg.prod, 2.0, np.array([0.0, 0.0, 5.0]))[0].tolist() == [0.0, 0.0, 0.0]
    x = np.array([[3.0, 0.0], [0.0, 0.0], [2.0, 5.0]])
    rows = pull(lambda x: wg.prod(x, axis=1), np.array([1.0, 1.0, 2.0]), x)[0]
    assert rows.tolist() == [[0.0, 3.0], [0.0, 0.0], [10.0, 4.0]]
    check_gradients(lambda x: wg.prod(x, axis=(0, -1), keepdims=True), np.stack([x, x + 1.0], axis=1))
    # neither too large nor too small to divide by is ever divided by
    assert pull(wg.prod, 1.0, np.array([1e200, 1e200]))[0].tolist() == [1e200, 1e200]
    assert pull(wg.prod, 1.0, np.array([1e-200, 1e-200]))[0].tolist() == [1e-200, 1e-200]
    assert pull(wg.prod, 1.0, np.array([INF, 2.0]))[0].tolist() == [2.0, INF]


def test_nothing_is_reduced() -> None:
    empty = SETTINGS.array_weight(np.zeros((0, 3)))
    wanted = {"prod": 1.0, "logsumexp": -INF, "var": NAN, "std": NAN}
    for name, value in wanted.items():
        call = getattr(wg, name)
        assert_array_equal(call(empty).predict().run(), value)
        assert_array_equal(call(empty, axis=0).predict().run(), [value] * 3)
        assert call(empty, axis=1).predict().run().shape == (0,)
        assert deltas_of(call(empty), empty)[0].shape == (0, 3)
        assert deltas_of(wg.sum(call(empty, axis=1)), empty)[0].shape == (0, 3)
    assert wg.cumulative_sum(empty, axis=0).predict().run().shape == (0, 3)
    for name in ("erf", "softplus", "silu", "gelu", "sin"):
        assert getattr(wg, name)(empty).predict().run().shape == (0, 3)


def test_logsumexp_of_infinities_and_of_large_numbers() -> None:
    x = np.array([[INF, 1.0, INF], [-INF, -INF, -INF], [1e17, 1e17, 0.0], [-INF, 0.0, 0.0]], np.float64)
    w = SETTINGS.array_weight(x)
    found = wg.logsumexp(w, axis=1)
    assert_allclose(found.predict().run(), [INF, -INF, 1e17, math.log(2.0)])
    (delta,) = deltas_of(wg.sum(found), w)
    assert_allclose(delta, [[0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0], [0, 0.5, 0.5]])
    masked = wg.where(np.array([True, False, True, True]), found, 0.0)
    assert deltas_of(wg.sum(masked), w)[0][1].tolist() == [0.0, 0.0, 0.0]
    (nan,) = pull(wg.logsumexp, 1.0, np.array([NAN, 0.0]))
    assert np.isnan(nan).all()


def test_deviation_of_what_does_not_vary() -> None:
    x = np.array([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]], np.float64)
    w = SETTINGS.array_weight(x)
    spread = wg.std(w, axis=1)
    assert_allclose(spread.predict().run(), [0.0, math.sqrt(2 / 3)])
    (delta,) = deltas_of(wg.sum(spread), w)
    assert delta[0].tolist() == [0.0, 0.0, 0.0]
    assert_allclose(delta[1], np.array([-1.0, 0.0, 1.0]) / 3 / math.sqrt(2 / 3))
    masked = wg.where(wg.greater(wg.var(w, axis=1), 0.0), spread, 0.0)
    assert_array_equal(deltas_of(wg.sum(masked), w)[0], delta)
    for name in ("var", "std"):
        assert pull(getattr(wg, name), 1.0, 3.0) == [0.0]
        assert getattr(wg, name)(weight_of(3.0)).predict().run() == 0.0
        assert math.isnan(getattr(wg, name)(weight_of(3.0), correction=1).predict().run())


def test_more_corrected_than_counted() -> None:
    w = SETTINGS.array_weight(np.array([[1.0], [2.0]], np.float64))
    assert_array_equal(wg.var(w, axis=1, correction=1).predict().run(), [NAN, NAN])
    assert wg.var(w, correction=2).predict().run() == INF
    masked = wg.where(np.array([False, False]), wg.std(w, axis=1, correction=1), 0.0)
    assert deltas_of(wg.sum(masked), w)[0].tolist() == [[0.0], [0.0]]
    wrong: Any = "1"  # Any: refused on purpose
    with pytest.raises(ArgumentError, match="var: correction is a finite number, 0 or mostly 1; got '1'"):
        wg.var(w, correction=wrong)


def test_a_mask_has_a_sum_but_no_other_reduction() -> None:
    mask: Any = wg.greater(weight_of(np.ones(3)), 0.0)  # Any: refused on purpose
    for name in ("mean", "prod", "var", "std", "logsumexp"):
        with pytest.raises(DTypeError, match=rf"{name}: a mask \(bool\) has no derivative"):
            getattr(wg, name)(mask)


def test_astype_in_every_column() -> None:
    single, double = np.float32, np.float64
    w = SETTINGS.array_weight(np.array([1.0, 1 / 3], np.float64))
    narrow = wg.astype(w, single)
    assert narrow.predict().run().tolist() == [1.0, float(single(1 / 3))]
    (delta,) = deltas_of(wg.sum(narrow * single(0.1)), w)
    assert delta.dtype == double
    assert delta.tolist() == [float(single(0.1))] * 2
    back = wg.astype(narrow, np.dtype(double))
    assert (back.dtype, back.predict().run().dtype) == (np.dtype(double), np.dtype(double))
    d, f = SETTINGS.double_weight(1 / 3), SETTINGS.float_weight(0.5)
    assert isinstance(wg.astype(d, single), wg.FloatLayer)
    assert isinstance(wg.astype(f, double), wg.DoubleLayer)
    assert wg.astype(d, single).predict().run() == single(1 / 3)
    assert type(wg.astype(f, double).predict().run()) is float
    assert deltas_of(wg.astype(d, single) * single(0.1), d) == [float(single(0.1))]
    (of_float,) = deltas_of(wg.astype(f, double) * 0.1, f)
    assert type(of_float) is single
    assert of_float == single(0.1)
    assert wg.astype(2.0, single).predict().run() == single(2.0)


@pytest.mark.parametrize(
    ("dtype", "said"),
    [
        (np.int64, "int64"),
        (np.float16, "float16"),
        (np.bool, "bool"),
        (np.dtype(">f4"), ">f4"),
        (int, "<class 'int'>"),
        ("float32", "'float32'"),
        (None, "None"),
    ],
)
def test_astype_to_what_is_not_differentiated(dtype: Any, said: str) -> None:
    """Any: refused on purpose."""
    for x in (weight_of(np.ones(2)), weight_of(1.0)):
        with pytest.raises(DTypeError) as caught:
            wg.astype(x, dtype)
        assert str(caught.value).startswith(
            f"astype: {said} is not differentiable; use numpy.float32 or numpy.float64; for other values convert"
        )
        assert f"\n  at {__file__}:" in str(caught.value)
    with pytest.raises(AttributeError, match=r"has no astype: write astype\(x, dtype\)"):
        weight_of(np.ones(2)).astype  # noqa: B018 -- asked for on purpose


def test_conversion_of_an_expression_with_a_numerical_jacobian() -> None:
    """Complex numbers would lose their imaginary part silently; they are refused, and differences are taken."""
    assert check_gradients(lambda x: wg.astype(x, np.float64) * 3.0, np.ones(2)).method == "differences"


def test_dropout_is_a_function_of_shape_and_seed() -> None:
    x = np.ones((40, 50), np.float32)
    first = wg.dropout(x, 0.25, seed=3)
    value = first.predict().run()
    assert_array_equal(value, first.predict().run())
    assert_array_equal(value, wg.dropout(x, 0.25, seed=3).predict().run())
    assert_array_equal(
        value, wg.dropout(x.astype(np.float64), 0.25, seed=(3,)).predict().run().astype(np.float32)
    )
    assert set(np.unique(value).tolist()) == {0.0, float(np.float32(4 / 3))}
    others: tuple[Any, ...] = (4, (3, 1), np.int64(5))  # Any: an integer of numpy is for checkers no int
    for other in others:
        assert not np.array_equal(value, wg.dropout(x, 0.25, seed=other).predict().run())
    assert 0.7 < np.count_nonzero(value) / value.size < 0.8


def test_dropout_forward_and_backward_agree() -> None:
    x = np.arange(1.0, 101.0)
    w = SETTINGS.array_weight(x)
    dropped = wg.dropout(w, 0.5, seed=1)
    value = dropped.predict().run()
    (delta,) = deltas_of(wg.sum(dropped), w)
    assert_array_equal(delta * x, value)
    assert set(delta.tolist()) == {0.0, 2.0}
    assert_array_equal(wg.dropout(w, 0.0, seed=1).predict().run(), x)
    assert pull(lambda x: wg.dropout(x, 0.0, seed=1), 3.0, x)[0].tolist() == [3.0] * 100


def test_dropout_draws_in_the_run_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, ...]] = []
    mask = HOST.dropout_mask

    def counting(shape: tuple[int, ...], *rest: Any) -> Any:  # Any: the mask's dtype, rate and seed
        drawn.append(shape)
        return mask(shape, *rest)

    monkeypatch.setattr(HOST, "dropout_mask", counting)
    w = SETTINGS.array_weight(np.ones((2, 3)))
    loss = wg.sum(wg.dropout(w, 0.5, seed=1))
    assert drawn == []
    loss.train().run()
    assert drawn == [(2, 3)]


def test_steps_share_one_signature() -> None:
    w = SETTINGS.array_weight(np.ones((2, 3)))
    wg.dropout(w, 0.5, seed=(0, 1))
    before = len(OPERATIONS["dropout"].signatures)
    for step in range(1, 50):
        wg.dropout(w, 0.5 / step, seed=(step, 1))
    assert len(OPERATIONS["dropout"].signatures) == before


@pytest.mark.parametrize("rate", [1.0, -0.1, NAN, "0.5", None])
def test_a_rate_that_is_none(rate: Any) -> None:
    """Any: refused on purpose."""
    with pytest.raises(
        ArgumentError, match=r"dropout: the rate is a number from 0 to less than 1.*\n  at .*\.py:"
    ):
        wg.dropout(np.ones(3), rate, seed=1)


@pytest.mark.parametrize("seed", [-1, 1.0, True, (), (1, -1), [1], None, 2**63])
def test_a_seed_that_is_none(seed: Any) -> None:
    """Any: refused on purpose."""
    with pytest.raises(ArgumentError, match=r"dropout: the seed is an integer from 0 .*\n  at .*\.py:"):
        wg.dropout(np.ones(3), 0.5, seed=seed)


def test_scalars_have_no_lines_and_no_mask() -> None:
    scalar: Any = weight_of(2.0)  # Any: refused on purpose
    with pytest.raises(ShapeError, match="cumulative_sum: expected an array, got a scalar"):
        wg.cumulative_sum(scalar)
    with pytest.raises(ShapeError, match="dropout: expected an array, got a scalar"):
        wg.dropout(scalar, 0.5, seed=1)
    for name in ("prod", "var", "std", "logsumexp"):
        with pytest.raises(ShapeError, match=rf"{name}: axis 0 is out of range for a scalar"):
            getattr(wg, name)(scalar, axis=0)


@pytest.mark.parametrize("size", [1e4, 30.0])
def test_losses_and_activations_of_great_logits(size: float) -> None:
    """In float32 nothing overflows, and a small loss keeps its digits."""
    x = np.array([size, -size], np.float32)
    w, right, wrong = weight_of(x), np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)
    small = math.log1p(math.exp(-size))
    each = [
        wg.binary_cross_entropy_with_logits(w, t, reduction="none").predict().run() for t in (right, wrong)
    ]
    assert_allclose(each, [[small, small], [size, size]], rtol=1e-6)
    assert_allclose(wg.log_sigmoid(w).predict().run(), [-small, -size], rtol=1e-6)
    for name in ("mish", "elu", "celu", "selu", "hardswish", "softsign", "leaky_relu", "log_sigmoid"):
        layer = getattr(wg, name)(w)
        assert np.isfinite(layer.predict().run()).all()
        assert np.isfinite(deltas_of(wg.sum(layer), w)[0]).all()
    rows = weight_of(np.array([[size, -size, 0.0]], np.float32))
    hot: Any  # Any: of a computed shape
    for label, expected in ((0, math.log1p(math.exp(-size) + math.exp(-2 * size))), (1, 2 * size)):
        labels, hot = np.array([label]), np.eye(3, dtype=np.float32)[[label]]
        logs = wg.log_softmax(rows)
        losses = [
            wg.cross_entropy(rows, labels),
            wg.nll_loss(logs, labels),
            wg.softmax_cross_entropy(rows, hot),
        ]
        losses += [
            wg.cross_entropy(rows, labels, ignore_index=7),
            wg.kl_div(logs, hot, reduction="batchmean"),
        ]
        for loss in losses:
            assert_allclose(loss.predict().run(), expected, rtol=1e-5, atol=1e-9)
            assert np.isfinite(deltas_of(loss, rows)[0]).all()


@pytest.mark.parametrize("size", [1e4, 1.0])
def test_losses_of_great_numbers_in_float32_are_those_in_float64(size: float) -> None:
    """Hinge, cosine, triplet and CTC: values and derivatives, of numbers that are exact in both."""
    grid = np.random.default_rng(0).integers(-4, 5, (3, 6, 4)) * (size / 4)
    signs, texts = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0]), np.array([[1, 2, 2], [3, 1, 1]])
    steps, letters = np.array([6, 5]), np.array([3, 1])
    found: list[list[Any]] = []  # Any: arrays of two types
    types: list[Any] = [np.float32, np.float64]  # Any: two classes
    for dtype in types:
        parts = [weight_of(x.astype(dtype)) for x in grid]
        a, b, c = parts
        logits = weight_of(np.moveaxis(grid[:2], 0, 1).astype(dtype))
        t: Any = signs.astype(dtype)  # Any: of one of the two
        rows: Any = np.repeat(t[:, None], 4, axis=1)  # Any: as it
        losses: list[tuple[Any, list[Any]]] = [  # Any: layers and weights of two types
            (wg.hinge_loss(a, rows), [a]),
            (wg.hinge_embedding_loss(a, rows), [a]),
            (wg.cosine_embedding_loss(a, b, t), [a, b]),
            (wg.triplet_margin_loss(a, b, c), parts),
            (wg.triplet_margin_loss(a, b, c, swap=True), parts),
            (wg.ctc_loss(wg.log_softmax(logits), texts, steps, letters), [logits]),
        ]
        found.append(
            [
                part
                for loss, by in losses
                for part in (loss.predict().run(), *(deltas_of(loss, w)[0] for w in by))
            ]
        )
    for narrow, wide in zip(*found, strict=True):
        assert np.isfinite(narrow).all() and narrow.dtype == np.float32
        assert_allclose(narrow, wide, rtol=2e-5, atol=2e-6 * float(abs(wide).max() or 1))


def test_a_class_without_a_chance_takes_part_in_no_loss_of_another() -> None:
    w = SETTINGS.array_weight(np.array([[-INF, 0.0, 0.0]], np.float64))
    loss = wg.cross_entropy(w, np.array([1]), weight=np.array([1.0, 2.0, 1.0], np.float64), reduction="sum")
    assert_allclose(loss.predict().run(), 2.0 * math.log(2.0))
    assert_allclose(deltas_of(loss, w)[0], [[0.0, -1.0, 1.0]])
