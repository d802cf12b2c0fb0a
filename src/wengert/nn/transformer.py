"""Transformers: layers and stacks of an encoder and of a decoder, causal masks, and positions.

Knows: what is added around attention and a net of two layers, and where norms and dropout stand.
Refuses to know: attention, and what is embedded and read out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, final

from wengert.arrays import FLOAT32, FLOAT64, HOST, Cpu, Dv, Float32, HostArray, S, T, is_integer
from wengert.elsewhere import ModelNames
from wengert.errors import ArgumentError
from wengert.graph import ArrayExpression, ArrayLayer, Mask, lift
from wengert.nn.attention import MultiHeadAttention
from wengert.nn.checks import as_layer, misfit, shape_of
from wengert.nn.dims import N, Width
from wengert.nn.dropout import Dropout
from wengert.nn.init import Init
from wengert.nn.linear import Linear
from wengert.nn.making import Beginning, Seed
from wengert.nn.normalization import LayerNorm
from wengert.nn.seeded import Seeded, Seeds, derived
from wengert.ops import concat, greater_equal, relu, split
from wengert.plugins import Plugin
from wengert.site import user_position

Function: TypeAlias = Callable[[ArrayLayer[Any, T, Dv]], ArrayLayer[Any, T, Dv]]


@dataclass(frozen=True, eq=False)
class _Around(Generic[Width, T, Dv]):
    """x + f(x) with a norm before f, or behind the sum."""

    norm: LayerNorm[Width, T, Dv]
    dropout: Dropout
    first: bool

    def __call__(self, x: Any, inner: Function[T, Dv], seed: Seeds | None) -> Any:  # Any: layers of one shape
        if self.first:
            return x + self.dropout(inner(self.norm(x)), seed=seed)
        return self.norm(x + self.dropout(inner(x), seed=seed))


@final
@dataclass(frozen=True, eq=False)
class TransformerEncoderLayer(Seeded, ModelNames, Generic[Width, T, Dv]):
    """Attention of a sequence to itself, then a net of two layers at each position, each added to what it was given.

    With norm_first x + f(norm(x)) of both, else norm(x + f(x)), which is the original. With a seed it trains:
    dropout is at the end of each f, and between the two layers of the net.
    Shapes: (..., Time, Width), kept; the mask is that of `MultiHeadAttention`. Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = TransformerEncoderLayer.make(SGD(learning_rate=0.1), 8, 2, 16, seed=0)
    >>> layer(np.ones((3, 5, 8), np.float32), mask=causal_mask(5)).shape
    (3, 5, 8)

    Source: Vaswani et al. 2017, "Attention Is All You Need"; Xiong et al. 2020 for the norm first.
    """

    attention: MultiHeadAttention[Width, Any, T, Dv]
    attention_norm: LayerNorm[Width, T, Dv]
    inner: Linear[Width, Any, T, Dv]
    outer: Linear[Any, Width, T, Dv]
    net_norm: LayerNorm[Width, T, Dv]
    dropout: Dropout
    activation: Function[T, Dv]
    norm_first: bool

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Plugin,
        width: int,
        heads: int,
        hidden: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        dropout: float = 0.1,
        activation: Function[Any, Any] = relu,
        norm_first: bool = False,
        init: Init | None = None,
    ) -> TransformerEncoderLayer[Any, N]:
        """A layer whose parts begin as those of their own `make`; one generator serves all."""
        begin = Beginning("TransformerEncoderLayer", settings, seed, name, dtype)
        of: Any = {"seed": begin.chance, "dtype": dtype, "init": init}  # Any: keywords of several types
        norms = (
            LayerNorm.make(settings, width, name=begin.name_of(part), dtype=dtype)
            for part in ("attention_norm", "net_norm")
        )
        attention = MultiHeadAttention.make(settings, width, heads, name=begin.name_of("attention"), **of)
        inner = Linear.make(settings, width, hidden, name=begin.name_of("inner"), **of)
        outer = Linear.make(settings, hidden, width, name=begin.name_of("outer"), **of)
        return TransformerEncoderLayer(
            attention, next(norms), inner, outer, next(norms), Dropout(dropout), activation, norm_first
        )

    def __call__(
        self,
        x: ArrayExpression[S, T, Dv],
        /,
        *,
        mask: Mask[Any, Dv] | None = None,
        seed: Seeds | None = None,
    ) -> ArrayLayer[S, T, Dv]:
        def net(h: ArrayLayer[Any, T, Dv]) -> ArrayLayer[Any, T, Dv]:
            return self.outer(self.dropout(self.activation(self.inner(h)), seed=derived(seed, 1)))

        around = _Around(self.attention_norm, self.dropout, self.norm_first)
        h = around(as_layer(x), lambda h: self.attention(h, mask=mask), derived(seed, 0))
        y: ArrayLayer[S, T, Dv] = _Around(self.net_norm, self.dropout, self.norm_first)(
            h, net, derived(seed, 2)
        )
        return y


@final
@dataclass(frozen=True, eq=False)
class TransformerDecoderLayer(Seeded, ModelNames, Generic[Width, T, Dv]):
    """Attention of a sequence to itself, then to a memory, then a net of two layers, each added to what it was given.

    Norms and dropout are as in `TransformerEncoderLayer`.
    Shapes: (..., Time, Width), kept, and a memory (..., Source, Width). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = TransformerDecoderLayer.make(SGD(learning_rate=0.1), 8, 2, 16, seed=0)
    >>> layer(np.ones((3, 5, 8), np.float32), np.ones((3, 7, 8), np.float32), mask=causal_mask(5)).shape
    (3, 5, 8)

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.1.
    """

    itself: TransformerEncoderLayer[Width, T, Dv]  # its attention, its net and its norms
    memory: MultiHeadAttention[Width, Any, T, Dv]
    memory_norm: LayerNorm[Width, T, Dv]

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Plugin,
        width: int,
        heads: int,
        hidden: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        dropout: float = 0.1,
        activation: Function[Any, Any] = relu,
        norm_first: bool = False,
        init: Init | None = None,
    ) -> TransformerDecoderLayer[Any, N]:
        """A layer whose parts begin as those of their own `make`; one generator serves all."""
        begin = Beginning("TransformerDecoderLayer", settings, seed, name, dtype)
        itself = TransformerEncoderLayer.make(
            settings,
            width,
            heads,
            hidden,
            seed=begin.chance,
            name=begin.name_of("itself"),
            dtype=dtype,
            dropout=dropout,
            activation=activation,
            norm_first=norm_first,
            init=init,
        )
        memory = MultiHeadAttention.make(
            settings, width, heads, seed=begin.chance, name=begin.name_of("memory"), dtype=dtype, init=init
        )
        norm = LayerNorm.make(settings, width, name=begin.name_of("memory_norm"), dtype=dtype)
        return TransformerDecoderLayer(itself, memory, norm)

    def __call__(  # type: ignore[override] # a decoder reads its memory, too: `Sequential` has none to give
        self,
        x: ArrayExpression[S, T, Dv],
        memory: ArrayExpression[Any, T, Dv],
        /,
        *,
        mask: Mask[Any, Dv] | None = None,
        memory_mask: Mask[Any, Dv] | None = None,
        seed: Seeds | None = None,
    ) -> ArrayLayer[S, T, Dv]:
        of = self.itself

        def net(h: ArrayLayer[Any, T, Dv]) -> ArrayLayer[Any, T, Dv]:
            return of.outer(of.dropout(of.activation(of.inner(h)), seed=derived(seed, 2)))

        parts: tuple[tuple[LayerNorm[Width, T, Dv], Function[T, Dv]], ...] = (
            (of.attention_norm, lambda h: of.attention(h, mask=mask)),
            (self.memory_norm, lambda h: self.memory(h, memory, mask=memory_mask)),
            (of.net_norm, net),
        )
        h: Any = as_layer(x)  # Any: the shape of x
        for i, (norm, inner) in enumerate(parts):
            h = _Around(norm, of.dropout, of.norm_first)(h, inner, derived(seed, (0, 1, 3)[i]))
        y: ArrayLayer[S, T, Dv] = h
        return y


def causal_mask(time: int, /) -> Mask[Any, Cpu]:
    """True where a key is not later than a query: (time, time), for `MultiHeadAttention` and all that has one.

    >>> causal_mask(3).predict().run().astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    if not is_integer(time) or int(time) < 1:
        raise ArgumentError(
            f"causal_mask: time is a positive integer; got {time!r:.60}\n  at {user_position()}"
        )
    rows, columns = (HOST.astype(x, FLOAT32) for x in HOST.mesh((int(time), int(time))))
    queries: Any = lift(rows)  # Any: the type of data of a computed shape
    return greater_equal(queries, columns)


