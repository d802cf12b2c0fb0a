"""The shape rules of padding and of windows that slide over images, in the words of the run time.

Knows: how many windows there are, also where sizes have names, so that a "same" convolution gives H back.
Refuses to know: mypy, and which operation asks.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert_shapes.algebra import ONE, floor_divide, number
from wengert_shapes.rules import Misfit, Shape, Size, differ, known, size_text, text

_SIDES = ("n", "height, width", "depth, height, width")


def convolved(
    x: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, groups: int = 1
) -> Shape:
    """`conv1d` to `conv3d`: each group of output channels sees a group of input channels."""
    _at_least(1, stride=stride, dilation=dilation, groups=(number(groups),))
    _at_least(0, padding=padding)
    _signals(x, kernel, len(stride), "output channels, input channels")
    outputs = None if kernel[0] is None else kernel[0].value
    if outputs is not None and outputs % groups:
        raise Misfit(f"{groups} groups do not divide the {outputs} output channels of kernel {text(kernel)}")
    wanted = None if kernel[1] is None else kernel[1] * number(groups)
    if differ(x[1], wanted):
        raise Misfit(
            f"cannot convolve {text(x)} with {text(kernel)}: "
            f"input has {size_text(x[1])} channels, kernel expects {size_text(wanted)}"
        )
    places = zip(range(2, len(x)), kernel[2:], stride, padding, dilation, strict=True)
    return x[0], kernel[0], *(_count(x, *place) for place in places)


def _signals(x: Shape, kernel: Shape, count: int, channels: str) -> None:
    if len(x) != count + 2:
        raise Misfit(f"input of shape {text(x)} is not (batch, channels, {_SIDES[count - 1]})")
    if len(kernel) != count + 2:
        raise Misfit(f"kernel of shape {text(kernel)} is not ({channels}, {_SIDES[count - 1]})")
    _at_least(1, size=kernel[2:])


def spread(
    x: Shape,
    kernel: Shape,
    stride: Shape,
    padding: Shape,
    output_padding: Shape,
    dilation: Shape,
    groups: int = 1,
) -> Shape:
    """Transposed convolutions."""
    _at_least(1, stride=stride, dilation=dilation, groups=(number(groups),))
    _at_least(0, padding=padding, output_padding=output_padding)
    _signals(x, kernel, len(stride), "input channels, output channels")
    inputs = None if kernel[0] is None else kernel[0].value
    if differ(x[1], kernel[0]) or (inputs is not None and inputs % groups):
        raise Misfit(
            f"cannot spread {text(x)} with {text(kernel)}: input has {size_text(x[1])} channels, kernel expects "
            f"{size_text(kernel[0])}, in {groups} groups"
        )
    for o, s in zip(_values(output_padding), _values(stride), strict=True):
        if o is not None and s is not None and o >= s:
            raise Misfit(f"output_padding {text(output_padding)} is not less than stride {text(stride)}")
    each = zip(x[2:], kernel[2:], stride, padding, output_padding, dilation, strict=True)
    outputs = None if kernel[1] is None else kernel[1] * number(groups)
    sides = tuple(_spread(*sizes) for sizes in each)
    if any(n is not None and n < 1 for n in _values(sides)):
        raise Misfit(f"padding {text(padding)} leaves nothing of {text(x)} spread with {text(kernel)}")
    return x[0], outputs, *sides


def _spread(n: Size, k: Size, s: Size, p: Size, o: Size, d: Size) -> Size:
    """(n - 1) s - 2p + d (k - 1) + o + 1."""
    if n is None or k is None or s is None or p is None or o is None or d is None:
        return None
    return (n - ONE) * s - number(2) * p + d * (k - ONE) + o + ONE


def shuffled(x: Shape, factor: int) -> Shape:
    """`pixel_shuffle`."""
    _images(x)
    squares = number(factor * factor)
    channels = None if x[1] is None else floor_divide(x[1], squares)
    if x[1] is not None and x[1].value is not None and x[1].value % (factor * factor):
        raise Misfit(f"{size_text(x[1])} channels of {text(x)} are no multiple of {factor} squared")
    return x[0], channels, *(None if n is None else n * number(factor) for n in x[2:])


def unshuffled(x: Shape, factor: int) -> Shape:
    """`pixel_unshuffle`."""
    _images(x)
    for n in _values(x[2:]):
        if n is not None and n % factor:
            raise Misfit(f"sides of {text(x)} are no multiples of {factor}")
    sides = (None if n is None else floor_divide(n, number(factor)) for n in x[2:])
    return x[0], None if x[1] is None else x[1] * number(factor * factor), *sides


def adapted(x: Shape, size: Shape) -> Shape:
    """Adaptive pooling."""
    _images(x)
    if any(n == 0 for n in _values(x[2:])):
        raise Misfit(f"image of shape {text(x)} has nothing to take parts of")
    return *x[:2], *size


def resized(x: Shape, size: Shape) -> Shape:
    """`interpolate`: one number for all axes behind the channels, or one for each."""
    sides = len(x) - 2
    if sides < 1 or len(size) not in (1, sides):
        raise Misfit(f"input of shape {text(x)} is not (batch, channels, n, ...) with a size for each n")
    return *x[:2], *(size * sides if len(size) == 1 else size)


def pooled(x: Shape, size: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Shape:
    """`max_pool2d` and `avg_pool2d`."""
    _at_least(1, size=size, stride=stride, dilation=dilation)
    _at_least(0, padding=padding)
    for p, k in zip(_values(padding), _values(size), strict=True):
        if p is not None and k is not None and p > k // 2:
            raise Misfit(f"padding {text(padding)} is more than half of size {text(size)}")
    _images(x)
    places = zip((2, 3), size, stride, padding, dilation, strict=True)
    return *x[:2], *(_count(x, *place) for place in places)


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
