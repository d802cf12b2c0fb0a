"""Layers of `wengert.nn` as far as mypy knows them by itself: element types, states, arguments (T77, S15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NewType, TypeAlias, assert_type

import numpy as np
import numpy.typing as npt

import wengert as wg
from wengert import nn
from wengert.plugins import SGD, Adam, LearningRate

F64: TypeAlias = np.float64
Features = NewType("Features", int)
data: npt.NDArray[np.float32] = np.ones((2, 3), np.float32)
doubles: npt.NDArray[np.float64] = np.ones((2, 3), np.float64)


class Settings(Adam, LearningRate):
    """A user's own settings."""


settings = Settings(learning_rate=0.1)


def count() -> int:
    return 3


def case_making() -> None:
    assert_type(nn.Linear.make(settings, count(), count(), seed=0), nn.Linear)
    assert_type(nn.Linear.make(settings, count(), count(), seed=0, dtype=F64), nn.Linear[Any, Any, F64])
    assert_type(
        nn.Linear.make(SGD(learning_rate=0.1), count(), count(), seed=np.random.default_rng(0)), nn.Linear
    )
    assert_type(
        nn.LSTMCell.make(settings, count(), count(), seed=0, name="cell", dtype=F64).bias.data.dtype,
        np.dtype[F64],
    )
    assert_type(nn.LayerNorm.make(settings, count()), nn.LayerNorm)
    nn.Embedding.make(settings, Features(3), 4, seed=0)


def case_expressions_in_the_place_of_weights(
    kernel: wg.ArrayLayer[tuple[Literal[3], Literal[4]]], other: wg.ArrayLayer[tuple[Literal[5]]]
) -> None:
    made = nn.Linear(kernel)
    assert_type(made, nn.Linear[Literal[3], Literal[4]])
    frozen = nn.freeze(made, "weight")
    assert_type(frozen, nn.Linear[Literal[3], Literal[4]])
    assert_type(nn.replace(made, lambda m: m.weight, kernel), nn.Linear[Literal[3], Literal[4]])
    assert_type(nn.tie({"a": made}, "a.weight", to="b"), dict[str, nn.Linear[Literal[3], Literal[4]]])
    assert_type(nn.with_settings([made], "*", settings), list[nn.Linear[Literal[3], Literal[4]]])
    nn.Linear()  # E[call-arg]: weight
    nn.freeze(made, 3)  # E[arg-type]: incompatible type "int"
    nn.with_settings(made, "*", 0.1)  # E[arg-type]: incompatible type "float"
    nn.map_weights(made, 3)  # E[arg-type]: incompatible type "int"


def case_wrong_arguments() -> None:
    nn.Linear.make(settings, 3, seed=0)  # E[call-arg]
    nn.Linear.make(settings, 3, 4)  # E[call-arg]: seed
    nn.Linear.make(settings, 3.0, 4, seed=0)  # E[arg-type]: incompatible type "float"
    nn.Linear.make(settings, Features, 4, seed=0)  # E[arg-type]: incompatible type "type\[Features\]"
    nn.Linear.make(settings, 3, 4, seed=0, dtype=np.int64)  # E[type-var]: cannot be "signedinteger\[_64Bit\]"
    nn.Linear.make(settings, 3, 4, seed="0")  # E[arg-type]: incompatible type "str"
    nn.Linear.make(0.1, 3, 4, seed=0)  # E[arg-type]: incompatible type "float"
    nn.Linear.make(settings, 3, 4, seed=0).weight = nn.LayerNorm.make(settings, 3).scale  # E
    nn.Conv2d.make(settings, 3, 8, 5, padding="full", seed=0)  # E[arg-type]: incompatible type "Literal
    nn.Dropout("half")  # E[arg-type]: incompatible type "str"


def square(layer: nn.Linear[Literal[4], Literal[4]]) -> None: ...


def of_doubles(layer: nn.Linear[Any, Any, F64]) -> None: ...


def case_annotated_sizes_are_sizes() -> None:
    hidden: nn.Linear[Literal[3], Literal[4]] = nn.Linear.make(settings, 3, 4, seed=0)
    bare: nn.Linear = hidden
    assert_type(bare(data), wg.ArrayLayer[Any])
    square(hidden)  # E[arg-type]: expected "Linear\[Literal\[4\], Literal\[4\]
    of_doubles(hidden)  # E[arg-type]: incompatible type "Linear


def case_own_weights() -> None:
    weight = settings.array_weight(doubles)
    assert_type(nn.Linear(weight), nn.Linear[Any, Any, F64])
    assert_type(nn.Embedding(weight)([1, 2]).dtype, np.dtype[F64])
    nn.Linear(weight, settings.array_weight(data))  # E[misc]: type parameter "T" of "Linear"


