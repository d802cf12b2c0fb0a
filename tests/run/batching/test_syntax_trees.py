"""The syntax trees of the standard library's functions, batched and one by one: every shape that people write."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.batching.trees import Layer, close, sequential
from wengert import run
from wengert.plugins import SGD

_KINDS = 128


_OTHERS = {"site-packages", "test", "tests", "idle_test"}  # its tests are twice as large as the library


def functions() -> Iterator[ast.AST]:
    """Every function of the library's modules; read as asked for: all at once make each collection slow."""
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(library.rglob("*.py")):
        if _OTHERS.intersection(path.relative_to(library).parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue  # lib2to3 has files that are wrong on purpose
        yield from (x for x in ast.walk(tree) if isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef)))


Double = wg.ArrayLayer[Any, np.float64]


class Reader:
    """A vector a node: its kind, and its children from left to right."""

    def __init__(self, size: int = 4) -> None:
        chance = np.random.default_rng(0)
        settings = SGD(learning_rate=0.01)
        self.kinds = settings.array_weight(chance.normal(size=(_KINDS, size)))
        self.joining = settings.array_weight(chance.normal(size=(2 * size, size)) * 0.5)
        self.bias = settings.array_weight(chance.normal(size=size))
        self.numbers: dict[str, int] = {}
        joining, bias = self.joining, self.bias

        @wg.cell
        def join(h: Double, x: Double) -> Double:
            return wg.tanh(wg.concat((h, x), axis=0) @ joining + bias)

        self.join = join

    def vector(self, root: ast.AST) -> Layer:
        order, stack = [], [root]
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(ast.iter_child_nodes(node))
        done: dict[int, Layer] = {}
        for node in reversed(order):
            name = type(node).__name__
            h = wg.take(self.kinds, self.numbers.setdefault(name, len(self.numbers) % _KINDS))
            for child in ast.iter_child_nodes(node):
                h = self.join(h, done[id(child)])
            done[id(node)] = wg.tanh(h) * 0.5 + h if isinstance(node, ast.BinOp) else h
        return done[id(root)]

    def loss(self, batch: Sequence[ast.AST]) -> Layer:
        total: Layer = 0.0
        for root in batch:
            total = total + wg.mean(wg.square(self.vector(root)))
        return total


def agree(found: Iterator[ast.AST], width: int) -> int:
    """Both interpreters train on all of them, and see the same losses; how many there were."""
    first, second = Reader(), Reader()
    one_by_one, batched = sequential(), run.Batched()
    seen = 0
    while batch := list(islice(found, width)):
        seen += len(batch)
        losses: list[Any] = [
            first.loss(batch).train().run(one_by_one),
            second.loss(batch).train().run(batched),
        ]
        close(losses[:1], losses[1:], 1e-10)
    close(
        [w.data for w in (first.kinds, first.joining, first.bias)],
        [w.data for w in (second.kinds, second.joining, second.bias)],
        1e-9,
    )
    assert not batched.report.unbatched
    return seen


@pytest.mark.slow
def test_some_functions_agree() -> None:
    assert agree(islice(functions(), 12), 20) == 12


@pytest.mark.nightly
def test_all_functions_agree() -> None:
    assert agree(functions(), 100) > 15_000
