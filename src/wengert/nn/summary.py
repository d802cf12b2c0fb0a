"""`summary`: the weights of a model as a table, and how many numbers they hold.

Knows: where weights are in a model: in attributes of objects, in lists, tuples and dictionaries.
Refuses to know: what a model computes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from wengert.errors import ArgumentError
from wengert.graph import Weight
from wengert.graph.node import Expression
from wengert.graph.operand import unlifted
from wengert.graph.order import below

Found: TypeAlias = dict[str, Weight]


def weights(model: object) -> Found:
    """The weights of a model by their place in it, each once, in the order in which they are written.

    Raises ArgumentError where two have one place, as in `{"a.b": w, "a": {"b": v}}`.

    >>> from wengert.nn import Linear
    >>> from wengert.plugins import SGD
    >>> list(weights({"head": Linear.make(SGD(learning_rate=0.1), 3, 2, seed=0)}))
    ['head.weight', 'head.bias']

    A weight that has been lifted is one, too.
    >>> from wengert import lift
    >>> list(weights({"start": lift(SGD(learning_rate=0.1).double_weight(0.0))}))
    ['start']
    """
    found: Found = {}
    for weight, place, written in _placed(model):
        other = found.setdefault(place, weight)
        if other is not weight and place != written:
            other = found.setdefault(written, weight)
        if other is not weight:
            raise ArgumentError(
                f"two weights stand at {place!r}: one made at {other.site}, one at {weight.site}; rename a key, or "
                "an attribute, on the way to one of them"
            )
    return found


def former_weights(model: object) -> Found:
    """The weights by names that files of earlier versions have, with the private attributes of Wengert's classes."""
    return {written: weight for weight, _, written in _placed(model)}


def _placed(model: object) -> Iterator[tuple[Weight, str, str]]:
    """Each weight with its place, and with its place as it is written, private attributes of Wengert's included."""
    met: set[int] = set()
    computed: list[tuple[str, str, Expression]] = []
    waiting: list[tuple[str, str, object]] = [("", "", model)]
    while waiting:
        place, written, held = waiting.pop()
        part = unlifted(held)
        if id(part) in met:
            continue
        met.add(id(part))
        if isinstance(part, Weight):
            yield part, place or "weight", written or "weight"
            continue
        if isinstance(part, Expression):
            computed.append((place, written, part))
            continue
        ours = type(part).__module__.startswith("wengert.")
        waiting += [
            (place if ours and name.startswith("_") else _within(place, name), _within(written, name), x)
            for name, x in reversed([*parts_of(part)])
        ]
    for place, written, expression in computed:  # in the place of a weight: those that stand nowhere else
        inside = [weight for weight in below(expression, ())[1] if id(weight) not in met]
        met.update(map(id, inside))
        for i, weight in enumerate(inside):
            name = str(i) if len(inside) > 1 else ""
            yield weight, _within(place, name), _within(written, name)


def _within(place: str, name: str) -> str:
    return f"{place}.{name}".strip(".") or "weight"


def parts_of(x: object) -> Iterator[tuple[str, object]]:
    """Parts of a model's part, by name; values of other libraries have none."""
    if isinstance(x, Mapping):
        yield from ((str(key), part) for key, part in x.items())
    elif isinstance(x, list | tuple):
        yield from ((str(i), part) for i, part in enumerate(x))
    elif not isinstance(x, type) and not callable(getattr(type(x), "__get__", None)):
        yield from getattr(x, "__dict__", {}).items()


def summary(model: object) -> str:
    """A line a weight with its place, shape, dtype and number of elements, and a line with the sums.

    >>> from wengert.nn import Linear
    >>> from wengert.plugins import SGD
    >>> print(summary(Linear.make(SGD(learning_rate=0.1), 784, 64, seed=0)))
    weight  (784, 64)  float32  50,176
    bias    (64,)      float32      64
    2 weights, 50,240 elements, 200,960 bytes
    """
    found = weights(model)
    rows = [(place, str(w.kind.shape), str(w.kind.dtype), f"{_count(w):,}") for place, w in found.items()]
    places, shapes, dtypes, counts = (max((len(row[i]) for row in rows), default=0) for i in range(4))
    lines = [f"{a:{places}}  {b:{shapes}}  {c:{dtypes}}  {d:>{counts}}" for a, b, c, d in rows]
    size = sum(_count(w) * w.kind.dtype.itemsize for w in found.values())
    elements = sum(map(_count, found.values()))
    return "\n".join([*lines, f"{len(found)} weights, {elements:,} elements, {size:,} bytes"])


def _count(w: Weight) -> int:
    return math.prod(w.kind.shape or ())
