"""Functions in pieces give the very bits of the whole functions, so that plans agree with the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wengert.arrays import host
from wengert.arrays.changes import Change, carry_out
from wengert.arrays.pieces import PIECES


class Eager:
    """A recorder that computes at once."""

    def call(
        self, function: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Any:  # Any: as in `Recorder`
        return function(*arguments, **options)

    def effect(self, function: Callable[..., Any], *arguments: Any) -> list[Change]:  # Any: as in `Recorder`
        found: list[Change] = function(*arguments)
        return found

    def __getattr__(self, name: str) -> Callable[..., Any]:  # Any: a function of `host` or its pieces
        pieces = PIECES.get(name)
        if pieces is None:
            found: Callable[..., Any] = getattr(host, name)
            return found
        return lambda *arguments, **options: pieces(self, *arguments, **options)


CHANCE = np.random.default_rng(0)
X, ROW = (CHANCE.standard_normal(shape).astype(np.float32) * 3 for shape in ((7, 5), (5,)))
CUBE = CHANCE.standard_normal((2, 3, 4))
EXTREME = np.array([[np.inf, 0.0], [-np.inf, -np.inf], [np.nan, 1.0], [-np.inf, 2.0]])
LABELS = np.array([[0, 2, 1], [1, 3, 2]])

CALLS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {  # Any: arguments of every function
    "relu": [((X,), {})],
    "sigmoid": [((X,), {}), ((EXTREME,), {})],
    "matmul": [((X, X.T), {}), ((X, ROW), {}), ((CUBE, CUBE.swapaxes(1, 2)), {})],
    "sum": [((x,), {"axis": a}) for x in (X, CUBE) for a in (None, 0, 1, -1, (0, 1))]
    + [((ROW,), {}), ((X,), {"axis": 1, "keepdims": True}), ((ROW[:0],), {})],
    "mean": [((X,), {"axis": a, "keepdims": k}) for a in (None, 0, -1) for k in (False, True)]
    + [((ROW,), {})],
    "softmax": [((x,), {"axis": a}) for x in (X, CUBE, EXTREME) for a in (0, 1, -1)],
    "log_softmax": [((x,), {"axis": a}) for x in (X, CUBE, EXTREME) for a in (0, 1, -1)],
    "logsumexp": [((x,), {"axis": a}) for x in (X, CUBE, EXTREME) for a in (0, 1, -1, None, (0, 1))]
    + [((X,), {"axis": 1, "keepdims": True})],
    "sum_to": [((X, s), {}) for s in ((7, 5), (5,), (1, 5), (7, 1), ())]
    + [((CUBE, (3, 1)), {}), ((ROW, ()), {})],
    "concat": [(([X, X],), {"axis": a}) for a in (0, 1)],
    "one_hot": [((LABELS, 4, np.float64), {})],
    "pick": [((CUBE, LABELS), {})],
    "mesh": [(((3,),), {}), (((2, 1, 4),), {})],
}
CHANGES: dict[str, list[tuple[tuple[int, int], ...]]] = {
    "fused_update": [((k, m), (7, k), (7, m)) for k, m in ((5, 4), (128, 64))],
    "scaled_update": [((5, 4), (5, 4))],
}


@pytest.mark.parametrize("name", sorted(PIECES.keys() - CHANGES))
def test_the_pieces_give_the_same_bits(name: str) -> None:
    for arguments, options in CALLS[name]:
        with np.errstate(all="ignore"):
            whole = getattr(host, name)(*arguments, **options)
            pieces = getattr(Eager(), name)(*arguments, **options)
        assert type(whole) is type(pieces)
        for a, b in zip(whole, pieces, strict=True) if name == "mesh" else [(whole, pieces)]:
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize("scale", [0.3, 1.0])
@pytest.mark.parametrize("name", CHANGES)
def test_the_pieces_change_to_the_same_bits(name: str, scale: float) -> None:
    for shapes in CHANGES[name]:
        whole, *others = (CHANCE.standard_normal(shape).astype(np.float32) for shape in shapes)
        pieces = whole.copy()
        carry_out(getattr(host, name)(whole, *others, scale))
        carry_out(getattr(Eager(), name)(pieces, *others, scale))
        np.testing.assert_array_equal(whole, pieces, strict=True)
