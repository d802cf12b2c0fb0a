"""From a block to what is run for each example: all types are found once, and all functions are made once.

Knows: the uses of blocks in one program, and which of them can be one function because nothing below them recurs.
Refuses to know: any single block, and examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from wengert.errors import BlockError
from wengert.fold.calls import PLAIN, Calls
from wengert.fold.convert import OBJECT, tensor_type, type_of
from wengert.fold.solver import Solver, Use
from wengert.fold.structures import Endless, SequenceType, TupleType
from wengert.fold.types import ResultType, StackedType, TensorType
from wengert.fold.unification import known
from wengert.graph.operand import shown
from wengert.site import user_position

if TYPE_CHECKING:
    from wengert.fold.block import AnyBlock

_TALLEST: Final = (
    50  # functions call each other this deep; above that, and in recursion, they count how deep they are
)
_DEEPEST: Final = 16  # so deep is the code of one function: of Python's loops 20 may stand in each other


@dataclass(frozen=True, eq=False)
class Plan:
    """A block with all its types known, compiled; `waits` for data of layers, or is built at once."""

    root: Use
    metrics: dict[str, ResultType]
    waits: AnyBlock | None  # the first block in it that waits


def planned(block: AnyBlock, plans: dict[ResultType | None, Plan], x: object) -> Plan:
    """The plan for this kind of input, made the first time."""
    key = None if block.known_input is not None else type_of(x)
    found = plans.get(key)
    if found is None:
        found = plans[key] = plan(block, key)
    if found.root.input != OBJECT:
        _check_given(found.root, x)
    return found


def plan(block: AnyBlock, given: ResultType | None, calls: Calls = PLAIN) -> Plan:
    """A use of a block in which all types are known.

    `given` is the type of what enters, for where the blocks themselves leave that open.
    """
    solver = Solver(whole=True)
    root = solver.use(block)
    solver.solve()
    if given is not None and known(root.input) is None:
        solver.equal(root, "its input", root.input, "the data", given)
    solver.solve(defaults=True)
    for use in solver.uses:
        for side, of in (("input", use.input), ("output", use.output)):
            if known(of) is None:
                raise BlockError(
                    f"{use.block!r}: the type of its {side} is not known; set_{side}_type says it"
                    f"\n  at {use.block.site}"
                )
        use.input, use.output = cast(ResultType, known(use.input)), cast(ResultType, known(use.output))
        use.facts = {name: cast(ResultType, known(of)) for name, of in use.facts.items()}
    for use in solver.uses:
        use.parts = list(map(_meant, use.parts))
    root = _meant(root)
    root.own = True
    _compile([use for use in solver.uses if use.target is None], calls)
    waits = next((use.block for use in solver.uses if use.block.waits), None)
    return Plan(root, solver.metrics, waits)


def _meant(use: Use) -> Use:
    while use.target is not None:
        use = use.target
        use.own = True  # for all that refer to it
    return use


def _compile(uses: list[Use], calls: Calls) -> None:
    """Give every use its function, parts first; where there is recursion it counts how deep it is."""
    _cut(uses)
    for use in _ordered(uses):
        if use.own or not use.block.inlined:
            use.block.compile(use, calls)


def _cut(uses: list[Use]) -> None:
    """Say which uses are functions of their own: those that are asked while a block goes on, and deep down."""
    inside: dict[Use, int] = {}  # how deep in a function; uses stand before their parts
    for use in uses:
        inside.setdefault(use, 0)
        deeper = inside[use] + len(use.parts).bit_length()  # a choice by halves
        for part in use.parts:
            part.own |= not use.block.inlined or deeper > _DEEPEST
            inside[part] = 0 if part.own else deeper


def _ordered(uses: list[Use]) -> list[Use]:
    """Parts before those that ask them, where there is no recursion; these are said to be plain."""
    missing = {use: len(use.parts) for use in uses}
    readers: dict[Use, list[Use]] = {use: [] for use in uses}
    for use in uses:
        for part in use.parts:
            readers[part].append(use)
    height = dict.fromkeys(uses, 0)
    ready = [use for use in uses if not use.parts]
    for use in ready:  # grows
        height[use] = 1 + max((height[part] for part in use.parts), default=0)
        use.plain = not use.block.waits and height[use] <= _TALLEST
        for reader in readers[use] if use.plain else ():
            missing[reader] -= 1
            if not missing[reader]:
                ready.append(reader)
    met = set(ready)
    return ready + [use for use in uses if use not in met]


def _check_given(root: Use, x: object) -> None:
    """Where blocks begin with tensors, the input has to have them; nobody else would look."""
    todo: list[tuple[ResultType, object]] = [(root.input, x)]
    while todo:
        of, value = todo.pop()
        if of == OBJECT:
            continue
        if isinstance(of, TensorType):
            fits = tensor_type(value) == of
        elif isinstance(of, TupleType):
            fits = isinstance(value, tuple) and len(value) == len(of)
        elif isinstance(of, SequenceType):
            fits = isinstance(value, (Endless, list))
        else:
            fits = not isinstance(of, StackedType) or of.holds(tensor_type(value))
        if not fits:
            raise BlockError(
                f"{root.block!r}: its input is {root.input}, and {shown(value)} is no {of}\n  at {user_position()}"
            )
        todo.extend(of.pieces(cast(Any, value)))  # Any: of that type, as was checked