def sinusoidal_positions(time: int, width: int, /) -> HostArray[tuple[int, int], Float32]:
    """A vector for each position: sin and cos, in turn, of the position times `width` / 2 falling rates.

    y[t, 2 i] = sin(t / 10000^(2 i / width)), y[t, 2 i + 1] = cos of the same. Data of (time, width), in float32.
    >>> sinusoidal_positions(2, 4).round(3).tolist()[1]
    [0.8410000205039978, 0.5400000214576721, 0.009999999776482582, 1.0]

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
    """
    for what, n, even in (("time", time, 1), ("width", width, 2)):
        if not is_integer(n) or int(n) < 1 or int(n) % even:
            kind = "a positive integer" if even == 1 else "an even positive integer"
            raise ArgumentError(
                f"sinusoidal_positions: {what} is {kind}; got {n!r:.60}\n  at {user_position()}"
            )
    angles = _angles(int(time), int(width) // 2, 10000.0)
    found: HostArray[tuple[int, int], Float32] = HOST.astype(
        HOST.reshape(HOST.stack([HOST.sin(angles), HOST.cos(angles)], axis=2), (int(time), int(width))),
        FLOAT32,
    )
    return found


def _angles(time: int, rates: int, base: float, begin: int = 0) -> Any:  # Any: an array of numpy
    places, numbers = HOST.mesh((time, rates))
    return (HOST.astype(places, FLOAT64) + float(begin)) * HOST.exp(
        HOST.astype(numbers, FLOAT64) * (-math.log(base) / rates)
    )


def rotary(x: ArrayExpression[S, T, Dv], /, *, begin: int = 0, base: float = 10000.0) -> ArrayLayer[S, T, Dv]:
    """Queries or keys turned by angles that grow with their position, so that their products know distances only.

    The features i and i + Width / 2 are turned together, by position / base^(2 i / Width); the first is `begin`.
    Shapes: (..., Time, Width), kept, with an even Width. Raises ShapeError.
    >>> import numpy as np
    >>> rotary(np.array([[1.0, 0.0], [1.0, 0.0]])).predict().run().round(3).tolist()
    [[1.0, 0.0], [0.54, 0.841]]

    Source: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding".
    """
    layer = as_layer(x)
    shape = shape_of(layer)
    if shape is None or len(shape) < 2 or shape[-1] % 2:
        text = "a shape that only the run tells" if shape is None else shape
        raise misfit("rotary", f"expected (..., time, width) with an even width, got {text}")
    angles = _angles(shape[-2], shape[-1] // 2, base, begin)
    sine, cosine = (HOST.astype(part, layer.dtype) for part in (HOST.sin(angles), HOST.cos(angles)))
    left, right = split(layer, 2, axis=-1)
    y: ArrayLayer[S, T, Dv] = concat([left * cosine - right * sine, right * cosine + left * sine], axis=-1)
    return y
