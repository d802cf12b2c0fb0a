"""The loop around a loss: steps over batches, measuring, stopping, keeping what is needed to go on after a kill.

Knows: its public names.
Refuses to know: networks, and how a step computes.
"""

from __future__ import annotations

from wengert.training.averaging import averages
from wengert.training.fitting import fit
from wengert.training.lbfgs import Minimum, lbfgs
from wengert.training.measuring import Evaluation, evaluate
from wengert.training.plans import EvalPlan, InferPlan, TrainPlan
from wengert.training.plateau import ReduceOnPlateau
from wengert.training.records import Epoch, Event, History, Step
from wengert.training.running import Resumable

__all__ = [
    "Epoch",
    "EvalPlan",
    "Evaluation",
    "Event",
    "History",
    "InferPlan",
    "Minimum",
    "ReduceOnPlateau",
    "Resumable",
    "Step",
    "TrainPlan",
    "averages",
    "evaluate",
    "fit",
    "lbfgs",
]
