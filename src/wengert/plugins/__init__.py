"""Plugins: what surrounds a weight and a run.

Knows: their public names.
Refuses to know: operations' formulas.
"""

from __future__ import annotations

from wengert.plugins.adam import Adam
from wengert.plugins.factory import Factory
from wengert.plugins.finite import FailOnNonFinite
from wengert.plugins.inject import inject, provide
from wengert.plugins.momentum import Momentum
from wengert.plugins.names import Names
from wengert.plugins.plugin import Plugin
from wengert.plugins.rate import SGD, LearningRate

__all__ = [
    "SGD",
    "Adam",
    "Factory",
    "FailOnNonFinite",
    "LearningRate",
    "Momentum",
    "Names",
    "Plugin",
    "inject",
    "provide",
]
