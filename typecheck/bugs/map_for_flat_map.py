"""map is given a function that makes another Do, and nests them.

Source: written for this table.
"""

import wengert as wg


def reciprocal(x: float) -> wg.Do[float]:
    return wg.Do.fail(ZeroDivisionError("no reciprocal")) if x == 0.0 else wg.Do.now(1.0 / x)


# bug: safe = wg.lift(4.0).predict().map(reciprocal)
safe = wg.lift(4.0).predict().flat_map(reciprocal)
print(safe.run() + 1.0)  # shows
