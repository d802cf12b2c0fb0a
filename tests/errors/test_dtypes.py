"""Element types, devices and values of no differentiable type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from wengert.graph.kinds import Column, Role, kind
from wengert.graph.operand import external
from wengert.nn import Linear
from wengert.plugins import SGD

from .golden import Unchecked, d, f, logits, ones, said, v, w, wg


class Elsewhere:
    """A device that is not the CPU."""

    def __str__(self) -> str:
        return "<CUDA Device 0>"


class Unheard:
    """A class that nobody has registered."""


class Method:
    """A class whose forward was meant as a property."""

    def forward(self) -> None: ...


class Tensor:
    """A number of a library that is not ours."""

    __module__ = "tensors.core"
    dtype = item = None

    def __repr__(self) -> str:
        return "Tensor(2)"


async def undecorated() -> None: ...


closed: Unchecked = undecorated()
closed.close()  # so that Python does not warn that nobody awaited it
far: Unchecked = external(
    wg.Do.fail(RuntimeError()), kind(Column.ARRAY, (2, 3), np.dtype(np.float32), Elsewhere(), Role.LAYER)
)


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "float32 and float64 arrays": (
        lambda: w + v,
        "DTypeError: add: dtypes float32 and float64 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: weight 'v' (2, 3) float64\n"
        "  at here",
    ),
    "float32 weight and float64 literal": (
        lambda: w * ones(2, 3, dtype=np.float64),
        "DTypeError: multiply: dtypes float32 and float64 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (2, 3) float64\n"
        "  at here",
    ),
    "double and float": (
        lambda: d * f,
        "DTypeError: multiply: dtypes float64 and float32 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: weight 'd' () float64\n"
        "  operand 1: weight 'f' () float32\n"
        "  at here",
    ),
    "double and float32 array": (
        lambda: d * w,
        "DTypeError: multiply: dtypes float64 and float32 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: weight 'd' () float64\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "float and float64 array": (
        lambda: v / f,
        "DTypeError: divide: dtypes float64 and float32 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: weight 'v' (2, 3) float64\n"
        "  operand 1: weight 'f' () float32\n"
        "  at here",
    ),
    "float64 array of shape ()": (
        lambda: w * np.array(2.0),
        "DTypeError: multiply: dtypes float32 and float64 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal () float64\n"
        "  at here",
    ),
    "matmul": (
        lambda: w @ ones(3, 2, dtype=np.float64),
        "DTypeError: matmul: dtypes float32 and float64 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (3, 2) float64\n"
        "  at here",
    ),
    "where": (
        lambda: wg.where(wg.greater(w, 0.0), w, v),
        "DTypeError: where: dtypes float32 and float64 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: layer greater (2, 3) bool, built at here\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  operand 2: weight 'v' (2, 3) float64\n"
        "  at here",
    ),
    "concat": (
        lambda: wg.concat([w, v]),
        "DTypeError: concat: dtypes float32 and float64 do not mix; make them one, as in "
        "x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: weight 'v' (2, 3) float64\n"
        "  at here",
    ),
    "integer array": (
        lambda: w + np.ones((2, 3), np.int64),
        "DTypeError: add: an array of int64 has no derivative; write x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (2, 3) int64\n"
        "  at here",
    ),
    "integer array that is lifted": (
        lambda: wg.lift(np.ones((2, 3), np.int64)),
        "DTypeError: lift: an array of int64 is not differentiable; use float32 or float64, as in "
        "x.astype(numpy.float32)\n  at here",
    ),
    "integer array as a loss": (
        lambda: wg.train(np.ones((), np.int64)),
        "DTypeError: train: an array of int64 is not differentiable; use float32 or float64, as in "
        "x.astype(numpy.float32)\n  at here",
    ),
    "integer array for a layer": (
        lambda: Linear.make(SGD(learning_rate=1.0), 3, 2, seed=0)(ones(2, 3, dtype=np.int64)),
        "DTypeError: lift: an array of int64 is not differentiable; use float32 or float64, as in "
        "x.astype(numpy.float32)\n  at here",
    ),
    "boolean array": (
        lambda: w + np.ones((2, 3), bool),
        "DTypeError: add: a mask (bool) has no derivative; write where(mask, 1.0, 0.0) for "
        "numbers\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (2, 3) bool\n"
        "  at here",
    ),
    "complex array": (
        lambda: w + np.ones((2, 3), complex),
        "DTypeError: add: an array of complex128 is not differentiable; use float32 or "
        "float64, as in x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (2, 3) complex128\n"
        "  at here",
    ),
    "array of objects": (
        lambda: w + np.ones((2, 3), object),
        "NotDifferentiableError: add: an array of Python objects (dtype object) has no "
        "derivative; write x.astype(numpy.float64)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (2, 3) object\n"
        "  at here",
    ),
    "structured array": (
        lambda: w + np.zeros((2, 3), [("a", np.float32)]),
        "DTypeError: add: an array of [('a', '<f4')] is not differentiable; use float32 or "
        "float64, as in x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (2, 3) [('a', '<f4')]\n"
        "  at here",
    ),
    "array of text": (
        lambda: w + np.array(["a"]),
        "DTypeError: add: an array of <U1 is not differentiable; use float32 or float64, "
        "as in x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (1,) <U1\n"
        "  at here",
    ),
    "masked array": (
        lambda: w + np.ma.ones((2, 3), dtype=np.float32),
        "NotDifferentiableError: add: numpy.ma.MaskedArray is not used as an array, because "
        "its operations mean something else; write numpy.asarray(x), or x.filled(value) for a"
        " masked array\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (2, 3) float32\n"
        "  at here",
    ),
    "numpy integer": (
        lambda: w * np.int64(2),
        "DTypeError: multiply: an array of int64 has no derivative; write x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal () int64\n"
        "  at here",
    ),
    "numpy bool": (
        lambda: w * np.True_,
        "DTypeError: multiply: a mask (bool) has no derivative; write where(mask, 1.0, 0.0) for "
        "numbers\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal () bool\n"
        "  at here",
    ),
    "tensor of another library": (
        lambda: w * Tensor(),
        "NotDifferentiableError: multiply: a tensors.Tensor is not differentiable, got "
        "Tensor(2); write numpy.asarray(x)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: Tensor Tensor(2)\n"
        "  at here",
    ),
    "coroutine of an `async def` without @differentiable": (
        lambda: w * closed,
        "NotDifferentiableError: multiply: a coroutine is not differentiable; put "
        "@wengert.differentiable above its `async def`\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: coroutine <coroutine object undecorated at 0x>\n"
        "  at here",
    ),
    "float16 scalar": (
        lambda: w * np.float16(2),
        "DTypeError: multiply: a number of float16 is not differentiable; use float32 or "
        "float64, as in x.astype(numpy.float32)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: float16 np.float16(2.0)\n"
        "  at here",
    ),
    "complex": (
        lambda: w * 1j,
        "NotDifferentiableError: multiply: complex is not differentiable, got 1j; give a "
        "number, an array or an expression\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: complex 1j\n"
        "  at here",
    ),
    "numpy complex": (
        lambda: w * np.complex128(1),
        "NotDifferentiableError: multiply: complex128 is not differentiable, got "
        "np.complex128(1+0j); give a number, an array or an expression\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: complex128 np.complex128(1+0j)\n"
        "  at here",
    ),
    "int too large": (
        lambda: d * 10**5000,
        "DTypeError: multiply: an integer of 16610 bits is too large for a float\n"
        "  operand 0: weight 'd' () float64\n"
        "  operand 1: int <int object at 0x>\n"
        "  at here",
    ),
    "text": (
        lambda: w + "a",
        "NotDifferentiableError: add: str is not differentiable, got 'a'; give a number, an "
        "array or an expression\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: str 'a'\n"
        "  at here",
    ),
    "None": (
        lambda: w + None,
        "NotDifferentiableError: add: NoneType is not differentiable, got None; give a "
        "number, an array or an expression\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: NoneType None\n"
        "  at here",
    ),
    "list": (
        lambda: wg.add(w, [1.0, 2.0]),
        "NotDifferentiableError: add: a list is not differentiable; write numpy.array(x, "
        "dtype)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: list [1.0, 2.0]\n"
        "  at here",
    ),
    "dict": (
        lambda: wg.exp({}),
        "NotDifferentiableError: exp: dict is not differentiable, got {}; give a number, an "
        "array or an expression\n"
        "  operand 0: dict {}\n"
        "  at here",
    ),
    "unregistered type": (
        lambda: wg.exp(Unheard()),
        "NotDifferentiableError: exp: Unheard is not differentiable: no implementation is "
        "registered for it, got <tests.errors.test_dtypes.Unheard object at 0x>; write\n"
        "    @wengert.register(Unheard)\n"
        "    def forward(x: Unheard) -> Do[Tape[Data, Delta]]: ...\n"
        "  operand 0: Unheard <tests.errors.test_dtypes.Unheard object at 0x>\n"
        "  at here",
    ),
    "unregistered type beside a weight": (
        lambda: w * Unheard(),
        "NotDifferentiableError: multiply: Unheard is not differentiable: no implementation "
        "is registered for it, got <tests.errors.test_dtypes.Unheard object at 0x>; write\n"
        "    @wengert.register(Unheard)\n"
        "    def forward(x: Unheard) -> Do[Tape[Data, Delta]]: ...\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: Unheard <tests.errors.test_dtypes.Unheard object at 0x>\n"
        "  at here",
    ),
    "unregistered type that is lifted": (
        lambda: wg.lift(Unheard()),
        "NotDifferentiableError: lift: Unheard is not differentiable: no implementation is "
        "registered for it, got <tests.errors.test_dtypes.Unheard object at 0x>; write\n"
        "    @wengert.register(Unheard)\n"
        "    def forward(x: Unheard) -> Do[Tape[Data, Delta]]: ...\n"
        "  at here",
    ),
    "unregistered type that is predicted": (
        lambda: wg.predict(Unheard()),
        "NotDifferentiableError: predict: Unheard is not differentiable: no implementation is"
        " registered for it, got <tests.errors.test_dtypes.Unheard object at 0x>; write\n"
        "    @wengert.register(Unheard)\n"
        "    def forward(x: Unheard) -> Do[Tape[Data, Delta]]: ...\n"
        "  at here",
    ),
    "unregistered type that is trained": (
        lambda: wg.train(Unheard()),
        "NotDifferentiableError: train: Unheard is not differentiable: no implementation is "
        "registered for it, got <tests.errors.test_dtypes.Unheard object at 0x>; write\n"
        "    @wengert.register(Unheard)\n"
        "    def forward(x: Unheard) -> Do[Tape[Data, Delta]]: ...\n"
        "  at here",
    ),
    "forward that is no property": (
        lambda: wg.lift(Method()),
        "NotDifferentiableError: lift: Method.forward is no property; put @property above its"
        " `def`, so that `x.forward` is the Do of the tape\n"
        "  at here",
    ),
    "mask as a number": (
        lambda: wg.add(wg.greater(w, 0.0), 1.0),
        "DTypeError: add: a mask (bool) has no derivative; write where(mask, 1.0, 0.0) for "
        "numbers\n"
        "  operand 0: layer greater (2, 3) bool, built at here\n"
        "  operand 1: a Python number\n"
        "  at here",
    ),
    "number as a mask": (
        lambda: wg.where(w, w, 0.0),
        "DTypeError: where: the condition is (2, 3) float32, not a mask; write greater(x, 0) "
        "or the like\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  operand 2: a Python number\n"
        "  at here",
    ),
    "truth value as a mask": (
        lambda: wg.where(True, w, 0.0),
        "DTypeError: where: the condition is a Python number, not a mask; write greater(x, 0)"
        " or the like\n"
        "  operand 0: a Python number\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  operand 2: a Python number\n"
        "  at here",
    ),
    "logical_and of numbers": (
        lambda: wg.logical_and(w, w),
        "DTypeError: logical_and: expected masks (booleans), got (2, 3) float32; compare "
        "first, as in greater(x, 0)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "logical_or of numbers": (
        lambda: wg.logical_or(w, w),
        "DTypeError: logical_or: expected masks (booleans), got (2, 3) float32; compare "
        "first, as in greater(x, 0)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "logical_not of numbers": (
        lambda: wg.logical_not(w),
        "DTypeError: logical_not: expected masks (booleans), got (2, 3) float32; compare "
        "first, as in greater(x, 0)\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "max of a mask": (
        lambda: wg.max(wg.greater(w, 0.0)),
        "DTypeError: max: a mask has no extremum\n"
        "  operand 0: layer greater (2, 3) bool, built at here\n"
        "  at here",
    ),
    "labels that are floats": (
        lambda: wg.cross_entropy(logits, ones(4)),
        "DTypeError: cross_entropy: labels are integers (class numbers), not (4,) float32\n"
        "  operand 0: weight 'logits' (4, 3) float32\n"
        "  operand 1: literal (4,) float32\n"
        "  at here",
    ),
    "take at floats": (
        lambda: wg.take(w, ones(2)),
        "DTypeError: take: indices are integers, not (2,) float32\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (2,) float32\n"
        "  at here",
    ),
    "index that is a float": (
        lambda: w[1.5],
        "DTypeError: getitem: an index is made of integers, slices, None, ... and integer "
        "arrays; got 1.5\n"
        "  at here",
    ),
    "index that is text": (
        lambda: w["a"],
        "DTypeError: getitem: an index is made of integers, slices, None, ... and integer "
        "arrays; got 'a'\n"
        "  at here",
    ),
    "index array of floats": (
        lambda: w[ones(2)],
        "DTypeError: getitem: an index array has integers, not float32\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: literal (2,) float32\n"
        "  at here",
    ),
    "mask of another size": (
        lambda: w[np.array([True, False, True])],
        "ShapeError: getitem: a mask of shape (3,) for axes of shape (2,) of (2, 3)\n  at here",
    ),
    "computed mask as an index": (
        lambda: w[wg.greater(w, 0.0)],
        "DTypeError: getitem: how many elements a computed mask chooses only the run knows; write where(mask, x, 0.0), "
        "or nonzero(mask, size=n) as the index, or a mask that is data\n  at here",
    ),
    "bound that is a float": (
        lambda: w[0:1.5],
        "DTypeError: getitem: the bounds of a slice are integers; got 1.5\n  at here",
    ),
    "step that is zero": (
        lambda: w[::0],
        "ShapeError: getitem: the step of a slice cannot be 0\n  at here",
    ),
    "axis that is a float": (
        lambda: wg.mean(w, axis=1.5),
        "ArgumentError: mean: an axis is an integer; got 1.5\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "axis that is text": (
        lambda: wg.softmax(w, axis="rows"),
        "ArgumentError: softmax: an axis is an integer; got 'rows'\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "axis that is a list": (
        lambda: wg.softmax(w, axis=[0]),
        "ArgumentError: softmax: cannot be used with axis=[0]: unhashable type: 'list'\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "another device": (
        lambda: w + far,
        "DeviceError: add: devices cpu and <CUDA Device 0> do not mix; copy one operand to "
        "the other device first\n"
        "  operand 0: weight 'w' (2, 3) float32\n"
        "  operand 1: layer forward (2, 3) float32, built at test_dtypes.py:N\n"
        "  at here",
    ),
    "another device in where": (
        lambda: wg.where(np.ones((2, 3), bool), far, w),
        "DeviceError: where: devices <CUDA Device 0> and cpu do not mix; copy one operand to "
        "the other device first\n"
        "  operand 0: literal (2, 3) bool\n"
        "  operand 1: layer forward (2, 3) float32, built at test_dtypes.py:N\n"
        "  operand 2: weight 'w' (2, 3) float32\n"
        "  at here",
    ),
    "a literal beside another device": (
        lambda: far * ones(2, 3),
        "DeviceError: multiply: devices <CUDA Device 0> and cpu do not mix; copy one operand "
        "to the other device first\n"
        "  operand 0: layer forward (2, 3) float32, built at test_dtypes.py:N\n"
        "  operand 1: literal (2, 3) float32\n"
        "  at here",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str) -> None:
    action, text = CASES[name]
    assert said(action) == text
