"""Examples, the loop around a loss, and files of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from wengert import data, nn, saving, training
from wengert.plugins import SGD, LearningRate, Momentum

from .golden import Unchecked, d, ones, raising, said, wg

batches: Unchecked = data.batches
evaluate: Unchecked = training.evaluate
fit: Unchecked = training.fit
load: Unchecked = saving.load
save: Unchecked = saving.save
split: Unchecked = data.split
tree: Unchecked = data.tree


class Remembering(Momentum, LearningRate): ...


@dataclass(frozen=True, eq=False)
class Points(data.Rows):
    """Some points and what they are."""

    x: Unchecked
    y: Unchecked


sgd: Unchecked = SGD(learning_rate=0.1)
points: Unchecked = Points(ones(6, 3), np.arange(6) % 2)
model: Unchecked = nn.Linear.make(sgd, 3, 2, seed=0, name="top")
wide: Unchecked = nn.Linear.make(sgd, 4, 2, seed=0)
doubles: Unchecked = nn.Linear.make(sgd, 3, 2, seed=0, dtype=np.float64)
moved: Unchecked = nn.Linear.make(Remembering(learning_rate=0.1, momentum=0.9), 3, 2, seed=0)
unnamed: Unchecked = sgd.double_weight(1.0)
spent: Unchecked = sgd.double_weight(1.0, name="spent")
twins: Unchecked = [sgd.double_weight(1.0, name="twin"), sgd.double_weight(1.0, name="twin")]


def loss(batch: Points, seed: object) -> Unchecked:
    return wg.cross_entropy(model(batch.x), batch.y)


def rows(batch: Points, *seed: object) -> Unchecked:
    return wg.cross_entropy(model(batch.x), batch.y, reduction="none")


def no_batches(epoch: int) -> Iterable[Points]:
    return []


def _made(folder: Path) -> None:
    """A file of weights as it is, one that is cut short, one that is none."""
    save(folder / "whole", model, step=3)
    content = (folder / "whole").read_bytes()
    (folder / "cut").write_bytes(content[:7])
    (folder / "text").write_text("This is no file of weights.")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder, with files."""
    monkeypatch.chdir(tmp_path)
    _made(tmp_path)
    return tmp_path


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "arrays of other lengths": (
        lambda: Points(ones(6, 3), np.arange(5)),
        "DataError: Points: arrays differ in their number of rows: 'x' has 6, 'y' has 5\n  at here",
    ),
    "a list for an array": (
        lambda: Points([1.0, 2.0], np.arange(2)),
        "DataError: Points: 'x' is [1.0, 2.0], and has to be an array with a row an example\n  at here",
    ),
    "parts that are more than all": (
        lambda: split(points, (0.8, 0.3), seed=0),
        "ArgumentError: split: fractions are positive and sum to 1, as in (0.8, 0.2); got "
        "(0.8, 0.3)\n"
        "  at here",
    ),
    "a part without an example": (
        lambda: split(points, (0.99, 0.01), seed=0),
        "DataError: split: of 6 examples a fraction of 0.01 has none\n  at here",
    ),
    "batches of nothing": (
        lambda: batches(points, 0, seed=0, epoch=0),
        "ArgumentError: batches: size is an integer from 1 on; got 0\n  at here",
    ),
    "a tree that ends early": (
        lambda: tree("(3 (2 a) (4 film)", place="train.txt", line=7),
        'DataError: train.txt:7:18: the line ends, and 1 ")" has to follow',
    ),
    "a label that is none": (
        lambda: tree("(3 (2 a) (9 film))", labels=5),
        "DataError: tree:1:11: the label 9 is none of 0 to 4",
    ),
    "a list of batches for data": (
        lambda: fit(loss, [points], seed=0, epochs=1),
        "ArgumentError: fit: data are a set of `wengert.data`, a function from the epoch to its "
        "batches (`lambda epoch: batches`), or an iterable of batches, no list; got [Points(x="
        "array([[1., 1., 1.], [1., 1., 1.], [ ...; of arrays make a dataclass that derives from "
        "data.Rows, of examples in a list make data.Items(...)\n"
        "  at here",
    ),
    "a dictionary of arrays for data": (
        lambda: fit(loss, {"x": 1}, seed=0, epochs=1),
        "ArgumentError: fit: data are a set of `wengert.data`, a function from the epoch to its "
        "batches (`lambda epoch: batches`), or an iterable of batches, no list; got {'x': 1}; of arrays make "
        "a dataclass that derives from data.Rows, of examples in a list make data.Items(...)\n"
        "  at here",
    ),
    "epochs and steps": (
        lambda: fit(loss, points, seed=0, epochs=1, steps=3),
        "ArgumentError: fit: give either epochs= or steps=\n  at here",
    ),
    "neither epochs nor steps": (
        lambda: fit(loss, points, seed=0),
        "ArgumentError: fit: give either epochs= or steps=\n  at here",
    ),
    "no examples": (
        lambda: fit(loss, data.Items([]), seed=0, epochs=1),
        "DataError: fit: the data have no example\n  at here",
    ),
    "an epoch without a batch": (
        lambda: fit(loss, no_batches, seed=0, epochs=1),
        "DataError: fit: epoch 0 of the data has no batch\n  at here",
    ),
    "a loss an example": (
        lambda: fit(rows, points, seed=0, epochs=1),
        "ShapeError: train: a loss is a scalar, this one has shape (6,); reduce it first, as "
        "in train(mean(loss))\n"
        "  <ArrayLayer cross_entropy (6,) float32, built at test_training.py:N>\n"
        "  at here\n"
        "+ in step 1 of fit, batch 0 of epoch 0",
    ),
    "a loss that is text": (
        lambda: fit(lambda batch, seed: "small", points, seed=0, epochs=1),
        "NotDifferentiableError: fit: str is not differentiable, got 'small'; give a number, "
        "an array or an expression\n"
        "  at here\n"
        "+ in step 1 of fit, batch 0 of epoch 0",
    ),
    "a loss that takes no seed": (
        lambda: fit(lambda batch: loss(batch, None), points, seed=0, epochs=1),
        "ArgumentError: fit: a loss is a function of a batch and of a seed, `def loss(batch, seed)`; "
        "got <function <lambda>.<locals>.<lambda> at 0x>\n  at here",
    ),
    "a loss that fails": (
        lambda: fit(raising, points, seed=0, epochs=1),
        "Boom: of my own\n+ in step 1 of fit, batch 0 of epoch 0",
    ),
    "a loss that is not finite": (
        lambda: fit(lambda batch, seed: spent * np.inf, points, seed=0, epochs=1),
        "NonFiniteError: fit: the loss of step 1 is inf, so all weights stay as they are\n"
        "  <DoubleLayer multiply () float64, built at here>\n"
        "+ first not finite: multiply(() float64, () float64) with weight 'spent', built at here\n"
        "+ in step 1 of fit, batch 0 of epoch 0",
    ),
    "labels that are none": (
        lambda: fit(lambda b, s: wg.cross_entropy(model(b.x), b.y + 5), points, seed=0, epochs=1),
        "ShapeError: cross_entropy: label 6 is none of the 2 classes of logits of shape (6, "
        "2)\n"
        "  operand 0: layer add (6, 2) float32, built at here\n"
        "  operand 1: literal (6,) int64\n"
        "  at here\n"
        "+ in step 1 of fit, batch 0 of epoch 0",
    ),
    "images of another size": (
        lambda: fit(lambda batch, seed: wg.sum(wide(batch.x)), points, seed=0, epochs=1),
        "ShapeError: Linear: expected last axis 4, got (6, 3)\n"
        "  at here\n"
        "+ in step 1 of fit, batch 0 of epoch 0",
    ),
    "metrics without data": (
        lambda: fit(loss, points, seed=0, epochs=1, metrics={"rows": rows}),
        "ArgumentError: fit: metrics are measured on validation data; give validation= too, or return them with the "
        "loss, as in `return loss, scores`\n  at here\n+ in step 1 of fit, batch 0 of epoch 0",
    ),
    "a loss an example, measured": (
        lambda: evaluate(rows, points),
        "ShapeError: evaluate: the loss is a scalar, this one has shape (6,); reduce it "
        "first, as in mean(x)\n"
        "  <ArrayLayer cross_entropy (6,) float32, built at test_training.py:N>\n"
        "  at here",
    ),
    "a metric an example": (
        lambda: evaluate(loss, points, metrics={"rows": lambda batch: wg.reshape(rows(batch), (2, 3))}),
        "ShapeError: evaluate: the metric 'rows' is a scalar, this one has shape (2, 3); "
        "reduce it first, as in mean(x)\n"
        "  <ArrayLayer reshape (2, 3) float32, built at here>\n"
        "  at here",
    ),
    "a metric of numpy an example": (
        lambda: evaluate(loss, points, metrics={"right": lambda batch: (batch.y == 1)[None]}),
        "ShapeError: evaluate: the metric 'right' is a scalar, this one has shape (1, 6); "
        "reduce it first, as in mean(x)\n"
        "  array([[False, True, False, True, False, True]])\n"
        "  at here",
    ),
    "a checkpoint without weights": (
        lambda: fit(loss, points, seed=0, epochs=1, checkpoint="new"),
        "ArgumentError: fit: checkpoint= and best= are files of weights; give weights= too, "
        "as in weights=model\n"
        "  at here",
    ),
    "a checkpoint of other weights": (
        lambda: fit(loss, points, seed=0, epochs=1, checkpoint="new", weights=[d]),
        "ArgumentError: fit: the loss has <ArrayWeight 'top.bias' (2,) float32>, made at "
        "test_training.py:N, which `weights` does not have, so that a checkpoint would lack "
        "it; give all weights, as in weights=model\n"
        "+ in step 1 of fit, batch 0 of epoch 0",
    ),
    "a checkpoint that is there": (
        lambda: fit(loss, points, seed=0, epochs=1, checkpoint="whole", weights=model),
        "CheckpointError: fit: whole is there already; write resume=True to go on from it, "
        "or delete it\n"
        "  at here",
    ),
    "a checkpoint in no folder": (
        lambda: fit(loss, points, seed=0, epochs=1, checkpoint="no/new", weights=model),
        "CheckpointError: fit: no/new cannot be written: FOLDER/no is no folder; make it first\n  at here",
    ),
    "a checkpoint that fit did not write": (
        lambda: fit(loss, points, seed=0, epochs=1, checkpoint="whole", weights=model, resume=True),
        "CheckpointError: whole cannot be resumed, and no weight has changed: `fit` did not "
        "save it, or another version did (ValueError: it says nothing of a training)\n"
        "  at here",
    ),
    "a file that is not there": (
        lambda: load("new", model),
        "FileNotFoundError: [Errno 2] No such file or directory: 'new'",
    ),
    "a file that is cut short": (
        lambda: load("cut", model),
        "CheckpointError: cut cannot be loaded, and no weight has changed: it has 7 bytes, "
        "which is less than its header needs: it was cut short, or is another file\n"
        "  at here",
    ),
    "a file that is none of weights": (
        lambda: load("text", model),
        "CheckpointError: text cannot be loaded, and no weight has changed: it has 27 bytes, "
        "which is less than its header needs: it was cut short, or is another file\n"
        "  at here",
    ),
    "a file of another shape": (
        lambda: load("whole", wide),
        "CheckpointError: whole cannot be loaded, and no weight has changed: it is of "
        "another model: 'weight' is array of float32 and shape (3, 2) there, and array of "
        "float32 and shape (4, 2) here\n"
        "  at here",
    ),
    "a file of another dtype": (
        lambda: load("whole", doubles),
        "CheckpointError: whole cannot be loaded, and no weight has changed: it is of "
        "another model: 'weight' is array of float32 and shape (3, 2) there, and array of "
        "float64 and shape (3, 2) here; 'bias' is array of float32 and shape (2,) there, and array "
        "of float64 and shape (2,) here\n"
        "  at here",
    ),
    "a file of another optimizer": (
        lambda: load("whole", moved),
        "CheckpointError: whole cannot be loaded, and no weight has changed: the optimizer "
        "of 'weight' was LearningRate, and is Momentum with LearningRate here; write "
        "load(..., optimizer=False) for the data alone\n"
        "  at here",
    ),
    "a file of other names": (
        lambda: load("whole", {"head": model}),
        "CheckpointError: whole cannot be loaded, and no weight has changed: it is of "
        "another model: it lacks 'head.bias', 'head.weight' and has 'bias', 'weight'; "
        "write rename= for names, strict=False for a part\n"
        "  at here",
    ),
    "a weight without a name": (
        lambda: save("new", [unnamed]),
        "CheckpointError: the weight made at test_training.py:N has no name, and a place in "
        'a source file is none that lasts; make it with name="...", or give a dictionary of '
        "weights",
    ),
    "weights of one name": (
        lambda: save("new", twins),
        "CheckpointError: two weights are named 'twin': one made at test_training.py:N, one "
        "at test_training.py:N; give one of them another `name=`, or give a dictionary of "
        "weights",
    ),
    "no weight": (
        lambda: save("new", nn.Dropout(0.5)),
        "CheckpointError: there is no weight in Dropout(rate=0.5); give a dictionary of "
        "weights, an iterable of named weights, or a model that has weights in its attributes\n"
        "  at here",
    ),
    "a file in no folder": (
        lambda: save("no/new", model),
        "CheckpointWriteError: no/new could not be written: No such file or directory; "
        "nothing was saved, and what was there is as it was\n  at here",
    ),
    "a step that is no integer": (
        lambda: save("new", model, step=1.5),
        "CheckpointError: save: step is 1.5, a float; it has to be an int or None\n  at here",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text(name: str, folder: Path) -> None:
    action, text = CASES[name]
    assert said(action).replace(str(folder), "FOLDER") == text
