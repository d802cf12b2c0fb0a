"""Types of blocks, found by unification: what is known of one end of a wire is known of the other.

Knows: unknown types and what they were found to be; rules that wait until enough is known; one use of a block
in one place, which has types of its own.
Refuses to know: what any block does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, final

from wengert.errors import BlockError
from wengert.fold.convert import OBJECT, VOID, canonicalize_type
from wengert.fold.types import BroadcastSequenceType, ResultType, SequenceType, TupleType

if TYPE_CHECKING:
    from wengert.fold.block import AnyBlock

Rule = Callable[[], bool]  # whether it is done; False: ask again when more is known


@final
class Unknown(ResultType):
    """A type that is not known yet; equal to itself only."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: ResultType | None = None

    @property
    def parts(self) -> tuple[ResultType, ...]:
        return ()

    @property
    def size(self) -> int | None:
        return None

    def open(self, x: object) -> Iterable[Any]:  # Any: parts of a value of this type, which has none yet
        return ()

    def _key(self) -> object:
        return id(self)

    def __str__(self) -> str:
        return "?"


class Mismatch(Exception):
    """Two types are not one."""


def head(of: ResultType) -> ResultType:
    """The type itself, or what it was found to be; its parts may still be unknown."""
    while isinstance(of, Unknown) and of.found is not None:
        of = of.found
    return of


def resolved(of: ResultType) -> ResultType:
    """The type with everything in it that was found, in canonical form."""
    return canonicalize_type(_filled(of))


def _filled(of: ResultType) -> ResultType:
    of = head(of)
    if isinstance(of, TupleType):
        return TupleType([_filled(t) for t in of.parts])
    if isinstance(of, SequenceType):
        return type(of)(_filled(of.item))
    return of


def known(of: ResultType) -> ResultType | None:
    """The type in canonical form, None while anything in it is unknown."""
    found = resolved(of)
    return None if _has(found, None) else found


def _has(of: ResultType, unknown: Unknown | None) -> bool:
    """Whether a type holds this unknown one, or any."""
    todo = [of]
    while todo:
        item = head(todo.pop())
        if isinstance(item, Unknown) and unknown in (None, item):
            return True
        todo.extend(item.parts)
    return False


def unify(a: ResultType, b: ResultType) -> None:
    """Make two types one, or raise Mismatch."""
    todo = [(a, b)]
    while todo:
        a, b = (head(t) for t in todo.pop())
        if a is b:
            continue
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            unknown, other = (a, b) if isinstance(a, Unknown) else (b, a)
            assert isinstance(unknown, Unknown)
            if _has(other, unknown):
                raise Mismatch
            unknown.found = other
        elif isinstance(a, TupleType) and isinstance(b, TupleType) and len(a) == len(b):
            todo.extend(zip(a.parts, b.parts, strict=True))
        elif isinstance(a, SequenceType) and isinstance(b, SequenceType) and type(a) is type(b):
            todo.append((a.item, b.item))
        elif _may_be_object(a) and _may_be_object(b) and (a.parts or b.parts):
            todo.extend((t, OBJECT) for t in (*a.parts, *b.parts))  # of objects alone both are an object
        elif a != b:
            raise Mismatch


def _may_be_object(of: ResultType) -> bool:
    if isinstance(of, BroadcastSequenceType):
        return False
    return of == OBJECT or (isinstance(of, (TupleType, SequenceType)) and bool(of.parts))


@final
class Use:
    """One use of a block in one place: its types there, and the uses of the blocks in it."""

    __slots__ = ("block", "facts", "input", "memo", "output", "parts", "steps", "value")

    def __init__(self, block: AnyBlock) -> None:
        self.block = block
        self.input: ResultType = Unknown()
        self.output: ResultType = Unknown()
        self.parts: list[Use] = []
        self.facts: dict[str, ResultType] = {}  # further types that the block asked for
        self.memo: Any = None  # Any: what the block has found out about this use, where asking again is slow
        self.steps = getattr(block, "steps", None)
        self.value = getattr(block, "value", None)


