"""The promise of this library's own rules: none writes into what it is given.

An executor with other array functions trusts no rule, so that each is given arrays which cannot be written to.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from tests.often import examples
from wengert.extend import HOST, kinds, operation
from wengert.run import Sequential

from .backward import BACKWARD
from .example import Example
from .subjects import SUBJECTS
from .test_gradients import weight_of

PLAIN, DISTRUSTING = Sequential(compiled=False), Sequential(arrays=HOST)
ALL: dict[str, st.SearchStrategy[Example]] = {name: x.examples for name, x in SUBJECTS.items()} | BACKWARD
CONSTANT = {name for name, subject in SUBJECTS.items() if not subject.method}


@pytest.mark.parametrize("name", ALL)
@examples(6)
@given(data=st.data())
def test_a_rule_writes_into_nothing(name: str, data: st.DataObject) -> None:
    example = data.draw(ALL[name])
    weights = [*example.operands] if name in CONSTANT else [*map(weight_of, example.operands)]
    result = example.call(*weights)
    values = [np.asarray(wg.predict(result).run(executor)) for executor in (PLAIN, DISTRUSTING)]
    assert values[0].tobytes() == values[1].tobytes()
    if name not in CONSTANT:
        loss = wg.sum(result * np.linspace(1.0, 2.0, values[0].size).reshape(values[0].shape))
        for a, b in zip(*(wg.gradients(loss, weights).run(x) for x in (PLAIN, DISTRUSTING)), strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_one_that_does_is_found() -> None:
    """Whoever promises and writes is caught in such a run."""

    def wrong(case: Any, g: Any, y: Any, x: Any) -> Any:
        g *= 2.0
        return g

    @operation(kinds.elementwise, lambda case, x: x * 2.0, wrong)
    def lying(x: Any, /) -> Any:
        raise NotImplementedError

    w = weight_of(np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        wg.gradients(cast(Any, wg.sum(lying(w))), [w]).run(DISTRUSTING)
