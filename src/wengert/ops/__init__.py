"""All operations, one family a module.

Knows: their public names.
Refuses to know: formulas, and who runs them.
"""

from __future__ import annotations

import wengert.ops.backward  # noqa: F401 # a graph of derivatives from another process names its operations
from wengert.ops.activation import erf, gelu, silu, softplus
from wengert.ops.arithmetic import abs, add, clip, divide, maximum, minimum, multiply, negative, pow, subtract
from wengert.ops.classification import cross_entropy, log_softmax, softmax
from wengert.ops.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
    where,
)
from wengert.ops.contraction import einsum, tensordot
from wengert.ops.conversion import astype
from wengert.ops.convolution import conv2d
from wengert.ops.cumulative import cumsum
from wengert.ops.elementary import (
    cos,
    exp,
    expm1,
    log,
    log1p,
    relu,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    stop_gradient,
    tanh,
)
from wengert.ops.indexing import getitem, segment_sum, take, take_along_axis
from wengert.ops.joining import concat, split, stack
from wengert.ops.linear import matmul
from wengert.ops.manipulation import broadcast_to, expand_dims, permute_dims, reshape, squeeze
from wengert.ops.moments import std, var
from wengert.ops.noise import dropout
from wengert.ops.padding import pad
from wengert.ops.pooling import avg_pool2d, max_pool2d
from wengert.ops.rearrangement import flip, roll
from wengert.ops.reduction import logsumexp, max, mean, min, prod, sum
from wengert.ops.selection import argmax, top_k

__all__ = [
    "abs",
    "add",
    "argmax",
    "astype",
    "avg_pool2d",
    "broadcast_to",
    "clip",
    "concat",
    "conv2d",
    "cos",
    "cross_entropy",
    "cumsum",
    "divide",
    "dropout",
    "einsum",
    "equal",
    "erf",
    "exp",
    "expand_dims",
    "expm1",
    "flip",
    "gelu",
    "getitem",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logsumexp",
    "matmul",
    "max",
    "max_pool2d",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "pad",
    "permute_dims",
    "pow",
    "prod",
    "relu",
    "reshape",
    "roll",
    "segment_sum",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softmax",
    "softplus",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "stop_gradient",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tanh",
    "tensordot",
    "top_k",
    "var",
    "where",
]
