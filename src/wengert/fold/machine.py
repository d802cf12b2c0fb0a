"""How blocks become layers: by calls, and from some depth on by a loop with a stack of its own (S8).

Knows: which uses of blocks are functions by themselves, the order in which the others are asked, that some wait for
the data of layers, and what an example has besides its data.
Refuses to know: any single block, and what a layer computes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, TypeAlias

from wengert.errors import BlockError, WengertError
from wengert.fold.solver import Use
from wengert.fold.types import Value

# asks for the value of a part, or, with no part, for the data of layers; gives the own value
Steps: TypeAlias = Generator[tuple[Use | None, Value], Value, Value]
Frames: TypeAlias = Callable[[Value], Steps]
Within: TypeAlias = Callable[[Value, int], Value]  # for how many more calls there is room on Python's stack
Kept: TypeAlias = dict[str, list[tuple[Value, object]]]  # by name: tensors and labels

# calls, of Python's 1000: it has memory for about 60 of ours in one piece, and is as slow as the loop at its end
_ROOM: Final = 50

Seeds: TypeAlias = int | tuple[int, ...]


def seeds(seed: Seeds | None, *place: int) -> tuple[int, ...] | None:
    """The seed of a part of what has a seed."""
    if seed is None:
        return None
    return (*(seed if isinstance(seed, tuple) else (seed,)), *place)


@dataclass(slots=True)
class Example:
    """What one example has besides its data: where its metrics go, and a seed if it is for training."""

    kept: Kept | None = None
    seed: tuple[int, ...] | None = None
    draws: int = 0


_example: Final[ContextVar[Example]] = ContextVar("the example that is built")


def keep(name: str, tensor: Value, label: object) -> None:
    """Keep a metric of the example that is built, if somebody asks for metrics."""
    kept = _example.get().kept
    if kept is not None:
        kept.setdefault(name, []).append((tensor, label))


def drawn_seed() -> tuple[int, ...] | None:
    """A seed for one more use of random numbers in the example that is built, None where it is not for training."""
    example = _example.get()
    if example.seed is None:
        return None
    example.draws += 1
    return (*example.seed, example.draws)


@contextmanager
def building(example: Example) -> Generator[None, None, None]:
    """Where metrics go, and seeds come from, while nothing but this example is built."""
    token = _example.set(example)
    try:
        yield
    finally:
        _example.reset(token)


def built(root: Use, x: Value) -> Value:
    """The value of a use for an input, where nothing waits for data."""
    try:
        return root.within(x, _ROOM) if root.direct is None else root.direct(x)
    except Exception as error:
        explain(error, root)
        raise


def by_stack(root: Use, x: Value) -> Value:
    """As `built`, however deep the data are."""
    try:
        next(asked(root, x))
    except StopIteration as done:
        return done.value
    raise AssertionError("a block that waits for data is built in a run")


def asked(root: Use, x: Value) -> Generator[Value, Value, Value]:
    """The loop: gives layers whose data it waits for, is sent those, returns the value."""
    stack: list[tuple[Use, Steps]] = []
    use, frame, result = root, root.frames(x), None
    while True:
        try:
            part, given = frame.send(result)
        except StopIteration as done:
            if not stack:
                return done.value
            result = done.value
            use, frame = stack.pop()
            continue
        except Exception as error:
            explain(error, use)
            raise
        if part is None:
            result = yield given
        elif part.direct is None:
            stack.append((use, frame))
            use, frame, result = part, part.frames(given), None
        else:
            try:
                result = part.direct(given)
            except Exception as error:
                explain(error, part)
                raise


def flat(use: Use) -> Callable[..., Value]:
    """One function of a block that asks others as it goes, none of which waits for data."""

    def within(x: Value, room: int = 0) -> Value:
        if room < 0:
            return by_stack(use, x)
        frame, result = use.frames(x), None
        while True:
            try:
                part, given = frame.send(result)
            except StopIteration as done:
                return done.value
            assert part is not None, "only blocks that wait ask for data"
            try:
                result = part.within(given, room - 1) if part.direct is None else part.direct(given)
            except Exception as error:
                explain(error, part)
                raise

    return within


def explain(error: Exception, use: Use) -> None:
    """Say which block asked for what failed, unless the error says so itself; the innermost block is named."""
    said = any("the block was made at" in note for note in getattr(error, "__notes__", ()))
    if not said and not isinstance(error, BlockError):
        where = "" if isinstance(error, WengertError) else " from the data"
        error.add_note(f"while {use.block!r} was built{where}; the block was made at {use.block.site}")
