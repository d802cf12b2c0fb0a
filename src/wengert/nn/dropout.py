"""`Dropout`: some elements become 0 in training.

Knows: when it does nothing: where no seed is given.
Refuses to know: how the elements are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import final

from wengert.arrays import Dv, S, T
from wengert.elsewhere import ModelNames
from wengert.errors import ArgumentError
from wengert.graph import ArrayExpression, ArrayLayer
from wengert.nn.checks import as_layer
from wengert.nn.seeded import Seeded, Seeds
from wengert.ops import dropout
from wengert.site import user_position


@final
@dataclass(frozen=True)
class Dropout(Seeded, ModelNames):
    """Zeros at random places in training, `x` itself otherwise: `drop(x, seed=step)` trains, `drop(x)` evaluates.

    With a seed: each element is 0 with probability `rate`, else x / (1 - rate).
    Shapes: that of x. Raises ArgumentError, on making, for a rate outside of [0, 1).
    >>> import numpy as np
    >>> drop = Dropout(0.5)
    >>> drop(np.ones(3)).predict().run().tolist()
    [1.0, 1.0, 1.0]

    Source: Srivastava et al. 2014; scaled in training ("inverted"), so that evaluation needs nothing.
    """

    rate: float

    def __post_init__(self) -> None:
        if not isinstance(self.rate, Real) or not 0.0 <= self.rate < 1.0:
            raise ArgumentError(
                f"Dropout: the rate is a number from 0 to less than 1; got {self.rate!r:.60}\n  at {user_position()}"
            )

    def __call__(self, x: ArrayExpression[S, T, Dv], /, *, seed: Seeds | None = None) -> ArrayLayer[S, T, Dv]:
        if seed is not None:
            return dropout(x, self.rate, seed=seed)
        layer: ArrayLayer[S, T, Dv] = as_layer(x)
        return layer
