"""Files of PyTorch's `state_dict`s: the same outputs, to 1e-6, from the same weights (an optional job)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg
from wengert import nn, saving
from wengert.plugins import SGD, StoredAs

torch: Any = pytest.importorskip("torch", reason="PyTorch is with the benchmarks, not with the tests")
write: Any = pytest.importorskip("safetensors.torch").save_file


class Small(StoredAs, SGD): ...


SETTINGS = SGD(learning_rate=0.1)
Layer = Any  # of shapes that the tests know


def data(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def same(tmp_path: Path, module: Any, model: object, ours: Layer, theirs: Any, **options: Any) -> None:
    """Load the weights of `module` into `model`; `ours` and `theirs` make the outputs."""
    write(module.state_dict(), tmp_path / "state.safetensors")
    found = saving.load(tmp_path / "state.safetensors", model, layout="pytorch", **options)
    assert set(found.used) == set(module.state_dict())
    with torch.no_grad():
        expected = theirs().numpy()
    assert_allclose(ours().predict().run(), expected, rtol=1e-6, atol=1e-6)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_an_mlp(tmp_path: Path) -> None:
    module = torch.nn.Sequential(
        torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.LayerNorm(7), torch.nn.Linear(7, 3)
    )
    layers = (
        nn.Linear.make(SETTINGS, 5, 7, seed=1),
        nn.LayerNorm.make(SETTINGS, 7),
        nn.Linear.make(SETTINGS, 7, 3, seed=2),
    )
    model: Layer = nn.Sequential(layers[0], wg.tanh, layers[1], layers[2])
    x = data(4, 5)
    same(tmp_path, module, model, lambda: model(x), lambda: module(torch.tensor(x)))


@pytest.mark.parametrize("stored_as", [None, "float16"])
def test_a_product_of_two_inputs_and_sums_of_rows_of_a_table(tmp_path: Path, stored_as: Any) -> None:
    """`EmbeddingBag` and a frozen `Bilinear`, also into weights of two bytes, of numbers that these hold exactly."""

    class Pair(torch.nn.Module):  # type: ignore[misc]  # a class without types here
        def __init__(self) -> None:
            super().__init__()
            self.bag, self.both = torch.nn.EmbeddingBag(9, 3, mode="sum"), torch.nn.Bilinear(3, 4, 2)

        def forward(self, words: Any, ends: Any, x: Any) -> Any:
            return self.both(self.bag(words, ends), x)

    module = Pair().half().float()
    settings = SETTINGS if stored_as is None else Small(stored_as=stored_as, learning_rate=0.1)
    model = {
        "bag": nn.EmbeddingBag.make(settings, 9, 3, seed=1, mode="sum"),
        "both": nn.Bilinear.make(settings, 3, 4, 2, seed=2),
    }
    model["both"] = nn.freeze(model["both"])
    words, x = np.array([1, 4, 8, 2, 2]), data(2, 4)
    same(
        tmp_path,
        module,
        model,
        lambda: model["both"](model["bag"](words, offsets=[0, 3]), x),  # type: ignore[operator] # of two classes
        lambda: module(torch.tensor(words), torch.tensor([0, 3]), torch.tensor(x)),
    )


def test_a_cnn_with_batch_norms_in_evaluation_and_in_training(tmp_path: Path) -> None:
    """Outputs, losses, weights and running statistics, for some steps of SGD, in float64."""
    module = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(64, 6), torch.nn.BatchNorm1d(6, momentum=0.3), torch.nn.Tanh(), torch.nn.Linear(6, 3),
    ).double()  # fmt: skip
    for norm in (module[1], module[5]):
        torch.nn.init.normal_(norm.weight), torch.nn.init.normal_(norm.bias)
        torch.nn.init.normal_(norm.running_mean), torch.nn.init.uniform_(norm.running_var, 0.5, 2.0)
    model: Layer = nn.Sequential(
        nn.Conv2d.make(SETTINGS, 2, 4, 3, seed=1, dtype=np.float64),
        nn.BatchNorm.make(SETTINGS, 4, dtype=np.float64),
        wg.relu,
        lambda h: wg.reshape(h, (-1, 64)),
        nn.Linear.make(SETTINGS, 64, 6, seed=2, dtype=np.float64),
        nn.BatchNorm.make(SETTINGS, 6, rate=0.3, dtype=np.float64),
        wg.tanh,
        nn.Linear.make(SETTINGS, 6, 3, seed=3, dtype=np.float64),
    )
    x, labels = data(8, 2, 6, 6).astype(np.float64), np.arange(8) % 3
    write(module.state_dict(), tmp_path / "state.safetensors")
    found = saving.load(tmp_path / "state.safetensors", model, layout="pytorch")
    assert not found.unused and not found.missing
    assert {*module.state_dict()} - {*found.used} == {f"{i}.num_batches_tracked" for i in (1, 5)}
    given, target = torch.tensor(x), torch.tensor(labels)
    with torch.no_grad():
        assert_allclose(model(x).predict().run(), module.eval()(given).numpy(), rtol=1e-9)
    optimizer = torch.optim.SGD(module.train().parameters(), lr=0.1)
    for step in range(10):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(given + step), target)
        loss.backward()
        optimizer.step()
        ours = wg.cross_entropy(model(x + step, seed=step), labels).train().run()
        assert float(ours) == pytest.approx(loss.item(), rel=1e-9)
    for of, by in ((model.layers[1], module[1]), (model.layers[5], module[5])):
        for mine, theirs in (
            (of.mean, by.running_mean),
            (of.variance, by.running_var),
            (of.scale, by.weight),
        ):
            assert_allclose(mine.data, theirs.detach().numpy(), rtol=1e-9)
    with torch.no_grad():
        assert_allclose(model(x).predict().run(), module.eval()(given).numpy(), rtol=1e-9)


def test_a_cnn(tmp_path: Path) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]  # a class without types here
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.conv2 = (
                torch.nn.Conv2d(2, 4, 3, padding=1),
                torch.nn.Conv2d(4, 3, 3, stride=2, bias=False),
            )
            self.fc = torch.nn.Linear(3 * 3 * 3, 5)

        def forward(self, x: Any) -> Any:
            return self.fc(torch.relu(self.conv2(torch.relu(self.conv1(x)))).flatten(1))

    @dataclass(frozen=True)
    class Ours:
        conv1: Layer
        conv2: Layer
        fc: Layer

        def __call__(self, x: Any) -> Layer:
            y = wg.relu(self.conv2(wg.relu(self.conv1(x))))
            return self.fc(wg.reshape(y, (4, -1)))

    model = Ours(
        nn.Conv2d.make(SETTINGS, 2, 4, 3, padding=1, seed=1),
        nn.Conv2d.make(SETTINGS, 4, 3, 3, stride=2, bias=False, seed=2),
        nn.Linear.make(SETTINGS, 27, 5, seed=3),
    )
    module, x = Net(), data(4, 2, 8, 8)
    same(tmp_path, module, model, lambda: model(x), lambda: module(torch.tensor(x)))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_recurrent_networks(tmp_path: Path, kind: str) -> None:
    module = getattr(torch.nn, kind)(3, 4, batch_first=True)
    cell: Layer = getattr(nn, f"{kind}Cell").make(SETTINGS, 3, 4, seed=1)
    x = data(2, 5, 3)

    def ours() -> Layer:
        state = None
        for t in range(5):
            state = cell(x[:, t], state)
        return state if kind == "GRU" else state[0]  # type: ignore[index]  # a pair of an LSTM's

    same(
        tmp_path,
        module,
        {"rnn": cell},
        ours,
        lambda: module(torch.tensor(x))[0][:, -1],
        rename=lambda n: f"rnn.{n}",
    )


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_recurrent_networks_of_two_layers_in_both_directions(tmp_path: Path, kind: str) -> None:
    module = getattr(torch.nn, kind)(3, 4, num_layers=2, bidirectional=True)
    layer: Layer = getattr(nn, kind).make(SETTINGS, 3, 4, seed=1, layers=2, bidirectional=True)
    x = data(5, 2, 3)
    same(tmp_path, module, layer, lambda: layer(x)[0], lambda: module(torch.tensor(x))[0])


@pytest.mark.parametrize("norm_first", [False, True])
def test_stacks_of_transformers(tmp_path: Path, norm_first: bool) -> None:
    how = {"dropout": 0.0, "batch_first": True, "norm_first": norm_first}
    norms = [torch.nn.LayerNorm(8) if norm_first else None for _ in range(2)]
    encoder = torch.nn.TransformerEncoderLayer(8, 2, 16, **how)
    decoder = torch.nn.TransformerDecoderLayer(8, 2, 16, **how)
    modules = torch.nn.ModuleDict(
        {
            "encoder": torch.nn.TransformerEncoder(encoder, 2, norms[0], enable_nested_tensor=False),
            "decoder": torch.nn.TransformerDecoder(decoder, 2, norms[1]),
        }
    )
    for parameter in modules.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    made: Layer = {"layers": 2, "norm_first": norm_first}
    model: Layer = {
        "encoder": nn.TransformerEncoder.make(SETTINGS, 8, 2, 16, seed=1, **made),
        "decoder": nn.TransformerDecoder.make(SETTINGS, 8, 2, 16, seed=2, **made),
    }
    x, source = data(3, 4, 8), data(3, 5, 8)
    hidden = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)

    def theirs() -> Any:
        memory = modules["encoder"](torch.tensor(source))
        return modules["decoder"](torch.tensor(x), memory, tgt_mask=hidden)

    def ours() -> Layer:
        return model["decoder"](x, model["encoder"](source), mask=nn.causal_mask(4))

    same(tmp_path, modules, model, ours, theirs)


def test_norms_of_one_example(tmp_path: Path) -> None:
    module = torch.nn.Sequential(
        torch.nn.ConvTranspose2d(2, 4, 3), torch.nn.GroupNorm(2, 4), torch.nn.InstanceNorm2d(4, affine=True),
        torch.nn.RMSNorm(5, eps=1e-6),
    )  # fmt: skip
    for norm in module[1:]:
        torch.nn.init.normal_(norm.weight)
    layers: Layer = (
        nn.ConvTranspose2d.make(SETTINGS, 2, 4, 3, seed=1),
        nn.GroupNorm.make(SETTINGS, 4, 2),
        nn.InstanceNorm.make(SETTINGS, 4),
        nn.RMSNorm.make(SETTINGS, 5),
    )
    model, x = nn.Sequential(*layers), data(2, 2, 3, 3)
    same(tmp_path, module, model, lambda: model(x), lambda: module(torch.tensor(x)))


def test_a_block_of_a_transformer(tmp_path: Path) -> None:
    class Block(torch.nn.Module):  # type: ignore[misc]  # a class without types here
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(9, 8)
            self.norm1, self.norm2 = torch.nn.LayerNorm(8), torch.nn.LayerNorm(8)
            self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
            self.mlp = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))

        def forward(self, i: Any) -> Any:
            x = self.embedding(i)
            y = self.norm1(x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            return x + self.mlp(self.norm2(x))

    @dataclass(frozen=True)
    class Ours:
        embedding: Layer
        norm1: Layer
        norm2: Layer
        attention: Layer
        mlp: Layer

        def __call__(self, i: Any) -> Layer:
            x = self.embedding(i)
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    linears = nn.Linear.make(SETTINGS, 8, 16, seed=4), nn.Linear.make(SETTINGS, 16, 8, seed=5)
    model = Ours(
        nn.Embedding.make(SETTINGS, 9, 8, seed=1),
        nn.LayerNorm.make(SETTINGS, 8),
        nn.LayerNorm.make(SETTINGS, 8),
        nn.MultiHeadAttention.make(SETTINGS, 8, 2, seed=3),
        nn.Sequential(linears[0], wg.relu, linears[1]),
    )
    module = Block()
    i = np.random.default_rng(1).integers(0, 9, (3, 5))
    same(tmp_path, module, model, lambda: model(i), lambda: module(torch.tensor(i)))


@pytest.mark.parametrize("equal", [True, False])
def test_a_norm_that_is_called_twice_in_a_step(equal: bool) -> None:
    """Two steps of the running statistics, as in PyTorch, where no call is before the other."""
    rate, chance = 0.1, np.random.default_rng(0)
    left, right = chance.normal(size=(2, 8, 3))
    right = left[::-1].copy() if equal else right
    theirs = torch.nn.BatchNorm1d(3, momentum=rate).double()
    norm = nn.BatchNorm.make(SETTINGS, 3, rate=rate, dtype=np.float64)
    for _ in range(40):
        theirs(torch.tensor(left))
        theirs(torch.tensor(right))
        wg.mean(wg.square(norm(left, seed=0) - norm(right, seed=0))).train().run()
    apart = rate / (4.0 - 2.0 * rate) * np.abs(left.mean(axis=0) - right.mean(axis=0))
    found = np.abs(theirs.running_mean.numpy() - norm.mean.data)
    assert (found <= apart + 1e-12).all()
    assert equal or (found > 0.9 * apart).all()
