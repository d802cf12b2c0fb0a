"""Transformers and positions: values and derivatives of PyTorch's, masks, seeds, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg
from wengert import nn
from wengert.errors import ArgumentError, ShapeError
from wengert.plugins import SGD
from wengert.testing import check_gradients

settings = SGD(learning_rate=0.1)
Array = np.ndarray[Any, np.dtype[np.float64]]  # Any: of every shape


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def encoder(**how: Any) -> nn.TransformerEncoderLayer[Any, np.float64]:  # Any: keywords
    return nn.TransformerEncoderLayer.make(settings, 4, 2, 6, seed=0, dtype=np.float64, **how)


@pytest.mark.parametrize("norm_first", [False, True])
def test_values_and_derivatives_are_those_of_pytorch(norm_first: bool) -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is with the benchmarks, not with the tests")
    ours = encoder(norm_first=norm_first)
    theirs = torch.nn.TransformerEncoderLayer(
        4, 2, 6, dropout=0.0, batch_first=True, norm_first=norm_first, dtype=torch.float64
    )
    maps = [ours.attention.query, ours.attention.key, ours.attention.value]
    with torch.no_grad():
        parts = theirs.self_attn
        parts.in_proj_weight.copy_(torch.tensor(np.concatenate([x.weight.data.T for x in maps])))
        pairs = (
            (parts.out_proj, ours.attention.output),
            (theirs.linear1, ours.inner),
            (theirs.linear2, ours.outer),
        )
        for their, our in pairs:
            their.weight.copy_(torch.tensor(our.weight.data.T.copy()))
            their.bias.zero_()
        parts.in_proj_bias.zero_()
    x = drawn(3, 5, 4)
    hidden = torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    wanted = theirs(torch.tensor(x), src_mask=hidden)
    y = ours(x, mask=nn.causal_mask(5))
    assert_allclose(y.predict().run(), wanted.detach().numpy(), rtol=1e-9, atol=1e-12)
    g = drawn(3, 5, 4, seed=1)
    found = wg.gradients(wg.sum(y * g), (ours.inner.weight, ours.attention.key.weight)).run()
    torch.sum(wanted * torch.tensor(g)).backward()
    assert_allclose(found[0], theirs.linear1.weight.grad.numpy().T, rtol=1e-8, atol=1e-10)
    assert_allclose(found[1], parts.in_proj_weight.grad.numpy()[4:8].T, rtol=1e-8, atol=1e-10)


def test_derivatives_of_a_decoder() -> None:
    layer = nn.TransformerDecoderLayer.make(settings, 4, 2, 3, seed=0, dtype=np.float64, norm_first=True)
    mask = nn.causal_mask(2)
    found = check_gradients(lambda x, m: layer(x, m, mask=mask), drawn(1, 2, 4), drawn(1, 3, 4, seed=1))
    assert found.worst < 1e-8


def test_a_position_sees_what_is_not_later() -> None:
    layer, x = encoder(), drawn(1, 5, 4)
    other = x.copy()
    other[:, 3:] += 1.0
    masked = [layer(data, mask=nn.causal_mask(5)).predict().run() for data in (x, other)]
    assert_allclose(masked[0][:, :3], masked[1][:, :3])
    assert (layer(x).predict().run()[:, :3] != layer(other).predict().run()[:, :3]).any()


STACK: Any = {"layers": 2, "seed": 0, "dtype": np.float64}  # Any: keywords


@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_a_sequence_that_grows_is_that_which_is_read_at_once(norm_first: bool, rotary: bool) -> None:
    of: Any = {**STACK, "norm_first": norm_first, "rotary": rotary}
    encoder: Any = nn.TransformerEncoder.make(settings, 8, 2, 6, **of)
    decoder: Any = nn.TransformerDecoder.make(settings, 8, 2, 6, **of)
    x, memory = drawn(3, 6, 8), drawn(3, 4, 8, seed=1)
    some = wg.greater(wg.lift(np.arange(4.0)), 0.5)
    mask = nn.causal_mask(6)
    past: Any = None  # Any: layers, and the data that a run gives of them
    read: Any = decoder.begin(memory)
    found: list[list[Any]] = [[], []]
    for begin, end in ((0, 1), (1, 2), (2, 5), (5, 6)):
        part = x[:, begin:end]
        y, past = encoder.step(part, past)
        z, read = decoder.step(part, read, memory_mask=some)
        found[0].append(y.predict().run())
        found[1].append(z.predict().run())
    for whole, parts in zip(
        (encoder(x, mask=mask), decoder(x, memory, mask=mask, memory_mask=some)), found, strict=True
    ):
        assert_allclose(np.concatenate(parts, axis=1), whole.predict().run(), rtol=1e-9, atol=1e-12)
    assert past[1].time == read[1][0].time == 6


def test_a_past_is_data_between_two_runs() -> None:
    stack, x = nn.TransformerEncoder.make(settings, 8, 2, 6, **STACK), drawn(3, 4, 8)
    wanted = stack(x, mask=nn.causal_mask(4)).predict().run()
    past: Any = None  # Any: data of each run
    for at in range(4):
        y, past = wg.predict(stack.step(x[:, at : at + 1], past)).run()
        assert isinstance(past[0].keys, np.ndarray)
        assert_allclose(y[:, 0], wanted[:, at], rtol=1e-9, atol=1e-12)


def test_derivatives_of_steps_and_of_a_stack() -> None:
    stack = nn.TransformerDecoder.make(settings, 4, 2, 3, **STACK, norm_first=True, rotary=True)

    def in_steps(x: Any, memory: Any) -> Any:
        y, past = stack.step(x[:, :1], stack.begin(memory))
        return wg.concat([y, stack.step(x[:, 1:], past)[0]], axis=1)

    operands = drawn(2, 3, 4), drawn(2, 2, 4, seed=1)
    assert check_gradients(in_steps, *operands).worst < 1e-7
    assert check_gradients(lambda x, m: stack(x, m, mask=nn.causal_mask(3)), *operands).worst < 1e-7


def test_what_a_step_refuses() -> None:
    stack: Any = nn.TransformerEncoder.make(settings, 8, 2, 6, **STACK)  # Any: wrong on purpose
    _, past = stack.step(drawn(3, 1, 8))
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: stack.step(drawn(2, 1, 8), past), ShapeError, r"keys of shape \(2, 2, 1, 4\) do not follow"),
        (lambda: stack.step(drawn(3, 1, 8), past[:1]), ArgumentError, "each of 2 layers; got one of 1"),
        (lambda: stack.step(drawn(3, 1, 8), 3), ArgumentError, "each of 2 layers; got 3"),
        (lambda: stack.step(drawn(8)), ShapeError, r"expected \(..., time, width\), got \(8,\)"),
        (
            lambda: nn.causal_mask(3, begin=3),
            ArgumentError,
            "causal_mask: begin is an integer from 0 to 2; got 3",
        ),
        (
            lambda: nn.TransformerEncoder.make(settings, 8, 2, 6, layers=0, seed=0),
            ArgumentError,
            "TransformerEncoder: layers is a positive integer; got 0",
        ),
    ]
    for call, error, said in cases:
        with pytest.raises(error, match=said) as caught:
            call()
        assert __file__ in str(caught.value)


def test_a_seed_drops() -> None:
    layer, x = encoder(dropout=0.5), drawn(1, 5, 4)
    calm, one, again, two = (layer(x, seed=seed).predict().run() for seed in (None, 1, 1, 2))
    assert_allclose(one, again)
    assert not np.allclose(one, two)
    assert_allclose(calm, layer(x).predict().run())


def test_products_of_turned_vectors_know_distances_only() -> None:
    q: Any = np.tile(drawn(1, 6), (7, 1))  # Any: of a computed shape, as the next
    k: Any = np.tile(drawn(1, 6, seed=1), (7, 1))
    scores = nn.rotary(q) @ wg.permute_dims(nn.rotary(k), (1, 0))
    found = scores.predict().run()
    for distance in range(-6, 7):
        line = np.diagonal(found, distance)
        assert_allclose(line, np.full(line.shape, line[0]))
    assert_allclose(nn.rotary(q, begin=3).predict().run()[0], nn.rotary(q).predict().run()[3])
    assert check_gradients(nn.rotary, drawn(2, 3, 4)).worst < 1e-8


def test_positions() -> None:
    found = nn.sinusoidal_positions(50, 8)
    assert (found.shape, found.dtype) == ((50, 8), np.dtype(np.float32))
    assert_allclose(found[7, 2], np.sin(7 / 10000 ** (2 / 8)), rtol=1e-5)
    assert_allclose(found[7, 3], np.cos(7 / 10000 ** (2 / 8)), rtol=1e-5)


def test_what_is_refused() -> None:
    for call, said in (
        (
            lambda: nn.sinusoidal_positions(3, 5),
            "sinusoidal_positions: width is an even positive integer; got 5",
        ),
        (lambda: nn.causal_mask(0), "causal_mask: time is a positive integer; got 0"),
    ):
        with pytest.raises(ArgumentError, match=said):
            call()
    with pytest.raises(
        ShapeError, match=r"rotary: expected \(..., time, width\) with an even width, got \(2, 3\)"
    ):
        nn.rotary(np.ones((2, 3)))
    layer: Any = encoder()  # Any: wrong on purpose
    with pytest.raises(ShapeError, match="MultiHeadAttention: expected last axis 4"):
        layer(np.ones((1, 5, 3)))
