"""Interpreters, and the questions that they answer.

Knows: their public names, and which one answers where none is named.
Refuses to know: operations by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from wengert.control import set_default_executor, without_collector
from wengert.run.ask import predict, train
from wengert.run.cell import cell
from wengert.run.compiled.cache import set_cache_limit
from wengert.run.direct import differentiable
from wengert.run.gradient import Gradients, gradients
from wengert.run.sequential import Sequential

if TYPE_CHECKING:
    from wengert.run.batching.executor import Batched
    from wengert.run.threads.parallel import Parallel
else:
    _LATER = {"Batched": "wengert.run.batching.executor", "Parallel": "wengert.run.threads.parallel"}

    def __getattr__(name: str) -> object:
        """Load a module when it is first asked for: a quarter of what importing Wengert would take."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_LATER[name]), name)


set_default_executor(Sequential())

__all__ = [
    "Batched",
    "Gradients",
    "Parallel",
    "Sequential",
    "cell",
    "differentiable",
    "gradients",
    "predict",
    "set_cache_limit",
    "train",
    "without_collector",
]
