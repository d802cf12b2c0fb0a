"""Direct style: `await` gives data, `@differentiable` gives layers, and nothing else passes (T56 to T60)."""
# ruff: noqa: RUF059 -- cases are read by the type checker and never run

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal, NamedTuple, assert_type

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

    @wg.differentiable  # E[arg-type]: "Callable\[\[DoubleLayer\], Coroutine\[Any, Any, float\]\]"
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


class Step(NamedTuple):
    """Results by name."""

    state: wg.FloatLayer
    output: wg.DoubleLayer


@dataclass(frozen=True)
class Line:
    """Results of a class of the user's."""

    slope: wg.DoubleLayer


@wg.differentiable
async def stepped(x: wg.DoubleLayer) -> Step:
    return Step(wg.lift(np.float32(1.0)), x)


@wg.differentiable
async def both(x: wg.DoubleLayer) -> tuple[wg.DoubleLayer, wg.ArrayLayer[Shape23]]:
    return x, wg.lift(np.zeros((2, 3), np.float32))


@wg.differentiable
async def fitted(x: wg.DoubleLayer) -> Line:
    return Line(x)


@wg.differentiable
async def positive(x: wg.DoubleLayer) -> wg.DoubleLayer | None:
    return x if await x > 0.0 else None


@wg.differentiable
async def either(x: wg.DoubleLayer) -> wg.DoubleLayer | wg.FloatLayer:
    return x


async def case_several_results(d: wg.DoubleLayer) -> None:
    assert_type(stepped(d), Step)
    assert_type(stepped(d).state * np.float32(2.0), wg.FloatLayer)
    assert_type(both(d)[0], wg.DoubleLayer)
    assert_type(both(d)[1], wg.ArrayLayer[Shape23, np.float32, wg.Cpu])
    assert_type(fitted(d).slope, wg.DoubleLayer)
    a, b, c = both(d)  # E[misc]: Need more than 2 values


async def case_what_only_the_run_tells(d: wg.DoubleLayer) -> None:
    assert_type(positive(d), wg.Do[wg.DoubleLayer | None])
    assert_type(either(d), wg.Do[wg.DoubleLayer | wg.FloatLayer])
    found = await positive(d)
    if found is not None:
        assert_type(found * 2.0, wg.DoubleLayer)
    found * 2.0  # E[operator]: Unsupported operand types for \* \("None" and "float"\)
    positive(d) * 2.0  # E[operator]: types for \* \("Do\[DoubleLayer \| None\]" and "float"\)


def case_numbers_in_a_tuple_are_no_results() -> None:
    @wg.differentiable  # E[arg-type]: "Callable\[\[DoubleLayer\], Coroutine\[Any, Any, tuple\[float, float\]\]\]"
    async def data(x: wg.DoubleLayer) -> tuple[float, float]:
        return await x, 1.0


def case_layers_in_asyncio(d: wg.DoubleLayer) -> None:
    async def program() -> float:
        return await d

    assert_type(asyncio.run(program()), float)
