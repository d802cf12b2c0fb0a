"""A plan in the making: a run that is traced, which is the run.

Knows: that a trace that fails has changed nothing, and what the evaluation needs from one that does not.
Refuses to know: which structures have earned a plan, and where plans are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from wengert.arrays import all_quiet
from wengert.graph.node import Expression, Node
from wengert.run.evaluation import Evaluation
from wengert.run.plan import Plan
from wengert.run.program import Program
from wengert.run.tracer import Tracer
from wengert.run.tracing import concrete

if TYPE_CHECKING:
    from wengert.run.plans import Mode


def made(
    evaluation: Evaluation,
    nodes: Sequence[Node],
    mode: Mode,
    targets: Sequence[Expression],
    program: Callable[..., Program] | None,
    stacked: bool,
) -> Plan | None:
    """The plan of `nodes`, the root last, which have their values and deltas by then; None where that fails."""
    root = nodes[-1]
    tracer = Tracer(nodes, evaluation.values)
    try:
        if not _traced(tracer, root, mode, targets):
            return None
        plan = Plan(nodes, tracer, targets if mode == "gradients" else None, program or Program, stacked)
        evaluation.values |= {x: concrete(tracer.table[x]) for x in (root, *targets)}
        evaluation.deltas = tracer.found()
        evaluation.wanted = {x: concrete(d) for x, d in zip(targets, tracer.asked, strict=True)}
    finally:
        tracer.trace.close()
    return plan


def _traced(tracer: Tracer, root: Node, mode: Mode, targets: Sequence[Expression]) -> bool:
    try:
        with all_quiet():
            tracer.forward()
            if mode != "predict":
                tracer.backward(root, targets)
    except Exception:  # nothing is lost: the interpreter meets it, and says whose it is
        return False
    return True
