"""Graphs as programs for tests: lowered with the abstract values of their data, and evaluated equation by equation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.arrays import all_quiet, one_like
from wengert.arrays.abstract import Aval
from wengert.arrays.infer import aval_of
from wengert.graph.node import Expression
from wengert.graph.order import below
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta
from wengert.program.build import Builder, bare
from wengert.program.derive import Lowering, capture, leaving
from wengert.program.program import Program, Var, mapped, vars_in


@dataclass
class Drawn:
    """A graph as one program, forward and backward, and its inputs' values."""

    program: Program
    given: list[Any]
    opaque: set[str]  # the names of rules that are called as they are

    def steps(self) -> Iterator[tuple[str, Aval, Any]]:
        """Each equation: the name of its function, what is known of its result, and its result."""
        values = dict(zip(self.program.inputs, self.given, strict=True))

        def now(x: Any) -> Any:
            return mapped(lambda part: values[part] if isinstance(part, Var) else part, x)

        with all_quiet():
            for e in self.program.eqns:
                options = {name: now(x) for name, x in e.options.items()}
                found = values[e.result] = e.function(*map(now, e.arguments), **options)
                yield getattr(e.function, "__name__", str(e.function)), e.result.aval, found


def lowered(root: Expression) -> Drawn:
    """The value of an expression, and the deltas of its weights for a delta of ones."""
    nodes, weights = below(root, {})
    builder = Builder()
    operations = capture(nodes, weights, literals=True)
    given = [x.ref.data if isinstance(x, Weight) else x for _, x in operations.inputs]
    inputs = [builder.input(aval_of(x)) for x in given]
    slots = [slot for slot, _ in operations.inputs]
    low = Lowering(operations, builder, dict(zip(slots, inputs, strict=True)))
    low.forward()
    value = low.values[operations.slots[root]]
    forward = len(builder.eqns)
    sent: dict[Any, Any] = {operations.slots[root]: one_like(np.ones(value.shape, value.dtype))}
    if not nodes or not root.kind.trainable:
        sent = {}
    low.backward(sent)
    deltas = [leaving(builder, sent[operations.slots[w]]) for w in weights if operations.slots[w] in sent]
    assert not any(isinstance(d, LazyDelta) for d in deltas)
    program = Program([x.var for x in inputs], builder.eqns, [bare(value), *map(bare, deltas)], forward)
    opaque = {getattr(e.function, "__name__", str(e.function)) for e in builder.eqns if not e.pure}
    assert all(isinstance(x, Var) for x in vars_in(tuple(program.outputs)))
    return Drawn(program, given, opaque)
