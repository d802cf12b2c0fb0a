"""Recurrent layers of several cells: values and derivatives of PyTorch's, rows that end, seeds, refusals, executors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import wengert as wg
from wengert import nn
from wengert.errors import ArgumentError, ShapeError
from wengert.plugins import SGD
from wengert.run import Batched, Sequential
from wengert.testing import check_gradients

settings = SGD(learning_rate=0.1)
Array = np.ndarray[Any, np.dtype[np.float64]]  # Any: of every shape
Layers: Any = {"RNN": nn.RNN, "LSTM": nn.LSTM, "GRU": nn.GRU}  # Any: the sizes are what varies
LENGTHS = [5, 2, 0, 4]


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def made(kind: str, *, layers: int = 1, bidirectional: bool = False, **options: Any) -> Any:
    """A layer of 3 features and cells of 2, with biases that are not 0."""
    layer = Layers[kind].make(
        settings, 3, 2, seed=0, dtype=np.float64, layers=layers, bidirectional=bidirectional, **options
    )
    return nn.map_weights(layer, lambda w: w + drawn(*w.shape, seed=w.shape[-1]) * 0.3)


def flat(outputs: Any) -> list[Any]:
    """All outputs and each part of the last state."""
    y, state = outputs
    return [y, *(state if isinstance(state, tuple) else (state,))]


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("kind", Layers)
def test_several_cells_are_single_ones_in_a_row(kind: str, lengths: list[int] | None) -> None:
    """Each row by itself, step by step and cut at its end, is what all rows are together."""
    layer = made(kind, layers=2, bidirectional=True)
    x = drawn(5, 4, 3)
    given = [drawn(4, 4, 2, seed=part) for part in range(2 if kind == "LSTM" else 1)]
    state: Any = tuple(given) if kind == "LSTM" else given[0]
    y, *ends = (part.predict().run() for part in flat(layer(x, state, lengths=lengths)))
    for row, length in enumerate(lengths or [5] * 4):
        below = x[:length, row]
        for depth in range(2):
            outputs: list[Any] = [[], []]
            for way in range(2):
                index = 2 * depth + way
                each: Any = tuple(part[index, row] for part in given)
                at: Any = each if kind == "LSTM" else each[0]
                for step in below[:: -1 if way else 1]:
                    at = layer.cells[index](step, at)
                    outputs[way].append((at[0] if kind == "LSTM" else at).predict().run())
                last = [part if isinstance(part, np.ndarray) else part.predict().run()
                        for part in (at if kind == "LSTM" else (at,))]  # fmt: skip
                for mine, right in zip(ends, last, strict=True):
                    assert_allclose(mine[index, row], right, rtol=1e-12, atol=1e-14)
            there, back = outputs[0], outputs[1][::-1]
            below = np.reshape([np.concatenate(pair) for pair in zip(there, back, strict=True)], (length, 4))
        assert_allclose(y[:length, row], below, rtol=1e-12, atol=1e-14)
        assert_array_equal(y[length:, row], 0.0)


@pytest.mark.parametrize("kind", Layers)
def test_derivatives(kind: str) -> None:
    layer = made(kind, layers=2, bidirectional=True)

    def called(x: Any, *state: Any) -> Any:
        given = state if kind == "LSTM" else state[0]
        y, *ends = flat(layer(x, given, lengths=[3, 1]))
        return wg.concat([wg.reshape(part, (-1,)) for part in (y, *ends)])

    parts = 2 if kind == "LSTM" else 1
    found = check_gradients(called, drawn(3, 2, 3), *(drawn(4, 2, 2, seed=part) for part in range(parts)))
    assert found.worst < 1e-7


@pytest.mark.parametrize("lengths", [None, [5, 2, 1, 4]])
@pytest.mark.parametrize("kind", Layers)
def test_values_and_derivatives_are_those_of_pytorch(kind: str, lengths: list[int] | None) -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is with the benchmarks, not with the tests")
    ours = Layers[kind].make(settings, 3, 2, seed=0, dtype=np.float64, layers=2, bidirectional=True)
    theirs = getattr(torch.nn, kind)(3, 2, num_layers=2, bidirectional=True, dtype=torch.float64)
    names = [f"l{depth}{way}" for depth in range(2) for way in ("", "_reverse")]
    with torch.no_grad():
        for cell, name in zip(ours.cells, names, strict=True):
            getattr(theirs, f"weight_ih_{name}").copy_(torch.tensor(cell.inputs.data.T.copy()))
            getattr(theirs, f"weight_hh_{name}").copy_(torch.tensor(cell.hidden.data.T.copy()))
            getattr(theirs, f"bias_ih_{name}").copy_(torch.tensor(cell.bias.data))
            getattr(theirs, f"bias_hh_{name}").zero_()
    x = drawn(5, 4, 3)
    given: Any = torch.tensor(x)
    pack = torch.nn.utils.rnn
    if lengths is not None:
        given = pack.pack_padded_sequence(given, torch.tensor(lengths), enforce_sorted=False)
    out, state = theirs(given)
    out = out if lengths is None else pack.pad_packed_sequence(out)[0]
    wanted = flat((out, state))
    found = flat(ours(x, lengths=lengths))
    factors = [drawn(*part.shape, seed=i) for i, part in enumerate(wanted)]
    for mine, right in zip(found, wanted, strict=True):
        assert_allclose(mine.predict().run(), right.detach().numpy(), rtol=1e-9, atol=1e-12)
    loss: Any = sum(wg.sum(part * factor) for part, factor in zip(found, factors, strict=True))
    weights = [weight for cell in ours.cells for weight in (cell.inputs, cell.hidden, cell.bias)]
    deltas = wg.gradients(loss, tuple(weights)).run()
    total: Any = sum(
        (part * torch.tensor(factor)).sum() for part, factor in zip(wanted, factors, strict=True)
    )
    total.backward()
    right = [getattr(theirs, f"{part}_{name}").grad.numpy() for name in names
             for part in ("weight_ih", "weight_hh", "bias_ih")]  # fmt: skip
    for delta, their in zip(deltas, right, strict=True):
        assert_allclose(delta, their.T, rtol=1e-8, atol=1e-10)


def test_a_seed_drops_between_layers_only() -> None:
    x, one = drawn(5, 2, 3), made("GRU", dropout=0.5)
    assert_array_equal(*(one(x, seed=seed)[0].predict().run() for seed in (None, 1)))
    two = made("GRU", layers=2, dropout=0.5)
    calm, seeded, again, other = (two(x, seed=seed)[0].predict().run() for seed in (None, 1, 1, 2))
    assert_array_equal(seeded, again)
    assert not np.allclose(calm, seeded)
    assert not np.allclose(seeded, other)
    assert_array_equal(two(x, seed=1)[1].predict().run()[0], two(x)[1].predict().run()[0])


@pytest.mark.parametrize("kind", Layers)
def test_all_executors_train_it_alike(kind: str) -> None:
    x, lengths, left = drawn(4, 2, 3), np.array([4, 2]), []
    for run in (Sequential(), Sequential(compiled=False), Batched()):
        layer = Layers[kind].make(settings, 3, 2, seed=0, dtype=np.float64, layers=2, bidirectional=True)
        for step in range(10):
            y, *ends = flat(layer(x + 0.1 * step, lengths=lengths))
            wg.sum(wg.square(y) + sum(wg.sum(end) for end in ends)).train().run(run)
        left.append([weight.data for weight in nn.weights(layer).values()])
    for other in left[1:]:
        for a, b in zip(left[0], other, strict=True):
            assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_a_relu_network_and_an_initializer() -> None:
    layer = nn.RNN.make(
        settings, 3, 2, seed=0, layers=2, activation=wg.relu, init=nn.init.constant(-1.0), name="net"
    )
    y, h = layer(np.ones((2, 4, 3), np.float32))
    assert not y.predict().run().any()
    assert layer.cells[1].hidden.name == "net.cells.1.hidden"
    assert set(layer.cells[1].inputs.data.reshape(-1).tolist()) == {-1.0}
    assert h.shape == (2, 4, 2)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {  # Any: calls that are wrong on purpose
    "other features": (
        lambda f: f(np.ones((5, 2, 4))),
        ShapeError,
        r"LSTM: expected last axis 3, got \(5, 2, 4\)",
    ),
    "no time": (lambda f: f(np.ones(3)), ShapeError, r"LSTM: expected \(time, ..., 3\), got \(3,\)"),
    "a state of one cell": (
        lambda f: f(drawn(5, 2, 3), (drawn(2, 2), drawn(2, 2))),
        ShapeError,
        r"LSTM: expected a state h of shape \(4, 2, 2\), got \(2, 2\)",
    ),
    "other rows": (
        lambda f: f(drawn(5, 2, 3), lengths=[5, 4, 3]),
        ShapeError,
        r"LSTM: expected lengths of shape \(2,\), got \(3,\)",
    ),
    "too long": (
        lambda f: f(drawn(5, 2, 3), lengths=[5, 6]),
        ArgumentError,
        r"LSTM: lengths are integers from 0 to 5, the number of steps; got \[5, 6\]",
    ),
    "no integers": (
        lambda f: f(drawn(5, 2, 3), lengths=np.array([5.0, 2.0])),
        ArgumentError,
        "LSTM: lengths are integers from 0 to 5",
    ),
    "no layer": (
        lambda f: nn.LSTM.make(settings, 3, 2, seed=0, layers=0),
        ArgumentError,
        "LSTM: layers is a positive integer; got 0",
    ),
    "both": (
        lambda f: Layers["LSTM"].make(settings, 3, 2, seed=0, bidirectional="both"),
        ArgumentError,
        "LSTM: bidirectional is True or False; got 'both'",
    ),
    "a way without another": (
        lambda f: nn.LSTM(f.cells[:3], bidirectional=True),
        ShapeError,
        "LSTM: expected cells for each layer, 2 for each; got 3",
    ),
    "cells that do not fit": (
        lambda f: nn.LSTM(f.cells),
        ShapeError,
        r"LSTM: expected input weights of cell 1 of shape \(2, 8\), got \(3, 8\)",
    ),
    "another rate": (
        lambda f: nn.LSTM.make(settings, 3, 2, seed=0, dropout=1.5),
        ArgumentError,
        "Dropout: the rate is a number from 0 to less than 1; got 1.5",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_an_error_says_what_and_where(what: str) -> None:
    call, error, said = REFUSED[what]
    layer = Layers["LSTM"].make(settings, 3, 2, seed=0, dtype=np.float64, layers=2, bidirectional=True)
    with pytest.raises(error, match=said) as caught:
        call(layer)
    assert __file__ in str(caught.value)
