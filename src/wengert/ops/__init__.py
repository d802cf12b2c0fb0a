"""All operations, one family a module.

Knows: their public names, and in which module each is.
Refuses to know: formulas, and who runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wengert.later import LazyModules, later

if TYPE_CHECKING:
    from wengert.ops.activation import erf, gelu, glu, log_sigmoid, mish, silu, softplus, softsign
    from wengert.ops.alignment import ctc_loss
    from wengert.ops.arithmetic import (
        abs,
        add,
        ceil,
        clip,
        copysign,
        divide,
        floor,
        floor_divide,
        logaddexp,
        maximum,
        minimum,
        multiply,
        negative,
        pow,
        remainder,
        round,
        subtract,
        trunc,
    )
    from wengert.ops.classification import (
        cross_entropy,
        log_softmax,
        nll_loss,
        softmax,
        softmax_cross_entropy,
    )
    from wengert.ops.comparison import (
        all,
        any,
        equal,
        greater,
        greater_equal,
        isfinite,
        isinf,
        isnan,
        less,
        less_equal,
        logical_and,
        logical_not,
        logical_or,
        logical_xor,
        not_equal,
        signbit,
        where,
    )
    from wengert.ops.contraction import einsum, tensordot
    from wengert.ops.conversion import astype, to_device
    from wengert.ops.convolution import (
        conv1d,
        conv2d,
        conv3d,
        conv_transpose1d,
        conv_transpose2d,
        conv_transpose3d,
    )
    from wengert.ops.creation import (
        arange,
        eye,
        full,
        full_like,
        linspace,
        ones,
        ones_like,
        zeros,
        zeros_like,
    )
    from wengert.ops.cumulative import cumulative_prod, cumulative_sum, diff
    from wengert.ops.diagonals import diagonal, trace, tril, triu
    from wengert.ops.elementary import (
        cos,
        exp,
        exp2,
        expm1,
        log,
        log1p,
        log2,
        log10,
        positive,
        reciprocal,
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
    from wengert.ops.joining import concat, split, stack, unstack
    from wengert.ops.linear import matmul
    from wengert.ops.losses import (
        binary_cross_entropy,
        binary_cross_entropy_with_logits,
        cosine_embedding_loss,
        cosine_similarity,
        hinge_embedding_loss,
        hinge_loss,
        huber_loss,
        kl_div,
        l1_loss,
        mse_loss,
        smooth_l1_loss,
        triplet_margin_loss,
    )
    from wengert.ops.manipulation import (
        broadcast_arrays,
        broadcast_to,
        expand_dims,
        flip,
        matrix_transpose,
        meshgrid,
        moveaxis,
        pad,
        permute_dims,
        repeat,
        reshape,
        roll,
        squeeze,
        tile,
    )
    from wengert.ops.moments import std, var
    from wengert.ops.noise import dropout
    from wengert.ops.norms import vecdot
    from wengert.ops.pooling import avg_pool2d, max_pool2d
    from wengert.ops.rectification import celu, elu, hardswish, leaky_relu, prelu, selu
    from wengert.ops.reduction import logsumexp, max, mean, min, prod, sum
    from wengert.ops.resampling import (
        adaptive_avg_pool2d,
        adaptive_max_pool2d,
        avg_pool1d,
        interpolate,
        max_pool1d,
        pixel_shuffle,
        pixel_unshuffle,
    )
    from wengert.ops.segments import (
        index_add,
        scatter_add,
        segment_max,
        segment_mean,
        segment_min,
        segment_softmax,
        sparse_matmul,
    )
    from wengert.ops.sorting import (
        argmax,
        argmin,
        argsort,
        count_nonzero,
        nonzero,
        one_hot,
        searchsorted,
        sort,
        top_k,
    )
    from wengert.ops.trigonometry import acos, acosh, asin, asinh, atan, atan2, atanh, cosh, hypot, sinh, tan

__all__ = [
    "abs",
    "acos",
    "acosh",
    "adaptive_avg_pool2d",
    "adaptive_max_pool2d",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "avg_pool1d",
    "avg_pool2d",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "broadcast_arrays",
    "broadcast_to",
    "ceil",
    "celu",
    "clip",
    "concat",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "copysign",
    "cos",
    "cosh",
    "cosine_embedding_loss",
    "cosine_similarity",
    "count_nonzero",
    "cross_entropy",
    "ctc_loss",
    "cumulative_prod",
    "cumulative_sum",
    "diagonal",
    "diff",
    "divide",
    "dropout",
    "einsum",
    "elu",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "eye",
    "flip",
    "floor",
    "floor_divide",
    "full",
    "full_like",
    "gelu",
    "getitem",
    "glu",
    "greater",
    "greater_equal",
    "hardswish",
    "hinge_embedding_loss",
    "hinge_loss",
    "huber_loss",
    "hypot",
    "index_add",
    "interpolate",
    "isfinite",
    "isinf",
    "isnan",
    "kl_div",
    "l1_loss",
    "leaky_relu",
    "less",
    "less_equal",
    "linspace",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_sigmoid",
    "log_softmax",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "matmul",
    "matrix_transpose",
    "max",
    "max_pool1d",
    "max_pool2d",
    "maximum",
    "mean",
    "meshgrid",
    "min",
    "minimum",
    "mish",
    "moveaxis",
    "mse_loss",
    "multiply",
    "negative",
    "nll_loss",
    "nonzero",
    "not_equal",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "permute_dims",
    "pixel_shuffle",
    "pixel_unshuffle",
    "positive",
    "pow",
    "prelu",
    "prod",
    "reciprocal",
    "relu",
    "remainder",
    "repeat",
    "reshape",
    "roll",
    "round",
    "scatter_add",
    "searchsorted",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_softmax",
    "segment_sum",
    "selu",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinh",
    "smooth_l1_loss",
    "softmax",
    "softmax_cross_entropy",
    "softplus",
    "softsign",
    "sort",
    "sparse_matmul",
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
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "to_device",
    "top_k",
    "trace",
    "tril",
    "triplet_margin_loss",
    "triu",
    "trunc",
    "unstack",
    "var",
    "vecdot",
    "where",
    "zeros",
    "zeros_like",
]

# A family is loaded with the first of its names, or of its operators, that a program asks for, and all when a graph
# from another process names an operation: they would be a third of what importing Wengert takes.
_LAZY: Final = LazyModules(
    __name__,
    {
        "activation": "erf gelu glu log_sigmoid mish silu softplus softsign",
        "alignment": "ctc_loss",
        "arithmetic": (
            "abs add ceil clip copysign divide floor floor_divide logaddexp maximum minimum multiply "
            "negative pow remainder round subtract trunc"
        ),
        "backward": "",
        "buffers": "",
        "classification": "cross_entropy log_softmax nll_loss softmax softmax_cross_entropy",
        "comparison": (
            "all any equal greater greater_equal isfinite isinf isnan less less_equal logical_and "
            "logical_not logical_or logical_xor not_equal signbit where"
        ),
        "contraction": "einsum tensordot",
        "conversion": "astype to_device",
        "convolution": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
        "creation": "arange eye full full_like linspace ones ones_like zeros zeros_like",
        "cumulative": "cumulative_prod cumulative_sum diff",
        "diagonals": "diagonal trace tril triu",
        "elementary": (
            "cos exp exp2 expm1 log log1p log2 log10 positive reciprocal relu sigmoid sign sin sqrt "
            "square stop_gradient tanh"
        ),
        "factorization": "",
        "fourier": "",
        "indexing": "getitem segment_sum take take_along_axis",
        "joining": "concat split stack unstack",
        "linear": "matmul",
        "losses": (
            "binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss "
            "cosine_similarity hinge_embedding_loss hinge_loss huber_loss kl_div l1_loss mse_loss "
            "smooth_l1_loss triplet_margin_loss"
        ),
        "manipulation": (
            "broadcast_arrays broadcast_to expand_dims flip matrix_transpose meshgrid moveaxis "
            "pad permute_dims repeat reshape roll squeeze tile"
        ),
        "moments": "std var",
        "noise": "dropout",
        "norms": "vecdot",
        "pooling": "avg_pool2d max_pool2d",
        "rectification": "celu elu hardswish leaky_relu prelu selu",
        "reduction": "logsumexp max mean min prod sum",
        "resampling": (
            "adaptive_avg_pool2d adaptive_max_pool2d avg_pool1d interpolate max_pool1d pixel_shuffle "
            "pixel_unshuffle"
        ),
        "segments": (
            "index_add scatter_add segment_max segment_mean segment_min segment_softmax sparse_matmul"
        ),
        "solving": "",
        "sorting": "argmax argmin argsort count_nonzero nonzero one_hot searchsorted sort top_k",
        "trigonometry": "acos acosh asin asinh atan atan2 atanh cosh hypot sinh tan",
    },
)
_VARIABLE: Final = later("wengert.graph.variables", "VARIABLE")


def load_family(name: str) -> None:
    """Load the family that has an operation of this name, if one has."""
    if name in _LAZY:
        _LAZY.find(name)


def load_families() -> None:
    """Load every operation that a graph from another process may name."""
    _LAZY.load()
    _VARIABLE.load()


if not TYPE_CHECKING:  # or a checker would take every name for one that is there
    __getattr__, __dir__ = _LAZY.find, _LAZY.listed
