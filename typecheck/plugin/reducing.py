"""Reductions, losses and what may be trained (T74)."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
from given import L1, L2, L3, L5, Batch, batched, count, data, named, unknown, w, x

import wengert as wg

Scalar = wg.ArrayLayer[tuple[()]]


def case_all_axes() -> None:  # T74
    assert_type(wg.sum(x), Scalar)
    assert_type(wg.mean(x, axis=None), Scalar)
    assert_type(wg.max(x, axis=(0, 1)), Scalar)
    assert_type(wg.min(batched, axis=(-1, -2, -3)), Scalar)


def case_one_axis() -> None:  # T74
    assert_type(wg.sum(x, axis=0), wg.ArrayLayer[tuple[L3]])
    assert_type(wg.mean(named, axis=1), wg.ArrayLayer[tuple[Batch]])
    assert_type(wg.max(batched, axis=-1), wg.ArrayLayer[tuple[L5, L2]])


def case_some_axes() -> None:  # T74
    assert_type(wg.sum(batched, axis=(0, 2)), wg.ArrayLayer[tuple[L2]])
    assert_type(wg.mean(batched, axis=(-1, 0)), wg.ArrayLayer[tuple[L2]])
    assert_type(wg.sum(x, axis=()), wg.ArrayLayer[tuple[L2, L3]])


def case_kept_axes() -> None:  # T74
    assert_type(wg.mean(x, axis=-1, keepdims=True), wg.ArrayLayer[tuple[L2, L1]])
    assert_type(wg.min(x, axis=None, keepdims=True), wg.ArrayLayer[tuple[L1, L1]])
    assert_type(wg.sum(named, axis=1, keepdims=True), wg.ArrayLayer[tuple[Batch, L1]])
    assert_type(x - wg.mean(x, axis=1, keepdims=True), wg.ArrayLayer[tuple[L2, L3]])


def case_unknown_axes(flag: bool) -> None:  # T74, T79
    assert_type(wg.sum(x, axis=count()), wg.ArrayLayer[Any])
    assert_type(wg.sum(x, axis=0, keepdims=flag), wg.ArrayLayer[Any])
    assert_type(wg.sum(unknown, axis=0), wg.ArrayLayer[Any])


def case_axes_out_of_range() -> None:  # T74
    wg.mean(x, axis=2)  # E[shape]: ^mean: axis 2 is out of range for shape \(2, 3\)$
    wg.sum(x, axis=-3)  # E[shape]: ^sum: axis -3 is out of range for shape \(2, 3\)$
    wg.max(named, axis=(0, 2))  # E[shape]: ^max: axis 2 is out of range for shape \(Batch, 3\)$


def case_an_axis_named_twice() -> None:  # T74
    wg.sum(x, axis=(0, -2))  # E[shape]: ^sum: axes \(0, -2\) name one axis of shape \(2, 3\) twice$
    wg.mean(batched, axis=(1, 1))  # E[shape]: ^mean: axes \(1, 1\) name one axis


def case_axes_that_are_no_integers() -> None:  # T74
    wg.sum(x, axis="rows")  # E[call-overload]: matches argument types "ArrayLayer\[.*", "str"
    wg.mean(x, axis=1.0)  # E[call-overload]: matches argument types "ArrayLayer\[.*", "float"
    wg.sum(x, 0, 1)  # E[call-overload]: matches argument types "ArrayLayer\[.*", "int", "int"


def case_a_forgotten_keepdims() -> None:  # T74
    x - wg.mean(x, axis=1)  # E[shape]: ^subtract: shapes \(2, 3\) and \(2,\) do not broadcast


def case_nothing_to_choose_from() -> None:  # T74
    empty = wg.literal(data, 0, 3)
    assert_type(wg.sum(empty, axis=0), wg.ArrayLayer[tuple[L3]])
    wg.max(empty, axis=0)  # E[shape]: ^max: no element to choose from along axis 0 of shape \(0, 3\)$


def case_along_an_axis() -> None:  # T74
    assert_type(wg.softmax(x), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(wg.log_softmax(named, axis=0), wg.ArrayLayer[tuple[Batch, L3]])
    wg.softmax(x, axis=2)  # E[shape]: ^softmax: axis 2 is out of range for shape \(2, 3\)$
    wg.log_softmax(x, axis=-3)  # E[shape]: ^log_softmax: axis -3 is out of range


def case_masks_are_counted() -> None:  # T74, T81
    assert_type(wg.sum(wg.greater(x, 0.0)), Scalar)
    assert_type(wg.sum(wg.greater(named, 0.0), axis=1), wg.ArrayLayer[tuple[Batch]])


def case_losses_of_pairs() -> None:  # T74
    assert_type(wg.mse_loss(x, x), Scalar)
    assert_type(wg.huber_loss(named, named, delta=2.0, reduction="none"), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(wg.cosine_similarity(batched, batched, axis=1), wg.ArrayLayer[tuple[L5, L3]])
    assert_type(wg.triplet_margin_loss(x, x, x, reduction="none"), wg.ArrayLayer[tuple[L2]])
    assert_type(wg.softmax_cross_entropy(x, x, axis=0, reduction="none"), wg.ArrayLayer[tuple[L3]])
    wg.mse_loss(x, x[:, 0])  # E[shape]: ^mse_loss: shapes \(2, 3\) and \(2,\) differ; a loss compares element
    wg.kl_div(x, named)  # E[shape]: ^kl_div: shapes \(2, 3\) and \(Batch, 3\) differ
    wg.train(wg.l1_loss(x, x, reduction="none"))  # E[shape]: ^train: a loss is a scalar
    wg.mse_loss(x, x, reduction="avg")  # E[arg-type]: incompatible type "Literal\['avg'\]"


def case_activations_with_a_number() -> None:  # T74
    assert_type(wg.leaky_relu(named, negative_slope=0.2), wg.ArrayLayer[tuple[Batch, L3]])
    assert_type(wg.elu(1.0), wg.DoubleLayer)
    assert_type(wg.glu(wg.literal(data, 6, 3), axis=0), wg.ArrayLayer[tuple[L3, L3]])
    wg.glu(x)  # E[shape]: ^glu: cannot split axis 1 of shape \(2, 3\) into 2 equal parts
    assert_type(wg.prelu(x, x[0]), wg.ArrayLayer[tuple[L2, L3]])
    wg.prelu(x, w[0])  # E[shape]: ^prelu: expected one slope, or one for each channel of \(2, 3\)


def case_labels(labels: npt.NDArray[np.int64]) -> None:  # T74
    assert_type(wg.cross_entropy(named, labels), Scalar)
    assert_type(wg.cross_entropy(named, labels, reduction="none"), wg.ArrayLayer[tuple[Batch]])
    assert_type(wg.cross_entropy(batched, labels, reduction="none"), wg.ArrayLayer[tuple[L5, L2]])


def case_labels_of_another_rank() -> None:  # T74
    flat: np.ndarray[tuple[int], np.dtype[np.int64]] = np.zeros(3, np.int64)
    wide: np.ndarray[tuple[int, int], np.dtype[np.int64]] = np.zeros((3, 1), np.int64)
    assert_type(wg.cross_entropy(x, flat), Scalar)
    wg.cross_entropy(x, wide)  # E[shape]: logits of shape \(2, 3\) need labels of shape \(2,\)
    wg.cross_entropy(x, wide, reduction="none")  # E[shape]: need labels of shape \(2,\)


def case_labels_are_integers(probabilities: npt.NDArray[np.float32]) -> None:  # T74
    wg.cross_entropy(x, probabilities)  # E[dtype]: labels are integers, not float32; write x.astype
    wg.cross_entropy(x, x)  # E[call-overload]: matches argument types "ArrayLayer\[.*", "ArrayLayer\[.*"


def case_scalars_are_trained(labels: npt.NDArray[np.int64]) -> None:  # T74
    wg.train(wg.sum(x @ w))
    wg.mean(x @ w).train()
    wg.train(wg.sum(x @ w, axis=(0, 1)))
    wg.train(wg.cross_entropy(x @ w, labels))
    wg.train(wg.lift(1.0))


def case_arrays_are_not_trained(labels: npt.NDArray[np.int64]) -> None:  # T74
    wg.train(x @ w)  # E[shape]: ^train: a loss is a scalar
    wg.sum(x @ w, axis=0).train()  # E[shape]: ^train: a loss is a scalar
    wg.train(wg.mean(x, axis=0))  # E[shape]: ^train: a loss is a scalar
    wg.cross_entropy(x, labels, reduction="avg")  # E[call-overload]: No overload variant of "cross_entropy"
    wg.train(wg.cross_entropy(x, labels, reduction="none"))  # E[shape]: ^train: a loss is a scalar
