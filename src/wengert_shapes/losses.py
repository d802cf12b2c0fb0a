"""The shape rules of losses and of slopes by channel, in the words of the run time.

Knows: that a loss compares element by element, and which operand has an axis less.
Refuses to know: mypy, and which loss asks.
"""

from __future__ import annotations

from typing import TypeVar

from wengert_shapes.algebra import ONE
from wengert_shapes.rules import Misfit, Shape, axis_in, differ, size_text, text

N = TypeVar("N")


def alike(*shapes: Shape) -> Shape:
    """Operands of one shape: nothing is broadcast, as that hides a forgotten axis."""
    first, *others = shapes
    for shape in others:
        if len(shape) != len(first) or any(differ(n, m) for n, m in zip(first, shape, strict=True)):
            raise Misfit(
                f"shapes {text(first)} and {text(shape)} differ; a loss compares element by element, so write "
                f"reshape or broadcast_to"
            )
        first = tuple(m if n is None else n for n, m in zip(first, shape, strict=True))
    return first


def lines(x: Shape, axis: int) -> Shape:
    """The axes that are left where an axis of classes or features goes."""
    at = axis_in(axis, len(x), x)
    return x[:at] + x[at + 1 :]


def last(x: tuple[N, ...], axis: int) -> tuple[N, ...]:
    """A shape with an axis moved behind the others."""
    at = axis % len(x)
    return (*x[:at], *x[at + 1 :], x[at])


def weighted(x: Shape, weight: Shape, axis: int) -> Shape:
    """A weight for each class."""
    classes = x[axis_in(axis, len(x), x)]
    if len(weight) != 1 or differ(weight[0], classes):
        raise Misfit(f"expected a weight for each of {size_text(classes)} classes, got shape {text(weight)}")
    return x


def of_pairs(a: Shape, b: Shape, target: Shape, axis: int = -1) -> Shape:
    """Two arrays of features, and a number for each pair."""
    made = lines(alike(a, b), axis)
    if len(target) != len(made) or any(differ(n, m) for n, m in zip(made, target, strict=True)):
        raise Misfit(f"{text(a)} needs targets of shape {text(made)}, one a pair; got {text(target)}")
    return made


def sloped(x: Shape, slope: Shape) -> Shape:
    """`prelu`: one slope for all, or one for each channel."""
    if slope == (ONE,):
        return x
    if len(slope) != 1 or len(x) < 2 or differ(slope[0], x[1]):
        raise Misfit(
            f"expected one slope, or one for each channel of {text(x)}, which are axis 1; got {text(slope)}"
        )
    return x


def signal(logs: Shape) -> Shape:
    """`ctc_loss`: probabilities of classes at each step of each example."""
    if len(logs) != 3:
        raise Misfit(f"logs of shape {text(logs)} are not (time, batch, classes)")
    if any(n is not None and n.value == 0 for n in logs):
        raise Misfit(f"logs of shape {text(logs)} have nothing to spell with")
    return logs


def spelled(logs: Shape, targets: Shape) -> Shape:
    """`ctc_loss`: a text for each example."""
    batch = signal(logs)[1]
    if len(targets) != 2 or differ(targets[0], batch):
        raise Misfit(f"targets of shape {text(targets)} are not ({size_text(batch)}, letters), a row a text")
    return (batch,)
