"""Type inference for blocks by unification: what is known of one end of a wire is known of the other.

Knows: unknown types and what they were found to be; rules that wait until enough is known; one use of a block
in one place, which has types and functions of its own; a block's name and the line that made it, for its errors.
Refuses to know: what any block does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import partial
from types import CodeType
from typing import Any, ClassVar, Final, Self, TypeAlias, final

from wengert.errors import BlockError, WengertError
from wengert.fold.calls import Calls
from wengert.fold.convert import OBJECT, VOID, canonicalize_type
from wengert.fold.types import (
    BroadcastSequenceType,
    ResultType,
    SequenceType,
    Single,
    TupleType,
    Value,
    error_here,
)
from wengert.graph.operand import shown
from wengert.run.cell import Cell
from wengert.site import position, user_frame


class Sited:
    """The base of blocks and of declarations of them: a name, and the line that made it."""

    def __init__(self, name: str | None, arguments: dict[str, object]) -> None:
        if name is not None and not isinstance(name, str):
            raise error_here(f"td.{type(self).__name__}: a name is a string; got {shown(name)}")
        frame = user_frame()
        while frame.f_globals.get("__name__") == "typing" and frame.f_back is not None:
            frame = frame.f_back  # `td.Nth[int]()` calls through there
        self._code: CodeType | str = frame.f_code
        self._offset = frame.f_lasti
        self.name: Final = name
        self._arguments = arguments

    @property
    def written(self) -> tuple[CodeType | str, int]:
        """The code and offset where it was made, as nodes keep them."""
        return self._code, self._offset

    @property
    def site(self) -> str:
        """`file:line` where it was made."""
        return position(self._code, self._offset)

    def __repr__(self) -> str:
        given = [("", repr(self.name))] * (self.name is not None)
        given += [(f"{key}=", brief(x)) for key, x in self._arguments.items()]
        return f"<td.{' '.join([type(self).__name__, *(key + text for key, text in given)])}>"

    def __getstate__(self) -> dict[str, Any]:  # Any: whatever a class keeps
        return {**self.__dict__, "_code": self.site}  # code is not pickled, and a site is only shown

    def fault(self, text: str) -> str:
        """The text of an error: what it is about, what happened, the line that made it."""
        return f"{self!r}: {text}\n  at {self.site}"

    def error(self, text: str, cls: type[WengertError] = BlockError) -> WengertError:
        """The error that says it."""
        return cls(self.fault(text))

    def cell(self, function: Callable[..., Value], called: str | None = None) -> Callable[..., Value]:
        """A function of layers as a cell, with the name of this, whose calls count as written where this was made."""
        made = Cell(function, called=called or self.called(function))
        made.at = self.written
        return made

    def called(self, function: Callable[..., Value]) -> str:
        """The name of a function of this in reports."""
        own = getattr(function, "__name__", "_").lstrip("<").rstrip(">")
        name = (self.name and repr(self.name)) or ("" if own.startswith("_") else own)
        return f"td.{type(self).__name__} {name}".rstrip()


def brief(x: object) -> str:
    """An argument in a `repr`; of blocks only the names, because blocks nest."""
    if isinstance(x, Sited):
        return f"<td.{type(x).__name__}{' ' + repr(x.name) if x.name else ''}>"
    if isinstance(x, (list, tuple)) and any(isinstance(part, Sited) for part in x):
        return f"({', '.join(map(brief, x))})"
    if callable(x) and hasattr(x, "__name__"):  # its `repr` has an address, which differs from run to run
        return str(x.__name__)
    return shown(x)


@final
class Unknown(Single):
    """A type that is not known yet; equal to itself only."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: ResultType | None = None

    def key(self) -> object:
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
        return type(of)(_filled(of.element_type))
    return of


def known(of: ResultType) -> ResultType | None:
    """The type in canonical form, None while anything in it is unknown."""
    found = resolved(of)
    return None if _has(found, None) else found


def _has(of: ResultType, unknown: Unknown | None) -> bool:
    """True if a type holds this unknown one, or any at all."""
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
            todo.append((a.element_type, b.element_type))
        elif _may_be_object(a) and _may_be_object(b) and (a.parts or b.parts):
            todo.extend((t, OBJECT) for t in (*a.parts, *b.parts))  # of objects alone both are an object
        elif a != b:
            raise Mismatch


