"""Convolution, pooling and padding: values that somebody wrote down, ties, infinities, and what is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import wengert as wg
from wengert.errors import ArgumentError, ShapeError, WengertError
from wengert.plugins import SGD

from .test_gradients import weight_of

IMAGE = np.ones((1, 3, 4, 5))
KERNEL = np.ones((2, 3, 2, 3))


def images(*shape: int) -> Any:  # Any: an array of the numbers from 1
    return np.arange(1.0, math.prod(shape) + 1).reshape(shape)


def delta_of(layer: Any, weight: Any) -> Any:  # Any: of an array layer, at an array weight
    (delta,) = wg.gradients(wg.sum(layer), [weight]).run()
    return delta


def test_a_convolution_with_ones_sums_neighbours() -> None:
    """D196."""
    y = wg.conv2d(images(1, 1, 4, 4), np.ones((1, 1, 3, 3)), padding=1)
    rows = [[14, 24, 30, 22], [33, 54, 63, 45], [57, 90, 99, 69], [46, 72, 78, 54]]
    assert_array_equal(y.predict().run(), [[rows]])


def test_a_convolution_is_trained_by_its_input() -> None:
    """D191."""
    w = SGD(learning_rate=0.01).array_weight(images(2, 3, 3, 3))
    loss = wg.sum(wg.conv2d(w, np.ones((1, 3, 3, 3)), padding=1))
    for _ in range(1000):
        loss.train().run()
    assert loss.predict().run() < 1


def test_the_greatest_of_each_window_is_trained() -> None:
    """D193."""
    w = SGD(learning_rate=1.0).array_weight(images(2, 3, 4, 4))
    greatest = wg.max_pool2d(w, 2)
    loss = wg.sum(greatest)
    for _ in range(700):
        loss.train().run()
    assert greatest.predict().run().mean() < 10


def test_padding_and_a_slice_are_a_shift() -> None:
    """D200."""
    x = np.zeros((2, 2, 1, 1))
    x[1, 1, 0, 0], x[0, 1, 0, 0] = 3, 5
    shifted = wg.pad(x, ((1, 1), (0, 0), (0, 0), (0, 0)))[:3].predict().run()
    assert (shifted[2, 1, 0, 0], shifted[1, 1, 0, 0], shifted.sum()) == (3, 5, 8)


def test_ties_share_what_arrives() -> None:
    w = weight_of(np.array([[2.0, 2.0, 0.0], [1.0, 2.0, 5.0]]).reshape(1, 1, 2, 3))
    assert_array_equal(delta_of(wg.max_pool2d(w, 2) * 6.0, w), [[[[2, 2, 0], [0, 2, 0]]]])
    assert_array_equal(delta_of(wg.max_pool2d(w, 2, stride=1) * 6.0, w), [[[[2, 2, 0], [0, 2, 6]]]])


@pytest.mark.parametrize("size", [(2, 2), (4, 4), (5, 4), (1, 17)], ids=str)
def test_windows_of_few_and_of_many_places_share_a_delta_among_the_greatest(size: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    x, padding, stride = rng.integers(0, 3, (2, 3, 9, 18)).astype(float), tuple(n // 2 for n in size), (2, 3)
    w = weight_of(x)
    layer = wg.max_pool2d(w, size, stride=stride, padding=(padding[0], padding[1]))
    whole = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)), constant_values=-math.inf)
    expected, delta = np.empty(layer.shape), np.zeros(whole.shape)
    for i, j in np.ndindex(*layer.shape[2:]):
        seen: Any = (..., *(slice(s * at, s * at + n) for s, at, n in zip(stride, (i, j), size, strict=True)))
        expected[..., i, j] = best = whole[seen].max((-2, -1))
        ties = whole[seen] == best[..., None, None]
        delta[seen] += ties / ties.sum((-2, -1), keepdims=True)
    assert_array_equal(layer.predict().run(), expected)
    inside: Any = tuple(slice(p, p + n) for p, n in zip(padding, x.shape[2:], strict=True))
    np.testing.assert_allclose(delta_of(layer, w), delta[(..., *inside)], rtol=1e-12)


def test_padding_is_never_the_greatest_and_takes_nothing() -> None:
    w = weight_of(np.full((1, 1, 2, 2), -math.inf))
    layer = wg.max_pool2d(w, 2, padding=1)
    assert_array_equal(layer.predict().run(), np.full((1, 1, 2, 2), -math.inf))
    assert_array_equal(delta_of(layer, w), np.ones((1, 1, 2, 2)))
    negative = wg.max_pool2d(-IMAGE, (1, 3), stride=1, padding=(0, 1))
    assert_array_equal(negative.predict().run(), -IMAGE)


def test_an_infinite_delta_goes_to_the_greatest_alone() -> None:
    w = weight_of(np.array([1.0, 2.0, 4.0, 3.0]).reshape(1, 1, 1, 4))
    assert_array_equal(delta_of(wg.max_pool2d(w, (1, 2)) * math.inf, w), [[[[0, math.inf, math.inf, 0]]]])


def test_padding_counts_in_a_mean() -> None:
    y = wg.avg_pool2d(np.ones((1, 1, 2, 2)), 2, padding=1)
    assert_array_equal(y.predict().run(), np.full((1, 1, 2, 2), 0.25))


def test_a_window_without_a_greatest_element_passes_nothing() -> None:
    w = weight_of(np.array([math.nan, 1.0, 2.0, 3.0]).reshape(1, 1, 1, 4))
    layer = wg.max_pool2d(w, (1, 2))
    assert_array_equal(layer.predict().run(), [[[[math.nan, 3.0]]]])
    assert_array_equal(delta_of(layer, w), [[[[0, 0, 0, 1]]]])


def test_a_window_of_padding_alone_is_minus_infinity() -> None:
    w = weight_of(np.ones((1, 1, 1, 1)))
    layer = wg.max_pool2d(w, 2, stride=1, padding=1, dilation=2)
    assert_array_equal(layer.predict().run(), [[[[-math.inf]]]])
    assert_array_equal(delta_of(layer, w), [[[[0]]]])


def test_any_number_may_stand_around_an_array() -> None:
    w: wg.ArrayWeight[Any, np.float64] = weight_of(np.ones(1))
    values: list[Any] = [-math.inf, math.nan, 7, np.float32(0.5)]  # Any: numbers of all kinds
    for value in values:
        layer = wg.pad(w, ((2, 1),), value=value)
        assert_array_equal(layer.predict().run(), [value, value, 1.0, value])
        (delta,) = wg.gradients(wg.sum(layer * np.array([1.0, 2.0, 3.0, 4.0], np.float64)), [w]).run()
        assert_array_equal(delta, [3.0])


def test_an_int_stands_for_a_pair_and_a_list_for_a_tuple() -> None:
    pair: Any = [2, 2]  # Any: a list, which the types do not offer
    integer: Any = np.int64(2)  # Any: as above
    one = wg.conv2d(IMAGE, KERNEL, stride=2, padding=1).predict().run()
    for two in ((2, 2), pair, integer):
        assert_array_equal(wg.conv2d(IMAGE, KERNEL, stride=two, padding=(1, 1)).predict().run(), one)
    widths: Any = [[0, 1]]
    assert wg.pad(np.ones(2), widths).shape == (3,)


REFUSED: dict[str, tuple[Callable[[], Any], type[WengertError]]] = {  # Any: a layer, had it been made
    "conv2d: stride (0, 1): each has to be at least 1": (
        lambda: wg.conv2d(IMAGE, KERNEL, stride=(0, 1)),  # type: ignore[shape] # refused on purpose
        ShapeError,
    ),
    "conv2d: padding (-1, -1): each has to be at least 0": (
        lambda: wg.conv2d(IMAGE, KERNEL, padding=-1),  # type: ignore[shape] # refused on purpose
        ShapeError,
    ),
    "conv2d: size (0, 3): each has to be at least 1": (
        lambda: wg.conv2d(IMAGE, KERNEL[:, :, :0]),
        ShapeError,
    ),
    "conv2d: stride is an int or a pair of ints; got 1.5": (
        lambda: wg.conv2d(IMAGE, KERNEL, stride=1.5),  # type: ignore[arg-type] # refused on purpose
        ArgumentError,
    ),
    "conv2d: stride is an int or a pair of ints; got (1, 2, 3)": (
        lambda: wg.conv2d(IMAGE, KERNEL, stride=(1, 2, 3)),  # type: ignore[arg-type] # refused on purpose
        ArgumentError,
    ),
    "conv2d: cannot convolve a Python number, which is a scalar": (
        lambda: wg.conv2d(IMAGE, 1.0),  # type: ignore[arg-type, shape] # refused on purpose
        ShapeError,
    ),
    "conv2d: input of shape (3, 4, 5) is not (batch, channels, height, width)": (
        lambda: wg.conv2d(IMAGE[0], KERNEL),
        ShapeError,
    ),
    "conv2d: kernel of shape (3, 2, 3) is not (output channels, input channels, height, width)": (
        lambda: wg.conv2d(IMAGE, KERNEL[0]),
        ShapeError,
    ),
    "conv2d: cannot convolve (1, 2, 4, 5) with (2, 3, 2, 3): input has 2 channels, kernel expects 3": (
        lambda: wg.conv2d(IMAGE[:, :2], KERNEL),
        ShapeError,
    ),
    "conv2d: a window of 7 does not fit axis 3 of shape (1, 3, 4, 5)": (
        lambda: wg.conv2d(IMAGE, KERNEL, dilation=3),
        ShapeError,
    ),
    "conv2d: a window of 9 does not fit axis 3 of shape (1, 3, 4, 5), which padding makes 7": (
        lambda: wg.conv2d(IMAGE, KERNEL, dilation=4, padding=1),
        ShapeError,
    ),
    "avg_pool2d: padding (0, 2) is more than half of size (2, 2)": (
        lambda: wg.avg_pool2d(IMAGE, 2, padding=(0, 2)),  # type: ignore[shape] # refused on purpose
        ShapeError,
    ),
    "max_pool2d: expected an array, got a scalar": (
        lambda: wg.max_pool2d(weight_of(1.0), 2),
        ShapeError,
    ),
    "pad: widths (0, -1): each has to be at least 0": (
        lambda: wg.pad(np.ones(2), ((0, -1),)),  # type: ignore[shape] # refused on purpose
        ShapeError,
    ),
    "pad: shape (2,) has 1 axes, widths ((0, 1), (1, 0)) are for 2; give one pair an axis": (
        lambda: wg.pad(np.ones(2), ((0, 1), (1, 0))),  # type: ignore[shape] # refused on purpose
        ShapeError,
    ),
    "pad: widths are one pair (before, after) of ints an axis; got 1": (
        lambda: wg.pad(np.ones(2), 1),  # type: ignore[arg-type] # refused on purpose
        ArgumentError,
    ),
    "pad: the value around an array is a number; got 'edge'": (
        lambda: wg.pad(np.ones(2), ((1, 1),), value="edge"),  # type: ignore[arg-type] # refused on purpose
        ArgumentError,
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_not_fit_is_refused_with_the_numbers(text: str) -> None:
    call, kind = REFUSED[text]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).splitlines()[0] == text
    assert __file__ in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "first"),
    [
        ({"size": 0}, "size (0, 0)"),
        ({"size": 0, "stride": 0}, "size (0, 0)"),
        ({"size": 1, "stride": 0, "dilation": 0, "padding": -1}, "stride (0, 0)"),
        ({"size": 1, "dilation": 0, "padding": -1}, "dilation (0, 0)"),
    ],
)
def test_the_first_wrong_number_of_a_window_is_named_as_by_mypy(wrong: dict[str, int], first: str) -> None:
    with pytest.raises(ShapeError, match=re.escape(f"max_pool2d: {first}: each has to be at least 1")):
        wg.max_pool2d(np.ones((1, 3, 3, 4), np.float32), **wrong)
