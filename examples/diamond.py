"""Diamonds in diamonds: an expression used twice, a thousand times over, costs what it looks like.

    x -> x + x -> (x + x) + (x + x) -> ...

Each line uses the line before twice, so there are 2^1000 paths from the last to the first. A library that
follows paths never finishes. A run here computes each node once, and sends each node its whole delta once.
The counting operation below shows it: no clock is needed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import wengert as wg
from wengert.extend import Case, Elementwise, elementwise
from wengert.plugins import SGD

CALLS: Counter[str] = Counter()


def _counted_derivative(case: Case, g: Any, y: Any, x: Any) -> Any:  # Any: a rule serves every column
    CALLS["backward"] += 1
    return g


@elementwise(_counted_derivative)
def counted(case: Case, x: Any) -> Any:  # Any: as above
    """x itself; counts how often it is computed and how often its derivative is."""
    CALLS["forward"] += 1
    return x


def diamonds(x: wg.DoubleExpression, depth: int, identity: Elementwise = counted) -> wg.DoubleLayer:
    """2^depth · x / 2^depth, as `depth` diamonds one in the other."""
    layer = wg.lift(0.0) + x
    for _ in range(depth):
        half = identity(layer * 0.5)
        layer = half + half
    return layer


def main(depth: int = 1000) -> Counter[str]:
    """Train through the diamonds once; returns how often the operation ran, forward and backward."""
    CALLS.clear()
    weight = SGD(learning_rate=0.25).double_weight(3.0)
    value = diamonds(weight, depth).train().run()
    print(f"{depth} diamonds, 2^{depth} paths: value {value}, the weight went from 3.0 to {weight.data}")
    print(f"computed {CALLS['forward']} times forward and {CALLS['backward']} times backward")
    return CALLS.copy()


if __name__ == "__main__":
    main()
