"""What a failure is told on its way out: which operation, on what, written where (S7).

Knows: how a value and a node are described in one line.
Refuses to know: what failed and why; the exception says that itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.arrays import Value, dtype_of, is_array, shape_of
from wengert.graph.node import Node
from wengert.graph.operand import value_kind


def noted(failure: Exception, node: Node, operands: Sequence[Value], part: str = "") -> Exception:
    """The same exception with a note, unless it has that very note from another branch."""
    shown = ", ".join(described(x) for x in operands)
    name = node._signature.operation.name
    note = f"in {part}{name}({shown}), built at {node.site}"
    if note not in getattr(failure, "__notes__", ()):
        failure.add_note(note)
    return failure


def described(x: Value) -> str:
    """A value by shape and dtype."""
    return f"{shape_of(x)} {dtype_of(x)}" if is_array(x) else value_kind(x).text()
