"""Code of the calls of a cell: one function for each form of arguments, one for each template.

Knows: that code of its own looks an attribute up where it was the last time, and code that serves many classes cannot
(a node takes 0.13 us, not 0.21); that arguments which are taken apart by name need no loop.
Refuses to know: how templates are made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from types import CodeType
from typing import Any, Final, NamedTuple

from wengert.arrays import ARRAY_CLASS
from wengert.graph.node import Expression, next_serial
from wengert.graph.operand import OWN, operand
from wengert.graph.operation import Signature
from wengert.graph.products import fields_of, is_product, parts_of
from wengert.program.text import function_of
from wengert.run.forms import is_operand
from wengert.site import OURS, user_frame

Key = tuple[object, ...]  # kinds of operands, and what belongs to the trace
Operands = tuple[Any, ...]  # Any: expressions, and frozen arrays
Site = tuple[CodeType | str, int]
Make = Callable[[Operands, CodeType | str, int], Any]  # Any: what a call gives: a node, or a product of them
# How each argument is read, after it what is in it: its class and how many parts it has, or one of these.
Item = tuple[type, int] | None
Pattern = tuple[Item, ...]
_EXPRESSION: Final = None
_LITERAL: Final = -1  # in place of parts: an operand of that class
_VALUE: Final = (object, -2)  # what belongs to the trace


class Form(NamedTuple):
    """Calls with arguments of one pattern. For arguments of another one both functions raise an error of Python's."""

    key: Callable[..., Key]  # what calls have in common that run the same code
    call: Callable[..., Any]  # runs it; KeyError if it has not been made. Any: as in `Make`
    makes: dict[Key, Make]


def unmet(*args: object) -> Any:  # Any: as in `Make`
    """`call` of a cell that has not been called."""
    raise KeyError


def pattern_of(args: tuple[object, ...]) -> Pattern:
    """Pattern of arguments: expressions, other operands, and products of these, of which classes."""
    found: list[Item] = [(tuple, len(args))]
    todo = [*args[::-1]]
    while todo:
        x = todo.pop()
        if isinstance(x, Expression) and x.kind.role is not OWN:
            found.append(_EXPRESSION)
        elif x.__class__ is tuple:
            found.append((tuple, len(x)))
            todo += x[::-1]
        elif type(x) is ARRAY_CLASS:
            found.append((ARRAY_CLASS, _LITERAL))
        elif is_product(x):
            parts, _ = parts_of(x)
            found.append((type(x), len(parts)))
            todo.extend(reversed(parts))
        else:
            found.append((type(x), _LITERAL) if is_operand(x) else _VALUE)
    return tuple(found)


def form_for(pattern: Pattern, at: Site | None = None) -> Form:
    """The code for arguments of a pattern. `at`: where calls count as written, if not where they are."""
    scope: dict[str, Any] = {  # Any: what the code names
        "operand": operand,
        "makes": {},
        "frame_at": sys._getframe,
        "ours": OURS,
        "user_frame": user_frame,
        "site": at,
    }
    lines, key, operands = list[str](), list[str](), list[str]()
    names = (f"x{i}" for i in count())
    whole, *items = pattern
    first = [next(names) for _ in range(whole[1] if whole else 0)]
    todo = first[::-1]
    for item in items:
        name = todo.pop()
        if item is _EXPRESSION:
            key.append(f"{name}.kind")
            operands.append(name)
            continue
        if item is _VALUE:
            key += [f"{name}.__class__", name]
            continue
        scope[f"{name}_class"], number = item
        lines.append(f"if {name}.__class__ is not {name}_class: raise KeyError")
        if number == _LITERAL:
            lines.append(f"{name}, {name}_kind = operand({name})")
            key.append(f"{name}_kind")
            operands.append(name)
        else:
            parts = [next(names) for _ in range(number)]
            lines += _taken_apart(name, item[0], parts)
            todo += parts[::-1]
    head = f"def call({', '.join([*first, *'/' * bool(first)])}):"
    return Form(
        _written(head, [*lines, f"return {_tuple(key)}"], scope),
        _written(head, [*lines, f"make = makes[{_tuple(key)}]", *_made(operands, at)], scope),
        scope["makes"],
    )


