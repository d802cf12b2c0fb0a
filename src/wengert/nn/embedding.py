"""`Embedding`: a row of a table for each index; and `EmbeddingBag`: one for all indices of a bag.

Knows: their table and how it begins.
Refuses to know: what the indices mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, prod
from sys import maxsize
from typing import Any, Final, Generic, Literal, TypeAlias, cast, final

from wengert.arrays import HOST, Dv, Integers, Shape, T
from wengert.elsewhere import ModelNames
from wengert.errors import ArgumentError
from wengert.graph import ArrayLayer, ArrayWeight, IndexExpression
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import checked_integers, fill, misfit
from wengert.nn.dims import N, On, Rows, Width
from wengert.nn.init import Init
from wengert.nn.making import Beginning, Seed
from wengert.ops import greater, mean, reshape, segment_max, segment_mean, segment_sum, sum, take, where
from wengert.ops import max as greatest
from wengert.plugins.making import Placing
from wengert.site import user_position


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
        fill(self, table=table)

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        rows: int,
        width: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        init: Init | None = None,
    ) -> Embedding[Any, Any, N, On]:
        """A new table, of the standard normal distribution, or `init` of `nn.init`.

        Raises ArgumentError for a size below 1.
        """
        return Embedding(_table(Beginning("Embedding", settings, seed, name, dtype), rows, width, init))

    def __call__(self, indices: IndexExpression, /) -> ArrayLayer[Any, T, Dv]:
        return take(self.table, indices, axis=0)


Mode: TypeAlias = Literal["sum", "mean", "max"]
# of each mode: over an axis, and over segments
_MODES: Final[dict[str, tuple[Any, Any]]] = {  # Any: operations of several signatures
    "sum": (sum, segment_sum),
    "mean": (mean, segment_mean),
    "max": (greatest, segment_max),
}


@final
@dataclass(frozen=True, eq=False, init=False)
class EmbeddingBag(ModelNames, Generic[Rows, Width, T, Dv]):
    """Rows of a table, of which those of a bag become one: their sum, mean or greatest elements.

    y[b] = Σ table[indices[b, i]] over i, or the mean, or the maximum. Bags are the last axis of the indices, all of
    them or the first `lengths`; or they are parts of one vector, which begin at `offsets`. An empty bag is 0.
    Shapes: integers (..., N), lengths (...), to (..., Width); integers (n,), offsets (B,), from 0 on and in order, to
    (B, Width). Raises what `Embedding` raises; ArgumentError for another mode, and for lengths or offsets out of range.
    >>> from wengert.plugins import SGD
    >>> bag = EmbeddingBag.make(SGD(learning_rate=0.1), 100, 8, seed=0)
    >>> bag([[4, 0, 99], [1, 1, 7]], lengths=[3, 1]).shape, bag([4, 0, 99, 1], offsets=[0, 3]).shape
    ((2, 8), (2, 8))

    Source: PyTorch, `torch.nn.EmbeddingBag`; Joulin et al. 2017, "Bag of Tricks for Efficient Text Classification".
    """

    table: ArrayWeight[tuple[Rows, Width], T, Dv]
    mode: Mode = "mean"

    def __init__(self, table: ArrayOperand[tuple[Rows, Width], T, Dv], mode: Mode = "mean") -> None:
        fill(self, table=table, mode=mode)
        if not isinstance(mode, str) or mode not in _MODES:
            raise ArgumentError(
                f"EmbeddingBag: mode is {', '.join(map(repr, _MODES))}; got {mode!r:.60}\n  at {user_position()}"
            )

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        rows: int,
        width: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        mode: Mode = "mean",
        init: Init | None = None,
    ) -> EmbeddingBag[Any, Any, N, On]:
        """A new table, of the standard normal distribution, or `init`. Raises ArgumentError for a size below 1."""
        table = _table(Beginning("EmbeddingBag", settings, seed, name, dtype), rows, width, init)
        return EmbeddingBag(table, mode)

    def __call__(
        self, indices: IndexExpression, /, *, lengths: Integers | None = None, offsets: Integers | None = None
    ) -> ArrayLayer[Any, T, Dv]:
        over_axis, over_segments = _MODES[self.mode]
        if lengths is None and offsets is None:
            rows = take(self.table, indices, axis=0)
            if len(rows.shape) < 2:
                raise misfit(
                    "EmbeddingBag", "expected indices (..., n), or offsets in a vector of them; got one index"
                )
            one: ArrayLayer[Any, T, Dv] = over_axis(rows, axis=-2)
            return one
        flat, ids, bags = _bags(indices, lengths, offsets)
        each = over_segments(take(self.table, flat, axis=0), ids, num_segments=prod(bags))
        if self.mode == "max":
            each = where(greater(each, -inf), each, 0.0)
        made: ArrayLayer[Any, T, Dv] = reshape(each, (*bags, each.shape[-1]))
        return made


# Any: as in `Beginning`
def _table(begin: Beginning[N, On], rows: int, width: int, init: Init | None) -> ArrayWeight[Any, N, On]:
    shape = begin.size("rows", rows), begin.size("width", width)
    return begin.normal("table", shape, 1.0) if init is None else begin.drawn("table", shape, *shape, init)


# Any: data of integers
def _bags(indices: Any, lengths: Integers | None, offsets: Integers | None) -> tuple[Any, Any, Shape]:
    """The indices of all bags, one after the other; of each the number of its bag; and the shape of all bags."""
    if lengths is not None and offsets is not None:
        raise ArgumentError(f"EmbeddingBag: lengths or offsets, not both\n  at {user_position()}")
    data = checked_integers("EmbeddingBag", "indices of bags of several sizes", indices, maxsize, "rows")
    if offsets is not None:
        if len(data.shape) != 1:
            raise misfit("EmbeddingBag", f"expected a vector of indices with offsets, got {data.shape}")
        (count,) = data.shape
        begins = checked_integers("EmbeddingBag", "offsets", offsets, count, "indices")
        if len(begins.shape) != 1 or not begins.size or begins[0] or bool(HOST.any(begins[1:] < begins[:-1])):
            raise ArgumentError(
                f"EmbeddingBag: offsets are a vector that begins with 0 and does not fall; got {begins!r:.60}\n"
                f"  at {user_position()}"
            )
        return data, HOST.searchsorted(begins, HOST.mesh((count,))[0], "right") - 1, begins.shape
    *bags, most = data.shape or (0,)
    sizes = checked_integers("EmbeddingBag", "lengths", cast(Integers, lengths), most, "indices in a bag")
    if sizes.shape != tuple(bags):
        raise misfit("EmbeddingBag", f"expected lengths of shape {tuple(bags)}, got {sizes.shape}")
    kept = HOST.mesh((most,))[0] < HOST.reshape(sizes, (-1, 1))
    numbers = HOST.broadcast_to(HOST.mesh((prod(bags), 1))[0], kept.shape)
    return HOST.reshape(data, kept.shape)[kept], numbers[kept], tuple(bags)
