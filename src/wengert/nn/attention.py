"""`MultiHeadAttention`: each position gathers from all others what fits its question, in several heads.

Knows: its formula, its weights and how they begin.
Refuses to know: positions: it gives the same whatever the order of keys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, final

from wengert.arrays import Dv, Shape, T
from wengert.elsewhere import ModelNames
from wengert.graph import ArrayExpression, ArrayLayer, Mask
from wengert.nn.checks import check_weight, misfit, shape_of, with_last_axis, with_shape
from wengert.nn.dims import Heads, N, Width
from wengert.nn.init import Init
from wengert.nn.linear import Linear
from wengert.nn.making import Beginning, Seed
from wengert.ops import matmul, permute_dims, reshape, softmax, where
from wengert.plugins import Plugin

_MASKED = -1e30  # and not -inf: a line without any key would be NaN


@final
@dataclass(frozen=True, eq=False)
class MultiHeadAttention(ModelNames, Generic[Width, Heads, T, Dv]):
    """Scaled dot-product attention in `Heads` heads of Width // Heads features.

    q, k, v are linear maps of query, key and value, cut into heads; head = softmax(q kᵀ / sqrt(Width / Heads)) v;
    the result is a linear map of all heads, side by side. Without key and value a sequence attends to itself;
    without value it is the key. Where the mask is False nothing is gathered.
    Shapes: query (..., Time, Width), key and value (..., Source, Width) to (..., Time, Width); a mask broadcasts
    to (..., Heads, Time, Source). Raises ShapeError, also where Heads does not divide Width.
    >>> import numpy as np
    >>> from wengert import greater_equal, literal
    >>> from wengert.plugins import SGD
    >>> attention = MultiHeadAttention.make(SGD(learning_rate=0.1), 8, 2, seed=0)
    >>> x = literal(np.ones((3, 5, 8), np.float32), 3, 5, 8)
    >>> time = np.arange(5, dtype=np.float32)
    >>> attention(x, mask=greater_equal(literal(time.reshape(5, 1)), literal(time.reshape(1, 5)))).shape
    (3, 5, 8)

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.
    """

    query: Linear[Width, Width, T, Dv]
    key: Linear[Width, Width, T, Dv]
    value: Linear[Width, Width, T, Dv]
    output: Linear[Width, Width, T, Dv]
    heads: Heads

    def __post_init__(self) -> None:
        width = self.query.weight.shape[0]
        for part in ("query", "key", "value", "output"):
            linear: Linear[Any, Any, T, Dv] = getattr(self, part)
            check_weight("MultiHeadAttention", f"{part} weights", linear.weight.shape, (width, width))
        if self.heads < 1 or width % self.heads:
            raise misfit("MultiHeadAttention", f"{self.heads} heads do not divide a width of {width}")

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Plugin,
        width: int,
        heads: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> MultiHeadAttention[Any, Any, N]:
        """Four new maps, each as `Linear.make` begins; one generator serves all."""
        begin = Beginning("MultiHeadAttention", settings, seed, name, dtype)
        size = begin.size("width", width)

        def part(of: str) -> Linear[Any, Any, N]:
            name = begin.name_of(of)
            return Linear.make(
                settings, size, size, seed=begin.chance, name=name, dtype=dtype, bias=bias, init=init
            )

        maps = part("query"), part("key"), part("value"), part("output")
        return MultiHeadAttention(*maps, begin.size("heads", heads))

    def __call__(
        self,
        query: ArrayExpression[Any, T, Dv],
        key: ArrayExpression[Any, T, Dv] | None = None,
        value: ArrayExpression[Any, T, Dv] | None = None,
        /,
        *,
        mask: Mask[Any, Dv] | None = None,
    ) -> ArrayLayer[Any, T, Dv]:
        who, width = "MultiHeadAttention", self.query.weight.shape[0]
        asked = with_last_axis(who, query, width)
        keys = asked if key is None else with_last_axis(who, key, width)
        values = keys if value is None else with_shape(who, "a value", value, shape_of(keys))
        batch = _batch(asked.shape, keys.shape)
        q, k, v = self._cut(self.query(asked)), self._cut(self.key(keys)), self._cut(self.value(values))
        rank = len(batch) + 3
        last_two = (*range(rank - 2), rank - 1, rank - 2)
        scores = matmul(q, permute_dims(k, last_two)) / math.sqrt(width // self.heads)
        if mask is not None:
            scores = where(_fitting(mask, scores.shape), scores, _MASKED)
        weights = softmax(scores)
        heads = matmul(weights, v)
        side_by_side = permute_dims(heads, _heads_and_time(rank))
        gathered = reshape(side_by_side, asked.shape)
        return self.output(gathered)

    def _cut(self, x: ArrayLayer[Any, T, Dv]) -> ArrayLayer[Any, T, Dv]:
        """(..., Time, Width) as (..., Heads, Time, Width // Heads)."""
        shape = x.shape
        cut = reshape(x, (*shape[:-1], self.heads, shape[-1] // self.heads))
        return permute_dims(cut, _heads_and_time(len(shape) + 1))


def _heads_and_time(rank: int) -> tuple[int, ...]:
    """The axes of heads and of time exchanged."""
    return (*range(rank - 3), rank - 2, rank - 3, rank - 1)


def _batch(query: Shape, key: Shape) -> Shape:
    """The axes before time, which query and key share."""
    if len(query) < 2:
        raise misfit("MultiHeadAttention", f"expected (..., time, width), got {query}")
    if query[:-2] != key[:-2] or len(key) < 2:
        raise misfit(
            "MultiHeadAttention", f"a query of shape {query} and a key of shape {key} differ in batch"
        )
    return query[:-2]


def _fitting(mask: Mask[Any, Dv], scores: Shape) -> Mask[Any, Dv]:
    padded = (1,) * (len(scores) - len(mask.shape)) + mask.shape
    if len(padded) != len(scores) or any(n not in (1, m) for n, m in zip(padded, scores, strict=True)):
        raise misfit("MultiHeadAttention", f"expected a mask that broadcasts to {scores}, got {mask.shape}")
    return mask
