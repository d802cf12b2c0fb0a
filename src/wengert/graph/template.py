"""The trace of a function of expressions: a small graph with parameters in place of operands.

Knows: parameters, the nodes between them and the results, and which weights the function reads besides.
Refuses to know: how a template is run, and when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, Final, NoReturn

from wengert.control import Do, UnitContinuation
from wengert.delta import zero
from wengert.differentiable import Tape
from wengert.errors import ArgumentError, LazyError, WengertError
from wengert.graph.kinds import CLASSES, NUMBER, Column, Kind, Role, kind, layer_class, with_role
from wengert.graph.node import Expression, Node, new_node
from wengert.graph.operand import lift_any, shown
from wengert.graph.operation import CELL, EXTERNAL, UNRESOLVED, Attributes, Operation, Rules, Signature
from wengert.graph.order import below, is_bulky, last_readers
from wengert.graph.products import Rebuild, is_product, leaves_of
from wengert.graph.weights import Weight
from wengert.site import user_frame, user_position

# it stands for what each call gives
PARAMETER: Final = Operation("parameter", Rules(lambda kinds: kinds[0], lambda case, x: x, external=True))


class Parts:
    """The delta of a cell that returned several expressions: what has arrived at some of them."""

    __slots__ = ("arrived",)

    def __init__(self, arrived: dict[int, Any]) -> None:  # Any: deltas of every type
        self.arrived = arrived

    def __add__(self, other: Parts) -> Parts:
        a, b = self.arrived, other.arrived
        both = a | b
        if len(both) < len(a) + len(b):
            both |= {index: a[index] + b[index] for index in a.keys() & b.keys()}
        return Parts(both)


# the expression of one result of a cell that returned several
PART: Final = Operation(
    "part",
    Rules(
        lambda kinds, *, index, of: of,
        lambda case, x, *, index, of: x[index],
        (lambda case, g, y, x, *, index, of: Parts({index: g}),),
        part=True,
        pure=True,
    ),
)


def projections(whole: Node, kinds: Sequence[Kind]) -> list[Node]:
    """A node for each part of one whose data are a tuple."""
    found = []
    for index, of in enumerate(kinds):
        signature = PART.signature((whole.kind,), (("index", index), ("of", of)))
        found.append(new_node(signature.cls, signature.kind, signature, (whole,), whole.code, whole.offset))
    return found


class JoinedTape(Tape[Any, Any]):  # Any: as of `joined`
    """One tape of several."""

    tapes: tuple[Tape[Any, Any], ...]

    def __init__(
        self,
        data: object,
        backward: Callable[[Do[Any]], UnitContinuation[None]],
        tapes: tuple[Tape[Any, Any], ...] = (),
    ) -> None:
        super().__init__(data, backward)
        object.__setattr__(self, "tapes", tapes)  # the way of frozen dataclasses, as a tape is one

    def __reduce__(self) -> tuple[object, ...]:
        return JoinedTape, (self.data, self.backward, self.tapes)


def joined(tapes: tuple[Tape[Any, Any], ...]) -> JoinedTape:  # Any: of expressions of every type
    """One tape of several: its data are a tuple, its delta is what has arrived at some parts of that."""

    def backward(delta: Do[Parts]) -> UnitContinuation[None]:
        def all_parts(parts: Parts) -> list[Any]:  # Any: deltas of every type
            return [parts.arrived.get(i, zero(tape.data)) for i, tape in enumerate(tapes)]

        shared = delta.map(all_parts).shared()
        sent = UnitContinuation.now(None)
        for index, tape in enumerate(tapes):
            sent = sent.flat_map(partial(_send, tape, shared.map(itemgetter(index))))
        return sent

    return JoinedTape(tuple(tape.data for tape in tapes), backward, tapes)


def _send(tape: Tape[Any, Any], delta: Do[Any], before: None) -> UnitContinuation[None]:
    return tape.backward(delta)


def _no_value() -> NoReturn:
    raise LazyError(
        "inside a cell an operand has no value, because the cell is traced once for all its calls; compute with the "
        "expression, or decide outside the cell"
    )


_NO_VALUE: Final = Do.delay(_no_value)  # what runs where a parameter is run


@dataclass(eq=False, repr=False)  # frozen it would take 0.4 ms more to import
class Template:
    """`nodes` lead from `parameters` to `results`; `rebuild` makes of those what the function returned.

    `lifted` are the weights with a `forward` of their own that the function reads without being given them: what that
    gives is an operand of every call, and the last of the parameters stand for it. With `remat` backward computes the
    values within once more: of a call only its operands are kept.
    """

    parameters: tuple[Node, ...]
    lifted: tuple[Weight, ...]
    captured: tuple[Weight, ...]
    nodes: list[Node]
    results: tuple[Expression, ...]
    rebuild: Rebuild
    single: bool
    remat: bool = False

    @property
    def given(self) -> int:
        """The number of operands that a call is given."""
        return len(self.parameters) - len(self.lifted)

    @property
    def inputs(self) -> tuple[Expression, ...]:
        """The expressions whose values are the operands of a call."""
        return (*self.parameters, *self.captured)

    @cached_property
    def ends(self) -> dict[Node, list[Node]]:
        """For each node the values that nobody needs after it where nothing goes back; none if they are small."""
        return last_readers(self.nodes, self.results) if is_bulky(self.nodes) else {}

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the results of a call: a weight that is one is a layer there, as what is computed."""
        return tuple(
            [with_role(x.kind, Role.LAYER if x.kind.trainable else Role.CONSTANT) for x in self.results]
        )

    @property
    def kind(self) -> Kind:
        """The kind of the node that a call makes."""
        if self.single:
            return self.kinds[0]
        trainable = any(of.trainable for of in self.kinds)
        return kind(Column.OTHER, None, tuple, "cpu", Role.LAYER if trainable else Role.CONSTANT)


