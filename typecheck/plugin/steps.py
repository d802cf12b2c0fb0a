"""All steps of a sequence: the shapes that `LSTM`, `GRU` and `scan` give, and steps that do not fit (T77)."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from given import L1, L2, L3, L4, L5, L8, Batch, batched, named, settings, x

import wengert as wg
from wengert import nn

State = wg.ArrayLayer[tuple[L2, L4]]
Given = wg.ArrayLayer[tuple[L2, L3]]
u = settings.array_weight(np.ones((3, 4), np.float32), 3, 4)
begin: State = wg.literal(np.zeros((2, 4), np.float32), 2, 4)


@wg.cell
def step(h: State, given: Given) -> tuple[State, tuple[State, Given]]:
    h = wg.tanh(given @ u + h)
    return h, (h, given)


@wg.cell
def last_only(h: State, given: Given) -> tuple[State, tuple[()]]:
    return wg.tanh(given @ u + h), ()


def case_lstm() -> None:  # T77
    lstm = nn.LSTM(nn.LSTMCell.make(settings, 3, 4, seed=0))
    assert_type(lstm, nn.LSTM[L3, L4, L1, L1])
    y, (h, c) = lstm(batched)
    assert_type(y, wg.ArrayLayer[tuple[L5, L2, L4]])
    assert_type(h, State)
    lstm(batched, (h, c))
    lstm(batched, (h, x))  # E[shape]: ^LSTM: expected a state c of shape \(2, 4\), got \(2, 3\)$
    lstm(y)  # E[shape]: ^LSTM: expected last axis 3, got \(5, 2, 4\)$
    lstm(wg.sum(x, axis=0))  # E[shape]: ^LSTM: expected \(time, ..., 3\), got \(3,\)$


def case_gru() -> None:  # T77
    gru = nn.GRU(nn.GRUCell.make(settings, 3, 4, seed=0))
    y, h = gru(named)
    assert_type(y, wg.ArrayLayer[tuple[Batch, L4]])
    assert_type(h, wg.ArrayLayer[tuple[L4]])
    gru(named, y)  # E[shape]: ^GRU: expected a state h of shape \(4,\), got \(Batch, 4\)$


def case_several_cells(count: int, both: bool) -> None:  # T77
    lstm = nn.LSTM.make(settings, 3, 4, seed=0, layers=2, bidirectional=True)
    assert_type(lstm, nn.LSTM[L3, L4, L2, L2])
    y, (h, c) = lstm(batched, lengths=[5, 3], seed=1)
    assert_type(y, wg.ArrayLayer[tuple[L5, L2, L8]])
    assert_type(h, wg.ArrayLayer[tuple[L4, L2, L4]])
    lstm(batched, (h, c))
    lstm(batched, (h, h[0]))  # E[shape]: ^LSTM: expected a state c of shape \(4, 2, 4\), got \(2, 4\)$
    lstm(batched, lengths=[5, 3, 2])  # E[shape]: ^LSTM: expected lengths of shape \(2,\), got \(3,\)$
    lstm(y)  # E[shape]: ^LSTM: expected last axis 3, got \(5, 2, 8\)$
    nn.Linear.make(settings, 4, 2, seed=0)(y)  # E[shape]: ^Linear: expected last axis 4, got \(5, 2, 8\)$
    rnn = nn.RNN.make(settings, 3, 4, seed=0, bidirectional=True, activation=wg.relu)
    assert_type(rnn(batched)[1], wg.ArrayLayer[tuple[L2, L2, L4]])
    assert_type(nn.GRU.make(settings, 3, 4, seed=0), nn.GRU[L3, L4, L1, L1])
    some = nn.GRU.make(settings, 3, 4, seed=0, layers=count, bidirectional=both)
    assert_type(some, nn.GRU[L3, L4, Any, Any])
    bare: nn.GRU = some
    assert_type(bare(batched)[1], wg.ArrayLayer[Any])
    assert_type(some(batched)[0], wg.ArrayLayer[tuple[L5, L2, Any]])
    assert_type(nn.GRU(some.cells, both), nn.GRU[Any, L4, Any, Any])
    nn.LSTM(some.cells)  # E
    nn.RNN.make(settings, 3, 4, seed=0, activation="relu")  # E[arg-type]


def case_transformers() -> None:  # T77
    encoder = nn.TransformerEncoder.make(settings, 8, 2, 16, layers=2, seed=0)
    assert_type(encoder, nn.TransformerEncoder[L8])
    given = wg.literal(np.ones((5, 2, 8), np.float32), 5, 2, 8)
    assert_type(encoder(given), wg.ArrayLayer[tuple[L5, L2, L8]])
    y, past = encoder.step(given)
    assert_type(y, wg.ArrayLayer[tuple[L5, L2, L8]])
    assert_type(past, tuple[nn.KeyValues, ...])
    encoder.step(y, past)
    encoder.step(y, past[0])  # E[arg-type]
    encoder(batched)  # E[shape]: expected last axis 8, got \(5, 2, 3\)$
    encoder.step(batched)  # E[shape]: expected last axis 8, got \(5, 2, 3\)$
    decoder = nn.TransformerDecoder.make(settings, 8, 2, 16, layers=2, seed=0)
    assert_type(decoder(given, given), wg.ArrayLayer[tuple[L5, L2, L8]])
    assert_type(decoder.step(given, decoder.begin(given))[0], wg.ArrayLayer[tuple[L5, L2, L8]])
    decoder.step(given)  # E[call-arg]
    decoder.step(given, past)  # E[arg-type]
    nn.TransformerDecoder.make(settings, 8, 3, 16, layers=2, seed=0)  # E[shape]: 3 heads do not divide


def case_rnn_cell() -> None:  # T77
    cell = nn.RNNCell.make(settings, 3, 4, seed=0)
    assert_type(cell(x, cell(x)), wg.ArrayLayer[tuple[L2, L4]])
    cell(x, x)  # E[shape]: ^RNNCell: expected a state h of shape \(2, 4\), got \(2, 3\)$


def case_scan() -> None:  # T77
    last, (states, inputs) = wg.scan(step, begin, batched)
    assert_type(last, State)
    assert_type(states, wg.ArrayLayer[tuple[L5, L2, L4]])
    assert_type(inputs, wg.ArrayLayer[tuple[L5, L2, L3]])
    assert_type(wg.scan(last_only, begin, batched)[1], tuple[()])
    wg.scan(step, begin, states)  # E[shape]: ^scan: the cell takes \(2, 3\), and a step .* of xs is \(2, 4\)$
    wg.scan(step, begin, x)  # E[shape]: ^scan: the cell takes \(2, 3\), and a step .* of xs is \(3,\)$


def case_directions() -> None:  # T47
    loss = wg.mean(wg.square(x @ u))
    wg.hessian_product(loss, u, np.ones((3, 4), np.float32))
    wg.hessian_product(loss, u, x)  # E[shape]: a tangent of shape \(2, 3\) for one of \(3, 4\)$
    wg.jvp(loss, (u, x), (u, x))
    wg.jvp(loss, (u, x), (x, u))  # E[shape]: ^jvp: a tangent of shape \(2, 3\) for one of \(3, 4\)$
    wg.jvp(loss, (u, x), u)  # E[arg-type]: ^jvp: the vector is a structure as `wrt`
