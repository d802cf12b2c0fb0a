"""Static and run-time shapes of layers are one: random calls, checked by one run of mypy and then built.

Knows: the layers, as lines of source. Both must give the same shape, or refuse in the same words.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from tests.mypy_plugin.checking import project
from tests.mypy_plugin.test_agreement import array, statically
from wengert import nn
from wengert.plugins import SGD

pytestmark = pytest.mark.slow

HEADER = (
    "import numpy as np\nimport wengert as wg\nfrom wengert import nn\nfrom wengert.plugins import SGD\n"
    "s = SGD(learning_rate=0.1)\n"
)
NAMES = {"np": np, "wg": wg, "nn": nn, "s": SGD(learning_rate=0.1)}


def around(draw: random.Random, n: int) -> int:
    """A size that is often the one that is wanted."""
    return draw.choice((n, n, n, n, n, 1, 4))


def batch(draw: random.Random) -> tuple[int, ...]:
    return draw.choice(((), (2,), (2,), (2, 3)))


def state(draw: random.Random, of: tuple[int, ...], size: int) -> str:
    """An h or a c, mostly of the right shape."""
    return array((*(of if draw.random() < 0.9 else batch(draw)), around(draw, size)))


def cell_call(draw: random.Random) -> str:
    """One random step of a cell or a tree."""
    of = batch(draw)
    x, h, c = array((*of, around(draw, 3))), state(draw, of, 2), state(draw, of, 2)
    tree = "nn.TreeLSTM.make(s, 3, 2, seed=0)"
    return draw.choice(
        [
            f"nn.LSTMCell.make(s, 3, 2, seed=0)({x})[0]",
            f"nn.LSTMCell.make(s, 3, 2, seed=0)({x}, ({h}, {c}))[1]",
            f"nn.GRUCell.make(s, 3, 2, seed=0)({x})",
            f"nn.RNNCell.make(s, 3, 2, seed=0)({x}, {h})",
            f"nn.{draw.choice(('GRU', 'RNN'))}.make(s, 3, 2, seed=0, layers=2, bidirectional=True)({x})[0]",
            f"nn.LSTM.make(s, 3, 2, seed=0, layers=2)({x}, lengths=[1, 2])[1][0]",
            f"nn.GRUCell.make(s, 3, 2, seed=0)({x}, {h})",
            f"{tree}.leaf({x})[0]",
            f"{tree}.node(({h}, {c}), ({h}, {state(draw, of, 2)}))[0]",
        ]
    )


def attention_call(draw: random.Random) -> str:
    """One random attention, with any of its operands."""
    of, other = batch(draw), batch(draw) if draw.random() < 0.1 else None
    query, key, value = (
        array((*(of if other is None else other), draw.choice((3, 5)), around(draw, 4))) for _ in range(3)
    )
    mask = f"wg.greater({array((around(draw, 3), around(draw, 5)))}, 0.0)"
    operands = draw.choice([query, f"{query}, {key}", f"{query}, {key}, {value}", f"{query}, mask={mask}"])
    return f"nn.MultiHeadAttention.make(s, 4, {draw.choice((1, 2, 4, 3))}, seed=0)({operands})"


def call(draw: random.Random) -> str:
    """One random call of a layer."""
    x = array((*batch(draw), around(draw, 3)))
    image = array((2, around(draw, 3), draw.choice((1, 5, 8)), 6))
    stride, padding = draw.choice((1, 2, 3)), draw.choice((0, 1, 2, '"same"'))
    conv = f"nn.Conv2d.make(s, 3, 2, {draw.choice((1, 2, 3))}, stride={stride}, padding={padding}, seed=0)"
    linear = f"nn.Linear.make(s, 3, {around(draw, 2)}, seed=0)"
    return draw.choice(
        [
            f"{linear}({x})",
            f"nn.LayerNorm.make(s, 3)({x})",
            f"nn.RMSNorm.make(s, 3)({x})",
            f"nn.ConvTranspose2d.make(s, 3, 2, 3, stride={stride}, padding=1, seed=0)({image})",
            f"nn.MLP.make(s, 3, 5, {around(draw, 2)}, seed=0)({x})",
            f"nn.GroupNorm.make(s, 3, {draw.choice((1, 3))})({image})",
            f"nn.InstanceNorm.make(s, 3)({draw.choice((image, x))})",
            f"nn.Flatten()({draw.choice((image, x))})",
            f"nn.GlobalAvgPool()({draw.choice((image, x))})",
            f"nn.MaxPool2d({draw.choice((1, 2, 3))}, stride={stride})({image})",
            f"nn.AvgPool2d({draw.choice((2, 3))}, padding=1)({image})",
            f"nn.Residual(wg.tanh)({x})",
            f"nn.Embedding.make(s, 5, 2, seed=0)({draw.choice(([0, 4], [1, 2, 3]))})",
            f"nn.EmbeddingBag.make(s, 5, 2, seed=0)({draw.choice(([[0, 4]], [1, 2, 3]))}, lengths=[1])",
            f"nn.Bilinear.make(s, 3, 3, 2, seed=0)({x}, {x})",
            f"nn.Bilinear.make(s, 3, 4, 2, seed=0)({x}, {array((*batch(draw), 4))})",
            f"nn.Dropout(0.5)({x}, seed=1)",
            f"{conv}({image if draw.random() < 0.9 else x})",
            f"nn.Sequential({linear}, wg.relu, nn.Linear.make(s, 2, 4, seed=0))({x})",
            cell_call(draw),
            cell_call(draw),
            attention_call(draw),
        ]
    )


def at_run_time(line: str) -> str:
    """The shape of what a call builds, or the first line of its refusal."""
    try:
        made = eval(line, NAMES)
    except wg.errors.WengertError as error:
        return str(error).splitlines()[0]
    return str(made.shape)


def test_static_and_run_time_shapes_of_layers_agree_in_shape_and_words(tmp_path: Path) -> None:
    draw = random.Random(20261)
    calls = [call(draw) for _ in range(400)]
    source = HEADER + "".join(f"reveal_type({line})\n" for line in calls)
    said = project(tmp_path / "p", {"calls.py": source})
    answers = statically(said[::-1])  # of two errors in a line the run comes to the first only
    first = HEADER.count("\n") + 1
    differing = [
        f"{line}\n  mypy: {answers[number]}\n  run:  {at_run_time(line)}"
        for number, line in enumerate(calls, start=first)
        if number in answers and answers[number] != at_run_time(line)
    ]
    assert not differing, "\n".join(differing)
    assert len(answers) > 360, f"only {len(answers)} of {len(calls)} calls have a static answer"
    refused = {answer.partition(":")[0] for answer in answers.values() if not answer.startswith("(")}
    assert refused >= {"Linear", "LSTMCell", "GRUCell", "MultiHeadAttention", "conv2d"}, "no refusal compared"
