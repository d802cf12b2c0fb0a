"""What blocks with weights of their own have in common.

Knows: how their weights begin, that they are drawn when the type of the input is known, and that all uses of one
layer share them.
Refuses to know: optimizers, which settings bring.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from wengert.arrays import FLOATS, Value, is_array, shape_of
from wengert.arrays.draws import Generator, generator
from wengert.arrays.stated import stated_array
from wengert.errors import BlockError, BlockStateError, BlockValueError, DTypeError
from wengert.fold.block import A, Tensors
from wengert.fold.kinds import Leaf
from wengert.fold.solver import Solver, Use
from wengert.fold.types import ResultType, TensorType
from wengert.graph import ArrayWeight
from wengert.graph.kinds import refused_dtype
from wengert.graph.operand import shown
from wengert.plugins import SGD, Plugin

# Any: shapes and dtypes that are known when the program runs
Weight: TypeAlias = ArrayWeight[Any, Any, Any]
Initializer: TypeAlias = Callable[[tuple[int, ...]], Value] | Value
Activation: TypeAlias = Callable[[Any], Any] | None

_unnamed: Final = itertools.count(1)


class Layer(Leaf[A, Tensors]):
    """The base of blocks with weights.

    They are drawn when the type of the input is known, from `seed` and the name, whatever is drawn before. A layer
    without a name is numbered; give names where numbers must not depend on what else a program makes.
    """

    def __init__(self, name: str | None, settings: Plugin | None, seed: int, **arguments: object) -> None:
        super().__init__(name, **arguments)
        self._settings = SGD(learning_rate=0.01) if settings is None else settings
        self._called = name or f"{type(self).__name__}_{next(_unnamed)}"
        self._seed = seed
        self._weights: dict[str, Weight] = {}  # filled once; copies with declared types share it
        self._types: list[TensorType] = []

    @abstractmethod
    def made(self, of: TensorType) -> TensorType:
        """Draw the weights for an input of this type, if there are none; the type of the output."""

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.gives(use, "what it computes", self._typed)

    def _typed(self, of: ResultType) -> TensorType:
        if not isinstance(of, TensorType):
            raise BlockError(self.fault(f"its input is {of}, which is no tensor"))
        if self._types and self._types[0] != of:
            raise BlockError(self.fault(f"its weights are for {self._types[0]}, and its input is {of}"))
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
        """What an initializer gives: an array, or a function of the shape."""
        array = given(shape) if callable(given) else given
        if is_array(array) and array.dtype.kind == "f" and array.dtype not in FLOATS:
            raise DTypeError(self.fault(f"an initial array of {refused_dtype(array.dtype)}"))
        found = stated_array(array, dtype) if is_array(array) else None
        if found is None or shape_of(found) != shape:
            raise BlockValueError(
                self.fault(f"expected initial numbers of shape {shape}, got {shown(array)}")
            )
        return found

    def _drawn(self, part: str) -> Weight:
        if part not in self._weights:
            raise BlockStateError(self.fault("it has no weights before the type of its input is known"))
        return self._weights[part]
