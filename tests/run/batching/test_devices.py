"""`Batched` on arrays of a device: node by node, with the functions of their library, and a line that says so.

There is no device here: arrays of a class named as cupy's stand for its, numpy's functions for its functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.arrays.device import Fake, device_over
from wengert.plugins import SGD
from wengert.run import Batched, Sequential


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fake]:
    """A device of numpy's."""
    with device_over(tmp_path_factory.mktemp("kernels")) as made:
        yield made


@pytest.fixture
def called(fake: Fake) -> Counter[str]:
    """The functions of the device that a test calls."""
    fake.reset()
    return fake.launches


def losses(executor: Any, where: Any) -> tuple[list[float], Any]:  # Any: an interpreter, a class of arrays
    """Some steps of a loss of three examples."""
    w = SGD(learning_rate=0.25).array_weight(where(np.arange(1, 5, dtype=np.float32) / 8))
    x = [where(np.arange(4, dtype=np.float32) / 4 + k) for k in range(3)]

    def loss() -> Any:
        rows = [wg.tanh(wg.lift(row) * w) * 0.5 for row in x]
        return wg.mean(rows[0] + rows[1] * rows[2])

    return [float(loss().train().run(executor)) for _ in range(3)], w.data


def test_it_trains_node_by_node_and_says_so(fake: Fake) -> None:
    batched = Batched()
    wanted, w = losses(Sequential(compiled=False), fake.on)
    found, v = losses(batched, fake.on)
    assert found == wanted
    assert fake.read(v).tobytes() == fake.read(w).tobytes()
    assert losses(Batched(), np.array)[0] == pytest.approx(wanted, rel=1e-6)
    assert all(line.width == 1 for line in batched.report.lines.values())
    assert "tanh: its arrays are on a GPU, where rows have no tables yet, built at" in str(batched.report)


def test_functions_of_the_device_compute(fake: Fake, called: Counter[str]) -> None:
    losses(Batched(), fake.on)
    assert {"tanh", "mean"} <= {*called}
    called.clear()
    losses(Batched(), np.array)
    assert not called


def test_what_is_on_the_host_runs_together_all_the_same(fake: Fake, called: Counter[str]) -> None:
    batched = Batched()
    far = [wg.tanh(wg.lift(fake.on(np.full(4, k, np.float32)))) for k in range(3)]
    near = [wg.tanh(wg.lift(np.full(4, k, np.float32))) for k in range(3)]
    found = wg.predict((far[0] + far[1] * far[2], near[0] + near[1] * near[2])).run(batched)
    assert np.array_equal(fake.read(found[0]), found[1])
    assert called["tanh"] == 3
    assert "3 x tanh: its arrays are on a GPU" in str(batched.report)
    assert 3.0 in [line.width for line in batched.report.lines.values() if line.name == "tanh"]