def _may_be_object(of: ResultType) -> bool:
    if isinstance(of, BroadcastSequenceType):
        return False
    return of == OBJECT or (isinstance(of, (TupleType, SequenceType)) and bool(of.parts))


def is_void(of: ResultType | None) -> bool:
    """True if a type is known to be nothing."""
    return of is not None and head(of) == VOID


Rule: TypeAlias = Callable[[], bool]  # whether it is done; False: ask again when more is known
Sides: TypeAlias = tuple[ResultType | None, ResultType | None]
Classes: TypeAlias = tuple[type[ResultType], ...]  # of one side: what its type has to be; none says nothing

# asks for the value of a part, or, with no part, for the data of layers; gives the own value
Steps: TypeAlias = Generator[tuple["Use | None", Value], Value, Value]
Frames: TypeAlias = Callable[[Value], Steps]


class Inferred(Sited, ABC):
    """A block as inference and plans see it: two sides with types, and what is inside."""

    def __init__(self, name: str | None, arguments: dict[str, object]) -> None:
        super().__init__(name, arguments)
        self.declared: Sides = (None, None)
        self.classes: tuple[Classes, Classes] = ((), ())
        self.known_input: ResultType | None = None
        self.known_output: ResultType | None = None

    waits: ClassVar[bool] = False  # for the data of layers, while it builds
    chains: ClassVar[bool] = False  # its parts are one after the other
    inlined: ClassVar[bool] = False  # its code stands in that of whoever asks it

    @abstractmethod
    def constrain(self, solver: Solver, use: Use) -> None:
        """Say what is known of the types of one use, and use the blocks inside."""

    @abstractmethod
    def compile(self, use: Use, calls: Calls) -> None:
        """Give one use, whose types are known, its function, or what asks its parts."""

    def fused_with(self, following: Use) -> Callable[[Value], Value] | None:
        """One function from data for this block and the next of a chain; it gives None where they go one by one."""
        return None

    def function_of(self, use: Use) -> Callable[..., Value] | None:
        """The function of layers that a use is, without its cell, if it is nothing besides: several may be one cell."""
        return None

    def same_input(self) -> Iterable[Inferred]:
        """The blocks inside that always get the very input of this one."""
        return ()

    def settled(self) -> Self:
        """Find out what is known of the types now; raises BlockError where blocks inside do not fit."""
        solver = Solver(whole=False)
        use = Use(self)
        for side, of in zip((use.input, use.output), self.declared, strict=True):
            if of is not None:
                solver.equal(use, "the type", side, "the declared type", of)
        solver.of_classes(use)
        self.constrain(solver, use)
        solver.solve()
        self.known_input, self.known_output = known(use.input), known(use.output)
        return self

    @property
    def input_type(self) -> ResultType | None:
        """The type of what it takes, None while that depends on where it is used."""
        return self.known_input or self.settled().known_input

    @property
    def output_type(self) -> ResultType | None:
        """The type of what it gives, None while that depends on where it is used."""
        return self.known_output or self.settled().known_output


@final
class Use:
    """One use of a block in one place: its types there, and the uses of the blocks in it."""

    __slots__ = (
        "block", "direct", "facts", "frames", "function", "input", "limit", "output", "own", "parts", "plain", "target"
    )  # fmt: skip
    direct: Callable[..., Value]  # its function; unless it is plain, of a value and the room for calls
    frames: Frames  # the fallback for deep data and for waiting; of a block that asks its parts

    def __init__(self, block: Inferred) -> None:
        self.block = block
        self.input: ResultType = Unknown()
        self.output: ResultType = Unknown()
        self.parts: list[Use] = []
        self.facts: dict[str, ResultType] = {}  # further types that the block asked for
        self.plain = False  # whether nothing below it recurs or waits
        self.own = False  # whether it is compiled alone, if it could be inlined
        self.limit: int | None = None  # how deep blocks may ask each other, if that was said
        self.target: Use | None = None  # what it stands for, if it is but a reference
        self.function: Callable[..., Value] | None = None  # of layers, if a chain may call it


