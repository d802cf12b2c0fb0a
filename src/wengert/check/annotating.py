"""Shapes that a call has shown, written into the annotations of a file that have none.

Knows: `wg.ArrayLayer` alone, of a parameter or a result, becomes `wg.ArrayLayer[tuple[Batch, Literal[10]]]`, where all
calls had that one shape; what the new words need is imported and defined once.
Refuses to know: annotations that say anything already, and sizes that are neither numbers nor names: those are `int`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from wengert.check.recording import Recording
from wengert.check.sizes import NamedSizes
from wengert.check.stated import Function, functions_of

_BARE = ("ArrayLayer", "ArrayExpression", "ArrayWeight")


class Edit(NamedTuple):
    """A text that is inserted behind a place of the file, counted in bytes of its line."""

    line: int
    column: int
    text: str


def annotated(module: ModuleType, recordings: Sequence[Recording], names: NamedSizes) -> str:
    """Write a module's file anew; the line that says what was written.

    Only what is inserted changes: everything else, comments and the ends of lines too, stays as it is.
    """
    path = Path(module.__file__ or "")
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    functions = {(f.__name__, f.__code__.co_firstlineno): f for f in functions_of(module).values()}
    edits = [
        edit
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and (
            function := functions.get(
                (node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)]))
            )
        )
        for edit in _edits(node, function, recordings, names)
    ]
    if not edits:
        return f"{path.name}: no annotation without a shape was reached"
    lines = source.encode().splitlines(keepends=True)
    for edit in sorted(edits, reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.column] + edit.text.encode() + line[edit.column :]
    at = max(node.end_lineno or 0 for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    lines[at:at] = [line.encode() for line in _needed(module, " ".join(edit.text for edit in edits), names)]
    path.write_bytes(b"".join(lines))
    return f"{path.name}: {len(edits)} annotations have shapes now"


def _edits(
    node: ast.FunctionDef, function: Function, recordings: Sequence[Recording], names: NamedSizes
) -> Iterator[Edit]:
    given = [(x.arg, x.annotation) for x in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    for name, annotation in [*given, ("return", node.returns)]:
        if not isinstance(annotation, ast.Name | ast.Attribute):
            continue
        if ast.unparse(annotation).rpartition(".")[2] not in _BARE:
            continue
        shapes = [recording.shapes.get((function.__code__, name), set()) for recording in recordings]
        if all(len(of) == 1 for of in shapes):
            text = ", ".join(
                _words(values, names) for values in zip(*(next(iter(of)) for of in shapes), strict=True)
            )
            yield Edit(annotation.end_lineno or 0, annotation.end_col_offset or 0, f"[tuple[{text or '()'}]]")


# a size as it is written in a type
def _words(values: Sequence[int], names: NamedSizes) -> str:
    found = names.formula(values)
    if found is None or not (found.named or found.value is not None):
        return "int"
    return str(found) if found.named else f"Literal[{found}]"


def _needed(module: ModuleType, text: str, names: NamedSizes) -> Iterator[str]:
    """The lines that words of annotations need and a module does not have."""
    if "Literal[" in text and not hasattr(module, "Literal"):
        yield "from typing import Literal\n"
    missing = [name for name in names if name in text and not hasattr(module, name)]
    yield from ["\n\n"] * bool(missing) + [f"class {name}(int): ...\n" for name in missing]
