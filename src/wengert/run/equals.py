"""Cells that do the same with the same weights are one, however often they were written: their calls run together.

Knows: when two templates are equal, exactly; that what is remembered dies with the cells; that cells without
weights stay apart: as one they tie other cells into circles, which costs more launches than it saves.
Refuses to know: how a template is made, and how it is run.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakValueDictionary

from wengert.arrays import dtype_of, is_array, shape_of
from wengert.graph.node import Expression
from wengert.graph.template import CellSignature

_LARGEST: Final = 1024  # bytes of an array that is compared; a larger one is equal to itself only

_met: Final[WeakValueDictionary[object, CellSignature]] = WeakValueDictionary()


def one_of_equals(signature: CellSignature) -> CellSignature:
    """The first of all signatures that are equal to this one and in use."""
    return _met.setdefault(_key(signature), signature) if signature.template.captured else signature


def _key(signature: CellSignature) -> tuple[object, ...]:
    """All that a call depends on, and the lines that an error names; not the name, which blocks give to one function.

    What is known by its identity is held by the signature, so nobody else has that identity while the key is kept.
    """
    template = signature.template
    places = {id(x): i for i, x in enumerate((*template.parameters, *template.nodes))}
    met = {(x.code, x.offset) for x in template.parameters[:1]}  # whoever happened to call first
    rows = [
        (
            node.signature,
            tuple([_operand(x, places) for x in node.operands]),
            None if (node.code, node.offset) in met else (node.code, node.offset),
        )
        for node in template.nodes
    ]
    return (
        (signature.kinds, signature.attributes, *map(id, template.lifted)),
        tuple(rows),
        tuple([_operand(x, places) for x in template.results]),
        None if template.single else _nesting(template.rebuild(template.results)),
    )


def _nesting(made: object) -> object:
    """How tuples lie in each other; what else is returned equals nothing."""
    if type(made) is tuple:
        return tuple(map(_nesting, made))
    return None if isinstance(made, Expression) else object()


def _operand(
    x: Any, places: dict[int, int]
) -> tuple[object, ...]:  # Any: expressions, and data of every type
    if isinstance(x, Expression):
        place = places.get(id(x))
        return ("weight", id(x)) if place is None else ("node", place)
    if isinstance(x, float):
        return ("number", x.hex())  # 0.0 and -0.0 are equal, and not the same
    if is_array(x) and x.nbytes <= _LARGEST:
        return ("array", dtype_of(x), shape_of(x), x.tobytes())
    return ("data", id(x))
