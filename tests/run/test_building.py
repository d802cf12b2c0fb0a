"""What a node remembers of the line that asked for it, and which signature it finds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from inspect import currentframe
from linecache import getline
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import site
from wengert.graph.node import Node
from wengert.nn import Linear
from wengert.plugins import SGD

X = wg.literal(np.ones((2, 2)))
W = SGD(learning_rate=0.1).double_weight(2.0)
WAYS: dict[str, Callable[[], Any]] = {  # Any: layers of both classes
    "a method": lambda: X + X,
    "a method, the other way round": lambda: 2.0 * X,
    "a method of scalars": lambda: W - 1.0,
    "a method of scalars, the other way round": lambda: 1.0 / W,
    "a method with a literal": lambda: X @ np.ones((2, 2)),
    "an array before it": lambda: np.ones((2, 2)) * X,
    "one operand": lambda: -X,
    "a function": lambda: wg.relu(X),
    "a function of two": lambda: wg.maximum(X, 0.0),
    "a function with attributes": lambda: wg.sum(X, axis=0),
    "a function without": lambda: wg.sum(X),
    "a function that calls another": lambda: wg.matmul(X, X),
    "an index": lambda: X[0],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_node_knows_the_line_that_asked_for_it(way: str) -> None:
    made = WAYS[way]()
    assert isinstance(made, Node)
    line = WAYS[way].__code__.co_firstlineno
    assert way in getline(__file__, line)
    assert made.site == f"{__file__}:{line}"


def test_a_node_that_the_library_makes_knows_who_called_it() -> None:
    here = currentframe()
    assert here is not None
    layer = Linear.make(SGD(learning_rate=0.1), 2, 3, seed=0)
    made = layer(wg.literal(np.ones((1, 2), np.float32)))
    assert made.site == f"{__file__}:{here.f_lineno - 1}"


def test_the_files_that_have_been_met_cannot_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "_MOST_FILES", 3)
    met = type(site.OURS)()
    ours = [met[file] for file in ("a.py", site.__file__, "b.py", "c.py", site.__file__)]
    assert ours == [False, True, False, False, True]
    assert len(met) <= 3


@pytest.mark.parametrize(("axis", "equal"), [(1, True), (1, 1.0), ((1,), (True,)), ((0, 1), (False, 1))])
def test_equal_attributes_of_other_types_are_others(axis: object, equal: object) -> None:
    def signature(axis: object, keepdims: object) -> object:
        return wg.extend.apply(SUM, (X,), (("axis", axis), ("keepdims", keepdims))).signature

    first = signature(axis, True)
    assert signature(axis, True) is first
    assert signature(axis, 1) is not first
    assert axis == equal
    assert signature(equal, True) is not first


SUM = wg.extend.Operation(
    "sum_of_a_test", wg.extend.Rules(lambda kinds, **options: kinds[0], operator.pos), __name__, listed=False
)
