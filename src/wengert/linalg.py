"""Linear algebra: the functions of the array API standard's `linalg`, each on stacks of matrices.

Knows: the public names.
Refuses to know: any logic.

>>> import numpy as np
>>> import wengert as wg
>>> a = np.array([[2.0, 0.0], [0.0, 4.0]])
>>> wg.linalg.solve(a, np.array([2.0, 2.0])).predict().run().tolist()
[1.0, 0.5]
"""

from __future__ import annotations

from wengert.ops.contraction import tensordot
from wengert.ops.diagonals import diagonal, trace
from wengert.ops.factorization import (
    EighResult,
    QRResult,
    SVDResult,
    cholesky,
    eigh,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from wengert.ops.linear import matmul
from wengert.ops.manipulation import matrix_transpose
from wengert.ops.norms import cross, kron, matrix_norm, matrix_rank, outer, vecdot, vector_norm
from wengert.ops.solving import SlogdetResult, det, inv, matrix_power, pinv, slogdet, solve

__all__ = [
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "kron",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
