"""Layers of `wengert.nn`: the sizes that their types carry, and the shapes that calls of them give (T77)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar, assert_type

import numpy as np
import numpy.typing as npt
from given import L2, L3, L4, L5, L6, L8, WIDTH, Batch, Features, count, data, named, settings, x

import wengert as wg
from wengert import nn
from wengert.dims import Add, FloorDiv, Mul

F64: TypeAlias = np.float64
B = TypeVar("B", bound=int)
I = TypeVar("I", bound=int)
O = TypeVar("O", bound=int)
H = TypeVar("H", bound=int)
W = TypeVar("W", bound=int)
doubles: npt.NDArray[np.float64] = np.ones((2, 3), np.float64)


def case_bilinear() -> None:  # T77
    layer = nn.Bilinear.make(settings, 3, 4, 5, seed=0)
    assert_type(layer, nn.Bilinear[L3, L4, L5])
    other = wg.literal(data, 2, 4)
    assert_type(layer(x, other), wg.ArrayLayer[tuple[L2, L5]])
    layer(x, x)  # E[shape]: ^Bilinear: expected last axis 4, got \(2, 3\)$
    layer(named, other)  # E[shape]: expected the other operand of shape \(Batch, 4\), got \(2, 4\)$
    layer(x)  # E[call-arg]


def case_embedding_bag() -> None:  # T77
    bag = nn.EmbeddingBag.make(settings, 8, 4, seed=0, mode="sum")
    assert_type(bag, nn.EmbeddingBag[L8, L4])
    assert_type(bag([1, 2, 3], offsets=[0, 2]), wg.ArrayLayer[tuple[L2, L4]])
    bag([1, 2, 3], lengths=[1])  # E[shape]: ^EmbeddingBag: expected lengths of shape \(\), got \(1,\)$
    bag(3)  # E[shape]: expected indices \(..., n\), or offsets in a vector of them; got one index$
    nn.EmbeddingBag.make(settings, 8, 4, seed=0, mode="min")  # E[arg-type]


def case_linear() -> None:  # T77
    layer = nn.Linear.make(settings, WIDTH, 4, seed=0, name="hidden")
    assert_type(layer, nn.Linear[L3, L4])
    assert_type(layer.weight, wg.ArrayWeight[tuple[L3, L4]])
    assert_type(layer(x), wg.ArrayLayer[tuple[L2, L4]])
    assert_type(layer(named), wg.ArrayLayer[tuple[Batch, L4]])
    assert_type(layer(wg.literal(data, 5, 2, 3)), wg.ArrayLayer[tuple[L5, L2, L4]])
    assert_type(layer(data), wg.ArrayLayer[Any])
    assert_type(nn.Linear.make(settings, Features(3), count(), seed=0), nn.Linear[Features, Any])
    assert_type(nn.Linear.make(settings, x.shape[-1], 4, seed=0, dtype=F64), nn.Linear[L3, L4, F64])
    layer(layer(x))  # E[shape]: ^Linear: expected last axis 3, got \(2, 4\)$
    layer(wg.literal(data, Batch, Features))  # E[shape]: got \(Batch, Features\)$
    layer(wg.sum(x))  # E[shape]: ^Linear: expected last axis 3, got \(\)$
    layer(doubles)  # E[dtype]: float32 and float64 do not mix


def case_linear_of_own_weights() -> None:  # T77
    weight = settings.array_weight(doubles, 3, 4)
    assert_type(nn.Linear(weight), nn.Linear[L3, L4, F64])
    assert_type(nn.Linear(weight, settings.array_weight(doubles, 4)), nn.Linear[L3, L4, F64])
    nn.Linear(weight, settings.array_weight(doubles, 5))  # E[shape]: ^Linear: Out is both 4 and 5$


@dataclass(frozen=True)
class Classifier:
    """A model as people write it."""

    hidden: nn.Linear[Literal[784], Literal[64]]
    norm: nn.LayerNorm[Literal[64]]
    head: nn.Linear[Literal[64], Literal[10]]

    def __call__(
        self, x: wg.ArrayLayer[tuple[Batch, Literal[784]]]
    ) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:
        assert_type(self.hidden(x), wg.ArrayLayer[tuple[Batch, Literal[64]]])
        return self.head(wg.relu(self.norm(self.hidden(x))))


def case_a_model_of_layers() -> None:  # T77
    model = Classifier(
        nn.Linear.make(settings, 784, 64, seed=0),
        nn.LayerNorm.make(settings, 64),
        nn.Linear.make(settings, 64, 10, seed=1),
    )
    images = wg.literal(data, Batch, 784)
    assert_type(model(images), wg.ArrayLayer[tuple[Batch, Literal[10]]])
    model.head(images)  # E[shape]: ^Linear: expected last axis 64, got \(Batch, 784\)$
    model.norm(model(images))  # E[shape]: ^LayerNorm: expected last axis 64, got \(Batch, 10\)$
    Classifier(model.head, model.norm, model.head)  # E[arg-type]: Linear\[Literal\[784\]


def case_norms_over_a_batch(x: wg.ArrayLayer[tuple[B, I]], norm: nn.BatchNorm[O]) -> None:
    layer = nn.BatchNorm.make(settings, 3)
    assert_type(layer, nn.BatchNorm[Literal[3]])
    images = wg.literal(data, Batch, 3, 28, 28)
    assert_type(layer(images, seed=1), wg.ArrayLayer[tuple[Batch, Literal[3], Literal[28], Literal[28]]])
    assert_type(layer(wg.literal(data, Batch, 3)), wg.ArrayLayer[tuple[Batch, Literal[3]]])
    layer(wg.literal(data, Batch, 4))  # E[shape]: ^BatchNorm: expected axis 1 of size 3, got \(Batch, 4\)$
    layer(wg.literal(data, 3))  # E[shape]: ^BatchNorm: expected axis 1 of size 3, got \(3,\)$
    norm(x)  # E[shape]: ^BatchNorm: expected axis 1 of size O, got \(B, I\)$
    h = wg.literal(data, Batch, 3)
    assert_type(wg.with_update(h, layer.mean, wg.mean(h, axis=0)), wg.ArrayLayer[tuple[Batch, Literal[3]]])
    wg.with_update(h, layer.mean, h)  # E[shape]: a value of shape \(Batch, 3\) for a buffer of \(3,\)$
    wg.update(settings.buffer(data, 4), wg.mean(h, axis=0))  # E[shape]: ^update: S is both 4 and 3$


def residual(layer: nn.Linear[I, I], x: wg.ArrayLayer[tuple[B, I]]) -> wg.ArrayLayer[tuple[B, I]]:
    return x + wg.relu(layer(x))


def dense(layer: nn.Linear[I, O], x: wg.ArrayLayer[tuple[B, I]]) -> wg.ArrayLayer[tuple[B, Add[I, O]]]:
    return wg.concat([x, layer(x)], axis=-1)


def case_for_all_sizes(
    layer: nn.Linear[I, O], x: wg.ArrayLayer[tuple[B, I]]
) -> wg.ArrayLayer[tuple[B, O]]:  # T78
    layer(layer(x))  # E[shape]: ^Linear: expected last axis I, got \(B, O\)$
    return layer(x)


def case_at_some_sizes() -> None:  # T78
    assert_type(residual(nn.Linear.make(settings, 3, 3, seed=0), x), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(dense(nn.Linear.make(settings, 3, 5, seed=0), x), wg.ArrayLayer[tuple[L2, L8]])
    residual(nn.Linear.make(settings, 3, 4, seed=0), x)  # E[shape]: ^residual: I is both 4 and 3$


def case_embedding(
    tokens: npt.NDArray[np.int64], line: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> None:  # T77
    table = nn.Embedding.make(settings, 10_000, 8, seed=0)
    assert_type(table, nn.Embedding[Literal[10_000], L8])
    assert_type(table(line), wg.ArrayLayer[tuple[Any, L8]])
    assert_type(table([1, 2, 3]), wg.ArrayLayer[tuple[L3, L8]])
    assert_type(table(tokens), wg.ArrayLayer[Any])
    table(data)  # E[dtype]: ^table: indices are integers, not float32
    table(x)  # E[arg-type]: incompatible type "ArrayLayer\[.*"
    nn.Linear.make(settings, 4, 2, seed=0)(table(line))  # E[shape]: last axis 4, got \(\?, 8\)$


def case_layer_norm() -> None:  # T77
    norm = nn.LayerNorm.make(settings, 3)
    assert_type(norm, nn.LayerNorm[L3])
    assert_type(norm(x), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(norm(wg.literal(data, 2, count())), wg.ArrayLayer[tuple[L2, L3]])
    norm(wg.literal(data, 2, 4))  # E[shape]: ^LayerNorm: expected last axis 3, got \(2, 4\)$
    nn.RMSNorm.make(settings, 3)(wg.literal(data, 2, 4))  # E[shape]: ^RMSNorm: expected last axis 3
    nn.GroupNorm.make(settings, 4, 3)  # E[shape]: ^GroupNorm: 3 groups do not divide 4 channels$
    encoder = nn.TransformerEncoderLayer.make(settings, 8, 2, 32, seed=0)
    assert_type(encoder(wg.literal(data, Batch, 5, 8)), wg.ArrayLayer[tuple[Batch, L5, L8]])
    encoder(wg.literal(data, 2, 5, 4))  # E[shape]: expected last axis 8, got \(2, 5, 4\)$
    nn.TransformerEncoderLayer.make(settings, 8, 3, 9, seed=0)  # E[shape]: 3 heads do not divide
    deep = nn.MLP.make(settings, 3, 8, 5, seed=0)
    assert_type(deep(wg.literal(data, Batch, 3)), wg.ArrayLayer[tuple[Batch, L5]])
    deep(wg.literal(data, 2, 4))  # E[shape]: ^Linear: expected last axis 3, got \(2, 4\)$
    assert_type(nn.Flatten()(wg.literal(data, Batch, 3, 2)), wg.ArrayLayer[tuple[Batch, L6]])
    pooled = nn.MaxPool2d(2)(wg.literal(data, Batch, 3, 6, 4))
    assert_type(pooled, wg.ArrayLayer[tuple[Batch, L3, L3, L2]])
    nn.AvgPool2d(8)(wg.literal(data, 2, 3, 6, 4))  # E[shape]: ^avg_pool2d: a window of 8 does not
    assert_type(nn.GlobalAvgPool()(pooled), wg.ArrayLayer[tuple[Batch, L3]])


def case_dropout() -> None:
    drop = nn.Dropout(0.5)
    assert_type(drop(x), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(drop(x, seed=(1, 2)), wg.ArrayLayer[tuple[L2, L3]])
    assert_type(drop(doubles), wg.ArrayLayer[Any, F64])
    drop(x, seed=0.5)  # E[arg-type]: incompatible type "float"
    drop(x, 0.5)  # E: incompatible type "float"


def case_convolution() -> None:  # T77
    images = wg.literal(data, 2, 3, 32, 32)
    layer = nn.Conv2d.make(settings, 3, 8, 5, seed=0)
    assert_type(layer, nn.Conv2d[L3, L8, L5, Literal[1], Literal[0], Literal[1], Literal[1]])
    assert_type(layer(images), wg.ArrayLayer[tuple[L2, L8, Literal[28], Literal[28]]])
    half = nn.Conv2d.make(settings, 8, 8, 3, stride=2, padding=1, seed=0)
    assert_type(half(layer(images)), wg.ArrayLayer[tuple[L2, L8, Literal[14], Literal[14]]])
    layer(layer(images))  # E[shape]: ^conv2d: .*input has 8 channels, kernel expects 3$
    layer(x)  # E[shape]: ^conv2d: input of shape \(2, 3\) is not \(batch, channels, height, width\)$
    nn.Conv2d.make(settings, 3, 8, 4, padding="same", seed=0)  # E[shape]: ^Conv2d: padding "same"
    nn.Conv2d.make(settings, 3, 8, 5, padding="full", seed=0)  # E[arg-type]: incompatible type "Literal


def case_same_convolution(images: wg.ArrayLayer[tuple[B, L3, H, W]]) -> None:  # T78
    same = nn.Conv2d.make(settings, 3, 8, 5, padding="same", seed=0)
    assert_type(same, nn.Conv2d[L3, L8, L5, Literal[1], L2, Literal[1], Literal[1]])
    assert_type(same(images), wg.ArrayLayer[tuple[B, L8, H, W]])
    half = nn.Conv2d.make(settings, 3, 8, 2, stride=2, seed=0)
    assert_type(half(images), wg.ArrayLayer[tuple[B, L8, FloorDiv[H, L2], FloorDiv[W, L2]]])


def case_convolutions_of_every_rank() -> None:
    """Groups and dilation are sizes of the type too; `In` counts the channels of a group."""
    signals, volumes = wg.literal(data, 2, 4, 9), wg.literal(data, 2, 4, 5, 5, 5)
    one = nn.Conv1d.make(settings, 4, 8, 3, dilation=2, groups=2, seed=0)
    assert_type(one, nn.Conv1d[L2, L8, L3, Literal[1], Literal[0], L2, L2])
    assert_type(one.kernel, wg.ArrayWeight[tuple[L8, L2, L3]])
    assert_type(one(signals), wg.ArrayLayer[tuple[L2, L8, L5]])
    same = nn.Conv1d.make(settings, 4, 8, 3, dilation=2, padding="same", seed=0)
    assert_type(same(signals), wg.ArrayLayer[tuple[L2, L8, Literal[9]]])
    three = nn.Conv3d.make(settings, 4, 8, 3, stride=2, seed=0)
    assert_type(three(volumes), wg.ArrayLayer[tuple[L2, L8, L2, L2, L2]])
    up = nn.ConvTranspose1d.make(settings, 4, 6, 2, stride=2, groups=2, seed=0)
    assert_type(up, nn.ConvTranspose1d[L4, L3, L2, L2, Literal[0], Literal[1], L2])
    assert_type(up(signals), wg.ArrayLayer[tuple[L2, L6, Literal[18]]])
    wide = nn.ConvTranspose3d.make(settings, 4, 6, 2, stride=2, seed=0)
    assert_type(wide(volumes), wg.ArrayLayer[tuple[L2, L6, Literal[10], Literal[10], Literal[10]]])
    assert_type(nn.Conv1d(one.kernel, None, 1, 0)(signals[:, :2]), wg.ArrayLayer[tuple[L2, L8, Literal[7]]])
    any_of_them: list[nn.Conv1d] = [one, same]  # a layer's bare name is a type
    any_of_them[0](signals)
    one(volumes)  # E[shape]: ^conv1d: input of shape \(2, 4, 5, 5, 5\) is not \(batch, channels, n\)$
    one(signals[:, :2])  # E[shape]: ^conv1d: .*input has 2 channels, kernel expects 4$
    up(three(volumes))  # E[shape]: ^conv_transpose1d: input of shape \(2, 8, 2, 2, 2\) is not
    nn.Conv3d.make(settings, 4, 6, 3, groups=4, seed=0)  # E[shape]: 4 groups do not divide 6 channels$


def flat(x: wg.ArrayLayer[tuple[B, I, H, W]]) -> wg.ArrayLayer[tuple[B, Mul[I, Mul[H, W]]]]:
    return wg.reshape(x, (x.shape[0], -1))


def case_sequential() -> None:  # T77
    first = nn.Linear.make(settings, 3, 4, seed=0)
    last = nn.Linear.make(settings, 4, 2, seed=0)
    net = nn.Sequential(first, wg.relu, nn.Dropout(0.5), wg.softmax, last)
    assert_type(net(x), wg.ArrayLayer[tuple[L2, L2]])
    assert_type(net(named, seed=0), wg.ArrayLayer[tuple[Batch, L2]])
    assert_type(net(data), wg.ArrayLayer[Any])
    assert_type(nn.Sequential(net, nn.LayerNorm.make(settings, 2))(x), wg.ArrayLayer[tuple[L2, L2]])
    net(net(x))  # E[shape]: ^Linear: expected last axis 3, got \(2, 2\)$
    nn.Sequential(first, first)(x)  # E[shape]: ^Linear: expected last axis 3, got \(2, 4\)$
    nn.Sequential(first, nn.Linear.make(settings, 4, 2, seed=0, dtype=F64))  # E[misc]
    net(doubles)  # E[dtype]: float32 and float64 do not mix
    nn.Sequential(first, 3)  # E[arg-type]: incompatible type "int"


def halved(x: wg.ArrayLayer[tuple[B, Mul[L2, I]]]) -> wg.ArrayLayer[tuple[B, I]]:
    left, right = wg.split(x, 2, axis=1)
    return left + right


def case_sequential_of_images() -> None:  # T77
    net = nn.Sequential(
        nn.Conv2d.make(settings, 1, 4, 3, seed=0),
        wg.relu,
        flat,
        nn.Linear.make(settings, 144, 10, seed=0),
    )
    assert_type(net(wg.literal(data, Batch, 1, 8, 8)), wg.ArrayLayer[tuple[Batch, Literal[10]]])
    assert_type(nn.Sequential(flat, halved)(wg.literal(data, 2, 2, 2, 3)), wg.ArrayLayer[tuple[L2, Any]])
    net(wg.literal(data, Batch, 1, 9, 9))  # E[shape]: ^Linear: expected last axis 144, got \(Batch, 196\)$
    net(wg.literal(data, Batch, 3, 8, 8))  # E[shape]: ^conv2d: .*input has 3 channels, kernel expects 1$


def case_sequential_of_tokens(tokens: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> None:  # T77
    net = nn.Sequential(nn.Embedding.make(settings, 100, 8, seed=0), nn.Linear.make(settings, 8, 2, seed=0))
    assert_type(net(tokens), wg.ArrayLayer[tuple[Any, Any, L2]])
    net(x)  # E[arg-type]: incompatible type "ArrayLayer\[.*"
