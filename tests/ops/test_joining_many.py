"""Joining many arrays: no node has more operands than its derivatives can be given, and nothing else can be seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import ShapeError
from wengert.graph.order import below
from wengert.plugins import SGD

F64 = np.float64


@pytest.mark.parametrize("n", [1, 128, 129, 1000])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(("join", "by_numpy"), [(wg.stack, np.stack), (wg.concat, np.concatenate)])
def test_many_are_joined_and_get_their_parts_back(join: Any, by_numpy: Any, axis: int, n: int) -> None:
    chance = np.random.default_rng(n)
    w = SGD(learning_rate=1.0).array_weight(chance.standard_normal((2, 3)))
    factors = chance.standard_normal(n).tolist()
    joined = join([w * f for f in factors], axis=axis)
    data = w.data
    expected = by_numpy([data * f for f in factors], axis=axis)
    assert joined.shape == expected.shape
    assert np.array_equal(joined.predict().run(), expected)
    slopes = chance.standard_normal(expected.shape)
    (delta,) = wg.gradients(wg.sum(joined * slopes), (w,)).run()
    parts = np.split(slopes, n, axis=axis)
    wanted = sum(f * np.reshape(part, (2, 3)) for f, part in zip(factors, parts, strict=True))
    assert np.allclose(delta, wanted, rtol=1e-12, atol=1e-9)


def test_no_node_has_too_many_operands() -> None:
    x = wg.lift(np.ones(2))
    for n in (500, 5000):
        nodes, _ = below(wg.stack([x * 1.0 for _ in range(n)]), ())
        assert max(len(node.operands) for node in nodes) <= 2 * n**0.5


def test_what_is_wrong_with_one_of_many_is_said_of_all() -> None:
    arrays = [np.ones(3)] * 400 + [np.ones(4)] * 400
    for join in (wg.stack, wg.concat):
        assert join([np.ones(3)] * 800).site.startswith(__file__)
        with pytest.raises(
            ShapeError, match=rf"(?s){join.__name__}: .*axis 7|shapes \(3,\) and \(4,\) differ.*test_"
        ):
            join(arrays) if join is wg.stack else join(arrays, axis=7)
