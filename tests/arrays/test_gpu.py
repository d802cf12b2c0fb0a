"""The formulas of `arrays.gpu` without a device: numpy plays cupy, with the names that the stub has."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.arrays.device import Fake, device_over
from wengert.arrays import HOST, Namespace, all_quiet
from wengert.arrays.changes import carry_out


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fake]:
    """A stand-in for cupy that has what the stub has and nothing else."""
    with device_over(tmp_path_factory.mktemp("kernels")) as made:
        yield made


@pytest.fixture(scope="module")
def gpu(fake: Fake) -> Namespace:
    """The module over it."""
    space: Any = importlib.import_module("wengert.arrays.gpu")

    class OnDevice:
        """Its functions, for arrays of numpy."""

        def __getattr__(self, name: str) -> Any:
            found = getattr(space, name)

            def call(*given: Any, **options: Any) -> Any:
                made = found(*mapped(fake.on, np.ndarray, given), **options)
                return mapped(fake.read, fake.array, made)

            return call

        def __dir__(self) -> list[str]:
            return dir(space)

    made: Any = OnDevice()
    return made  # type: ignore[no-any-return] # stands for the module


def mapped(function: Any, cls: type, x: Any) -> Any:
    """`function` of all of a class in tuples and lists."""
    if isinstance(x, tuple | list):
        return type(x)(mapped(function, cls, y) for y in x)
    return function(x) if isinstance(x, cls) else x


X = np.random.default_rng(0).uniform(0.5, 2.0, (3, 4)).astype(np.float32)
ROWS = np.array([0, 2, 2])
IMAGES = np.linspace(-1.0, 1.0, 2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
CALLS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(["abs", "sign", "sqrt", "square", "exp", "log", "log1p", "expm1"], (X,)),
    **dict.fromkeys(["sin", "cos", "tanh", "erf", "sigmoid", "relu", "zeros_like"], (X,)),
    **dict.fromkeys(["pow", "divide", "maximum", "minimum"], (X, X[::-1])),
    **dict.fromkeys(["greater", "greater_equal", "less", "less_equal"], (X, X[::-1])),
    **dict.fromkeys(["equal", "not_equal", "logical_and", "logical_or"], (X > 1, X < 1.5)),
    **dict.fromkeys(["tan", "atan", "sinh", "cosh", "asinh", "log2", "log10", "exp2"], (X,)),
    **dict.fromkeys(["asin", "acos", "atanh"], (X / 3.0,)),
    "acosh": (X + 1.0,),
    **dict.fromkeys(["floor", "ceil", "round", "trunc"], (X,)),
    **dict.fromkeys(["atan2", "hypot", "logaddexp", "copysign", "remainder", "floor_divide"], (X, X[::-1])),
    **dict.fromkeys(["all", "any"], (X > 1, 0)),
    "logical_not": (X > 1,),
    "where": (X > 1, X, 0.0),
    "sum_to": (X, (1, 4)),
    "nonzero_safe": (X - X[0], (X - X[0]) * X),
    "matmul": (X, X.T),
    "einsum": ("ij,kj->ki", X, X),
    "flip": (X,),
    "argmax": (X, 1),
    "top_k": (X, 2, 1),
    "argsort": (X, 1),
    "nonzero": (np.eye(3, 4, dtype=np.float32), 3, 1, 2),
    **dict.fromkeys(["inv", "det", "det_sign", "logabsdet", "eigh"], (X[:, :3] + X[:, :3].T,)),
    **dict.fromkeys(["pinv", "svd", "qr"], (X,)),
    "cholesky": (X @ X.T + np.eye(3, dtype=np.float32),),
    "solve": (X[:, :3] + np.eye(3, dtype=np.float32), X),
    "searchsorted": (np.sort(X[0]), X, "right"),
    "roll": (X, 1),
    "swap_last": (X,),
    **dict.fromkeys(["sum", "prod", "mean", "max", "min", "cumsum", "cumprod"], (X, 0)),
    **dict.fromkeys(["softmax", "log_softmax", "logsumexp", "expand_dims"], (X, 0)),
    "fourier": (X[:2], True),
    "reshape": (X, (2, 6)),
    "permute_dims": (X, (1, 0)),
    "squeeze": (X[:1], 0),
    "broadcast_to": (X, (2, 3, 4)),
    "concat": ([X, X], 1),
    "stack": ([X, X], 1),
    "take": (X, [0, -1], 0),
    "take_along_axis": (X, np.argmax(X, 1)[:, None], 1),
    "getitem": (X, (ROWS, 1)),
    "zeros": ((2, 3), np.float32),
    "ones": ((2, 3), np.float32),
    "full": ((2, 3), 0.5, np.float32),
    "astype": (X, np.float64),
    "pad": (X, ((0, 1), (2, 0)), 0.5),
    "windows": (X.reshape(1, 1, 3, 4), (2, 2), (1, 2), (2, 1)),
    "unwindows": (np.ones((1, 1, 4, 1, 2), np.float32), (1, 1, 3, 4), (2, 2), (1, 2), (2, 1)),
    "convolve": (IMAGES, IMAGES[:, :, :2, :2], (1, 2), (1, 0), (2, 1)),
    "convolve_kernel": (IMAGES, IMAGES[:, :, :, :2], (2, 2), (1, 2), (1, 1), (2, 3)),
    "add_at": ((3, 4), np.float32, ROWS, X),
    "segment_max": (X, ROWS, 3),
    "one_hot": (np.array([[0, 3], [1, 0]]), 4, np.float32),
    "labels": (ROWS, 3),
    "pick": (X, ROWS % 4),
    "item": (X[0, 0], X.dtype),
    "dropout_mask": ((3, 4), np.float32, 0.5, [1, 2]),
    "dropout_masks": ((3, 4), np.float32, 0.5, [[1, 2], [3, 4]]),
    "freeze": (X,),
    "as_readonly": (X,),
    "to_host": (X,),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_over_numpy(gpu: Namespace, name: str) -> None:
    wanted, got = (getattr(space, name)(*CALLS[name]) for space in (HOST, gpu))
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    assert_allclose(got, wanted, rtol=1e-6)


def test_a_kernel_that_is_one_matrix(gpu: Namespace) -> None:
    places = (2, 1), (0, 1), (1, 2)
    kernel = np.ones((2, 3, 2, 2), np.float32)
    g = HOST.convolve(IMAGES, kernel, *places)
    assert_allclose(gpu.convolve(IMAGES, kernel, *places), g, rtol=1e-5)
    wanted, got = (space.convolve_kernel(IMAGES, g, (2, 2), *places) for space in (HOST, gpu))
    assert_allclose(got, wanted, rtol=1e-5)


def test_the_rest(gpu: Namespace, fake: Fake) -> None:
    assert gpu.two_norm(X) == pytest.approx(HOST.two_norm(X), rel=1e-6)
    assert gpu.all_finite(X)
    assert not gpu.all_finite(np.array([np.nan]))
    assert_array_equal(gpu.sum_to(X, (3, 4)), X)
    for space, on in ((importlib.import_module("wengert.arrays.gpu"), fake.on), (HOST, np.array)):
        w = on(np.ones((4, 4), np.float32))
        carry_out(space.fused_update(w, on(X), on(X), 0.5))
        assert_allclose(fake.read(w), 1 - 0.5 * X.T @ X, rtol=1e-5)
        w = on(np.ones((3, 4), np.float32))
        carry_out(space.subtract_at(w, ROWS, on(X)))
        expected = np.stack([1 - X[0], X[0] - X[0] + 1, 1 - X[1] - X[2]])
        assert_allclose(fake.read(w), expected, rtol=1e-6)
    for space in (gpu, HOST):
        with pytest.raises(IndexError, match="labels are 0 to 2"):
            space.one_hot(np.array([-1]), 3, np.float32)
    with pytest.raises(IndexError, match="labels are 0 to 2"):
        gpu.one_hot(np.array([3]), 3, np.float32)
    with all_quiet():
        assert_array_equal(gpu.softmax(X[:, :0]), X[:, :0])
        assert_array_equal(gpu.log_softmax(X[:, :0]), X[:, :0])
    with all_quiet():
        assert gpu.logsumexp(X[:0]) == -np.inf
        assert gpu.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
    assert not np.shares_memory(gpu.freeze(X), X)
    assert_array_equal(gpu.getitem(X, [0, 1]), X[:2])
    assert type(gpu.item(X[0, 0].astype(np.float64), np.dtype(np.float64))) is float
    with pytest.raises(NotImplementedError, match="on the cpu"):
        gpu.sparse_product(None, False, X)
    for space in (gpu, HOST):
        assert_array_equal(X[space.mesh(X.shape)], X)


def test_every_function_is_there_and_compared(gpu: Namespace) -> None:
    wanted = {name for kind in Namespace.__mro__ for name in vars(kind) if not name.startswith("_")}
    assert wanted <= set(vars(HOST))
    assert wanted <= set(dir(gpu))
    alone = {
        "all_finite",
        "two_norm",
        "mesh",
        "fused_update",
        "scaled_update",
        "subtract_at",
        "from_host",
        "sparse_product",
    }
    assert wanted - set(CALLS) == alone


def test_an_array_comes_to_the_device_that_is_asked_for(gpu: Namespace) -> None:
    entered: list[object] = []

    class Device:
        id = 1

        def __enter__(self) -> None:
            entered.append(self)

        def __exit__(self, *failure: object) -> None:
            entered.append("left")

    Device.__module__ = "cupy.cuda"
    device: Any = Device()  # Any: stands for one of cupy's
    assert_array_equal(gpu.from_host(X, device), X)
    assert entered[0] is device
    assert entered.count(device) == entered.count("left")
    assert HOST.from_host(X, "cpu") is X
