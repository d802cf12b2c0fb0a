"""The same elements in another shape (T75)."""

from __future__ import annotations

from typing import Any, Literal, assert_type

from given import L1, L2, L3, L4, L5, L6, Batch, batched, count, data, named, row, scalar, unknown, x

import wengert as wg


def case_reshape() -> None:  # T75
    assert_type(wg.reshape(x, (3, 2)), wg.ArrayLayer[tuple[L3, L2]])
    assert_type(wg.reshape(x, (6,)), wg.ArrayLayer[tuple[L6]])
    assert_type(wg.reshape(x, (1, 2, 3, 1)), wg.ArrayLayer[tuple[L1, L2, L3, L1]])
    assert_type(wg.reshape(wg.literal(data, 1, 1), ()), wg.ArrayLayer[tuple[()]])


def case_reshape_solves_one_dimension() -> None:  # T75
    assert_type(wg.reshape(x, (-1,)), wg.ArrayLayer[tuple[L6]])
    assert_type(wg.reshape(x, (1, -1, 2)), wg.ArrayLayer[tuple[L1, L3, L2]])
    assert_type(wg.reshape(batched, (5, -1)), wg.ArrayLayer[tuple[L5, L6]])


def case_reshape_of_names() -> None:  # T75
    assert_type(wg.reshape(named, (named.shape[0], 1, 3)), wg.ArrayLayer[tuple[Batch, L1, L3]])
    assert_type(wg.reshape(named, (-1, 3)), wg.ArrayLayer[tuple[Batch, L3]])
    batch, _ = named.shape
    wg.reshape(named, (3, batch))  # E[shape]: Batch would not stay in one piece; move axes with permute_dims


def case_reshape_to_the_shape_of_another() -> None:  # T75
    assert_type(wg.reshape(wg.literal(data, 6), x.shape), wg.ArrayLayer[tuple[L2, L3]])
    wg.reshape(x, batched.shape)  # E[shape]: into \(5, 2, 3\) \(30 elements\)$


def case_reshape_miscounted() -> None:  # T75
    wg.reshape(x, (4, 2))  # E[shape]: ^reshape: cannot reshape \(2, 3\) \(6 elements\) into \(4, 2\)
    wg.reshape(x, (4, -1))  # E[shape]: cannot reshape \(2, 3\) \(6 elements\) into \(4, -1\) \(4 elements\)$
    wg.reshape(row, (2, 2))  # E[shape]: cannot reshape \(3,\) \(3 elements\) into \(2, 2\) \(4 elements\)$
    wg.reshape(named, (6,))  # E[shape]: \(Batch, 3\) \(3\*Batch elements\) into \(6,\) \(6 elements\)$


def case_reshape_of_too_many_unknowns() -> None:  # T75
    wg.reshape(x, (-1, -1))  # E[shape]: ^reshape: .*: at most one dimension may be -1$
    wg.reshape(x, (2, -3))  # E[shape]: at most one dimension may be -1


def case_reshape_to_unknown_sizes() -> None:  # T75, T79
    assert_type(wg.reshape(x, (count(), 3)), wg.ArrayLayer[tuple[Any, L3]])
    assert_type(wg.reshape(x, (count(), -1)), wg.ArrayLayer[tuple[Any, Any]])
    assert_type(wg.reshape(unknown, (2, -1)), wg.ArrayLayer[tuple[L2, Any]])


def case_permute() -> None:  # T75
    assert_type(wg.permute_dims(named, (1, 0)), wg.ArrayLayer[tuple[L3, Batch]])
    assert_type(wg.permute_dims(batched, (2, 0, 1)), wg.ArrayLayer[tuple[L3, L5, L2]])
    assert_type(wg.permute_dims(batched, (0, -1, -2)), wg.ArrayLayer[tuple[L5, L3, L2]])
    assert_type(wg.permute_dims(row, (0,)), wg.ArrayLayer[tuple[L3]])


