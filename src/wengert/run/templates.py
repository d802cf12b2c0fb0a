"""Templates of a cell: its program for operands of each combination of kinds, made once.

Knows: that templates are kept by kinds and by what belongs to the trace; that where only the run tells the kinds of
operands, a call is known by its results and captured weights until then, and gets its template in the run; that equal
templates with the same weights are one, so that calls of cells written apart run together, while cells without weights
stay apart: as one they tie others into circles, which costs more launches than it saves.
Refuses to know: how calls are made, and how a template is run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final
from weakref import WeakValueDictionary

from wengert.arrays import dtype_of, is_array, shape_of
from wengert.errors import ArgumentError
from wengert.graph.kinds import Kind
from wengert.graph.node import Expression
from wengert.graph.operand import shown
from wengert.graph.operation import UNRESOLVED, Attributes, Operation, Signature
from wengert.graph.products import Rebuild
from wengert.graph.template import CellSignature, Template, traced
from wengert.site import user_position

MOST: Final = 1024  # templates of one cell; beyond it they are made afresh, so that they cannot grow


class Templates:
    """All that one function has been traced for.

    It holds the signatures: an operation that did would be in a cycle with them.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:  # Any: structures of expressions
        self.function = function
        self.operation = Operation(name, None, function.__module__, listed=False)
        self._made: dict[object, CellSignature] = {}

    def signature(self, kinds: tuple[Kind, ...], form: object, filled: Rebuild) -> CellSignature:
        """For operands of these kinds, in a call of this form; `filled` makes its arguments of them.

        Some kinds may be such that only the run tells them.
        """
        key = (kinds, form)
        try:
            found = self._made.get(key)
        except TypeError:
            raise ArgumentError(
                f"{self.operation.name}: an argument of a cell is an expression, an array, a tuple of these, or "
                f"something hashable that belongs to the cell; got {_unhashable(form)}: give numbers as "
                f"numpy.array(x, dtype), and other things as tuples\n  at {user_position()}"
            ) from None
        if found is None:
            template = traced(self.function, kinds, filled, self.operation.name)
            attributes = (("form", form),)
            if not all(k.known for k in kinds):
                return _Open(_Later(self, template, form, filled), kinds, template, attributes)
            if len(self._made) >= MOST:
                self._made.clear()
            found = self._made[key] = _one_of_equals(
                CellSignature(self.operation, kinds, template, attributes)
            )
        return found


def _unhashable(form: object) -> str:
    """The first argument of a form that has no hash, with its type."""
    assert isinstance(form, tuple), "what `form_of` gives"
    for item in form:
        try:
            hash(item)
        except TypeError:
            cls, x = item
            return f"{shown(x)}, a {cls.__name__}"
    raise AssertionError("one of them has none")


class _Open(CellSignature):
    """Its template says how many results there are and which weights are read, and is never run."""

    __slots__ = ()

    def __init__(
        self, operation: Operation, kinds: Sequence[Kind], template: Template, attributes: Attributes
    ) -> None:
        super().__init__(operation, kinds, template, attributes)
        self.mode = UNRESOLVED

    def __reduce__(self) -> tuple[object, ...]:
        given = self.kinds[: self.template.given]
        return _Open, (self.operation, given, self.template, self.attributes)


def is_open(signature: Signature) -> bool:
    """Tell whether a signature is that of a cell which gets its template in the run."""
    return isinstance(signature, _Open)


class _Later(Operation):
    """A cell as an operation, to be asked what it is for kinds that have become known."""

    def __init__(self, templates: Templates, open_: Template, form: object, filled: Rebuild) -> None:
        of = templates.operation
        super().__init__(of.name, None, of.module, listed=False)
        self._given = templates, open_, form, filled

    def __reduce__(self) -> tuple[object, ...]:
        return _Later, self._given

    def signature(self, kinds: tuple[Kind, ...], attributes: Attributes) -> Signature:
        templates, before, form, filled = self._given
        found = templates.signature(kinds[: before.given], form, filled)
        now = found.template
        same = len(now.results) == len(before.results)
        if not same or [*map(id, _weights(now))] != [*map(id, _weights(before))]:
            raise ArgumentError(
                f"for these operands it gives {_read(now)}, and while their shapes were not known "
                f"{_read(before)}; state the shapes in the annotation of what makes the operands"
            )
        return found


def _read(of: Template) -> str:
    weights = ", ".join(map(repr, _weights(of))) or "no weights"
    return f"{len(of.results)} results of {weights}"


def _weights(of: Template) -> list[object]:
    """Weights that a template's function reads without being given them."""
    return [*of.lifted, *of.captured]


_LARGEST: Final = 1024  # bytes of an array that is compared; a larger one is equal to itself only

_met: Final[WeakValueDictionary[object, CellSignature]] = WeakValueDictionary()


def _one_of_equals(signature: CellSignature) -> CellSignature:
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
    """Nesting of tuples; any other result equals nothing."""
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
