"""Recurrent layers, all steps of a sequence: `RNN`, `LSTM` and `GRU`, of one cell or of several.

Knows: how cells stand above each other and go in both directions, where a row ends, and that the products of all inputs
of a sequence are one.
Refuses to know: the formulas of cells, and how steps follow each other, which `scan` knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, final

from wengert.arrays import HOST, Dv, Integers, Shape, T, namespace_for
from wengert.elsewhere import ModelNames
from wengert.graph import ArrayExpression
from wengert.nn.checks import (
    as_layer,
    check_weight,
    checked_integers,
    fill,
    misfit,
    shape_of,
    with_last_axis,
    with_shape,
)
from wengert.nn.dims import Depth, Hidden, In, N, On, Ways
from wengert.nn.dropout import Dropout
from wengert.nn.init import Init
from wengert.nn.linear import Linear
from wengert.nn.making import Beginning, Seed
from wengert.nn.recurrent import (
    Function,
    Given,
    GRUCell,
    Layer,
    LSTMCell,
    RNNCell,
    State,
)
from wengert.nn.seeded import Seeds, derived
from wengert.ops import concat, flip, greater, stack, tanh, unstack, where
from wengert.plugins.making import Placing
from wengert.run import scan

_KEPT: Final = Dropout(0.0)


@dataclass(frozen=True, eq=False, init=False)
class _Unrolled(ModelNames, Generic[In, Hidden, Depth, Ways, T, Dv]):
    """Cells one above the other, of each layer the one that goes forward first."""

    cells: tuple[Any, ...]  # Any: of one class, with the sizes that fit
    bidirectional: bool
    dropout: Dropout

    def __init__(self, cells: Any, bidirectional: bool = False, dropout: Dropout = _KEPT) -> None:
        given = cells if isinstance(cells, tuple) else (cells,)
        fill(self, cells=given, bidirectional=bidirectional, dropout=dropout)
        who, ways = type(self).__name__, 1 + bool(bidirectional)
        if not given or len(given) % ways:
            raise misfit(who, f"expected cells for each layer, {ways} for each; got {len(given)}")
        size = given[0].hidden.shape[0]
        for i, cell in enumerate(given):
            wanted = (size * ways, cell.inputs.shape[1]) if i >= ways else given[0].inputs.shape
            check_weight(who, f"input weights of cell {i}", cell.inputs.shape, wanted)
            check_weight(who, f"hidden weights of cell {i}", cell.hidden.shape, given[0].hidden.shape)

    def _run(
        self,
        parts: int,
        x: ArrayExpression[Any, T, Dv],
        given: dict[str, ArrayExpression[Any, T, Dv]],
        lengths: Integers | None,
        seed: Seeds | None,
    ) -> tuple[Layer[T, Dv], list[Layer[T, Dv]]]:
        """All outputs of the last layer, and each part of the last state of all cells."""
        who, ways, cells = type(self).__name__, 1 + self.bidirectional, self.cells
        y = _sequence(who, x, cells[0].inputs.shape[0])
        shape = y.shape
        state = (*shape[1:-1], cells[0].hidden.shape[0])
        there = None if lengths is None else _there(who, y, lengths)
        first = _begins(who, y, len(cells), state, given, parts)
        ends: list[Any] = []  # a layer, or several in a tuple
        for i in range(0, len(cells), ways):
            outputs = []
            if i:
                y = self.dropout(y, seed=derived(seed, i // ways))
            for way, cell in enumerate(cells[i : i + ways]):
                z = Linear(cell.inputs, cell.bias)(y)
                end, out = _all_steps(cell.step(), first[i + way], z, there, bool(way))
                outputs.append(out)
                ends.append(end)
            y = outputs[0] if ways == 1 else concat(outputs, axis=-1)
        if len(ends) == 1:
            return y, list(ends[0]) if parts > 1 else ends
        found = zip(*ends, strict=True) if parts > 1 else (ends,)
        return y, [stack(list(part)) for part in found]


@final
@dataclass(frozen=True, eq=False, init=False)
class RNN(_Unrolled[In, Hidden, Depth, Ways, T, Dv]):
    """All steps of `RNNCell`s along the first axis, by `scan`: `y, h = rnn(x)`.

    hₜ₊₁ = cell(xₜ, hₜ); y[t] = hₜ₊₁. Layers, directions, `lengths` and `seed` are as in `LSTM`.
    Shapes: x (Time, ..., In), h (..., Hidden) to y (Time, ..., Hidden) and the last h. Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> rnn = RNN.make(SGD(learning_rate=0.1), 3, 4, seed=0)
    >>> y, h = rnn(np.ones((5, 2, 3), np.float32))
    >>> y.shape, h.shape
    ((5, 2, 4), (2, 4))

    Source: as `RNNCell`; the order of axes and results is PyTorch's `nn.RNN`.
    """

    cells: tuple[RNNCell[Any, Hidden, T, Dv], ...]

    def __init__(
        self,
        cells: RNNCell[In, Hidden, T, Dv] | tuple[RNNCell[Any, Hidden, T, Dv], ...],
        bidirectional: bool = False,
        dropout: Dropout = _KEPT,
    ) -> None:
        super().__init__(cells, bidirectional, dropout)

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        inputs: int,
        hidden: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        activation: Function = tanh,
        init: Init | None = None,
    ) -> RNN[Any, Any, Any, Any, N, On]:
        """Layers of new cells, each as `RNNCell.make` begins; one generator serves all."""
        begin = Beginning("RNN", settings, seed, name, dtype)
        make = partial(RNNCell.make, settings, dtype=dtype, activation=activation, init=init)
        cells = _cells(begin, make, inputs, hidden, layers, bidirectional)
        return RNN(cells, bidirectional, Dropout(dropout))

    def __call__(
        self,
        x: ArrayExpression[Any, T, Dv],
        h: ArrayExpression[Any, T, Dv] | None = None,
        /,
        *,
        lengths: Integers | None = None,
        seed: Seeds | None = None,
    ) -> tuple[Layer[T, Dv], Layer[T, Dv]]:
        y, (last,) = self._run(1, x, {} if h is None else {"h": h}, lengths, seed)
        return y, last


@final
@dataclass(frozen=True, eq=False, init=False)
class LSTM(_Unrolled[In, Hidden, Depth, Ways, T, Dv]):
    """All steps of `LSTMCell`s along the first axis, by `scan`: `y, (h, c) = lstm(x)`.

    (hₜ₊₁, cₜ₊₁) = cell(xₜ, (hₜ, cₜ)); y[t] = hₜ₊₁. Without a state h₀ and c₀ are 0. What a training by a loop over the
    cell gives, in other orders of addition: the inputs of all steps are multiplied by their weights at once.
    Several layers read each the outputs of the one below, with dropout between where a seed says that it trains; with
    `bidirectional` each has a second cell that goes from the end to the begin, its outputs behind those of the first.
    With `lengths` a row ends before the others: its outputs are 0 from there on, its last state is that of its own last
    step, and a way back begins there. What stands behind the end does not matter, but has to be finite.
    Shapes: x (Time, ..., In), h and c (..., Hidden) to y (Time, ..., Hidden) and the last h and c. Of n > 1 cells h and
    c are (n, ..., Hidden), layer by layer, in each the way forward first; in both directions y has 2 Hidden features.
    Lengths (...), from 0 to Time. Raises ShapeError; ArgumentError for other lengths.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> lstm = LSTM.make(SGD(learning_rate=0.1), 3, 4, seed=0, layers=2, bidirectional=True)
    >>> y, (h, c) = lstm(np.ones((5, 2, 3), np.float32), lengths=[5, 3])
    >>> y.shape, h.shape, c.shape
    ((5, 2, 8), (4, 2, 4), (4, 2, 4))

    Source: as `LSTMCell`; the order of axes and results is PyTorch's `nn.LSTM`, with `pack_padded_sequence`; both
    directions: Schuster and Paliwal 1997.
    """

    cells: tuple[LSTMCell[Any, Hidden, T, Dv], ...]

    def __init__(
        self,
        cells: LSTMCell[In, Hidden, T, Dv] | tuple[LSTMCell[Any, Hidden, T, Dv], ...],
        bidirectional: bool = False,
        dropout: Dropout = _KEPT,
    ) -> None:
        super().__init__(cells, bidirectional, dropout)

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        inputs: int,
        hidden: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        init: Init | None = None,
    ) -> LSTM[Any, Any, Any, Any, N, On]:
        """Layers of new cells, each as `LSTMCell.make` begins; one generator serves all."""
        begin = Beginning("LSTM", settings, seed, name, dtype)
        make = partial(LSTMCell.make, settings, dtype=dtype, init=init)
        cells = _cells(begin, make, inputs, hidden, layers, bidirectional)
        return LSTM(cells, bidirectional, Dropout(dropout))

    def __call__(
        self,
        x: ArrayExpression[Any, T, Dv],
        state: Given[T, Dv] | None = None,
        /,
        *,
        lengths: Integers | None = None,
        seed: Seeds | None = None,
    ) -> tuple[Layer[T, Dv], State[T, Dv]]:
        given = {} if state is None else dict(zip(("h", "c"), state, strict=True))
        y, (h, c) = self._run(2, x, given, lengths, seed)
        return y, (h, c)


@final
@dataclass(frozen=True, eq=False, init=False)
class GRU(_Unrolled[In, Hidden, Depth, Ways, T, Dv]):
    """All steps of `GRUCell`s along the first axis, by `scan`: `y, h = gru(x)`.

    hₜ₊₁ = cell(xₜ, hₜ); y[t] = hₜ₊₁. Layers, directions, `lengths` and `seed` are as in `LSTM`.
    Shapes: x (Time, ..., In), h (..., Hidden) to y (Time, ..., Hidden) and the last h. Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> gru = GRU.make(SGD(learning_rate=0.1), 3, 4, seed=0)
    >>> y, h = gru(np.ones((5, 2, 3), np.float32))
    >>> y.shape, h.shape
    ((5, 2, 4), (2, 4))

    Source: as `GRUCell`; the order of axes and results is PyTorch's `nn.GRU`.
    """

    cells: tuple[GRUCell[Any, Hidden, T, Dv], ...]

    def __init__(
        self,
        cells: GRUCell[In, Hidden, T, Dv] | tuple[GRUCell[Any, Hidden, T, Dv], ...],
        bidirectional: bool = False,
        dropout: Dropout = _KEPT,
    ) -> None:
        super().__init__(cells, bidirectional, dropout)

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        inputs: int,
        hidden: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        init: Init | None = None,
    ) -> GRU[Any, Any, Any, Any, N, On]:
        """Layers of new cells, each as `GRUCell.make` begins; one generator serves all."""
        begin = Beginning("GRU", settings, seed, name, dtype)
        make = partial(GRUCell.make, settings, dtype=dtype, init=init)
        cells = _cells(begin, make, inputs, hidden, layers, bidirectional)
        return GRU(cells, bidirectional, Dropout(dropout))

    def __call__(
        self,
        x: ArrayExpression[Any, T, Dv],
        h: ArrayExpression[Any, T, Dv] | None = None,
        /,
        *,
        lengths: Integers | None = None,
        seed: Seeds | None = None,
    ) -> tuple[Layer[T, Dv], Layer[T, Dv]]:
        y, (last,) = self._run(1, x, {} if h is None else {"h": h}, lengths, seed)
        return y, last


# Any: cells of one class
def _cells(
    begin: Beginning[Any, Any],
    make: Callable[..., Any],
    inputs: int,
    hidden: int,
    layers: int,
    bidirectional: bool,
) -> tuple[Any, ...]:
    """New cells, each with as many features as it reads."""
    if not isinstance(bidirectional, bool):
        raise begin.wrong(f"bidirectional is True or False; got {bidirectional!r:.60}")
    depth, size, ways = begin.size("layers", layers), begin.size("hidden", hidden), 1 + bidirectional
    rows = [begin.size("inputs", inputs)] * ways + [size * ways] * (ways * (depth - 1))
    return tuple(
        make(n, size, seed=begin.chance, name=begin.name_of(f"cells.{i}")) for i, n in enumerate(rows)
    )


def _sequence(who: str, x: ArrayExpression[Any, T, Dv], size: int) -> Layer[T, Dv]:
    """`x` as a layer (Time, ..., size)."""
    layer = with_last_axis(who, x, size)
    shape = shape_of(layer)
    if shape is None or len(shape) < 2:
        raise misfit(who, f"expected (time, ..., {size}), got {shape or 'a shape that only the run tells'}")
    return layer


def _begins(
    who: str, like: Layer[T, Dv], count: int, shape: Shape, given: dict[str, Any], parts: int
) -> list[Any]:  # Any: a layer, or several in a tuple
    """The first state of each cell: what is given, of the shape that is wanted, or zeros."""
    if not given:
        zeros: Any = as_layer(namespace_for(like.kind.device, True).zeros(shape, like.dtype))
        return [(zeros,) * parts if parts > 1 else zeros] * count
    wanted = shape if count == 1 else (count, *shape)
    found = [with_shape(who, f"a state {name}", part, wanted) for name, part in given.items()]
    each = [(part,) if count == 1 else unstack(part) for part in found]
    return list(zip(*each, strict=True)) if parts > 1 else list(each[0])


def _there(who: str, x: Layer[T, Dv], lengths: Integers) -> Layer[T, Dv]:
    """1 where a row of (Time, ..., Features) has not ended, else 0, as (Time, ..., 1)."""
    time, *batch, _ = x.shape
    ends = checked_integers(who, "lengths", lengths, time, "steps")
    if ends.shape != tuple(batch):
        raise misfit(who, f"expected lengths of shape {tuple(batch)}, got {ends.shape}")
    steps = HOST.reshape(HOST.mesh((time,))[0], (time, *(1,) * (len(batch) + 1)))
    seen = HOST.astype(steps < HOST.reshape(ends, (*batch, 1)), x.dtype)
    return as_layer(namespace_for(x.kind.device, True).from_host(seen, x.kind.device))


def _all_steps(
    step: Any, first: Any, z: Layer[T, Dv], there: Layer[T, Dv] | None, back: bool
) -> tuple[Any, Layer[T, Dv]]:  # Any: steps of every cell, and their states
    """The last state of a cell and all its outputs, in the order of time."""
    turned = flip(z, axis=0) if back else z
    if there is None:
        end, y = scan(step, first, turned)
        return end, flip(y, axis=0) if back else y
    end, y = scan(_Until(step), first, (turned, flip(there, axis=0) if back else there))
    ordered: Any = flip(y, axis=0) if back else y  # Any: mypy finds no dtype of a step of any state
    outputs: Layer[T, Dv] = where(greater(there, 0.0), ordered, 0.0)
    return end, outputs


@dataclass(frozen=True, eq=False)
class _Until:
    """A step that keeps the state of a row that has ended."""

    step: Any  # that of any cell

    def __call__(self, state: Any, xs: tuple[Any, Any], /) -> tuple[Any, Any]:  # Any: as of `_all_steps`
        z, there = xs
        made, y = self.step(state, z)
        goes_on = greater(there, 0.0)
        if isinstance(made, tuple):
            return tuple([where(goes_on, new, old) for new, old in zip(made, state, strict=True)]), y
        return where(goes_on, made, state), y


__all__ = ["GRU", "LSTM", "RNN"]
