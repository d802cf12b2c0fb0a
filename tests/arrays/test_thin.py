"""Products of a few rows in slices are products, whatever the layout, and plans make them as the interpreter does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.planned import eager, plain, same, trained
from wengert.arrays import HOST, blas, thin
from wengert.plugins import SGD

SHAPES = [(16, 3072, 64), (1, 16_001, 65), (32, 784, 128), (7, 1031, 140), (3, 200_000, 2)]
TRANSPOSED = [(2, 1280, 512), (16, 3072, 64), (3, 1031, 1400), (5, 70_001, 7)]
ON = pytest.mark.skipif(not thin._SLICED, reason="numpy's BLAS has no products without copies here")


def _drawn(rows: int, lines: int, columns: int, dtype: type) -> tuple[Any, Any]:  # Any: arrays of either type
    chance = np.random.default_rng(rows)
    shapes = (rows, lines), (lines, columns)
    made: list[Any] = [chance.uniform(-1, 1, shape).astype(dtype) for shape in shapes]
    return made[0], made[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_slices_add_up_to_the_product(shape: tuple[int, int, int], dtype: type) -> None:
    a, b = _drawn(*shape, dtype)
    right = a.astype(np.float64) @ b.astype(np.float64)
    out = np.full(right.shape, np.nan, dtype)
    assert thin.dot(a, b, out) is out
    for found in (thin.dot(a, b), out):
        assert found.dtype == dtype
        assert np.abs(found - right).max() <= 20 * np.finfo(dtype).eps * np.sqrt(shape[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(2, 1280, 512), (16, 3072, 64), (3, 1031, 1400), (5, 70_001, 7), (5, 640, 256), (16, 200, 131)]
)
def test_a_transposed_matrix_is_multiplied_where_it_lies(shape: tuple[int, int, int], dtype: type) -> None:
    a, b = _drawn(*shape, dtype)
    b = np.asfortranarray(b)
    right = a.astype(np.float64) @ b.astype(np.float64)
    out = np.full(right.shape, np.nan, dtype)
    assert thin.dot(a, b, out) is out
    for found in (thin.dot(a, b), thin.product(a, b), out):
        assert found.dtype == dtype
        assert np.abs(found - right).max() <= 20 * np.finfo(dtype).eps * np.sqrt(shape[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(64, 128, 640), (700, 5, 128), (16, 1, 4096), (300, 300, 300)])
def test_a_large_product_has_the_bits_of_numpys(shape: tuple[int, int, int], dtype: type) -> None:
    a, b = _drawn(*shape, dtype)
    for left in (a, np.asfortranarray(a)):
        for right in (b, np.asfortranarray(b)):
            out: Any = np.full((shape[0], shape[2]), np.nan, dtype)
            assert thin.product(left, right, out) is out
            assert out.tobytes() == thin.product(left, right).tobytes() == np.dot(left, right).tobytes()


@pytest.mark.parametrize("which", ["transposed", "strided", "mixed", "unaligned", "no BLAS"])
def test_what_does_not_fit_goes_to_numpy(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = _drawn(16, 3072, 64, np.float32)
    match which:
        case "transposed":
            a, b = _drawn(21, 3072, 64, np.float32)
            b = np.asfortranarray(b)
        case "strided":
            a = np.repeat(a, 2, axis=1)[:, ::2]
        case "mixed":
            b = b.astype(np.float64)
        case "unaligned":
            memory = np.zeros(a.nbytes + 1, np.uint8)
            memory[1:] = np.frombuffer(a.tobytes(), np.uint8)
            a = memory[1:].view(np.float32).reshape(a.shape)
        case _:
            monkeypatch.setattr(blas, "gemm_of", lambda dtype: None)
    np.testing.assert_array_equal(thin.dot(a, b), np.dot(a, b), strict=True)


@ON
def test_few_rows_of_much_are_thin() -> None:
    assert thin.is_thin((16, 3072), (3072, 64))
    assert not thin.is_thin((33, 3072), (3072, 64))  # enough rows to pay for the copies
    assert not thin.is_thin((16, 64), (64, 64))  # BLAS makes no copies by itself
    assert not thin.is_thin((16, 64), (64, 4096))  # slices would have too few lines


@ON
def test_a_few_columns_of_a_transposed_matrix_are_thin_where_all_would_be_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert thin.is_thin((5, 640), (640, 256))
    assert not thin.is_thin((4, 640), (640, 256))  # a result of so few elements needs no copies
    assert not thin.is_thin((21, 640), (640, 64))
    assert not thin.is_thin((16, 64), (64, 3072))  # of so few lines copies are cheap
    asked: list[int] = []
    monkeypatch.setattr(blas, "gemm_of", lambda dtype: lambda *args: asked.append(args[4]))
    a, b = _drawn(5, 640, 256, np.float32)
    thin.dot(a, np.asfortranarray(b))
    assert asked == [128, 128]
    np.testing.assert_array_equal(
        thin.dot(a, b), np.dot(a, b), strict=True
    )  # which lies as numpy's BLAS likes it


def test_processors_without_such_functions_have_no_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thin, "_SLICED", False)
    assert not thin.is_thin((16, 3072), (3072, 64))
    a, b = _drawn(16, 3072, 64, np.float32)
    np.testing.assert_array_equal(HOST.matmul(a, b), np.dot(a, b), strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_plan_gives_the_bits_of_the_interpreter(dtype: type) -> None:
    a, b = _drawn(16, 3072, 64, dtype)

    def network() -> Any:  # Any: as in `planned`
        w = SGD(learning_rate=0.01).array_weight(b * 0.1)

        def loss(i: int) -> Any:
            return wg.mean(wg.square(wg.relu(wg.matmul(a * (i + 1), w))))

        return [w], loss

    executor, plans = eager()
    same(trained(network, plain()), trained(network, executor))
    assert plans.made == 1
