"""Recurrent cells, one step of a sequence: `LSTMCell` and `GRUCell`; and all steps of them: `LSTM` and `GRU`.

Knows: their formulas, the order of their gates, their weights and how those begin; that the products of all inputs of a
sequence are one.
Refuses to know: how steps follow each other, which `scan` knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, final

from wengert.arrays import Dv, Shape, T, namespace_for
from wengert.dims import Mul
from wengert.elsewhere import ModelNames
from wengert.graph import ArrayExpression, ArrayLayer, ArrayWeight
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import as_layer, check_weight, misfit, shape_of, with_last_axis, with_shape
from wengert.nn.dims import Hidden, In, N
from wengert.nn.init import Init
from wengert.nn.linear import Linear
from wengert.nn.making import Beginning, Seed
from wengert.ops import matmul, sigmoid, split, tanh
from wengert.plugins import Plugin
from wengert.run import scan

# What a cell with a memory gives: its output h and its memory c. Any, as shapes: both are (..., Hidden).
State: TypeAlias = tuple[ArrayLayer[Any, T, Dv], ArrayLayer[Any, T, Dv]]
Layer: TypeAlias = ArrayLayer[Any, T, Dv]
Given: TypeAlias = tuple[ArrayExpression[Any, T, Dv], ArrayExpression[Any, T, Dv]]


@final
@dataclass(frozen=True, eq=False, init=False)
class LSTMCell(ModelNames, Generic[In, Hidden, T, Dv]):
    """One step of a long short-term memory.

    i, f, g, o = x W + h U + b, in this order along the last axis; c' = σ(f) c + σ(i) tanh(g);
    h' = σ(o) tanh(c'). Without a state a sequence begins: h and c are 0.
    Shapes: x (..., In), h and c (..., Hidden) to a new h and c. Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> cell = LSTMCell.make(SGD(learning_rate=0.1), 3, 4, seed=0)
    >>> x = np.ones((2, 3), np.float32)
    >>> h, c = cell(x, cell(x))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))

    Source: Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000; the order is PyTorch's.
    """

    inputs: ArrayWeight[tuple[In, Mul[Literal[4], Hidden]], T, Dv]
    hidden: ArrayWeight[tuple[Hidden, Mul[Literal[4], Hidden]], T, Dv]
    bias: ArrayWeight[tuple[Mul[Literal[4], Hidden]], T, Dv]

    def __init__(
        self,
        inputs: ArrayOperand[tuple[In, Mul[Literal[4], Hidden]], T, Dv],
        hidden: ArrayOperand[tuple[Hidden, Mul[Literal[4], Hidden]], T, Dv],
        bias: ArrayOperand[tuple[Mul[Literal[4], Hidden]], T, Dv],
    ) -> None:
        # an expression in the place of a weight: see `wengert.nn.replace`
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "hidden", hidden)
        object.__setattr__(self, "bias", bias)
        self.__post_init__()

    def __post_init__(self) -> None:
        size = self.hidden.shape[0]
        check_weight("LSTMCell", "hidden weights", self.hidden.shape, (size, 4 * size))
        check_weight("LSTMCell", "input weights", self.inputs.shape, (self.inputs.shape[0], 4 * size))
        check_weight("LSTMCell", "a bias", self.bias.shape, (4 * size,))

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Plugin,
        inputs: int,
        hidden: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        init: Init | None = None,
    ) -> LSTMCell[Any, Any, N]:
        """A cell of new weights: Glorot's uniform distribution for each gate, or `init`, the bias 1 for f and else 0.

        Raises ArgumentError for a size below 1. Source: Glorot and Bengio 2010, equation 16; Jozefowicz et al.
        2015 for the bias of the forget gate.
        """
        begin = Beginning("LSTMCell", settings, seed, name, dtype)
        rows, size = begin.size("inputs", inputs), begin.size("hidden", hidden)
        return LSTMCell(
            begin.glorot("inputs", (rows, 4 * size), rows, size, init),
            begin.glorot("hidden", (size, 4 * size), size, size, init),
            begin.constant("bias", (0.0, size), (1.0, size), (0.0, 2 * size)),
        )

    def __call__(self, x: ArrayExpression[Any, T, Dv], state: Given[T, Dv] | None = None, /) -> State[T, Dv]:
        rows, size = self.inputs.shape[0], self.hidden.shape[0]
        layer = with_last_axis("LSTMCell", x, rows)
        z = matmul(layer, self.inputs) + self.bias
        if state is None:
            i, _, g, o = split(z, 4, axis=-1)
            c = sigmoid(i) * tanh(g)
            return sigmoid(o) * tanh(c), c
        shape = shape_of(layer)
        wanted: Shape | None = None if shape is None else (*shape[:-1], size)
        h, c = (
            with_shape("LSTMCell", what, part, wanted)
            for what, part in zip(("a state h", "a state c"), state, strict=True)
        )
        return _LSTMStep(self.hidden)((h, c), z)[0]


@dataclass(frozen=True, eq=False)
class _LSTMStep(Generic[T, Dv]):
    """A step of which the product with the input is known: i, f, g, o = z + h U, and so on."""

    hidden: ArrayWeight[Any, T, Dv]

    def __call__(self, state: Given[T, Dv], z: Layer[T, Dv], /) -> tuple[State[T, Dv], Layer[T, Dv]]:
        h, c = state
        i, f, g, o = split(z + matmul(h, self.hidden), 4, axis=-1)
        new = sigmoid(f) * c + sigmoid(i) * tanh(g)
        out = sigmoid(o) * tanh(new)
        return (out, new), out


@final
@dataclass(frozen=True, eq=False)
class LSTM(ModelNames, Generic[In, Hidden, T, Dv]):
    """All steps of an `LSTMCell` along the first axis, by `scan`: `y, (h, c) = lstm(x)`.

    (hₜ₊₁, cₜ₊₁) = cell(xₜ, (hₜ, cₜ)); y[t] = hₜ₊₁. Without a state h₀ and c₀ are 0. What a training by a loop over the
    cell gives, in other orders of addition: the inputs of all steps are multiplied by their weights at once.
    Shapes: x (Time, ..., In), h and c (..., Hidden) to y (Time, ..., Hidden) and the last h and c. Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> lstm = LSTM(LSTMCell.make(SGD(learning_rate=0.1), 3, 4, seed=0))
    >>> y, (h, c) = lstm(np.ones((5, 2, 3), np.float32))
    >>> y.shape, h.shape, c.shape
    ((5, 2, 4), (2, 4), (2, 4))

    Source: as `LSTMCell`; the order of axes and results is PyTorch's `nn.LSTM`.
    """

    cell: LSTMCell[In, Hidden, T, Dv]

    def __call__(
        self, x: ArrayExpression[Any, T, Dv], state: Given[T, Dv] | None = None, /
    ) -> tuple[Layer[T, Dv], State[T, Dv]]:
        cell = self.cell
        z = Linear(cell.inputs, cell.bias)(_sequence("LSTM", x, cell.inputs.shape[0]))
        wanted = (*z.shape[1:-1], cell.hidden.shape[0])
        given = _begins(
            "LSTM", z, wanted, None if state is None else dict(zip(("h", "c"), state, strict=True)), 2
        )
        last, y = scan(_LSTMStep(cell.hidden), (given[0], given[1]), z)
        return y, last


@final
@dataclass(frozen=True, eq=False, init=False)
class GRUCell(ModelNames, Generic[In, Hidden, T, Dv]):
    """One step of a gated recurrent unit.

    r, z, n = x W + b and r', z', n' = h U, in this order along the last axis; h' = (1 - u) m + u h with
    u = σ(z + z') and m = tanh(n + σ(r + r') (n' + d)). Without h a sequence begins: h is 0.
    Shapes: x (..., In), h (..., Hidden) to a new h. Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> cell = GRUCell.make(SGD(learning_rate=0.1), 3, 4, seed=0)
    >>> x = np.ones((2, 3), np.float32)
    >>> cell(x, cell(x)).shape
    (2, 4)

    Source: Cho et al. 2014, with the reset gate after the product as cuDNN and PyTorch have it; of PyTorch's
    second bias only d is kept, because the others would only add to the first.
    """

    inputs: ArrayWeight[tuple[In, Mul[Literal[3], Hidden]], T, Dv]
    hidden: ArrayWeight[tuple[Hidden, Mul[Literal[3], Hidden]], T, Dv]
    bias: ArrayWeight[tuple[Mul[Literal[3], Hidden]], T, Dv]
    hidden_bias: ArrayWeight[tuple[Hidden], T, Dv]

    def __init__(
        self,
        inputs: ArrayOperand[tuple[In, Mul[Literal[3], Hidden]], T, Dv],
        hidden: ArrayOperand[tuple[Hidden, Mul[Literal[3], Hidden]], T, Dv],
        bias: ArrayOperand[tuple[Mul[Literal[3], Hidden]], T, Dv],
        hidden_bias: ArrayOperand[tuple[Hidden], T, Dv],
    ) -> None:
        # an expression in the place of a weight: see `wengert.nn.replace`
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "hidden", hidden)
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "hidden_bias", hidden_bias)
        self.__post_init__()

    def __post_init__(self) -> None:
        size = self.hidden.shape[0]
        check_weight("GRUCell", "hidden weights", self.hidden.shape, (size, 3 * size))
        check_weight("GRUCell", "input weights", self.inputs.shape, (self.inputs.shape[0], 3 * size))
        check_weight("GRUCell", "a bias", self.bias.shape, (3 * size,))
        check_weight("GRUCell", "a hidden bias", self.hidden_bias.shape, (size,))

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Plugin,
        inputs: int,
        hidden: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        init: Init | None = None,
    ) -> GRUCell[Any, Any, N]:
        """A cell of new weights: Glorot's uniform distribution for each gate, or `init`, the biases 0.

        Raises ArgumentError for a size below 1. Source: Glorot and Bengio 2010, equation 16.
        """
        begin = Beginning("GRUCell", settings, seed, name, dtype)
        rows, size = begin.size("inputs", inputs), begin.size("hidden", hidden)
        return GRUCell(
            begin.glorot("inputs", (rows, 3 * size), rows, size, init),
            begin.glorot("hidden", (size, 3 * size), size, size, init),
            begin.constant("bias", (0.0, 3 * size)),
            begin.constant("hidden_bias", (0.0, size)),
        )

    def __call__(
        self, x: ArrayExpression[Any, T, Dv], h: ArrayExpression[Any, T, Dv] | None = None, /
    ) -> ArrayLayer[Any, T, Dv]:
        rows, size = self.inputs.shape[0], self.hidden.shape[0]
        layer = with_last_axis("GRUCell", x, rows)
        z = matmul(layer, self.inputs) + self.bias
        if h is None:
            r, u, n = split(z, 3, axis=-1)
            return (1.0 - sigmoid(u)) * tanh(n + sigmoid(r) * self.hidden_bias)
        shape = shape_of(layer)
        old = with_shape("GRUCell", "a state h", h, None if shape is None else (*shape[:-1], size))
        return _GRUStep(self.hidden, self.hidden_bias)(old, z)[0]


@dataclass(frozen=True, eq=False)
class _GRUStep(Generic[T, Dv]):
    """A step of which the product with the input is known."""

    hidden: ArrayWeight[Any, T, Dv]
    hidden_bias: ArrayWeight[Any, T, Dv]

    def __call__(self, h: Layer[T, Dv], z: Layer[T, Dv], /) -> tuple[Layer[T, Dv], Layer[T, Dv]]:
        r, u, n = split(z, 3, axis=-1)
        remembered = matmul(h, self.hidden)
        r_h, u_h, n_h = split(remembered, 3, axis=-1)
        update = sigmoid(u + u_h)
        made = (1.0 - update) * tanh(n + sigmoid(r + r_h) * (n_h + self.hidden_bias)) + update * h
        return made, made


@final
@dataclass(frozen=True, eq=False)
class GRU(ModelNames, Generic[In, Hidden, T, Dv]):
    """All steps of a `GRUCell` along the first axis, by `scan`: `y, h = gru(x)`.

    hₜ₊₁ = cell(xₜ, hₜ); y[t] = hₜ₊₁. Without h it begins with 0. As with `LSTM` all inputs are multiplied at once.
    Shapes: x (Time, ..., In), h (..., Hidden) to y (Time, ..., Hidden) and the last h. Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> gru = GRU(GRUCell.make(SGD(learning_rate=0.1), 3, 4, seed=0))
    >>> y, h = gru(np.ones((5, 2, 3), np.float32))
    >>> y.shape, h.shape
    ((5, 2, 4), (2, 4))

    Source: as `GRUCell`; the order of axes and results is PyTorch's `nn.GRU`.
    """

    cell: GRUCell[In, Hidden, T, Dv]

    def __call__(
        self, x: ArrayExpression[Any, T, Dv], h: ArrayExpression[Any, T, Dv] | None = None, /
    ) -> tuple[Layer[T, Dv], Layer[T, Dv]]:
        cell = self.cell
        z = Linear(cell.inputs, cell.bias)(_sequence("GRU", x, cell.inputs.shape[0]))
        wanted = (*z.shape[1:-1], cell.hidden.shape[0])
        (given,) = _begins("GRU", z, wanted, None if h is None else {"h": h}, 1)
        last, y = scan(_GRUStep(cell.hidden, cell.hidden_bias), given, z)
        return y, last


def _sequence(who: str, x: ArrayExpression[Any, T, Dv], size: int) -> Layer[T, Dv]:
    """`x` as a layer (Time, ..., size)."""
    layer = with_last_axis(who, x, size)
    shape = shape_of(layer)
    if shape is None or len(shape) < 2:
        raise misfit(who, f"expected (time, ..., {size}), got {shape or 'a shape that only the run tells'}")
    return layer


def _begins(
    who: str,
    z: Layer[T, Dv],
    wanted: Shape,
    given: Mapping[str, ArrayExpression[Any, T, Dv]] | None,
    count: int,
) -> list[Layer[T, Dv]]:
    """The first state: what is given, of the shape that is wanted, or zeros."""
    if given is not None:
        return [with_shape(who, f"a state {name}", part, wanted) for name, part in given.items()]
    zeros: Layer[T, Dv] = as_layer(namespace_for(z.kind.device, True).zeros(wanted, z.dtype))
    return [zeros] * count
