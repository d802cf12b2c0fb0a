"""`@cell`: a function of expressions as one node a call.

Knows: which arguments are operands (expressions, arrays, also within tuples and frozen dataclasses) and which
belong to the cell as they are; that it is traced once for each combination of kinds.
Refuses to know: what the function does, and how a template is run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

from wengert.arrays import is_array, is_float32
from wengert.differentiable import registered
from wengert.errors import ArgumentError
from wengert.graph.kinds import Kind
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operand import operand, shown
from wengert.graph.operation import Operation, Rules
from wengert.graph.products import Rebuild, is_product, leaves_of, parts_of
from wengert.graph.site import user_frame, user_position
from wengert.graph.template import CellSignature, Template, traced

P = ParamSpec("P")
R = TypeVar("R")


class Parts:
    """The delta of a cell that returned several expressions: what has arrived at some of them."""

    __slots__ = ("arrived",)

    def __init__(self, arrived: dict[int, Any]) -> None:  # Any: deltas of every type
        self.arrived = arrived

    def __add__(self, other: Parts) -> Parts:
        both = dict(self.arrived)
        for index, delta in other.arrived.items():
            both[index] = both[index] + delta if index in both else delta
        return Parts(both)


PART: Final = Operation(
    "part",
    Rules(
        lambda kinds, *, index, of: of,
        lambda case, x, *, index, of: x[index],
        (lambda case, g, y, x, *, index, of: Parts({index: g}),),
    ),
)


class Cell(Generic[P, R]):
    """A function of expressions; what it closes over is as it was when it was traced."""

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        name = getattr(function, "__qualname__", "cell")
        self._operation = Operation(name, None, function.__module__, listed=False)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        leaves, fill = leaves_of((args, tuple(kwargs.items())))
        places = [i for i, x in enumerate(leaves) if _is_operand(x)]
        try:
            pairs = [operand(leaves[i]) for i in places]
        except Exception as error:
            raise type(error)(f"{self._operation.name}: {error}\n  at {user_position()}") from None
        kinds = tuple(of for _, of in pairs)
        if not all(of.known for of in kinds):  # only the run knows: no template can be made before it
            return self._function(*args, **kwargs)
        signature = self._signature(kinds, leaves, places, fill, _form((args, tuple(kwargs.items()))))
        frame = user_frame()
        template = signature.template
        operands = (*[value for value, _ in pairs], *template.captured)
        node = new_node(signature.cls, signature.kind, signature, operands, frame.f_code, frame.f_lasti)
        return cast(R, node if template.single else template.rebuild(_parts(node, template)))

    def __get__(self, owner: object, cls: type | None = None) -> Any:  # Any: P without its first, and R
        bound: Callable[..., Any] = self.__call__
        return self if owner is None else functools.partial(bound, owner)

    def _signature(
        self, kinds: tuple[Kind, ...], leaves: list[Any], places: list[int], fill: Rebuild, form: object
    ) -> CellSignature:  # Any: arguments of every type
        key = (kinds, form)
        try:
            found = self._operation.signatures.get(key)
        except TypeError:
            raise ArgumentError(
                f"{self._operation.name}: an argument of a cell is an expression, an array, a tuple of these, or "
                f"something hashable that belongs to the cell\n  at {user_position()}"
            ) from None
        if found is None:

            def filled(parameters: Any) -> Any:  # Any: nodes in place of arguments
                inside = dict(zip(places, parameters, strict=True))
                return fill(inside.get(i, x) for i, x in enumerate(leaves))

            template = traced(self._function, kinds, filled, self._operation.name)
            found = CellSignature(self._operation, kinds, template, (("form", form),))
            self._operation.signatures[key] = found
        return cast(CellSignature, found)


def _is_operand(x: object) -> bool:
    return (
        isinstance(x, Expression)
        or is_array(x)
        or is_float32(x)
        or (not isinstance(x, (int, float)) and registered(x))
    )


def _form(x: object) -> object:
    """What two calls have in common: the nesting, and every argument that is no operand, by type and value."""
    items: list[object] = []
    todo: list[object] = [x]
    while todo:
        item = todo.pop()
        if is_product(item):
            parts, _ = parts_of(item)
            items.append((type(item), len(parts)))
            todo.extend(reversed(parts))
        else:
            items.append(None if _is_operand(item) else (type(item), item))
    return tuple(items)


def _parts(node: Node, template: Template) -> list[Node]:
    """A node for each expression that the function returned."""
    made = []
    for index, x in enumerate(template.results):
        signature = PART.signature((node._kind,), (("index", index), ("of", x.kind)))
        made.append(new_node(signature.cls, signature.kind, signature, (node,), node._code, node._offset))
    return made


def cell(function: Callable[P, R]) -> Callable[P, R]:
    """A function of expressions that becomes one node a call.

    It is traced once for each combination of operand types; expressions and arrays, also in tuples and frozen
    dataclasses, are operands, and anything else (a number, a name) belongs to the trace and has to be hashable.
    Weights that it reads without being given them are operands, too. It may return a tuple of expressions.
    Derivative: that of what it does.
    Raises ArgumentError where it returns no expression or waits for a value.
    >>> from wengert import DoubleLayer, lift
    >>> @cell
    ... def step(h: DoubleLayer, x: DoubleLayer) -> tuple[DoubleLayer, DoubleLayer]:
    ...     return h + x, h * x
    >>> a, b = step(lift(2.0), lift(3.0))
    >>> (a * b).predict().run()
    30.0
    """
    if not callable(function):
        raise ArgumentError(
            f"@cell takes a function of expressions; got {shown(function)}\n  at {user_position()}"
        )
    return cast(Callable[P, R], Cell(function))