def _made(operands: Sequence[str], at: Site | None) -> list[str]:
    """The end of a call: what `make` gives, on the line of whoever has called the cell."""
    if at is not None:
        return [f"return make({_tuple(operands)}, *site)"]
    return [
        "frame = frame_at(2)",
        "code = frame.f_code",
        "if ours[code.co_filename]:",
        "  frame = user_frame()",
        "  code = frame.f_code",
        f"return make({_tuple(operands)}, code, frame.f_lasti)",
    ]


def _taken_apart(name: str, cls: type, parts: Sequence[str]) -> Iterator[str]:
    if issubclass(cls, tuple):
        if cls is tuple:
            yield f"if len({name}) != {len(parts)}: raise KeyError"  # Python's own error takes twice as long
        yield f"[{', '.join(parts)}] = {name}"
    else:
        for part, field in zip(parts, fields_of(cls), strict=True):
            yield f"{part} = {name}.{field}"


def maker_of(
    signature: Signature, captured: tuple[Expression, ...], parts: Sequence[Signature], whole: object
) -> Make:
    """The code that makes the node of a call, and of that one for each of several results.

    `whole`: what is returned, with `parts` in it.
    """
    scope: dict[str, Any] = {
        "new": object.__new__,
        "serial": next_serial,
        "captured": captured,
    }  # Any: as above
    lines = _node(scope, "x", signature, "operands + captured" if captured else "operands")
    for i, part in enumerate(parts):
        lines += _node(scope, f"x{i}", part, "(x,)")  # of its own: `reach` counts what refers to a node
    lines.append(f"return {_put_together(scope, whole) if parts else 'x'}")
    make: Make = _written("def call(operands, code, offset):", lines, scope)
    return make


def _node(
    scope: dict[str, Any], name: str, signature: Signature, operands: str
) -> list[str]:  # Any: as above
    scope |= {f"{name}_class": signature.cls, f"{name}_kind": signature.kind, f"{name}_signature": signature}
    return [
        f"{name} = new({name}_class)",
        f"{name}.kind = {name}_kind",
        f"{name}.signature = {name}_signature",
        f"{name}.operands = {operands}",
        f"{name}.serial = serial()",
        f"{name}.code = code",
        f"{name}.offset = offset",
    ]


@dataclass(frozen=True, slots=True)
class _Close:
    """After the parts of a product."""

    cls: type
    parts: int


def _put_together(scope: dict[str, Any], whole: object) -> str:  # Any: as above
    """The text of a product of x0, x1 and so on."""
    done, names = list[str](), (f"x{i}" for i in count())
    todo: list[object] = [whole]
    while todo:
        x = todo.pop()
        if isinstance(x, _Close):
            parts = [done.pop() for _ in range(x.parts)][::-1]
            name = f"class_{len(scope)}"
            scope[name] = x.cls
            if x.cls is tuple:
                done.append(_tuple(parts))
            elif issubclass(x.cls, tuple):
                done.append(f"{name}._make({_tuple(parts)})")
            else:
                fields = fields_of(x.cls)
                done.append(f"{name}({', '.join(map('='.join, zip(fields, parts, strict=True)))})")
        elif is_product(x):
            within, _ = parts_of(x)
            todo += [_Close(type(x), len(within)), *within[::-1]]
        else:
            done.append(next(names))
    return done[0]


def _tuple(names: Sequence[str]) -> str:
    return f"({''.join(f'{name}, ' for name in names)})"


def _written(head: str, lines: Sequence[str], scope: dict[str, Any]) -> Any:  # Any: a function of any type
    return function_of([head, *(f" {line}" for line in lines)], scope, __name__)
