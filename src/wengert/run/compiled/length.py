"""How long a program may be.

Knows: that a cell is as long as what it does, and that Python takes 0.3 ms and 25 KB to compile an operation.
Refuses to know: programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from wengert.graph.node import Node
from wengert.graph.operation import Signature
from wengert.graph.template import CellSignature

MOST: Final = 20_000  # operations
_signature = attrgetter("_signature")


def is_short(nodes: Sequence[Node]) -> bool:
    """Whether nodes, with what is in those that are cells, are not too many for a program."""
    left, waiting = MOST, Counter[Signature](map(_signature, nodes))
    while waiting and left >= 0:
        signature, count = waiting.popitem()
        left -= count
        if isinstance(signature, CellSignature):
            for inner, times in Counter[Signature](map(_signature, signature.template.nodes)).items():
                waiting[inner] += count * times
    return left >= 0
