"""Places: sorting them by radix is sorting them."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.arrays.places import argsort

SIZES = (0, 1, 255, 256, 5000)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [1, 15, 16, 17, 33, 62])
def test_equal_places_keep_their_order(size: int, bits: int) -> None:
    chance = np.random.default_rng(size + bits)
    for least in (0, -(1 << bits) // 2, 1 << 61):
        x = chance.integers(least, least + (1 << bits), size)
        before = x.copy()
        assert (argsort(x) == np.argsort(x, kind="stable")).all()
        assert (x == before).all()
        assert (argsort(np.sort(x)[::-1]) == np.argsort(np.sort(x)[::-1], kind="stable")).all()
