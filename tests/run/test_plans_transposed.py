"""A transposed matrix that many products of few rows read is copied once in a plan, where that has the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import wengert as wg
from wengert.arrays import thin
from wengert.arrays.kernels import transposed_copy
from wengert.plugins import SGD
from wengert.program import simplify
from wengert.program.program import Program
from wengert.run.compiled import program

ROWS, SIZE, STEPS = 32, 192, 10


def _losses(executor: wg.run.Sequential, steps: int) -> tuple[list[float], Any]:  # Any: an array
    """Losses of a recurrent network, and its weight after the steps."""
    chance, settings = np.random.default_rng(0), SGD(learning_rate=0.1)
    weight = settings.array_weight(chance.standard_normal((SIZE, SIZE)).astype(np.float32) / np.float32(14))
    x = chance.standard_normal((ROWS, SIZE)).astype(np.float32)

    def loss() -> Any:  # Any: a layer
        h: Any = wg.lift(x)
        for _ in range(STEPS):
            h = wg.tanh(h @ weight)
        return wg.mean(wg.square(h))

    return [float(loss().train().run(executor)) for _ in range(steps)], weight.data


def _copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For each program that is made from now on, how many matrices it copies."""
    found: list[int] = []

    def counted(p: Program) -> Program:
        made = simplified(p)
        found.append(sum(e.function is transposed_copy for e in made.eqns))
        return made

    simplified = program.simplified
    monkeypatch.setattr(program, "simplified", counted)
    return found


@pytest.mark.parametrize("same", [True, False])
def test_a_plan_copies_it_once_and_has_the_bits_of_the_interpreter(
    same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = thin._alike(ROWS, SIZE, SIZE, np.dtype(np.float32))
    if not same:
        monkeypatch.setattr(thin, "_alike", lambda *form: False)
    copies = _copies(monkeypatch)
    losses, weight = _losses(wg.run.Sequential(native=False), 30)
    expected, other = _losses(wg.run.Sequential(compiled=False), 30)
    assert losses == expected
    assert_array_equal(weight, other)
    assert max(copies) == (1 if same and alike else 0)


def test_few_users_and_small_matrices_pay_for_no_copy() -> None:
    double = np.dtype(np.float64)
    assert simplify._USERS < STEPS
    assert not thin.by_copy(1, 256, 1024, double)
    assert not thin.by_copy(32, 64, 64, double)
    assert not thin.by_copy(1024, 256, 1024, double)
    assert not thin.by_copy(32, 256, 1024, np.dtype(np.int64))
