"""Arguments of a wrong form are refused where they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.errors import WengertError


@pytest.mark.parametrize("axes", [(0, 1, 2), [0], (), "ij", None, ((0,), (0,), (0,))])
def test_axes_of_a_tensordot_are_a_number_or_a_pair(axes: Any) -> None:  # Any: wrong on purpose
    x = wg.lift(np.ones((2, 2, 2)))
    assert wg.tensordot(x, x, axes=((0, 1), (0, 1))).shape == (2, 2)
    with pytest.raises(WengertError, match="tensordot"):
        wg.tensordot(x, x, axes=axes)
