"""Three kinds of block: a function, one that asks others as it goes, and one whose code stands in that of whoever asks.

Knows: how each becomes part of a plan; lines of code, and the use of a block that each is about; that where there is
recursion the same code is a function, which counts its calls, and a generator, which a loop asks.
Refuses to know: any single block, and which uses are functions of their own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, ClassVar, Final, NamedTuple

from wengert.fold.block import A, B, Block
from wengert.fold.calls import Calls, Direct
from wengert.fold.inference import Frames, Use
from wengert.fold.plan import ROOM, by_stack, explain, flat
from wengert.fold.types import tuple_text
from wengert.program.text import TEXT, Constants, function_of


class Primitive(Block[A, B]):
    """A block whose value needs no other block."""

    @abstractmethod
    def direct(self, use: Use, calls: Calls) -> Direct:
        """The function of one use, whose types are known; it is called for every value."""

    def compile(self, use: Use, calls: Calls) -> None:
        use.direct = self.direct(use, calls)


class Composite(Block[A, B]):
    """A block that asks other blocks, which stand in `use.parts`, in the order of `constrain`."""

    @abstractmethod
    def frames(self, use: Use, calls: Calls) -> Frames:
        """Of one use: a generator that yields parts with their inputs, is sent their values, returns its own."""

    def compile(self, use: Use, calls: Calls) -> None:
        use.frames = self.frames(use, calls)
        use.direct = flat(use)


class _Form(NamedTuple):
    """The lines around code, and how it asks others, which are named with a value."""

    head: tuple[str, ...]
    ask: str
    last: tuple[str, ...] = ()


_PLAIN: Final = _Form(("def {}(x):", " try:"), "")
_COUNTED: Final = _Form(
    (f"def {{}}(x, room={ROOM}):", " if room < 0: return deep(x)", " try:"), "{}.direct({}, room - 1)"
)
_FRAMES: Final = _Form(("def {}(x):", " try:"), "yield {}, {}", ("  yield",))  # a generator in any case


class Written(Block[A, B]):
    """A block whose code stands in that of whoever asks it."""

    inlined: ClassVar[bool] = True

    @abstractmethod
    def write(self, use: Use, code: Code, x: str) -> str:
        """Add the code of one use, whose types are known, for a value of that name; the name of the result."""

    def compile(self, use: Use, calls: Calls) -> None:
        code = Code(self, use, calls)
        use.direct = code.function(_PLAIN if use.plain else _COUNTED)
        if not use.plain:
            use.frames = code.function(_FRAMES)


class Code:
    """The code of one use; blocks add their lines to it, and get the names of values."""

    def __init__(self, block: Written[Any, Any], use: Use, calls: Calls) -> None:
        self.calls = calls
        self._root = self._use = use
        self._constants = Constants()
        self._lines: list[str] = []
        self._uses: list[Use] = []  # of each line
        self._asks: dict[int, tuple[str, str]] = {}  # by line
        self._names = (f"v{i}" for i in count())
        self._tuples: dict[str, Sequence[str]] = {}  # the names of their parts
        self._depth = 2
        result = block.write(use, self, "x")
        self.line(f"return {result}")

    def name(self, x: object) -> str:
        """The name of a constant."""
        return self._constants.name(x)

    def line(self, text: str) -> None:
        """One more line; what it raises is an error of the block that writes."""
        self._lines.append(" " * self._depth + text)
        self._uses.append(self._use)

    def new(self) -> str:
        """A name that nothing has yet."""
        return next(self._names)

    def value(self, text: str) -> str:
        """The name of a new value."""
        name = self.new()
        self.line(f"{name} = {text}")
        return name

    @contextmanager
    def under(self, head: str) -> Generator[None, None, None]:
        """Lines below a line."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def tuple(self, names: Sequence[str]) -> str:
        """The tuple of some values."""
        name = self.value(tuple_text(names))
        self._tuples[name] = names
        return name

    def part(self, x: str, key: object) -> str | None:
        """The part under a key, if `x` is a tuple of which the parts have names."""
        parts = self._tuples.get(x, ())
        return parts[key] if isinstance(key, int) and -len(parts) <= key < len(parts) else None

    def parts(self, x: str) -> str:
        """The parts of a tuple as arguments."""
        return ", ".join(self._tuples[x]) if x in self._tuples else f"*{x}"

    def tried(self, text: str, errors: str, otherwise: Callable[..., object], *names: str) -> str:
        """A value, or what a function says if there is none: a `try` costs nothing, and a call does."""
        name = self.new()
        with self.under("try:"):
            self.line(f"{name} = {text}")
        with self.under(f"except {errors}:"):
            self.line(f"{name} = {self.name(otherwise)}({', '.join(names)})")
        return name

    def chosen(self, place: str, cases: Sequence[Callable[[], str]]) -> str:
        """The value of the case whose place is the value of a name; half of them are left at each step."""
        made = self.new()
        self._choose(made, place, 0, cases)
        return made

    def _choose(self, made: str, place: str, first: int, cases: Sequence[Callable[[], str]]) -> None:
        if len(cases) == 1:
            self.line(f"{made} = {cases[0]()}")
            return
        half = len(cases) // 2
        with self.under(f"if {place} < {first + half}:"):
            self._choose(made, place, first, cases[:half])
        with self.under("else:"):
            self._choose(made, place, first + half, cases[half:])

    def ask(self, part: Use, x: str) -> str:
        """The name of what a part makes of a value."""
        before, self._use = self._use, part
        if isinstance(part.block, Written) and not part.own:
            made = part.block.write(part, self, x)
        elif part.plain:
            made = self.value(f"{self.name(part.direct)}({x})")
        else:
            self._asks[len(self._lines)] = self.name(part), x
            made = self.value("")
        self._use = before
        return made

    def function(self, form: _Form) -> Any:  # Any: a function or a generator
        """The code in the lines of a form."""
        lines = [*self._lines]
        for line, asked in self._asks.items():
            lines[line] += form.ask.format(*asked)
        head = [line.format(type(self._root.block).__name__) for line in form.head]
        end = (" except Exception as error:", f"  raise failed(error, {1 + len(head)})")
        scope = self._constants.scope | {
            "failed": partial(_failed, self._uses),
            "deep": partial(by_stack, self._root),
        }
        return function_of([*head, *lines, *form.last, *end], scope, __name__)


def _failed(uses: Sequence[Use], error: Exception, first: int) -> Exception:
    """The error with a note; one function of a recursion stays in its traceback, whose lines say nothing."""
    trace = error.__traceback__
    assert trace is not None, "it was caught"
    explain(error, uses[trace.tb_lineno - first])
    while (
        trace is not None
        and trace.tb_frame.f_code.co_filename == TEXT
        and "failed" in trace.tb_frame.f_globals
    ):
        trace = trace.tb_next
    return error.with_traceback(trace)