def case_permute_refused() -> None:  # T75
    wg.permute_dims(x, (0, 0))  # E[shape]: ^permute_dims: axes \(0, 0\) are not a permutation of 2 axes$
    wg.permute_dims(batched, (1, 0))  # E[shape]: axes \(1, 0\) are not a permutation of 3 axes$
    wg.permute_dims(x, (0, 1, 2))  # E[shape]: axes \(0, 1, 2\) are not a permutation of 2 axes$
    wg.permute_dims(x, 1)  # E[arg-type]: "int"


def case_expand() -> None:  # T75
    assert_type(wg.expand_dims(row, axis=0), wg.ArrayLayer[tuple[L1, L3]])
    assert_type(wg.expand_dims(row, axis=-1), wg.ArrayLayer[tuple[L3, L1]])
    assert_type(wg.expand_dims(named, axis=(0, -1)), wg.ArrayLayer[tuple[L1, Batch, L3, L1]])
    assert_type(wg.expand_dims(scalar, 0), wg.ArrayLayer[tuple[L1]])


def case_expand_refused() -> None:  # T75
    wg.expand_dims(x, 3)  # E[shape]: ^expand_dims: axis 3 is out of range for shape \(2, 3\)$
    wg.expand_dims(x, (0, 0))  # E[shape]: ^expand_dims: axes \(0, 0\) name one place of the result twice$


def case_squeeze() -> None:  # T75
    assert_type(wg.squeeze(wg.expand_dims(x, 1), 1), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.squeeze(wg.literal(data, 1, 3, 1), axis=(0, -1)), wg.ArrayLayer[tuple[L3]])
    assert_type(wg.squeeze(wg.mean(x, axis=0, keepdims=True), 0), wg.ArrayLayer[tuple[L3]])


def case_squeeze_refused() -> None:  # T75
    wg.squeeze(x, axis=1)  # E[shape]: ^squeeze: axis 1 of shape \(2, 3\) has size 3, not 1$
    wg.squeeze(named, axis=0)  # E[shape]: ^squeeze: axis 0 of shape \(Batch, 3\) has size Batch, not 1$
    wg.squeeze(x, axis=2)  # E[shape]: axis 2 is out of range


def case_broadcast_to() -> None:  # T75
    assert_type(wg.broadcast_to(x, (5, 2, 3)), wg.ArrayLayer[tuple[L5, L2, L3]])
    assert_type(wg.broadcast_to(row, (4, 3)), wg.ArrayLayer[tuple[L4, L3]])
    assert_type(wg.broadcast_to(wg.literal(data, 2, 1), x.shape), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.broadcast_to(row, named.shape), wg.ArrayLayer[tuple[Batch, L3]])


def case_broadcast_to_refused() -> None:  # T75
    wg.broadcast_to(x, (2, 4))  # E[shape]: ^broadcast_to: cannot broadcast \(2, 3\) to \(2, 4\)$
    wg.broadcast_to(row, (2, 4))  # E[shape]: ^broadcast_to: cannot broadcast \(3,\) to \(2, 4\)$
    wg.broadcast_to(x, (3,))  # E[shape]: cannot broadcast \(2, 3\) to \(3,\)$
    wg.broadcast_to(x, named.shape)  # E[shape]: cannot broadcast \(2, 3\) to \(Batch, 3\)$


def case_shapes_that_are_no_tuples_of_integers() -> None:  # T75
    wg.reshape(x, "6")  # E[arg-type]: "str"
    wg.reshape(x, (2.0, 3))  # E[arg-type]: "tuple\[float, int\]"
    wg.broadcast_to(x, None)  # E[arg-type]: "None"


def case_flattened_images() -> None:  # T75
    images = wg.literal(data, Batch, 28, 28)
    flat = wg.reshape(images, (images.shape[0], -1))
    assert_type(flat, wg.ArrayLayer[tuple[Batch, Literal[784]]])
    flat @ wg.literal(data, 728, 10)  # E[shape]: inner dimensions 784 and 728 differ$
