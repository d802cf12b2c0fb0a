"""Rows of a table.

Knows: which row an integer reads, and that a row is one layer for all who read it.
Refuses to know: optimizers.
"""

from __future__ import annotations

import math
from typing import Any

from wengert.arrays import FLOAT32, IntegerArray, Value
from wengert.arrays.draws import uniform
from wengert.arrays.stated import stated_array
from wengert.errors import BlockError, BlockValueError
from wengert.fold.calls import Calls, Direct
from wengert.fold.layers import Initializer, Layer, Weight
from wengert.fold.solver import Use
from wengert.fold.types import TensorType
from wengert.graph.operand import lift_any
from wengert.ops import take
from wengert.plugins import Plugin


class Embedding(Layer[IntegerArray]):
    """A row of a table for an integer: row |x| mod `num_buckets`.

    The table begins uniform up to √(3 / n), for n numbers a row, or with `initializer`. Not trainable, it is a
    constant; with `mod_inputs=False` an integer outside is a BlockValueError, when built.
    Raises BlockError for an input that is no integer, BlockValueError for an array of another shape.
    >>> import numpy as np
    >>> from wengert import fold as td
    >>> table = td.Embedding(2, 2, initializer=np.float32([[1, 2], [3, 4]]))
    >>> (td.Scalar("int32") >> table).eval(7).tolist()
    [3.0, 4.0]

    Source: TensorFlow Fold, `td.Embedding`.
    """

    def __init__(
        self,
        num_buckets: int,
        num_units_out: int,
        initializer: Initializer | None = None,
        trainable: bool = True,
        mod_inputs: bool = True,
        *,
        settings: Plugin | None = None,
        seed: int = 0,
        name: str | None = None,
    ) -> None:
        super().__init__(name, settings, seed, num_buckets=num_buckets, num_units_out=num_units_out)
        shape = TensorType((num_buckets, num_units_out)).shape
        if min(shape) < 1:
            raise BlockValueError(self.fault("a table has at least one row and one column"))
        chance = self.chance("weights")
        if initializer is None:
            table = uniform(chance, shape, math.sqrt(3.0 / shape[1]), FLOAT32)
        else:
            table = self.begun(initializer, shape, "float32")
        self._shape = shape
        self._table: Any = (
            self.weight("weights", lambda: table) if trainable else lift_any(table)
        )  # Any: either
        self._mod = mod_inputs
        self._rows: dict[int, Value] = {}  # the layers of rows, at most one for each
        self.settled()

    def made(self, of: TensorType) -> TensorType:
        if of.ndim or of.floating:
            raise BlockError(self.fault(f"its input is {of}; it takes an integer"))
        return TensorType(self._shape[1:])

    def direct(self, use: Use, calls: Calls) -> Direct:
        return calls.cell(self._row, use.input, use.output)

    def _row(self, x: Value) -> Value:
        """A row is one layer for all who read it: it is computed once a run, and found in a tenth of the time."""
        place, rows = int(x), self._shape[0]
        if not self._mod and not 0 <= place < rows:
            raise BlockValueError(self.fault(f"a table of {rows} rows has none at {place}"))
        place = abs(place) % rows
        found = self._rows.get(place)
        if found is None:
            found = self._rows[place] = take(self._table, stated_array(place, "int64"))
        return found

    @property
    def weights(self) -> Weight:
        """The table. Raises BlockStateError if it is a constant."""
        return self._drawn("weights")
