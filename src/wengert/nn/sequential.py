"""`Sequential`: layers one after the other.

Knows: that each layer's result is the next one's operand, and which layers want a seed.
Refuses to know: any layer's formula.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, final

from wengert.arrays import Dv, IntegerArray, T, is_array
from wengert.elsewhere import ModelNames
from wengert.errors import ArgumentError, WengertError
from wengert.graph import ArrayExpression, ArrayLayer
from wengert.nn.checks import as_layer
from wengert.nn.dims import Layers
from wengert.nn.seeded import Seeded, Seeds, derived
from wengert.nn.steady import Steady, is_steady
from wengert.site import user_position

# Any: the mypy plugin follows the shape from step to step
Step: TypeAlias = Callable[[ArrayLayer[Any, T, Dv]], ArrayLayer[Any, T, Dv]]
Lookup: TypeAlias = Callable[[IntegerArray], ArrayLayer[Any, T, Dv]]


def _advice(step: object) -> str:
    """Advice for something that is no layer; empty where nothing is obvious."""
    if isinstance(step, list | tuple):
        return "; write Sequential(*layers)"
    return f"; write wengert.{step}" if isinstance(step, str) and step.isidentifier() else ""


@final
@dataclass(frozen=True, eq=False, init=False)
class Sequential(Steady, Seeded, ModelNames, Generic[T, Dv, Layers]):
    """The composition of layers and functions, all of one dtype: `Sequential(a, b)(x)` is b(a(x)).

    With a seed it trains: each layer that draws at random gets a seed of its own, derived from this one and its
    place. Only the first layer may take integers, as an `Embedding` does.
    Shapes: what the first takes to what the last gives; each raises its own errors.
    >>> import numpy as np
    >>> from wengert import relu
    >>> from wengert.nn import Linear
    >>> from wengert.plugins import SGD
    >>> settings, chance = SGD(learning_rate=0.1), np.random.default_rng(0)
    >>> net = Sequential(Linear.make(settings, 3, 4, seed=chance), relu, Linear.make(settings, 4, 2, seed=chance))
    >>> net(np.ones((5, 3), np.float32)).shape
    (5, 2)

    Source: function composition.
    """

    layers: Layers

    def __init__(self, first: Step[T, Dv] | Lookup[T, Dv], /, *others: Step[T, Dv]) -> None:
        for i, step in enumerate((first, *others)):
            if not callable(step):
                raise ArgumentError(
                    f"Sequential: layers are called one after the other, and layer {i} is {step!r:.60}{_advice(step)}\n"
                    f"  at {user_position()}"
                )
        object.__setattr__(self, "layers", (first, *others))  # the way of frozen dataclasses

    def __call__(
        self, x: ArrayExpression[Any, T, Dv] | IntegerArray, /, *, seed: Seeds | None = None
    ) -> ArrayLayer[Any, T, Dv]:
        if seed is not None:
            return self._composed(x, seed)
        made: ArrayLayer[Any, T, Dv] = self._again(x, self._composed)
        return made

    @property
    def steady(self) -> bool:
        steps: Any = self.layers  # Any: as below
        return all(map(is_steady, steps))

    def _composed(
        self, x: ArrayExpression[Any, T, Dv] | IntegerArray, seed: Seeds | None = None
    ) -> ArrayLayer[Any, T, Dv]:
        value: Any = x  # Any: each layer checks what it is given
        if not (is_array(value) and value.dtype.kind in "iu"):
            value = as_layer(value)
        steps: Any = self.layers  # Any: a tuple, of layers that the parameter names
        i = 0
        try:
            for i, step in enumerate(steps):
                if seed is not None and isinstance(step, Seeded):
                    value = step(value, seed=derived(seed, i))
                else:
                    value = step(value)
        except WengertError as error:
            error.add_note(f"in layer {i} of a Sequential, {steps[i]!r:.60}")
            raise
        layer: ArrayLayer[Any, T, Dv] = value
        return layer
