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


@pytest.mark.parametrize("kind", ["double", "float"])
def test_numbers_become_a_vector_and_get_numbers_back(kind: str) -> None:
    settings = SGD(learning_rate=0.5)
    make = settings.double_weight if kind == "double" else settings.float_weight
    a, b = make(2.0), make(3.0)
    made: Any = wg.stack([a * 2.0, b, 4.0, a])  # type: ignore[list-item] # a plain number among them, too
    assert (made.shape, made.dtype) == ((4,), np.dtype(F64 if kind == "double" else np.float32))
    assert made.predict().run().tolist() == [4.0, 3.0, 4.0, 2.0]
    slopes = np.array([1.0, 10.0, 100.0, 1000.0], made.dtype)
    for _ in range(12):  # by nodes, and by a plan
        found = wg.gradients(wg.sum(made * slopes), (a, b)).run()
        assert found == (1002.0, 10.0)
        assert {type(delta) for delta in found} <= {float, np.float32}
    wg.sum(made * slopes).train().run()
    assert (float(a.data), float(b.data)) == (-499.0, -2.0)
    mixed: Any = [a, np.ones(2, made.dtype)]
    with pytest.raises(ShapeError, match=r"stack: shapes \(\) and \(2,\) differ"):
        wg.stack(mixed)
