"""The shape rules of padding and of windows that slide over images, in the words of the run time.

Knows: how many windows there are, also where sizes have names, so that a "same" convolution gives H back.
Refuses to know: mypy, and which operation asks.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert_shapes.algebra import ONE, floor_divide, number
from wengert_shapes.rules import Misfit, Shape, Size, differ, known, size_text, text


def convolved(x: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Shape:
    """`conv2d`."""
    _at_least(1, stride=stride, dilation=dilation)
    _at_least(0, padding=padding)
    _images(x)
    if len(kernel) != 4:
        raise Misfit(
            f"kernel of shape {text(kernel)} is not (output channels, input channels, height, width)"
        )
    if differ(x[1], kernel[1]):
        raise Misfit(
            f"cannot convolve {text(x)} with {text(kernel)}: "
            f"input has {size_text(x[1])} channels, kernel expects {size_text(kernel[1])}"
        )
    _at_least(1, size=kernel[2:])
    return x[0], kernel[0], *_counts(x, kernel[2:], stride, padding, dilation)


def pooled(x: Shape, size: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Shape:
    """`max_pool2d` and `avg_pool2d`."""
    _at_least(1, size=size, stride=stride, dilation=dilation)
    _at_least(0, padding=padding)
    for p, k in zip(_values(padding), _values(size), strict=True):
        if p is not None and k is not None and p > k // 2:
            raise Misfit(f"padding {text(padding)} is more than half of size {text(size)}")
    _images(x)
    return *x[:2], *_counts(x, size, stride, padding, dilation)


def padded(x: Shape, widths: Sequence[Shape]) -> Shape:
    """`pad`: so many elements more before and after, on each axis."""
    for pair in widths:
        _at_least(0, widths=pair)
    if len(widths) != len(x):
        shown = ", ".join(map(text, widths))
        raise Misfit(
            f"shape {text(x)} has {len(x)} axes, widths ({shown}{',' * (len(widths) == 1)}) are for "
            f"{len(widths)}; give one pair an axis"
        )
    return tuple(_sum(before, n, after) for n, (before, after) in zip(x, widths, strict=True))


def _sum(*sizes: Size) -> Size:
    found = known(sizes)
    return None if found is None else sum(found[1:], found[0])


def _values(pair: Shape) -> list[int | None]:
    return [None if n is None else n.value for n in pair]


def _at_least(least: int, **pairs: Shape) -> None:
    for name, pair in pairs.items():
        if any(n is not None and n < least for n in _values(pair)):
            raise Misfit(f"{name} {text(pair)}: each has to be at least {least}")


def _images(x: Shape) -> None:
    if len(x) != 4:
        raise Misfit(f"input of shape {text(x)} is not (batch, channels, height, width)")


def _counts(x: Shape, size: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Shape:
    places = zip((2, 3), size, stride, padding, dilation, strict=True)
    return tuple(_count(x, *place) for place in places)


def _count(x: Shape, axis: int, k: Size, s: Size, p: Size, d: Size) -> Size:
    """(n + 2p - d (k - 1) - 1) // s + 1."""
    n = x[axis]
    if n is None or k is None or p is None or d is None:
        return None
    covers, room = d * (k - ONE) + ONE, n + number(2) * p
    left = room - covers
    if left.value is not None and left.value < 0:
        made = f", which padding makes {room}" if p != number(0) else ""
        raise Misfit(f"a window of {covers} does not fit axis {axis} of shape {text(x)}{made}")
    steps = None if s is None else floor_divide(left, s)
    return None if steps is None else steps + ONE
