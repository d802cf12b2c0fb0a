"""A score is compared without waiting for its value.

Source: written for this table.
"""

import wengert as wg


@wg.differentiable
async def gated(x: wg.DoubleLayer) -> wg.DoubleLayer:
    # bug: score = wg.tanh(x)
    score = await wg.tanh(x)
    if score > 0.5:  # shows
        return x * 2.0
    return x


print(gated(wg.lift(3.0)).predict().run())
