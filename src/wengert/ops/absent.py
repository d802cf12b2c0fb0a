"""Names that people look for in a library and that are not here, each with what to write instead.

Knows: numpy's older names, what the array API standard has and this library has a reason to leave out.
Refuses to know: any operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wengert.elsewhere import PACKAGES, TENSORS, unnamed

_COMPLEX: Final = "complex numbers are no expressions; keep real and imaginary parts as two arrays"
_BITS: Final = "integers are data here, not expressions; compute them with numpy before they go in"
_DATA: Final = (
    "its size depends on the values; call numpy on what a run gives, and pass the integers to wg.take"
)
_TYPES: Final = "element types are numpy's; ask numpy"
_RENAMED: Final[Mapping[str, str]] = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "around": "round",
    "cholesky": "linalg.cholesky",
    "concatenate": "concat",
    "cumprod": "cumulative_prod",
    "det": "linalg.det",
    "dot": "matmul",
    "eigh": "linalg.eigh",
    "fabs": "abs",
    "fix": "trunc",
    "hstack": "concat(..., axis=1)",
    "identity": "eye",
    "inner": "linalg.vecdot",
    "inv": "linalg.inv",
    "kron": "linalg.kron",
    "mod": "remainder",
    "norm": "linalg.vector_norm",
    "outer": "linalg.outer",
    "pinv": "linalg.pinv",
    "power": "pow",
    "product": "prod",
    "qr": "linalg.qr",
    "rint": "round",
    "solve": "linalg.solve",
    "svd": "linalg.svd",
    "swapaxes": "moveaxis",
    "transpose": "permute_dims",
    "true_divide": "divide",
    "vstack": "concat(..., axis=0)",
}
ABSENT: Final[Mapping[str, str]] = {
    **TENSORS,
    **PACKAGES,
    **{name: f"write wg.{instead}" for name, instead in _RENAMED.items()},
    **dict.fromkeys(("conj", "imag", "real"), _COMPLEX),
    **dict.fromkeys(
        (
            *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert"),
            *("bitwise_left_shift", "bitwise_right_shift"),
        ),
        _BITS,
    ),
    **dict.fromkeys(("unique", "unique_all", "unique_counts", "unique_inverse"), _DATA),
    **dict.fromkeys(("argwhere", "flatnonzero"), "write wg.nonzero(x, size=n), where a size n is known"),
    "unique_values": _DATA,
    **dict.fromkeys(("can_cast", "finfo", "iinfo", "isdtype", "result_type"), _TYPES),
    "asarray": "write wg.literal(array), or pass the array itself",
    "from_dlpack": "write numpy.from_dlpack(x)",
    "empty": "values that nobody set are no data; write wg.zeros",
    "empty_like": "values that nobody set are no data; write wg.zeros_like",
    "broadcast_shapes": "write numpy.broadcast_shapes",
    "nextafter": "the next number has no derivative worth having; call numpy on data",
    "median": "write wg.take of wg.sort(x), at the middle",
}


def advice(module: str, name: str) -> AttributeError:
    """The error for a name that `wengert` does not have."""
    return unnamed(module, name, ABSENT)
