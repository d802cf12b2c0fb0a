"""A plan in the making: a run that is traced, which is the run.

Knows: that a trace that fails has changed nothing, and what the evaluation needs from one that does not.
Refuses to know: which structures have earned a plan, and where plans are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from wengert.arrays import Value, all_quiet, is_array
from wengert.graph.node import Expression, Node
from wengert.run.compiled.binder import in_steps
from wengert.run.compiled.plan import Plan
from wengert.run.compiled.program import Program
from wengert.run.compiled.tracer import Tracer
from wengert.run.compiled.tracing import concrete
from wengert.run.evaluation import Evaluation

if TYPE_CHECKING:
    from wengert.run.compiled.plans import Mode


def made(
    evaluation: Evaluation,
    nodes: Sequence[Node],
    mode: Mode,
    targets: Sequence[Expression],
    program: Callable[..., Program] | None,
    stacked: bool,
    at_once: bool,
) -> Plan | None:
    """The plan of `nodes`, the root last, which have their values and deltas by then; None where that fails.

    Unless `at_once`, it is not ready: its steps are left to later runs, which change the data of weights.
    """
    root = nodes[-1]
    evaluation.gives_back = True
    tracer = Tracer(nodes, evaluation.values if at_once else _copied(evaluation.values), mode != "predict")
    plan = None
    try:
        if not _traced(tracer, root, mode, targets):
            return None
        asked = targets if mode == "gradients" else None
        bind = partial(in_steps, nodes, tracer.weights, asked or ())
        plan = Plan(root, tracer, bind, asked, program or Program, stacked, at_once)
        evaluation.values |= {x: concrete(value) for x, value in tracer.results.items()}
        calls = len(tracer.trace.calls)
        evaluation.deltas = tracer.found()
        del tracer.trace.calls[calls:]  # which put these deltas together
        evaluation.wanted = {x: concrete(d) for x, d in zip(targets, tracer.asked, strict=True)}
    finally:
        if plan is None or plan.ready:
            tracer.trace.close()
        else:
            plan.closes(tracer.trace)
    return plan


def _copied(values: Mapping[Expression, Value]) -> dict[Expression, Value]:
    """The values, the arrays in the same order in memory."""
    return {x: value.copy(order="K") if is_array(value) else value for x, value in values.items()}


def _traced(tracer: Tracer, root: Node, mode: Mode, targets: Sequence[Expression]) -> bool:
    try:
        with all_quiet():
            tracer.forward((root, *targets))
            if mode != "predict":
                tracer.backward(root, targets)
    except Exception:  # nothing is lost: the interpreter meets it, and says whose it is
        return False
    return True
