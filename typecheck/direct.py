"""Direct style: `await` gives data, `@differentiable` gives layers, and nothing else passes (T56 to T60)."""
# ruff: noqa: RUF059 -- cases are read by the type checker and never run

from __future__ import annotations

import asyncio
from typing import Literal, assert_type

import numpy as np

import wengert as wg

Shape23 = tuple[Literal[2], Literal[3]]
Host23 = np.ndarray[Shape23, np.dtype[np.float32]]


@wg.differentiable
async def clipped(x: wg.DoubleLayer, limit: float = 1.0) -> wg.DoubleLayer:
    return x if await x < limit else wg.lift(limit)


@wg.differentiable
async def halved(x: wg.ArrayLayer[Shape23]) -> wg.ArrayLayer[Shape23]:
    return x * 0.5 if (await x).max() > 1 else x


@wg.differentiable
async def factorial(n: wg.DoubleLayer) -> wg.DoubleLayer:
    return wg.lift(1.0) if await n <= 1.0 else n * factorial(n - 1.0)


class Network:
    """A method works like a function."""

    @wg.differentiable
    async def apply(self, x: wg.FloatLayer) -> wg.FloatLayer:
        return x if await x > 0 else -x


async def case_await_gives_data(
    d: wg.DoubleLayer,
    f: wg.FloatWeight,
    x: wg.ArrayLayer[Shape23],
    do: wg.Do[str],
    other: wg.Layer[list[int], str],
) -> None:  # T56
    assert_type(await d, float)
    assert_type(await f, np.float32)
    assert_type(await x, Host23)
    assert_type(await do, str)
    assert_type(await other, list[int])
    assert_type(await wg.gather(d, f), tuple[float, np.float32])
    left, right = await wg.gather(x, do)
    assert_type(left, Host23)
    assert_type(right, str)


async def case_what_cannot_be_awaited(d: wg.DoubleLayer) -> None:  # T57
    await (d, d)  # E[misc]: actual type "tuple\[DoubleLayer, DoubleLayer\]"
    await "1"  # E[misc]: actual type "str"
    a, b, c = await wg.gather(d, d)  # E[misc]: Need more than 2 values
    if d > 1.0:  # E[operator]: types for < \("float" and "DoubleLayer"\)
        pass


def case_decorated_functions_give_layers(d: wg.DoubleLayer, x: wg.ArrayLayer[Shape23]) -> None:  # T58
    assert_type(clipped(d), wg.DoubleLayer)
    assert_type(clipped(d, limit=2.0), wg.DoubleLayer)
    assert_type(halved(x), wg.ArrayLayer[Shape23, np.float32, wg.Cpu])
    assert_type(factorial(d), wg.DoubleLayer)
    assert_type(clipped(factorial(d)) * 2.0, wg.DoubleLayer)
    clipped("1")  # E[arg-type]: incompatible type "str"
    clipped(d, bound=1.0)  # E[call-arg]: Unexpected keyword argument "bound"


def case_decorated_methods(f: wg.FloatLayer) -> None:  # T58
    assert_type(Network().apply(f), wg.FloatLayer)
    Network().apply(1.0)  # E[arg-type]: incompatible type "float"


def case_wrong_functions_are_refused() -> None:  # T59
    @wg.differentiable  # E[arg-type]: incompatible type "Callable\[\[DoubleLayer\], DoubleLayer\]"
    def plain(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x

    @wg.differentiable  # E[type-var]: cannot be "float"
    async def no_layer(x: wg.DoubleLayer) -> float:
        return await x

    @wg.differentiable
    async def two_dtypes(x: wg.DoubleLayer, y: wg.FloatLayer) -> wg.DoubleLayer:
        if await x > 0.0:
            return x
        return y  # E[return-value]: got "FloatLayer", expected "DoubleLayer"


@wg.differentiable
async def case_sleeping_is_accepted(x: wg.DoubleLayer) -> wg.DoubleLayer:  # T60: a limit; refused in the run
    await asyncio.sleep(1)
    return x


def case_layers_in_asyncio(d: wg.DoubleLayer) -> None:
    async def program() -> float:
        return await d

    assert_type(asyncio.run(program()), float)
