"""Cells, trees and attention of `wengert.nn`: the shapes of their states, and what does not fit (T77, T78)."""

from __future__ import annotations

from typing import Literal, TypeVar, assert_type

from given import L2, L3, L4, L5, L8, Batch, data, named, settings, x

import wengert as wg
from wengert import nn

B = TypeVar("B", bound=int)
T = TypeVar("T", bound=int)
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)


def case_lstm() -> None:  # T77
    cell = nn.LSTMCell.make(settings, 3, 4, seed=0)
    assert_type(cell, nn.LSTMCell[L3, L4])
    assert_type(cell.bias, wg.ArrayWeight[tuple[Literal[16]]])
    h, c = cell(x)
    assert_type(h, wg.ArrayLayer[tuple[L2, L4]])
    state = cell(x, (h, c))
    state = cell(x, state)
    assert_type(state[1], wg.ArrayLayer[tuple[L2, L4]])
    cell(h)  # E[shape]: ^LSTMCell: expected last axis 3, got \(2, 4\)$
    cell(x, (x, c))  # E[shape]: ^LSTMCell: expected a state h of shape \(2, 4\), got \(2, 3\)$
    cell(x, (h, wg.literal(data, 5, 4)))  # E[shape]: a state c of shape \(2, 4\), got \(5, 4\)$
    cell(x, h)  # E[arg-type]: incompatible type "ArrayLayer\[.*"
    cell(x, h, c)  # E[call-arg]


def case_lstm_of_own_weights() -> None:
    inputs, hidden = settings.array_weight(data, 3, 16), settings.array_weight(data, 4, 16)
    cell = nn.LSTMCell(inputs, hidden, settings.array_weight(data, 16))
    assert_type(cell(x)[0], wg.ArrayLayer[tuple[L2, L4]])
    nn.LSTMCell(inputs, hidden, settings.array_weight(data, 12))  # E[arg-type]


def case_gru() -> None:  # T77
    cell = nn.GRUCell.make(settings, 3, 4, seed=0)
    h = cell(x)
    assert_type(h, wg.ArrayLayer[tuple[L2, L4]])
    assert_type(cell(x, h), wg.ArrayLayer[tuple[L2, L4]])
    assert_type(cell(named), wg.ArrayLayer[tuple[Batch, L4]])
    cell(named, h)  # E[shape]: ^GRUCell: expected a state h of shape \(Batch, 4\), got \(2, 4\)$
    cell(h, h)  # E[shape]: ^GRUCell: expected last axis 3, got \(2, 4\)$


def case_tree_lstm() -> None:  # T77
    tree = nn.TreeLSTM.make(settings, 3, 4, seed=0)
    leaf = tree.leaf(wg.literal(data, 3))
    assert_type(leaf[0], wg.ArrayLayer[tuple[L4]])
    h, c = tree.node(tree.node(leaf, leaf), leaf)
    assert_type(h, wg.ArrayLayer[tuple[L4]])
    assert_type(c, wg.ArrayLayer[tuple[L4]])
    tree.leaf(h)  # E[shape]: ^TreeLSTM.leaf: expected last axis 3, got \(4,\)$
    tree.node(leaf, tree.leaf(x))  # E[shape]: a right h of shape \(4,\), got \(2, 4\)$
    tree.node(leaf)  # E[call-arg]


def case_attention() -> None:  # T77, T78
    attention = nn.MultiHeadAttention.make(settings, 8, 2, seed=0)
    assert_type(attention, nn.MultiHeadAttention[L8, L2])
    assert_type(attention.query, nn.Linear[L8, L8])
    query = wg.literal(data, Batch, 5, 8)
    source = wg.literal(data, Batch, 3, 8)
    assert_type(attention(query), wg.ArrayLayer[tuple[Batch, L5, L8]])
    assert_type(attention(query, source), wg.ArrayLayer[tuple[Batch, L5, L8]])
    assert_type(attention(query, source, source), wg.ArrayLayer[tuple[Batch, L5, L8]])
    ordered = wg.greater_equal(wg.literal(data, 5, 1), wg.literal(data, 1, 5))
    assert_type(attention(query, mask=ordered), wg.ArrayLayer[tuple[Batch, L5, L8]])
    attention(query, source, mask=ordered)  # E[shape]: broadcasts to \(Batch, 2, 5, 3\), got \(5, 5\)$
    attention(query, source, query)  # E[shape]: a value of shape \(Batch, 3, 8\), got
    attention(query, wg.literal(data, 2, 3, 8))  # E[shape]: differ in batch$
    attention(wg.literal(data, 2, 5, 4))  # E[shape]: last axis 8, got \(2, 5, 4\)$
    attention(wg.literal(data, 8))  # E[shape]: expected \(..., time, width\), got \(8,\)$
    nn.MultiHeadAttention.make(settings, 8, 3, seed=0)  # E[shape]: 3 heads do not divide a width of 8$


def case_attention_of_all_sizes(
    layer: nn.MultiHeadAttention[W, H], x: wg.ArrayLayer[tuple[B, T, W]], other: wg.ArrayLayer[tuple[B, T, H]]
) -> wg.ArrayLayer[tuple[B, T, W]]:  # T78
    layer(other)  # E[shape]: ^MultiHeadAttention: expected last axis W, got \(B, T, H\)$
    return x + layer(x)


def case_cells_of_all_sizes(
    cell: nn.LSTMCell[W, H], x: wg.ArrayLayer[tuple[B, W]], h: wg.ArrayLayer[tuple[B, H]]
) -> tuple[wg.ArrayLayer[tuple[B, H]], wg.ArrayLayer[tuple[B, H]]]:  # T78
    cell(x, (x, h))  # E[shape]: ^LSTMCell: expected a state h of shape \(B, H\), got \(B, W\)$
    return cell(x, cell(x, (h, h)))
