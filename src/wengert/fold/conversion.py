"""What may stand where a block is wanted: tuples, dicts and lists of blocks, constants.

Knows: for each kind of value the block that it is short for.
Refuses to know: the blocks.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from wengert.arrays import Float32, HostArray, is_array, is_float32
from wengert.errors import BlockError
from wengert.fold.block import CONVERSIONS, AnyBlock, Block
from wengert.graph.node import Expression
from wengert.graph.operand import shown
from wengert.site import user_position

# Any: blocks, and what is convertible, of every type; arrays of every shape and element type
Convertible: TypeAlias = (
    AnyBlock
    | dict[Any, Any]
    | list[Any]
    | tuple[Any, ...]
    | float
    | Float32
    | HostArray[Any, Any]
    | Expression
)


def convert_to_block(x: object) -> AnyBlock:
    """The block that `x` is short for.

    A block is itself; a dict, a list of pairs or a tuple is a `Record`; a float, an array, a weight or a layer is
    a `FromTensor`. Raises BlockError for anything else.
    >>> from wengert import fold as td
    >>> td.convert_to_block((td.Scalar(), td.Vector(2)))
    <td.Record children=(<td.Scalar>, <td.Vector>)>
    """
    if isinstance(x, Block):
        return x
    if isinstance(x, (dict, list, tuple)):
        made: AnyBlock = CONVERSIONS["record"](x)
        return made
    if isinstance(x, (float, Expression)) or is_float32(x) or is_array(x):
        constant: AnyBlock = CONVERSIONS["constant"](x)
        return constant
    advice = "; write td.Function(f), or td.InputTransform(f) for data" * callable(x)
    raise BlockError(f"{shown(x)} is no block{advice}\n  at {user_position()}")
