"""`StoredAs`: weights that are kept in two bytes an element, and computed with in four.

Knows: that such a weight is one of a type of its own, which says how it takes a step and what a file has; that what
stands in a layer is the float32 array that a run makes of it, which lives as long as an operation needs it.
Refuses to know: optimizers. Their states stay float32, and deltas never meet two bytes, so that no loss needs a scale.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from wengert.arrays import FLOAT32, TWO_BYTES, Cpu, Narrow, Value, is_host_array
from wengert.control import Do, UnitContinuation
from wengert.differentiable import Tape
from wengert.dims import Dimension
from wengert.errors import DeviceError, DTypeError, PluginError
from wengert.graph import ArrayLayer
from wengert.graph.apply import apply
from wengert.graph.evidence import register
from wengert.graph.kinds import Column, Kind, Role, kind
from wengert.graph.literals import checked_array
from wengert.graph.node import Expression
from wengert.graph.operation import Operation, Rules
from wengert.graph.weights import DataWeight
from wengert.plugins.plugin import Plugin
from wengert.site import user_position


@register(Narrow)
def _narrow(x: Narrow) -> Do[Tape[Narrow, Value]]:
    return Do.now(Tape(x, lambda delta: UnitContinuation.now(None)))


def _wide(kinds: tuple[Kind, ...], *, shape: tuple[int, ...]) -> Kind:
    return kind(Column.ARRAY, shape, FLOAT32, "cpu", Role.LAYER)


def widened(x: DataWeight[Any, Any], /, *, shape: tuple[int, ...]) -> ArrayLayer[Any, Any, Cpu]:
    """The float32 array of a weight in two bytes; the delta is that of the weight."""
    made: ArrayLayer[Any, Any, Cpu] = apply(_WIDENED, (x,), (("shape", shape),))
    return made


_WIDENED: Final = Operation(
    "widened",
    Rules(_wide, lambda case, x, *, shape: x.widened(), (lambda case, g, y, x, *, shape: g,), pure=True),
    listed=False,
)
_WIDENED.late = True  # or a run would begin with the float32 arrays of all layers


class StoredAs(Plugin):
    """Arrays that learn are kept as `stored_as`, "float16" or "bfloat16": half of the memory, rounded to nearest even.

    Each run makes a float32 array where an operation takes the weight, and computes everything in float32: the bits of
    results are those of float32 weights with these numbers. Deltas are float32, so a loss needs no scale. A step is
    taken in float32 and then rounded, so what is below half of the last digit is lost: relative to the weight 2^-12
    for float16, 2^-9 for bfloat16. Numbers, buffers and states of optimizers stay as they are; files have float32, and
    are files of a model without this plugin.

    The result of `array_weight` is a layer above the weight, as of `nn.freeze`; `nn.weights` finds the weight itself.
    PluginError for other names of types, DTypeError for a float64 array, DeviceError for one on a device,
    NonFiniteError for a number that is too large, also in a step, which changes no weight then.

    >>> import numpy as np
    >>> from wengert.nn import Linear, weights
    >>> from wengert.plugins import SGD
    >>> class Settings(StoredAs, SGD): ...
    >>> layer = Linear.make(Settings(stored_as="float16", learning_rate=0.1), 300, 200, seed=0)
    >>> [w.data.nbytes for w in weights(layer).values()], layer(np.ones((1, 300), np.float32)).dtype
    ([120000, 400], dtype('float32'))

    Source: P. Micikevicius et al., "Mixed Precision Training", 2018; D. Kalamkar et al., "A Study of BFLOAT16 for Deep
    Learning Training", 2019.
    """

    stored_as: Literal["float16", "bfloat16"] = "float16"

    def __post_init__(self) -> None:
        if self.stored_as not in TWO_BYTES:
            raise PluginError(
                f'stored_as={self.stored_as!r:.60} is not kept in two bytes; write stored_as="float16" or '
                'stored_as="bfloat16"'
            )

    # Any: an array of either library
    def _array(
        self, data: Any, dims: tuple[Dimension, ...], name: str | None, members: dict[str, object]
    ) -> Expression:
        array = checked_array("array_weight", data, dims)
        if not is_host_array(array):
            raise DeviceError(
                f"array_weight: an array on {array.device} is not kept as {self.stored_as}; make it with settings "
                f"without StoredAs\n  at {user_position()}"
            )
        if array.dtype != FLOAT32:
            raise DTypeError(
                f"array_weight: an array of {array.dtype} is not kept as {self.stored_as}, which has float32 numbers "
                f"rounded; write array.astype(numpy.float32), or settings without StoredAs\n  at {user_position()}"
            )
        narrow = Narrow.of(array, self.stored_as)
        weight = self._make(DataWeight, (narrow,), name, members)
        made: ArrayLayer[Any, Any, Any] = widened(weight, shape=narrow.shape)
        return made
