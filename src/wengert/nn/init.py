"""How weights begin: the usual distributions, for the argument `init=` of every layer's `make`.

Knows: which spread keeps the variance of activations or of derivatives from layer to layer.
Refuses to know: layers: of a weight it gets the shape, and how many inputs and outputs an element joins.

>>> from wengert.nn import Linear, init
>>> from wengert.plugins import SGD
>>> layer = Linear.make(SGD(learning_rate=0.1), 64, 64, seed=0, init=init.orthogonal(gain=init.gain("relu")))
>>> (layer.weight.data.T @ layer.weight.data).round(3)[0, :2].tolist()
[2.0, 0.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Final, Literal, TypeAlias

from wengert.arrays import FLOAT64, HOST, Shape, draws
from wengert.arrays.draws import Generator
from wengert.errors import ArgumentError
from wengert.site import user_position

# What makes the data of a weight: a generator, a shape, and the numbers of inputs and of outputs that meet in it.
# Any: an array of numpy, which no signature here names
Init: TypeAlias = Callable[[Generator, Shape, int, int], Any]
_GAINS: Final = {
    "linear": 1.0,
    "sigmoid": 1.0,
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}
Activation: TypeAlias = Literal["linear", "sigmoid", "tanh", "relu", "selu", "leaky_relu"]


def gain(activation: Activation, negative_slope: float = 0.01) -> float:
    """The factor by which weights in front of an activation have to be greater to keep the variance.

    >>> gain("tanh"), round(gain("leaky_relu", 0.2), 4)
    (1.6666666666666667, 1.3868)

    Source: PyTorch, `torch.nn.init.calculate_gain`.
    """
    if activation == "leaky_relu":
        return math.sqrt(2.0 / (1.0 + negative_slope * negative_slope))
    if not isinstance(activation, str) or activation not in _GAINS:
        known = ", ".join([*_GAINS, "leaky_relu"])
        raise ArgumentError(f"gain: known are {known}; got {activation!r:.60}\n  at {user_position()}")
    return _GAINS[activation]


def _spread(what: str, number: float) -> float:
    if not isinstance(number, Real) or not 0.0 <= float(number) < math.inf:
        raise ArgumentError(
            f"{what} is a finite number of 0 or more; got {number!r:.60}\n  at {user_position()}"
        )
    return float(number)


def normal(deviation: float = 1.0) -> Init:
    """Normal numbers of mean 0."""
    spread = _spread("a deviation", deviation)
    return lambda chance, shape, fan_in, fan_out: draws.normal(chance, shape, spread, FLOAT64)


def truncated_normal(deviation: float = 0.02) -> Init:
    """Normal numbers of mean 0, of which those beyond two deviations are drawn again.

    Source: JAX, `jax.nn.initializers.truncated_normal`; the default is BERT's.
    """
    spread = _spread("a deviation", deviation)
    return lambda chance, shape, fan_in, fan_out: draws.truncated(chance, shape, spread, FLOAT64)


def uniform(limit: float = 1.0) -> Init:
    """Numbers from -limit to limit."""
    spread = _spread("a limit", limit)
    return lambda chance, shape, fan_in, fan_out: draws.uniform(chance, shape, spread, FLOAT64)


def constant(value: float) -> Init:
    """One number everywhere."""
    return lambda chance, shape, fan_in, fan_out: HOST.full(shape, float(value), FLOAT64)


def glorot_normal(gain: float = 1.0) -> Init:
    """Normal of deviation gain √(2 / (inputs + outputs)). Source: X. Glorot, Y. Bengio 2010, equation 12."""
    spread = _spread("a gain", gain)
    return lambda chance, shape, fan_in, fan_out: draws.normal(
        chance, shape, spread * math.sqrt(2.0 / (fan_in + fan_out)), FLOAT64
    )


def glorot_uniform(gain: float = 1.0) -> Init:
    """Uniform up to gain √(6 / (inputs + outputs)). Source: X. Glorot, Y. Bengio 2010, equation 16."""
    spread = _spread("a gain", gain)
    return lambda chance, shape, fan_in, fan_out: draws.uniform(
        chance, shape, spread * math.sqrt(6.0 / (fan_in + fan_out)), FLOAT64
    )


def he_normal(gain: float = math.sqrt(2.0)) -> Init:
    """Normal of deviation gain / √inputs. Source: K. He et al. 2015, "Delving Deep into Rectifiers", equation 10."""
    spread = _spread("a gain", gain)
    return lambda chance, shape, fan_in, fan_out: draws.normal(
        chance, shape, spread / math.sqrt(fan_in), FLOAT64
    )


def he_uniform(gain: float = math.sqrt(2.0)) -> Init:
    """Uniform up to gain √(3 / inputs): of the same variance as `he_normal`."""
    spread = _spread("a gain", gain)
    return lambda chance, shape, fan_in, fan_out: draws.uniform(
        chance, shape, spread * math.sqrt(3.0 / fan_in), FLOAT64
    )


def orthogonal(gain: float = 1.0) -> Init:
    """A random matrix with orthonormal rows or columns, times a gain; axes behind the first are one.

    Source: A. Saxe, J. McClelland, S. Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear
    neural networks", 2014.
    """
    spread = _spread("a gain", gain)
    return lambda chance, shape, fan_in, fan_out: draws.orthogonal(chance, shape, spread, FLOAT64)