class Solver:
    """The uses of one block and of all in it, and what is known of their types."""

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole  # also inside blocks whose own types are known: for a program, not for a check
        self.uses: list[Use] = []
        self.forwards: dict[object, tuple[ResultType, ResultType]] = {}  # of each declaration
        self.bodies: dict[object, Use] = {}
        self.limit: int | None = None  # how deep blocks may ask each other, if a declaration says so
        self.metrics: dict[str, ResultType] = {}  # of each name the type of all tensors that are kept
        self._new: deque[Use] = deque()
        self._links: deque[tuple[Use, str, ResultType, str, ResultType]] = deque()
        self._waiting: list[Rule] = []
        self._defaults: list[Rule] = []

    def use(self, block: Inferred) -> Use:
        """A new use of a block; its constraints are asked for by `solve`."""
        made = Use(block)
        self.uses.append(made)
        self.of_classes(made)
        if self.whole or block.known_input is None or block.known_output is None:
            self._new.append(made)
            declared = block.declared
        else:
            declared = (block.known_input, block.known_output)
        for side, of in zip((made.input, made.output), declared, strict=True):
            if of is not None:
                unify(side, of)
        return made

    def part(self, use: Use, block: Inferred) -> Use:
        """A new use of a block as the next part of another one."""
        use.parts.append(self.use(block))
        return use.parts[-1]

    def of_classes(self, use: Use) -> None:
        """Refuse types that are not of the classes that were declared, as soon as they are known."""
        sides = (("input", use.input), ("output", use.output))
        for (side, of), classes in zip(sides, use.block.classes, strict=True):
            if classes:
                self.when_begun(of, partial(_check_class, use, side, classes))

    def equal(self, at: Use, what: str, a: ResultType, other: str, b: ResultType) -> None:
        """Make two types one; the error says what each of them is of."""
        first, second = resolved(a), resolved(b)
        try:
            unify(a, b)
        except Mismatch:
            raise at.block.error(f"{what} is {first}, but {other} is {second}") from None

    def link(self, at: Use, what: str, a: ResultType, other: str, b: ResultType) -> None:
        """`equal`, when all is known that can be without it: so an error names the wire, not a block before it."""
        self._links.append((at, what, a, other, b))

    def wait(self, rule: Rule) -> None:
        """Ask a rule now, and whenever more is known, until it is done."""
        self._waiting.append(rule)

    def gives(self, at: Use, what: str, of: Callable[[ResultType], ResultType]) -> None:
        """The output is what `of` says of the input, as soon as all of that is known."""

        def rule() -> bool:
            given = known(at.input)
            if given is not None:
                self.equal(at, "the output", at.output, what, of(given))
            return given is not None

        self.wait(rule)

    def when_begun(self, of: ResultType, then: Callable[[ResultType], None]) -> None:
        """Tell a block what kind of type this is as soon as that is known; its parts may be unknown then."""

        def rule() -> bool:
            found = head(of)
            if isinstance(found, Unknown):
                return False
            then(found)
            return True

        self.wait(rule)

    def otherwise(self, rule: Rule) -> None:
        """Ask a rule when nothing else makes progress."""
        self._defaults.append(rule)

    def assume(self, of: ResultType, default: ResultType) -> None:
        """Take a type for the default if nobody says what it is."""

        def rule() -> bool:
            unknown = isinstance(head(of), Unknown)
            if unknown:
                unify(of, default)
            return unknown

        self.otherwise(rule)

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
        for rule in waiting:
            if rule():
                progress = True
            else:
                self._waiting.append(rule)
        return progress

    def _linked(self) -> bool:
        if not self._links:
            return False
        self.equal(*self._links.popleft())
        return True

    def _assume(self) -> bool:
        while self._defaults:
            if self._defaults.pop(0)():
                return True
        return False


def _check_class(use: Use, side: str, classes: tuple[type[ResultType], ...], of: ResultType) -> None:
    if not isinstance(of, classes):
        names = " or ".join(cls.__name__ for cls in classes)
        raise use.block.error(f"its {side} is {resolved(of)}, and was declared as a {names}")


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
            raise at.block.error(f"{what} is endless; it takes a list")
        elif isinstance(of, TupleType):
            for i, part in enumerate(of.parts):
                solver.equal(at, f"part {i} of {what}", part, "an element", item)
        elif isinstance(of, SequenceType):
            solver.equal(at, f"an element of {what}", of.element_type, "the element wanted", item)
        elif of == OBJECT:
            solver.equal(at, f"an element of {what}", OBJECT, "the element wanted", item)
        else:
            raise at.block.error(f"{what} is {resolved(of)}; it takes a list, or a tuple of one type")
        return True

    solver.wait(rule)
    solver.assume(sequence, SequenceType(item))
