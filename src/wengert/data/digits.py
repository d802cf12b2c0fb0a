"""Handwritten digits: the 1,797 small images that scikit-learn ships.

Knows: how they are scaled.
Refuses to know: files; scikit-learn reads its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from wengert.arrays import Float32, HostArray
from wengert.arrays.samples import Labels, centred, integers
from wengert.data.rows import Rows
from wengert.packages import optional


@final
@dataclass(frozen=True, eq=False)
class Digits(Rows):
    """Images of 8 x 8 pixels, from -0.5 for paper to 0.5 for ink, and which digit each shows."""

    images: HostArray[tuple[int, Literal[64]], Float32]
    labels: Labels


def digits() -> Digits:
    """All 1,797 images; `split(digits(), (0.8, 0.2), seed=0)` keeps a fifth for the test.

    Raises PackageError without scikit-learn.
    >>> from wengert.data import split
    >>> train, test = split(digits(), (0.8, 0.2), seed=0)
    >>> train.images.shape, len(test), float(test.images.max())
    ((1438, 64), 359, 0.5)

    Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits", UCI, 1998; its test set.
    """
    found = optional("sklearn.datasets", "scikit-learn", "digits", "examples").load_digits()
    return Digits(centred(found.data, 16.0), integers(found.target))
