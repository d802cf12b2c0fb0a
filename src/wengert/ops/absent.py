"""Names that people look for in a library and that are not here, each with what to write instead.

Knows: numpy's older names, what the array API standard has and this library has a reason to leave out, and names of
PyTorch's and JAX's modules.
Refuses to know: any operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
    **{name: f"write wg.{instead}" for name, instead in _RENAMED.items()},
    **dict.fromkeys(("conj", "imag", "real", "fft"), _COMPLEX),
    **dict.fromkeys(
        (
            *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert"),
            *("bitwise_left_shift", "bitwise_right_shift"),
        ),
        _BITS,
    ),
    **dict.fromkeys(
        ("nonzero", "argwhere", "flatnonzero", "unique", "unique_all", "unique_counts", "unique_inverse"),
        _DATA,
    ),
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
_SETTINGS: Final = "settings make weights: write wengert.plugins.SGD(learning_rate=0.1).array_weight(array)"
_PACKAGES: Final[Mapping[str, str]] = {  # what stands for whole modules, and for functions of programs
    "Module": "a model is any class or function; keep layers in attributes, and define __call__",
    "Parameter": _SETTINGS,
    "Variable": _SETTINGS,
    "compile": "nothing to write: a structure that comes back is compiled",
    "cuda": "write arrays of cupy: the device is theirs",
    "device": "write arrays of cupy: the device is theirs",
    "float32": "element types are numpy's; write numpy.float32",
    "float64": "element types are numpy's; write numpy.float64",
    "from_numpy": "arrays of numpy are expressions; pass the array itself",
    "functional": "its functions are wengert's, as in wengert.relu(x)",
    "grad": "write wengert.gradients(loss, (w,)).run()",
    "jit": "nothing to write: a structure that comes back is compiled",
    "load": "write wengert.saving.load(path, model)",
    "manual_seed": "nothing is global: give seed= to what draws at random",
    "no_grad": "nothing to write: only train() and gradients() differentiate; layer.predict().run() computes",
    "optim": "optimizers are wengert.plugins",
    "rand": "write numpy.random.default_rng(seed)",
    "randn": "write numpy.random.default_rng(seed)",
    "save": "write wengert.saving.save(path, model)",
    "tensor": "write numpy.array(x, numpy.float32); arrays are expressions",
    "value_and_grad": "write wengert.gather(loss.predict(), wengert.gradients(loss, (w,))).run()",
    "vmap": "write the model for a batch; wengert.jacobian has all derivatives at once",
}
_TORCH: Final[Mapping[str, str]] = {
    "bmm": "matmul",
    "cat": "concat",
    "mm": "matmul",
    "permute": "permute_dims",
    "scatter": "scatter_add",
    "unsqueeze": "expand_dims",
    "view": "reshape",
}
_OF_NN: Final[Mapping[str, str]] = {
    "BCELoss": "write wengert.binary_cross_entropy",
    "BCEWithLogitsLoss": "write wengert.binary_cross_entropy_with_logits",
    "BatchNorm1d": "write BatchNorm, of any rank",
    "BatchNorm2d": "write BatchNorm, of any rank",
    "Conv": "write Conv2d",
    "CrossEntropyLoss": "write wengert.cross_entropy",
    "Dense": "write Linear.make(settings, inputs, outputs, seed=0)",
    "Dropout2d": "write Dropout",
    "Identity": "write lambda x: x",
    "L1Loss": "write wengert.l1_loss",
    "MSELoss": "write wengert.mse_loss",
    "ModuleDict": "a model may hold layers in a dict",
    "ModuleList": "a model may hold layers in a list",
    "NLLLoss": "write wengert.nll_loss",
    "Transformer": "write TransformerEncoder and TransformerDecoder",
    **{
        name: f"write wengert.{function}"
        for name, function in {
            "ELU": "elu",
            "GELU": "gelu",
            "LeakyReLU": "leaky_relu",
            "LogSoftmax": "log_softmax",
            "ReLU": "relu",
            "SiLU": "silu",
            "Sigmoid": "sigmoid",
            "Softmax": "softmax",
            "Softplus": "softplus",
            "Tanh": "tanh",
        }.items()
    },
}
ELSEWHERE: Final[Mapping[str, Mapping[str, str]]] = {
    "wengert": {**{name: f"write wengert.{x}" for name, x in _TORCH.items()}, **_PACKAGES, **ABSENT},
    "wengert.nn": {**_PACKAGES, **_OF_NN},
}


def advice(module: str, name: str) -> AttributeError:
    """The error for a name that a module does not have."""
    said = ELSEWHERE[module].get(name)
    return AttributeError(f"module '{module}' has no attribute '{name}'" + (f": {said}" if said else ""))
