"""`TreeLSTM`: a long short-term memory along a binary tree, from its leaves to its root.

Knows: its two formulas, the order of their gates, their weights and how those begin.
Refuses to know: the tree, which is a recursion of the user's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, final

from wengert.arrays import Dv, T
from wengert.dims import Mul
from wengert.elsewhere import ModelNames
from wengert.graph import ArrayExpression, ArrayLayer, ArrayWeight
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import check_weight, fill, shape_of, with_last_axis, with_shape
from wengert.nn.dims import Hidden, In, N, On
from wengert.nn.init import Init
from wengert.nn.making import Beginning, Seed
from wengert.nn.recurrent import Given, State
from wengert.ops import matmul, sigmoid, split, tanh
from wengert.plugins.making import Placing


@final
@dataclass(frozen=True, eq=False, init=False)
class TreeLSTM(ModelNames, Generic[In, Hidden, T, Dv]):
    """A binary tree of memories: `leaf` takes an input, `node` the states of two children.

    leaf: i, o, u = x W + b; c = σ(i) tanh(u).
    node: i, f, k, o, u = h_left L + h_right R + d; c = σ(i) tanh(u) + σ(f) c_left + σ(k) c_right.
    In both h = σ(o) tanh(c); gates lie in this order along the last axis. With a `mask` m it stands at the candidate,
    m tanh(u): dropout that forgets nothing of what children remember.
    Shapes: x (..., In), h, c and m (..., Hidden). Raises ShapeError.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> tree = TreeLSTM.make(SGD(learning_rate=0.1), 3, 4, seed=0)
    >>> leaf = tree.leaf(np.ones(3, np.float32))
    >>> h, c = tree.node(tree.node(leaf, leaf), leaf)
    >>> h.shape
    (4,)

    Source: Tai, Socher and Manning 2015, equations 9 to 14 with N = 2; leaves have no children, inner nodes no
    input, and each kind has a bias of its own. Dropout of the candidate: S. Semeniuta, A. Severyn, E. Barth, "Recurrent
    Dropout without Memory Loss", 2016.
    """

    inputs: ArrayWeight[tuple[In, Mul[Literal[3], Hidden]], T, Dv]
    bias: ArrayWeight[tuple[Mul[Literal[3], Hidden]], T, Dv]
    left: ArrayWeight[tuple[Hidden, Mul[Literal[5], Hidden]], T, Dv]
    right: ArrayWeight[tuple[Hidden, Mul[Literal[5], Hidden]], T, Dv]
    node_bias: ArrayWeight[tuple[Mul[Literal[5], Hidden]], T, Dv]

    def __init__(
        self,
        inputs: ArrayOperand[tuple[In, Mul[Literal[3], Hidden]], T, Dv],
        bias: ArrayOperand[tuple[Mul[Literal[3], Hidden]], T, Dv],
        left: ArrayOperand[tuple[Hidden, Mul[Literal[5], Hidden]], T, Dv],
        right: ArrayOperand[tuple[Hidden, Mul[Literal[5], Hidden]], T, Dv],
        node_bias: ArrayOperand[tuple[Mul[Literal[5], Hidden]], T, Dv],
    ) -> None:
        fill(self, inputs=inputs, bias=bias, left=left, right=right, node_bias=node_bias)
        self.__post_init__()

    def __post_init__(self) -> None:
        size = self.left.shape[0]
        check_weight("TreeLSTM", "left weights", self.left.shape, (size, 5 * size))
        check_weight("TreeLSTM", "right weights", self.right.shape, (size, 5 * size))
        check_weight("TreeLSTM", "a node bias", self.node_bias.shape, (5 * size,))
        check_weight("TreeLSTM", "input weights", self.inputs.shape, (self.inputs.shape[0], 3 * size))
        check_weight("TreeLSTM", "a bias", self.bias.shape, (3 * size,))

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
    ) -> TreeLSTM[Any, Any, N, On]:
        """New weights: Glorot's uniform distribution for each gate, or `init`, the biases 1 for f and k and else 0.

        Raises ArgumentError for a size below 1. Source: as for `LSTMCell`.
        """
        begin = Beginning("TreeLSTM", settings, seed, name, dtype)
        rows, size = begin.size("inputs", inputs), begin.size("hidden", hidden)
        return TreeLSTM(
            begin.glorot("inputs", (rows, 3 * size), rows, size, init),
            begin.constant("bias", (0.0, 3 * size)),
            begin.glorot("left", (size, 5 * size), size, size, init),
            begin.glorot("right", (size, 5 * size), size, size, init),
            begin.constant("node_bias", (0.0, size), (1.0, 2 * size), (0.0, 2 * size)),
        )

    def leaf(
        self, x: ArrayExpression[Any, T, Dv], /, *, mask: ArrayExpression[Any, T, Dv] | None = None
    ) -> State[T, Dv]:
        """The state of a leaf."""
        layer = with_last_axis("TreeLSTM.leaf", x, self.inputs.shape[0])
        i, o, u = split(matmul(layer, self.inputs) + self.bias, 3, axis=-1)
        c = sigmoid(i) * self._candidate(u, mask)
        return sigmoid(o) * tanh(c), c

    def node(
        self,
        left: Given[T, Dv],
        right: Given[T, Dv],
        /,
        *,
        mask: ArrayExpression[Any, T, Dv] | None = None,
    ) -> State[T, Dv]:
        """The state of a node with two children."""
        size = self.left.shape[0]
        first = with_last_axis("TreeLSTM.node", left[0], size)
        wanted = shape_of(first)
        others = zip(("a left c", "a right h", "a right c"), (left[1], *right), strict=True)
        c_left, second, c_right = (with_shape("TreeLSTM.node", what, x, wanted) for what, x in others)
        z = matmul(first, self.left) + matmul(second, self.right) + self.node_bias
        i, f, k, o, u = split(z, 5, axis=-1)
        c = sigmoid(i) * self._candidate(u, mask) + sigmoid(f) * c_left + sigmoid(k) * c_right
        return sigmoid(o) * tanh(c), c

    def _candidate(
        self, u: ArrayExpression[Any, T, Dv], mask: ArrayExpression[Any, T, Dv] | None
    ) -> ArrayLayer[Any, T, Dv]:
        made: ArrayLayer[Any, T, Dv] = tanh(u)
        return made if mask is None else made * with_shape("TreeLSTM", "a mask", mask, shape_of(made))
