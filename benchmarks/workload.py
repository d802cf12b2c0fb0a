"""What a benchmark is: a workload, and the variants that compute the same thing.

Knows: names, units, bars, which modules a variant needs, and when an answer is wrong.
Refuses to know: how time is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import isclose

Step = Callable[[], float]  # one step of a workload: build, forward, backward, update, the loss as a float

OURS = "wengert"
INTERPRETED = f"{OURS}, interpreted"
BY_HAND = "by hand"  # what every other variant has to agree with
ADVICE = "pip install -e '.[benchmarks]'"
OTHERWISE = {"dynet": "pip install dyNET38"}  # no extra has it: its wheels are few
CLOSE = 1e-4  # relative: float32 and other orders of addition; a rate wrong by a tenth is farther


@dataclass(frozen=True)
class Variant:
    """One way to compute a workload; `make` prepares it and gives the step that is timed.

    `threads` are those of the pools of BLAS in its process. `slow` is a variant that takes half a minute to
    begin.
    """

    name: str
    make: Callable[[], Step]
    needs: tuple[str, ...] = ()
    threads: int = 1
    slow: bool = False

    @property
    def ours(self) -> bool:
        """Whether it is the library that is measured, and no peer."""
        return self.name.startswith(OURS)

    def missing(self) -> str | None:
        """Why this variant cannot run here, or None."""
        absent = [module for module in self.needs if find_spec(module) is None]
        advice = " and ".join(dict.fromkeys(OTHERWISE.get(module, ADVICE) for module in absent))
        return f"{', '.join(absent)} not installed ({advice})" if absent else None


@dataclass(frozen=True)
class Workload:
    """The same computation in several variants.

    `bars` has, by our variant and a peer, the greatest ratio of ours over theirs that the project accepts of
    itself; `most` the greatest time of ours in `unit`, on the machine of the design's figures. With one core
    CPU time is taken, with more the wall's. `warm` steps are made before anything is timed. `small` is the same at
    sizes that take no time, for a look at whether it runs; `absent` says what is needed to be timed and not there.
    """

    name: str
    what: str
    unit: str
    seconds_in_unit: float
    parts: int  # of one step: what a time is divided by, such as the number of nodes
    variants: tuple[Variant, ...]
    bars: Mapping[tuple[str, str], float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    cores: int = 1
    warm: int = 25
    settles: float = 3.0  # seconds that ours runs before anything is timed, until it has made all its plans
    rounds: int | None = None  # the most turns of each variant, where a step takes long
    check: Callable[[], str] | None = None  # a sentence on how well the variants agree, or AssertionError
    quick_check: Callable[[], str] | None = None  # the same in fewer steps
    small: Workload | None = None
    absent: Callable[[], str | None] | None = None

    def variant(self, name: str) -> Variant:
        """The variant of that name."""
        return next(variant for variant in self.variants if variant.name == name)

    def pairs(self, present: Iterable[str]) -> list[tuple[str, str]]:
        """What is compared: each of ours with each peer, and with another of ours where there is a bar."""
        here = [variant for variant in self.variants if variant.name in set(present)]
        return [
            (ours.name, other.name)
            for ours in here
            for other in here
            if ours.ours and (not other.ours or (ours.name, other.name) in self.bars)
        ]

    def wrong(self, losses: Mapping[str, float]) -> dict[str, str]:
        """Of the losses of the last warm step: who computes something else, and what.

        Raises AssertionError if it is one of ours.
        """
        right = losses.get(BY_HAND)
        if right is None:
            return {}
        found = {
            name: f"computes {loss:g}, not {right:g}"
            for name, loss in losses.items()
            if not isclose(loss, right, rel_tol=CLOSE, abs_tol=CLOSE)
        }
        for name, reason in found.items():
            if self.variant(name).ours:
                raise AssertionError(f"{self.name}: {name} {reason}")
        return found


def warmed(step: Step, steps: int) -> float:
    """The loss of the last of so many steps."""
    return [step() for _ in range(steps)][-1]


def agreement(variants: Iterable[Variant], steps: int = 4) -> str:
    """A sentence on whose losses agree; AssertionError if one sees another than the first.

    After few steps only: Adam divides by what is near 0, and makes roundings large.
    """
    losses = {each.name: warmed(each.make(), steps) for each in variants if each.missing() is None}
    (first, mine), *others = losses.items()
    for name, loss in others:
        assert isclose(mine, loss, rel_tol=CLOSE), f"{name}: a loss of {loss:g}, not {mine:g} as {first}"
    return f"losses of {steps} steps agree with {', '.join(dict(others)) or 'nobody: no peer is here'}"
