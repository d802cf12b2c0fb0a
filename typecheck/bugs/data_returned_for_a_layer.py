"""A network that decides returns the number that it has waited for; no derivative would pass.

Source: written for this table.
"""

import wengert as wg


@wg.differentiable
async def clipped(x: wg.DoubleLayer) -> wg.DoubleLayer:
    value = await x
    # bug: return value if value < 1.0 else wg.lift(1.0)
    return x if value < 1.0 else wg.lift(1.0)


print(clipped(wg.lift(0.5)).predict().run())
