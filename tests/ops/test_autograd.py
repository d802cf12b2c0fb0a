"""Agreement with HIPS autograd, an implementation that shares nothing with this one."""

from __future__ import annotations

import warnings

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import make_vjp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.often import examples
from wengert.testing.gradients import deltas_at_layers

from .subjects import DIFFERENTIABLE, SUBJECTS


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENTIABLE)
@examples(10)
@given(data=st.data())
def test_values_and_derivatives_agree(name: str, data: st.DataObject) -> None:
    example = data.draw(SUBJECTS[name].examples)
    operands = tuple(np.array(x, order="C") for x in example.operands)
    value = np.asarray(example.call(*operands).predict().run())
    g = np.linspace(1.0, 2.0, value.size).reshape(value.shape)
    deltas = deltas_at_layers(example.call, example.operands, g)
    for index, delta in enumerate(deltas):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # autograd's own, about an output that depends on nothing
            pull, wanted = make_vjp(lambda *xs: example.plain(anp, *xs), index)(*operands)
            assert_allclose(value, wanted, rtol=1e-10, atol=1e-12)
            assert_allclose(delta, pull(g), rtol=1e-10, atol=1e-12)
