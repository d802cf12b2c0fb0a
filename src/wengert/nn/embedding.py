"""`Embedding`: a row of a table for each index.

Knows: its table and how it begins.
Refuses to know: what the indices mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, final

from wengert.arrays import Dv, T
from wengert.elsewhere import ModelNames
from wengert.graph import ArrayLayer, ArrayWeight, IndexExpression
from wengert.graph.expressions import ArrayOperand
from wengert.nn.dims import N, Rows, Width
from wengert.nn.init import Init
from wengert.nn.making import Beginning, Seed
from wengert.ops import take
from wengert.plugins import Plugin


@final
@dataclass(frozen=True, eq=False, init=False)
class Embedding(ModelNames, Generic[Rows, Width, T, Dv]):
    """Rows of a table: a vector of `Width` numbers for each of `Rows` symbols.

    y[..., j] = table[indices[...], j]; its delta touches only the rows that were taken.
    Shapes: integers (...) to (..., Width). Raises DTypeError for indices that are no integers, IndexError in the
    run for an index out of range.
    >>> from wengert.plugins import SGD
    >>> Embedding.make(SGD(learning_rate=0.1), 100, 8, seed=0)([[4, 0, 99], [1, 1, 7]]).shape
    (2, 3, 8)

    Source: Bengio et al. 2003, "A Neural Probabilistic Language Model", the matrix C.
    """

    table: ArrayWeight[tuple[Rows, Width], T, Dv]

    def __init__(self, table: ArrayOperand[tuple[Rows, Width], T, Dv]) -> None:
        # an expression in the place of a weight: see `wengert.nn.replace`
        object.__setattr__(self, "table", table)

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Plugin,
        rows: int,
        width: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        init: Init | None = None,
    ) -> Embedding[Any, Any, N]:
        """A new table, of the standard normal distribution, or `init` of `nn.init`.

        Raises ArgumentError for a size below 1.
        """
        begin = Beginning("Embedding", settings, seed, name, dtype)
        shape = begin.size("rows", rows), begin.size("width", width)
        if init is not None:
            return Embedding(begin.drawn("table", shape, *shape, init))
        return Embedding(begin.normal("table", shape, 1.0))

    def __call__(self, indices: IndexExpression, /) -> ArrayLayer[Any, T, Dv]:
        return take(self.table, indices, axis=0)
