"""Transformers: layers and stacks of an encoder and of a decoder, whole or step by step.

Knows: what is added around attention and a net of two layers, and where norms and dropout stand; that a step hands on
the keys and values of what came before.
Refuses to know: attention, and what is embedded and read out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypedDict, Unpack, final

from wengert.arrays import Dv, S, T
from wengert.elsewhere import ModelNames
from wengert.errors import ArgumentError
from wengert.graph import ArrayExpression, ArrayLayer, Mask
from wengert.nn.attention import KeyValues, MultiHeadAttention
from wengert.nn.checks import as_layer
from wengert.nn.dims import N, On, Width
from wengert.nn.dropout import Dropout
from wengert.nn.init import Init
from wengert.nn.linear import Linear
from wengert.nn.making import Beginning, Seed
from wengert.nn.normalization import LayerNorm
from wengert.nn.seeded import Seeded, Seeds, derived
from wengert.ops import relu
from wengert.plugins.making import Placing
from wengert.site import user_position

Function: TypeAlias = Callable[[ArrayLayer[Any, T, Dv]], ArrayLayer[Any, T, Dv]]
Layer: TypeAlias = ArrayLayer[Any, T, Dv]
# Of a layer of a decoder: what it has read so far, nothing yet at the begin, and the memory.
Read: TypeAlias = tuple[KeyValues[T, Dv] | None, KeyValues[T, Dv]]


class TransformerOptions(TypedDict, total=False):
    """Options that all layers of a transformer share, with the defaults of `TransformerEncoderLayer.make`."""

    dropout: float
    activation: Function[Any, Any]
    norm_first: bool
    rotary: bool
    init: Init | None


@final
@dataclass(frozen=True, eq=False)
class TransformerEncoderLayer(Seeded, ModelNames, Generic[Width, T, Dv]):
    """Attention of a sequence to itself, then a net of two layers at each position, each added to what it was given.

    With norm_first x + f(norm(x)) of both, else norm(x + f(x)), which is the original. With a seed it trains:
    dropout is at the end of each f, and between the two layers of the net. `step` reads a sequence part by part.
    Shapes: (..., Time, Width), kept; the mask is that of `MultiHeadAttention`. Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.nn import causal_mask
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
        settings: Placing[On],
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
        rotary: bool = False,
        init: Init | None = None,
    ) -> TransformerEncoderLayer[Any, N, On]:
        """A layer whose parts begin as those of their own `make`; one generator serves all."""
        begin = Beginning("TransformerEncoderLayer", settings, seed, name, dtype)
        of: Any = {"seed": begin.chance, "dtype": dtype, "init": init}  # Any: keywords of several types
        norms = (
            LayerNorm.make(settings, width, name=begin.name_of(part), dtype=dtype)
            for part in ("attention_norm", "net_norm")
        )
        attention = MultiHeadAttention.make(
            settings, width, heads, name=begin.name_of("attention"), rotary=rotary, **of
        )
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
        h = as_layer(x)
        h = self.after(
            self.attention_norm,
            h,
            self.attention(self.before(self.attention_norm, h), mask=mask),
            derived(seed, 0),
        )
        y: ArrayLayer[S, T, Dv] = self.net(h, derived(seed, 1), derived(seed, 2))
        return y

    def step(
        self, x: ArrayExpression[S, T, Dv], past: KeyValues[T, Dv] | None = None, /
    ) -> tuple[ArrayLayer[S, T, Dv], KeyValues[T, Dv]]:
        """The result of a causal mask for the positions of `x` behind `past`, and the past of those that follow."""
        h = as_layer(x)
        read, now = self.attention.step(self.before(self.attention_norm, h), past)
        y: ArrayLayer[S, T, Dv] = self.net(self.after(self.attention_norm, h, read, None), None, None)
        return y, now

    def before(self, norm: LayerNorm[Width, T, Dv], x: Layer[T, Dv]) -> Layer[T, Dv]:
        """The operand of a part: normalized first, or as it is."""
        return norm(x) if self.norm_first else x

    def after(
        self, norm: LayerNorm[Width, T, Dv], x: Layer[T, Dv], made: Layer[T, Dv], seed: Seeds | None
    ) -> Layer[T, Dv]:
        """The sum of `x` and what a part has made of it."""
        y: Layer[T, Dv] = x + self.dropout(made, seed=seed)
        return y if self.norm_first else norm(y)

    def net(self, x: Layer[T, Dv], inner: Seeds | None, outer: Seeds | None) -> Layer[T, Dv]:
        """The net of two layers, with norm and sum; the seeds are those of its two dropouts."""
        h = self.activation(self.inner(self.before(self.net_norm, x)))
        return self.after(self.net_norm, x, self.outer(self.dropout(h, seed=inner)), outer)


