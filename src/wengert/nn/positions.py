"""The order of a sequence for a transformer: causal masks, sinusoidal positions, rotary embeddings.

Knows: their formulas.
Refuses to know: attention, and what is embedded.
"""

from __future__ import annotations

import math
from typing import Any, overload

from wengert.arrays import FLOAT32, FLOAT64, HOST, Cpu, Dv, Float32, HostArray, S, T, is_integer
from wengert.errors import ArgumentError
from wengert.graph import ArrayExpression, ArrayLayer, Mask
from wengert.graph.evidence import lift
from wengert.nn.checks import as_layer, misfit, shape_of
from wengert.ops import concat, greater_equal, split, to_device
from wengert.site import user_position


@overload
def causal_mask(time: int, /, *, begin: int = 0) -> Mask[Any, Cpu]: ...
@overload
def causal_mask(time: int, /, *, begin: int = 0, device: Dv) -> Mask[Any, Dv]: ...
def causal_mask(time: int, /, *, begin: int = 0, device: Any = "cpu") -> Mask[Any, Any]:  # Any: as above
    """True where a key is not later than a query: (time - begin, time), for `MultiHeadAttention` and all that has one.

    The queries are those from the position `begin` on; the mask is on the device that attention is on.
    >>> causal_mask(3).predict().run().astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    >>> causal_mask(3, begin=2).predict().run().astype(int).tolist()
    [[1, 1, 1]]
    """
    if not is_integer(time) or int(time) < 1:
        raise ArgumentError(
            f"causal_mask: time is a positive integer; got {time!r:.60}\n  at {user_position()}"
        )
    if not is_integer(begin) or not 0 <= int(begin) < int(time):
        raise ArgumentError(
            f"causal_mask: begin is an integer from 0 to {int(time) - 1}; got {begin!r:.60}\n  at {user_position()}"
        )
    rows, columns = (HOST.astype(x, FLOAT32) for x in HOST.mesh((int(time), int(time))))
    queries: Any = lift(rows[int(begin) :])  # Any: the type of data of a computed shape
    keys: Any = lift(columns)
    if device != "cpu":
        queries, keys = to_device(queries, device), to_device(keys, device)
    return greater_equal(queries, keys)


def sinusoidal_positions(time: int, width: int, /) -> HostArray[tuple[int, int], Float32]:
    """A vector for each position: sin and cos, in turn, of the position times `width` / 2 falling rates.

    y[t, 2 i] = sin(t / 10000^(2 i / width)), y[t, 2 i + 1] = cos of the same. Data of (time, width), in float32.
    >>> sinusoidal_positions(2, 4).round(3).tolist()[1]
    [0.8410000205039978, 0.5400000214576721, 0.009999999776482582, 1.0]

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
    """
    for what, n, even in (("time", time, 1), ("width", width, 2)):
        if not is_integer(n) or int(n) < 1 or int(n) % even:
            kind = "a positive integer" if even == 1 else "an even positive integer"
            raise ArgumentError(
                f"sinusoidal_positions: {what} is {kind}; got {n!r:.60}\n  at {user_position()}"
            )
    angles = _angles(int(time), int(width) // 2, 10000.0)
    found: HostArray[tuple[int, int], Float32] = HOST.astype(
        HOST.reshape(HOST.stack([HOST.sin(angles), HOST.cos(angles)], axis=2), (int(time), int(width))),
        FLOAT32,
    )
    return found


def _angles(time: int, rates: int, base: float, begin: int = 0) -> Any:  # Any: an array of numpy
    places, numbers = HOST.mesh((time, rates))
    return (HOST.astype(places, FLOAT64) + float(begin)) * HOST.exp(
        HOST.astype(numbers, FLOAT64) * (-math.log(base) / rates)
    )


def rotary(x: ArrayExpression[S, T, Dv], /, *, begin: int = 0, base: float = 10000.0) -> ArrayLayer[S, T, Dv]:
    """Queries or keys turned by angles that grow with their position, so that their products know distances only.

    The features i and i + Width / 2 are turned together, by position / base^(2 i / Width); the first is `begin`.
    Shapes: (..., Time, Width), kept, with an even Width. Raises ShapeError.
    >>> import numpy as np
    >>> rotary(np.array([[1.0, 0.0], [1.0, 0.0]])).predict().run().round(3).tolist()
    [[1.0, 0.0], [0.54, 0.841]]

    Source: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding".
    """
    layer = as_layer(x)
    shape = shape_of(layer)
    if shape is None or len(shape) < 2 or shape[-1] % 2:
        text = "a shape that only the run tells" if shape is None else shape
        raise misfit("rotary", f"expected (..., time, width) with an even width, got {text}")
    angles = _angles(shape[-2], shape[-1] // 2, base, begin)
    sine, cosine = (HOST.astype(part, layer.dtype) for part in (HOST.sin(angles), HOST.cos(angles)))
    left, right = split(layer, 2, axis=-1)
    y: ArrayLayer[S, T, Dv] = concat([left * cosine - right * sine, right * cosine + left * sine], axis=-1)
    return y
