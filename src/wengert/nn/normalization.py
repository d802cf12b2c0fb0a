"""Normalizations: features shifted and scaled to mean 0 and variance 1, then to learnt ones.

Knows: their formulas, their weights and buffers and how these begin; that those of one example, `LayerNorm`, `RMSNorm`,
`GroupNorm` and `InstanceNorm`, are the same in training and in evaluation, and `BatchNorm` is not.
Refuses to know: when buffers change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, final

from wengert.arrays import Dv, S, Shape, T
from wengert.elsewhere import ModelNames
from wengert.graph import ArrayExpression, ArrayLayer, ArrayWeight, Buffer
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import as_layer, check_weight, fill, misfit, shape_of, with_last_axis
from wengert.nn.dims import N, On, Width
from wengert.nn.making import Beginning
from wengert.nn.seeded import Seeded, Seeds
from wengert.ops import mean, reshape, sqrt, square
from wengert.ops.buffers import with_update
from wengert.plugins.making import Placing

Features: TypeAlias = ArrayOperand[Any, T, Dv]  # Any: (Width,), or that and axes of 1


@final
@dataclass(frozen=True, eq=False, init=False)
class LayerNorm(ModelNames, Generic[Width, T, Dv]):
    """Normalization over the last axis, of `Width` features.

    y = (x - m) / sqrt(v + eps) * scale + offset, with the mean m and the variance v (divided by Width) of the
    last axis.
    Shapes: (..., Width), kept. Raises ShapeError for another last axis.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = LayerNorm.make(SGD(learning_rate=0.1), 2, dtype=np.float64)
    >>> layer(np.array([[1.0, 3.0]])).predict().run().round(3).tolist()
    [[-1.0, 1.0]]

    Source: Ba, Kiros and Hinton 2016, "Layer Normalization".
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
        fill(self, scale=scale, offset=offset, eps=eps)
        self.__post_init__()

    def __post_init__(self) -> None:
        check_weight("LayerNorm", "an offset", self.offset.shape, self.scale.shape)

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Placing[On],
        width: int,
        /,
        *,
        name: str | None = None,
        dtype: type[N] | None = None,
        eps: float = 1e-5,
    ) -> LayerNorm[Any, N, On]:
        """A layer of scale 1 and offset 0; nothing is random. Raises ArgumentError for a size below 1."""
        return LayerNorm(*_identity(Beginning("LayerNorm", settings, 0, name, dtype), width), eps)

    def __call__(self, x: ArrayExpression[S, T, Dv], /) -> ArrayLayer[S, T, Dv]:
        (width,) = self.scale.shape
        layer = with_last_axis("LayerNorm", x, width)
        centred = layer - mean(layer, axis=-1, keepdims=True)
        variance = mean(square(centred), axis=-1, keepdims=True)
        y: ArrayLayer[S, T, Dv] = centred / sqrt(variance + self.eps) * self.scale + self.offset
        return y


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
        fill(self, scale=scale, eps=eps)

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Placing[On],
        width: int,
        /,
        *,
        name: str | None = None,
        dtype: type[N] | None = None,
        eps: float = 1e-6,
    ) -> RMSNorm[Any, N, On]:
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
        fill(self, scale=scale, offset=offset, groups=groups, eps=eps)
        check_weight("GroupNorm", "an offset", offset.shape, scale.shape)
        if groups < 1 or scale.shape[0] % groups:
            raise misfit("GroupNorm", f"{groups} groups do not divide {scale.shape[0]} channels")

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Placing[On],
        width: int,
        groups: int,
        /,
        *,
        name: str | None = None,
        dtype: type[N] | None = None,
        eps: float = 1e-5,
    ) -> GroupNorm[Any, N, On]:
        """A layer of scale 1 and offset 0; nothing is random. Raises ArgumentError for a size below 1."""
        begin = Beginning("GroupNorm", settings, 0, name, dtype)
        return GroupNorm(*_identity(begin, width), begin.size("groups", groups), eps)

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
        fill(self, scale=scale, offset=offset, eps=eps)
        check_weight("InstanceNorm", "an offset", offset.shape, scale.shape)

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Placing[On],
        width: int,
        /,
        *,
        name: str | None = None,
        dtype: type[N] | None = None,
        eps: float = 1e-5,
    ) -> InstanceNorm[Any, N, On]:
        """A layer of scale 1 and offset 0; nothing is random. Raises ArgumentError for a size below 1."""
        return InstanceNorm(*_identity(Beginning("InstanceNorm", settings, 0, name, dtype), width), eps)

    def __call__(self, x: ArrayExpression[S, T, Dv], /) -> ArrayLayer[S, T, Dv]:
        width = self.scale.shape[0]
        shape = shape_of(as_layer(x))
        if shape is not None and len(shape) == 2 and shape[1] == width:
            raise misfit("InstanceNorm", f"one value of each channel has no variance, got {shape}")
        return _grouped("InstanceNorm", x, self.scale, self.offset, width, self.eps)