class CellSignature(Signature):
    """One cell on operands of known kinds; the weights that it captured are operands, too."""

    __slots__ = ("template",)

    def __init__(
        self, operation: Operation, kinds: Sequence[Kind], template: Template, attributes: Attributes
    ) -> None:
        self.operation = operation
        self.template = template
        self.attributes = attributes
        self.kinds = (*kinds, *(x.kind for x in template.inputs[template.given :]))
        self.nodes = tuple(i for i, k in enumerate(self.kinds) if k.role is not Role.LITERAL)
        self.kind = template.kind
        self.cls = layer_class(self.kind)
        self.mode = CELL
        self.value = _no_rule
        self.pulls = ()

    def __reduce__(self) -> tuple[object, ...]:
        given = self.kinds[: self.template.given]
        return _unpickled, (self.operation.name, self.operation.module, given, self.template, self.attributes)


def _unpickled(
    name: str, module: str, kinds: tuple[Kind, ...], template: Template, attributes: Attributes
) -> CellSignature:
    return CellSignature(Operation(name, None, module, listed=False), kinds, template, attributes)


def template_of(signature: Signature) -> Template:
    """The template that a call of a cell runs."""
    assert isinstance(signature, CellSignature), "asked of the calls of cells only"
    return signature.template


def captured_by(signature: Signature) -> tuple[Weight, ...]:
    """The weights that are operands of every call of a cell, after those that it is given."""
    return signature.template.captured if isinstance(signature, CellSignature) else ()


def _no_rule(*operands: object) -> object:
    raise AssertionError("a cell is run by its nodes")


def traced(
    function: Callable[..., object], kinds: Sequence[Kind], fill: Rebuild, name: str, remat: bool = False
) -> Template | None:
    """The template of `function` for operands of these kinds; `fill` makes the call's arguments of them.

    None where layers in it have a `forward` of their own, which only a run can ask.
    """
    frame = user_frame()
    parameters = tuple(_parameter(k, frame.f_code, frame.f_lasti) for k in kinds)
    args, kwargs = fill(parameters)
    try:
        made = function(*args, **dict(kwargs))
    except Exception as failure:
        of = ", ".join(k.text() for k in kinds)
        failure.add_note(f"while the cell {name} was traced for ({of}), called at {user_position()}")
        raise
    leaves, rebuild = leaves_of(made)
    if not leaves:
        raise ArgumentError(
            f"{name} returned {shown(made)}; a cell returns an expression or a tuple of them\n  at {user_position()}"
        )
    results = tuple(result_of(x, name) for x in leaves)
    met: dict[Expression, None] = dict.fromkeys(parameters)
    nodes: list[Node] = []
    weights: list[Weight] = []
    for x in results:
        inner, read = below(x, met)
        met |= dict.fromkeys((*inner, *read))
        nodes += inner
        weights += read
    opened = ((x, x.operands[0]) for x in nodes if x.signature.mode == EXTERNAL)
    lifted = {x: w for x, w in opened if isinstance(w, Weight)}
    nodes = sorted((x for x in nodes if x not in lifted), key=lambda x: x.serial)
    waiting = (EXTERNAL, UNRESOLVED) if all(k.known for k in kinds) else (EXTERNAL,)
    asked = {x for x in nodes if x.signature.mode == EXTERNAL and isinstance(x.operands[0], Node)}
    for node in nodes:
        if node.signature.mode in waiting and node not in asked:
            raise ArgumentError(
                f"{name} is a cell, which is traced before any run, and cannot wait for {node!r}; "
                f"give that layer to the cell as an argument"
            )
    if asked:
        return None
    inputs, single = (*parameters, *lifted), not is_product(made)
    return Template(inputs, tuple(lifted.values()), tuple(weights), nodes, results, rebuild, single, remat)


def _parameter(of: Kind, code: Any, offset: int) -> Node:  # Any: a code object
    role = Role.CONSTANT if of.role is Role.LITERAL else of.role
    known = of.column in CLASSES  # indices make no layer, and stand for a literal of each call
    signature = PARAMETER.signature((with_role(of, Role.LITERAL) if known else NUMBER,), ())
    cls = layer_class(of) if known else Node
    return new_node(cls, with_role(of, role), signature, (_NO_VALUE,), code, offset)


def result_of(x: object, name: str) -> Expression:
    """A result of a cell's function as an expression; ArgumentError for what is none."""
    try:
        made = lift_any(x, name)
        layer_class(made.kind)  # refuses integers
        return made
    except WengertError as error:
        raise ArgumentError(
            f"{name} returned {shown(x)}; a cell returns an expression or a tuple of them\n  at {user_position()}"
        ) from error
