"""Blocks with weights of their own: their base, rows of a table, a fully connected layer.

Knows: how weights begin, that they are drawn when the type of the input is known, and that all uses of one layer
share them; which row an integer reads; what stands around the product of a fully connected layer.
Refuses to know: optimizers, which settings bring.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias, overload

from wengert.arrays import FLOAT32, FLOATS, IntegerArray, Value, is_array, is_integer, shape_of
from wengert.arrays.draws import Generator, generator, truncated, uniform
from wengert.arrays.stated import stated_array
from wengert.errors import BlockStateError, BlockValueError, DTypeError
from wengert.fold.block import A, Tensors, Wire
from wengert.fold.calls import Calls, Direct
from wengert.fold.convert import zero_array
from wengert.fold.inference import Solver, Use
from wengert.fold.kinds import Primitive
from wengert.fold.plan import drawn_seed
from wengert.fold.types import ResultType, TensorType
from wengert.graph import ArrayWeight, Indices
from wengert.graph.kinds import refused_dtype
from wengert.graph.operand import lift_any, shown
from wengert.ops import divide, dropout, matmul, relu, sqrt, square, sum, take, tanh
from wengert.plugins import SGD, Plugin

# Any: shapes and dtypes that are known when the program runs
Weight: TypeAlias = ArrayWeight[Any, Any, Any]
Initializer: TypeAlias = Callable[[tuple[int, ...]], Value] | Value
Activation: TypeAlias = Callable[[Any], Any] | None

_unnamed: Final = itertools.count(1)


class Layer(Primitive[A, Tensors]):
    """The base of blocks with weights.

    They are drawn when the type of the input is known, from `seed` and the name, whatever is drawn before. A layer
    without a name is numbered; give names where numbers must not depend on what else a program makes.
    A layer is also a function of layers: `layer(x)`, on its own or in a `td.Function`, has the same weights.
    """

    def __init__(self, name: str | None, settings: Plugin | None, seed: int, **arguments: object) -> None:
        super().__init__(name, **arguments)
        self._settings = SGD(learning_rate=0.01) if settings is None else settings
        self._called = name or f"{type(self).__name__}_{next(_unnamed)}"
        self._seed = seed
        self._weights: dict[str, Weight] = {}  # filled once; copies with declared types share it
        self._types: list[TensorType] = []

    @overload  # type: ignore[override] # the same in another order: an argument without a type is a layer
    def __call__(self, x: A, /) -> Tensors: ...
    @overload
    def __call__(self, wire: Wire[A], /) -> Wire[Tensors]: ...
    def __call__(self, *given: Any) -> Any:  # Any: typed by the overloads
        """On a wire in a `td.composition`: the wire that leaves. On a layer or an array: what it computes of it."""
        return super().__call__(*given)

    @property
    def saved_as(self) -> str | None:
        """The name under which its weights are in files, wherever the block stands; None if nobody has given one."""
        return self.name

    @property
    def draws(self) -> bool:
        """True if this layer draws random numbers in training."""
        return False

    @abstractmethod
    def made(self, of: TensorType) -> TensorType:
        """Draw the weights for an input of this type, if there are none; the type of the output."""

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.gives(use, "what it computes", self._typed)

    def _typed(self, of: ResultType) -> TensorType:
        if not isinstance(of, TensorType):
            raise self.error(f"its input is {of}, which is no tensor")
        if self._types and self._types[0] != of:
            raise self.error(f"its weights are for {self._types[0]}, and its input is {of}")
        result = self.made(of)
        self._types[:] = [of]
        return result

    def weight(self, part: str, draw: Callable[[], Value]) -> Weight:
        """The weight of that name, drawn the first time."""
        if part not in self._weights:
            array = draw()
            self._weights[part] = self._settings.array_weight(array, name=f"{self._called}.{part}")
        return self._weights[part]

    def chance(self, part: str) -> Generator:
        """Random numbers for one weight."""
        return generator(int.from_bytes(f"{self._seed} {self._called} {part}".encode(), "big"))

    def begun(self, given: Initializer, shape: tuple[int, ...], dtype: str) -> Value:
        """The array of an initializer, which is one, or a function of the shape."""
        array = given(shape) if callable(given) else given
        if is_array(array) and array.dtype.kind == "f" and array.dtype not in FLOATS:
            raise self.error(f"an initial array of {refused_dtype(array.dtype)}", DTypeError)
        found = stated_array(array, dtype) if is_array(array) else None
        if found is None or shape_of(found) != shape:
            raise self.error(
                f"expected initial numbers of shape {shape}, got {shown(array)}", BlockValueError
            )
        return found

    def _drawn(self, part: str) -> Weight:
        if part not in self._weights:
            raise self.error("it has no weights before the type of its input is known", BlockStateError)
        return self._weights[part]


class Embedding(Layer[IntegerArray]):
    """A row of a table for an integer: row |x| mod `num_buckets`.

    The table begins uniform up to √(3 / n), for n numbers a row, or with `initializer`; sizes that are not given are
    those of its array. Not trainable, it is a
    constant; with `mod_inputs=False` an integer outside is a BlockValueError, when built. Of a computed integer, as
    `argmax` gives, the row is taken as it is: outside is an IndexError in the run.
    Raises BlockError for an input that is no integer, BlockValueError for an array of another shape, and where a size
    is neither given nor that of an array.
    >>> import numpy as np
    >>> from wengert import fold as td
    >>> table = td.Embedding(initializer=np.float32([[1, 2], [3, 4]]))
    >>> (td.Scalar("int32") >> table).eval(7).tolist()
    [3.0, 4.0]

    Source: TensorFlow Fold, `td.Embedding`.
    """

    def __init__(
        self,
        num_buckets: int | None = None,
        num_units_out: int | None = None,
        initializer: Initializer | None = None,
        trainable: bool = True,
        mod_inputs: bool = True,
        *,
        settings: Plugin | None = None,
        seed: int = 0,
        name: str | None = None,
    ) -> None:
        given = {"num_buckets": num_buckets, "num_units_out": num_units_out}
        super().__init__(name, settings, seed, **{key: x for key, x in given.items() if x is not None})
        shape = TensorType(self._sizes(num_buckets, num_units_out, initializer)).shape
        if min(shape) < 1:
            raise self.error("a table has at least one row and one column", BlockValueError)
        chance = self.chance("weights")
        if initializer is None:
            table = uniform(chance, shape, math.sqrt(3.0 / shape[1]), FLOAT32)
        else:
            table = self.begun(initializer, shape, "float32")
        self.num_buckets, self.num_units_out = self._shape = shape
        # Any: either
        self._table: Any = self.weight("weights", lambda: table) if trainable else lift_any(table)
        self._mod = mod_inputs
        self._rows: dict[int, Value] = {}  # the layers of rows, at most one for each
        self.settled()

    def _sizes(self, rows: int | None, columns: int | None, initializer: object) -> tuple[int, int]:
        """Rows and columns as given, else those of the array."""
        if rows is not None and columns is not None:
            return rows, columns
        if not is_array(initializer):
            raise self.error(
                f"without an array as initializer it needs num_buckets and num_units_out; got {rows} and {columns}",
                BlockValueError,
            )
        shape = shape_of(initializer)
        if len(shape) != 2:
            raise self.error(
                f"a table is an array of rows and columns; got {shown(initializer)}", BlockValueError
            )
        return shape[0] if rows is None else rows, shape[1] if columns is None else columns

    def made(self, of: TensorType) -> TensorType:
        if of.ndim or of.floating:
            raise self.error(f"its input is {of}; it takes an integer")
        return TensorType(self._shape[1:])

    def direct(self, use: Use, calls: Calls) -> Direct:
        return calls.cell(self._row, use.input, use.output)

    def _row(self, x: Value) -> Value:
        """A row is one layer for all who read it: it is computed once a run, and found in a tenth of the time."""
        found = None if isinstance(x, Indices) else self._rows.get(x.item())
        return self._new_row(x) if found is None else found

    def _new_row(self, x: Value) -> Value:
        if isinstance(x, Indices):
            return take(self._table, x)
        place, rows = int(x), self._shape[0]
        if not self._mod and not 0 <= place < rows:
            raise self.error(f"a table of {rows} rows has none at {place}", BlockValueError)
        place = abs(place) % rows
        return self._rows.setdefault(place, take(self._table, stated_array(place, "int64")))

    @property
    def weights(self) -> Weight:
        """The table. Raises BlockStateError if it is a constant."""
        return self._drawn("weights")


_FACTORS: Final[dict[object, float]] = {
    None: 1.0,
    relu: 1.43,
    tanh: 1.15,
}  # Fold's, which keep variances alike


def dropped(rate: float, x: Tensors) -> Tensors:
    """Numbers are dropped where the example is for training."""
    seed = drawn_seed() if rate else None
    return x if seed is None else dropout(x, rate, seed=seed)


class FC(Layer[Tensors]):
    """A fully connected layer: activation(x W + b) of a vector of n numbers.

    W begins uniform up to factor √(3 / n), with the factor 1.43 for relu, 1.15 for tanh and 1 for no activation;
    else with a truncated normal distribution of deviation 0.01. b begins with 0. With `weight_norm` the columns of W
    have length 1, times a weight `scales` that begins with 1.
    In training, which is `build` with a seed, numbers of the input and of the result are kept with a probability
    and divided by it, else 0. `normalization_fn` stands before the activation, if there is one.
    Raises BlockError for an input that is no vector of floating numbers, BlockValueError for what is no probability.
    >>> import numpy as np
    >>> from wengert import fold as td
    >>> layer = td.FC(1, activation=None, initializer=np.full((2, 1), 2.0, np.float32))
    >>> (td.Vector(2) >> layer).eval([1, 1]).tolist(), layer.weights.shape
    ([4.0], (2, 1))

    Source: TensorFlow Fold, `td.FC`; weight normalization: Salimans and Kingma 2016, equation 2.
    """

    def __init__(
        self,
        num_units_out: int,
        activation: Activation = relu,
        initializer: Initializer | None = None,
        input_keep_prob: float | None = None,
        output_keep_prob: float | None = None,
        normalization_fn: Callable[[Tensors], Tensors] | None = None,
        weight_norm: bool = False,
        *,
        settings: Plugin | None = None,
        seed: int = 0,
        name: str | None = None,
    ) -> None:
        super().__init__(name, settings, seed, num_units_out=num_units_out)
        if not is_integer(num_units_out) or int(num_units_out) < 1:
            raise self.error("a layer has at least one unit", BlockValueError)
        self.output_size: Final = int(num_units_out)
        self._activation = activation
        self._initializer = initializer
        self._normal = normalization_fn
        self._rates = [1.0 - self._kept(p) for p in (input_keep_prob, output_keep_prob)]
        self._norm = weight_norm
        self._cell = self.cell(self._computed)
        self.settled()

    def made(self, of: TensorType) -> TensorType:
        if of.ndim != 1 or not of.floating:
            raise self.error(f"its input is {of}; it takes a vector of floating numbers")
        n, m = of.size, self.output_size
        self.weight("weights", lambda: self._begin((n, m), of.dtype))
        self.weight("bias", lambda: zero_array(TensorType((m,), of.dtype)))
        if self._norm:
            self.weight("scales", lambda: stated_array([1.0] * m, of.dtype))
        return TensorType((m,), of.dtype)

    def _begin(self, shape: tuple[int, int], dtype: str) -> Value:
        if self._initializer is not None:
            return self.begun(self._initializer, shape, dtype)
        chance, element = self.chance("weights"), stated_array(0.0, dtype).dtype
        factor = _FACTORS.get(self._activation)
        if factor is None:
            return truncated(chance, shape, 0.01, element)
        return uniform(chance, shape, factor * math.sqrt(3.0 / shape[0]), element)

    def _computed(self, x: Tensors) -> Tensors:
        w: Tensors | Weight = self.weights
        if self._norm:
            w = divide(w, sqrt(sum(square(w), axis=0))) * self.scales
        y = matmul(x, w) + self.bias
        if self._activation is None:
            return y
        result: Tensors = self._activation(y if self._normal is None else self._normal(y))
        return result

    def direct(self, use: Use, calls: Calls) -> Direct:
        computed = calls.cell(self._cell, use.input, use.output)
        if not self.draws:
            return computed
        before, after = (
            calls.cell(partial(dropped, rate), of, of)
            for rate, of in zip(self._rates, (use.input, use.output), strict=True)
        )
        return lambda x: after(computed(before(x)))

    def function_of(self, use: Use) -> Callable[..., Value] | None:
        return None if self.draws else self._computed

    @property
    def draws(self) -> bool:
        return any(self._rates)

    def _kept(self, chance: float | None) -> float:
        if chance is not None and not 0.0 < chance <= 1.0:
            raise self.error(
                f"a probability to keep is more than 0, at most 1, not {shown(chance)}", BlockValueError
            )
        return 1.0 if chance is None else chance

    @property
    def weights(self) -> Weight:
        """The matrix. Raises BlockStateError before the type of the input is known."""
        return self._drawn("weights")

    @property
    def bias(self) -> Weight:
        """The vector that is added. Raises as `weights`."""
        return self._drawn("bias")

    @property
    def scales(self) -> Weight:
        """The lengths of the columns, with `weight_norm`. Raises as `weights`."""
        return self._drawn("scales")
