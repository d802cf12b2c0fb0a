"""What the tests of an area do without any mutant: which lines each executes, and how long it takes.

Knows: that a mutant can only be noticed by a test that executes it, or, where it is executed on import, by any test.
Refuses to know: mutants, and what a test asserts.
"""

from __future__ import annotations

import ast
import json
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path

import pytest

from .replaced import Replaced

IMPORTS = ""  # stands for the test that executes what is executed before all tests
MOST = 20.0  # seconds of CPU for a mutant; what only later tests would find counts as a survivor
_MARK = "__executed__"


@dataclass
class Reach:
    """By the name of a test: its seconds of CPU and of the wall, and the lines of each file that it executes.

    `modules` are those of others, which a process can have imported before it knows of a mutant.
    """

    cpu: dict[str, float] = field(default_factory=dict)
    wall: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)

    def order(self, path: Path, lines: range) -> list[str]:
        """The tests that can notice a change in these lines, quick ones first; those that go there before others."""
        asked = set(lines)
        there = {name for name, files in self.lines.items() if asked.intersection(files.get(str(path), ()))}
        near = {name for name, files in self.lines.items() if str(path) in files}
        names = self.cpu if IMPORTS in there else there
        ordered = sorted(names, key=lambda name: (name not in there, name not in near, self.cpu[name]))
        ends = accumulate(self.cpu[name] for name in ordered)
        return [name for name, end in zip(ordered, ends, strict=True) if end <= MOST]

    def save(self, path: Path) -> None:
        """As JSON."""
        path.write_text(json.dumps(asdict(self)))

    @staticmethod
    def load(path: Path) -> Reach:
        """What `save` has written."""
        return Reach(**json.loads(path.read_text()))


class _Marked(ast.NodeTransformer):
    """Each statement, and the body of each lambda, says first that it is executed."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.Lambda):
            node.body = ast.BoolOp(ast.Or(), [_mark(node.body), node.body])
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                setattr(node, name, [x for statement in body for x in _with_mark(statement)])
        return node


def _with_mark(statement: ast.stmt) -> list[ast.stmt]:
    match statement:
        case ast.Expr(ast.Constant()) | ast.ImportFrom(module="__future__"):
            return [statement]  # a docstring, or what has to be first as well
    return [ast.Expr(_mark(statement)), statement]


def _mark(node: ast.expr | ast.stmt) -> ast.Call:
    """A call that gives None."""
    return ast.Call(ast.Name(_MARK, ast.Load()), [ast.Constant(node.lineno)], [])


class Recorder:
    """A plugin of pytest, made before the files are imported: it knows which of their lines are executed."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.reach = Reach()
        self.failed: list[str] = []
        self.seen: dict[str, set[int]] = {str(path): set() for path in files}
        trees = {
            path: ast.fix_missing_locations(_Marked().visit(ast.parse(path.read_text()))) for path in files
        }
        Replaced(
            {
                str(path): (compile(tree, str(path), "exec"), {_MARK: self.seen[str(path)].add})
                for path, tree in trees.items()
            }
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Write down what one test does, and before the first what all had done so far."""
        if IMPORTS not in self.reach.lines:
            self.note(IMPORTS)
        cpu, wall = time.process_time(), time.perf_counter()
        try:
            return (yield)
        finally:
            self.reach.cpu[item.nodeid] = time.process_time() - cpu
            self.reach.wall[item.nodeid] = time.perf_counter() - wall
            self.note(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test, or what it needs, has passed or not."""
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """What has been imported from elsewhere."""
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None)
            if path and Path.cwd() not in Path(path).parents:
                self.reach.modules.append(name)

    def note(self, name: str) -> None:
        """The lines since the last note are this one's."""
        self.reach.lines[name] = {path: sorted(lines) for path, lines in self.seen.items() if lines}
        for lines in self.seen.values():
            lines.clear()
