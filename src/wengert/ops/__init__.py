"""All operations, one family a module.

Knows: their public names.
Refuses to know: formulas, and who runs them.
"""

from __future__ import annotations

from wengert.ops.arithmetic import abs, add, divide, maximum, minimum, multiply, negative, pow, subtract
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
from wengert.ops.elementary import exp, log, relu, sigmoid, sign, sqrt, square, stop_gradient, tanh
from wengert.ops.indexing import getitem, take
from wengert.ops.linear import matmul
from wengert.ops.manipulation import broadcast_to, concat, expand_dims, permute_dims, reshape, squeeze, stack
from wengert.ops.reduction import max, mean, min, sum

__all__ = [
    "abs",
    "add",
    "broadcast_to",
    "concat",
    "cross_entropy",
    "divide",
    "equal",
    "exp",
    "expand_dims",
    "getitem",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "log",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "permute_dims",
    "pow",
    "relu",
    "reshape",
    "sigmoid",
    "sign",
    "softmax",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "subtract",
    "sum",
    "take",
    "tanh",
    "where",
]
