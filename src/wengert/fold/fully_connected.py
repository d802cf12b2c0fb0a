"""A fully connected layer.

Knows: its weights, how they begin, and what stands around the product.
Refuses to know: optimizers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final

from wengert.arrays import Value, is_integer
from wengert.arrays.draws import truncated, uniform
from wengert.arrays.stated import stated_array
from wengert.errors import BlockError, BlockValueError
from wengert.fold.block import Tensors
from wengert.fold.calls import Calls, Direct
from wengert.fold.layers import Activation, Initializer, Layer, Weight
from wengert.fold.machine import drawn_seed
from wengert.fold.solver import Use
from wengert.fold.types import TensorType
from wengert.fold.zeros import zero_array
from wengert.graph.operand import shown
from wengert.ops import divide, dropout, matmul, relu, sqrt, square, sum, tanh
from wengert.plugins import Plugin

_FACTORS: Final[dict[object, float]] = {
    None: 1.0,
    relu: 1.43,
    tanh: 1.15,
}  # Fold's, which keep variances alike


def dropped(rate: float, x: Tensors) -> Tensors:
    """Numbers are dropped where the example is for training."""
    seed = drawn_seed() if rate else None
    return x if seed is None else dropout(x, rate, seed=seed)


class FC(Layer[Tensors]):
    """A fully connected layer: activation(x W + b) of a vector of n numbers.

    W begins uniform up to factor √(3 / n), with the factor 1.43 for relu, 1.15 for tanh and 1 for no activation;
    else with a truncated normal distribution of deviation 0.01. b begins with 0. With `weight_norm` the columns of W
    have length 1, times a weight `scales` that begins with 1.
    In training, which is `build` with a seed, numbers of the input and of the result are kept with a probability
    and divided by it, else 0. `normalization_fn` stands before the activation, if there is one.
    Raises BlockError for an input that is no vector of floating numbers, BlockValueError for what is no probability.
    >>> import numpy as np
    >>> from wengert import fold as td
    >>> layer = td.FC(1, activation=None, initializer=np.full((2, 1), 2.0, np.float32))
    >>> (td.Vector(2) >> layer).eval([1, 1]).tolist(), layer.weights.shape
    ([4.0], (2, 1))

    Source: TensorFlow Fold, `td.FC`; weight normalization: Salimans and Kingma 2016, equation 2.
    """

    def __init__(
        self,
        num_units: int,
        activation: Activation = relu,
        initializer: Initializer | None = None,
        input_keep_prob: float | None = None,
        output_keep_prob: float | None = None,
        normalization_fn: Callable[[Tensors], Tensors] | None = None,
        weight_norm: bool = False,
        *,
        settings: Plugin | None = None,
        seed: int = 0,
        name: str | None = None,
    ) -> None:
        super().__init__(name, settings, seed, num_units=num_units)
        if not is_integer(num_units) or int(num_units) < 1:
            raise BlockValueError(self.fault("a layer has at least one unit"))
        self.output_size: Final = int(num_units)
        self._activation = activation
        self._initializer = initializer
        self._normal = normalization_fn
        self._rates = [1.0 - self._kept(p) for p in (input_keep_prob, output_keep_prob)]
        self._norm = weight_norm
        self._cell = self.cell(self._computed)
        self.settled()

    def made(self, of: TensorType) -> TensorType:
        if of.ndim != 1 or not of.floating:
            raise BlockError(self.fault(f"its input is {of}; it takes a vector of floating numbers"))
        n, m = of.size, self.output_size
        self.weight("weights", lambda: self._begin((n, m), of.dtype))
        self.weight("bias", lambda: zero_array(TensorType((m,), of.dtype)))
        if self._norm:
            self.weight("scales", lambda: stated_array([1.0] * m, of.dtype))
        return TensorType((m,), of.dtype)

    def _begin(self, shape: tuple[int, int], dtype: str) -> Value:
        if self._initializer is not None:
            return self.begun(self._initializer, shape, dtype)
        chance, element = self.chance("weights"), stated_array(0.0, dtype).dtype
        factor = _FACTORS.get(self._activation)
        if factor is None:
            return truncated(chance, shape, 0.01, element)
        return uniform(chance, shape, factor * math.sqrt(3.0 / shape[0]), element)

    def _computed(self, x: Tensors) -> Tensors:
        w: Tensors | Weight = self.weights
        if self._norm:
            w = divide(w, sqrt(sum(square(w), axis=0))) * self.scales
        y = matmul(x, w) + self.bias
        if self._activation is None:
            return y
        result: Tensors = self._activation(y if self._normal is None else self._normal(y))
        return result

    def direct(self, use: Use, calls: Calls) -> Direct:
        computed = calls.cell(self._cell, use.input, use.output)
        if not any(self._rates):
            return computed
        before, after = (
            calls.cell(partial(dropped, rate), of, of)
            for rate, of in zip(self._rates, (use.input, use.output), strict=True)
        )
        return lambda x: after(computed(before(x)))

    def _kept(self, chance: float | None) -> float:
        if chance is not None and not 0.0 < chance <= 1.0:
            raise BlockValueError(
                self.fault(f"a probability to keep is more than 0, at most 1, not {shown(chance)}")
            )
        return 1.0 if chance is None else chance

    @property
    def weights(self) -> Weight:
        """The matrix. Raises BlockStateError before the type of the input is known."""
        return self._drawn("weights")

    @property
    def bias(self) -> Weight:
        """The vector that is added. Raises as `weights`."""
        return self._drawn("bias")

    @property
    def scales(self) -> Weight:
        """The lengths of the columns, with `weight_norm`. Raises as `weights`."""
        return self._drawn("scales")
