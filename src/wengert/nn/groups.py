"""Normalizations that look at one example: `RMSNorm` of its features, `GroupNorm` and `InstanceNorm` of its channels.

Knows: their formulas, their weights and how these begin; that training and evaluation are the same.
Refuses to know: batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, final

from wengert.arrays import Dv, S, T
from wengert.elsewhere import ModelNames
from wengert.graph import ArrayExpression, ArrayLayer, ArrayWeight
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import as_layer, check_weight, misfit, shape_of, with_last_axis
from wengert.nn.dims import N, Width
from wengert.nn.making import Beginning
from wengert.ops import mean, reshape, sqrt, square
from wengert.plugins import Plugin


@final
@dataclass(frozen=True, eq=False, init=False)
class RMSNorm(ModelNames, Generic[Width, T, Dv]):
    """Features over their root mean square on the last axis, of `Width` features: a `LayerNorm` without a mean.

    y = x / sqrt(mean(x²) + eps) * scale.
    Shapes: (..., Width), kept. Raises ShapeError for another last axis.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = RMSNorm.make(SGD(learning_rate=0.1), 2, dtype=np.float64)
    >>> layer(np.array([[3.0, 4.0]])).predict().run().round(3).tolist()
    [[0.849, 1.131]]

    Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
    """

    scale: ArrayWeight[tuple[Width], T, Dv]
    eps: float = 1e-6

    def __init__(self, scale: ArrayOperand[tuple[Width], T, Dv], eps: float = 1e-6) -> None:
        # an expression in the place of a weight: see `wengert.nn.replace`
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "eps", eps)

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Plugin,
        width: int,
        /,
        *,
        name: str | None = None,
        dtype: type[N] | None = None,
        eps: float = 1e-6,
    ) -> RMSNorm[Any, N]:
        """A layer of scale 1; nothing is random. Raises ArgumentError for a size below 1."""
        begin = Beginning("RMSNorm", settings, 0, name, dtype)
        return RMSNorm(begin.constant("scale", (1.0, begin.size("width", width))), eps)

    def __call__(self, x: ArrayExpression[S, T, Dv], /) -> ArrayLayer[S, T, Dv]:
        layer = with_last_axis("RMSNorm", x, self.scale.shape[0])
        power = mean(square(layer), axis=-1, keepdims=True)
        y: ArrayLayer[S, T, Dv] = layer / sqrt(power + self.eps) * self.scale
        return y


@final
@dataclass(frozen=True, eq=False, init=False)
class GroupNorm(ModelNames, Generic[Width, T, Dv]):
    """Normalization of each example over groups of its `Width` channels and all axes behind them.

    y = (x - m) / sqrt(v + eps) * scale + offset, with the mean m and the variance v of the group.
    Shapes: (B, Width, ...), kept. Raises ShapeError for another axis 1, and where the groups do not divide it.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = GroupNorm.make(SGD(learning_rate=0.1), 4, 2, dtype=np.float64)
    >>> layer(np.array([[1.0, 3.0, 10.0, 30.0]])).predict().run().round(3).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]

    Source: Wu and He 2018, "Group Normalization".
    """

    scale: ArrayWeight[tuple[Width], T, Dv]
    offset: ArrayWeight[tuple[Width], T, Dv]
    groups: int
    eps: float = 1e-5

    def __init__(
        self,
        scale: ArrayOperand[tuple[Width], T, Dv],
        offset: ArrayOperand[tuple[Width], T, Dv],
        groups: int,
        eps: float = 1e-5,
    ) -> None:
        # an expression in the place of a weight: see `wengert.nn.replace`
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "offset", offset)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "eps", eps)
        check_weight("GroupNorm", "an offset", offset.shape, scale.shape)
        if groups < 1 or scale.shape[0] % groups:
            raise misfit("GroupNorm", f"{groups} groups do not divide {scale.shape[0]} channels")

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Plugin,
        width: int,
        groups: int,
        /,
        *,
        name: str | None = None,
        dtype: type[N] | None = None,
        eps: float = 1e-5,
    ) -> GroupNorm[Any, N]:
        """A layer of scale 1 and offset 0; nothing is random. Raises ArgumentError for a size below 1."""
        begin = Beginning("GroupNorm", settings, 0, name, dtype)
        size = begin.size("width", width)
        scale, offset = begin.constant("scale", (1.0, size)), begin.constant("offset", (0.0, size))
        return GroupNorm(scale, offset, begin.size("groups", groups), eps)

    def __call__(self, x: ArrayExpression[S, T, Dv], /) -> ArrayLayer[S, T, Dv]:
        return _grouped("GroupNorm", x, self.scale, self.offset, self.groups, self.eps)


@final
@dataclass(frozen=True, eq=False, init=False)
class InstanceNorm(ModelNames, Generic[Width, T, Dv]):
    """Normalization of each of `Width` channels of each example, over all axes behind them.

    y = (x - m) / sqrt(v + eps) * scale + offset, with the mean m and the variance v of the channel: a `GroupNorm` with
    a channel a group.
    Shapes: (B, Width, ...), kept. Raises ShapeError for another axis 1, and where there is no axis behind it.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = InstanceNorm.make(SGD(learning_rate=0.1), 2, dtype=np.float64)
    >>> layer(np.array([[[1.0, 3.0], [10.0, 30.0]]])).predict().run().round(3).tolist()
    [[[-1.0, 1.0], [-1.0, 1.0]]]

    Source: Ulyanov, Vedaldi and Lempitsky 2016, "Instance Normalization".
    """

    scale: ArrayWeight[tuple[Width], T, Dv]
    offset: ArrayWeight[tuple[Width], T, Dv]
    eps: float = 1e-5

    def __init__(
        self,
        scale: ArrayOperand[tuple[Width], T, Dv],
        offset: ArrayOperand[tuple[Width], T, Dv],
        eps: float = 1e-5,
    ) -> None:
        # an expression in the place of a weight: see `wengert.nn.replace`
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "offset", offset)
        object.__setattr__(self, "eps", eps)
        check_weight("InstanceNorm", "an offset", offset.shape, scale.shape)

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Plugin,
        width: int,
        /,
        *,
        name: str | None = None,
        dtype: type[N] | None = None,
        eps: float = 1e-5,
    ) -> InstanceNorm[Any, N]:
        """A layer of scale 1 and offset 0; nothing is random. Raises ArgumentError for a size below 1."""
        begin = Beginning("InstanceNorm", settings, 0, name, dtype)
        size = begin.size("width", width)
        return InstanceNorm(begin.constant("scale", (1.0, size)), begin.constant("offset", (0.0, size)), eps)

    def __call__(self, x: ArrayExpression[S, T, Dv], /) -> ArrayLayer[S, T, Dv]:
        width = self.scale.shape[0]
        shape = shape_of(as_layer(x))
        if shape is not None and len(shape) == 2 and shape[1] == width:
            raise misfit("InstanceNorm", f"one value of each channel has no variance, got {shape}")
        return _grouped("InstanceNorm", x, self.scale, self.offset, width, self.eps)


def _grouped(
    who: str,
    x: ArrayExpression[S, T, Dv],
    scale: ArrayOperand[Any, T, Dv],
    offset: ArrayOperand[Any, T, Dv],
    groups: int,
    eps: float,
) -> ArrayLayer[S, T, Dv]:
    layer, width = as_layer(x), scale.shape[0]
    shape = shape_of(layer)
    if shape is None or len(shape) < 2 or shape[1] != width:
        text = "a shape that only the run tells" if shape is None else shape
        raise misfit(who, f"expected axis 1 of size {width}, got {text}")
    if 0 in shape:
        raise misfit(who, f"nothing to take the mean of, got {shape}")
    cut = reshape(layer, (shape[0], groups, -1))
    centred = cut - mean(cut, axis=2, keepdims=True)
    variance = mean(square(centred), axis=2, keepdims=True)
    normal = reshape(centred / sqrt(variance + eps), shape)
    ones = (1,) * (len(shape) - 2)
    y: ArrayLayer[S, T, Dv] = normal * reshape(scale, (-1, *ones)) + reshape(offset, (-1, *ones))
    return y
