"""Small mistakes, made on purpose in a module: what a test suite ought to notice.

Knows: which places of a module's syntax tree can be wrong in a small way, and the tree with one of them wrong.
Refuses to know: tests, files and processes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

A = TypeVar("A", bound=ast.AST)
_OPERATORS: dict[type[ast.AST], Any] = {  # Any: a class of the same kind
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Break: ast.Continue,
}


_LEFT_OUT = (ast.Raise, ast.Assert, ast.AugAssign, ast.Delete, ast.Break, ast.Continue)


@dataclass(frozen=True)
class Mutant:
    """One change: the how-manieth place of the module, what is done there, and the lines one of which leads there."""

    place: int
    line: int
    change: str
    lines: range


def mutants(source: str) -> list[Mutant]:
    """All that can be made of a module's text, in the order of the text."""
    tree = ast.parse(source)
    places = enumerate(_places(tree))
    return [Mutant(i, getattr(node, "lineno", 0), words, lines) for i, (node, words, _, lines) in places]


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """The module's tree with one change; every other line is where it was."""
    tree = ast.parse(source)
    for i, (_, _, change, _) in enumerate(_places(tree)):
        if i == mutant.place:
            change()
            return ast.fix_missing_locations(tree)
    raise ValueError(f"the module has no place {mutant.place}")


Change = tuple[ast.AST, str, Callable[[], object]]


def _places(tree: ast.Module) -> Iterator[tuple[ast.AST, str, Callable[[], object], range]]:
    """Every place in the tree: its node, the change in words, the change, and the lines of its statement."""
    todo: list[tuple[ast.AST, range]] = [(tree, range(0))]
    while todo:
        node, lines = todo.pop()
        lines = _lines(node) if isinstance(node, ast.stmt) else lines
        for changed, words, change in _changes(node):
            yield changed, words, change, _lines(changed) if isinstance(changed, ast.stmt) else lines
        children: list[ast.AST] = []
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "bases", "type_comment"):
                continue
            items = value if isinstance(value, list) else [value]
            children += [x for x in items if isinstance(x, ast.AST) and not _silent(x)]
        todo.extend((child, lines) for child in reversed(children))


def _lines(statement: ast.stmt) -> range:
    """Whoever gets to a statement executes one of these; what stands in its body has lines of its own."""
    last = statement.end_lineno or statement.lineno
    if isinstance(statement, (ast.If, ast.For, ast.While, ast.With)):
        last = max(statement.lineno, statement.body[0].lineno - 1)
    return range(statement.lineno, last + 1)


def _silent(node: ast.AST) -> bool:
    """What no run can notice: texts, imports, and what only a checker reads."""
    match node:
        case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Raise():
            return True  # of a raise the text; `_statements` leaves the whole of it out
        case ast.keyword(arg="strict"):
            return True  # of `zip`, which asserts what holds in every run of right code
        case ast.Assert():
            return _for_checkers(node)
        case ast.ClassDef():
            return any("Protocol" in ast.unparse(base) for base in node.bases)
        case ast.FunctionDef():
            return any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list)
        case ast.If():
            return ast.unparse(node.test) == "TYPE_CHECKING"
        case ast.Assign():
            return ast.unparse(node.targets[0]).startswith("__") or "TypeVar" in ast.unparse(node.value)
        case ast.AnnAssign():
            return "TypeAlias" in ast.unparse(node.annotation)
    return False


def _changes(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)):
        other = _OPERATORS.get(type(node.op))
        if other is not None and not _of_texts(node):
            yield node, _words(node.op, other), _setter(node, "op", other())
    elif isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            other = _OPERATORS[type(operator)]
            yield node, _words(operator, other), _item(node.ops, i, other())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, "without not", _setter(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node, "without minus", _setter(node, "op", ast.UAdd())
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        new = (not node.value) if isinstance(node.value, bool) else node.value + 1
        yield node, f"{node.value} to {new}", _setter(node, "value", new)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield node, "condition negated", _setter(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Return) and not (node.value is None or _is_none(node.value)):
        yield node, "returns None", _setter(node, "value", ast.Constant(None))
    yield from _statements(node)


def _statements(node: ast.AST) -> Iterator[Change]:
    """Calls for their effect, raises, assertions and additions in place that are left out."""
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if not isinstance(body, list):
            continue
        for i, statement in enumerate(body):
            call = isinstance(statement, ast.Expr) and isinstance(
                statement.value, (ast.Call, ast.Yield, ast.YieldFrom)
            )
            if call or (isinstance(statement, _LEFT_OUT) and not _for_checkers(statement)):
                name = type(statement).__name__.lower()
                yield statement, f"without the {name}", _item(body, i, ast.Pass())


def _for_checkers(node: ast.AST) -> bool:
    """`assert x is not None` tells a type checker what holds already; other assertions are what a law says."""
    return isinstance(node, ast.Assert) and ast.unparse(node.test).endswith(" is not None")


def _of_texts(node: ast.AST) -> bool:
    return any(isinstance(x, ast.Constant) and isinstance(x.value, str) for x in ast.walk(node))


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _words(old: ast.AST, new: type[ast.AST]) -> str:
    return f"{type(old).__name__} to {new.__name__}"


def _setter(node: ast.AST, field: str, value: object) -> Callable[[], object]:
    return lambda: setattr(node, field, value)


def _item(items: list[A], index: int, value: A) -> Callable[[], object]:
    return lambda: items.__setitem__(index, value)
