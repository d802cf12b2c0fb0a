"""`all_quiet`: no warnings inside, and what the user has asked of numpy outside."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.arrays import all_quiet, quiet

HUGE = np.float32(3e38)


def test_without_it_numpy_warns() -> None:
    with np.errstate(over="warn"), pytest.warns(RuntimeWarning, match="overflow"):
        assert np.isinf(np.add(HUGE, HUGE))


def test_nothing_is_said_of_infinite_and_invalid_results() -> None:
    with np.errstate(all="raise"), all_quiet():
        assert np.isinf(np.divide(HUGE, np.float32(0)))
        assert np.isnan(np.log(np.full(3, -1.0))).all()


def test_it_is_as_before_afterwards_in_scopes_within_scopes_too() -> None:
    with np.errstate(divide="raise"):
        with all_quiet(), all_quiet():
            assert set(np.geterr().values()) == {"ignore"}
        assert np.geterr()["divide"] == "raise"
        with pytest.raises(KeyError), all_quiet():
            raise KeyError
        assert np.geterr()["divide"] == "raise"


def test_numpy_keeps_it_in_a_variable_of_the_context() -> None:
    assert quiet._FOUND is not None  # else each scope takes five times as long
    with np.errstate(all="raise"), quiet._errstate():
        assert np.isinf(np.add(HUGE, HUGE))  # what stands in where it does not
