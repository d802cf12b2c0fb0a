"""`python docs/rules.py`: the page of rules, docs/rules.md, written from the operations themselves.

Each operation says its rule in its docstring, behind `Shapes:`; the example there is called, and the row has what the
rule of the run makes of it: shape and element type, of the operands and of the result.
"""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path
from typing import Any

import numpy as np

import wengert as wg
from wengert import ops
from wengert.graph.node import Expression

PAGE = Path(__file__).with_name("rules.md")
SHAPES = re.compile(r"Shapes?: (.*?)(?=Raises|\n\s*>>>|\n\n|\n\s*Source|\Z)", re.DOTALL)
START = """# Rules of shapes and element types

A row for each operation, written by `python docs/rules.py` from the operation itself: the rule is a sentence of its
docstring, and the example the first call there, with element types and shapes as the rule of the run gives them. The
rules of shapes are in `wengert_shapes`, where the run, the mypy plugin, `python -m wengert check` and the stubs for
pyrefly read them; [checking.md](checking.md) says what mypy makes of them.

**Knows** what each operation takes and gives. **Refuses to know** how it is computed.

Operands of one call have one element type and one device, and Python numbers follow; a number alone is a double.

| operation | shapes | example | where |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return START + "".join(f"| {' | '.join(row(name))} |\n" for name in sorted(ops.__all__))


def row(name: str) -> tuple[str, ...]:
    """One operation."""
    public = getattr(ops, name)
    found = SHAPES.search(public.__doc__)
    assert found is not None, f"{name} says no `Shapes:`"
    rule = " ".join(found[1].split()).rstrip(". ;").replace("|", "\\|")
    home = public.__module__.removeprefix("wengert.")
    return f"`{name}`", rule, f"`{example(name, public)}`", f"`{home}`"


def example(name: str, public: Any) -> str:  # Any: as above
    """The first call in the docstring, with kinds for its operands, and the kind of its result."""
    scope: dict[str, Any] = {**vars(__import__(public.__module__, fromlist=["x"])), "wg": wg}
    for part in doctest.DocTestParser().get_examples(public.__doc__):
        calls = [x for x in ast.walk(ast.parse(part.source)) if isinstance(x, ast.Call) and called(x) == name]
        if calls:
            given = [shown(arg, scope) for arg in calls[0].args]
            given += [f"{k.arg}={ast.unparse(k.value)}" for k in calls[0].keywords]
            return f"{name}({', '.join(given)}) → {kind(evaluated(calls[0], scope))}"
        exec(part.source, scope)
    raise ValueError(f"{name}: no call in its docstring")


def called(call: ast.Call) -> str:
    """The name of what is called."""
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def evaluated(x: ast.expr, scope: dict[str, Any]) -> Any:  # Any: what the expression is
    return eval(compile(ast.Expression(x), "<example>", "eval"), scope)


def shown(x: ast.expr, scope: dict[str, Any]) -> str:
    """An operand as its kind, and a number or a text as it is written."""
    value = evaluated(x, scope)
    plain = isinstance(value, (bool, int, float, str, tuple, type, slice)) or value is None
    if plain and not any(
        isinstance(part, Expression) for part in (value if isinstance(value, tuple) else ())
    ):
        return ast.unparse(x)
    return kind(value)


def kind(value: object) -> str:
    """Element type and shape."""
    if isinstance(value, (tuple, list)):
        parts = [kind(part) for part in value]
        return parts[0] + ", ..." if len(parts) > 2 and len(set(parts)) == 1 else ", ".join(parts)
    if isinstance(value, Expression):
        return text(value.kind.dtype, value.kind.shape)
    if isinstance(value, np.ndarray):
        return text(value.dtype, value.shape)
    if hasattr(value, "nnz"):  # scipy's
        return f"sparse {text(getattr(value, 'dtype', None), getattr(value, 'shape', None))}"
    return repr(value)


def text(dtype: object, shape: tuple[int, ...] | None) -> str:
    """As `float64 (2, 3)`."""
    return f"{getattr(dtype, '__name__', dtype)} {'?' if shape is None else shape}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
