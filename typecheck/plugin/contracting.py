"""Sums of products over named axes: einsum and tensordot (T77, T78)."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, assert_type

from given import L1, L2, L3, L4, L5, L6, Batch, batched, count, data, named, row, scalar, unknown, w, x

import wengert as wg
from wengert.dims import Add, Mul

B = TypeVar("B", bound=int)
T = TypeVar("T", bound=int)
U = TypeVar("U", bound=int)
H = TypeVar("H", bound=int)
D = TypeVar("D", bound=int)


def case_einsum() -> None:  # T77
    assert_type(wg.einsum("ij,jk->ik", x, w), wg.ArrayLayer[tuple[L2, L4]])
    assert_type(wg.einsum("ij, jk -> ki", x, w), wg.ArrayLayer[tuple[L4, L2]])
    assert_type(wg.einsum("ij,j->i", x, row), wg.ArrayLayer[tuple[L2]])
    assert_type(wg.einsum("i,j->ij", row, row), wg.ArrayLayer[tuple[L3, L3]])
    assert_type(wg.einsum("ij,jk,kl->il", x, w, wg.literal(data, 4, 6)), wg.ArrayLayer[tuple[L2, L6]])


def case_einsum_without_an_arrow() -> None:  # T77
    assert_type(wg.einsum("ij,jk", x, w), wg.ArrayLayer[tuple[L2, L4]])
    assert_type(wg.einsum("ba", x), wg.ArrayLayer[tuple[L3, L2]])
    assert_type(wg.einsum("ij,ij", x, x), wg.ArrayLayer[tuple[()]])
    wg.einsum("ij,ij", x, x).train()


def case_einsum_of_a_diagonal() -> None:  # T77
    square = wg.literal(data, 3, 3)
    assert_type(wg.einsum("ii->i", square), wg.ArrayLayer[tuple[L3]])
    assert_type(wg.einsum("ii", square), wg.ArrayLayer[tuple[()]])
    wg.einsum("ii->i", x)  # E[shape]: ^einsum: index "i" is both 2 and 3$


def case_einsum_with_dots() -> None:  # T77
    assert_type(wg.einsum("...ij,jk->...ik", batched, w), wg.ArrayLayer[tuple[L5, L2, L4]])
    assert_type(wg.einsum("...ij,jk->...ik", x, w), wg.ArrayLayer[tuple[L2, L4]])
    assert_type(wg.einsum("...,...", batched, wg.literal(data, 2, 1)), wg.ArrayLayer[tuple[L5, L2, L3]])
    wg.einsum("...j,...j->...", x, wg.literal(data, 4, 3))  # E[shape]: 2 and 4 differ$
    wg.einsum("...j->j", x)  # E[shape]: "..." stands for axes of sizes \(2,\), and the result has no "..."


def case_einsum_of_sizes_that_differ() -> None:  # T77
    wg.einsum("ij,jk->ik", w, x)  # E[shape]: ^einsum: index "j" is both 4 and 2$
    wg.einsum("ij,kj", x, w)  # E[shape]: ^einsum: index "j" is both 3 and 4$
    wg.einsum("ij,ij->i", x, wg.literal(data, 2, 1))  # E[shape]: ^einsum: index "j" is both 3 and 1$
    wg.einsum("ij,ij->i", named, x)  # E[shape]: ^einsum: index "i" is both Batch and 2$


def case_einsum_specified_wrongly() -> None:  # T77
    wg.einsum("ijk->i", x)  # E[shape]: ^einsum: term "ijk" has 3 indices, shape \(2, 3\) has 2 axes$
    wg.einsum("i,j->ij", x, row)  # E[shape]: term "i" has 1 indices, shape \(2, 3\) has 2 axes$
    wg.einsum("ij->ik", x)  # E[shape]: ^einsum: index "k" of the result is in no operand$
    wg.einsum("ij->ii", x)  # E[shape]: ^einsum: index "i" is twice in the result$
    wg.einsum("ij,jk->ik", x)  # E[shape]: "ij,jk->ik" has 2 terms, and there are 1 operands$
    wg.einsum("i1->i", x)  # E[shape]: "i1->i" has '1'; indices are letters, as in "ij,jk->ik"$
    wg.einsum("ij")  # E[shape]: ^einsum: expected at least one array$
    wg.einsum(x, "ij")  # E[arg-type]  # E[arg-type]: incompatible type "ArrayLayer\[.*"


def case_einsum_of_what_is_unknown(spec: str) -> None:  # T77, T79
    assert_type(wg.einsum(spec, x, w), wg.ArrayLayer[Any])
    assert_type(wg.einsum("ij,jk->ik", data, w), wg.ArrayLayer[tuple[Any, L4]])
    assert_type(wg.einsum("...j,jk->...k", unknown, w), wg.ArrayLayer[Any])
    some = wg.literal(data, count(), 3)
    assert_type(wg.einsum("ij,ik->jk", some, x), wg.ArrayLayer[tuple[L3, L3]])
    wg.einsum("ij,jk,kl->il", x, data, row)  # E[shape]: term "kl" has 2 indices, shape \(3,\) has 1 axes$


def case_attention(
    q: wg.ArrayLayer[tuple[B, T, H, D]], k: wg.ArrayLayer[tuple[B, U, H, D]]
) -> wg.ArrayLayer[tuple[B, T, H, D]]:  # T78
    scores = wg.softmax(wg.einsum("bthd,bshd->bhts", q, k))
    assert_type(scores, wg.ArrayLayer[tuple[B, H, T, U]])
    wg.einsum("bhts,bthd->bshd", scores, k)  # E[shape]: ^einsum: index "t" is both T and U$
    return wg.einsum("bhts,bshd->bthd", scores, k)


def case_heads_projected_wrongly(
    x: wg.ArrayLayer[tuple[B, T, Mul[H, D]]], w: wg.ArrayWeight[tuple[H, D, Add[H, L1]]]
) -> None:  # T78
    assert_type(wg.einsum("btm,hdn->bthdnm", x, w).shape[4], Add[H, L1])
    wg.einsum("btm,mdn->btdn", x, w)  # E[shape]: ^einsum: index "m" is both D\*H and H$


def case_tensordot() -> None:  # T77
    assert_type(wg.tensordot(x, w, axes=1), wg.ArrayLayer[tuple[L2, L4]])
    assert_type(wg.tensordot(x, x), wg.ArrayLayer[tuple[()]])
    assert_type(wg.tensordot(x, row, axes=0), wg.ArrayLayer[tuple[L2, L3, L3]])
    assert_type(wg.tensordot(batched, x, axes=((1, 2), (0, 1))), wg.ArrayLayer[tuple[L5]])
    assert_type(wg.tensordot(x, x, axes=((-1,), (1,))), wg.ArrayLayer[tuple[L2, L2]])
    assert_type(wg.tensordot(x, x, axes=([1], [1])), wg.ArrayLayer[tuple[L2, L2]])
    assert_type(wg.tensordot(named, w, axes=1), wg.ArrayLayer[tuple[Batch, L4]])


def case_tensordot_of_axes_that_differ() -> None:  # T77
    wg.tensordot(w, x, axes=1)  # E[shape]: axis 1 of shape \(3, 4\) and axis 0 of .*: 4 and 2 differ$
    wg.tensordot(x, w)  # E[shape]: ^tensordot: cannot sum over axis 0 .*: 2 and 3 differ$
    wg.tensordot(x, row, axes=2)  # E[shape]: cannot sum over 2 axes of shapes \(2, 3\) and \(3,\)$
    wg.tensordot(x, w, axes=((1, 0), (0,)))  # E[shape]: axes \(1, 0\) and \(0,\) are not as many
    wg.tensordot(x, w, axes=((2,), (0,)))  # E[shape]: ^tensordot: axis 2 is out of range for shape \(2, 3\)$
    wg.tensordot(scalar, w, axes=1)  # E[shape]: cannot sum over 1 axes of shapes \(\) and \(3, 4\)$


def case_tensordot_of_what_is_unknown() -> None:  # T77, T79
    assert_type(wg.tensordot(x, w, axes=count()), wg.ArrayLayer[Any])
    assert_type(wg.tensordot(data, w, axes=1), wg.ArrayLayer[Any])
    assert_type(wg.tensordot(wg.literal(data, count(), 3), w, axes=1), wg.ArrayLayer[tuple[Any, L4]])


def case_sizes_that_only_letters_name() -> None:  # T77
    outer = wg.einsum("a,b,c->cab", row, wg.literal(data, 1), wg.literal(data, 5))
    assert_type(outer, wg.ArrayLayer[tuple[L5, L3, L1]])
    assert_type(outer.shape[0], Literal[5])
