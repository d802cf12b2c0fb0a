"""Misuse of every operation: one error that names it, what it got, and the user's line (D23, D33)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from scipy.sparse import csr_array

import wengert as wg
from wengert.arrays import FLOAT64
from wengert.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from wengert.graph.kinds import Column, kind
from wengert.graph.operation import OPERATIONS

from .subjects import SUBJECTS
from .test_gradients import weight_of

A = weight_of(np.ones((2, 3)))
B = weight_of(np.ones((2, 4)))
SINGLE = weight_of(np.ones((2, 3), np.float32))
IMAGE = weight_of(np.ones((2, 3, 8, 8)))
INDEX: Any = np.array([0, 1])  # Any: misused on purpose, which a checker would refuse
MASK = wg.greater(A, 0.0)
SPARSE: Any = csr_array(np.eye(3))  # Any: SciPy ships no types
PAIRS = [
    "add", "subtract", "multiply", "divide", "pow", "maximum", "minimum",
    "greater", "greater_equal", "less", "less_equal", "equal", "not_equal",
    "atan2", "copysign", "floor_divide", "hypot", "logaddexp", "remainder",
]  # fmt: skip
UNARY = [
    "abs", "exp", "log", "negative", "relu", "sigmoid", "sign", "sqrt", "square", "stop_gradient", "tanh",
    "mean", "max", "min", "cos", "erf", "expm1", "gelu", "log1p", "logsumexp", "prod", "silu", "sin",
    "softplus", "std", "var", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cosh", "exp2", "floor",
    "isfinite", "isinf", "isnan", "log10", "log2", "positive", "reciprocal", "round", "signbit", "sinh", "tan",
    "trunc", "celu", "elu", "hardswish", "leaky_relu", "log_sigmoid", "mish", "selu", "softsign",
]  # fmt: skip
REDUCTIONS = [
    "sum", "mean", "max", "min", "softmax", "log_softmax", "cumulative_sum", "logsumexp", "prod", "std", "var",
    "cumulative_prod", "sort", "argsort", "count_nonzero",
]  # fmt: skip

MADE = {
    "zeros",
    "ones",
    "full",
    "full_like",
    "fftfreq",
    "rfftfreq",
    "eye",
    "arange",
    "astype",  # it is the wanted element type that does not fit
    "linspace",
}  # of sizes and numbers, no operands

Case = tuple[Callable[[], Any], type[Exception], tuple[str, ...]]  # Any: an expression, had it been made


def of_two_shapes(name: str) -> Case:
    return lambda: getattr(wg, name)(A, B), ShapeError, ("(2, 3)", "(2, 4)", "3 and 4 differ")


def of_an_axis(name: str) -> Case:
    return lambda: getattr(wg, name)(A, axis=2), ShapeError, ("(2, 3)", "axis 2")


def of_two_dtypes(name: str) -> Case:
    return lambda: getattr(wg, name)(A, SINGLE), DTypeError, ("float64 and float32", "astype")


def of_integers(name: str) -> Case:
    return lambda: getattr(wg, name)(INDEX), DTypeError, ("int64",)


def of_a_vector(name: str) -> Case:
    return lambda: getattr(wg, name)(A[0]), ShapeError, ("(3,)", "expected a matrix")


def of_two_sides(name: str) -> Case:
    return lambda: getattr(wg.linalg, name)(A), ShapeError, ("(2, 3)", "expected square matrices")


def of_no_matrix(name: str) -> Case:
    return lambda: getattr(wg.linalg, name)(A[0]), ShapeError, ("(3,)", "expected a matrix")


def of_segments(name: str) -> Case:
    return lambda: getattr(wg, name)(A, np.zeros(3, int), num_segments=2), ShapeError, ("(3,)", "one id")


LOSSES = [
    "mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "kl_div", "hinge_loss", "hinge_embedding_loss", "softmax_cross_entropy",
]  # fmt: skip


def of_a_loss(name: str) -> Case:
    return lambda: getattr(wg, name)(A, B), ShapeError, ("(2, 3)", "(2, 4)", "compares element by element")


def of_labels(name: str) -> Case:
    return (
        lambda: getattr(wg, name)(A, INDEX[:1], axis=1),
        ShapeError,
        ("(2, 3)", "labels of shape (2,)", "(1,)"),
    )


def of_no_image(name: str) -> Case:
    return lambda: getattr(wg, name)(A, 1), ShapeError, ("(2, 3)", "is not (batch, channels, ")


def of_halves(name: str) -> Case:
    return lambda: getattr(wg, name)(2, dtype=np.float16), DTypeError, ("numpy.float32", "float16")


SHAPES: dict[str, Case] = {
    "avg_pool2d": (lambda: wg.avg_pool2d(IMAGE, 9), ShapeError, ("(2, 3, 8, 8)", "axis 2", "window of 9")),
    "conv2d": (
        lambda: wg.conv2d(IMAGE, weight_of(np.ones((5, 4, 3, 3)))),
        ShapeError,
        ("(2, 3, 8, 8)", "(5, 4, 3, 3)", "input has 3 channels, kernel expects 4"),
    ),
    "max_pool2d": (lambda: wg.max_pool2d(A, 2), ShapeError, ("(2, 3)", "(batch, channels, height, width)")),
    "pad": (lambda: wg.pad(A, ((1, 1),)), ShapeError, ("(2, 3)", "2 axes", "((1, 1),)")),
    **{name: of_two_shapes(name) for name in PAIRS},
    "where": (lambda: wg.where(MASK, A, B), ShapeError, ("(2, 3)", "(2, 4)")),
    "logical_and": (lambda: wg.logical_and(MASK, wg.greater(B, 0.0)), ShapeError, ("(2, 3)", "(2, 4)")),
    "logical_xor": (lambda: wg.logical_xor(MASK, wg.greater(B, 0.0)), ShapeError, ("(2, 3)", "(2, 4)")),
    "all": (lambda: wg.all(MASK, axis=2), ShapeError, ("(2, 3)", "axis 2")),
    "any": (lambda: wg.any(MASK, axis=2), ShapeError, ("(2, 3)", "axis 2")),
    "logical_or": (lambda: wg.logical_or(MASK, wg.greater(B, 0.0)), ShapeError, ("(2, 3)", "(2, 4)")),
    "matmul": (lambda: wg.matmul(A, B), ShapeError, ("(2, 3)", "(2, 4)", "inner dimensions 3 and 2 differ")),
    "concat": (lambda: wg.concat([A, B]), ShapeError, ("(2, 3)", "(2, 4)", "axis 1")),
    "stack": (lambda: wg.stack([A, B]), ShapeError, ("(2, 3)", "(2, 4)")),
    "cross_entropy": (lambda: wg.cross_entropy(A, np.zeros(5, int)), ShapeError, ("(2, 3)", "(5,)")),
    **{name: of_a_loss(name) for name in LOSSES},
    "nll_loss": of_labels("nll_loss"),
    "cosine_similarity": (lambda: wg.cosine_similarity(A, A, axis=2), ShapeError, ("(2, 3)", "axis 2")),
    "cosine_embedding_loss": (
        lambda: wg.cosine_embedding_loss(A, A, A),
        ShapeError,
        ("(2, 3)", "targets of shape (2,), one a pair"),
    ),
    "triplet_margin_loss": (
        lambda: wg.triplet_margin_loss(A, A, B),
        ShapeError,
        ("(2, 3)", "(2, 4)", "differ"),
    ),
    "ctc_loss": (
        lambda: wg.ctc_loss(A, INDEX, INDEX, INDEX),
        ShapeError,
        ("(2, 3)", "(time, batch, classes)"),
    ),
    "glu": (lambda: wg.glu(A), ShapeError, ("(2, 3)", "axis 1", "2 equal parts")),
    "prelu": (
        lambda: wg.prelu(A, A[0, :2]),
        ShapeError,
        ("(2, 3)", "one slope, or one for each channel", "(2,)"),
    ),
    "conv1d": (lambda: wg.conv1d(A, A), ShapeError, ("(2, 3)", "(batch, channels, n)")),
    "conv3d": (lambda: wg.conv3d(A, A), ShapeError, ("(2, 3)", "(batch, channels, depth, height, width)")),
    "conv_transpose1d": (
        lambda: wg.conv_transpose1d(IMAGE[0], IMAGE[0, :2]),
        ShapeError,
        ("(3, 8, 8)", "(2, 8, 8)", "input has 8 channels, kernel expects 2"),
    ),
    "conv_transpose2d": (
        lambda: wg.conv_transpose2d(IMAGE, weight_of(np.ones((3, 1, 2, 2))), output_padding=1),
        ShapeError,
        ("output_padding (1, 1) is not less than stride (1, 1)",),
    ),
    "conv_transpose3d": (
        lambda: wg.conv_transpose3d(A, A),
        ShapeError,
        ("(2, 3)", "(batch, channels, depth, height, width)"),
    ),
    "interpolate": (lambda: wg.interpolate(A, 4), ShapeError, ("(2, 3)", "(batch, channels, n, ...)")),
    "pixel_shuffle": (
        lambda: wg.pixel_shuffle(IMAGE, 2),
        ShapeError,
        ("3 channels", "no multiple of 2 squared"),
    ),
    "pixel_unshuffle": (
        lambda: wg.pixel_unshuffle(IMAGE, 3),
        ShapeError,
        ("(2, 3, 8, 8)", "no multiples of 3"),
    ),
    **{
        name: of_no_image(name)
        for name in ("adaptive_avg_pool2d", "adaptive_max_pool2d", "max_pool1d", "avg_pool1d")
    },
    "reshape": (lambda: wg.reshape(A, (4, 2)), ShapeError, ("(2, 3)", "(4, 2)", "6 elements", "8 elements")),
    "broadcast_to": (lambda: wg.broadcast_to(A, (2, 4)), ShapeError, ("(2, 3)", "(2, 4)")),
    "permute_dims": (lambda: wg.permute_dims(A, (0, 0)), ShapeError, ("(2, 3)", "(0, 0)")),
    "expand_dims": (lambda: wg.expand_dims(A, axis=5), ShapeError, ("(2, 3)", "axis 5")),
    "squeeze": (lambda: wg.squeeze(A, axis=0), ShapeError, ("(2, 3)", "axis 0", "size 2")),
    "getitem": (lambda: wg.getitem(A, (0, 7)), ShapeError, ("(2, 3)", "7")),
    "take": (lambda: wg.take(A, INDEX, axis=2), ShapeError, ("(2, 3)", "axis 2")),
    "argmax": (lambda: wg.argmax(A[:, :0], axis=1), ShapeError, ("(2, 0)", "axis 1", "no element")),
    "top_k": (lambda: wg.top_k(A, 4), ShapeError, ("(2, 3)", "4 greatest", "only 3")),
    **{name: of_segments(name) for name in ("segment_max", "segment_min", "segment_mean", "segment_softmax")},
    "index_add": (lambda: wg.index_add(A, INDEX, B), ShapeError, ("slices of shape (2, 3)", "(2, 4)")),
    "scatter_add": (lambda: wg.scatter_add(A, INDEX, A), ShapeError, ("(2,)", "(2, 3)")),
    "sparse_matmul": (lambda: wg.sparse_matmul(SPARSE, A), ShapeError, ("(3, 3)", "(2, 3)")),
    "segment_sum": (
        lambda: wg.segment_sum(A, np.zeros(3, int), num_segments=2),
        ShapeError,
        ("(2, 3)", "(3,)", "one id for each slice"),
    ),
    "take_along_axis": (lambda: wg.take_along_axis(A, INDEX), ShapeError, ("(2, 3)", "1 axes")),
    "einsum": (lambda: wg.einsum("ij,kj", A, B), ShapeError, ('index "j" is both 3 and 4',)),
    "tensordot": (lambda: wg.tensordot(A, B), ShapeError, ("axis 1", "(2, 3)", "(2, 4)", "3 and 4 differ")),
    "split": (lambda: wg.split(A, 2, axis=1), ShapeError, ("(2, 3)", "axis 1", "2 equal parts")),
    "flip": (lambda: wg.flip(A, axis=2), ShapeError, ("(2, 3)", "axis 2")),
    "roll": (lambda: wg.roll(A, 1, axis=2), ShapeError, ("(2, 3)", "axis 2")),
    "clip": (
        lambda: wg.clip(A, 0.0, B),
        ShapeError,
        ("(2, 3)", "(2, 4)", "3 and 4 differ", "operand 2: weight"),
    ),
    **{name: of_an_axis(name) for name in REDUCTIONS},
    "diff": (lambda: wg.diff(A, axis=2), ShapeError, ("(2, 3)", "axis 2")),
    "argmin": (lambda: wg.argmin(A[:, :0], axis=1), ShapeError, ("(2, 0)", "axis 1", "no element")),
    "nonzero": (lambda: wg.nonzero(A, size=7), ShapeError, ("(2, 3)", "size is 7", "6 elements")),
    "searchsorted": (lambda: wg.searchsorted(A, A), ShapeError, ("(2, 3)", "expected a vector")),
    "moveaxis": (lambda: wg.moveaxis(A, (0, 1), 0), ShapeError, ("2 axes", "1 places")),
    "repeat": (lambda: wg.repeat(A, 2, axis=2), ShapeError, ("(2, 3)", "axis 2")),
    "broadcast_arrays": (lambda: wg.broadcast_arrays(A, B), ShapeError, ("(2, 3)", "(2, 4)")),
    "meshgrid": (lambda: wg.meshgrid(A), ShapeError, ("(2, 3)", "expected a vector")),
    "unstack": (lambda: wg.unstack(A, axis=2), ShapeError, ("(2, 3)", "axis 2")),
    **{name: of_a_vector(name) for name in ("matrix_transpose", "tril", "triu", "diagonal", "trace")},
    **{name: of_two_sides(name) for name in ("inv", "det", "slogdet", "cholesky", "eigh", "eigvalsh")},
    "matrix_power": (
        lambda: wg.linalg.matrix_power(A, 2),
        ShapeError,
        ("(2, 3)", "expected square matrices"),
    ),
    **{name: of_no_matrix(name) for name in ("pinv", "qr", "svd", "svdvals", "matrix_norm", "matrix_rank")},
    "solve": (
        lambda: wg.linalg.solve(A[:, :2], A[0]),
        ShapeError,
        ("2 unknowns and 3 rows", "(2, 2)", "(3,)"),
    ),
    "outer": (lambda: wg.linalg.outer(A, B), ShapeError, ("(2, 3)", "expected a vector")),
    "vecdot": (lambda: wg.linalg.vecdot(A, B), ShapeError, ("sizes 3 and 4 of axis -1 differ",)),
    "cross": (lambda: wg.linalg.cross(B, B), ShapeError, ("(2, 4)", "size 3")),
    "kron": (lambda: wg.linalg.kron(A, A[0]), ShapeError, ("(2, 3)", "(3,)", "rank")),
    "vector_norm": (lambda: wg.linalg.vector_norm(A, axis=2), ShapeError, ("(2, 3)", "axis 2")),
    "tile": (lambda: wg.tile(A, -1), ArgumentError, ("0 or more", "(-1,)")),
    "zeros": (lambda: wg.zeros((2, -1)), ArgumentError, ("0 or more", "(2, -1)")),
    "ones": (lambda: wg.ones((2, -1)), ArgumentError, ("0 or more", "(2, -1)")),
    "full": (lambda: wg.full((2, -1), 1.0), ArgumentError, ("0 or more", "(2, -1)")),
    "eye": (lambda: wg.eye(-1), ArgumentError, ("0 or more", "-1")),
    "arange": (lambda: wg.arange(1.0, 2.0, 0.0), ArgumentError, ("step is 0",)),
    "linspace": (lambda: wg.linspace(0.0, 1.0, -1), ArgumentError, ("0 or more", "-1")),
    "full_like": (lambda: wg.full_like(A, cast(Any, "x")), ArgumentError, ("finite number", "'x'")),
    "one_hot": (lambda: wg.one_hot(INDEX, -1), ArgumentError, ("0 or more", "-1")),
}
SHAPES |= {
    **{
        name: (lambda name=name: getattr(wg.fft, name)(A, axis=2), ShapeError, ("(2, 3)", "axis 2"))  # type: ignore[misc] # the default binds the name
        for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
    },
    **{
        name: (lambda name=name: getattr(wg.fft, name)(A, axes=(0, 2)), ShapeError, ("(2, 3)", "axis 2"))  # type: ignore[misc] # as above
        for name in ("fftn", "fftshift", "ifftn", "ifftshift", "irfftn", "rfftn")
    },
    **{
        name: (lambda name=name: getattr(wg.fft, name)(0), ArgumentError, ("at least one element", "got 0"))  # type: ignore[misc] # as above
        for name in ("fftfreq", "rfftfreq")
    },
}
DTYPES: dict[str, Case] = {
    "avg_pool2d": (lambda: wg.avg_pool2d(INDEX, 2), DTypeError, ("int64",)),
    "conv2d": (lambda: wg.conv2d(A, SINGLE), DTypeError, ("float64 and float32",)),
    "max_pool2d": (lambda: wg.max_pool2d(INDEX, 2), DTypeError, ("int64",)),
    "pad": (lambda: wg.pad(INDEX, ((1, 1),)), DTypeError, ("int64",)),
    **{name: of_two_dtypes(name) for name in (*PAIRS, "matmul")},
    **{name: of_integers(name) for name in (*UNARY, "sum", "softmax", "log_softmax", "cumulative_sum")},
    "astype": (lambda: wg.astype(A, INDEX.dtype), DTypeError, ("int64 is not differentiable",)),
    "clip": (lambda: wg.clip(A, SINGLE), DTypeError, ("float64 and float32", "astype")),
    "dropout": (lambda: wg.dropout(INDEX, 0.5, seed=1), DTypeError, ("int64",)),
    "to_device": (lambda: wg.to_device(INDEX, "cpu"), DTypeError, ("int64",)),
    "where": (lambda: wg.where(MASK, A, SINGLE), DTypeError, ("float64 and float32", "astype")),
    "concat": (lambda: wg.concat([A, SINGLE]), DTypeError, ("float64 and float32",)),
    "stack": (lambda: wg.stack([A, SINGLE]), DTypeError, ("float64 and float32",)),
    "logical_and": (lambda: wg.logical_and(MASK, A), DTypeError, ("mask", "float64")),
    "logical_or": (lambda: wg.logical_or(A, MASK), DTypeError, ("mask", "float64")),
    "logical_xor": (lambda: wg.logical_xor(MASK, A), DTypeError, ("mask", "float64")),
    "all": (lambda: wg.all(cast(Any, A)), DTypeError, ("mask", "float64")),
    "any": (lambda: wg.any(cast(Any, A)), DTypeError, ("mask", "float64")),
    "logical_not": (lambda: wg.logical_not(A), DTypeError, ("mask", "float64")),
    "cross_entropy": (lambda: wg.cross_entropy(A, INDEX * 1.0), DTypeError, ("integers", "float64")),
    "getitem": (lambda: wg.getitem(A, INDEX * 1.0), DTypeError, ("integers", "float64")),
    "take": (lambda: wg.take(A, INDEX * 1.0), DTypeError, ("integers", "float64")),
    "segment_sum": (
        lambda: wg.segment_sum(A, INDEX * 1.0, num_segments=2),
        DTypeError,
        ("integers", "float64"),
    ),
    **{
        name: of_integers(name)
        for name in (
            "argmin",
            "argsort",
            "sort",
            "count_nonzero",
            "zeros_like",
            "ones_like",
        )
    },
    **{name: of_halves(name) for name in ("zeros", "ones", "eye", "arange")},
    "repeat": (lambda: wg.repeat(INDEX, 2), DTypeError, ("int64",)),
    "full_like": (lambda: wg.full_like(INDEX, 1.0), DTypeError, ("int64",)),
    "one_hot": (lambda: wg.one_hot(INDEX * 1.0, 2), DTypeError, ("integers", "float64")),
    "nonzero": (lambda: wg.nonzero(INDEX, size=1), DTypeError, ("int64",)),
    "searchsorted": (lambda: wg.searchsorted(A[0], SINGLE), DTypeError, ("float64 and float32",)),
    "argmax": (lambda: wg.argmax(cast(Any, MASK)), DTypeError, ("mask",)),
    "top_k": (
        lambda: wg.top_k(cast(Any, wg.argmax(A)), 1),
        DTypeError,
        ("int64", "write astype(x"),
    ),
    "take_along_axis": (
        lambda: wg.take_along_axis(A, INDEX * 1.0),
        DTypeError,
        ("integers", "float64"),
    ),
    "einsum": (lambda: wg.einsum("ij,ij", A, SINGLE), DTypeError, ("float64 and float32",)),
    "tensordot": (lambda: wg.tensordot(A, SINGLE), DTypeError, ("float64 and float32",)),
    "split": (lambda: wg.split(INDEX, 2), DTypeError, ("int64",)),
    "flip": (lambda: wg.flip(INDEX), DTypeError, ("int64",)),
    "roll": (lambda: wg.roll(INDEX, 1), DTypeError, ("int64",)),
    "reshape": (lambda: wg.reshape(INDEX, (1, 2)), DTypeError, ("int64",)),
    "broadcast_to": (lambda: wg.broadcast_to(INDEX, (2, 2)), DTypeError, ("int64",)),
    "permute_dims": (lambda: wg.permute_dims(INDEX, (0,)), DTypeError, ("int64",)),
    "expand_dims": (lambda: wg.expand_dims(INDEX, axis=0), DTypeError, ("int64",)),
    "squeeze": (lambda: wg.squeeze(INDEX, axis=0), DTypeError, ("int64",)),
}


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (
            lambda: wg.mse_loss(A, A, reduction=cast(Any, "avg")),
            ArgumentError,
            "mse_loss: reduction is 'mean', 'sum' or 'none'.*'avg'",
        ),
        (
            lambda: wg.mse_loss(A[:0], A[:0]),
            ShapeError,
            "mse_loss: the mean of no element: the batch is empty",
        ),
        (
            lambda: wg.cross_entropy(A[:0], INDEX[:0]),
            ShapeError,
            "cross_entropy: the mean of no line: the batch is empty",
        ),
        (lambda: wg.cross_entropy(A, INDEX, ignore_index=-1), None, ""),
        (
            lambda: wg.cross_entropy(A, INDEX * 0 - 1, ignore_index=-1),
            ShapeError,
            "cross_entropy: the mean of no line: all 2 labels are -1",
        ),
        (lambda: wg.conv2d(IMAGE, IMAGE, groups=0), ArgumentError, "conv2d: groups is a positive int; got 0"),
        (
            lambda: wg.conv2d(IMAGE, weight_of(np.ones((4, 1, 1, 1))), groups=3),
            ShapeError,
            "conv2d: 3 groups do not divide the 4 output channels",
        ),
        (
            lambda: wg.conv1d(IMAGE[0], IMAGE[0], stride=cast(Any, "x")),
            ArgumentError,
            "conv1d: stride is an int; got 'x'",
        ),
        (
            lambda: wg.interpolate(IMAGE, 4, mode=cast(Any, "cubic")),
            ArgumentError,
            "interpolate: mode is one of 'nearest'.* got 'cubic'",
        ),
        (
            lambda: wg.interpolate(IMAGE, 4, mode="linear"),
            ArgumentError,
            "for 1 axes behind .* write 'bilinear'",
        ),
        (
            lambda: wg.interpolate(IMAGE, 0),
            ShapeError,
            r"interpolate: size \(0, 0\): each has to be at least 1",
        ),
        (
            lambda: wg.pixel_shuffle(IMAGE, cast(Any, (1, 2))),
            ArgumentError,
            r"pixel_shuffle: factor is an int; got \(1, 2\)",
        ),
        (lambda: wg.nll_loss(A, INDEX + 2), ShapeError, "nll_loss: label 3 is none of the 3 classes"),
        (lambda: wg.fft.fft(A, n=0), ArgumentError, "fft: a transform has at least one element; got 0"),
        (
            lambda: wg.fft.fft(A, norm=cast(Any, "x")),
            ArgumentError,
            "fft: norm is 'backward', 'ortho' or .* got 'x'",
        ),
        (
            lambda: wg.fft.ifft((A, B)),
            ShapeError,
            r"ifft: real parts of shape \(2, 3\) and imaginary ones of \(2, 4\)",
        ),
        (
            lambda: wg.fft.rfft(cast(Any, (A, A))),
            ArgumentError,
            "rfft: a real signal is one array; write fft",
        ),
        (
            lambda: wg.fft.fftn(A, s=(1,), axes=(0, 1)),
            ArgumentError,
            r"fftn: sizes \(1,\) do not go with axes",
        ),
        (lambda: wg.fft.fft(cast(Any, (A, A, A))), ArgumentError, "fft: a complex signal is a pair of real"),
        (
            lambda: wg.cross_entropy(A, INDEX, label_smoothing=2.0),
            ArgumentError,
            "cross_entropy: label_smoothing .* 2.0",
        ),
        (
            lambda: wg.cross_entropy(A, INDEX, weight=B[0]),
            ShapeError,
            "cross_entropy: expected a weight for each of 3",
        ),
        (
            lambda: wg.huber_loss(A, A, delta=0.0),
            ArgumentError,
            "huber_loss: delta is a number greater than 0; got 0.0",
        ),
        (lambda: wg.elu(A, alpha=cast(Any, "x")), ArgumentError, "elu: alpha is a finite number; got 'x'"),
        (lambda: wg.celu(A, alpha=0.0), ArgumentError, "celu: alpha is greater than 0; got 0.0"),
        (
            lambda: spelled([[1, 1]], [2], [2]),
            ArgumentError,
            "ctc_loss: text 0 of 2 letters has no way through its 2 steps",
        ),
        (lambda: spelled([[3, 1]], [2], [2]), ArgumentError, "ctc_loss: letter 3 is none of the 3 classes"),
        (lambda: spelled([[0, 1]], [2], [2]), ArgumentError, "ctc_loss: letter 0 is the blank"),
        (
            lambda: spelled([[1, 2]], [3], [2]),
            ArgumentError,
            r"ctc_loss: input lengths are from 1 to 2, got \[3\]",
        ),
        (
            lambda: spelled([[1, 2]], [2, 2], [2]),
            ShapeError,
            r"ctc_loss: expected one input length .* \(2,\)",
        ),
        (
            lambda: spelled([[1, 2]], [2], [2], blank=3),
            ArgumentError,
            "ctc_loss: blank is one of 3 classes; got 3",
        ),
    ],
)
def test_arguments_of_losses(call: Callable[[], object], kind: type[Exception] | None, said: str) -> None:
    if kind is None:
        call()
        return
    with pytest.raises(kind, match=said) as caught:
        call()
    assert __file__ in str(caught.value)


def spelled(
    texts: Any, inputs: Any, targets: Any, **options: Any
) -> Any:  # Any: wrong on purpose, some of them
    return wg.ctc_loss(
        weight_of(np.zeros((2, 1, 3))), np.array(texts), np.array(inputs), np.array(targets), **options
    )


def test_a_text_without_a_way_may_count_nothing() -> None:
    loss = spelled([[1, 1]], [2], [2], zero_infinity=True, reduction="none")
    assert loss.predict().run().tolist() == [0.0]


def test_every_operation_is_misused() -> None:
    assert set(SHAPES) | set(DTYPES) == set(SUBJECTS)


def refused(name: str, case: Case) -> None:
    call, kind, parts = case
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert text.startswith((f"{name}: ", f"{name}_gate: "))  # gelu asks its gate first
    for part in parts:
        assert part in text
    assert name in MADE or re.search(r"operand 0: (weight|literal|layer)", text)
    line = re.search(r"\n  at (.*):(\d+)$", text)
    assert line, text
    assert line[1] == __file__
    lines, start = inspect.getsourcelines(call)
    assert start <= int(line[2]) < start + len(lines)
    assert len(text.splitlines()) <= 12


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_do_not_fit(name: str) -> None:
    refused(name, SHAPES[name])


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_that_do_not_fit(name: str) -> None:
    refused(name, DTYPES[name])


@pytest.mark.parametrize("name", PAIRS)
def test_broadcasting_to_a_shape_of_neither_in_another_rank(name: str) -> None:
    column, row = weight_of(np.ones((3, 1))), weight_of(np.ones(3))
    with pytest.raises(ShapeError, match=r"\(3, 3\), a shape of neither.*expand_dims or broadcast_to"):
        getattr(wg, name)(column, row)
    assert getattr(wg, name)(column, weight_of(np.ones(4))).shape == (3, 4)  # an outer product


class Unknown:
    """A type that nobody has registered."""


@pytest.mark.parametrize("name", [*PAIRS, *UNARY, "sum"])
def test_a_value_that_nobody_registered(name: str) -> None:
    call, operands = getattr(wg, name), (Unknown(), 1.0) if name in PAIRS else (Unknown(),)
    with pytest.raises(wg.errors.NotDifferentiableError) as caught:
        call(*operands)
    for part in (name, "Unknown is not differentiable", "@wengert.register(Unknown)", __file__):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["matmul", "reshape", "concat", "softmax", "take", "getitem", "squeeze"])
def test_a_scalar_where_an_array_is_needed(name: str) -> None:
    scalar: Any = weight_of(2.0)  # Any: refused on purpose
    calls: dict[str, Callable[[], Any]] = {
        "matmul": lambda: wg.matmul(A, scalar),
        "reshape": lambda: wg.reshape(scalar, (1,)),
        "concat": lambda: wg.concat([scalar, scalar]),
        "softmax": lambda: wg.softmax(scalar),
        "take": lambda: wg.take(scalar, INDEX),
        "getitem": lambda: wg.getitem(scalar, 0),
        "squeeze": lambda: wg.squeeze(scalar, axis=0),
    }
    with pytest.raises(ShapeError, match=rf"{name}: .*scalar"):
        calls[name]()


@pytest.mark.parametrize("indices", [np.array([0, 2]), np.array([-3])])
def test_an_index_out_of_range_in_the_run(indices: Any) -> None:
    """Any: integer arrays, whose values are known in the run only."""
    sums = wg.segment_sum(A, np.resize(indices, 2), num_segments=2)
    for expression in (wg.take(A, indices), wg.getitem(A, indices), sums):
        with pytest.raises(IndexError) as caught:
            expression.predict().run()
        assert __file__ in "".join(caught.value.__notes__)


def test_a_stated_number_of_places_is_that_of_the_run() -> None:
    for executor in (wg.run.Sequential(), wg.run.Sequential(compiled=False), wg.run.Batched()):
        with pytest.raises(ShapeError, match="nonzero: size is 2, and 6 elements are not 0") as caught:
            wg.take(A, wg.nonzero(A, size=2)[0]).predict().run(executor)
        assert __file__ in "".join(caught.value.__notes__)
    with pytest.raises(ShapeError, match="nonzero: a number has no axis"):
        wg.nonzero(wg.sum(A), size=1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: wg.argmax(A, axis=cast(Any, (0, 1))), r"argmax: an axis is an integer, or None"),
        (lambda: wg.top_k(A, cast(Any, 1.5)), r"top_k: k is a number of elements, 0 or more; got 1.5"),
        (lambda: wg.top_k(A, -1), r"top_k: k is a number of elements, 0 or more; got -1"),
        (lambda: wg.nonzero(A, size=-1), r"nonzero: size is a number of elements, 0 or more; got -1"),
    ],
)
def test_arguments_of_choices(call: Callable[[], object], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        call()


def test_a_negative_number_of_segments() -> None:
    with pytest.raises(ArgumentError, match="segment_sum: num_segments is 0 or more, not -1"):
        wg.segment_sum(A, INDEX, num_segments=-1)


def test_devices_that_do_not_fit() -> None:
    """On kinds, which need no device: every shape rule asks these functions."""
    here = kind(Column.ARRAY, (2,), FLOAT64)
    there = kind(Column.ARRAY, (2,), FLOAT64, cast(Any, "cuda:0"))  # Any: stands for a device of cupy
    for operation in ("add", "matmul", "concat", "stack", "greater"):
        options = {"axis": 0} if operation in ("concat", "stack") else {}
        with pytest.raises(DeviceError, match="devices cpu and cuda:0 do not mix"):
            OPERATIONS[operation].signature((here, there), tuple(options.items()))
