"""Data of a tape are arrays of numpy, or of cupy: what can be done with these, can be done with them."""

from __future__ import annotations

from typing import Any, Literal, assert_type

import cupy
import numpy as np
import numpy.typing as npt

import wengert as wg

Shape23 = tuple[Literal[2], Literal[3]]
Host23 = np.ndarray[Shape23, np.dtype[np.float32]]
F32 = np.ndarray[Any, np.dtype[np.float32]]


def takes(array: npt.NDArray[np.float32], wide: npt.NDArray[np.floating[Any]], number: float) -> None:
    """Arrays of numpy, and of no other protocol."""


def case_data_of_a_tape(w: wg.ArrayWeight[Shape23], a: wg.ArrayLayer, d: wg.DoubleLayer) -> None:
    data = w.forward.run().data
    assert_type(data, Host23)
    takes(data, data * 2.0, float(np.linalg.norm(data)))
    takes(data[0], np.float32(0.5) * data, data.sum())
    assert_type(a.forward.map(lambda tape: tape.data).run(), F32)
    assert_type(d.forward.run().data, float)
    data.backward()  # E[attr-defined]: has no attribute "backward"


def case_data_on_a_gpu(w: wg.ArrayWeight[Shape23, np.float32, wg.Gpu]) -> None:
    assert_type(w.forward.run().data, cupy.ndarray[Shape23, np.dtype[np.float32]])


def case_a_delta_goes_to_a_tape(w: wg.ArrayWeight[Shape23], g: Host23, wide: npt.NDArray[np.float64]) -> None:
    tape = w.forward.run()
    tape.backward(wg.Do.now(g))
    tape.backward(wg.Do.now(tape.data.copy()))
    tape.backward(wg.gradients(wg.sum(w), w))
    tape.backward(wg.Do.now(wide))  # E[arg-type]: incompatible type
    tape.backward(wg.Do.now(1.0))  # E[arg-type]: incompatible type


def doubled(tape: wg.Tape[Host23, wg.Array[Shape23]]) -> wg.Tape[Host23, Host23]:
    return wg.Tape(tape.data.copy(), lambda delta: tape.backward(delta.map(lambda g: g)))


def case_a_layer_of_a_tape(w: wg.ArrayWeight[Shape23]) -> None:
    assert_type(wg.ArrayLayer(w.forward), wg.ArrayLayer[Shape23])
    x: wg.ArrayExpression[Shape23] = w
    print(x, wg.predict(w).run() * 2.0)
