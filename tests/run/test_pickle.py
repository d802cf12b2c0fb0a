"""S14: a `Do` of a network with weights is a description, which travels by cloudpickle."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from wengert import Do, DoubleLayer, gather
from wengert.graph.operation import Operation
from wengert.plugins import SGD, Adam, LearningRate

A = TypeVar("A")


class Settings(Adam, LearningRate): ...


def travelled(x: A) -> A:
    copy: A = cloudpickle.loads(cloudpickle.dumps(x))
    return copy


def network() -> tuple[wg.ArrayWeight[tuple[int, ...], np.float64], wg.ArrayLayer[tuple[()], np.float64]]:
    rng = np.random.default_rng(3)
    w = Settings(learning_rate=0.1).array_weight(rng.normal(size=(3, 2)), name="w")
    return w, wg.mean(wg.square(wg.tanh(wg.matmul(rng.normal(size=(4, 3)), w)) - 0.5))


class TestS14:
    def test_predictions_agree(self) -> None:
        _, loss = network()
        assert travelled(loss.predict()).run() == loss.predict().run()

    def test_trainings_agree_and_do_not_touch_each_other(self) -> None:
        w, loss = network()
        before = w.data.tolist()
        there_w, there_train = travelled((w, loss.train()))
        losses = [float(there_train.run()) for _ in range(3)]
        assert w.data.tolist() == before
        assert losses == [float(loss.train().run()) for _ in range(3)]
        assert there_w.data.tolist() == w.data.tolist()
        assert there_w.name == "w"

    def test_optimizer_state_travels(self) -> None:
        w, loss = network()
        loss.train().run()
        there_w, there_train = travelled((w, loss.train()))
        assert [float(there_train.run()), float(there_train.run())] == [
            float(loss.train().run()),
            float(loss.train().run()),
        ]
        assert there_w.data.tolist() == w.data.tolist()

    def test_a_weight_that_stands_in_two_places_stays_one(self) -> None:
        w = SGD(learning_rate=1.0).double_weight(1.0)
        h = w * 2.0
        copy, first, second = travelled((w, h * h, gather(h, w)))
        assert first.train().run() == 4.0
        assert copy.data == -7.0
        assert second.run() == (-14.0, -7.0)

    def test_a_bind_travels(self) -> None:
        @wg.differentiable
        async def larger(a: DoubleLayer, b: DoubleLayer) -> DoubleLayer:
            return a if await a > await b else b

        w = SGD(learning_rate=1.0).double_weight(3.0)
        copy, train = travelled((w, larger(w * 1.0, wg.lift(2.0)).train()))
        assert train.run() == 3.0
        assert copy.data == 2.0

    def test_the_users_line_travels(self) -> None:
        w = SGD(learning_rate=1.0).double_weight(3.0)
        layer = travelled(w / 2.0)
        assert "test_pickle.py" in layer.site
        assert "test_pickle.py" in repr(layer)

    def test_literals_shapes_and_dtypes(self) -> None:
        layer = wg.lift(np.arange(6.0, dtype=np.float32).reshape(2, 3))[1, 1:] * 2.0
        copy = travelled(layer)
        assert (copy.shape, copy.dtype) == (layer.shape, layer.dtype)
        assert copy.predict().run().tolist() == [8.0, 10.0]

    @pytest.mark.slow  # starts a process: about 1 s
    def test_another_process_runs_it(self) -> None:
        w, loss = network()
        question: Do[tuple[float, ...]] = Do.defer(lambda: gather(loss.train(), loss.train()).map(_floats))
        data = cloudpickle.dumps(question)
        script = "import sys, pickle; print(pickle.load(sys.stdin.buffer).run())"
        done = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True, check=True)
        assert done.stdout.decode().strip() == str(question.run())
        del w


def _floats(losses: tuple[object, ...]) -> tuple[float, ...]:
    return tuple(np.asarray(x).item() for x in losses)


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # the other process has no such module


class Two(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class Fields:
    a: Any
    b: Any


@wg.cell
def one(x: Any, y: Any) -> Any:
    return x * y + 1.0


@wg.cell
def nested(x: Any, y: Any) -> Any:
    return Two(x * y, (Fields(x, one(x, y)), y + 1.0))


INNER = {
    found.name: found
    for name in (
        "sorting",
        "indexing",
        "linear",
        "noise",
        "segments",
        "batching.ragged",
        "batching.indices",
        "batching.shapes",
    )
    for found in vars(import_module(f"wengert.ops.{name}")).values()
    if isinstance(found, Operation) and not found.listed
}


def test_operations_that_rules_alone_call_are_found_by_name() -> None:
    assert len(INNER) == 11
    for name, operation in INNER.items():
        assert pickle.loads(pickle.dumps(operation)) is operation, name


def test_calls_of_cells_go_through_plain_pickle() -> None:
    w, v = (Settings(learning_rate=0.1).double_weight(x) for x in (2.0, 2.0))
    made = [(lambda m: one(x, 3.0) + m.b[0].b * m.a)(nested(x, 4.0)) for x in (w, v)]
    sent = pickle.loads(pickle.dumps(made[0].train()))
    assert [sent.run() for _ in range(2)] == [made[1].train().run() for _ in range(2)]


SCRIPT = """
import multiprocessing, pickle
from concurrent.futures import ProcessPoolExecutor
import wengert as wg

@wg.cell
def step(x: wg.DoubleExpression, y: wg.DoubleExpression) -> wg.DoubleLayer:
    return wg.multiply(x, y) + 1.0

def answer(do: wg.Do[float]) -> float:
    return do.run()

if __name__ == "__main__":
    asked = step(step(wg.lift(2.0), 3.0), 2.0).predict()
    assert pickle.loads(pickle.dumps(step))(wg.lift(2.0), 3.0).predict().run() == 7.0
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        print(pool.submit(answer, asked).result())
"""


def test_a_cell_of_a_script_goes_to_the_processes_of_a_pool(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    found = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("15.0\n", "")
