"""Operations of users: a typed signature, rules, and more rules for the types of others.

Knows: how a Python signature, a shape rule, a value rule and derivative rules become one polymorphic function.
Refuses to know: any formula.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Generic, ParamSpec, TypeVar, cast

from wengert.graph.apply import apply
from wengert.graph.operation import Infer, Operation, Rule, Rules

P = ParamSpec("P")
R = TypeVar("R")


class Custom(Generic[P, R]):
    """A function of expressions: positional arguments are operands, keywords are static attributes."""

    def __init__(self, signature: Callable[P, R], operation: Operation) -> None:
        functools.update_wrapper(self, signature)
        self.operation = operation

    def __call__(self, *operands: P.args, **attributes: P.kwargs) -> R:
        return cast(R, apply(self.operation, operands, tuple(sorted(attributes.items()))))

    def rule(
        self, *classes: type, infer: Infer, value: Rule, derivatives: tuple[Rule | None, ...] = ()
    ) -> None:
        """Say how this operation does on operands whose Data are of `classes`, one class an operand."""
        self.operation.add(classes, Rules(infer, value, derivatives))


def operation(
    infer: Infer,
    value: Rule,
    *derivatives: Rule | None,
    at_weight: Mapping[int, Rule] | None = None,
    broadcasts: bool = False,
    detached: bool = False,
    batch: Rule | None = None,
) -> Callable[[Callable[P, R]], Custom[P, R]]:
    """A new operation; the decorated function gives its name, types and docstring; its body is not run.

    `infer` takes the operands' kinds and gives the result's; `value` takes (case, *operands); a derivative
    takes (case, g, y, *operands) and gives one operand's delta. Static attributes come as keywords to all.
    `case.xp` has the array functions that fit the operands, `case.shape(i)` an operand's shape. A derivative that
    is written with these and with operators alone can be differentiated again.

    What the functions are given cannot be written to: it may be the value or the delta of others as well.

    `batch` says how `run.Batched` does many at once: it takes (batch, *operands), those that `batch.stacked` marks
    with an axis of rows in front, and gives an expression with that axis; `batch.again(*operands)` is the same
    operation on them. One that treats each element by itself has `extend.rowwise`; `extend.batching` has rules for
    reductions and the like. Without it rows go one by one.

    >>> import wengert as wg
    >>> from wengert import extend
    >>> @operation(
    ...     extend.kinds.elementwise, lambda case, x: x * x * x, lambda case, g, y, x: g * (3.0 * x * x)
    ... )
    ... def cube(x: wg.DoubleExpression, /) -> wg.DoubleLayer:
    ...     raise NotImplementedError
    >>> w = wg.plugins.SGD(learning_rate=0.1).double_weight(2.0)
    >>> cube(w).predict().run(), wg.gradients(cube(w), (w,)).run()
    (8.0, (12.0,))

    Rules for operands of other types are added with `cube.rule(Data, ..., infer=..., value=...)`.
    """

    def make(signature: Callable[P, R]) -> Custom[P, R]:
        rules = Rules(infer, value, derivatives, at_weight or {}, broadcasts, detached, batch=batch)
        name = getattr(signature, "__name__", "operation")
        return Custom(signature, Operation(name, rules, signature.__module__))

    return make
