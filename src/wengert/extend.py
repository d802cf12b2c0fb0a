"""For authors of operations, types and plugins: everything that the library's own modules are made with.

Knows: the names behind the public ones that an extension needs.
Refuses to know: who extends.
"""

from __future__ import annotations

from wengert.delta import Additive, LazyDelta, Rows, dense, scaled, zero
from wengert.graph.apply import apply
from wengert.graph.kinds import Column, Kind, kind
from wengert.graph.operation import Case, Operation
from wengert.graph.weights import Weight
from wengert.ops.families import Broadcasting, Comparison, Elementwise, broadcasting, comparison, elementwise
from wengert.plugins.inject import provide
from wengert.plugins.making import WeightPart
from wengert.plugins.optimizer import Optimizer

__all__ = [
    "Additive",
    "Broadcasting",
    "Case",
    "Column",
    "Comparison",
    "Elementwise",
    "Kind",
    "LazyDelta",
    "Operation",
    "Optimizer",
    "Rows",
    "Weight",
    "WeightPart",
    "apply",
    "broadcasting",
    "comparison",
    "dense",
    "elementwise",
    "kind",
    "provide",
    "scaled",
    "zero",
]
