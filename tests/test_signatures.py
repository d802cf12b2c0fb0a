"""No `Any` leaks out of a public signature: where a parameter or a result is no more than that, a reason stands by."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wengert as wg
from wengert import extend, nn, plugins, run

SOURCES = Path(__file__).resolve().parent.parent / "src" / "wengert"
PUBLIC = {name for module in (wg, extend, nn, plugins, run) for name in module.__all__}
NOTHING_SAID = {"Any", "Do[Any]", "list[Any]", "tuple[Any, ...]", "dict[str, Any]"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def public_functions(body: list[ast.stmt], inside: bool | None = None) -> Iterator[Function]:
    """Those that a checker shows: of an overloaded function the overloads."""
    kept: dict[str, list[Function]] = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from public_functions(node.body, node.name in PUBLIC)
        elif isinstance(node, Function):
            shown = node.name in PUBLIC if inside is None else inside and not node.name.startswith("_")
            if shown:
                kept.setdefault(node.name, []).append(node)
    for several in kept.values():
        yield from several[:-1] if len(several) > 1 else several


def unexplained(text: str) -> list[str]:
    """The public functions of a source that say Any and not why; the reason stands within two lines of them."""
    lines, found = text.splitlines(), []
    for node in public_functions(ast.parse(text).body):
        given = [x.annotation for x in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        said = {ast.unparse(x) for x in (*given, node.returns) if x is not None}
        around = lines[max(0, node.lineno - 3) : node.body[0].lineno]
        if said & NOTHING_SAID and not any("# Any" in line for line in around):
            found.append(node.name)
    return found


@pytest.mark.parametrize("path", sorted(SOURCES.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCES)))
def test_any_alone_in_a_public_signature_has_its_reason(path: Path) -> None:
    assert not unexplained(path.read_text(encoding="utf-8"))


def test_the_check_fails_where_it_must() -> None:
    assert unexplained("def predict(x: int) -> Any: ...") == ["predict"]
    assert not unexplained("def predict(x: int) -> Any: ...  # Any: of every type")
    assert not unexplained("def _asked(x: Any) -> Any: ...")
