"""The kernels that a run's programs are made of, as text, before anything is compiled.

Knows: that the questions of a description name their expressions, and that a program is traced from these as a plan's.
Refuses to know: compilers and devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from wengert.arrays import all_quiet
from wengert.control import Do
from wengert.control.do import Question, questions
from wengert.errors import ArgumentError
from wengert.graph.binding import At
from wengert.graph.node import Expression, Node
from wengert.graph.operand import lift_any
from wengert.graph.order import below
from wengert.graph.products import Also
from wengert.program.build import NoProgram
from wengert.program.cuda import for_device
from wengert.program.fused import FusedGroup, fused, fused_updates
from wengert.program.loops import C, loop_text
from wengert.program.program import Program
from wengert.run.compiled.lowered import device_of, finished, lowered_in_steps
from wengert.run.compiled.program import simplified
from wengert.run.gradient import Wanted
from wengert.site import user_position

__all__ = ["DialectName", "KernelText", "kernels"]

DialectName = Literal["c", "cuda"]
_DIALECTS: Final = ("c", "cuda")


class KernelText(NamedTuple):
    """A kernel: the name of its function, and a source that is complete by itself."""

    name: str
    source: str


def kernels(do: Do[Any], dialect: DialectName = "c") -> list[KernelText]:  # Any: whatever the run gives
    """The kernels into which the equations of a run are fused, in order, each once; nothing is run or compiled.

    `dialect` is "c", for loops that numpy calls, or "cuda". The text depends on shapes, element types and operations
    alone. What only a run asks, behind a bind, and what has no program has no kernels here; neither has the step of an
    optimizer whose state the first step makes: train once before.
    Raises ArgumentError for what is no `Do`, and for another dialect.
    >>> import numpy as np
    >>> from wengert import lift, run, tanh
    >>> x = lift(np.ones((2, 3), np.float32))
    >>> [kernel.name for kernel in run.kernels((tanh(x) * 0.5 + 1.0).predict(), "cuda")]
    ['kernel0']
    """
    if not isinstance(do, Do):
        raise ArgumentError(f"kernels: expected a Do, got {type(do).__name__}\n  at {user_position()}")
    if dialect not in _DIALECTS:
        raise ArgumentError(f'kernels: dialect is "c" or "cuda", got {dialect!r}\n  at {user_position()}')
    found: dict[str, KernelText] = {}  # by the text of a kernel without a name of its own
    for question in questions(do):
        p = _program_of(question)
        for text_of in [] if p is None else _texts(p, dialect):
            name = f"{'loop' if dialect == 'c' else 'kernel'}{len(found)}"
            found.setdefault(text_of("kernel"), KernelText(name, text_of(name)))
    return [*found.values()]


def _texts(p: Program, dialect: str) -> list[Callable[[str], str]]:
    if dialect == "cuda":
        return [kernel.text for kernel in for_device(p).kernels]
    _, groups = fused(p := simplified(p))
    return [partial(_loop, group) for group in (*groups, *(x.group for x in fused_updates(p, groups)))]


def _loop(group: FusedGroup, name: str) -> str:
    return C.module([loop_text(group, name)])


def _program_of(question: Question[Any]) -> Program | None:  # Any: its answer
    """The program of a question that reads an expression; None of any other, and where there can be none."""
    if question.method not in ("predict", "train", "gradients"):
        return None
    first, *others = question.arguments
    also: Sequence[Expression] = first.outputs if isinstance(first, Also) else ()
    asked = first.root if isinstance(first, Also) else first
    root = lift_any(asked.asked if isinstance(asked, At) else asked)
    if not isinstance(root, Node):
        return None
    wanted = others[0].targets if others and isinstance(others[0], Wanted) else None
    nodes, weights = below(root, {})
    back, on_device = question.method != "predict", device_of(nodes) is not None
    steps = lowered_in_steps(nodes, weights, back, wanted, also, on_device)
    with all_quiet(), suppress(NoProgram):
        made = finished(steps)
        return made.program(made.updates() if question.method == "train" and made.deltas else None)
    return None
