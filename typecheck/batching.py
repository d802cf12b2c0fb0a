"""A user's operation that says how it is done for many rows at once."""

from __future__ import annotations

from typing import Any, assert_type

import wengert as wg
from wengert import extend


@extend.operation(
    extend.kinds.elementwise, lambda case, x: x * x, lambda case, g, y, x: 2.0 * g * x, batch=extend.rowwise
)
def squared(x: wg.DoubleExpression, /) -> wg.DoubleLayer:
    raise NotImplementedError


def by_lines(batch: extend.Batch, x: Any, *, axis: int) -> Any:
    assert_type(batch.rows, int)
    assert_type(batch.stacked, tuple[bool, ...])
    assert_type(batch.shape(0), tuple[int, ...])
    return batch.again(x, axis=axis + 1)


def case_a_batching_rule(w: wg.DoubleWeight, kind: extend.Kind) -> None:
    assert_type(squared(w), wg.DoubleLayer)
    extend.Rules(extend.kinds.elementwise, abs, batch=by_lines)
    extend.operation(extend.kinds.elementwise, abs, batch=extend.batching.reduced)
    extend.operation(extend.kinds.elementwise, abs, batch=3)  # E: incompatible type "int"
    extend.Batch(kind)  # E: Missing positional arguments
