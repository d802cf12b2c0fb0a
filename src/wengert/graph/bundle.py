"""Pickling of expressions: flat, so that depth needs no stack, and shared nodes once.

Knows: that all nodes below a pickled one go as one table, in which operands are places in the table, and that a
node which is already in a table of the same pickle is never written again; that the layer of a weight's own `forward`
is the weight's, and goes with that, as a cell that reads the weight has it inside and outside.
Refuses to know: what a pickle is for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from weakref import WeakValueDictionary

from wengert.graph.kinds import Kind, layer_class
from wengert.graph.node import Node, new_node
from wengert.graph.operand import lift_any
from wengert.graph.operation import EXTERNAL, Signature
from wengert.graph.order import below
from wengert.graph.weights import Weight

Row = tuple[type[Node] | None, Kind, Signature, tuple[Any, ...], str]  # Any: operands, or places of nodes


class Place:
    """An operand that is another node of the same bundle."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Bundle:
    """Nodes with their operands before them. It lives as long as the pickler remembers it, or the nodes loaded."""

    __slots__ = ("__weakref__", "nodes", "places")

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.places = {node: Place(index) for index, node in enumerate(nodes)}

    def __reduce__(self) -> tuple[object, ...]:
        return _unpacked, ([_row(node, self.places) for node in self.nodes],)


_bundles: Final[WeakValueDictionary[int, Bundle]] = WeakValueDictionary()  # by the identity of their nodes


def bundled(node: Node) -> tuple[Callable[..., Node], tuple[Any, ...]]:
    """The reduction of a node: its place in the table of all nodes below it."""
    if _is_given(node):
        return _given_by, node.operands
    bundle = _bundles.get(id(node))
    if bundle is None:
        nodes, _ = below(node, _Bundled())
        bundle = Bundle(nodes)
        for each in nodes:
            _bundles[id(each)] = bundle
    return _taken, (bundle, bundle.places[node].index)


def _given_by(weight: Weight) -> Node:
    layer = lift_any(weight)
    assert isinstance(layer, Node), "that of a weight with a forward of its own"
    return layer


def _is_given(node: object) -> bool:
    return isinstance(node, Node) and node.signature.mode == EXTERNAL and isinstance(node.operands[0], Weight)


class _Bundled:
    """The nodes that have been written already, or go by themselves, for `below`."""

    def __contains__(self, node: object) -> bool:
        return id(node) in _bundles or _is_given(node)


def _row(node: Node, places: dict[Node, Place]) -> Row:
    operands = tuple(places.get(x, x) if isinstance(x, Node) else x for x in node.operands)
    cls = type(node) if node.kind.family is None else None  # one of a family is found by its kind
    return cls, node.kind, node.signature, operands, node.site


def _unpacked(rows: list[Row]) -> Bundle:
    nodes: list[Node] = []
    for cls, kind, signature, operands, site in rows:
        found = tuple(nodes[x.index] if isinstance(x, Place) else x for x in operands)
        nodes.append(new_node(cls or layer_class(kind), kind, signature, found, site, 0))
    return Bundle(nodes)


def _taken(bundle: Bundle, index: int) -> Node:
    return bundle.nodes[index]
