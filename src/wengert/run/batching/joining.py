"""The delta of one weight from those of many launches.

Knows: that small products are joined to one, because each touches the whole weight; that a large one gains nothing
from that, and would only be copied.
Refuses to know: weights, and launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wengert.arrays import Value
from wengert.arrays.rows import joined_rows
from wengert.lazy import LazyDelta, Product, Term

_ENOUGH: Final = 2  # times as many rows as the weight has: then a product is left as it is


def joined(deltas: Sequence[Value]) -> Value:
    """The sum of the deltas, of which some may be lazy."""
    total = deltas[0]
    for delta in deltas[1:]:
        total = total + delta
    if not isinstance(total, LazyDelta) or len(total.terms) < 2:
        return total
    return LazyDelta(_fewer(total.terms), total.factor, total.rest)


def _fewer(terms: Sequence[Term]) -> list[Term]:
    done: list[Term] = []
    small: list[Product] = []
    for term in terms:
        if isinstance(term, Product) and len(term.left) < _ENOUGH * term.left.shape[1]:
            small.append(term)
            if sum(len(each.left) for each in small) >= _ENOUGH * term.left.shape[1]:
                done.append(_one(small))
                small = []
        else:
            done.append(term)
    return [*done, _one(small)] if small else done


def _one(products: Sequence[Product]) -> Product:
    return Product(joined_rows([p.left for p in products]), joined_rows([p.right for p in products]))
