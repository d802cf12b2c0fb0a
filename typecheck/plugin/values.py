"""Values of a NamedTuple and of a dataclass have its names, and the type of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar, assert_type

import numpy as np

import wengert as wg
from wengert import nn

F32 = np.ndarray[Any, np.dtype[np.float32]]
Shape23 = tuple[Literal[2], Literal[3]]
Host23 = np.ndarray[Shape23, np.dtype[np.float32]]
L = TypeVar("L")
Shape523 = tuple[Literal[5], Literal[2], Literal[3]]


class Pair(NamedTuple):
    hidden: wg.ArrayLayer[Shape23]
    error: wg.DoubleLayer


@dataclass(frozen=True)
class Results(Generic[L]):
    scores: L
    pair: Pair
    mask: wg.Mask[Shape23]
    weight: wg.FloatWeight
    two: tuple[wg.DoubleLayer, wg.ArrayLayer]
    rate: float = 1.0
    size: int = 3


Scores = Results[wg.ArrayLayer[Shape23]]


def case_of_a_named_tuple(loss: wg.DoubleLayer, pair: Pair) -> None:
    error, found = loss.train(also=pair).run()
    assert_type(error, float)
    assert_type(found.hidden, Host23)
    assert_type(found.error, float)
    assert_type(found[0], Host23)
    assert_type(found[-1], float)
    hidden, wrong = found
    assert_type(hidden, Host23)
    assert_type(wrong, float)
    assert_type(wg.train(loss, also=pair).run()[1].error, float)
    assert_type(wg.predict(pair).run().hidden, Host23)
    assert_type(wg.predict(pair).map(lambda found: found.error), wg.Do[float])
    two: tuple[Host23, float] = found
    values: wg.run.Values[Pair] = found
    assert_type(values.error, float)
    print(two)


def case_of_a_dataclass(loss: wg.DoubleLayer, results: Scores) -> None:
    _, found = wg.train(loss, also=results).run()
    assert_type(found, wg.run.Values[Scores])
    assert_type(found.scores, Host23)
    assert_type(found.pair.hidden, Host23)
    assert_type(found.pair[1], float)
    assert_type(found.mask, np.ndarray[Shape23, np.dtype[np.bool_]])
    assert_type(found.weight, np.float32)
    assert_type(found.two, tuple[float, F32])
    assert_type(found.rate, float)
    assert_type(found.size, float)  # a literal of the program
    assert_type(wg.predict(results).run().scores, Host23)
    assert_type(loss.train(also=results).run()[1].pair.error, float)


@dataclass(frozen=True)
class Line(Generic[L]):
    start: L
    end: L
    name: None = None


def case_of_a_class_that_is_generic_in_all_that_changes(
    loss: wg.DoubleLayer,
    line: Line[wg.DoubleWeight],
    arrays: Line[wg.ArrayLayer[Shape23]],
    d: wg.DoubleWeight,
) -> None:
    assert_type(wg.predict(line).run(), Line[float])
    assert_type(loss.train(also=(d, arrays)).run()[1][1], Line[Host23])
    assert_type(wg.gradients(loss, line).run(), Line[float])
    assert_type(wg.gradients(loss, line).run().start, float)


def case_within_tuples(loss: wg.DoubleLayer, d: wg.DoubleLayer, pair: Pair, results: Scores) -> None:
    assert_type(wg.predict((d, (d, d))).run(), tuple[float, tuple[float, float]])
    assert_type(wg.predict(((d, d), d)).run(), tuple[tuple[float, float], float])
    assert_type(wg.predict((d, pair)).run()[1].error, float)
    assert_type(wg.predict((d, d, results)).run()[2].scores, Host23)
    assert_type(loss.train(also=(results, d)).run()[1][0].scores, Host23)
    assert_type(wg.train(loss, also=(d, pair)).run()[1][1].hidden, Host23)


def takes(results: Scores) -> None:
    """Layers, and no data."""


def case_what_comes_back_is_data(loss: wg.DoubleLayer, pair: Pair, results: Scores) -> None:
    _, found = loss.train(also=pair).run()
    print(found.hiden)  # E[attr-defined]: "Pair" has no attribute "hiden"
    found.error.predict()  # E[attr-defined]: "float" has no attribute "predict"
    print(*(a := found), a[2])  # E[misc]: index out of range
    _, _, more = found  # E[misc]: Need more than 2 values
    print(more)
    values = wg.predict(results).run()
    print(values.score)  # E[attr-defined]: has no attribute "score"
    print(values.scores.forward)  # E[attr-defined]: has no attribute "forward"
    takes(values)  # E[arg-type]: incompatible type "Values\[


def case_derivatives(
    loss: wg.DoubleLayer, d: wg.DoubleWeight, pair: Pair, layer: nn.Linear[Any, Any]
) -> None:
    hidden, error = wg.gradients(loss, pair).run()
    assert_type(hidden, Host23)
    assert_type(error, float)
    assert_type(wg.gradients(loss, pair).layers, Pair)
    g = wg.gradients(loss, (d, [layer], {"a": pair})).run()
    assert_type(g[0], float)
    assert_type(g[1][0].weight.dtype, np.dtype[np.float32])
    assert_type(g[2]["a"].hidden, Host23)
    assert_type(wg.gradients(loss, (d, [d])).layers, tuple[wg.DoubleLayer, list[wg.DoubleLayer]])
    print(wg.gradients(loss, (d, [layer])).run()[1][0].wieght)  # E[attr-defined]: maybe "weight"


def case_jacobians(
    loss: wg.DoubleLayer,
    y: wg.ArrayLayer[tuple[Literal[5]]],
    w: wg.ArrayWeight[Shape23],
    d: wg.DoubleWeight,
    total: wg.ArrayLayer[tuple[()]],
) -> None:
    assert_type(wg.jacobian(y, w).run(), np.ndarray[Shape523, np.dtype[np.float32]])
    assert_type(wg.jacobian(y, w).layers, wg.ArrayLayer[Shape523])
    assert_type(wg.jacobian(y, d).run(), np.ndarray[tuple[Literal[5]], np.dtype[np.float64]])
    assert_type(wg.jacobian(y, (w, d)).run()[0], np.ndarray[Shape523, np.dtype[np.float32]])
    assert_type(wg.jacobian(y, (w, d)).run()[1], np.ndarray[tuple[Literal[5]], np.dtype[np.float64]])
    assert_type(wg.jacobian(y, {"a": w}).run()["a"], np.ndarray[Shape523, np.dtype[np.float32]])
    assert_type(wg.jacobian(total, w).run(), Host23)
    assert_type(wg.jacobian(loss, (w, d)).run(), tuple[Host23, float])
    wg.jacobian(y, w).layers @ w  # E[shape]: inner dimensions 3 and 2 differ


def case_jacobians_by_a_model(
    y: wg.ArrayLayer[tuple[Literal[5]]],
    loss: wg.DoubleLayer,
    model: nn.Linear[Literal[3], Literal[2]],
    pair: Pair,
    several: Results[wg.ArrayLayer[Shape23]],
) -> None:
    found = wg.jacobian(y, model)
    assert_type(
        found.run().weight, np.ndarray[tuple[Literal[5], Literal[3], Literal[2]], np.dtype[np.float32]]
    )
    assert_type(found.layers.weight, wg.ArrayLayer[tuple[Literal[5], Literal[3], Literal[2]]])
    assert_type(wg.jacobian(y, pair).run().hidden, np.ndarray[Shape523, np.dtype[np.float32]])
    assert_type(wg.jacobian(y, pair).run()[1], np.ndarray[tuple[Literal[5]], np.dtype[np.float64]])
    assert_type(wg.jacobian(y, several).run().pair.hidden, np.ndarray[Shape523, np.dtype[np.float32]])
    assert_type(wg.jacobian(y, {"a": model}).run()["a"].weight.shape[0], Literal[5])
    assert_type(
        wg.jacobian(loss, model).run().weight, np.ndarray[tuple[Literal[3], Literal[2]], np.dtype[np.float32]]
    )
    print(found.run().wieght)  # E[attr-defined]: maybe "weight"
    print(found.layers.weight @ model.weight)  # E[shape]: inner dimensions 2 and 3 differ


def case_products(
    loss: wg.DoubleLayer, w: wg.ArrayWeight[Shape23], d: wg.DoubleWeight, v: Host23, pair: Pair
) -> None:
    assert_type(wg.hessian_product(loss, w, v).run(), Host23)
    assert_type(wg.hessian_product(loss, (w, d), (v, 1.0)).run(), tuple[Host23, float])
    assert_type(wg.hessian_product(loss, [w, w], [v, v]).run(), list[Host23])
    assert_type(wg.hessian_product(loss, pair, wg.gradients(loss, pair).run()).run().hidden, Host23)
    assert_type(wg.hessian_product(loss, w, v).layers, wg.ArrayLayer[Shape23])
    assert_type(wg.jvp(loss, (w, d), (v, 1.0)).run(), tuple[float, float])
    wg.hessian_product(loss, w)  # E[call-overload]: matches argument types
    wg.hessian_product(loss, w, "v")  # E: matches argument types


def case_of_a_metric(
    seen: wg.run.Values[Pair], both: wg.run.Values[Scores]
) -> None:  # as an annotation has it
    assert_type(seen.error, float)
    assert_type(both.scores, Host23)
    print(seen.wrong)  # E[attr-defined]: "Pair" has no attribute "wrong"
