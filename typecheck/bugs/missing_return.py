"""A network that decides forgets to return one of its branches.

Source: written for this table.
"""

import wengert as wg


@wg.differentiable
async def leaky(x: wg.DoubleLayer) -> wg.DoubleLayer:  # shows
    if await x > 0.0:
        return x
    # bug: x * 0.1
    return x * 0.1


print(leaky(wg.lift(-2.0)).predict().run())
