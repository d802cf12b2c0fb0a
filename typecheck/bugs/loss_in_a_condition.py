"""Whether there is a loss is asked by its truth, which only the run knows.

Source: written for this table.
"""

import wengert as wg


def total(losses: list[wg.DoubleLayer]) -> wg.DoubleLayer | None:
    result: wg.DoubleLayer | None = None
    for loss in losses:
        # bug: result = result + loss if result else loss
        result = loss if result is None else result + loss
    return result


both = total([wg.lift(1.0), wg.lift(2.0)])
print(None if both is None else both.predict().run())
