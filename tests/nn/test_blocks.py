"""Normalizations of one example, layers made of layers, and how weights begin: values, derivatives, refusals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg
from wengert import nn
from wengert.errors import ArgumentError, ShapeError
from wengert.plugins import SGD
from wengert.testing import check_gradients
from wengert.testing.gradients import deltas_at_layers

settings = SGD(learning_rate=0.1)
Array = np.ndarray[Any, np.dtype[np.float64]]  # Any: of every shape


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def group_norm(x: Any, s: Any, o: Any) -> Any:  # Any: arrays and layers
    return nn.GroupNorm(s, o, 2)(x)


def bagged(mode: Any) -> Callable[..., Any]:  # Any: one of three words
    """Bags of 2, 0 and 3 rows, in each form, one after the other."""
    padded, flat = np.array([[1, 3, 0], [0, 0, 0], [2, 2, 1]]), np.array([1, 3, 2, 2, 1])

    def called(table: Any) -> Any:
        bag = nn.EmbeddingBag(table, mode)
        forms = bag(padded, lengths=[2, 0, 3]), bag(flat, offsets=[0, 2, 2]), bag(padded[::2])
        return wg.concat(list(forms), axis=0)

    return called


CALLS: dict[str, tuple[Callable[..., Any], tuple[Array, ...]]] = {  # Any: as above
    "RMSNorm": (lambda x, s: nn.RMSNorm(s, eps=1e-5)(x), (drawn(2, 3), drawn(3, seed=1))),
    "GroupNorm": (group_norm, (drawn(2, 4, 2, 3), drawn(4, seed=1), drawn(4, seed=2))),
    "InstanceNorm": (
        lambda x, s, o: nn.InstanceNorm(s, o)(x),
        (drawn(2, 3, 2, 2), drawn(3, seed=1), drawn(3, seed=2)),
    ),
    "ConvTranspose2d": (
        lambda x, k, b: nn.ConvTranspose2d(k, b, 2, 1)(x),
        (drawn(1, 2, 2, 3), drawn(2, 3, 3, 3, seed=1), drawn(3, seed=2)),
    ),
    "Conv1d": (
        lambda x, k, b: nn.Conv1d(k, b, 2, 1, 2, 2)(x),
        (drawn(2, 4, 7), drawn(6, 2, 3, seed=1), drawn(6, seed=2)),
    ),
    "Conv2d": (
        lambda x, k, b: nn.Conv2d(k, b, 1, 1, 2, 3)(x),
        (drawn(1, 3, 4, 5), drawn(3, 1, 3, 3, seed=1), drawn(3, seed=2)),
    ),
    "Conv3d": (
        lambda x, k, b: nn.Conv3d(k, b, 1, 1, 1, 2)(x),
        (drawn(1, 2, 2, 3, 2), drawn(2, 1, 2, 2, 2, seed=1), drawn(2, seed=2)),
    ),
    "ConvTranspose1d": (
        lambda x, k, b: nn.ConvTranspose1d(k, b, 2, 1, 2, 2)(x),
        (drawn(1, 4, 3), drawn(4, 3, 3, seed=1), drawn(6, seed=2)),
    ),
    "ConvTranspose3d": (
        lambda x, k, b: nn.ConvTranspose3d(k, b, 2, 0)(x),
        (drawn(1, 2, 2, 1, 2), drawn(2, 1, 2, 2, 2, seed=1), drawn(1, seed=2)),
    ),
    "Bilinear": (
        lambda x, y, w, b: nn.Bilinear(w, b)(x, y),
        (drawn(2, 2, 3), drawn(2, 2, 4, seed=1), drawn(5, 3, 4, seed=2), drawn(5, seed=3)),
    ),
    **{f"EmbeddingBag, {mode}": (bagged(mode), (drawn(4, 2),)) for mode in ("sum", "mean", "max")},
    "MLP": (
        lambda x, w, b, v: nn.MLP((nn.Linear(w, b), nn.Linear(v)), wg.tanh, nn.Dropout(0.0))(x),
        (drawn(2, 3), drawn(3, 4), drawn(4), drawn(4, 2)),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name: str) -> None:
    call, operands = CALLS[name]
    assert check_gradients(call, *operands).worst < 1e-8


@pytest.mark.parametrize("name", CALLS)
def test_values_and_derivatives_are_those_of_pytorch(name: str) -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is with the benchmarks, not with the tests")
    f = torch.nn.functional
    padded, flat = torch.tensor([[1, 3, 0], [2, 2, 1]]), torch.tensor([1, 3, 2, 2, 1])

    def bags(mode: str) -> Callable[..., Any]:  # Any: tensors
        def called(table: Any) -> Any:
            given = f.embedding_bag(flat, table, torch.tensor([0, 2, 2]), mode=mode)
            return torch.cat([given, given, f.embedding_bag(padded, table, mode=mode)])

        return called

    theirs: dict[str, Callable[..., Any]] = {  # Any: tensors
        "Bilinear": f.bilinear,
        **{f"EmbeddingBag, {mode}": bags(mode) for mode in ("sum", "mean", "max")},
        "RMSNorm": lambda x, s: f.rms_norm(x, (3,), s, 1e-5),
        "GroupNorm": lambda x, s, o: f.group_norm(x, 2, s, o),
        "InstanceNorm": lambda x, s, o: f.instance_norm(x, weight=s, bias=o),
        "ConvTranspose2d": lambda x, k, b: f.conv_transpose2d(x, k, b, 2, 1),
        "Conv1d": lambda x, k, b: f.conv1d(x, k, b, 2, 1, 2, 2),
        "Conv2d": lambda x, k, b: f.conv2d(x, k, b, 1, 1, 2, 3),
        "Conv3d": lambda x, k, b: f.conv3d(x, k, b, 1, 1, 1, 2),
        "ConvTranspose1d": lambda x, k, b: f.conv_transpose1d(x, k, b, 2, 1, 0, 2, 2),
        "ConvTranspose3d": lambda x, k, b: f.conv_transpose3d(x, k, b, 2, 0),
        "MLP": lambda x, w, b, v: torch.tanh(x @ w + b) @ v,
    }
    call, operands = CALLS[name]
    xs = [torch.tensor(x, requires_grad=True) for x in operands]
    wanted = theirs[name](*xs)
    value = call(*operands).predict().run()
    assert_allclose(value, wanted.detach().numpy(), rtol=1e-9, atol=1e-12)
    g = drawn(*value.shape, seed=9)
    deltas = deltas_at_layers(call, operands, g)
    for delta, their in zip(deltas, torch.autograd.grad(wanted, xs, torch.as_tensor(g)), strict=True):
        assert_allclose(delta, their.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("layer", [nn.Conv1d, nn.Conv2d, nn.Conv3d])
def test_same_padding_keeps_a_dilated_convolution_as_large_as_it_was(
    layer: Any,
) -> None:  # Any: of every rank
    sides = (5, 4, 6)[: int(layer.__name__[-2])]
    made = layer.make(settings, 4, 6, 3, padding="same", dilation=2, groups=2, seed=0)
    assert made(np.ones((2, 4, *sides), np.float32)).shape == (2, 6, *sides)
    assert made.kernel.shape[:2] == (6, 2)
    with pytest.raises(ShapeError, match=rf"{layer.__name__}: 4 groups do not divide 6 channels"):
        layer.make(settings, 4, 6, 3, groups=4, seed=0)


@pytest.mark.parametrize("layer", [nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d])
def test_a_transposed_convolution_in_groups_has_a_bias_for_each_channel(layer: Any) -> None:  # Any: as above
    sides = (3,) * int(layer.__name__[-2])
    made = layer.make(settings, 4, 6, 2, stride=2, groups=2, seed=0)
    assert (made.kernel.shape[:2], made.bias.shape) == ((4, 3), (6,))
    assert made(np.ones((1, 4, *sides), np.float32)).shape == (1, 6, *(6 for _ in sides))
    with pytest.raises(ShapeError, match=rf"{layer.__name__}: expected a bias of shape \(6,\), got \(3,\)"):
        layer(made.kernel, made.bias[:3], 2, 0, 1, 2)


def test_a_residual_passes_on_the_seed_and_refuses_another_shape() -> None:
    block = nn.Residual(nn.Dropout(0.5))
    x = np.ones(64, np.float32)
    assert block(x).predict().run().tolist() == [2.0] * 64
    assert set(block(x, seed=1).predict().run().tolist()) == {1.0, 3.0}
    with pytest.raises(
        ShapeError, match=r"Residual: expected a layer that keeps shape \(64,\), it gave \(32,\)"
    ):
        nn.Residual(lambda h: h[:32])(x)


def test_an_mlp_drops_in_training_only() -> None:
    net = nn.MLP.make(settings, 3, 64, 2, seed=0, dropout=0.5, name="net")
    x = np.ones((1, 3), np.float32)
    assert_allclose(net(x).predict().run(), net(x).predict().run())
    assert (net(x, seed=1).predict().run() != net(x).predict().run()).any()
    assert [*nn.weights(net)] == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]
    assert net.layers[0].weight.name == "net.layers.0.weight"


LAYERS: list[Callable[[Any], Any]] = [  # Any: initializers, and layers of every kind
    lambda init: nn.Linear.make(settings, 200, 100, seed=0, init=init).weight,
    lambda init: nn.Conv2d.make(settings, 20, 10, 3, seed=0, init=init).kernel,
    lambda init: nn.ConvTranspose2d.make(settings, 20, 10, 3, seed=0, init=init).kernel,
    lambda init: nn.Conv1d.make(settings, 40, 20, 3, groups=2, seed=0, init=init).kernel,
    lambda init: nn.LSTMCell.make(settings, 200, 50, seed=0, init=init).inputs,
    lambda init: nn.GRUCell.make(settings, 200, 50, seed=0, init=init).inputs,
    lambda init: nn.Embedding.make(settings, 200, 100, seed=0, init=init).table,
    lambda init: nn.EmbeddingBag.make(settings, 200, 100, seed=0, init=init).table,
    lambda init: nn.Bilinear.make(settings, 20, 10, 5, seed=0, init=init).weight,
    lambda init: nn.RNNCell.make(settings, 200, 50, seed=0, init=init).inputs,
    lambda init: nn.LSTM.make(settings, 50, 50, seed=0, layers=2, init=init).cells[1].hidden,
    lambda init: nn.TreeLSTM.make(settings, 200, 50, seed=0, init=init).right,
    lambda init: (
        nn.TransformerEncoder.make(settings, 100, 2, 9, layers=1, seed=0, init=init).layers[0].outer.weight
    ),
    lambda init: (
        nn.TransformerDecoder.make(settings, 100, 2, 9, layers=1, seed=0, init=init)
        .layers[0]
        .memory.key.weight
    ),
    lambda init: nn.MultiHeadAttention.make(settings, 100, 2, seed=0, init=init).key.weight,
    lambda init: nn.MLP.make(settings, 200, 100, seed=0, init=init).layers[0].weight,
]


@pytest.mark.parametrize("make", LAYERS)
def test_every_layer_takes_an_initializer(make: Callable[[Any], Any]) -> None:
    assert set(make(nn.init.constant(0.5)).data.reshape(-1).tolist()) == {0.5}
    found = make(nn.init.truncated_normal(0.1)).data
    assert np.abs(found).max() <= 0.2 + 1e-6
    assert np.abs(found).max() > 0.15
    for wrong in (3, nn.init.he_normal):
        with pytest.raises(ArgumentError, match=r"init"):
            make(wrong)


@pytest.mark.parametrize(
    ("init", "deviation", "greatest"),
    [
        (nn.init.he_normal(), math.sqrt(2 / 400), math.inf),
        (nn.init.he_uniform(), math.sqrt(2 / 400), math.sqrt(6 / 400)),
        (nn.init.glorot_normal(), math.sqrt(2 / 500), math.inf),
        (nn.init.glorot_uniform(2.0), 2.0 * math.sqrt(2 / 500), 2.0 * math.sqrt(6 / 500)),
        (nn.init.orthogonal(), 1 / math.sqrt(400), 1.0),
        (nn.init.normal(0.3), 0.3, math.inf),
        (nn.init.uniform(0.3), 0.3 / math.sqrt(3), 0.3),
    ],
)
def test_the_spread_of_initializers(init: nn.init.Init, deviation: float, greatest: float) -> None:
    data = nn.Linear.make(settings, 400, 100, seed=3, init=init).weight.data
    assert data.dtype == np.float32
    assert_allclose(data.std(), deviation, rtol=0.02)
    assert np.abs(data).max() <= greatest * (1 + 1e-6)


def test_arguments_that_are_refused() -> None:
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: nn.init.normal(-1.0), "a deviation is a finite number of 0 or more; got -1.0"),
        (lambda: nn.init.gain("swish"), "gain: known are .*; got 'swish'"),  # type: ignore[arg-type] # wrong on purpose
        (lambda: nn.MaxPool2d(0), "MaxPool2d: size is an integer of at least 1; got 0"),
        (lambda: nn.AvgPool2d(2, stride=0), "AvgPool2d: stride is an integer of at least 1; got 0"),
        (
            lambda: nn.MLP.make(settings, 3, seed=0),
            r"as in MLP\.make\(settings, 784, 128, 10, seed=0\); got 3",
        ),
    ]
    for call, said in cases:
        with pytest.raises(ArgumentError, match=said) as caught:
            call()
        assert __file__ in str(caught.value)
    bag: Any = nn.EmbeddingBag.make(settings, 3, 2, seed=0)  # Any: what follows is wrong on purpose
    bags: Any = nn.EmbeddingBag.make
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: bags(settings, 3, 2, seed=0, mode="min"), "mode is 'sum', 'mean', 'max'; got 'min'"),
        (
            lambda: bag([[0, 1]], lengths=[3]),
            r"lengths are integers from 0 to 2, the number of indices in a bag",
        ),
        (lambda: bag([0, 1], offsets=[0, 3]), r"offsets are integers from 0 to 2, the number of indices"),
        (lambda: bag([0, 1], offsets=[1]), "offsets are a vector that begins with 0 and does not fall"),
        (lambda: bag([[0, 1]], lengths=[1], offsets=[0]), "lengths or offsets, not both"),
    ]
    for call, said in wrong:
        with pytest.raises(ArgumentError, match=said) as caught:
            call()
        assert __file__ in str(caught.value)
    pair: Any = nn.Bilinear.make(settings, 3, 4, 2, seed=0)  # Any: as above
    with pytest.raises(
        ShapeError, match=r"Bilinear: expected the other operand of shape \(5, 4\), got \(6, 4\)"
    ):
        pair(np.ones((5, 3), np.float32), np.ones((6, 4), np.float32))
    with pytest.raises(ShapeError, match=r"EmbeddingBag: expected lengths of shape \(1,\), got \(2,\)"):
        bag([[0, 1]], lengths=[1, 1])
    with pytest.raises(ShapeError, match="GroupNorm: 3 groups do not divide 4 channels"):
        nn.GroupNorm(drawn(4), drawn(4), 3)  # type: ignore[arg-type] # arrays in the place of weights
    instances: Callable[..., object] = nn.InstanceNorm.make(settings, 3)  # what follows is wrong on purpose
    everywhere: Callable[..., object] = nn.GlobalAvgPool()
    with pytest.raises(ShapeError, match="InstanceNorm: one value of each channel has no variance"):
        instances(np.ones((2, 3), np.float32))
    with pytest.raises(ShapeError, match="GlobalAvgPool: expected"):
        everywhere(np.ones((2, 3), np.float32))
