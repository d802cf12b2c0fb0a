"""A network that decides is decorated, and is no async function.

Source: written for this table.
"""

import wengert as wg


@wg.differentiable  # shows
# bug: def halved(x: wg.DoubleLayer) -> wg.DoubleLayer:
async def halved(x: wg.DoubleLayer) -> wg.DoubleLayer:
    return x * 0.5


print(halved(wg.lift(2.0)).predict().run())