def case_element_types() -> None:
    layer = nn.Linear.make(settings, 3, 3, seed=0)
    assert_type(layer(data).dtype, np.dtype[np.float32])
    assert_type(nn.Linear.make(settings, 3, 3, seed=0, dtype=F64)(doubles).dtype, np.dtype[F64])
    layer(doubles)  # E: dtypes float32 and float64 do not mix|incompatible type "ndarray\[
    layer(settings.array_weight(doubles))  # E: dtypes float32 and float64 do not mix|"array_weight
    layer(2.0)  # E: incompatible type "float"
    nn.GRUCell.make(settings, 3, 3, seed=0)(data, doubles)  # E
    nn.MultiHeadAttention.make(settings, 4, 2, seed=0)(data, doubles)  # E


def case_indices(tokens: npt.NDArray[np.int64]) -> None:
    table = nn.Embedding.make(settings, 3, 4, seed=0)
    table(tokens)
    table([[0, 1], [2, 2]])
    table(data)  # E: indices are integers|expected "IntegerArray
    table(table(tokens))  # E[arg-type]: incompatible type "ArrayLayer\[.*"


def case_states() -> None:
    cell = nn.LSTMCell.make(settings, count(), count(), seed=0)
    state = cell(data)
    assert_type(state, tuple[wg.ArrayLayer[Any], wg.ArrayLayer[Any]])
    h, c = cell(data, state)
    cell(data, (data, c))
    cell(data, h)  # E[arg-type]: incompatible type "ArrayLayer\[Any, floating\[_32Bit\], Literal\['cpu'\]\]"
    cell(data, h, c)  # E[call-arg]
    tree = nn.TreeLSTM.make(settings, count(), count(), seed=0)
    assert_type(tree.node(tree.leaf(data), state), tuple[wg.ArrayLayer[Any], wg.ArrayLayer[Any]])
    tree.node(tree.leaf(data))  # E[call-arg]
    tree.node(h, c)  # E[arg-type]: incompatible type "ArrayLayer\[.*"


def case_all_steps() -> None:
    lstm = nn.LSTM(nn.LSTMCell.make(settings, count(), count(), seed=0))
    y, (h, c) = lstm(data)
    assert_type(y, wg.ArrayLayer[Any])
    assert_type(h, wg.ArrayLayer[Any])
    lstm(data, (h, c))
    lstm(data, h)  # E[arg-type]: incompatible type "ArrayLayer\[Any, floating\[_32Bit\], Literal\['cpu'\]\]"
    nn.GRU(nn.GRUCell.make(settings, 3, 3, seed=0))(data, doubles)  # E

    def step(
        total: wg.ArrayLayer[Any], x: wg.ArrayLayer[Any]
    ) -> tuple[wg.ArrayLayer[Any], wg.ArrayLayer[Any]]:
        return total + x, x

    def forgets(total: wg.ArrayLayer[Any], x: wg.ArrayLayer[Any]) -> wg.ArrayLayer[Any]:
        return total + x

    last, seen = wg.scan(step, h, y)
    assert_type(last, wg.ArrayLayer[Any])
    assert_type(seen, wg.ArrayLayer[Any])
    wg.scan(forgets, h, y)  # E
    wg.scan(step, (h, c), y)  # E


def case_dropout_says_whether_it_trains() -> None:
    drop = nn.Dropout(0.5)
    drop(data)
    drop(data, seed=1)
    drop(data, seed=(1, 2))
    drop(data, 1)  # E: Too many positional arguments
    drop(data, seed=0.5)  # E[arg-type]: incompatible type "float"
    drop(data, train=True)  # E[call-arg]: Unexpected keyword argument "train"


def twice(x: wg.ArrayLayer) -> wg.ArrayLayer:
    return x + x


@dataclass(frozen=True, eq=False)
class Noisy(nn.Seeded):
    """A user's own layer that passes a seed on."""

    drop: nn.Dropout

    def __call__(self, x: wg.ArrayLayer, /, *, seed: int | tuple[int, ...] | None = None) -> wg.ArrayLayer:
        return self.drop(x, seed=seed)


def case_composition(tokens: npt.NDArray[np.int64]) -> None:
    first, last = nn.Linear.make(settings, 3, 3, seed=0), nn.Linear.make(settings, 3, 3, seed=0)
    double = nn.Linear.make(settings, 3, 3, seed=0, dtype=F64)
    net = nn.Sequential(first, wg.relu, twice, lambda x: x * 2.0, Noisy(nn.Dropout(0.5)), wg.softmax, last)
    assert_type(net(data).dtype, np.dtype[np.float32])
    assert_type(net(data, seed=1).dtype, np.dtype[np.float32])
    assert_type(nn.Sequential(double, wg.tanh)(doubles).dtype, np.dtype[F64])
    nn.Sequential(nn.Embedding.make(settings, 3, 3, seed=0), net)(tokens)
    nn.Sequential(first, double)  # E[misc]: type parameter "T" of "Sequential"
    nn.Sequential(first, 3)  # E[arg-type]: incompatible type "int"
    nn.Sequential()  # E[call-arg]
    net(doubles)  # E: dtypes float32 and float64 do not mix|incompatible type "ndarray\[


def case_summary() -> None:
    assert_type(nn.summary(nn.Linear.make(settings, 3, 4, seed=0)), str)
    for weight in nn.weights(settings).values():
        assert_type(weight.name, str)
