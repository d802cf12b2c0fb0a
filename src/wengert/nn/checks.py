"""Checks of the operands of layers before anything is built, so that an error names the layer.

Knows: the words, which are the mypy plugin's too.
Refuses to know: any layer.
"""

from __future__ import annotations

from typing import Any

from wengert.arrays import HOST, Dv, Integers, Shape, T, integer_array, is_array
from wengert.errors import ArgumentError, ShapeError, WengertError
from wengert.graph import ArrayExpression, ArrayLayer
from wengert.graph.evidence import lift
from wengert.site import user_position


def fill(layer: object, **fields: object) -> None:
    """Set the fields of a frozen layer that is being made: its constructor takes expressions in the place of weights.

    For a checker the fields are weights, which they are with `make`; see `wengert.nn.replace`.
    """
    for name, x in fields.items():
        object.__setattr__(layer, name, x)


def as_layer(x: ArrayExpression[Any, T, Dv]) -> ArrayLayer[Any, T, Dv]:
    """Any array expression, a registered value among them, as a layer."""
    value: Any = x  # Any: `lift` is typed for what is built in
    if isinstance(value, ArrayLayer):
        return value
    layer: ArrayLayer[Any, T, Dv] = lift(value)
    return layer


def shape_of(x: ArrayLayer[Any, T, Dv]) -> Shape | None:
    """The shape, None where only the run will know it."""
    return x.kind.shape


def misfit(layer: str, text: str) -> ShapeError:
    """The error of a layer, with the line that called it."""
    return ShapeError(f"{layer}: {text}\n  at {user_position()}")


def with_last_axis(layer: str, x: ArrayExpression[Any, T, Dv], size: int) -> ArrayLayer[Any, T, Dv]:
    """`x` as a layer, if its last axis has that size."""
    made = as_layer(x)
    shape = shape_of(made)
    if shape is not None and shape[-1:] != (size,):
        raise misfit(layer, f"expected last axis {size}, got {shape}")
    return made


def with_shape(
    layer: str, what: str, x: ArrayExpression[Any, T, Dv], wanted: Shape | None
) -> ArrayLayer[Any, T, Dv]:
    """`x` as a layer, if it has that shape; a shape that only the run will know is not asked for."""
    made = as_layer(x)
    shape = shape_of(made)
    if shape is not None and wanted is not None and shape != wanted:
        raise misfit(layer, f"expected {what} of shape {wanted}, got {shape}")
    return made


def check_weight(layer: str, what: str, shape: Shape, wanted: Shape) -> None:
    """Refuse a layer put together from weights that do not belong together."""
    if shape != wanted:
        raise misfit(layer, f"expected {what} of shape {wanted}, got {shape}")


def checked_integers(layer: str, what: str, given: Integers, most: int, counted: str) -> Any:  # Any: an array
    """Data of integers from 0 to `most`, which is the number of what is `counted`."""
    try:
        found: Any = given if is_array(given) else integer_array(given)  # Any: an array of every type
    except (TypeError, ValueError, WengertError):
        found = None
    if found is None or found.dtype.kind not in "iu" or not bool(HOST.all((found >= 0) & (found <= most))):
        raise ArgumentError(
            f"{layer}: {what} are integers from 0 to {most}, the number of {counted}; got {given!r:.60}\n"
            f"  at {user_position()}"
        )
    return found
