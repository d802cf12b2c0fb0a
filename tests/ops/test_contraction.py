"""Sums of products against numpy's own, over random specifications, and every way to write a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import wengert as wg
from tests.often import examples
from wengert.arrays import HOST
from wengert.errors import ArgumentError, ShapeError

from . import draw as d
from .test_gradients import SETTINGS

NUMBERS = d.numbers(-3, 3)


@st.composite
def stated(draw: st.DrawFn, letters: str = "abcd", most: int = 4) -> tuple[str, tuple[Any, ...]]:
    """Any: arrays. A specification with an arrow, and operands in all layouts."""
    sizes = {letter: draw(st.integers(0, 3)) for letter in letters}
    terms = draw(st.lists(st.text(letters, max_size=4), min_size=1, max_size=most))
    found = sorted(set("".join(terms)))
    out = "".join(draw(st.permutations(found))[: draw(st.integers(0, len(found)))])
    arrays = (draw(d.arrays(tuple(sizes[letter] for letter in term), NUMBERS)) for term in terms)
    return f"{','.join(terms)}->{out}", tuple(arrays)


@examples(50)
@given(drawn=stated())
def test_products_of_matrices_are_what_the_loops_over_indices_give(
    drawn: tuple[str, tuple[Any, ...]],
) -> None:
    spec, xs = drawn
    wanted = np.einsum(spec, *xs)
    for got in (HOST.einsum(spec, *xs), wg.einsum(spec, *xs).predict().run()):
        assert got.shape == wanted.shape
        assert_allclose(got, wanted, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("bthd,bshd->bhts", ((2, 5, 3, 4), (2, 6, 3, 4))),
        ("bhts,bshd->bthd", ((2, 3, 5, 6), (2, 6, 3, 4))),
        ("bthd,bshd->bdts", ((2, 5, 3, 4), (2, 6, 3, 4))),
        ("bd,hd->hb", ((2, 3), (4, 3))),
        ("bi,ijk,bk->bj", ((2, 3), (3, 4, 5), (2, 5))),
        ("...ij,...jk", ((2, 1, 3, 4), (5, 4, 6))),
        ("...,...", ((2, 3), (3,))),
        ("i...,i", ((4, 2, 3), (4,))),
        ("ba, cb", ((2, 3), (4, 2))),
        ("iij->ji", ((3, 3, 2),)),
        ("ii", ((3, 3),)),
        (",->", ((), ())),
        ("... -> ...", ((2, 3),)),
    ],
)
def test_as_numpy_has_it(spec: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    random = np.random.default_rng(0)
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-5)):
        xs: list[Any] = [random.standard_normal(shape).astype(dtype) for shape in shapes]  # Any: both dtypes
        made: Any = wg.einsum(spec, *xs)  # Any: the shape is for this test to find
        value = made.predict().run()
        wanted = np.einsum(spec, *xs)
        assert made.shape == value.shape == wanted.shape
        assert value.dtype == dtype
        assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)


A: Any = np.ones((2, 3))  # Any: misused on purpose, which a checker would refuse
einsum: Any = wg.einsum  # Any: as above
tensordot: Any = wg.tensordot  # Any: as above
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    'index "j" is both 3 and 2': (lambda: einsum("ij,jk", A, A), "einsum"),
    'index "i" is both 2 and 3': (lambda: einsum("ii", A), "einsum"),
    'index "j" is both 1 and 3': (lambda: einsum("ij,ij", A[:, :1], A), "einsum"),
    'index "k" of the result is in no operand': (lambda: einsum("ij->ik", A), "einsum"),
    'index "i" is twice in the result': (lambda: einsum("ij->ii", A), "einsum"),
    '"ij,jk->ik" has 2 terms, and there are 1 operands': (lambda: einsum("ij,jk->ik", A), "einsum"),
    'term "ijk" has 3 indices, shape (2, 3) has 2 axes': (lambda: einsum("ijk", A), "einsum"),
    'term "i" has 1 indices, shape (2, 3) has 2 axes': (lambda: einsum("i->i", A), "einsum"),
    'term "ij...k" has 3 indices, shape (2, 3) has 2 axes': (lambda: einsum("ij...k", A), "einsum"),
    '"i1->i" has \'1\'; indices are letters, as in "ij,jk->ik"': (lambda: einsum("i1->i", A), "einsum"),
    '"......" has "..." twice in one term': (lambda: einsum("......", A), "einsum"),
    '"..." stands for axes of sizes (3,), and the result has no "..."': (
        lambda: einsum("i...->i", A),
        "einsum",
    ),
    "shapes (2,) and (3,) do not broadcast: 2 and 3 differ": (
        lambda: einsum("...j,...k->...", A, A.T),
        "einsum",
    ),
    "expected at least one array": (lambda: einsum("ij"), "einsum"),
    "cannot sum over axis 1 of shape (2, 3) and axis 0 of shape (2, 3): 3 and 2 differ": (
        lambda: tensordot(A, A, axes=1),
        "tensordot",
    ),
    "cannot sum over 3 axes of shapes (2, 3) and (2, 3)": (lambda: tensordot(A, A, axes=3), "tensordot"),
    "cannot sum over -1 axes of shapes (2, 3) and (2, 3)": (lambda: tensordot(A, A, axes=-1), "tensordot"),
    "axes (0, 1) and (0,) are not as many in both operands": (
        lambda: tensordot(A, A, axes=((0, 1), (0,))),
        "tensordot",
    ),
    "axes (0, 0) name one axis of shape (2, 3) twice": (
        lambda: tensordot(A, A, axes=((0, 0), (0, 1))),
        "tensordot",
    ),
    "axis 2 is out of range for shape (2, 3)": (lambda: tensordot(A, A, axes=((2,), (0,))), "tensordot"),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_specification(text: str) -> None:
    call, name = WRONG[text]
    with pytest.raises(ShapeError) as caught:
        call()
    first, *rest = str(caught.value).splitlines()
    assert first == f"{name}: {text}"
    assert rest[-1].startswith(f"  at {__file__}:")


def test_a_wrong_argument() -> None:
    calls: list[Callable[[], object]] = [
        lambda: einsum(A, A),
        lambda: tensordot(A, A, axes=A),
        lambda: tensordot(A, A, axes=(A, A)),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match=r"(einsum|tensordot): .*got"):
            call()


def test_a_weight_used_in_every_place_gets_the_sum_of_its_deltas() -> None:
    w = SETTINGS.array_weight(np.array([[1.0, 2.0], [3.0, 4.0]], np.float64))
    (delta,) = wg.gradients(wg.einsum("ij,jk,ki->", w, w, w), (w,)).run()
    assert_allclose(delta, 3 * (w.data @ w.data).T)


def test_an_operand_of_a_shape_that_only_the_run_tells() -> None:
    @wg.differentiable
    async def late() -> wg.ArrayLayer[Any, np.float64]:  # Any: known in the run
        await wg.lift(1.0)
        made: wg.ArrayLayer[Any, np.float64] = wg.lift(A)
        return made

    w = SETTINGS.array_weight(np.ones((3, 2)))
    for call in (lambda: wg.einsum("ij,jk->ik", late(), w), lambda: wg.tensordot(late(), w, axes=1)):
        assert call().predict().run().tolist() == [[3.0, 3.0]] * 2
        (delta,) = wg.gradients(wg.sum(call()), (w,)).run()
        assert_allclose(delta, [[2.0, 2.0]] * 3)
    first, second = wg.split(late(), 2)
    assert (first + second).predict().run().tolist() == [[2.0, 2.0, 2.0]]
    with pytest.raises(ShapeError, match=r"einsum: index \"j\" is both 3 and 2\n(.*\n)*  built at"):
        wg.einsum("ij,jk->ik", late(), A).predict().run()
