"""`predict`, `train`, `gradients`: the types of their answers, and what is no loss (T44 to T47)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_type

import numpy as np

import wengert as wg

Shape23 = tuple[Literal[2], Literal[3]]
Host23 = np.ndarray[Shape23, np.dtype[np.float32]]
Scalar32 = np.ndarray[tuple[()], np.dtype[np.float32]]


def case_predict(
    d: wg.DoubleLayer,
    dw: wg.DoubleWeight,
    f: wg.FloatLayer,
    x: wg.ArrayLayer[Shape23],
    w: wg.ArrayWeight[Shape23],
) -> None:  # T44
    assert_type(wg.predict(d), wg.Do[float])
    assert_type(wg.predict(dw), wg.Do[float])
    assert_type(wg.predict(f), wg.Do[np.float32])
    assert_type(wg.predict(x), wg.Do[Host23])
    assert_type(wg.predict(w), wg.Do[Host23])
    assert_type(wg.predict(1.0), wg.Do[float])
    assert_type(x.predict(), wg.Do[Host23])
    assert_type(d.predict().run(), float)
    assert_type(w.data, Host23)
    assert_type(dw.data, float)


def case_predict_of_products(
    d: wg.DoubleLayer, f: wg.FloatWeight, x: wg.ArrayLayer[Shape23]
) -> None:  # T44, D55
    assert_type(wg.predict((d, f)), wg.Do[tuple[float, np.float32]])
    assert_type(wg.predict((d, x, f)), wg.Do[tuple[float, Host23, np.float32]])


@dataclass(frozen=True)
class Pair:
    a: wg.DoubleLayer
    b: wg.DoubleLayer


class NotFrozenNorExpression:
    pass


def case_predict_of_a_dataclass(pair: Pair) -> None:  # D55: what it gives is open
    assert_type(wg.predict(pair), wg.Do[wg.run.Values[Pair]])
    wg.predict(NotFrozenNorExpression())  # E: "NotFrozenNorExpression"
    wg.predict("1")  # E[call-overload]: matches argument type "str"


def case_predict_of_a_mask(d: wg.DoubleLayer) -> None:
    assert_type(wg.predict(wg.greater(d, 0.0)), wg.Do[np.ndarray[tuple[()], np.dtype[np.bool]]])


def case_predict_on_a_gpu(x: wg.ArrayLayer[Shape23, np.float32, wg.Gpu]) -> None:
    assert_type(x.predict().run().dtype, np.dtype[np.float32])


def case_train(
    d: wg.DoubleLayer, dw: wg.DoubleWeight, f: wg.FloatLayer, x: wg.ArrayLayer[Shape23]
) -> None:  # T45
    assert_type(wg.train(d), wg.Do[float])
    assert_type(wg.train(dw), wg.Do[float])
    assert_type(wg.train(f), wg.Do[np.float32])
    assert_type(wg.sum(x), wg.ArrayLayer[tuple[()], np.float32, wg.Cpu])
    assert_type(wg.train(wg.sum(x)), wg.Do[Scalar32])
    assert_type(wg.mean(x).train(), wg.Do[Scalar32])
    assert_type(d.train(), wg.Do[float])
    assert_type(f.train(), wg.Do[np.float32])


def case_train_on_a_gpu(x: wg.ArrayLayer[Shape23, np.float32, wg.Gpu]) -> None:
    assert_type(wg.mean(x).train().run().dtype, np.dtype[np.float32])


def case_only_scalars_are_losses(x: wg.ArrayLayer[Shape23], d: wg.DoubleLayer, pair: Pair) -> None:  # T46
    wg.train(x)  # E: a loss is a scalar|expected "ArrayOperand
    x.train()  # E: ^train: a loss is a scalar, this one has shape \(2, 3\)|write_mean_of_the_loss
    wg.train((d, d))  # E[call-overload]: matches argument type "tuple\[DoubleLayer, DoubleLayer\]"
    wg.train(pair)  # E: "Pair"
    wg.train("1")  # E[call-overload]: matches argument type "str"


def case_gradients_by_position(
    loss: wg.DoubleLayer, d: wg.DoubleWeight, f: wg.FloatWeight, w: wg.ArrayWeight[Shape23]
) -> None:  # T47
    assert_type(wg.gradients(loss, (d,)).run(), tuple[float])
    assert_type(wg.gradients(loss, (d, f)).run(), tuple[float, np.float32])
    assert_type(wg.gradients(loss, wrt=(d, f)).run(), tuple[float, np.float32])
    assert_type(wg.gradients(loss, (d, f, w)).run()[2].shape, Shape23)


def case_gradients_of_a_list(loss: wg.DoubleLayer, ws: list[wg.DoubleWeight]) -> None:  # T47
    assert_type(wg.gradients(loss, ws).run(), list[float])
    assert_type(wg.gradients(loss, ws).map(len), wg.Do[int])
    assert_type(wg.gradients(loss, ws).layers, list[wg.DoubleLayer])


def case_derivatives_as_layers(
    loss: wg.DoubleLayer, d: wg.DoubleWeight, f: wg.FloatLayer, w: wg.ArrayWeight[Shape23]
) -> None:  # T47
    assert_type(
        wg.gradients(loss, (d, f, w)).layers,
        tuple[wg.DoubleLayer, wg.FloatLayer, wg.ArrayLayer[Shape23]],
    )
    (dw,) = wg.gradients(loss, (w,)).layers
    penalty = wg.sum(dw * dw)
    assert_type(penalty.train().run().dtype, np.dtype[np.float32])
    assert_type(wg.gradients(penalty, (w,)).layers, tuple[wg.ArrayLayer[Shape23]])
    assert_type(wg.gradients(loss, (d, d, d, d, d)).layers[4], wg.DoubleLayer)
    wg.gradients(loss, (w,)).layers.run()  # E[attr-defined]
    wg.gradients(dw, (w,))  # E[arg-type]: incompatible type "ArrayLayer\[.*"


def case_gradients_of_what_is_no_loss(x: wg.ArrayLayer[Shape23], d: wg.DoubleWeight) -> None:  # T46
    wg.gradients(x, (d,))  # E[arg-type]: incompatible type "ArrayLayer\[.*"
    wg.gradients("1", (d,))  # E[call-overload]: matches argument types "str", "tuple\[DoubleWeight\]"
    wg.gradients(d, ("1",))  # E[arg-type]: incompatible type "tuple\[str\]"


def case_batched(d: wg.DoubleLayer) -> None:
    batched = wg.run.Batched()
    assert_type(d.predict().run(batched), float)
    assert_type(batched.report.launches, int)
    assert_type(str(batched.report), str)
    assert_type(wg.run.Batched(threads=2).threads, int)
    wg.run.Batched(threads="2")  # E[arg-type]
