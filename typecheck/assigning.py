"""`assign` and `apply`: which dictionaries they take."""

from __future__ import annotations

from typing import Any, NamedTuple, assert_type

import numpy as np

import wengert as wg
from wengert import extend

F32 = np.ndarray[Any, np.dtype[np.float32]]


def case_of_several_kinds(
    a: wg.ArrayWeight[Any, np.float32],
    d: wg.DoubleWeight,
    f: wg.FloatWeight,
    x: np.ndarray[Any, np.dtype[np.float32]],
) -> None:
    assert_type(wg.assign({a: x}), wg.Do[None])
    assert_type(wg.assign({a: x, d: 1.0, f: np.float32(1.0)}), wg.Do[None])
    assert_type(wg.apply({a: x, d: 1}), wg.Do[None])
    assert_type(wg.apply({a: extend.LazyDelta([extend.Rows(0, x, (2,))])}), wg.Do[None])
    assert_type(wg.gather(d.train(), wg.assign({a: x})), wg.Do[tuple[float, None]])


def case_of_variables(by_weight: dict[wg.DoubleWeight, float], of_any: dict[extend.Weight, float]) -> None:
    assert_type(wg.assign(by_weight), wg.Do[None])
    assert_type(wg.apply(of_any), wg.Do[None])


def case_refused(a: wg.ArrayWeight[Any, np.float32], d: wg.DoubleWeight) -> None:
    wg.assign({d * 2.0: 1.0})  # E: incompatible type
    wg.assign({a: "x"})  # E: incompatible type
    wg.assign([a])  # E: No overload variant of "assign"
    wg.apply({d: None})  # E: incompatible type


def case_of_a_run_at_other_data(
    a: wg.ArrayWeight[Any, np.float32], d: wg.DoubleWeight, x: np.ndarray[Any, np.dtype[np.float32]]
) -> None:
    assert_type(d.predict(at={d: 1.0}), wg.Do[float])
    assert_type(
        wg.predict((d * 2.0, a), at={a: x, d: 1.0}),
        wg.Do[tuple[float, np.ndarray[Any, np.dtype[np.float32]]]],
    )
    assert_type(wg.gradients(d * 2.0, (d,), at={d: 1.0}).run(), tuple[float])
    d.predict(at=[d])  # E: incompatible type "list\[DoubleWeight\]"
    a.predict(at={a: "x"})  # E: incompatible type


class Two(NamedTuple):
    a: wg.DoubleLayer
    b: wg.ArrayLayer[Any, np.float32]


def case_of_second_results(
    d: wg.DoubleWeight,
    a: wg.ArrayWeight[Any, np.float32],
    scalar: wg.ArrayLayer[tuple[()], np.float32],
    wide: wg.ArrayLayer[tuple[int], np.float32],
    two: Two,
) -> None:
    loss = d * 2.0
    assert_type(loss.train(also=a), wg.Do[tuple[float, F32]])
    assert_type(loss.train(also=(d, a)), wg.Do[tuple[float, tuple[float, F32]]])
    assert_type(wg.train(scalar, also=(d, a, d)).run()[1], tuple[float, F32, float])
    assert_type(scalar.train(also=()).run()[1], tuple[()])
    assert_type(scalar.train(also=(d, a, d, a)).run()[1], tuple[float, F32, float, F32])
    assert_type(wg.train(scalar, also=(d, a, d, a)).run()[1], tuple[float, F32, float, F32])
    values: wg.run.Values[Two] = loss.train(also=two).run()[1]
    print(values.a, *values)
    assert_type(loss.train(), wg.Do[float])
    loss.train(also=1.0)  # E: No overload variant
    wide.train(also=d)  # E: ^train: a loss is a scalar|write_mean_of_the_loss
