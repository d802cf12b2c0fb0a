"""Static and run-time shapes are one: random calls, checked by one run of mypy and built by the library.

Knows: the operations, as lines of source. Both must give the same shape, or refuse in the same words.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from tests.mypy_plugin.checking import SAID, project

pytestmark = pytest.mark.slow

REVEALED = re.compile(
    r'Revealed type is "[\w.]*(?:ArrayLayer|Mask)\[(?P<shape>tuple\[.*?\]|Any), (?:numpy|Literal\[\'cpu)'
)
SIZES = (1, 1, 2, 2, 3)
HEADER = "import numpy as np\nimport wengert as wg\n"


def array(shape: tuple[int, ...]) -> str:
    return f"wg.literal(np.ones({shape}, np.float32){''.join(f', {n}' for n in shape)})"


def shape(draw: random.Random, low: int = 1, high: int = 3) -> tuple[int, ...]:
    return tuple(draw.choice(SIZES) for _ in range(draw.randint(low, high)))


def near(draw: random.Random, of: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that often fits."""
    other = [draw.choice((n, n, n, 1, draw.choice(SIZES))) for n in of]
    return tuple(other[draw.choice((0, 0, 0, 1)) :]) or (1,)


def axis(draw: random.Random, rank: int) -> int:
    return draw.choice(range(-rank - 1, rank + 1))


def axes(draw: random.Random, rank: int) -> object:
    return draw.choice([None, axis(draw, rank), tuple(axis(draw, rank) for _ in range(draw.randint(1, 2)))])


def index(draw: random.Random, rank: int) -> str:
    parts = ["0", "1", "-1", "5", ":", ":2", "1:", "::2", "-3:-1", "None", "...", "[0, 0]"]
    return ", ".join(draw.choice(parts) for _ in range(draw.randint(1, rank + 1)))


def call(draw: random.Random) -> str:
    """One random call of an operation."""
    a = shape(draw)
    b = near(draw, a)
    x, y = array(a), array(b)
    rank = len(a)
    matrix = array((*(a[-1:] if draw.random() < 0.7 else (2,)), 2)) if draw.random() < 0.7 else y
    same = tuple(n if draw.random() < 0.8 else draw.choice(SIZES) for n in a)
    target = draw.choice([(-1,), (-1, 2), (a[0], -1), (2, 3), (1, *a), (-1, -1), a[::-1], (0, -1)])
    return draw.choice(
        [
            f"{x} {draw.choice('+-*/')} {y}",
            f"wg.{draw.choice(['add', 'maximum', 'pow', 'greater', 'equal'])}({x}, {y})",
            f"wg.multiply(2.0, {x})",
            f"wg.tanh({x})",
            f"{x} @ {matrix}",
            f"wg.matmul({x}, {matrix})",
            f"wg.{draw.choice(['sum', 'mean', 'max', 'min'])}({x}, axis={axes(draw, rank)}, "
            f"keepdims={draw.random() < 0.5})",
            f"wg.{draw.choice(['softmax', 'log_softmax'])}({x}, axis={axis(draw, rank)})",
            f"wg.reshape({x}, {target})",
            f"wg.permute_dims({x}, {tuple(draw.sample(range(rank), rank))})",
            f"wg.permute_dims({x}, {tuple(draw.choice(range(-rank, rank)) for _ in a)})",
            f"wg.expand_dims({x}, {axes(draw, rank) or 0})",
            f"wg.squeeze({x}, {axes(draw, rank) or 0})",
            f"wg.broadcast_to({x}, {draw.choice([(2, *a), near(draw, a), (3, 2)])})",
            f"wg.concat([{x}, {array(same)}], axis={axis(draw, rank)})",
            f"wg.stack([{x}, {array(same)}], axis={axis(draw, rank)})",
            f"wg.where(wg.greater({x}, 0.0), {y}, {draw.choice([x, '0.0'])})",
            f"wg.logical_and(wg.greater({x}, 0.0), wg.less({y}, 0.0))",
            f"{x}[{index(draw, rank)}]",
            f"wg.take({x}, [0, 0, 0], axis={axis(draw, rank)})",
            f"wg.cross_entropy({x}, np.zeros({a[:-1] if draw.random() < 0.8 else a}, np.int64), reduction='none')",
        ]
    )


def at_run_time(line: str) -> str:
    """The shape of what a call builds, or the first line of its refusal."""
    try:
        made = eval(line, {"wg": wg, "np": np})
    except wg.errors.WengertError as error:
        return str(error).splitlines()[0]
    return str(made.shape)


def statically(lines: list[str]) -> dict[int, str]:
    """The same, by line number, as mypy says it; lines of unknown shape are left out."""
    answers: dict[int, str] = {}
    for line in lines:
        found = SAID.match(line)
        assert found, line
        number = int(found["line"])
        revealed = REVEALED.search(line)
        if found["kind"] == "error":
            assert found["code"] == "shape", line
            answers[number] = found["text"]
        elif revealed and revealed["shape"] != "Any" and "Any" not in revealed["shape"]:
            answers.setdefault(
                number, str(tuple(map(int, re.findall(r"Literal\[(-?\d+)\]", revealed["shape"]))))
            )
    return answers


def test_static_and_run_time_shapes_agree_in_shape_and_words(tmp_path: Path) -> None:
    draw = random.Random(20240)
    calls = [call(draw) for _ in range(500)]
    source = HEADER + "".join(f"reveal_type({line})\n" for line in calls)
    answers = statically(project(tmp_path / "p", {"calls.py": source}))
    differing, known = [], 0
    for number, line in enumerate(calls, start=3):
        if number in answers:
            known += 1
            at_run = at_run_time(line)
            if answers[number] != at_run:
                differing.append(f"{line}\n  mypy: {answers[number]}\n  run:  {at_run}")
    assert not differing, "\n".join(differing)
    assert known > 400, f"only {known} of {len(calls)} calls have a static answer"