class Solver:
    """The uses of one block and of all in it, and what is known of their types."""

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole  # also inside blocks whose own types are known: for a program, not for a check
        self.uses: list[Use] = []
        self.forwards: dict[
            object, tuple[ResultType, ResultType]
        ] = {}  # one type for all uses of a declaration
        self.bodies: dict[object, Use] = {}
        self.metrics: dict[str, ResultType] = {}  # of each name the type of all tensors that are kept
        self._new: deque[Use] = deque()
        self._links: deque[tuple[Use, str, ResultType, str, ResultType]] = deque()
        self._waiting: list[tuple[Use, Rule]] = []
        self._defaults: list[tuple[Use, Rule]] = []

    def use(self, block: AnyBlock) -> Use:
        """A new use of a block; its constraints are asked for by `solve`."""
        made = Use(block)
        self.uses.append(made)
        if self.whole or block.known_input is None or block.known_output is None:
            self._new.append(made)
            declared = block.declared
        else:
            declared = (block.known_input, block.known_output)
        for side, of in zip((made.input, made.output), declared, strict=True):
            if of is not None:
                unify(side, of)
        return made

    def equal(self, at: Use, what: str, a: ResultType, other: str, b: ResultType) -> None:
        """Make two types one; the error says what each of them is of."""
        first, second = resolved(a), resolved(b)
        try:
            unify(a, b)
        except Mismatch:
            raise BlockError(
                at.block.fault(f"{what} is {first}, but {other} is {second}", shown=False)
            ) from None

    def link(self, at: Use, what: str, a: ResultType, other: str, b: ResultType) -> None:
        """`equal`, when all is known that can be without it: so an error names the wire, not a block before it."""
        self._links.append((at, what, a, other, b))

    def wait(self, at: Use, rule: Rule) -> None:
        """Ask a rule now, and whenever more is known, until it is done."""
        self._waiting.append((at, rule))

    def otherwise(self, at: Use, rule: Rule) -> None:
        """Ask a rule when nothing else makes progress: what a type is if nobody says."""
        self._defaults.append((at, rule))

    def input_otherwise(self, use: Use, of: ResultType) -> None:
        """What enters a block if nobody says: data, or nothing."""

        def default() -> bool:
            if not isinstance(head(use.input), Unknown):
                return False
            unify(use.input, of)
            return True

        self.otherwise(use, default)

    def solve(self, *, defaults: bool = False) -> None:
        """Follow all constraints as far as they go."""
        while self._step() or self._linked() or (defaults and self._assume()):
            pass

    def _step(self) -> bool:
        if self._new:
            use = self._new.popleft()
            use.block.constrain(self, use)
            return True
        waiting, self._waiting = self._waiting, []
        progress = False
        for at, rule in waiting:
            if rule():
                progress = True
            else:
                self._waiting.append((at, rule))
        return progress

    def _linked(self) -> bool:
        if not self._links:
            return False
        self.equal(*self._links.popleft())
        return True

    def _assume(self) -> bool:
        while self._defaults:
            _, rule = self._defaults.pop(0)
            if rule():
                return True
        return False


def sequence_of(
    solver: Solver, at: Use, what: str, sequence: ResultType, item: ResultType, *, endless: bool = False
) -> None:
    """`sequence` is a list of `item`, a tuple of equal types, an object of objects, or, where allowed, endless."""

    def rule() -> bool:
        of = head(sequence)
        if isinstance(of, Unknown):
            if head(item) != OBJECT:
                return False
            unify(of, OBJECT)
        elif isinstance(of, BroadcastSequenceType) and not endless:
            raise BlockError(at.block.fault(f"{what} is endless; it takes a list"))
        elif isinstance(of, TupleType):
            for i, part in enumerate(of.parts):
                solver.equal(at, f"part {i} of {what}", part, "an element", item)
        elif isinstance(of, SequenceType):
            solver.equal(at, f"an element of {what}", of.item, "the element wanted", item)
        elif of == OBJECT:
            solver.equal(at, f"an element of {what}", OBJECT, "the element wanted", item)
        else:
            raise BlockError(at.block.fault(f"{what} is {resolved(of)}, which is no sequence"))
        return True

    def default() -> bool:
        if not isinstance(head(sequence), Unknown):
            return False
        unify(sequence, SequenceType(item))
        return True

    solver.wait(at, rule)
    solver.otherwise(at, default)


def is_void(of: ResultType | None) -> bool:
    """Whether a type is known to be nothing."""
    return of is not None and head(of) == VOID
