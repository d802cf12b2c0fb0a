"""`split` as a whole: all parts together, one computation of what is split, and deltas that meet again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import wengert as wg
from tests.often import examples
from wengert.errors import ArgumentError
from wengert.extend import Case
from wengert.plugins import SGD, Momentum
from wengert.run import Sequential

from .test_gradients import SETTINGS


@examples(25)
@given(size=st.integers(0, 6), cuts=st.lists(st.integers(-8, 8), max_size=4))
def test_all_parts_are_those_of_numpy(size: int, cuts: list[int]) -> None:
    x = np.arange(2.0 * size).reshape(2, size)
    sections: list[Any] = [cuts, tuple(cuts), *(n for n in range(1, 7) if size % n == 0)]  # Any: both forms
    for at in sections:
        parts, wanted = wg.split(x, at, axis=1), np.split(x, at, axis=1)
        assert [part.shape for part in parts] == [part.shape for part in wanted]
        for part, want in zip(parts, wanted, strict=True):
            assert_array_equal(part.predict().run(), want)


class Heavy(Momentum, SGD):
    """A plugin that needs the delta as one array."""


@pytest.mark.parametrize("settings_of", [SETTINGS, Heavy(learning_rate=0.1)])
def test_deltas_of_parts_meet_in_the_whole(settings_of: Any) -> None:
    """Any: settings of two kinds."""
    w = settings_of.array_weight(np.arange(6.0).reshape(2, 3))
    left, _, right = wg.split(w, 3, axis=1)
    loss = wg.sum(2.0 * left + right * right)
    (delta,) = wg.gradients(loss, (w,)).run()
    wanted = [[2.0, 0.0, 4.0], [2.0, 0.0, 10.0]]
    assert delta.tolist() == wanted
    before = w.data.copy()
    loss.train().run()
    np.testing.assert_allclose(w.data, before - 0.1 * np.array(wanted))


class Sensor:
    """A user's own type, which counts how often it is read."""

    def __init__(self) -> None:
        self.reads = 0

    @property
    def forward(
        self,
    ) -> wg.Do[wg.Tape[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]]:
        """Any: the shape."""

        def read() -> Any:  # Any: a tape, as annotated above
            self.reads += 1
            return wg.Tape(np.arange(6.0), lambda delta: wg.UnitContinuation.now(None))

        return wg.Do.delay(read)


def test_what_is_split_is_computed_once() -> None:
    sensor = Sensor()
    first, second = wg.split(sensor, 2)
    value = wg.predict(first + second).run()
    assert value.tolist() == [3.0, 5.0, 7.0]
    assert sensor.reads == 1


@pytest.mark.parametrize("sections", [1.5, "2", None, (1, "2"), np.ones(2)])
def test_sections_that_are_no_integers(sections: Any) -> None:
    """Any: refused on purpose."""
    with pytest.raises(
        ArgumentError, match=r"split: expected an int or a tuple of ints, got .*\n  at .*test_splitting"
    ):
        wg.split(np.ones(4), sections)


def test_s2_each_part_of_what_is_joined_is_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    shape = Case.shape

    def counting(case: Case, index: int) -> tuple[int, ...]:
        asked.append(index)
        return shape(case, index)

    monkeypatch.setattr(Case, "shape", counting)

    def sizes_asked(parts: int) -> int:
        w = SETTINGS.array_weight(np.ones(2, np.float64))
        joined = wg.concat([w * float(i) for i in range(parts)])
        asked.clear()
        (delta,) = wg.gradients(wg.sum(joined), (w,)).run(Sequential(compiled=False))
        assert_array_equal(delta, np.full(2, sum(range(parts))))
        return len(asked)

    assert 0 < sizes_asked(80) < 3 * sizes_asked(40)
