"""The weights that a layer begins with: sizes checked, numbers drawn from a seed, parts named.

Knows: the two usual distributions, and that a layer's parts are named after it: `hidden.weight`.
Refuses to know: layers, and what their weights are for.
"""

from __future__ import annotations

import math
from sys import maxsize
from typing import Any, Generic

from wengert.arrays import (
    FLOAT32,
    FLOATS,
    HOST,
    DType,
    Floating,
    Shape,
    dtype_from,
    is_array,
    is_integer,
)
from wengert.arrays.draws import Generator, generator, normal, uniform
from wengert.errors import ArgumentError, DTypeError
from wengert.graph import ArrayWeight, Buffer
from wengert.nn.dims import N, On
from wengert.nn.init import Init
from wengert.plugins import Plugin
from wengert.plugins.making import Placing
from wengert.site import user_position

Seed = int | Generator


class Beginning(Generic[N, On]):
    """Makes the weights of one layer, in the order in which they are asked for."""

    def __init__(
        self, layer: str, settings: Placing[On], seed: Seed, name: str | None, dtype: type[N] | None
    ) -> None:
        self._layer = layer
        given: object = settings
        if not isinstance(given, Plugin):
            raise self.wrong(
                f"settings are an object that makes weights, as in SGD(learning_rate=0.1); got {settings!r:.60}"
                + isinstance(settings, type) * ", which is a class: call it"
            )
        self._settings: Any = settings  # Any: its weights lie where `settings` say
        self.chance = generator(self._checked_seed(seed))
        if name is not None and not isinstance(name, str):
            raise self.wrong(f"name is a str; got {name!r:.60}")
        self._name = name
        self._dtype = self._checked_dtype(dtype)

    def size(self, what: str, n: int) -> int:
        """A size as a number, if it is one of at least 1."""
        size = int(n) if is_integer(n) else 0
        if not 1 <= size <= maxsize:
            raise self.wrong(f"{what} is a positive integer; got {n!r:.60}")
        return size

    def name_of(self, part: str) -> str | None:
        """The name of a part, None where the layer has none."""
        return None if self._name is None else f"{self._name}.{part}"

    def drawn(
        self, part: str, shape: Shape, fan_in: int, fan_out: int, init: Init
    ) -> ArrayWeight[Any, N, On]:
        """As an initializer has it."""
        if not callable(init):
            raise self.wrong(f"init is a function such as nn.init.he_normal() gives; got {init!r:.60}")
        try:
            data = init(self.chance, shape, fan_in, fan_out)
        except TypeError as error:
            raise self.wrong(
                f"init cannot be called with a generator, a shape and two numbers: {error}; functions of nn.init are "
                f"called first, as in init=nn.init.he_normal()"
            ) from error
        if not is_array(data) or data.shape != shape:
            got = f"shape {data.shape}" if is_array(data) else f"{data!r:.60}"
            raise self.wrong(f"init gave {got} for a weight of shape {shape}")
        return self._weight(part, HOST.astype(data, self._dtype))

    def glorot(
        self, part: str, shape: Shape, fan_in: int, fan_out: int, init: Init | None = None
    ) -> ArrayWeight[Any, N, On]:
        """Uniform up to sqrt(6 / (fan_in + fan_out)): keeps variances alike forward and backward."""
        if init is not None:
            return self.drawn(part, shape, fan_in, fan_out, init)
        limit = math.sqrt(6.0 / (fan_in + fan_out))
        return self._weight(part, uniform(self.chance, shape, limit, self._dtype))

    def normal(self, part: str, shape: Shape, deviation: float) -> ArrayWeight[Any, N, On]:
        """Normal with a standard deviation."""
        return self._weight(part, normal(self.chance, shape, deviation, self._dtype))

    def constant(self, part: str, *values: tuple[float, int]) -> ArrayWeight[Any, N, On]:
        """A vector of runs of equal numbers, each given as (number, how often)."""
        runs = [HOST.full((count,), value, self._dtype) for value, count in values]
        return self._weight(part, HOST.concat(runs))

    def buffer(self, part: str, value: float, size: int) -> Buffer[Any, N, On]:
        """A vector of equal numbers that runs compute."""
        data: Any = HOST.full((size,), value, self._dtype)  # Any: as in `_weight`
        buffer: Buffer[Any, N, On] = self._settings.buffer(data, name=self.name_of(part))
        return buffer

    def _weight(self, part: str, data: Any) -> ArrayWeight[Any, N, On]:  # Any: as arrays come from `draws`
        weight: ArrayWeight[Any, N, On] = self._settings.array_weight(data, name=self.name_of(part))
        return weight

    def _checked_seed(self, seed: Seed) -> Seed:
        if isinstance(seed, Generator):
            return seed
        if is_integer(seed) and int(seed) >= 0:
            return int(seed)
        raise self.wrong(f"seed is an integer from 0 on, or a generator; got {seed!r:.60}")

    def _checked_dtype(self, dtype: type[N] | None) -> DType[Floating]:
        found: Any = FLOAT32 if dtype is None else dtype_from(dtype)  # Any: an element type of any kind
        if found is None or found not in FLOATS:
            given = repr(dtype) if found is None else found
            raise DTypeError(
                f"{self._layer}: {given!s:.60} is not differentiable; use numpy.float32 or numpy.float64\n"
                f"  at {user_position()}"
            )
        checked: DType[Floating] = found
        return checked

    def wrong(self, text: str) -> ArgumentError:
        """The error of an argument, with the line that made the layer."""
        return ArgumentError(f"{self._layer}: {text}\n  at {user_position()}")
