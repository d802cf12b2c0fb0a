"""Types of blocks, found by unification: what is known of one end of a wire is known of the other.

Knows: unknown types and what they were found to be; rules that wait until enough is known; one use of a block
in one place, which has types of its own.
Refuses to know: what any block does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, final

from wengert.errors import BlockError
from wengert.fold.calls import Direct
from wengert.fold.convert import OBJECT
from wengert.fold.structures import BroadcastSequenceType, SequenceType, TupleType
from wengert.fold.types import ResultType
from wengert.fold.unification import Mismatch, Unknown, head, known, resolved, unify

if TYPE_CHECKING:
    from wengert.fold.block import AnyBlock
    from wengert.fold.machine import Frames, Within

Rule = Callable[[], bool]  # whether it is done; False: ask again when more is known


@final
class Use:
    """One use of a block in one place: its types there, and the uses of the blocks in it."""

    __slots__ = (
        "block",
        "direct",
        "facts",
        "frames",
        "input",
        "output",
        "own",
        "parts",
        "plain",
        "target",
        "within",
    )
    frames: Frames  # what asks its parts; of a block that has any
    within: Within  # its function where something below it recurs

    def __init__(self, block: AnyBlock) -> None:
        self.block = block
        self.input: ResultType = Unknown()
        self.output: ResultType = Unknown()
        self.parts: list[Use] = []
        self.facts: dict[str, ResultType] = {}  # further types that the block asked for
        self.plain = False  # whether it is a function: nothing below it recurs or waits
        self.own = False  # whether it is compiled alone, if it could be inlined
        self.direct: Direct | None = None  # that function
        self.target: Use | None = None  # what it stands for, if it is but a reference


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

    def of_classes(self, use: Use) -> None:
        """Refuse types that are not of the classes that were declared, as soon as they are known."""
        sides = (("input", use.input), ("output", use.output))
        for (side, of), classes in zip(sides, use.block.classes, strict=True):
            if classes:
                self.when_begun(use, of, partial(_check_class, use, side, classes))

    def equal(self, at: Use, what: str, a: ResultType, other: str, b: ResultType) -> None:
        """Make two types one; the error says what each of them is of."""
        first, second = resolved(a), resolved(b)
        try:
            unify(a, b)
        except Mismatch:
            raise BlockError(at.block.fault(f"{what} is {first}, but {other} is {second}")) from None

    def link(self, at: Use, what: str, a: ResultType, other: str, b: ResultType) -> None:
        """`equal`, when all is known that can be without it: so an error names the wire, not a block before it."""
        self._links.append((at, what, a, other, b))

    def wait(self, at: Use, rule: Rule) -> None:
        """Ask a rule now, and whenever more is known, until it is done."""
        self._waiting.append((at, rule))

    def when_known(self, at: Use, then: Callable[[ResultType], None]) -> None:
        """Tell a block the type of its input as soon as all of it is known."""

        def rule() -> bool:
            of = known(at.input)
            if of is None:
                return False
            then(of)
            return True

        self.wait(at, rule)

    def when_begun(self, at: Use, of: ResultType, then: Callable[[ResultType], None]) -> None:
        """Tell a block what kind of type this is as soon as that is known; its parts may be unknown then."""

        def rule() -> bool:
            found = head(of)
            if isinstance(found, Unknown):
                return False
            then(found)
            return True

        self.wait(at, rule)

    def gives(self, at: Use, what: str, of: Callable[[ResultType], ResultType]) -> None:
        """The output is what `of` says of the input, as soon as all of that is known."""
        self.when_known(at, lambda given: self.equal(at, "the output", at.output, what, of(given)))

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


def _check_class(use: Use, side: str, classes: tuple[type[ResultType], ...], of: ResultType) -> None:
    if not isinstance(of, classes):
        names = " or ".join(cls.__name__ for cls in classes)
        raise BlockError(use.block.fault(f"its {side} is {resolved(of)}, and was declared as a {names}"))


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
            raise BlockError(
                at.block.fault(f"{what} is {resolved(of)}; it takes a list, or a tuple of one type")
            )
        return True

    def default() -> bool:
        if not isinstance(head(sequence), Unknown):
            return False
        unify(sequence, SequenceType(item))
        return True

    solver.wait(at, rule)
    solver.otherwise(at, default)
