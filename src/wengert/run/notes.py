"""Notes of failures: which operation, on what operands, written where (S7).

Knows: how a value and a node are described in one line.
Refuses to know: what failed and why; the exception says that itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.arrays import Value, dtype_of, is_array, shape_of
from wengert.control import Do
from wengert.errors import combine
from wengert.graph.node import Node
from wengert.graph.operand import value_kind
from wengert.graph.operation import EXTERNAL
from wengert.graph.weights import Weight


def noted(failure: Exception, node: Node, operands: Sequence[Value], part: str = "") -> Exception:
    """Add a note to an exception, unless it has that very note from another branch."""
    note = f"in {part}{located(node, operands)}"
    if note not in getattr(failure, "__notes__", ()):
        failure.add_note(note)
    return failure


def located(node: Node, operands: Sequence[Value]) -> str:
    """An operation, its operands, and where it was written."""
    return f"{_what(node, operands)}, built at {node.site}"


def _what(node: Node, operands: Sequence[Value]) -> str:
    if node.signature.mode == EXTERNAL:
        (source,) = node.operands
        made = "" if isinstance(source, Do) else f" of {type(source).__name__}"
        return f"forward{made}, the Do behind {type(node).__name__} {node.kind.text()}"
    shown = ", ".join(map(described, operands))
    weights = " and ".join(f"weight {x.name!r:.200}" for x in node.operands if isinstance(x, Weight))
    return f"{node.signature.operation.name}({shown}){weights and ' with '}{weights}"


def raise_all(failures: list[Exception]) -> None:
    """Raise what has been collected, if anything, and leave the list empty.

    Their tracebacks hold the caller's frame, which holds the list: a cycle, which only the collector would free.
    """
    if failures:
        try:
            raise combine(failures)
        finally:
            failures.clear()


def described(x: Value) -> str:
    """A value by shape and dtype."""
    return f"{shape_of(x)} {dtype_of(x)}" if is_array(x) else value_kind(x).text()
