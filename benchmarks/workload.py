"""What a benchmark is: a workload, and the variants that compute the same thing.

Knows: names, units, bars, and which modules a variant needs.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

Step = Callable[[], object]  # one step of a workload: build, forward, backward, update, the loss as a float

OURS = "wengert"
ADVICE = "pip install -e '.[benchmarks]'"


@dataclass(frozen=True)
class Variant:
    """One way to compute a workload; `make` prepares it and gives the step that is timed."""

    name: str
    make: Callable[[], Step]
    needs: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """Why this variant cannot run here, or None."""
        absent = [module for module in self.needs if find_spec(module) is None]
        return f"{', '.join(absent)} not installed ({ADVICE})" if absent else None


@dataclass(frozen=True)
class Workload:
    """The same computation in several variants, ours first.

    `bars` has the greatest ratio, ours over theirs, that the project accepts of itself; `most` the greatest
    time of ours in `unit`, on the machine of the design's figures.
    """

    name: str
    what: str
    unit: str
    seconds_in_unit: float
    parts: int  # of one step: what a time is divided by, such as the number of nodes
    variants: tuple[Variant, ...]
    bars: Mapping[str, float] = field(default_factory=dict)
    most: float | None = None

    def variant(self, name: str) -> Variant:
        """The variant of that name."""
        return next(variant for variant in self.variants if variant.name == name)
