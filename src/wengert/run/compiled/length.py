"""How long a program may be, and where an expression that is longer is cut into parts with programs of their own.

Knows: that a cell is as long as what it does, and that Python takes 0.3 ms and 25 KB to compile an operation.
Refuses to know: programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from operator import attrgetter
from typing import Final

from wengert.graph.node import Node
from wengert.graph.operation import Signature
from wengert.graph.template import CellSignature

MOST: Final = 20_000  # operations
_LIGHT: Final = (
    8_192  # elements of a node's operands and result: 32 KB, which an addition goes through in 5 us
)
_PART: Final = 5_000  # of them in a part of what is longer: making the program of one takes 0.5 s
_signature = attrgetter("signature")


def operations(nodes: Sequence[Node]) -> int:
    """The operations in nodes, with what is in those that are cells; more than `MOST` are not all counted."""
    return _counted(Counter[Signature](map(_signature, nodes)))


def is_short(nodes: Sequence[Node]) -> bool:
    """Whether nodes, with what is in those that are cells, are not too many for a program."""
    return operations(nodes) <= MOST


def is_light(nodes: Sequence[Node]) -> bool:
    """Whether nodes are small, so that making a plan takes far longer than running them, up to 60 times."""
    counts = Counter(map(_signature, nodes))
    elements: int = sum(
        count * sum(prod(k.shape) for k in (signature.kind, *signature.kinds) if k.shape is not None)
        for signature, count in counts.items()
    )
    return elements < _LIGHT * len(nodes)


def has_cells(nodes: Sequence[Node]) -> bool:
    """Whether one of the nodes is a cell."""
    return any(isinstance(node.signature, CellSignature) for node in nodes)


def parts_of(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Neighbours that are about 5,000 operations together, or one cell that is longer."""
    lengths: dict[Signature, int] = {}
    begin = total = 0
    for at, node in enumerate(nodes):
        signature = node.signature
        length = lengths.get(signature)
        if length is None:
            length = lengths[signature] = _counted(Counter[Signature]([signature]))
        if total and total + length > _PART:
            yield [*nodes[begin:at]]
            begin, total = at, 0
        total += length
    yield [*nodes[begin:]]


def _counted(waiting: Counter[Signature]) -> int:
    """The operations in so many nodes of each signature; more than `MOST` are not all counted."""
    found = 0
    while waiting and found <= MOST:
        one, times = waiting.popitem()
        found += times
        if isinstance(one, CellSignature):
            for inner, count in Counter[Signature](map(_signature, one.template.nodes)).items():
                waiting[inner] += count * times
    return found
