"""Plugins: what surrounds a weight and a run.

Knows: their public names.
Refuses to know: operations' formulas.
"""

from __future__ import annotations

from wengert.plugins.adadelta import Adadelta
from wengert.plugins.adagrad import Adagrad
from wengert.plugins.adam import Adam
from wengert.plugins.adamw import AdamW
from wengert.plugins.clip import ClipByGlobalNorm
from wengert.plugins.decay import WeightDecay
from wengert.plugins.factory import Factory
from wengert.plugins.finite import FailOnNonFinite
from wengert.plugins.hyperparameters import Hyperparameters
from wengert.plugins.inject import inject, provide
from wengert.plugins.l1 import L1Regularization
from wengert.plugins.l2 import L2Regularization
from wengert.plugins.logs import Logging
from wengert.plugins.momentum import Momentum
from wengert.plugins.names import Names
from wengert.plugins.nesterov import Nesterov
from wengert.plugins.plugin import Plugin
from wengert.plugins.rate import SGD, LearningRate
from wengert.plugins.rmsprop import RMSprop
from wengert.plugins.rules import Backend, merged_rules
from wengert.plugins.schedule import LearningRateSchedule

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Backend",
    "ClipByGlobalNorm",
    "Factory",
    "FailOnNonFinite",
    "Hyperparameters",
    "L1Regularization",
    "L2Regularization",
    "LearningRate",
    "LearningRateSchedule",
    "Logging",
    "Momentum",
    "Names",
    "Nesterov",
    "Plugin",
    "RMSprop",
    "WeightDecay",
    "inject",
    "merged_rules",
    "provide",
]
