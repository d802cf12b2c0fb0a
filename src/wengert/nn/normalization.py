"""`LayerNorm`: each vector shifted and scaled to mean 0 and variance 1, then to learnt ones.

Knows: its formula, its weights and how they begin.
Refuses to know: other elements of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, final

from wengert.arrays import Dv, S, T
from wengert.graph import ArrayExpression, ArrayLayer, ArrayWeight
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import check_weight, with_last_axis
from wengert.nn.dims import N, Width
from wengert.nn.making import Beginning
from wengert.ops import mean, sqrt, square
from wengert.plugins import Plugin


@final
@dataclass(frozen=True, eq=False, init=False)
class LayerNorm(Generic[Width, T, Dv]):
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
        # an expression in the place of a weight: see `wengert.nn.replace`
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "offset", offset)
        object.__setattr__(self, "eps", eps)
        self.__post_init__()

    def __post_init__(self) -> None:
        check_weight("LayerNorm", "an offset", self.offset.shape, self.scale.shape)

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
    ) -> LayerNorm[Any, N]:
        """A layer of scale 1 and offset 0; nothing is random. Raises ArgumentError for a size below 1."""
        begin = Beginning("LayerNorm", settings, 0, name, dtype)
        size = begin.size("width", width)
        return LayerNorm(begin.constant("scale", (1.0, size)), begin.constant("offset", (0.0, size)), eps)

    def __call__(self, x: ArrayExpression[S, T, Dv], /) -> ArrayLayer[S, T, Dv]:
        (width,) = self.scale.shape
        layer = with_last_axis("LayerNorm", x, width)
        centred = layer - mean(layer, axis=-1, keepdims=True)
        variance = mean(square(centred), axis=-1, keepdims=True)
        y: ArrayLayer[S, T, Dv] = centred / sqrt(variance + self.eps) * self.scale + self.offset
        return y
