"""Noise in the deltas, which becomes less with time.

Knows: that the noise of a step is drawn from a seed, the weight's name and the number of the step, so that a training
which is resumed has the same.
Refuses to know: the learning rate.
"""

from __future__ import annotations

import zlib
from typing import ClassVar

from wengert.arrays import Value, dtype_of, is_integer, shape_of
from wengert.arrays.chance import noise
from wengert.errors import PluginError
from wengert.graph.weights import Weight
from wengert.lazy import dense
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.plugin import Plugin
from wengert.plugins.ranges import NonNegative
from wengert.plugins.schedule import RATES
from wengert.site import user_position


class GradientNoiseOptimizer(Optimizer["GradientNoise"], pure=True):
    """d + noise."""

    noises: int = 0

    def step(self, delta: Value, weight: Weight) -> Value:
        s, d = self.settings, dense(delta)
        deviation = (s.eta / (1 + self.noises) ** s.gamma) ** 0.5
        # int() is refused where a plan is made of this step, which would have one draw for all times
        seeds = [int(s.noise_seed), zlib.crc32(str(weight.name).encode()), int(self.noises)]
        self.noises += 1
        return super().step(d + noise(seeds, shape_of(d), deviation, dtype_of(d)), weight)


class GradientNoise(Plugin):
    """d becomes d + n, where n has mean 0 and the variance eta / (1 + t)^gamma, and t = 0, 1, ... counts steps.

    n is drawn from `noise_seed`, the name of the weight and t: weights of one name and shape have the same noise.
    PluginError for a seed that is no integer from 0 on.
    >>> import numpy as np, wengert as wg
    >>> from wengert.plugins import LearningRate
    >>> class Settings(GradientNoise, LearningRate): ...
    >>> settings = Settings(learning_rate=1.0, noise_seed=0)
    >>> w, again, other = (settings.array_weight(np.zeros(2), name=name) for name in ("w", "w", "v"))
    >>> _ = wg.sum((w + again + other) * 0.0).train().run()
    >>> np.array_equal(w.data, again.data), np.array_equal(w.data, other.data)
    (True, False)

    Source: A. Neelakantan et al., "Adding Gradient Noise Improves Learning for Very Deep Networks", 2015.
    """

    noise_seed: int
    eta: NonNegative = 0.3
    gamma: NonNegative = 0.55
    optimizer: ClassVar[type[Optimizer]] = GradientNoiseOptimizer
    acts_before: ClassVar[tuple[type[Plugin], ...]] = RATES

    def __post_init__(self) -> None:
        if not is_integer(self.noise_seed) or int(self.noise_seed) < 0:
            raise PluginError(
                f"{type(self).__name__}: noise_seed is {self.noise_seed!r:.60}; it has to be an integer from 0 on\n"
                f"  at {user_position()}"
            )
