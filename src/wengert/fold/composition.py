"""Blocks one after the other, and the two ends of every chain: nothing done, and nothing left.

Knows: that what one block gives is what the next one takes.
Refuses to know: what the blocks inside do.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable
from typing import Any

from wengert.fold.block import CONVERSIONS, A, AnyBlock, B, X
from wengert.fold.code import Code, Written
from wengert.fold.conversion import Convertible, convert_to_block
from wengert.fold.convert import OBJECT, VOID
from wengert.fold.solver import Solver, Use
from wengert.fold.types import ResultType
from wengert.fold.unification import is_void


class Identity(Written[X, X]):
    """What enters leaves.

    >>> from wengert import fold as td
    >>> td.Identity().eval("foo")
    'foo'

    Source: TensorFlow Fold, `td.Identity`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "the input", use.input, "the output", use.output)

    def write(self, use: Use, code: Code, x: str) -> str:
        return x


class Void(Written[object, None]):
    """Whatever enters, nothing leaves.

    >>> from wengert import fold as td
    >>> td.Void().eval("foo") is None
    True

    Source: TensorFlow Fold, `td.Void`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        solver.equal(use, "the output", use.output, "what is left", VOID)
        solver.input_otherwise(use, OBJECT)

    def write(self, use: Use, code: Code, x: str) -> str:
        return "None"


class _Chaining(ABCMeta):
    """What a call of `Pipe` gives: where less than two blocks are left, no chain."""

    def __call__(cls, *args: Any, **options: Any) -> Any:  # Any: as the class says; checkers look there
        if cls is Pipe and options.get("name") is None:
            return pipe(*args)
        return super().__call__(*args, **options)


class Pipe(Written[A, B], metaclass=_Chaining):
    """Blocks, or what is convertible, one after the other: what one gives, the next one takes; `a >> b` is this.

    Identities are left out; one block by itself is that block, and none is `Identity()`, unless it has a name.
    Raises BlockError where what one gives is not what the next one takes, and for what is no block.
    >>> from wengert import fold as td
    >>> (td.GetItem("age") >> td.Scalar()).eval({"age": 7}).item()
    7.0
    >>> td.Pipe((td.Scalar(), td.Vector(2)), td.Concat()).eval((1, [2, 3])).tolist()
    [1.0, 2.0, 3.0]

    Source: TensorFlow Fold, `td.Pipe`.
    """

    def __init__(self, *blocks: Convertible, name: str | None = None) -> None:
        given = tuple(map(convert_to_block, blocks))
        super().__init__(name, blocks=given)
        self.blocks: tuple[AnyBlock, ...] = ()
        chain: list[AnyBlock] = []
        for block in given:
            chain.extend(
                block.blocks
                if type(block) is Pipe and block.name is None and _undeclared(block)
                else (block,)
            )
        self.blocks = tuple(chain)
        self._given = given
        self.settled()

    def same_input(self) -> Iterable[AnyBlock]:
        return self.blocks[:1]

    def constrain(self, solver: Solver, use: Use) -> None:
        before, told = use.input, "its input"
        # to check a longer chain it is enough to know the two sides of the shorter one
        for block in self.blocks if solver.whole else self._given:
            part = solver.use(block)
            link = solver.link if use.parts else solver.equal
            link(use, told, before, f"the input of {_end(block, 0)!r}", part.input)
            before, told = part.output, f"the output of {_end(block, -1)!r}"
            use.parts.append(part)
        solver.link(use, told, before, "its output where it stands", use.output)

    def write(self, use: Use, code: Code, x: str) -> str:
        for part in use.parts:
            x = code.ask(part, x)
        return x


def _end(block: AnyBlock, place: int) -> AnyBlock:
    """The first or last block of a chain: what a message is about."""
    return block.blocks[place] if isinstance(block, Pipe) and block.blocks else block


def _undeclared(block: AnyBlock) -> bool:
    """Whether nothing was declared of its types, so that a longer chain may take its blocks over."""
    return block.declared == (None, None) and block.classes == ((), ())


def pipe(*blocks: object) -> AnyBlock:
    """The chain of blocks, or of what is convertible; identities are left out, and one block is itself."""
    chain = [convert_to_block(x) for x in blocks]
    kept = [block for block in chain if type(block) is not Identity or not _undeclared(block)]
    if not kept:
        return Identity()
    return kept[0] if len(kept) == 1 else type.__call__(Pipe, *kept)


def feed(solver: Solver, use: Use, block: AnyBlock, source: ResultType, what: str) -> None:
    """Use a block inside another one; it reads `source`, unless it reads nothing at all."""
    part = solver.use(block)
    if not is_void(block.known_input):
        solver.equal(use, what, source, f"the input of {block!r}", part.input)
    use.parts.append(part)


CONVERSIONS["pipe"] = pipe
