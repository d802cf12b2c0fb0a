"""A layer used as if it were a value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wengert import ArrayLayer, differentiable

from .golden import Unchecked, d, ones, said, w, wg

layer: Unchecked = w + 1.0


@differentiable
async def open_shape() -> ArrayLayer:
    made: ArrayLayer = layer
    return made


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "bool": (
        lambda: bool(layer),
        "LazyError: the truth of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; use `where(greater(layer, 0), "
        "...)`, or `await` it and ask its value\n"
        "  at here",
    ),
    "bool of a weight": (
        lambda: not w,
        "LazyError: the truth of <ArrayWeight 'w' (2, 3) float32>, which is an expression: "
        "its value now is its `.data`; use `where(greater(layer, 0), ...)`, or `await` it and"
        " ask its value\n"
        "  at here",
    ),
    "bool of a mask": (
        lambda: bool(wg.greater(d, 0.0)),
        "LazyError: the truth of <Mask greater () bool, built at here>, which is an "
        "expression: it has no value before a run; use `where(greater(layer, 0), ...)`, or "
        "`await` it and ask its value\n"
        "  at here",
    ),
    "len": (
        lambda: len(layer),
        "LazyError: the length of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; use `layer.shape`\n"
        "  at here",
    ),
    "iteration": (
        lambda: list(layer),
        "LazyError: iteration of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; index it, as in `layer[0]`\n"
        "  at here",
    ),
    "unpacking": (
        lambda: [*layer],
        "LazyError: iteration of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; index it, as in `layer[0]`\n"
        "  at here",
    ),
    "in": (
        lambda: 3.0 in layer,
        "LazyError: membership of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; look into "
        "`layer.predict().run()`\n"
        "  at here",
    ),
    "float": (
        lambda: float(d),
        "LazyError: the float of <DoubleWeight 'd' () float64>, which is an expression: its "
        "value now is its `.data`; use `layer.predict().run()`\n"
        "  at here",
    ),
    "int": (
        lambda: int(d),
        "LazyError: the int of <DoubleWeight 'd' () float64>, which is an expression: its "
        "value now is its `.data`; use `layer.predict().run()`\n"
        "  at here",
    ),
    "index": (
        lambda: range(d),
        "LazyError: the index of <DoubleWeight 'd' () float64>, which is an expression: its "
        "value now is its `.data`; use `layer.predict().run()`\n"
        "  at here",
    ),
    "less": (
        lambda: layer < 0,
        "LazyError: comparison of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; use `wengert.less(a, b)`, "
        "or `await` it and compare its value\n"
        "  at here",
    ),
    "less or equal": (
        lambda: layer <= 0,
        "LazyError: comparison of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; use `wengert.less_equal(a, b)`, "
        "or `await` it and compare its value\n"
        "  at here",
    ),
    "greater": (
        lambda: layer > 0,
        "LazyError: comparison of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; use `wengert.greater(a, b)`, "
        "or `await` it and compare its value\n"
        "  at here",
    ),
    "greater or equal": (
        lambda: layer >= 0,
        "LazyError: comparison of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; use `wengert.greater_equal(a, "
        "b)`, or `await` it and compare its value\n"
        "  at here",
    ),
    "equal": (
        lambda: layer == 1.0,
        "LazyError: comparison of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; use `wengert.equal(a, b)`, or "
        "`is` for identity\n"
        "  at here",
    ),
    "not equal": (
        lambda: layer != 1.0,
        "LazyError: comparison of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; use `wengert.not_equal(a, b)`,"
        " or `is not` for identity\n"
        "  at here",
    ),
    "array on the left of a comparison": (
        lambda: ones(2, 3) > layer,
        "LazyError: comparison of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; use `wengert.less(a, b)`, "
        "or `await` it and compare its value\n"
        "  at here",
    ),
    "max of Python": (
        lambda: max(d, d),
        "LazyError: comparison of <DoubleWeight 'd' () float64>, which is an expression: its "
        "value now is its `.data`; use `wengert.greater(a, b)`, or `await` it and compare its value\n"
        "  at here",
    ),
    "numpy.asarray": (
        lambda: np.asarray(layer),
        "LazyError: a numpy array of <ArrayLayer add (2, 3) float32, built at "
        "test_lazy.py:N>, which is an expression: it has no value before a run; use functions"
        " of wengert, as in `wengert.exp(layer)`, or `layer.predict().run()` for its value\n"
        "  at here",
    ),
    "numpy.array of a list": (
        lambda: np.array([d, d]),
        "LazyError: a numpy array of <DoubleWeight 'd' () float64>, which is an expression: "
        "its value now is its `.data`; use functions of wengert, as in `wengert.exp(layer)`, "
        "or `layer.predict().run()` for its value\n"
        "  at here",
    ),
    "ufunc of one operand": (
        lambda: np.exp(layer),
        "LazyError: a numpy array of <ArrayLayer add (2, 3) float32, built at "
        "test_lazy.py:N>, which is an expression: it has no value before a run; use functions"
        " of wengert, as in `wengert.exp(layer)`, or `layer.predict().run()` for its value\n"
        "  at here",
    ),
    "ufunc of two operands": (
        lambda: np.multiply(ones(2, 3), layer),
        "LazyError: a numpy array of <ArrayLayer add (2, 3) float32, built at "
        "test_lazy.py:N>, which is an expression: it has no value before a run; use functions"
        " of wengert, as in `wengert.exp(layer)`, or `layer.predict().run()` for its value\n"
        "  at here",
    ),
    "out": (
        lambda: np.add(d, 1.0, out=ones(2)),
        "LazyError: a numpy array of <DoubleWeight 'd' () float64>, which is an expression: "
        "its value now is its `.data`; use functions of wengert, as in `wengert.exp(layer)`, "
        "or `layer.predict().run()` for its value\n"
        "  at here",
    ),
    "numpy.mean": (
        lambda: np.mean(layer),
        "LazyError: numpy.mean of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; use `wengert.mean` if there is"
        " one, or `layer.predict().run()` for its value\n"
        "  at here",
    ),
    "numpy.concatenate": (
        lambda: np.concatenate([w, w]),
        "LazyError: numpy.concatenate of <ArrayWeight 'w' (2, 3) float32>, which is an "
        "expression: its value now is its `.data`; use `wengert.concatenate` if there is one,"
        " or `layer.predict().run()` for its value\n"
        "  at here",
    ),
    "shape that only the run knows": (
        lambda: open_shape().shape,
        "ShapeError: the shape of <ArrayLayer forward ? ?, built at here> is known only in "
        "the run; state it in the annotation of the @differentiable function, as in "
        "ArrayLayer[tuple[Literal[2], Literal[3]]]\n"
        "  at here",
    ),
    "list of layers forgotten": (
        lambda: wg.concat(layer),
        "LazyError: iteration of <ArrayLayer add (2, 3) float32, built at test_lazy.py:N>, "
        "which is an expression: it has no value before a run; index it, as in `layer[0]`\n"
        "  at here",
    ),
    "number made of a layer": (
        lambda: ones(2).fill(d),
        "LazyError: the float of <DoubleWeight 'd' () float64>, which is an expression: its "
        "value now is its `.data`; use `layer.predict().run()`\n"
        "  at here",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    action, text = CASES[name]
    assert said(action) == text
