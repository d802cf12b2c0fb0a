"""Recurrent cells, one step of a sequence: `RNNCell`, `LSTMCell` and `GRUCell`.

Knows: their formulas, the order of their gates, their weights and how those begin; the step that is left where the
product with the input is known.
Refuses to know: how steps follow each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, final

from wengert.arrays import Dv, Shape, T
from wengert.dims import Mul
from wengert.elsewhere import ModelNames
from wengert.graph import ArrayExpression, ArrayLayer, ArrayWeight
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import check_weight, fill, shape_of, with_last_axis, with_shape
from wengert.nn.dims import Hidden, In, N, On
from wengert.nn.init import Init
from wengert.nn.making import Beginning, Seed
from wengert.ops import matmul, sigmoid, split, tanh
from wengert.plugins.making import Placing

# What a cell with a memory gives: its output h and its memory c. Any, as shapes: both are (..., Hidden).
State: TypeAlias = tuple[ArrayLayer[Any, T, Dv], ArrayLayer[Any, T, Dv]]
Layer: TypeAlias = ArrayLayer[Any, T, Dv]
Given: TypeAlias = tuple[ArrayExpression[Any, T, Dv], ArrayExpression[Any, T, Dv]]
Function: TypeAlias = Callable[[Any], Any]  # of a layer, elementwise: it keeps shape and element type


@final
@dataclass(frozen=True, eq=False, init=False)
class RNNCell(ModelNames, Generic[In, Hidden, T, Dv]):
    """One step of a plain recurrent network.

    h' = a(x W + h U + b), with an activation a, tanh if none is given. Without h a sequence begins: h is 0.
    Shapes: x (..., In), h (..., Hidden) to a new h. Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> cell = RNNCell.make(SGD(learning_rate=0.1), 3, 4, seed=0)
    >>> x = np.ones((2, 3), np.float32)
    >>> cell(x, cell(x)).shape
    (2, 4)

    Source: Elman 1990, "Finding Structure in Time"; of PyTorch's two biases, which only add, there is one.
    """

    inputs: ArrayWeight[tuple[In, Hidden], T, Dv]
    hidden: ArrayWeight[tuple[Hidden, Hidden], T, Dv]
    bias: ArrayWeight[tuple[Hidden], T, Dv]
    activation: Function = tanh

    def __init__(
        self,
        inputs: ArrayOperand[tuple[In, Hidden], T, Dv],
        hidden: ArrayOperand[tuple[Hidden, Hidden], T, Dv],
        bias: ArrayOperand[tuple[Hidden], T, Dv],
        activation: Function = tanh,
    ) -> None:
        fill(self, inputs=inputs, hidden=hidden, bias=bias, activation=activation)
        size = hidden.shape[0]
        check_weight("RNNCell", "hidden weights", hidden.shape, (size, size))
        check_weight("RNNCell", "input weights", inputs.shape, (inputs.shape[0], size))
        check_weight("RNNCell", "a bias", bias.shape, (size,))

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
        activation: Function = tanh,
        init: Init | None = None,
    ) -> RNNCell[Any, Any, N, On]:
        """A cell of new weights: Glorot's uniform distribution, or `init`, the bias 0.

        Raises ArgumentError for a size below 1. Source: Glorot and Bengio 2010, equation 16.
        """
        begin = Beginning("RNNCell", settings, seed, name, dtype)
        rows, size = begin.size("inputs", inputs), begin.size("hidden", hidden)
        return RNNCell(
            begin.glorot("inputs", (rows, size), rows, size, init),
            begin.glorot("hidden", (size, size), size, size, init),
            begin.constant("bias", (0.0, size)),
            activation,
        )

    def __call__(
        self, x: ArrayExpression[Any, T, Dv], h: ArrayExpression[Any, T, Dv] | None = None, /
    ) -> ArrayLayer[Any, T, Dv]:
        layer = with_last_axis("RNNCell", x, self.inputs.shape[0])
        z = matmul(layer, self.inputs) + self.bias
        if h is None:
            begun: Layer[T, Dv] = self.activation(z)
            return begun
        shape = shape_of(layer)
        wanted: Shape | None = None if shape is None else (*shape[:-1], self.hidden.shape[0])
        old = with_shape("RNNCell", "a state h", h, wanted)
        return self.step()(old, z)[0]

    def step(self) -> RNNStep[T, Dv]:
        """The part of a call behind the product with the input."""
        return RNNStep(self.hidden, self.activation)


@dataclass(frozen=True, eq=False)
class RNNStep(Generic[T, Dv]):
    """A step of which the product with the input is known."""

    hidden: ArrayWeight[Any, T, Dv]
    activation: Function

    def __call__(self, h: Layer[T, Dv], z: Layer[T, Dv], /) -> tuple[Layer[T, Dv], Layer[T, Dv]]:
        made: Layer[T, Dv] = self.activation(z + matmul(h, self.hidden))
        return made, made


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
        fill(self, inputs=inputs, hidden=hidden, bias=bias)
        self.__post_init__()

    def __post_init__(self) -> None:
        size = self.hidden.shape[0]
        check_weight("LSTMCell", "hidden weights", self.hidden.shape, (size, 4 * size))
        check_weight("LSTMCell", "input weights", self.inputs.shape, (self.inputs.shape[0], 4 * size))
        check_weight("LSTMCell", "a bias", self.bias.shape, (4 * size,))

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
        init: Init | None = None,
    ) -> LSTMCell[Any, Any, N, On]:
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
        return self.step()((h, c), z)[0]

    def step(self) -> LSTMStep[T, Dv]:
        """The part of a call behind the product with the input."""
        return LSTMStep(self.hidden)


@dataclass(frozen=True, eq=False)
class LSTMStep(Generic[T, Dv]):
    """A step of which the product with the input is known: i, f, g, o = z + h U, and so on."""

    hidden: ArrayWeight[Any, T, Dv]

    def __call__(self, state: Given[T, Dv], z: Layer[T, Dv], /) -> tuple[State[T, Dv], Layer[T, Dv]]:
        h, c = state
        i, f, g, o = split(z + matmul(h, self.hidden), 4, axis=-1)
        new = sigmoid(f) * c + sigmoid(i) * tanh(g)
        out = sigmoid(o) * tanh(new)
        return (out, new), out


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
        fill(self, inputs=inputs, hidden=hidden, bias=bias, hidden_bias=hidden_bias)
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
        settings: Placing[On],
        inputs: int,
        hidden: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        init: Init | None = None,
    ) -> GRUCell[Any, Any, N, On]:
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
        return self.step()(old, z)[0]

    def step(self) -> GRUStep[T, Dv]:
        """The part of a call behind the product with the input."""
        return GRUStep(self.hidden, self.hidden_bias)


@dataclass(frozen=True, eq=False)
class GRUStep(Generic[T, Dv]):
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
