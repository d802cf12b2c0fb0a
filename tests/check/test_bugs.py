"""Mistakes that no checker finds, because a type does not say enough: `python -m wengert check` finds each."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from wengert.check import main

HEADER = """from dataclasses import dataclass
import numpy as np
import wengert as wg
from wengert.nn import Conv2d, Dropout, Embedding, GRUCell, Linear, Sequential
from wengert.plugins import SGD, Adam, LearningRate

settings = SGD(learning_rate=0.1)
Labels = np.ndarray[tuple[int], np.dtype[np.int64]]
Targets = np.ndarray[tuple[int], np.dtype[np.float32]]
Tokens = np.ndarray[tuple[int, int], np.dtype[np.int64]]


class Batch(int): ...


"""


class Bug(NamedTuple):
    """A program with one mistake, and the right text in its place."""

    source: str
    wrong: str
    right: str
    arguments: str
    says: str


MLP = """class MLP:
    def __init__(self, width: int, hidden: int) -> None:
        self.first = Linear.make(settings, width, hidden, seed=0)
        self.last = Linear.make(settings, WRONG, 10, seed=1)

    def __call__(self, x: wg.ArrayLayer) -> wg.ArrayLayer:
        return self.last(wg.relu(self.first(x)))
"""
CONFIG = """@dataclass(frozen=True)
class Config:
    hidden: int = 256
    inner: int = 128


class MLP:
    def __init__(self, config: Config = Config()) -> None:
        self.first = Linear.make(settings, 784, config.hidden, seed=0)
        self.last = Linear.make(settings, WRONG, 10, seed=1)

    def __call__(self, x: wg.ArrayLayer) -> wg.ArrayLayer:
        return self.last(wg.relu(self.first(x)))
"""
CONSTANT = """HIDDEN = 256
INNER = 128
first = Linear.make(settings, 784, HIDDEN, seed=0)
last = Linear.make(settings, WRONG, 10, seed=1)


def scores(x: wg.ArrayLayer) -> wg.ArrayLayer:
    return last(wg.relu(first(x)))
"""
WIDTHS = """widths = [784, 256, 64, 10]
layers = [Linear.make(settings, n, m, seed=0) for n, m in WRONG]


def scores(x: wg.ArrayLayer) -> wg.ArrayLayer:
    for layer in layers:
        x = wg.relu(layer(x))
    return x
"""
COLUMN = """top = Linear.make(settings, 8, 1, seed=0)


def loss(x: wg.ArrayLayer, y: Targets) -> wg.ArrayLayer[tuple[()]]:
    return wg.mean(wg.square(WRONG - y))
"""
UNREDUCED = """top = Linear.make(settings, 8, 1, seed=0)


def loss(x: wg.ArrayLayer, y: Targets) -> wg.ArrayLayer[tuple[()]]:
    difference = top(x) - y[:, None]
    return WRONG
"""
SHIFTED = """embed = Embedding.make(settings, 100, 16, seed=0)
head = Linear.make(settings, 16, 100, seed=1)


def loss(tokens: Tokens) -> wg.ArrayLayer[tuple[()]]:
    return wg.cross_entropy(head(embed(tokens[:, :-1])), WRONG)
"""
RANK = """first = Linear.make(settings, 784, 10, seed=0)


def scores(images: wg.ArrayLayer) -> wg.ArrayLayer:
    return first(WRONG)
"""
FLOATS = """embed = Embedding.make(settings, 100, 16, seed=0)


def words(tokens: Tokens) -> wg.ArrayLayer:
    return embed(WRONG)
"""
PENALTY = """layers = [Linear.make(settings, 8, 8, seed=i) for i in range(2)]


def loss(x: wg.ArrayLayer) -> wg.ArrayLayer[tuple[()]]:
    for layer in layers:
        x = layer(x)
    return wg.mean(x) + 1e-4 * sum(WRONG for layer in layers)
"""
STACKED = """def seen(x: wg.ArrayLayer) -> wg.ArrayLayer[tuple[Batch, L5, L8]]:
    return wg.stack([wg.tanh(x[:, t]) for t in range(5)], axis=WRONG)
""".replace("L5, L8", "Literal[5], Literal[8]")
LENET = """conv1 = Conv2d.make(settings, 1, 6, 5, seed=0)
conv2 = Conv2d.make(settings, 6, 16, 5, seed=1)
fc = Linear.make(settings, WRONG, 10, seed=2)


def lenet(x: wg.ArrayExpression) -> wg.ArrayLayer:
    h: wg.ArrayLayer = wg.max_pool2d(wg.relu(conv1(x)), 2)
    h = wg.max_pool2d(wg.relu(conv2(h)), 2)
    return fc(wg.reshape(h, (h.shape[0], -1)))
"""
HELPER = """w1 = settings.array_weight(np.zeros((784, 128), np.float32), 784, 128, name="w1")
w2 = settings.array_weight(np.zeros((WRONG, 10), np.float32), WRONG, 10, name="w2")


def logits(x: wg.ArrayExpression) -> wg.ArrayLayer:
    return wg.relu(wg.matmul(x, w1)) @ w2
"""
STEP = """top = Linear.make(settings, 8, 1, seed=0)


def step(x: wg.ArrayLayer) -> None:
    loss = wg.mean(wg.square(top(x)))
    value = WRONG
"""
HISTORY = """top = Linear.make(settings, 8, 1, seed=0)
history = []


def step(x: wg.ArrayLayer) -> None:
    loss = wg.mean(wg.square(top(x)))
    history.append(WRONG)
"""
ORDER = """class Settings(WRONG): ...


