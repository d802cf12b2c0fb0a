"""Windows over images of named sizes: what is known of the result, and what is said where they do not fit."""

from __future__ import annotations

import pytest

from wengert_shapes.algebra import ONE, Atom, Dim, atom, floor_divide, number
from wengert_shapes.rules import Misfit, Shape
from wengert_shapes.windows import convolved, padded, pooled

B, C, H, W, K = (atom(Atom(name, name)) for name in "BCHWK")
ONES, ZEROS = (ONE, ONE), (number(0), number(0))


def both(n: int | Dim | None) -> Shape:
    size = number(n) if isinstance(n, int) else n
    return size, size


@pytest.mark.parametrize("k", [1, 3, 5, 7])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_half_of_an_odd_window_as_padding_keeps_every_size(k: int, d: int) -> None:
    kernel = (number(8), C, *both(k))
    assert convolved((B, C, H, W), kernel, ONES, both(d * (k // 2)), both(d)) == (B, number(8), H, W)


def test_windows_side_by_side_divide_a_size() -> None:
    for size in (2, K):
        rows, columns = pooled((B, C, H, W), both(size), both(size), ZEROS, ONES)[2:]
        wanted = both(size)[0]
        assert wanted is not None
        assert (rows, columns) == (floor_divide(H, wanted), floor_divide(W, wanted))


def test_equal_counts_of_windows_are_one_dimension() -> None:
    """A stride of 2 with padding is a division of what is a little more."""
    kernel = (number(8), C, *both(3))
    strided = convolved((B, C, H, W), kernel, both(2), ONES, ONES)
    assert strided[2] == floor_divide(H + ONE, number(2))
    assert strided == (B, number(8), *pooled((B, C, H, W), both(3), both(2), ONES, ONES)[2:])
    even = convolved((B, C, H * number(2), W), (C, C, *both(2)), both(2), ZEROS, ONES)
    assert even[2] == H


def test_what_is_unknown_stays_unknown_and_the_rest_is_known() -> None:
    kernel = (number(8), None, *both(3))
    assert convolved((B, C, None, H), kernel, ONES, ONES, ONES) == (B, number(8), None, H)
    assert convolved((None, C, H, W), kernel, both(None), ONES, ONES) == (None, number(8), None, None)
    assert padded((None, H), ((ONE, ONE), (ONE, None))) == (None, None)


def test_padding_adds_up() -> None:
    assert padded((B, H), (ZEROS, (ONE, K))) == (B, H + K + ONE)


@pytest.mark.parametrize(
    ("x", "kernel", "text"),
    [
        (
            (B, H, H, W),
            (B, K, H, H),
            r"cannot convolve \(B, H, H, W\) with \(B, K, H, H\): input has H channels",
        ),
        (
            (B, None, number(4), W),
            (B, C, *both(5)),
            r"a window of 5 does not fit axis 2 of shape \(B, \?, 4, W\)$",
        ),
        ((B, C, H), (B, C, H, H), r"input of shape \(B, C, H\) is not"),
        ((B, C, H, W), (B, C, H), r"kernel of shape \(B, C, H\) is not"),
    ],
)
def test_what_cannot_fit_is_refused_by_name(x: Shape, kernel: Shape, text: str) -> None:
    with pytest.raises(Misfit, match=text):
        convolved(x, kernel, ONES, ZEROS, ONES)


def test_what_may_fit_is_accepted() -> None:
    convolved((B, None, H, None), (B, C, *both(99)), ONES, ZEROS, ONES)
    with pytest.raises(Misfit, match=r"a window of 9 does not fit axis 3 of shape .*, which padding makes 6"):
        convolved((B, C, H, number(4)), (B, C, *both(9)), ONES, ONES, ONES)
    with pytest.raises(Misfit, match=r"padding \(2, 2\) is more than half of size \(3, K\)"):
        pooled((B, C, H, W), (number(3), K), ONES, both(2), ONES)
