"""Interpreters, and the questions that they answer.

Knows: their public names.
Refuses to know: operations by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.control import without_collector
from wengert.graph.answers import Deltas, JacobianLayers, Jacobians, Values
from wengert.run.ask import apply, assign, predict, train, update
from wengert.run.cell import cell
from wengert.run.compiled.cache import set_cache_limit
from wengert.run.direct import differentiable
from wengert.run.gradient import Derivatives, Gradients, gradients, hessian_product, jacobian, jvp
from wengert.run.scan import scan
from wengert.run.sequential import Sequential
from wengert.run.shards import Distributed, shards

if TYPE_CHECKING:
    from wengert.run.batching.executor import Batched
    from wengert.run.compiled.compiler import KernelText, kernels
    from wengert.run.threads.parallel import Parallel
else:

    def __getattr__(name: str) -> object:
        """Import an executor, or what shows its kernels, when it is first asked for."""
        if name == "Batched":
            # at the top it would take a half of what importing Wengert takes
            from wengert.run.batching.executor import Batched

            return Batched
        if name in ("KernelText", "kernels"):
            # at the top it would import what only plans need
            from wengert.run.compiled import compiler

            return getattr(compiler, name)
        if name == "Parallel":
            # at the top it would take a fifth of what importing Wengert takes
            from wengert.run.threads.parallel import Parallel

            return Parallel
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Batched",
    "Deltas",
    "Derivatives",
    "Distributed",
    "Gradients",
    "JacobianLayers",
    "Jacobians",
    "KernelText",
    "Parallel",
    "Sequential",
    "Values",
    "apply",
    "assign",
    "cell",
    "differentiable",
    "gradients",
    "hessian_product",
    "jacobian",
    "jvp",
    "kernels",
    "predict",
    "scan",
    "set_cache_limit",
    "shards",
    "train",
    "update",
    "without_collector",
]
