"""Does a plan fit an expression? Straight-line code that asks, and picks weights, literals, targets on its way.

Knows: that a plan fits where every signature is the same, every operand that was shared is shared, no two that
were different are one, and optimizers make the steps that it makes; that the weights which a cell has captured are
the same wherever its signature is; that part of an expression is told by its nodes in place of a root; that a plan
for literals in C order has other bits for others.
Refuses to know: what the plan computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from wengert.arrays import ARRAY_CLASS
from wengert.arrays.ownership import is_turned
from wengert.graph.node import Expression, Node
from wengert.graph.operation import Signature
from wengert.graph.store import Ref
from wengert.graph.template import captured_by
from wengert.graph.weights import Weight
from wengert.program.text import executed, function_text, tuple_text

_ARRAY: Final[Any] = ARRAY_CLASS  # Any: numpy's class, which is not imported here
# weights and their cells; Any: literals of every type; targets
Found = tuple[tuple[Weight, ...], Sequence[Ref], tuple[Any, ...], tuple[Expression, ...]]
Binder = Callable[[Node], Found | None]
Leaves = tuple[tuple[Expression, ...], tuple[Any, ...]]  # Any: as in `Found`
Matcher = Callable[[Sequence[Node]], Leaves | None]


def binder(
    nodes: Sequence[Node],
    weights: Sequence[Weight],
    targets: Sequence[Expression] = (),
    stepped: Sequence[Weight] = (),
    named: Sequence[Weight] = (),
) -> Binder:
    """A function of a root that gives weights, cells, literals and targets, or None where the plan does not fit.

    `nodes` are in order, the root last; operands have been met before their consumers are. The plan makes the steps
    of the weights that are `stepped`: these have to have optimizers of one class and settings with those here, and
    those that are `named` their names.
    """
    names = _named(nodes, weights, "w")
    root = names[nodes[-1]]
    lines, literals, scope = _looks(nodes[::-1], names, {nodes[-1]})
    fixed = _fixed(nodes)
    alike = [names[x] for x in _alike([*nodes, *weights], fixed)]
    if alike:
        lines.append(f"if len({{{', '.join(alike)}}}) != {len(alike)}: return None")
    free = [w for w in stepped if w not in fixed]
    rules = {(type(w.optimizer), id(w.settings)): w for w in free}
    for i, ((cls, of), w) in enumerate(rules.items()):
        scope |= {f"c{i}": cls, f"g{i}": w.settings}
        same = [names[x] for x in free if (type(x.optimizer), id(x.settings)) == (cls, of)]
        lines += [
            f"if {x}.settings is not g{i} or type({x}.optimizer) is not c{i}: return None" for x in same
        ]
    for i, w in enumerate(w for w in named if w not in fixed):
        scope[f"m{i}"] = w.name
        lines.append(f"if {names[w]}.name != m{i}: return None")
    picked = [name for own in reversed(literals) for name in own]
    all_weights = tuple_text(names[w] for w in weights), tuple_text(f"{names[w]}.ref" for w in weights)
    if fixed.issuperset(weights):
        scope |= {"weights": tuple(weights), "cells": tuple(w.ref for w in weights)}
        all_weights = "weights", "cells"
    found = *all_weights, tuple_text(picked), tuple_text(names[x] for x in targets)
    bind: Binder = _compiled(root, [*lines, f"return ({', '.join(found)})"], scope)
    return bind


def matcher(nodes: Sequence[Node], leaves: Sequence[Expression]) -> Matcher:
    """A function of nodes in order that gives what they read besides each other, and literals; None as above.

    Who calls it knows that there are as many nodes as here, and refuses a leaf that is one of them.
    """
    names = _named(nodes, leaves, "w")
    lines, literals, scope = _looks(nodes, names, set(nodes))
    unpacked = f"{tuple_text(names[node] for node in nodes)} = nodes"
    found = tuple_text(names[x] for x in leaves), tuple_text(name for own in literals for name in own)
    match: Matcher = _compiled("nodes", [unpacked, *lines, f"return ({', '.join(found)})"], scope)
    return match


def _named(nodes: Sequence[Node], leaves: Sequence[Expression], letter: str) -> dict[object, str]:
    names: dict[object, str] = {node: f"n{i}" for i, node in enumerate(nodes)}
    return names | {x: f"{letter}{i}" for i, x in enumerate(leaves)}


def _looks(
    nodes: Sequence[Node], names: dict[object, str], met: set[Expression]
) -> tuple[list[str], list[list[str]], dict[str, Any]]:  # Any: what the lines name
    """The lines that look at each node, the names of its literals, and the signatures by name.

    `met` are those that have their names before the first line; what is met first gets its own there.
    """
    known: dict[Signature, str] = {}
    literals: list[list[str]] = []
    lines: list[str] = []
    fixed = _fixed(nodes)
    met = met | fixed
    for node in nodes:
        name, signature = names[node], node.signature
        sign = known.setdefault(signature, f"s{len(known)}")
        taken, checks, own = [], [], []
        given = len(node.operands) - len(captured_by(signature))
        for i, x in enumerate(node.operands[:given]):
            if i not in signature.nodes:
                own.append(f"l{len(literals)}_{i}")
                taken.append(own[-1])
            elif x in met:
                taken.append(f"x{i}")
                checks.append(f"x{i} is not {names[x]}")
            else:
                met.add(x)
                taken.append(names[x])
        literals.append(own)
        lines.append(f"if {name}.signature is not {sign}: return None")
        if taken:
            part = "" if given == len(node.operands) else f"[:{given}]"
            lines.append(f"({', '.join(taken)},) = {name}.operands{part}")
        lines += [f"if {check}: return None" for check in checks]
    scope: dict[str, Any] = {name: signature for signature, name in known.items()}  # Any: as above
    lines += _layouts(nodes, literals)
    return lines, literals, scope | {names[w]: w for w in fixed} | {"is_turned": is_turned}


def _layouts(nodes: Sequence[Node], literals: Sequence[Sequence[str]]) -> list[str]:
    """The line that looks at the layouts of literals, if all of these have their axes in order.

    A program for such has other bits for others; one for others takes any: see `avals_of_literals`.
    """
    arrays: dict[str, Any] = {}  # Any: numpy's arrays
    for node, names in zip(nodes, literals, strict=True):
        given = (x for i, x in enumerate(node.operands) if i not in node.signature.nodes)
        arrays |= {
            name: x for name, x in zip(names, given, strict=False) if isinstance(x, _ARRAY) and x.ndim > 1
        }
    if not arrays or any(map(is_turned, arrays.values())):
        return []
    compact = " and ".join(f"{name}.flags.c_contiguous" for name in arrays)
    return [f"if not ({compact}) and any(map(is_turned, {tuple_text(arrays)})): return None"]


def _fixed(nodes: Sequence[Node]) -> set[Expression]:
    """The weights that signatures tell."""
    return {w for node in nodes for w in captured_by(node.signature)}


def _compiled(argument: str, lines: Sequence[str], scope: dict[str, Any]) -> Any:  # Any: a function
    return executed(function_text("bind", [argument], lines), scope, "<binder>")["bind"]


def _alike(expressions: Sequence[Expression], fixed: set[Expression]) -> list[Expression]:
    """Expressions of which two may turn out to be one where all the rest of a structure fits; `fixed` stay themselves.

    Two nodes with operands that are not one are not one either, so it comes to those with the same operands, and
    to weights of one kind.
    """
    groups: dict[object, list[Expression]] = {}
    for x in expressions:
        key: object = x.kind
        if isinstance(x, Node):
            key = x.signature, tuple(x.operands[i] for i in x.signature.nodes)
        groups.setdefault(key, []).append(x)
    return [x for group in groups.values() if len(group) > 1 and not fixed.issuperset(group) for x in group]
