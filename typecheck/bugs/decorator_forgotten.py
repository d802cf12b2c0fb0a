"""An async network without its decorator: calling it gives a coroutine.

Source: written for this table.
"""

import wengert as wg


# bug:
@wg.differentiable
async def positive(x: wg.DoubleLayer) -> wg.DoubleLayer:
    return x if await x > 0.0 else wg.lift(0.0)


print(positive(wg.lift(2.0)).predict().run())  # shows