@final
@dataclass(frozen=True, eq=False)
class TransformerDecoderLayer(Seeded, ModelNames, Generic[Width, T, Dv]):
    """Attention of a sequence to itself, then to a memory, then a net of two layers, each added to what it was given.

    Norms and dropout are as in `TransformerEncoderLayer`. `begin` and `step` read a sequence part by part.
    Shapes: (..., Time, Width), kept, and a memory (..., Source, Width). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.nn import causal_mask
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
        settings: Placing[On],
        width: int,
        heads: int,
        hidden: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        **how: Unpack[TransformerOptions],
    ) -> TransformerDecoderLayer[Any, N, On]:
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
            **how,
        )
        memory = MultiHeadAttention.make(
            settings,
            width,
            heads,
            seed=begin.chance,
            name=begin.name_of("memory"),
            dtype=dtype,
            init=how.get("init"),
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
        of, h = self.itself, as_layer(x)
        read = of.attention(of.before(of.attention_norm, h), mask=mask)
        h = of.after(of.attention_norm, h, read, derived(seed, 0))
        found = self.memory(of.before(self.memory_norm, h), memory, mask=memory_mask)
        h = of.after(self.memory_norm, h, found, derived(seed, 1))
        y: ArrayLayer[S, T, Dv] = of.net(h, derived(seed, 2), derived(seed, 3))
        return y

    def begin(self, memory: ArrayExpression[Any, T, Dv], /) -> Read[T, Dv]:
        """The past of the first step: the keys and values of the memory, and nothing read yet."""
        return None, self.memory.read(memory)

    def step(
        self,
        x: ArrayExpression[S, T, Dv],
        past: Read[T, Dv],
        /,
        *,
        memory_mask: Mask[Any, Dv] | None = None,
    ) -> tuple[ArrayLayer[S, T, Dv], Read[T, Dv]]:
        """The result of a causal mask for the positions of `x` behind `past`, and the past of those that follow."""
        of, h = self.itself, as_layer(x)
        read, now = of.attention.step(of.before(of.attention_norm, h), past[0])
        h = of.after(of.attention_norm, h, read, None)
        found = self.memory.attended(of.before(self.memory_norm, h), past[1], mask=memory_mask)
        y: ArrayLayer[S, T, Dv] = of.net(of.after(self.memory_norm, h, found, None), None, None)
        return y, (now, past[1])


@final
@dataclass(frozen=True, eq=False)
class TransformerEncoder(Seeded, ModelNames, Generic[Width, T, Dv]):
    """`TransformerEncoderLayer`s one above the other, and a norm behind the last where norms come first.

    With a causal mask it is a language model's stack, which `step` reads part by part: each layer hands on its keys and
    values, so that a sequence that grows is not read again.
    Shapes: (..., Time, Width), kept. Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.nn import causal_mask
    >>> from wengert.plugins import SGD
    >>> stack = TransformerEncoder.make(SGD(learning_rate=0.1), 8, 2, 16, layers=2, seed=0)
    >>> x = np.random.default_rng(0).normal(size=(3, 5, 8)).astype(np.float32)
    >>> whole = stack(x, mask=causal_mask(5)).predict().run()
    >>> first, past = stack.step(x[:, :4])
    >>> last, past = stack.step(x[:, 4:], past)
    >>> bool(np.allclose(last.predict().run(), whole[:, 4:], atol=1e-5))
    True

    Source: as its layers; the norm at the end is that of Radford et al. 2019, section 2.3.
    """

    layers: tuple[TransformerEncoderLayer[Width, T, Dv], ...]
    norm: LayerNorm[Width, T, Dv] | None

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Placing[On],
        width: int,
        heads: int,
        hidden: int,
        /,
        *,
        layers: int,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        **how: Unpack[TransformerOptions],
    ) -> TransformerEncoder[Any, N, On]:
        """A stack of new layers; one generator serves all."""
        begin = Beginning("TransformerEncoder", settings, seed, name, dtype)
        sizes = width, heads, hidden
        return TransformerEncoder(
            *_stack(begin, TransformerEncoderLayer, settings, sizes, layers, dtype, how)
        )

    def __call__(
        self,
        x: ArrayExpression[S, T, Dv],
        /,
        *,
        mask: Mask[Any, Dv] | None = None,
        seed: Seeds | None = None,
    ) -> ArrayLayer[S, T, Dv]:
        h = as_layer(x)
        for i, layer in enumerate(self.layers):
            h = layer(h, mask=mask, seed=derived(seed, i))
        return h if self.norm is None else self.norm(h)

    def step(
        self, x: ArrayExpression[S, T, Dv], past: tuple[KeyValues[T, Dv], ...] | None = None, /
    ) -> tuple[ArrayLayer[S, T, Dv], tuple[KeyValues[T, Dv], ...]]:
        """The result of a causal mask for the positions of `x` behind `past`, and the past of those that follow."""
        h, now = as_layer(x), list[KeyValues[T, Dv]]()
        for layer, read in zip(self.layers, _of_each("TransformerEncoder", self.layers, past), strict=True):
            h, grown = layer.step(h, read)
            now.append(grown)
        return h if self.norm is None else self.norm(h), tuple(now)


@final
@dataclass(frozen=True, eq=False)
class TransformerDecoder(Seeded, ModelNames, Generic[Width, T, Dv]):
    """`TransformerDecoderLayer`s one above the other, and a norm behind the last where norms come first.

    `begin` reads the memory once for all steps, and `step` a sequence part by part.
    Shapes: (..., Time, Width), kept, and a memory (..., Source, Width). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> stack = TransformerDecoder.make(SGD(learning_rate=0.1), 8, 2, 16, layers=2, seed=0)
    >>> x, memory = np.ones((3, 5, 8), np.float32), np.ones((3, 7, 8), np.float32)
    >>> first, past = stack.step(x[:, :1], stack.begin(memory))
    >>> second, past = stack.step(x[:, 1:2], past)
    >>> stack(x, memory).shape, second.shape
    ((3, 5, 8), (3, 1, 8))

    Source: as its layers.
    """

    layers: tuple[TransformerDecoderLayer[Width, T, Dv], ...]
    norm: LayerNorm[Width, T, Dv] | None

    # Any, as the size: the mypy plugin puts the stated one there
    @staticmethod
    def make(
        settings: Placing[On],
        width: int,
        heads: int,
        hidden: int,
        /,
        *,
        layers: int,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        **how: Unpack[TransformerOptions],
    ) -> TransformerDecoder[Any, N, On]:
        """A stack of new layers; one generator serves all."""
        begin = Beginning("TransformerDecoder", settings, seed, name, dtype)
        sizes = width, heads, hidden
        return TransformerDecoder(
            *_stack(begin, TransformerDecoderLayer, settings, sizes, layers, dtype, how)
        )

    def __call__(  # type: ignore[override] # as of its layers
        self,
        x: ArrayExpression[S, T, Dv],
        memory: ArrayExpression[Any, T, Dv],
        /,
        *,
        mask: Mask[Any, Dv] | None = None,
        memory_mask: Mask[Any, Dv] | None = None,
        seed: Seeds | None = None,
    ) -> ArrayLayer[S, T, Dv]:
        h, source = as_layer(x), as_layer(memory)
        for i, layer in enumerate(self.layers):
            h = layer(h, source, mask=mask, memory_mask=memory_mask, seed=derived(seed, i))
        return h if self.norm is None else self.norm(h)

    def begin(self, memory: ArrayExpression[Any, T, Dv], /) -> tuple[Read[T, Dv], ...]:
        """The past of the first step: the keys and values of the memory in each layer, and nothing read yet."""
        source = as_layer(memory)
        return tuple(layer.begin(source) for layer in self.layers)

    def step(
        self,
        x: ArrayExpression[S, T, Dv],
        past: tuple[Read[T, Dv], ...],
        /,
        *,
        memory_mask: Mask[Any, Dv] | None = None,
    ) -> tuple[ArrayLayer[S, T, Dv], tuple[Read[T, Dv], ...]]:
        """The result of a causal mask for the positions of `x` behind `past`, and the past of those that follow."""
        h, now = as_layer(x), list[Read[T, Dv]]()
        for layer, read in zip(self.layers, _of_each("TransformerDecoder", self.layers, past), strict=True):
            h, grown = layer.step(h, read, memory_mask=memory_mask)
            now.append(grown)
        return h if self.norm is None else self.norm(h), tuple(now)


# Any: layers of either kind
def _stack(
    begin: Beginning[N, On],
    of: type[Any],
    settings: Placing[On],
    sizes: tuple[int, int, int],
    layers: int,
    dtype: type[N] | None,
    how: TransformerOptions,
) -> tuple[tuple[Any, ...], LayerNorm[Any, N, On] | None]:
    """New layers one above the other, and the norm behind the last where norms come first."""
    found = tuple(
        of.make(settings, *sizes, seed=begin.chance, name=begin.name_of(f"layers.{i}"), dtype=dtype, **how)
        for i in range(begin.size("layers", layers))
    )
    if not how.get("norm_first", False):
        return found, None
    return found, LayerNorm.make(settings, sizes[0], name=begin.name_of("norm"), dtype=dtype)


# Any: layers, and pasts, of either kind
def _of_each(who: str, layers: tuple[Any, ...], past: Any) -> tuple[Any, ...]:
    """The past of each layer."""
    if past is None:
        return (None,) * len(layers)
    if not isinstance(past, tuple) or len(past) != len(layers):
        got = f"one of {len(past)}" if isinstance(past, tuple) else f"{past!r:.60}"
        raise ArgumentError(
            f"{who}: the past has keys and values of each of {len(layers)} layers; got {got}\n  at {user_position()}"
        )
    return past
