"""A convolution by blocks is the sum that its definition says, however large a block may be."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from wengert.arrays import convolution
from wengert.arrays.axes import taps

Pair = tuple[int, int]
Array = Any  # of numpy

# images, kernels, stride, padding, dilation: by rows and as a whole, with rests of images and of rows
CASES = {
    "by rows": ((5, 3, 19, 7), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1)),
    "by rows, apart": ((3, 4, 11, 9), (2, 4, 3, 2), (1, 2), (2, 0), (3, 2)),
    "a row": ((2, 1, 17, 5), (8, 1, 1, 3), (1, 1), (0, 1), (1, 1)),
    "as a whole": ((4, 1, 18, 6), (7, 1, 3, 3), (1, 1), (1, 1), (1, 1)),
    "as a whole, strides": ((3, 2, 40, 12), (3, 2, 4, 3), (2, 3), (1, 2), (2, 1)),
    "no images": ((0, 2, 4, 4), (3, 2, 3, 3), (1, 1), (1, 1), (1, 1)),
    "no channels": ((2, 0, 4, 4), (3, 0, 3, 3), (1, 1), (1, 1), (1, 1)),
}


def seen(x: Array, size: Pair, stride: Pair, padding: Pair, dilation: Pair) -> list[Array]:
    """What all windows see at each place."""
    whole = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    return [whole[key] for key in taps(whole.shape[2:], size, stride, dilation)]


@pytest.mark.parametrize("block", [0, 4000, 1 << 20])
@pytest.mark.parametrize("name", CASES)
def test_blocks_of_any_size_give_the_sums(name: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convolution, "_BLOCK", block)
    images, kernels, *places = CASES[name]
    chance = np.random.default_rng(0)
    x, kernel = chance.standard_normal(images), chance.standard_normal(kernels)
    size = kernels[2:]
    found = convolution.convolve(x, kernel, *places)
    at, met = [*product(*map(range, size))], seen(x, size, *places)
    wanted = sum(
        np.einsum("bchw,oc->bohw", part, kernel[:, :, u, v]) for part, (u, v) in zip(met, at, strict=True)
    )
    assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    g = chance.standard_normal(found.shape)
    delta = convolution.convolve_kernel(x, g, size, *places)
    assert delta.shape == kernel.shape
    for part, (u, v) in zip(met, at, strict=True):
        assert_allclose(delta[:, :, u, v], np.einsum("bchw,bohw->oc", part, g), rtol=1e-12, atol=1e-12)


def test_images_that_lie_otherwise_in_memory_give_the_same() -> None:
    x = np.random.default_rng(0).standard_normal((6, 5, 4, 3)).astype(np.float32)
    kernel, places = np.ones((2, 4, 3, 2), np.float32), ((1, 1), (0, 0), (1, 1))
    turned = x.transpose(3, 2, 1, 0)[:, :, ::-1]
    assert_array_equal(
        convolution.convolve(turned, kernel, *places), convolution.convolve(turned.copy(), kernel, *places)
    )
