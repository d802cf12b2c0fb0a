"""Derivatives by a weight, a layer, a literal, and by structures of these: each answer has the structure of `wrt`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, assert_type

import cupy
import numpy as np
import numpy.typing as npt

import wengert as wg
from wengert import nn

Shape23 = tuple[Literal[2], Literal[3]]
Host23 = np.ndarray[Shape23, np.dtype[np.float32]]
F32 = np.ndarray[Any, np.dtype[np.float32]]
OnGpu = wg.ArrayLayer[Any, np.float32, wg.Gpu]


@dataclass(frozen=True)
class Model:
    head: nn.Linear[Literal[3], Literal[2]]
    scale: wg.DoubleWeight
    rate: float


class Pair(NamedTuple):
    a: wg.DoubleWeight
    b: wg.ArrayWeight[Shape23]


class Called:
    def __init__(self, w: wg.DoubleWeight) -> None:
        self.w = w

    def __call__(self, x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x * self.w


def case_of_one(
    loss: wg.DoubleLayer, d: wg.DoubleWeight, f: wg.FloatLayer, w: wg.ArrayWeight[Shape23], a: wg.ArrayLayer
) -> None:
    assert_type(wg.gradients(loss, d).run(), float)
    assert_type(wg.gradients(loss, f).run(), np.float32)
    assert_type(wg.gradients(loss, w).run(), Host23)
    assert_type(wg.gradients(loss, wrt=w, at={w: np.ones((2, 3), np.float32)}).run(), Host23)
    assert_type(wg.gradients(loss, a).run(), F32)
    assert_type(wg.gradients(loss, w).layers, wg.ArrayLayer[Shape23])
    assert_type(wg.gradients(wg.gradients(loss, d).layers, d).layers, wg.DoubleLayer)


def case_of_a_literal(loss: wg.DoubleLayer, data: npt.NDArray[np.float32]) -> None:
    x = wg.literal(data, 2, 3)
    assert_type(wg.gradients(loss, x).run().dtype, np.dtype[np.float32])
    assert_type(wg.gradients(loss, wg.lift(2.0)).run(), float)
    wg.gradients(loss, data)  # E[call-overload]: matches argument types
    wg.gradients(loss, wg.greater(x, 0.0))  # E[call-overload]: matches argument types
    wg.gradients(loss, 2.0)  # E[call-overload]: matches argument types


def takes(array: npt.NDArray[np.float32], wide: npt.NDArray[np.floating[Any]], number: float) -> None:
    """Arrays of numpy, and of no other protocol."""


def case_a_derivative_is_an_array_of_numpy(loss: wg.DoubleLayer, w: wg.ArrayWeight[Shape23]) -> None:
    g = wg.gradients(loss, w).run()
    takes(g, g * 2.0, float(np.linalg.norm(g)))
    takes(g[0], np.float32(0.5) * g, g.sum())
    g -= 0.1 * g
    g.backward()  # E[attr-defined]: has no attribute "backward"
    wg.gradients(loss, (w,)).run() * 2.0  # E[operator]: Unsupported operand types


def case_a_derivative_on_a_gpu(
    loss: wg.ArrayLayer[tuple[()], np.float32, wg.Gpu], w: wg.ArrayWeight[Shape23, np.float32, wg.Gpu]
) -> None:
    assert_type(wg.gradients(loss, w).run(), cupy.ndarray[Shape23, np.dtype[np.float32]])


def case_of_dictionaries(
    loss: wg.DoubleLayer, d: wg.DoubleWeight, w: wg.ArrayWeight[Shape23], model: Model
) -> None:
    assert_type(wg.gradients(loss, {"a": w, "b": w}).run(), dict[str, Host23])
    assert_type(wg.gradients(loss, {d: d}).layers, dict[wg.DoubleWeight, wg.DoubleLayer])
    print(wg.gradients(loss, {"a": w, "b": model, "c": d}).run()["b"].head)
    by_name = wg.gradients(loss, nn.weights(model)).run()
    assert_type([float(np.sum(g * g)) for g in by_name.values()], list[float])
    wg.apply({weight: by_name[name] for name, weight in nn.weights(model).items()})
    wg.gradients(loss, {"a": 1.0})  # E[arg-type]: incompatible type


def case_of_models(loss: wg.DoubleLayer, model: Model, pair: Pair, called: Called) -> None:
    g = wg.gradients(loss, model).run()
    assert_type(g, wg.run.Deltas[Model])
    print(g.head.weight * 2.0)
    assert_type(wg.gradients(loss, model).layers, Model)
    by_name: wg.run.Deltas[Pair] = wg.gradients(loss, pair).run()
    print(by_name.a, *by_name)
    assert_type(wg.gradients(loss, called).run(), wg.run.Deltas[Called])
    assert_type(wg.gradients(loss, model.head).layers, nn.Linear[Literal[3], Literal[2]])
    print(wg.gradients(loss, (model, pair.a)).run()[0].head)
    print(wg.gradients(loss, (pair.a, [model])).run()[1][0].head)
    wg.gradients(loss, [model, None]).run()
    wg.gradients(loss, [model, model]).run()
    wg.gradients(loss, {"a": model}).run()
    g(2.0)  # E[operator]: not callable
    wg.gradients(loss, object())  # E[call-overload]: matches argument types


def case_along_a_direction(
    loss: wg.DoubleLayer, d: wg.DoubleWeight, w: wg.ArrayWeight[Shape23], a: wg.ArrayLayer, v: Host23
) -> None:
    assert_type(wg.jvp(loss, {d: 1.0}).run(), tuple[float, float])
    assert_type(wg.jvp(w, {w: v, d: 1.0}).run()[1], Host23)
    assert_type(wg.jvp(a, {w: a}).layers, tuple[wg.ArrayLayer, wg.ArrayLayer])
    assert_type(wg.hessian_product(loss, {d: 1.0}).run(), dict[wg.DoubleWeight, float])
    assert_type(wg.hessian_product(loss, {w: v}).run()[w], Host23)
    assert_type(wg.hessian_product(loss, {w: w}, at={w: v}).run()[w], Host23)
    wg.jvp(v, {d: 1.0})  # E[call-overload]: matches argument type
    wg.jvp(a, {d: "1"})  # E: matches argument type|incompatible type
    wg.jvp(a, [d])  # E[call-overload]: matches argument type
    print(wg.hessian_product(loss, {w: v, d: 1.0}).run()[w] * 2.0)
    wg.hessian_product(w, {w: v})  # E: incompatible type|matches argument type
    wg.hessian_product(loss, w)  # E[call-overload]: matches argument types


def case_of_every_element(
    loss: wg.DoubleLayer, d: wg.DoubleWeight, w: wg.ArrayWeight[Shape23], a: wg.ArrayLayer, model: Model
) -> None:
    assert_type(wg.jacobian(loss, d).run(), float)
    assert_type(wg.jacobian(loss, w).run(), Host23)
    assert_type(wg.jacobian(w, d).run(), np.ndarray[Shape23, np.dtype[np.float64]])
    assert_type(wg.jacobian(a, w).run(), F32)
    assert_type(wg.jacobian(a, w).layers, wg.ArrayLayer)
    print(wg.jacobian(a, (w, d)).run()[0] * 2.0, wg.jacobian(a, model).run().head.weight)
    assert_type(wg.jacobian(a, model).run(), wg.run.Jacobians[Model, wg.ArrayLayer])
    assert_type(wg.jacobian(loss, model).run(), wg.run.Deltas[Model])
    wg.jacobian(a, 2.0)  # E[call-overload]: matches argument types
    wg.jacobian(np.ones(3), w)  # E[call-overload]: matches argument types
    wg.jacobian(a)  # E[call-overload]: matches argument type


def case_on_a_gpu(y: OnGpu, w: wg.ArrayWeight[Shape23, np.float32, wg.Gpu]) -> None:
    assert_type(wg.jacobian(y, w).run(), cupy.ndarray[Any, np.dtype[np.float32]])
    assert_type(wg.jvp(w, {w: y}).run()[1], cupy.ndarray[Shape23, np.dtype[np.float32]])
