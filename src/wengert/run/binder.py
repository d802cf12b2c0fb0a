"""Does a plan fit an expression? Straight-line code that asks, and picks weights, literals, targets on its way.

Knows: that a plan fits where every signature is the same, every operand that was shared is shared, and no two
that were different are one.
Refuses to know: what the plan computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wengert.graph.node import Expression, Node
from wengert.graph.operation import Signature
from wengert.graph.weights import Weight

Found = tuple[tuple[Weight, ...], tuple[Any, ...], tuple[Expression, ...]]  # Any: literals of every type
Binder = Callable[[Node], Found | None]


def binder(nodes: Sequence[Node], weights: Sequence[Weight], targets: Sequence[Expression]) -> Binder:
    """A function of a root that gives weights, literals and targets, or None where the structure is another.

    `nodes` are in order, the root last; operands have been met before their consumers are.
    """
    names: dict[object, str] = {node: f"n{i}" for i, node in enumerate(nodes)}
    names |= {w: f"w{i}" for i, w in enumerate(weights)}
    known: dict[Signature, str] = {}
    met = {nodes[-1]}
    literals: list[list[str]] = []
    lines: list[str] = []
    for node in reversed(nodes):
        name, signature = names[node], node._signature
        sign = known.setdefault(signature, f"s{len(known)}")
        taken, checks, own = [], [], []
        for i, x in enumerate(node._operands):
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
        lines.append(f"if {name}._signature is not {sign}: return None")
        if taken:
            lines.append(f"({', '.join(taken)},) = {name}._operands")
        lines += [f"if {check}: return None" for check in checks]
    alike = [names[x] for x in _alike([*nodes, *weights])]
    if alike:
        lines.append(f"if len({{{', '.join(alike)}}}) != {len(alike)}: return None")
    picked = [name for own in reversed(literals) for name in own]
    found = _tuple(names[w] for w in weights), _tuple(picked), _tuple(names[x] for x in targets)
    lines.append(f"return ({', '.join(found)})")
    scope: dict[str, Any] = {name: signature for signature, name in known.items()}  # Any: and the function
    head = f"def bind({names[nodes[-1]]}):\n"
    exec(compile(head + "".join(f" {line}\n" for line in lines), "<binder>", "exec"), scope)
    bind: Binder = scope["bind"]
    return bind


def _alike(expressions: Sequence[Expression]) -> list[Expression]:
    """Those among which two may turn out to be one where all the rest of a structure fits.

    Two nodes with operands that are not one are not one either, so it comes to those with the same operands, and
    to weights of one kind.
    """
    groups: dict[object, list[Expression]] = {}
    for x in expressions:
        key: object = x._kind
        if isinstance(x, Node):
            key = x._signature, tuple(x._operands[i] for i in x._signature.nodes)
        groups.setdefault(key, []).append(x)
    return [x for group in groups.values() if len(group) > 1 for x in group]


def _tuple(names: Any) -> str:  # Any: an iterable of names
    return f"({''.join(f'{name}, ' for name in names)})"
