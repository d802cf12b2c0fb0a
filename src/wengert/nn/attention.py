"""`MultiHeadAttention`: each position gathers from all others what fits its question, in several heads.

Knows: its formula, its weights and how they begin.
Refuses to know: positions: it gives the same whatever the order of keys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Generic, final

from wengert.arrays import Dv, Shape, T
from wengert.elsewhere import ModelNames
from wengert.graph import ArrayExpression, ArrayLayer, Mask
from wengert.nn.checks import as_layer, check_weight, misfit, shape_of, with_last_axis, with_shape
from wengert.nn.dims import Heads, N, On, Width
from wengert.nn.init import Init
from wengert.nn.linear import Linear
from wengert.nn.making import Beginning, Seed
from wengert.nn.positions import causal_mask, rotary
from wengert.ops import concat, matmul, permute_dims, reshape, softmax, where
from wengert.plugins.making import Placing

_WHO: Final = "MultiHeadAttention"
_MASKED: Final = -1e30  # and not -inf: a line without any key would be NaN


@final
@dataclass(frozen=True, eq=False)
class KeyValues(ModelNames, Generic[T, Dv]):
    """Keys and values of the positions that an attention has read, cut into heads: (..., Heads, Time, Width // Heads).

    A value that a step is given and gives; a run of it, as of each frozen dataclass of layers, has arrays in its place,
    which the next step takes.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> attention = MultiHeadAttention.make(SGD(learning_rate=0.1), 8, 2, seed=0)
    >>> y, past = attention.step(np.ones((3, 1, 8), np.float32))
    >>> y, past = attention.step(np.ones((3, 1, 8), np.float32), past)
    >>> past.time, past.keys.shape
    (2, (3, 2, 2, 4))

    Source: the "key-value cache" of Pope et al. 2022, "Efficiently Scaling Transformer Inference", section 2.1.
    """

    keys: ArrayLayer[Any, T, Dv]
    values: ArrayLayer[Any, T, Dv]

    @property
    def time(self) -> int:
        """The number of positions."""
        return int(self.keys.shape[-2])


@final
@dataclass(frozen=True, eq=False)
class MultiHeadAttention(ModelNames, Generic[Width, Heads, T, Dv]):
    """Scaled dot-product attention in `Heads` heads of Width // Heads features.

    q, k, v are linear maps of query, key and value, cut into heads; head = softmax(q kᵀ / sqrt(Width / Heads)) v;
    the result is a linear map of all heads, side by side. Without key and value a sequence attends to itself;
    without value it is the key. Where the mask is False nothing is gathered. With `rotary` queries and keys are turned
    by their positions, head by head. `step` reads a sequence part by part, and hands on its keys and values.
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
    rotary: bool = False

    def __post_init__(self) -> None:
        width = self.query.weight.shape[0]
        for part in ("query", "key", "value", "output"):
            linear: Linear[Any, Any, T, Dv] = getattr(self, part)
            check_weight("MultiHeadAttention", f"{part} weights", linear.weight.shape, (width, width))
        if self.heads < 1 or width % self.heads:
            raise misfit(_WHO, f"{self.heads} heads do not divide a width of {width}")

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        width: int,
        heads: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        bias: bool = True,
        rotary: bool = False,
        init: Init | None = None,
    ) -> MultiHeadAttention[Any, Any, N, On]:
        """Four new maps, each as `Linear.make` begins; one generator serves all."""
        begin = Beginning("MultiHeadAttention", settings, seed, name, dtype)
        size = begin.size("width", width)

        def part(of: str) -> Linear[Any, Any, N, On]:
            name = begin.name_of(of)
            return Linear.make(
                settings, size, size, seed=begin.chance, name=name, dtype=dtype, bias=bias, init=init
            )

        maps = part("query"), part("key"), part("value"), part("output")
        return MultiHeadAttention(*maps, begin.size("heads", heads), rotary)

    def __call__(
        self,
        query: ArrayExpression[Any, T, Dv],
        key: ArrayExpression[Any, T, Dv] | None = None,
        value: ArrayExpression[Any, T, Dv] | None = None,
        /,
        *,
        mask: Mask[Any, Dv] | None = None,
    ) -> ArrayLayer[Any, T, Dv]:
        asked = with_last_axis(_WHO, query, self.query.weight.shape[0])
        read = self.read(asked if key is None else key, value)
        return self.attended(asked, read, mask=mask)

    def read(
        self,
        key: ArrayExpression[Any, T, Dv],
        value: ArrayExpression[Any, T, Dv] | None = None,
        /,
        *,
        begin: int = 0,
    ) -> KeyValues[T, Dv]:
        """Keys and values of a sequence, of which the first position is `begin`, for `attended`."""
        keys = with_last_axis(_WHO, key, self.query.weight.shape[0])
        values = keys if value is None else with_shape(_WHO, "a value", value, shape_of(keys))
        _check_time(keys.shape)
        return KeyValues(self._turned(self._cut(self.key(keys)), begin), self._cut(self.value(values)))

    def attended(
        self,
        query: ArrayExpression[Any, T, Dv],
        read: KeyValues[T, Dv],
        /,
        *,
        mask: Mask[Any, Dv] | None = None,
        begin: int = 0,
    ) -> ArrayLayer[Any, T, Dv]:
        """The gatherings of queries, the first at the position `begin`, from keys and values that have been read."""
        width = self.query.weight.shape[0]
        asked = with_last_axis(_WHO, query, width)
        _check_batch(asked.shape, read.keys.shape, width)
        q = self._turned(self._cut(self.query(asked)), begin)
        rank = len(q.shape)
        last_two = (*range(rank - 2), rank - 1, rank - 2)
        scores = matmul(q, permute_dims(read.keys, last_two)) / math.sqrt(width // self.heads)
        if mask is not None:
            scores = where(_fitting(mask, scores.shape), scores, _MASKED)
        shares: Any = softmax(scores)  # Any: a layer of the element type and device of x
        heads: ArrayLayer[Any, T, Dv] = matmul(shares, read.values)
        side_by_side = permute_dims(heads, _heads_and_time(rank))
        return self.output(reshape(side_by_side, asked.shape))

    def step(
        self, x: ArrayExpression[Any, T, Dv], past: KeyValues[T, Dv] | None = None, /
    ) -> tuple[ArrayLayer[Any, T, Dv], KeyValues[T, Dv]]:
        """The result of a causal mask for the positions of `x` behind `past`, and the past of those that follow."""
        begin = 0 if past is None else past.time
        now = self.read(x, begin=begin)
        if past is not None:
            if past.keys.shape[:-2] != now.keys.shape[:-2] or past.keys.shape[-1] != now.keys.shape[-1]:
                raise misfit(
                    _WHO, f"keys of shape {now.keys.shape} do not follow those of shape {past.keys.shape}"
                )
            pairs = ((past.keys, now.keys), (past.values, now.values))
            now = KeyValues(*(concat([as_layer(old), new], axis=-2) for old, new in pairs))
        time = now.time - begin
        mask = None if time == 1 else causal_mask(now.time, begin=begin, device=now.keys.device)
        return self.attended(x, now, mask=mask, begin=begin), now

    def _turned(self, x: ArrayLayer[Any, T, Dv], begin: int) -> ArrayLayer[Any, T, Dv]:
        return rotary(x, begin=begin) if self.rotary else x

    def _cut(self, x: ArrayLayer[Any, T, Dv]) -> ArrayLayer[Any, T, Dv]:
        """(..., Time, Width) as (..., Heads, Time, Width // Heads)."""
        shape = x.shape
        cut = reshape(x, (*shape[:-1], self.heads, shape[-1] // self.heads))
        return permute_dims(cut, _heads_and_time(len(shape) + 1))


def _heads_and_time(rank: int) -> tuple[int, ...]:
    """The axes of heads and of time exchanged."""
    return (*range(rank - 3), rank - 2, rank - 3, rank - 1)


def _check_time(shape: Shape) -> None:
    if len(shape) < 2:
        raise misfit(_WHO, f"expected (..., time, width), got {shape}")


def _check_batch(query: Shape, keys: Shape, width: int) -> None:
    """The axes before time are those of query and key; keys have been cut into heads."""
    _check_time(query)
    *batch, _, time, _ = keys
    if query[:-2] != tuple(batch):
        key = (*batch, time, width)
        raise misfit(_WHO, f"a query of shape {query} and a key of shape {key} differ in batch")


def _fitting(mask: Mask[Any, Dv], scores: Shape) -> Mask[Any, Dv]:
    padded = (1,) * (len(scores) - len(mask.shape)) + mask.shape
    if len(padded) != len(scores) or any(n not in (1, m) for n, m in zip(padded, scores, strict=True)):
        raise misfit(_WHO, f"expected a mask that broadcasts to {scores}, got {mask.shape}")
    return mask
