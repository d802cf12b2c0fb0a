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
REDUCTIONS = ("sum", "mean", "max", "min", "prod", "var", "std", "logsumexp")
PLACES = {"stride": (1, 1, 1, 2, 2, 3, 3, 0), "padding": (0, 0, 1, 1, 1, 1, 2, -1), "dilation": (1, 1, 2)}
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
    parts = [
        "0",
        "1",
        "-1",
        "5",
        ":",
        ":2",
        "1:",
        "::2",
        "-3:-1",
        "None",
        "...",
        "[0]",
        "[0, 0]",
        "[0, 0, 0]",
    ]
    return ", ".join(draw.choice(parts) for _ in range(draw.randint(1, rank + 1)))


def one_or_two(draw: random.Random, sizes: tuple[int, ...]) -> object:
    return draw.choice([draw.choice(sizes), (draw.choice(sizes), draw.choice(sizes))])


def image_call(draw: random.Random) -> str:
    """One random convolution, pooling or padding, of images that are near to what it wants."""
    sides = ((1, 3), (2, 3), (3, 6, 7, 8), (4, 5, 9))
    image = tuple(map(draw.choice, sides[draw.choice((0, 0, 0, 0, 0, 0, 0, 1)) :]))
    channels = draw.choice((*image[1:2] * 6, 2))
    window = (draw.choice((1, 2, 3, 3, 5)) for _ in range(draw.choice((2, 2, 2, 2, 2, 2, 1))))
    kernel = (draw.choice((1, 4)), channels, *window)
    options = [f"{name}={one_or_two(draw, sizes)}" for name, sizes in PLACES.items() if draw.random() < 0.4]
    pooled = [array(image), str(one_or_two(draw, (1, 2, 2, 2, 3, 3, 3, 3, 0))), *options]
    around = draw.choice((image, image, image, image[1:]))
    widths = tuple((draw.choice((0, 0, 1, 1, 1, 2, 2, 2, 2, -1)), draw.choice((0, 0, 3))) for _ in around)
    return draw.choice(
        [
            f"wg.conv2d({', '.join([array(image), array(kernel), *options])})",
            f"wg.{draw.choice(('max', 'avg'))}_pool2d({', '.join(pooled)})",
            f"wg.pad({array(image)}, {widths}, value={draw.choice((0, 0.5))})",
        ]
    )


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
            summed(draw),
            summed(draw),
            taken_apart(draw),
            taken_apart(draw),
            f"{x} {draw.choice('+-*/')} {y}",
            f"wg.{draw.choice(['add', 'maximum', 'pow', 'greater', 'equal'])}({x}, {y})",
            f"wg.multiply(2.0, {x})",
            f"wg.{draw.choice(['tanh', 'erf', 'softplus', 'gelu', 'log1p'])}({x})",
            f"wg.clip({x}, {draw.choice([y, '0.0', 'None'])}, max={draw.choice([y, '1.0', 'None'])})",
            f"wg.astype({x}, np.{draw.choice(['float32', 'float64'])})",
            f"wg.dropout({x}, 0.5, seed=({rank}, 1))",
            f"{x} @ {matrix}",
            f"wg.matmul({x}, {matrix})",
            f"wg.{draw.choice(REDUCTIONS)}({x}, axis={axes(draw, rank)}, keepdims={draw.random() < 0.5})",
            f"wg.{draw.choice(['softmax', 'log_softmax', 'cumulative_sum'])}({x}, axis={axis(draw, rank)})",
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
            image_call(draw),
            image_call(draw),
            f"wg.cross_entropy({x}, np.zeros({a[:-1] if draw.random() < 0.8 else a}, np.int64), reduction='none')",
        ]
    )


def summed(draw: random.Random) -> str:
    """One random call of einsum or tensordot."""
    a = shape(draw)
    b = tuple(draw.choice((*a, *SIZES)) for _ in range(draw.randint(1, 3)))
    if draw.random() < 0.4:
        pairs = tuple(tuple(axis(draw, len(s)) for _ in range(draw.choice((0, 1, 1, 2)))) for s in (a, b))
        return f"wg.tensordot({array(a)}, {array(b)}, axes={draw.choice([0, 1, 1, 2, pairs, pairs])})"
    sizes: dict[int, str] = {}
    terms = ["".join(sizes.setdefault(n, draw.choice("ijk")) for n in s) for s in (a, b)]
    if draw.random() < 0.4:
        terms = [f"...{term[draw.choice((0, 1, 1)) :]}" for term in terms]
    if draw.random() < 0.2:
        terms[0] = draw.choice(["ij", "iij", "i...j", "i$", "......"])
    out = draw.choice(["", "->", "->i", "->ji", "->...", "->...k", "->ii"])
    return f"wg.einsum({','.join(terms) + out!r}, {array(a)}, {array(b)})"


