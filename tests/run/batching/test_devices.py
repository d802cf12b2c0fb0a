"""`Batched` on arrays of a device: node by node, with the functions of their library, and a line that says so.

There is no device here: arrays of a class named as cupy's stand for its, numpy's functions for its functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.arrays.pretended import gpu_over
from wengert.arrays import HOST
from wengert.plugins import SGD
from wengert.run import Batched, Sequential


class Device:
    """One of cupy's."""

    id = 0

    def __repr__(self) -> str:
        return "<CUDA Device 0>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    def __hash__(self) -> int:
        return 0


def _inside(x: Any) -> Any:  # Any below: numpy's arrays, and what stands for cupy's
    if isinstance(x, (tuple, list)):
        return type(x)(map(_inside, x))
    return x.inside if isinstance(x, Array) else x


def on_device(x: Any) -> Any:
    """The same where it is no array."""
    return Array(x) if isinstance(x, np.ndarray) else x


class _Array:
    """Numbers that only the functions of the stand-in read."""

    device = Device()

    def __init__(self, inside: Any) -> None:
        self.inside = inside

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inside, name)
        if callable(found):
            return lambda *given, **options: on_device(found(*_inside(given), **options))
        return on_device(found)

    def __float__(self) -> float:
        return float(self.inside)


def _operator(name: str) -> Any:
    def method(self: _Array, *given: Any) -> Any:
        return on_device(getattr(self.inside, name)(*_inside(given)))

    return method


NAMES = (
    "add",
    "radd",
    "iadd",
    "mul",
    "rmul",
    "sub",
    "rsub",
    "isub",
    "truediv",
    "neg",
    "getitem",
    "matmul",
    "gt",
)
methods: dict[str, Any] = {f"__{name}__": _operator(f"__{name}__") for name in NAMES}
Array: Any = type("ndarray", (_Array,), {"__module__": "cupy", **methods})


@pytest.fixture(scope="module")
def stand_in() -> Iterator[list[str]]:
    """The functions of the stand-in that have been called; it has numpy's."""
    calls: list[str] = []
    module: Any = ModuleType("cupy")

    def counting(name: str, function: Any) -> Any:
        def call(*given: Any, **options: Any) -> Any:
            calls.append(name)
            return on_device(function(*_inside(given), **options))

        return call

    for name in dir(np):
        found = getattr(np, name)
        made = counting(name, found) if callable(found) and not isinstance(found, type) else found
        setattr(module, name, made)
    module.ndarray = Array
    module.asnumpy = _inside
    module.ElementwiseKernel = lambda given, made, source, name: counting(name, getattr(HOST, name))
    with gpu_over(module):
        yield calls


@pytest.fixture
def called(stand_in: list[str]) -> list[str]:
    """Those of one test."""
    del stand_in[:]
    return stand_in


def losses(executor: Any, where: Any) -> tuple[list[float], Any]:  # Any: an interpreter, a class of arrays
    """Some steps of a loss of three examples."""
    w = SGD(learning_rate=0.25).array_weight(where(np.arange(1, 5, dtype=np.float32) / 8))
    x = [where(np.arange(4, dtype=np.float32) / 4 + k) for k in range(3)]

    def loss() -> Any:
        rows = [wg.tanh(wg.lift(row) * w) * 0.5 for row in x]
        return wg.mean(rows[0] + rows[1] * rows[2])

    return [float(loss().train().run(executor)) for _ in range(3)], _inside(w.data)


@pytest.mark.usefixtures("stand_in")
def test_it_trains_node_by_node_and_says_so() -> None:
    batched = Batched()
    wanted, w = losses(Sequential(compiled=False), Array)
    found, v = losses(batched, Array)
    assert found == wanted
    assert v.tobytes() == w.tobytes()
    assert losses(Batched(), np.array)[0] == pytest.approx(wanted, rel=1e-6)
    assert all(line.width == 1 for line in batched.report.lines.values())
    assert "tanh: its arrays are on a GPU, where rows have no tables yet, built at" in str(batched.report)


def test_functions_of_the_device_compute(called: list[str]) -> None:
    losses(Batched(), Array)
    assert {"tanh", "mean"} <= {*called}
    del called[:]
    losses(Batched(), np.array)
    assert not called


def test_what_is_on_the_host_runs_together_all_the_same(called: list[str]) -> None:
    batched = Batched()
    far = [wg.tanh(wg.lift(Array(np.full(4, k, np.float32)))) for k in range(3)]
    near = [wg.tanh(wg.lift(np.full(4, k, np.float32))) for k in range(3)]
    found = wg.predict((far[0] + far[1] * far[2], near[0] + near[1] * near[2])).run(batched)
    assert np.array_equal(_inside(found[0]), found[1])
    assert called.count("tanh") == 3
    assert "3 x tanh: its arrays are on a GPU" in str(batched.report)
    assert 3.0 in [line.width for line in batched.report.lines.values() if line.name == "tanh"]
