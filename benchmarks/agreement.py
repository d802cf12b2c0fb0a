"""Whether the variants of the columns compute the same thing: a fast wrong answer is no benchmark.

Knows: how far apart weights may lie after 200 steps, and that a rate wrong by a thousandth is farther.
Refuses to know: times.
"""

from __future__ import annotations

from benchmarks.columns import RATE, Ours, batches, by_hand, distance, trained

STEPS = 200
CLOSE = 1e-6  # seen: 6e-8, which is rounding
SEED = 2  # of batches on which no unit stands so close to 0 that rounding decides whether it lives
LIVING = 0.2


def apart(columns: int, column_rate: float = RATE) -> float:
    """How far our weights, whose columns learn at `column_rate`, lie from plain numpy's after 200 steps."""
    given = batches(seed=SEED)
    ours, reference = Ours(columns, column_rate), by_hand(columns, fused=False)
    trained(ours, STEPS, given)
    trained(reference, STEPS, given)
    living = reference.living_units(given[0])
    if living < LIVING:
        raise AssertionError(
            f"only {living:.0%} of the first layer's units live: times are of a dead network"
        )
    return distance(ours.weights(), reference.weights())


def check_agreement(columns: int) -> str:
    """A sentence on how close the weights are; AssertionError if they are too far apart."""
    found = apart(columns)
    if not found <= CLOSE:
        raise AssertionError(
            f"columns-{columns}: weights lie {found:.2g} apart after {STEPS} steps, not {CLOSE:g}"
        )
    return f"columns-{columns}: after {STEPS} steps all weights lie within {found:.1g} of plain numpy's"
