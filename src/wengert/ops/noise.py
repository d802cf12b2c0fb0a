"""Noise for training: dropout.

Knows: that a mask is drawn in the run, from nothing but a shape, a rate and a seed, once for forward and backward.
Refuses to know: where seeds come from, and whether this is a training.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, Final

from wengert.arrays import Dv, S, T, Value, integer_array, is_integer
from wengert.errors import ArgumentError
from wengert.graph.apply import apply, binary
from wengert.graph.batch import Batch
from wengert.graph.expressions import ArrayExpression, ArrayLayer
from wengert.graph.kinds import Column, Kind, Shape, kind
from wengert.graph.operation import Operation, Rules
from wengert.graph.operators import MULTIPLY
from wengert.ops.batching import repeated
from wengert.ops.kinds import array_of
from wengert.site import user_position


def _infer(kinds: Sequence[Kind]) -> Kind:
    shape, dtype, device = array_of(kinds[:1])
    return kind(Column.ARRAY, shape, dtype, device)


def _infer_rows(kinds: Sequence[Kind], *, shape: Shape, dtype: Any) -> Kind:  # Any: as kinds keep it
    rows = kinds[1].shape
    assert rows is not None, "made by a batching rule only"
    return kind(Column.ARRAY, (rows[0], *shape), dtype, kinds[1].device)


DROPOUT_ROWS: Final = Operation(  # a mask for each row, of its own seed
    "dropout_rows",
    Rules(
        _infer_rows,
        lambda c, rate, seeds, *, shape, dtype: c.xp.dropout_masks(shape, dtype, rate, seeds),
        detached=True,
        pure=True,
    ),
    listed=False,
)


def _batched(b: Batch, x: Value, rate: Value, seed: Value) -> Value:
    shape, (_, own_rate, own_seed) = b.shape(0), b.stacked
    if not own_rate and not own_seed:
        return repeated(b.again(x[0] if b.stacked[0] else x, rate, seed), (b.rows, *shape))
    seeds = seed if own_seed else repeated(seed, (b.rows, *b.shape(2)))
    return apply(DROPOUT_ROWS, (rate, seeds), (("shape", shape), ("dtype", b.result.dtype)))


# The seed is an operand and no attribute: one signature serves every step of a training.
DROPOUT: Final = Operation(
    "dropout",
    Rules(
        _infer,
        lambda c, x, rate, seed: c.xp.dropout_mask(c.shape(0), c.result.dtype, rate, seed),
        detached=True,
        batch=_batched,
        pure=True,
    ),
)


def dropout(
    x: ArrayExpression[S, T, Dv], rate: float, /, *, seed: int | tuple[int, ...]
) -> ArrayLayer[S, T, Dv]:
    """x m, where each element of m is 0 with probability `rate`, else 1 / (1 - rate).

    The mask m is a function of the shape and the seed: equal seeds give equal masks, in every run and in both
    element types. Give each layer and each step its own, as in seed=(step, 1). Without a rate, m is 1.
    Derivative: g m.
    Shapes: that of x. Raises ArgumentError for a rate outside [0, 1), or a seed that is no integer ≥ 0.
    >>> import numpy as np
    >>> dropout(np.ones(6), 0.5, seed=(1, 2)).predict().run().tolist()
    [2.0, 0.0, 2.0, 0.0, 0.0, 0.0]

    Source: N. Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", 2014.
    """
    if not isinstance(rate, Real) or not 0.0 <= rate < 1.0:
        raise ArgumentError(
            f"dropout: the rate is a number from 0 to less than 1, the part that is dropped; got {rate!r:.60}\n"
            f"  at {user_position()}"
        )
    seeds = seed if isinstance(seed, tuple) else (seed,)
    if not seeds or not all(is_integer(n) and 0 <= int(n) < 2**63 for n in seeds):
        raise ArgumentError(
            f"dropout: the seed is an integer from 0 to 2**63 - 1, or a tuple of them; got {seed!r:.60}\n"
            f"  at {user_position()}"
        )
    mask = apply(DROPOUT, (x, float(rate), integer_array(seeds)))
    layer: ArrayLayer[S, T, Dv] = binary(MULTIPLY, mask.operands[0], mask)
    return layer
