"""A stacked call gives each branch what a call of its own gives it, bit for bit; and what does not is found out."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from wengert.arrays import agreement, host, reductions
from wengert.arrays.agreement import agrees, bits_of, same_bits
from wengert.arrays.kernels import minus_one_at, ones_at, picked, subtract_into, transposed
from wengert.arrays.scatter import places
from wengert.arrays.stacked import FORMS, Case, Operand

# Any in all: functions of numpy, and values of every kind

K = 7


def drawn(shape: tuple[int, ...], dtype: Any = np.float32) -> list[Any]:
    return list(np.random.default_rng(len(shape)).normal(size=(K, *shape)).astype(dtype))


def columns(
    *shapes: tuple[int, ...] | None, constants: tuple[Any, ...] = ()
) -> tuple[list[list[Any]], list[bool]]:
    """Arguments of K branches: arrays of these shapes, one array of the first for all where a shape is None."""
    found = [drawn(shape) if shape is not None else [drawn((3, 4))[0]] * K for shape in shapes]
    return [*found, *([x] * K for x in constants)], [s is not None for s in shapes] + [False] * len(constants)


CASES: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (np.dot, ((2, 3), (3, 5)), {}),
    (np.dot, (None, (4, 5)), {}),
    (np.dot, ((2, 3), None), {}),
    (np.dot, ((9,), (9,)), {}),
    (np.dot, ((6, 3, 2)[:2], (3, 1)), {}),
    (np.add, ((3, 4), (4,)), {}),
    (np.add, (None, (4,)), {}),
    (operator.mul, ((), (3, 4)), {}),
    (operator.truediv, ((3, 4), (3, 1)), {}),
    (np.tanh, ((3, 4),), {}),
    (np.maximum, ((3, 4), None), {}),
    (reductions.add_reduce, ((3, 4),), {"axis": 0, "keepdims": False}),
    (reductions.add_reduce, ((3, 4),), {"axis": None, "keepdims": False}),
    (reductions.add_reduce, ((3, 4, 2),), {"axis": (0, -1), "keepdims": True}),
    (reductions.max_reduce, ((3, 4),), {"axis": -1, "keepdims": True, "initial": -np.inf}),
    (host.squeeze, ((3, 1),), {"axis": 1}),
    (host.squeeze, ((3, 1),), {"axis": -1}),
    (host.expand_dims, ((3, 4),), {"axis": 0}),
    (host.expand_dims, ((3, 4),), {"axis": -1}),
    (transposed, ((3, 4),), {}),
    (host.swap_last, ((2, 3, 4),), {}),
    (subtract_into, ((3, 4), (3, 4)), {}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_stacked_call_agrees(case: int) -> None:
    function, shapes, options = CASES[case]
    arguments, apart = columns(*shapes)
    like = None if function is subtract_into else function(*(column[0] for column in arguments), **options)
    assert agrees(function, arguments, apart, [False] * len(apart), options, like)


@pytest.mark.parametrize(
    ("function", "shapes", "constants"),
    [
        (host.reshape, ((3, 4),), ((2, 6),)),
        (host.broadcast_to, ((4,),), ((3, 4),)),
        (host.scaled_update, ((3,), (3,)), (0.1,)),
    ],
)
def test_a_stacked_call_with_constants_agrees(function: Any, shapes: Any, constants: Any) -> None:
    arguments, apart = columns(*shapes, constants=constants)
    like = None if function is host.scaled_update else function(*(column[0] for column in arguments))
    assert agrees(function, arguments, apart, [False] * len(apart), {}, like)


@pytest.mark.parametrize("shapes", [((2, 3, 4), (4, 5)), ((3,), (3, 2)), ((2, 3), (3,))])
def test_products_without_a_stacked_form(shapes: Any) -> None:
    """`matmul` takes axes before the last two for those of a stack, and a matrix for vectors."""
    arguments, apart = columns(*shapes)
    like = np.dot(*(column[0] for column in arguments))
    assert not agrees(np.dot, arguments, apart, [False, False], {}, like)


def test_an_effect_on_one_array_for_all_has_no_stacked_form() -> None:
    arguments, _ = columns(None, (3, 4))
    assert not agrees(subtract_into, arguments, [False, True], [False, False], {}, None)


def test_labels_of_all_branches() -> None:
    """Their places count on from branch to branch, and who takes them knows that."""
    logits, labels = drawn((4, 3)), np.random.default_rng(0).integers(0, 3, (K, 4))
    x, at = np.array(logits), places(labels, 3)

    def now(function: Any, *arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    def of(function: Any, shape: tuple[int, ...], *operands: Operand) -> Any:
        return FORMS[function](now, Case(function, operands, {}, shape, K))

    stack, where = Operand(x, 2, True), Operand(at, 1, True)
    assert same_bits(of(places, (4,), Operand(labels, 1, True), Operand(3, 0, False)), at)
    picks = of(picked, (4,), stack, where, Operand((4,), 1, False))
    marks = of(minus_one_at, (4, 3), stack, where)
    ones = of(ones_at, (4, 3), where, Operand(((4, 3), np.float32), 1, False))
    for i in range(K):
        mine = places(labels[i], 3)
        assert same_bits(picks[i], picked(logits[i], mine, (4,)))
        assert same_bits(marks[i], minus_one_at(logits[i], mine))
        assert same_bits(ones[i], ones_at(mine, ((4, 3), np.float32)))
    assert not agrees(picked, [[logits[0]] * K, list(labels)], [False, True], [False] * 2, {}, picks[0])

    same = places(labels[0], 3)  # of all branches
    picks = of(picked, (4,), stack, Operand(same, 1, False), Operand((4,), 1, False))
    marks = of(minus_one_at, (4, 3), stack, Operand(same, 1, False))
    for i in range(K):
        assert same_bits(picks[i], picked(logits[i], same, (4,)))
        assert same_bits(marks[i], minus_one_at(logits[i], same))


def test_a_stacked_call_with_other_bits_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker checks: a form that rounds elsewhere does not agree."""

    def wrong(emit: Any, case: Case) -> Any:
        return emit(np.multiply, emit(np.divide, case.operands[0].value, 3.0), 3.0)

    forms: dict[Any, Any] = {**FORMS, np.positive: wrong}
    monkeypatch.setattr(agreement, "FORMS", forms)
    arguments, apart = columns((3, 4))
    assert not agrees(np.positive, arguments, apart, [False], {}, arguments[0][0])


def test_a_layout_that_a_copy_loses_is_tried_as_it_will_be() -> None:
    """Of a transposed matrix a stack of views keeps the order in memory, a stack of copies does not."""
    a = [np.asfortranarray(x) for x in drawn((64, 64))]
    together = agreement._in_one(a, a[0], copied=False)
    assert together.strides[1:] == a[0].strides
    assert agreement._in_one(a, a[0], copied=True).flags.c_contiguous
    assert np.array_equal(together, np.array(a))


def test_bits() -> None:
    x = np.array([0.0, 1.0], np.float64)
    assert bits_of(x) == bits_of(x.copy())
    assert bits_of(x) != bits_of(-x)
    assert bits_of(x) != bits_of(x.astype(np.float32))
    assert same_bits(np.float32(1), np.array(1, np.float32))
    assert not same_bits(np.float32(1), np.float64(1))
    assert not same_bits(x, -x * -1.0 * -1.0)
