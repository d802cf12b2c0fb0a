"""Whether the variants compute the same thing: a fast wrong answer is no benchmark.

Knows: how far apart weights may lie after 200 steps (quickly, after 20), or the losses of 18 steps, and that a rate
wrong by a thousandth is farther.
Refuses to know: times, and what the variants are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.columns_by_hand import one_by_one
from benchmarks.network import Model, Network, distance, trained
from benchmarks.workload import Step

Makers = Mapping[str, Callable[[], Model[Any]]]  # Any: a model takes what its library likes

STEPS, QUICK, BATCHES = 200, 20, 40
CLOSE = 1e-6  # seen: 6e-8, which is rounding
SEED = 109  # no unit comes closer to 0 than 4e-7 in 200 steps: closer, rounding decides whether it lives
LIVING = 0.2
LOSSES, LIKE = 18, 2e-5  # steps, and how far two losses may lie apart, of the larger; seen: 1e-6


def apart(network: Network, makers: Makers, steps: int = STEPS) -> dict[str, float]:
    """How far the weights of each model lie from plain numpy's after some steps."""
    batches = network.batches(BATCHES, SEED)
    reference = one_by_one(network, fused=False)
    trained(reference, steps, batches)
    living = reference.living_units(batches[0])
    if living < LIVING:
        raise AssertionError(
            f"only {living:.0%} of the first layer's units live: times are of a dead network"
        )
    found = {}
    for name, make in makers.items():
        model = make()
        trained(model, steps, batches)
        found[name] = distance(model.weights(), reference.weights())
    return found


def check_agreement(workload: str, network: Network, makers: Makers, steps: int = STEPS) -> str:
    """A sentence on how close the weights are; AssertionError if any are too far apart."""
    found = apart(network, makers, steps)
    for name, far in found.items():
        if not far <= CLOSE:
            raise AssertionError(
                f"{workload}: weights of {name!r} lie {far:.2g} from plain numpy's after {steps} steps, "
                f"not {CLOSE:g}"
            )
    return (
        f"{workload}: after {steps} steps all weights lie within {max(found.values()):.1g} of plain numpy's "
        f"({'; '.join(found)})"
    )


def losses_apart(right: Callable[[], Step], makers: Mapping[str, Callable[[], Step]]) -> dict[str, float]:
    """How far, relative, the losses of each lie from the right ones: the greatest of all steps."""
    step = right()
    expected = [step() for _ in range(LOSSES)]
    found = {}
    for name, make in makers.items():
        step = make()
        found[name] = max(abs(step() / loss - 1) for loss in expected)
    return found


def check_losses(workload: str, right: Callable[[], Step], makers: Mapping[str, Callable[[], Step]]) -> str:
    """A sentence on how close the losses are; AssertionError if any are too far apart."""
    return said_of_losses(workload, losses_apart(right, makers))


def said_of_losses(workload: str, found: Mapping[str, float]) -> str:
    """`check_losses` of what `losses_apart` has found, perhaps for another workload."""
    for name, far in found.items():
        if not far <= LIKE:
            raise AssertionError(
                f"{workload}: a loss of {name!r} lies {far:.2g} from plain numpy's in {LOSSES} steps, not {LIKE:g}"
            )
    return (
        f"{workload}: the losses of {LOSSES} steps lie within {max(found.values()):.1g} of plain numpy's "
        f"({'; '.join(found)})"
    )