top = Linear.make(Settings(learning_rate=0.1), 8, 1, seed=0)


def scores(x: wg.ArrayLayer) -> wg.ArrayLayer:
    return top(x)
"""
DROPPED = """def scores(x: wg.ArrayLayer) -> wg.ArrayLayer:
    return Dropout(WRONG)(x, seed=1)
"""
CLIPPED = """def entropy(p: wg.ArrayLayer) -> wg.ArrayLayer:
    return wg.log(wg.clip(p, WRONG))
"""
LAST = "last axis 128, got (Batch, 256)"

BUGS = {
    "sizes_from_parameters": Bug(
        MLP, "width", "hidden", "MLP(784, 256) | Batch 784", "last axis 784, got (Batch, 256)"
    ),
    "sizes_from_a_configuration": Bug(CONFIG, "config.inner", "config.hidden", "MLP | Batch 784", LAST),
    "sizes_from_constants": Bug(CONSTANT, "INNER", "HIDDEN", "scores | Batch 784", LAST),
    "layers_of_a_comprehension": Bug(
        WIDTHS,
        "zip(widths, widths[2:])",
        "zip(widths, widths[1:])",
        "scores | Batch 784",
        "last axis 256, got (Batch, 64)",
    ),
    "column_minus_vector": Bug(
        COLUMN,
        "top(x)",
        "wg.squeeze(top(x), 1)",
        "loss | Batch 8 | Batch",
        "shapes (Batch, 1) and (Batch,) would broadcast",
    ),
    "loss_not_reduced": Bug(
        UNREDUCED,
        "difference * difference",
        "wg.mean(difference * difference)",
        "loss | Batch 8 | Batch",
        "the result has shape (Batch, 1), and its annotation says ()",
    ),
    "loss_reduced_on_one_axis": Bug(
        UNREDUCED,
        "wg.mean(wg.square(difference), axis=1)",
        "wg.mean(wg.square(difference))",
        "loss | Batch 8 | Batch",
        "the result has shape (Batch,), and its annotation says ()",
    ),
    "labels_not_shifted": Bug(
        SHIFTED,
        "tokens",
        "tokens[:, 1:]",
        "loss | Batch Time int64",
        "logits of shape (Batch, Time - 1, 100) need labels of shape (Batch, Time - 1), one a line; got (Batch, Time)",
    ),
    "images_not_flattened": Bug(
        RANK,
        "images",
        "wg.reshape(images, (-1, 784))",
        "scores | Batch 28 28",
        "last axis 784, got (Batch, 28, 28)",
    ),
    "words_as_floats": Bug(
        FLOATS, "tokens.astype(np.float32)", "tokens", "words | Batch Time int64", "float32"
    ),
    "zeros_as_words": Bug(
        FLOATS,
        "np.zeros(3, np.float32)",
        "np.zeros(3, np.int64)",
        "words | Batch Time int64",
        "float32",
    ),
    "numbers_as_words": Bug(
        FLOATS, "np.array([1.0, 2.0])", "np.array([1, 2])", "words | Batch Time int64", "float64"
    ),
    "penalty_not_reduced": Bug(
        PENALTY,
        "layer.weight * layer.weight",
        "wg.sum(layer.weight * layer.weight)",
        "loss | Batch 8",
        "the result has shape (8, 8), and its annotation says ()",
    ),
    "stacked_on_another_axis": Bug(
        STACKED,
        "0",
        "1",
        "seen | Batch 5 8",
        "the result has shape (5, Batch, 8), and its annotation says (Batch, 5, 8)",
    ),
    "layers_behind_a_bare_annotation": Bug(
        LENET, "400", "256", "lenet | Batch 1 28 28", "last axis 400, got (Batch, 256)"
    ),
    "helper_without_shapes": Bug(
        HELPER, "64", "128", "logits | Batch 784", "inner dimensions 128 and 64 differ"
    ),
    "step_never_run": Bug(
        STEP, "loss.train()", "loss.train().run()", "step | Batch 8", "described and never run"
    ),
    "steps_collected": Bug(
        HISTORY, "loss.train()", "loss.train().run()", "step | Batch 8", "described and never run"
    ),
    "plugins_in_the_wrong_order": Bug(
        ORDER, "LearningRate, Adam", "Adam, LearningRate", "scores | Batch 8", "Adam"
    ),
    "percent_for_a_share": Bug(DROPPED, "50", "0.5", "scores | Batch 8", "50"),
    "bounds_exchanged": Bug(
        CLIPPED, "1.0, 1e-7", "1e-7, 1.0", "entropy | Batch 8", "min 1.0 is greater than max 1e-7"
    ),
}


def checked(folder: Path, source: str, arguments: str) -> int:
    target, *inputs = arguments.split(" | ")
    path = folder / f"program{len([*folder.iterdir()])}.py"  # or Python finds the code of the other one
    header = HEADER.replace("import numpy", "from typing import Literal\n\nimport numpy", 1)
    path.write_text(header + source)
    return main([f"{path}:{target}", *(word for text in inputs for word in ("--input", text))])


@pytest.mark.parametrize("name", BUGS)
def test_a_mistake_that_no_checker_finds_is_found_and_the_right_program_passes(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bug = BUGS[name]
    assert checked(tmp_path, bug.source.replace("WRONG", bug.right), bug.arguments) == 0, (
        capsys.readouterr().out
    )
    capsys.readouterr()
    assert checked(tmp_path, bug.source.replace("WRONG", bug.wrong), bug.arguments) == 1
    said = capsys.readouterr().out
    errors = [line for line in said.splitlines() if ": error: " in line]
    assert len(errors) == 1, said
    assert bug.says in errors[0]
