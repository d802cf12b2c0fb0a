"""Layers made of other layers, and layers without weights: `MLP`, `Residual`, `Flatten`, pooling.

Knows: how they pass on a seed, and that a residual needs what it goes round to keep the shape.
Refuses to know: the formulas of their parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, final

from wengert.arrays import Dv, S, T, is_integer
from wengert.elsewhere import ModelNames
from wengert.errors import ArgumentError
from wengert.graph import ArrayExpression, ArrayLayer
from wengert.nn.checks import as_layer, misfit, shape_of
from wengert.nn.dims import In, Kernel, N, On, Out, Padding, Stride
from wengert.nn.dropout import Dropout
from wengert.nn.init import Init
from wengert.nn.linear import Linear
from wengert.nn.making import Beginning, Seed
from wengert.nn.seeded import Seeded, Seeds, derived
from wengert.nn.steady import Steady, is_steady
from wengert.ops import avg_pool2d, max_pool2d, mean, relu, reshape
from wengert.plugins.making import Placing
from wengert.site import user_position

Function: TypeAlias = Callable[[ArrayLayer[Any, T, Dv]], ArrayLayer[Any, T, Dv]]


@final
@dataclass(frozen=True, eq=False)
class MLP(Steady, Seeded, ModelNames, Generic[In, Out, T, Dv]):
    """A multilayer perceptron: linear maps of the last axis with an activation between, features `In` to `Out`.

    y = Wₙ a(... a(W₁ x + b₁) ...) + bₙ, with dropout behind each activation where a seed says that it trains.
    Shapes: (..., In) to (..., Out). Raises ShapeError for another last axis.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> net = MLP.make(SGD(learning_rate=0.1), 784, 128, 64, 10, seed=0)
    >>> net(np.ones((5, 784), np.float32)).shape
    (5, 10)

    Source: Rumelhart, Hinton and Williams 1986, "Learning representations by back-propagating errors".
    """

    layers: tuple[Linear[Any, Any, T, Dv], ...]
    activation: Function[T, Dv]
    dropout: Dropout

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        inputs: int,
        /,
        *sizes: int,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        activation: Function[Any, Any] = relu,
        dropout: float = 0.0,
        init: Init | None = None,
    ) -> MLP[Any, Any, N, On]:
        """A net of new weights with these numbers of features, each map as `Linear.make` begins."""
        begin = Beginning("MLP", settings, seed, name, dtype)
        if not sizes:
            raise ArgumentError(
                "MLP: expected the numbers of inputs and of each layer's outputs, as in "
                f"MLP.make(settings, 784, 128, 10, seed=0); got {inputs!r:.60}\n  at {user_position()}"
            )
        layers = tuple(
            Linear.make(
                settings, n, m, seed=begin.chance, name=begin.name_of(f"layers.{i}"), dtype=dtype, init=init
            )
            for i, (n, m) in enumerate(zip((inputs, *sizes), sizes, strict=False))
        )
        return MLP(layers, activation, Dropout(dropout))

    def __call__(
        self, x: ArrayExpression[Any, T, Dv], /, *, seed: Seeds | None = None
    ) -> ArrayLayer[Any, T, Dv]:
        if seed is not None:
            return self._composed(x, seed)
        made: ArrayLayer[Any, T, Dv] = self._again(x, self._composed)
        return made

    @property
    def steady(self) -> bool:
        return is_steady(self.activation)

    def _composed(self, x: ArrayExpression[Any, T, Dv], seed: Seeds | None = None) -> ArrayLayer[Any, T, Dv]:
        *before, last = self.layers
        h: ArrayLayer[Any, T, Dv] = as_layer(x)
        for i, layer in enumerate(before):
            h = self.activation(layer(h))
            if self.dropout.rate:
                h = self.dropout(h, seed=derived(seed, i))
        return last(h)


@final
@dataclass(frozen=True, eq=False)
class Residual(Seeded, ModelNames):
    """x + f(x), for a layer or function f that keeps the shape; a seed is passed on to a layer that takes one.

    Shapes: that of x. Raises ShapeError where f changes it.
    >>> import numpy as np
    >>> from wengert import square
    >>> Residual(square)(np.array([1.0, 2.0])).predict().run().tolist()
    [2.0, 6.0]

    Source: He et al. 2016, "Deep Residual Learning for Image Recognition".
    """

    inner: Any  # a layer, or a function of one: any type that is called with an array

    def __call__(self, x: ArrayExpression[S, T, Dv], /, *, seed: Seeds | None = None) -> ArrayLayer[S, T, Dv]:
        layer = as_layer(x)
        made = (
            self.inner(layer, seed=derived(seed, 0)) if isinstance(self.inner, Seeded) else self.inner(layer)
        )
        shapes = shape_of(layer), shape_of(made)
        if None not in shapes and shapes[0] != shapes[1]:
            raise misfit("Residual", f"expected a layer that keeps shape {shapes[0]}, it gave {shapes[1]}")
        y: ArrayLayer[S, T, Dv] = layer + made
        return y


@final
@dataclass(frozen=True)
class Flatten(ModelNames):
    """All axes behind the first as one.

    Shapes: (B, ...) to (B, n) with the product n of the other sizes. Raises ShapeError for an array without an axis.
    >>> import numpy as np
    >>> Flatten()(np.ones((2, 3, 4))).shape
    (2, 12)

    Source: PyTorch, `torch.nn.Flatten`.
    """

    def __call__(self, x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        layer = as_layer(x)
        shape = shape_of(layer)
        if shape is None or not shape:
            raise misfit(
                "Flatten", f"expected (batch, ...), got {shape or 'a shape that only the run tells'}"
            )
        return reshape(layer, (shape[0], math.prod(shape[1:])))


@dataclass(frozen=True, init=False)
class _Pool2d(ModelNames, Generic[Kernel, Stride, Padding]):
    """Windows of one size."""

    size: Kernel
    stride: Stride
    padding: Padding

    def __init__(self, size: int, /, *, stride: int | None = None, padding: int = 0) -> None:
        for what, n, least in (
            ("size", size, 1),
            ("stride", size if stride is None else stride, 1),
            ("padding", padding, 0),
        ):
            if not is_integer(n) or int(n) < least:
                raise ArgumentError(
                    f"{type(self).__name__}: {what} is an integer of at least {least}; got {n!r:.60}\n"
                    f"  at {user_position()}"
                )
            object.__setattr__(self, what, int(n))


@final
class MaxPool2d(_Pool2d[Kernel, Stride, Padding]):
    """The greatest element of each window, as `wengert.max_pool2d` has it; windows lie side by side without a stride.

    Shapes: (B, C, H, W) to (B, C, (H + 2 padding - size) // stride + 1, and W likewise). Raises ShapeError;
    ArgumentError for a size or stride below 1.
    >>> import numpy as np
    >>> MaxPool2d(2)(np.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)

    Source: PyTorch, `torch.nn.MaxPool2d`.
    """

    def __call__(self, x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        return max_pool2d(x, self.size, stride=self.stride, padding=self.padding)


@final
class AvgPool2d(_Pool2d[Kernel, Stride, Padding]):
    """The mean of each window, as `wengert.avg_pool2d` has it; windows lie side by side without a stride.

    Shapes: (B, C, H, W) to (B, C, (H + 2 padding - size) // stride + 1, and W likewise). Raises ShapeError;
    ArgumentError for a size or stride below 1.
    >>> import numpy as np
    >>> AvgPool2d(2)(np.ones((1, 3, 8, 8))).shape
    (1, 3, 4, 4)

    Source: PyTorch, `torch.nn.AvgPool2d`.
    """

    def __call__(self, x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        return avg_pool2d(x, self.size, stride=self.stride, padding=self.padding)


@final
@dataclass(frozen=True)
class GlobalAvgPool(ModelNames):
    """The mean over all axes behind the channels.

    Shapes: (B, C, ...) to (B, C). Raises ShapeError where there is no axis behind the channels.
    >>> import numpy as np
    >>> GlobalAvgPool()(np.ones((1, 3, 8, 8))).shape
    (1, 3)

    Source: Lin, Chen and Yan 2014, "Network In Network", section 3.2.
    """

    def __call__(self, x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        layer = as_layer(x)
        shape = shape_of(layer)
        if shape is None or len(shape) < 3:
            text = "a shape that only the run tells" if shape is None else shape
            raise misfit("GlobalAvgPool", f"expected (batch, channels, ...), got {text}")
        return mean(layer, axis=tuple(range(2, len(shape))))