@final
@dataclass(frozen=True, eq=False, init=False)
class BatchNorm(Seeded, ModelNames, Generic[Width, T, Dv]):
    """Normalization of each of `Width` features over a batch: `norm(x, seed=step)` trains, `norm(x)` evaluates.

    y = (x - m) / sqrt(v + eps) * scale + offset. With a seed m and v are mean and variance over the batch (divided by
    its size n) and over all axes behind the features; a training whose derivative goes through y moves the buffers
    `mean` and `variance` by `rate` of the way to m and to v n / (n - 1), in its commit. Without a seed m and v are the
    buffers. Which seed it is does not matter. Where the layer is called n times in one run, as in a siamese network,
    the buffers make n steps, each to the mean over the calls: see `with_update`.
    Shapes: (B, Width) and (B, Width, ...), kept. Raises ShapeError for another axis 1, and in training for n = 1.
    >>> import numpy as np
    >>> from wengert import mean
    >>> from wengert.plugins import SGD
    >>> norm = BatchNorm.make(SGD(learning_rate=0.0), 1, dtype=np.float64, rate=0.5)
    >>> x = np.array([[1.0], [3.0]])
    >>> norm(x, seed=0).predict().run().round(3).tolist(), norm(x).predict().run().round(3).tolist()
    ([[-1.0], [1.0]], [[1.0], [3.0]])
    >>> mean(norm(x, seed=0)).train().run().item(), norm.mean.data.tolist(), norm.variance.data.tolist()
    (0.0, [1.0], [1.5])

    Source: Ioffe and Szegedy 2015, "Batch Normalization"; buffers and defaults as in PyTorch.
    """

    scale: ArrayWeight[tuple[Width], T, Dv]
    offset: ArrayWeight[tuple[Width], T, Dv]
    mean: Buffer[tuple[Width], T, Dv]
    variance: Buffer[tuple[Width], T, Dv]
    eps: float = 1e-5
    rate: float = 0.1

    def __init__(
        self,
        scale: ArrayOperand[tuple[Width], T, Dv],
        offset: ArrayOperand[tuple[Width], T, Dv],
        mean: Buffer[tuple[Width], T, Dv],
        variance: Buffer[tuple[Width], T, Dv],
        eps: float = 1e-5,
        rate: float = 0.1,
    ) -> None:
        fill(self, scale=scale, offset=offset, mean=mean, variance=variance, eps=eps, rate=rate)
        for what, x in (("an offset", offset), ("a mean", mean), ("a variance", variance)):
            check_weight("BatchNorm", what, x.shape, scale.shape)

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Placing[On],
        width: int,
        /,
        *,
        name: str | None = None,
        dtype: type[N] | None = None,
        eps: float = 1e-5,
        rate: float = 0.1,
    ) -> BatchNorm[Any, N, On]:
        """A layer of scale 1, offset 0, mean 0 and variance 1. Raises ArgumentError for a size below 1."""
        begin = Beginning("BatchNorm", settings, 0, name, dtype)
        size = begin.size("width", width)
        mean, variance = begin.buffer("mean", 0.0, size), begin.buffer("variance", 1.0, size)
        return BatchNorm(*_identity(begin, size), mean, variance, eps, rate)

    def __call__(self, x: ArrayExpression[S, T, Dv], /, *, seed: Seeds | None = None) -> ArrayLayer[S, T, Dv]:
        layer, (width,) = as_layer(x), self.scale.shape
        shape = _by_channel("BatchNorm", layer, width)
        if seed is None:
            return self._scaled(layer - self._aligned(self.mean, shape), self.variance)
        count = math.prod(shape) // width
        if count < 2:
            raise misfit("BatchNorm", f"one value of each feature has no variance to train with, got {shape}")
        axes = 0 if len(shape) == 2 else (0, *range(2, len(shape)))
        average = mean(layer, axis=axes)
        centred = layer - self._aligned(average, shape)
        variance = mean(square(centred), axis=axes)
        y = with_update(self._scaled(centred, variance), self.mean, average, rate=self.rate)
        return with_update(y, self.variance, variance * (count / (count - 1)), rate=self.rate)

    def _scaled(self, centred: ArrayLayer[S, T, Dv], variance: Features[T, Dv]) -> ArrayLayer[S, T, Dv]:
        factor = self._aligned(self.scale / sqrt(variance + self.eps), centred.shape)
        y: ArrayLayer[S, T, Dv] = centred * factor + self._aligned(self.offset, centred.shape)
        return y

    @staticmethod
    def _aligned(of: Features[T, Dv], shape: Shape) -> Features[T, Dv]:
        """A number for each feature, as an array with the axes of `shape`."""
        return of if len(shape) == 2 else reshape(of, (-1, *(1,) * (len(shape) - 2)))


def _grouped(
    who: str,
    x: ArrayExpression[S, T, Dv],
    scale: ArrayOperand[Any, T, Dv],
    offset: ArrayOperand[Any, T, Dv],
    groups: int,
    eps: float,
) -> ArrayLayer[S, T, Dv]:
    layer = as_layer(x)
    shape = _by_channel(who, layer, scale.shape[0])
    if 0 in shape:
        raise misfit(who, f"nothing to take the mean of, got {shape}")
    cut = reshape(layer, (shape[0], groups, -1))
    centred = cut - mean(cut, axis=2, keepdims=True)
    variance = mean(square(centred), axis=2, keepdims=True)
    normal = reshape(centred / sqrt(variance + eps), shape)
    ones = (1,) * (len(shape) - 2)
    y: ArrayLayer[S, T, Dv] = normal * reshape(scale, (-1, *ones)) + reshape(offset, (-1, *ones))
    return y


def _by_channel(who: str, x: ArrayLayer[Any, T, Dv], width: int) -> Shape:
    """The shape of (B, width, ...)."""
    shape = shape_of(x)
    if shape is None or len(shape) < 2 or shape[1] != width:
        text = "a shape that only the run tells" if shape is None else shape
        raise misfit(who, f"expected axis 1 of size {width}, got {text}")
    return shape


def _identity(begin: Beginning[N, On], width: int) -> tuple[ArrayWeight[Any, N, On], ArrayWeight[Any, N, On]]:
    """Scale 1 and offset 0."""
    size = begin.size("width", width)
    return begin.constant("scale", (1.0, size)), begin.constant("offset", (0.0, size))