LINEAR = ("inv", "det", "pinv", "cholesky", "eigvalsh", "svdvals", "matrix_norm", "vector_norm")


def taken_apart(draw: random.Random) -> str:
    """One random call of an operation on lines of an array, or of one that cuts it."""
    a = shape(draw)
    x, at = array(a), axis(draw, len(a))
    cuts = tuple(draw.choice((-1, 0, 1, 2, 5)) for _ in range(draw.randint(0, 2)))
    part = draw.choice((0, -1))
    sides = (*near(draw, a)[:-1], draw.choice(SIZES))
    return draw.choice(
        [
            f"wg.split({x}, {draw.choice([0, 1, 2, 3, -1])}, axis={at})[0]",
            f"wg.split({x}, {cuts}, axis={at})[{part}]",
            f"wg.flip({x}, axis={axes(draw, len(a))})",
            f"wg.roll({x}, {draw.choice([1, (1,), (1, -2)])}, axis={axes(draw, len(a))})",
            f"wg.take_along_axis({x}, np.zeros({sides}, np.int64), axis={at})",
            f"wg.take_along_axis({x}, [0, 0], axis={at})",
            f"wg.linalg.{draw.choice(LINEAR)}({x})",
            f"wg.linalg.solve({x}, {array(sides)})",
            f"wg.linalg.outer({x}, {array(sides)})",
            f"wg.vecdot({x}, {array(sides)}, axis=-1)",
            f"wg.linalg.kron({x}, {array(sides)})",
            f"wg.segment_softmax({x}, {[0] * draw.choice((1, 2, 3))}, num_segments=2)",
            f"wg.cumulative_prod({x}, axis={at}, include_initial={draw.choice((True, False))})",
            f"wg.diff({x}, axis={at}, n={draw.choice((0, 1, 2))})",
            f"wg.sort({x}, axis={at})",
            f"wg.argmin({x}, axis={at})",
            f"wg.one_hot(wg.argmax({x}, axis={at}), 3)",
            f"wg.matrix_transpose({x})",
            f"wg.moveaxis({x}, {at}, {axis(draw, len(a))})",
            f"wg.repeat({x}, {draw.choice((0, 1, 2))}, axis={draw.choice((None, at))})",
            f"wg.tile({x}, {draw.choice((2, (1, 2), (2, 1, 2), (0, 1, 2, 1)))})",
            f"wg.{draw.choice(('tril', 'triu'))}({x})",
            f"wg.{draw.choice(('diagonal', 'trace'))}({x}, offset={draw.choice((-1, 0, 1))})",
            f"wg.unstack({x}, axis={at})[0]",
            f"wg.eye({draw.choice(SIZES)}, {draw.choice((None, 2))})",
            f"wg.{draw.choice(('zeros', 'ones'))}({draw.choice((a, 3))})",
            f"wg.linspace(0.0, 1.0, {draw.choice(SIZES)})",
            f"wg.argmax({x}, axis={at}, keepdims={draw.choice((True, False))})",
            f"wg.top_k({x}, {draw.choice(SIZES)}, axis={at})[0]",
            f"wg.segment_sum({x}, {[0] * draw.choice((1, 2, 3))}, num_segments={draw.choice(SIZES)})",
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


def name_of(line: str) -> str:
    """The operation that a call begins with."""
    return line[: line.index("(")]


@pytest.mark.parametrize(("seed", "count"), [(20240, 300), pytest.param(1, 1000, marks=pytest.mark.nightly)])
def test_static_and_run_time_shapes_agree_in_shape_and_words(tmp_path: Path, seed: int, count: int) -> None:
    draw = random.Random(seed)
    calls = [call(draw) for _ in range(count)]
    source = HEADER + "".join(f"reveal_type({line})\n" for line in calls)
    answers = statically(project(tmp_path / "p", {"calls.py": source}))
    differing, known, blind = [], 0, {name_of(line) for line in calls}
    for number, line in enumerate(calls, start=3):
        if number in answers:
            known += 1
            blind.discard(name_of(line))
            at_run = at_run_time(line)
            if not re.fullmatch(re.escape(answers[number]).replace(r"\?", r"\d+"), at_run):  # ? is any size
                differing.append(f"{line}\n  mypy: {answers[number]}\n  run:  {at_run}")
    assert not differing, "\n".join(differing)
    blind -= {"wg.argmax", "wg.take_along_axis"}  # Indices, and lists of unknown length
    assert not blind, f"mypy never knows what these give: {sorted(blind)}"
    assert known > 0.8 * count, f"only {known} of {len(calls)} calls have a static answer"
