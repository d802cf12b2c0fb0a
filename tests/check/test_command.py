"""The command `check`: what it shows, what it refuses, and what it writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wengert import saving
from wengert.check import main
from wengert.nn import Linear
from wengert.plugins import SGD
from wengert.saving.container import Container

MODEL = '''"""A model."""

import numpy as np
import wengert as wg
from wengert.nn import Conv2d, GRUCell, Linear, Sequential
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)


class Net:
    def __init__(self, width: int, classes: int = 10) -> None:
        self.body = Linear.make(settings, width, 16, seed=0)
        self.spare = Linear.make(settings, 3, 3, seed=0)
        self.top = Linear.make(settings, 16, classes, seed=1)

    def __call__(self, x: wg.ArrayLayer) -> wg.ArrayLayer:
        return self.top(wg.relu(self.body(x)))


def make() -> Linear:
    return Linear.make(settings, 8, 2, seed=0)


images = Sequential(Conv2d.make(settings, 1, 6, 5, seed=0), wg.relu, Conv2d.make(settings, 6, 8, 3, stride=2, seed=1))
cell = GRUCell.make(settings, 4, 8, seed=0)


def unrolled(xs: wg.ArrayLayer) -> wg.ArrayLayer:
    h = cell(xs[:, 0])
    for t in range(1, xs.shape[1]):
        h = cell(xs[:, t], h)
    return h


def pairs(a: wg.ArrayLayer, b: wg.ArrayLayer) -> wg.ArrayLayer:
    return wg.concat([a, b], axis=1)


def halves(x: wg.ArrayLayer) -> wg.ArrayLayer:
    return wg.reshape(x, (x.shape[0] // 2, 2))


def per_example(x: wg.ArrayLayer, *, scale: float) -> wg.ArrayLayer:
    return wg.sum(x * scale, axis=1)


def broken(x: wg.ArrayLayer) -> wg.ArrayLayer:
    return x * np.arange(5)[7]


number = 3
'''


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of models, in the present folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    status = main([*arguments])
    captured = capsys.readouterr()
    return status, [*captured.out.splitlines(), *captured.err.splitlines()]


def shapes(lines: list[str]) -> dict[str, str]:
    rows = [re.split(r"  +", line) for line in lines if "(" in line]
    return {row[0]: row[1] for row in rows}


@pytest.mark.usefixtures("model")
def test_each_layer_has_a_row_with_its_place_shape_type_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = said(capsys, "model.py:Net(4)", "--input", "Batch 4")
    assert status == 0
    assert [line.split() for line in lines] == [
        ["layer", "shape", "dtype", "line"],
        ["body", "Linear", "(Batch,", "16)", "float32", "model.py:18"],
        ["relu", "(Batch,", "16)", "float32", "model.py:18"],
        ["top", "Linear", "(Batch,", "10)", "float32", "model.py:18"],
        ["Net", "(Batch,", "10)", "float32", "model.py:17"],
        ["note:", "the", "result", "does", "not", "depend", "on", "spare.weight,", "spare.bias"],
        ["nothing", "is", "wrong"],
    ]


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("arguments", "name", "shape"),
    [
        (("model.py:make", "--input", "Batch 8"), "Linear", "(Batch, 2)"),
        (("model.py:make()", "--input", "8"), "Linear", "(2,)"),
        (("model.py:Net(width=4, classes=3)", "--input", "Batch Time 4"), "Net", "(Batch, Time, 3)"),
        (
            ("model.py:images", "--input", "Batch 1 H W"),
            "Sequential",
            "(Batch, 8, (H + 1)//2 - 3, (W + 1)//2 - 3)",
        ),
        (("model.py:unrolled", "--input", "Batch Time 4"), "unrolled", "(Batch, 8)"),
        (("model.py:pairs", "--input", "Batch A", "--input", "Batch B"), "pairs", "(Batch, A + B)"),
        (("model.py:per_example", "--input", "Batch A", "--keyword", "scale=2.0"), "per_example", "(Batch,)"),
        (
            ("model.py:per_example", "--input", "Batch A float64", "--keyword", "scale=2.0"),
            "multiply",
            "(Batch, A)",
        ),
    ],
)
def test_models_functions_and_calls_that_make_models(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], name: str, shape: str
) -> None:
    status, lines = said(capsys, *arguments)
    assert (status, lines[-1]) == (0, "nothing is wrong")
    assert shapes(lines)[name] == shape


@pytest.mark.usefixtures("model")
def test_a_loop_over_a_named_size_is_one_row_with_its_count(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = said(capsys, "model.py:unrolled", "--input", "Batch Time 4")
    (row,) = [line for line in lines if line.startswith("getitem") and "model.py:32" in line]
    assert row.endswith("  Time - 1 times")


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("model.py",), "name a file and what is in it, as in model.py:MLP"),
        (("no.py:Net",), "there is no file 'no.py'"),
        (("model.py:Nat",), "model.py has no Nat; it defines Net, make, unrolled"),
        (("model.py:np.nothing",), "np has no nothing"),
        (("model.py:1 +",), "is neither a name nor a call"),
        (("model.py:Net",), "Net is made with arguments: write 'model.py:Net(width)', with their values"),
        (("model.py:number",), "number is 3, which cannot be called"),
        (("model.py:make",), "takes (x): missing a required argument: 'x'; write one --input for each"),
        (("model.py:make", "--input", "Batch -1"), "'-1' is neither a number nor a name"),
        (("model.py:per_example", "--input", "B 3", "--keyword", "scale=x"), "write a name, = and a literal"),
    ],
)
def test_a_command_line_that_cannot_be_carried_out_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], text: str
) -> None:
    status, lines = said(capsys, *arguments)
    assert (status, len(lines)) == (2, 1)
    assert text in lines[0]


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("model.py:images", "--input", "Batch 784"),
            "model.py:1: error: conv2d: input of shape (Batch, 784) is not (batch, channels, height, width)  [shape]",
        ),
        (
            ("model.py:make", "--input", "Batch 9"),
            "model.py:1: error: Linear: expected last axis 8, got (Batch, 9)  [shape]",
        ),
        (("model.py:broken", "--input", "Batch 9"), "model.py:49: error: index 7 is out of bounds"),
        (
            ("model.py:per_example", "--input", "B 3", "--keyword", "scale=1.0", "--loss"),
            "model.py:45: error: train: a loss is a scalar, this one has shape (B,); reduce it first",
        ),
        (("model.py:make", "--input", "3 8", "--weights", "no.safetensors"), "no.safetensors:1: error: "),
    ],
)
def test_a_finding_has_the_users_line_and_the_words_of_mypy(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], text: str
) -> None:
    status, lines = said(capsys, *arguments)
    assert status == 1
    assert any(line.startswith(text) for line in lines), "\n".join(lines)
    assert lines[-1] == "1 error"


@pytest.mark.usefixtures("model")
def test_an_input_is_called_by_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = said(capsys, "model.py:images", "--input", "Batch 784")
    assert "  operand 0: layer literal (Batch, 784) float32, built at --input 'Batch 784'" in lines


@pytest.mark.usefixtures("model")
def test_an_error_for_some_sizes_only_says_for_which(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = said(capsys, "model.py:halves", "--input", "Time")
    assert status == 1
    assert any(
        "model.py:41: error: reshape: cannot reshape (Time,) (Time elements)" in line for line in lines
    )
    assert any(line.startswith("  with Time = ") and "but not with each" in line for line in lines)


def test_a_module_that_fails_is_shown_on_its_line(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.write_text(MODEL.replace("learning_rate=0.1", "rate=0.1"))
    status, lines = said(capsys, "model.py:make", "--input", "B 8")
    assert status == 1
    assert lines[0].startswith("model.py:8: error: ")
    assert any('stands below `if __name__ == "__main__":`' in line for line in lines)
    model.write_text("def f(:\n")
    status, lines = said(capsys, "model.py:f", "--input", "B 8")
    assert (status, lines[0]) == (1, "model.py:1: error: invalid syntax  [syntax]")


@pytest.mark.usefixtures("model")
def test_a_checkpoint_is_compared_with_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    settings = SGD(learning_rate=0.1)
    saving.save("fits.safetensors", Linear.make(settings, 8, 2, seed=3))
    saving.save("other.safetensors", Linear.make(settings, 8, 3, seed=3))
    given = ("model.py:make", "--input", "Batch 8", "--weights")
    status, lines = said(capsys, *given, "fits.safetensors")
    assert (status, lines[-2:]) == (0, ["fits.safetensors fits: 2 weights", "nothing is wrong"])
    status, lines = said(capsys, *given, "other.safetensors")
    assert status == 1
    assert "bias is array of float32 and shape (3,) there, and array of float32 and shape (2,) here" in lines[
        -2
    ].replace("'", "")


@pytest.mark.usefixtures("model")
def test_of_a_checkpoint_the_header_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    saving.save("fits.safetensors", Linear.make(SGD(learning_rate=0.1), 8, 2, seed=3))

    def read(self: object, manifest: object) -> None:
        raise AssertionError("the data are read")

    monkeypatch.setattr(Container, "values", read)
    status, lines = said(capsys, "model.py:make", "--input", "Batch 8", "--weights", "fits.safetensors")
    assert (status, lines[-2]) == (0, "fits.safetensors fits: 2 weights")


def test_shapes_are_written_into_bare_annotations_once(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, lines = said(capsys, "model.py:Net(4)", "--input", "Batch 4", "--annotate")
    assert (status, lines[-2]) == (0, "model.py: 2 annotations have shapes now")
    text = model.read_text()
    signature = "x: wg.ArrayLayer[tuple[Batch, Literal[4]]]) -> wg.ArrayLayer[tuple[Batch, Literal[10]]]:"
    assert f"def __call__(self, {signature}" in text
    assert "from typing import Literal\n" in text
    assert "class Batch(int): ...\n" in text
    assert text.count("wg.ArrayLayer[") == 2
    model.with_name("again.py").write_text(text)
    status, lines = said(capsys, "again.py:Net(4)", "--input", "Batch 4", "--annotate")
    assert (status, lines[-2]) == (0, "again.py: no annotation without a shape was reached")
    status, lines = said(capsys, "again.py:Net(4)", "--input", "Time 4")
    assert status == 0, "a name that no input has is any size"


def test_nothing_but_the_named_module_is_run(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.with_name("other.py").write_text("raise SystemExit('run')\n")
    model.write_text(MODEL + "\nif __name__ == '__main__':\n    raise SystemExit('run')\n")
    assert said(capsys, "model.py:make", "--input", "B 8")[0] == 0
