"""Layers are gathered as a list, which asyncio.gather would refuse as well.

Source: written for this table.
"""

import wengert as wg


@wg.differentiable
async def larger(a: wg.DoubleLayer, b: wg.DoubleLayer) -> wg.DoubleLayer:
    # bug: left, right = await wg.gather([a, b])
    left, right = await wg.gather(a, b)
    return a if left > right else b


print(larger(wg.lift(2.0), wg.lift(3.0)).predict().run())
