"""Every operation meets every column: its value is of the kind that it said, in every executor, or it is refused."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import fold as td
from wengert.arrays import dtype_of, shape_of
from wengert.errors import WengertError
from wengert.graph.node import Expression
from wengert.graph.operation import OPERATIONS
from wengert.nn import Linear
from wengert.plugins import SGD

SETTINGS = SGD(learning_rate=0.1)
OPERANDS: dict[str, Callable[[], Any]] = {  # Any: an expression of each column
    "double": lambda: wg.lift(0.5),
    "float": lambda: wg.lift(np.float32(0.5)),
    "double weight": lambda: SETTINGS.double_weight(0.5),
    "array": lambda: wg.lift(np.full((2, 3), 0.5, np.float64)),
    "scalar array": lambda: wg.lift(np.array(0.5, np.float32)),
    "array weight": lambda: SETTINGS.array_weight(np.full((2, 3), 0.5, np.float32)),
    "mask of a double": lambda: wg.greater(wg.lift(0.5), 0.0),
    "mask of a float": lambda: wg.greater(wg.lift(np.float32(0.5)), 0.0),
    "mask": lambda: wg.greater(wg.lift(np.full((2, 3), 0.5, np.float64)), 0.0),
    "scalar mask": lambda: wg.greater(wg.lift(np.array(0.5, np.float64)), 0.0),
}
EXECUTORS: list[Any] = [  # Any: each of its own class
    wg.run.Sequential(),
    wg.run.Sequential(compiled=False),
    wg.run.Batched(),
]


def calls(name: str) -> Iterator[Callable[[], Any]]:
    """The operation on one, two and three operands, and with the usual options."""
    function: Any = getattr(wg, name)  # Any: operations of all signatures
    for made in OPERANDS.values():
        yield lambda made=made: function(made())  # type: ignore[misc] # a default binds the loop's value
        for options in ({"axis": 0}, {"axis": -1, "keepdims": True}):
            yield lambda made=made, options=options: function(made(), **options)  # type: ignore[misc] # as above
    for one, two in product(OPERANDS.values(), repeat=2):
        yield lambda one=one, two=two: function(one(), two())  # type: ignore[misc] # as above
    if name == "where":
        for masks in ("mask of a double", "mask of a float", "mask", "scalar mask"):
            for one, two in product(OPERANDS.values(), repeat=2):
                yield lambda m=OPERANDS[masks], one=one, two=two: function(m(), one(), two())  # type: ignore[misc] # as above


def expressions(name: str) -> Iterator[Expression]:
    """Those that the operation does not refuse."""
    for call in calls(name):
        try:
            made = call()
        except WengertError:
            continue
        except TypeError as error:  # a call that Python itself refuses: too many arguments, or an unknown one
            if "argument" not in str(error):
                raise
            continue
        if isinstance(made, Expression):
            yield made


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() & set(wg.__all__)))
def test_a_value_is_of_the_kind_that_was_said(name: str) -> None:
    for x in expressions(name):
        try:
            values = [x.predict().run(executor) for executor in EXECUTORS]  # type: ignore[attr-defined] # all have it
        except WengertError:
            continue
        for value in values:
            assert x.kind.dtype in (None, dtype_of(value)), x
            assert x.kind.shape in (None, shape_of(value)), x
            np.testing.assert_allclose(value, values[0], rtol=1e-5)


@pytest.mark.parametrize("mask", ["mask of a double", "mask of a float", "scalar mask"])
def test_a_sum_counts_a_mask_of_one_element(mask: str) -> None:
    x = OPERANDS[mask]()
    counted = wg.sum(x)
    for executor in EXECUTORS:
        assert counted.predict().run(executor) == 1.0
        assert wg.sum(wg.logical_not(x)).predict().run(executor) == 0.0


REFUSED = "float16", "longdouble"


@pytest.mark.parametrize("dtype", REFUSED)
def test_other_floats_are_refused_everywhere_with_one_text(dtype: str) -> None:
    array: Any = np.ones((2, 3), dtype)  # Any: refused on purpose
    other: Any = dtype
    number: Any = array[0, 0]
    w = SETTINGS.array_weight(np.ones((2, 3), np.float32))
    text = f"{array.dtype} is not differentiable; use (numpy.float32 or numpy.float64|float32 or float64, as in x)"
    for wrong in (
        lambda: wg.lift(array),
        lambda: wg.literal(array, 2, 3),
        lambda: SETTINGS.array_weight(array),
        lambda: wg.relu(array),
        lambda: w * array,
        lambda: wg.where(wg.greater(w, 0.0), array, 0.0),
        lambda: wg.lift(number),
        lambda: w * number,
        lambda: SETTINGS.double_weight(number),
        lambda: SETTINGS.float_weight(number),
        lambda: td.Vector(3, other),
        lambda: td.Scalar(other),
        lambda: td.Embedding(2, 3, initializer=array),
        lambda: given(array).predict().run(),
        lambda: wg.astype(w, array.dtype),
        lambda: Linear.make(SETTINGS, 3, 2, seed=0, dtype=array.dtype.type),
    ):
        with pytest.raises(WengertError, match=text):
            wrong()


def given(array: Any) -> wg.ArrayLayer:  # Any: as above
    """A layer whose data only the run sees."""

    @wg.differentiable
    async def network(x: wg.DoubleLayer) -> wg.ArrayLayer:
        layer: wg.ArrayLayer = wg.lift(array)
        return layer

    return network(wg.lift(1.0))


def test_a_record_keeps_the_order_of_an_ordered_dict() -> None:
    ordered = OrderedDict(b=td.Scalar(), a=td.Scalar())
    difference: Any = td.Function(wg.subtract)  # Any: checkers know no order of a mapping
    assert (td.Record(ordered) >> difference).eval({"a": 1, "b": 5}) == 4.0
    assert (td.Record(dict(ordered)) >> difference).eval({"a": 1, "b": 5}) == -4.0
    pair: Any = td.AllOf(td.Scalar(), td.Scalar() >> td.Function(wg.square))
    kept: Any = OrderedDict(b=td.Identity(), a=td.Identity())
    assert (pair >> td.Record(kept) >> difference).eval(3) == -6.0
