"""`Linear`, an affine map of the last axis, and `Bilinear`, one of the products of the elements of two.

Knows: their formulas, their weights and how they begin.
Refuses to know: what comes before and after them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, final

from wengert.arrays import Dv, T
from wengert.elsewhere import ModelNames
from wengert.graph import ArrayExpression, ArrayLayer, ArrayWeight
from wengert.graph.expressions import ArrayOperand
from wengert.nn.checks import check_weight, fill, shape_of, with_last_axis, with_shape
from wengert.nn.dims import In, N, On, Other, Out
from wengert.nn.init import Init
from wengert.nn.making import Beginning, Seed
from wengert.nn.steady import Steady
from wengert.ops import einsum, reshape
from wengert.plugins.making import Placing


@final
@dataclass(frozen=True, eq=False, init=False)
class Linear(Steady, ModelNames, Generic[In, Out, T, Dv]):
    """x W + b on the last axis: features `In` to `Out`.

    y[..., j] = Σ_i x[..., i] W[i, j] + b[j].
    Shapes: (..., In) to (..., Out). Raises ShapeError for another last axis.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = Linear.make(SGD(learning_rate=0.1), 3, 2, seed=0, name="hidden")
    >>> layer(np.ones((5, 3), np.float32)).shape, layer.weight.name
    ((5, 2), 'hidden.weight')

    Source: as in every textbook; W is (In, Out), not the transpose that PyTorch keeps.
    """

    weight: ArrayWeight[tuple[In, Out], T, Dv]
    # None with `bias=False`; for a checker, the weight that `make` gives
    bias: ArrayWeight[tuple[Out], T, Dv]

    def __init__(
        self, weight: ArrayOperand[tuple[In, Out], T, Dv], bias: ArrayOperand[tuple[Out], T, Dv] | None = None
    ) -> None:
        fill(self, weight=weight, bias=bias)
        self.__post_init__()

    def __post_init__(self) -> None:
        if self.bias is not None:
            check_weight("Linear", "a bias", self.bias.shape, self.weight.shape[1:])

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        inputs: int,
        outputs: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> Linear[Any, Any, N, On]:
        """A layer of new weights: Glorot's uniform distribution, or `init` of `nn.init`, the bias 0.

        Raises ArgumentError for a size below 1. Source: Glorot and Bengio 2010, equation 16.
        """
        begin = Beginning("Linear", settings, seed, name, dtype)
        rows, columns = begin.size("inputs", inputs), begin.size("outputs", outputs)
        weight = begin.glorot("weight", (rows, columns), rows, columns, init)
        return Linear(weight, begin.constant("bias", (0.0, columns)) if bias else None)

    def __call__(self, x: ArrayExpression[Any, T, Dv], /) -> ArrayLayer[Any, T, Dv]:
        made: ArrayLayer[Any, T, Dv] = self._again(x, self._mapped)
        return made

    def _mapped(self, x: ArrayExpression[Any, T, Dv]) -> ArrayLayer[Any, T, Dv]:
        rows, columns = self.weight.shape
        layer = with_last_axis("Linear", x, rows)
        shape = shape_of(layer)
        if shape is not None and len(shape) > 2:
            # one product of matrices, and one of its derivative, instead of one for each element of the batch
            return reshape(self._mapped(reshape(layer, (-1, rows))), (*shape[:-1], columns))
        y = layer @ self.weight
        return y if self.bias is None else y + self.bias


@final
@dataclass(frozen=True, eq=False, init=False)
class Bilinear(ModelNames, Generic[In, Other, Out, T, Dv]):
    """x W y + b on the last axes of two: features `In` and `Other` to `Out`.

    z[..., k] = Σ_ij x[..., i] W[k, i, j] y[..., j] + b[k].
    Shapes: (..., In) and (..., Other) to (..., Out). Raises ShapeError for other last axes, and where the axes before
    them differ.
    >>> import numpy as np
    >>> from wengert.plugins import SGD
    >>> layer = Bilinear.make(SGD(learning_rate=0.1), 3, 4, 2, seed=0)
    >>> layer(np.ones((5, 3), np.float32), np.ones((5, 4), np.float32)).shape
    (5, 2)

    Source: PyTorch, `torch.nn.Bilinear`; Tenenbaum and Freeman 2000, "Separating Style and Content".
    """

    weight: ArrayWeight[tuple[Out, In, Other], T, Dv]
    bias: ArrayWeight[tuple[Out], T, Dv]  # as that of `Linear`

    def __init__(
        self,
        weight: ArrayOperand[tuple[Out, In, Other], T, Dv],
        bias: ArrayOperand[tuple[Out], T, Dv] | None = None,
    ) -> None:
        fill(self, weight=weight, bias=bias)
        if bias is not None:
            check_weight("Bilinear", "a bias", bias.shape, weight.shape[:1])

    # Any, as the sizes: the mypy plugin puts the stated ones there
    @staticmethod
    def make(
        settings: Placing[On],
        inputs: int,
        others: int,
        outputs: int,
        /,
        *,
        seed: Seed,
        name: str | None = None,
        dtype: type[N] | None = None,
        bias: bool = True,
        init: Init | None = None,
    ) -> Bilinear[Any, Any, Any, N, On]:
        """A layer of new weights: Glorot's uniform distribution, each output reading In · Other products, the bias 0.

        Raises ArgumentError for a size below 1. Source: Glorot and Bengio 2010, equation 16.
        """
        begin = Beginning("Bilinear", settings, seed, name, dtype)
        rows, columns = begin.size("inputs", inputs), begin.size("others", others)
        size = begin.size("outputs", outputs)
        weight = begin.glorot("weight", (size, rows, columns), rows * columns, size, init)
        return Bilinear(weight, begin.constant("bias", (0.0, size)) if bias else None)

    def __call__(
        self, x: ArrayExpression[Any, T, Dv], y: ArrayExpression[Any, T, Dv], /
    ) -> ArrayLayer[Any, T, Dv]:
        size, rows, columns = self.weight.shape
        left, right = with_last_axis("Bilinear", x, rows), with_last_axis("Bilinear", y, columns)
        leading = left.shape[:-1]
        with_shape("Bilinear", "the other operand", right, (*leading, columns))
        pairs = reshape(left, (-1, rows)), reshape(right, (-1, columns))
        # Any, and below: checkers take the default element type for that of `einsum`
        weight: Any = self.weight
        products: Any = einsum("bi,kij,bj->bk", pairs[0], weight, pairs[1])
        made: ArrayLayer[Any, T, Dv] = reshape(products, (*leading, size))
        return made if self.bias is None else made + self.bias
