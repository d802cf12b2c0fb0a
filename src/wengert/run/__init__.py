"""Interpreters, and the questions that they answer.

Knows: their public names, and which one answers where none is named.
Refuses to know: operations by name.
"""

from __future__ import annotations

from wengert.control import set_default_executor
from wengert.run.ask import gradients, predict, train
from wengert.run.cell import cell
from wengert.run.direct import differentiable
from wengert.run.parallel import Parallel
from wengert.run.sequential import Sequential

set_default_executor(Sequential())

__all__ = ["Parallel", "Sequential", "cell", "differentiable", "gradients", "predict", "train"]
