"""Calls as other libraries have them: one line that says what to write here."""

from __future__ import annotations

from typing import assert_type

from given import L2, L3, L4, L6, L8, named, row, settings, unknown, x

import wengert as wg
from wengert.nn import Embedding, Linear


def case_a_vector_is_no_loss() -> None:
    assert_type(wg.train(wg.mean(row)).run().shape, tuple[()])
    wg.train(unknown)
    wg.train(row)  # E[shape]: ^train: a loss is a scalar, this one has shape \(3,\);


def case_keywords_of_other_libraries() -> None:
    assert_type(wg.sum(x, axis=1), wg.ArrayLayer[tuple[L2]])
    wg.sum(x, dim=1)  # E[call-arg]: ^sum: the keyword is `axis`, not `dim`$
    wg.softmax(x, dim=1)  # E[call-arg]: ^softmax: the keyword is `axis`, not `dim`$
    wg.max(x, axis=1, keepdim=True)  # E[call-arg]: ^max: the keyword is `keepdims`, not `keepdim`$
    wg.sum(x, dim=1, keepdim=True)  # E[call-arg]: ^sum: the keyword is `axis`, not `dim` and `keepdims`, not
    wg.concat([x, x], dim=1)  # E[call-arg]: ^concat: the keyword is `axis`, not `dim`$
    wg.permute_dims(x, dims=(1, 0))  # E[call-arg]: ^permute_dims: the keyword is `axes`, not `dims`$


def case_comparisons_are_functions() -> None:
    assert_type(wg.where(wg.greater(x, 0.0), x, 0.0), wg.ArrayLayer[tuple[L2, L3]])
    wg.where(x > 0.0, x, 0.0)  # E[arg-type]: ^where: `>` of layers gives no mask; write wengert.greater


def case_layers_are_made() -> None:
    assert_type(Linear.make(settings, 3, 4, seed=0), Linear[L3, L4])
    assert_type(Embedding.make(settings, 3, 8, seed=0), Embedding[L3, L8])
    Linear(3, 4)  # E[arg-type]: write Linear.make\(settings, 3, 4, seed=0\)$
    Embedding(3, 8)  # E[arg-type]: write Embedding.make\(settings, 3, 8, seed=0\)$


def case_a_layer_is_no_result(layer: Linear[L3, L4]) -> None:
    assert_type(wg.relu(layer(x)), wg.ArrayLayer[tuple[L2, L4]])
    wg.relu(layer)  # E[not-differentiable]: "Linear
    layer(layer)  # E: "Linear


def case_a_shape_of_one_axis() -> None:
    assert_type(wg.reshape(x, 6), wg.ArrayLayer[tuple[L6]])
    wg.reshape(named, 24)  # E[shape]: ^reshape: cannot reshape \(Batch, 3\)


def case_a_shape_is_one_tuple() -> None:
    assert_type(wg.reshape(x, (3, 2)), wg.ArrayLayer[tuple[L3, L2]])
    wg.reshape(x, 3, 2)  # E[call-arg]: ^reshape: shape is one tuple; write reshape\(x, \(3, 2\)\)$
    wg.permute_dims(x, 1, 0)  # E[call-arg]: one tuple; write permute_dims\(x, \(1, 0\)\)$
    wg.broadcast_to(x, 4, 2, 3)  # E[call-arg]: one tuple; write broadcast_to\(x, \(4, 2, 3\)\)$
