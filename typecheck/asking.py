"""What predict, train, gradients and lift give, exactly, also where shapes are unknown (T15, T42, T44 to T47)."""

from __future__ import annotations

from typing import Any, assert_type

import cupy
import numpy as np
import numpy.typing as npt

import wengert as wg

F32 = npt.NDArray[np.float32]
Unshaped = np.ndarray[Any, np.dtype[np.float32]]
Wide = np.ndarray[Any, np.dtype[np.float64]]
Delta = np.ndarray[Any, np.dtype[np.float32]]


class Meters:
    """A user's own class."""

    @property
    def forward(self) -> wg.Do[wg.Tape[float, float]]:
        return wg.Do.now(wg.Tape(1.0, lambda delta: wg.UnitContinuation.now(None)))


def case_predict_of_unknown_shapes(
    a: wg.ArrayLayer, w: wg.ArrayWeight[Any, np.float64], d: wg.DoubleLayer
) -> None:
    assert_type(wg.predict(a), wg.Do[Unshaped])
    assert_type(wg.predict((a,)), wg.Do[tuple[Unshaped]])
    assert_type(wg.predict((a, w)), wg.Do[tuple[Unshaped, Wide]])
    assert_type(wg.predict((d, a, d)), wg.Do[tuple[float, Unshaped, float]])
    assert_type(wg.predict((d, a, d, w)), wg.Do[tuple[float, Unshaped, float, Wide]])
    assert_type(
        wg.predict((a, w, d, d, d)), wg.Do[tuple[Unshaped, Wide, float, float, float, *tuple[float, ...]]]
    )
    assert_type(wg.predict(()), wg.Do[tuple[()]])


def case_predict_of_nested_tuples(a: wg.ArrayLayer, d: wg.DoubleLayer) -> None:
    first: tuple[float, float] = wg.predict(((d, d), a)).run()[0]
    print(first)
    assert_type(wg.predict((d, (a, d))).run()[0], float)
    wg.predict((d, "d"))  # E[arg-type]: incompatible type "tuple\[DoubleLayer, str\]"


def case_predict_of_what_is_no_layer(
    data: F32, m: Meters, x: wg.DoubleExpression, y: wg.ArrayExpression
) -> None:
    assert_type(wg.predict(data), wg.Do[Unshaped])
    assert_type(wg.predict(m), wg.Do[float])
    assert_type(wg.predict(x), wg.Do[float])
    assert_type(wg.predict(y), wg.Do[Unshaped])
    wg.predict("x")  # E[call-overload]: matches argument type "str"


def case_lift_of_every_alias(
    a: wg.DoubleExpression, b: wg.FloatExpression, c: wg.ArrayExpression, d: wg.Layer[str, str], m: Meters
) -> None:
    assert_type(wg.lift(a) * a, wg.DoubleLayer)
    assert_type(wg.lift(b) * b, wg.FloatLayer)
    assert_type(wg.lift(c) * c, wg.ArrayLayer)
    assert_type(wg.lift(d), wg.Layer[str, str])
    assert_type(wg.lift(m), wg.DoubleLayer)


def case_train_where_the_loss_is(
    here: wg.ArrayLayer[tuple[()]], there: wg.ArrayLayer[tuple[()], np.float32, wg.Gpu]
) -> None:
    assert_type(wg.train(here), wg.Do[np.ndarray[tuple[()], np.dtype[np.float32]]])
    assert_type(wg.train(there), wg.Do[cupy.ndarray[tuple[()], np.dtype[np.float32]]])


def case_gradients_of_unknown_shapes(
    loss: wg.DoubleLayer, a: wg.ArrayWeight, b: wg.ArrayWeight[Any, np.float64], d: wg.DoubleWeight
) -> None:
    assert_type(wg.gradients(loss, (a,)).run(), tuple[Delta])
    assert_type(wg.gradients(loss, (a, b)).run(), tuple[Delta, np.ndarray[Any, np.dtype[np.float64]]])
    assert_type(wg.gradients(loss, (a, d, d, a)).run(), tuple[Delta, float, float, Delta])
    assert_type(wg.gradients(loss, (a, b)).layers, tuple[wg.ArrayLayer, wg.ArrayLayer[Any, np.float64]])
    five = wg.gradients(loss, (a, d, d, a, d)).run()
    assert_type(five[3], Delta)
    assert_type(five[4], float)


def case_gradients_of_lists(
    loss: wg.DoubleLayer, a: wg.ArrayWeight, b: wg.ArrayWeight[tuple[int], np.float32], d: wg.DoubleWeight
) -> None:
    assert_type(wg.gradients(loss, [a, a]).run(), list[Delta])
    assert_type(wg.gradients(loss, [d, d]).run(), list[float])
    assert_type(wg.gradients(loss, [a, a]).layers, list[wg.ArrayLayer])
    first, _ = wg.gradients(loss, [a, b]).run()
    assert_type(first.dtype, np.dtype[np.float32])
    wg.gradients(loss, [1.0])  # E[arg-type]: incompatible type "list\[float\]"
    wg.gradients(loss, "d")  # E[call-overload]: matches argument types "DoubleLayer", "str"


def case_a_gradient_goes_to_numpy(loss: wg.DoubleLayer, a: wg.ArrayWeight[tuple[int, int]]) -> None:
    (delta,) = wg.gradients(loss, (a,)).run()
    assert_type(np.asarray(delta), npt.NDArray[np.float32])
    assert_type(np.sum(delta), np.float32)
    assert_type(np.asarray(a.forward.run().data), npt.NDArray[np.float32])
