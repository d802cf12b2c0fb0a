"""Plugins: what surrounds a weight and a run.

Knows: their public names.
Refuses to know: operations' formulas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.plugins.adagrad import Adadelta, Adagrad, RMSprop
from wengert.plugins.adam import Adam, Adamax, AdamW, AMSGrad, NAdam, RAdam
from wengert.plugins.averages import ExponentialMovingAverage, Lookahead, StochasticWeightAveraging
from wengert.plugins.clip import ClipByGlobalNorm, ClipByNorm, ClipByValue
from wengert.plugins.finite import FailOnNonFinite
from wengert.plugins.hyperparameters import Hyperparameters
from wengert.plugins.inject import Factory, inject, provide
from wengert.plugins.layerwise import LAMB, Adafactor, Muon
from wengert.plugins.logs import Logging
from wengert.plugins.momentum import Momentum, Nesterov
from wengert.plugins.names import Names
from wengert.plugins.narrow import StoredAs
from wengert.plugins.noise import GradientNoise
from wengert.plugins.place import OnDevice
from wengert.plugins.plugin import Plugin
from wengert.plugins.rate import SGD, LearningRate
from wengert.plugins.regularization import L1Regularization, L2Regularization, WeightDecay
from wengert.plugins.rules import Backend, merged_rules
from wengert.plugins.schedule import LearningRateSchedule
from wengert.plugins.signs import Lion, Rprop

if TYPE_CHECKING:
    from wengert.plugins import schedules
else:

    def __getattr__(name: str) -> object:
        """Import the schedules when they are first asked for: a twentieth of what importing Wengert takes."""
        if name == "schedules":
            # when they are asked for, so that importing Wengert does not wait for them
            import wengert.plugins.schedules as found

            return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "LAMB",
    "SGD",
    "AMSGrad",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Backend",
    "ClipByGlobalNorm",
    "ClipByNorm",
    "ClipByValue",
    "ExponentialMovingAverage",
    "Factory",
    "FailOnNonFinite",
    "GradientNoise",
    "Hyperparameters",
    "L1Regularization",
    "L2Regularization",
    "LearningRate",
    "LearningRateSchedule",
    "Lion",
    "Logging",
    "Lookahead",
    "Momentum",
    "Muon",
    "NAdam",
    "Names",
    "Nesterov",
    "OnDevice",
    "Plugin",
    "RAdam",
    "RMSprop",
    "Rprop",
    "StochasticWeightAveraging",
    "StoredAs",
    "WeightDecay",
    "inject",
    "merged_rules",
    "provide",
    "schedules",
]
