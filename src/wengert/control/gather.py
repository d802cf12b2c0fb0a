"""`gather`: several descriptions as one, whose branches do not wait for each other's values.

Knows: how the types of the branches become the type of a tuple.
Refuses to know: in which order, or on how many threads, branches run.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, overload

from wengert.control.context import Run
from wengert.control.do import Awaits, Do, beginning
from wengert.control.machine import Asking, Branch, Gathering, Instruction, Machine
from wengert.control.notation import as_do, not_awaitable
from wengert.control.unit import Together, UnitContinuation
from wengert.later import later
from wengert.site import user_position

if TYPE_CHECKING:
    from concurrent.futures import Executor, ThreadPoolExecutor

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")
H = TypeVar("H")
_POOL: Final = later("concurrent.futures", "ThreadPoolExecutor")


class Gather(Do[A]):
    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Do[Any], ...]) -> None:  # Any: parts of all types
        self.parts = parts

    def _begin(self, machine: Machine) -> Instruction | None:
        # an executor may run branches in its own way; ahead of its turn nothing is asked of it
        together = None if isinstance(machine, Branch) else getattr(machine.run.chosen, "gather", None)
        steps = None if together is None else together(self.parts, machine.context)
        if steps is not None:
            machine.value = None
            return Asking(steps).resume(machine)
        return Gathering(self.parts, machine.context).begin(machine, self._threads(machine.run))

    def _threads(self, run: Run) -> Executor | None:
        """The threads of a run that an event loop awaits, where functions of several branches may take their time."""
        if run.event_loop is None or sum(not beginning(part).in_turn for part in self.parts) < 2:
            return None
        return run.local(_pool, partial(_pool, run))


def _pool(run: Run) -> Executor:
    pool: ThreadPoolExecutor = _POOL(64, "wengert-await")
    run.on_close(partial(pool.shutdown, wait=False))
    return pool


@overload
def gather() -> Do[tuple[()]]: ...
@overload
def gather(a: Awaits[A], /) -> Do[tuple[A]]: ...
@overload
def gather(a: Awaits[A], b: Awaits[B], /) -> Do[tuple[A, B]]: ...
@overload
def gather(a: Awaits[A], b: Awaits[B], c: Awaits[C], /) -> Do[tuple[A, B, C]]: ...
@overload
def gather(a: Awaits[A], b: Awaits[B], c: Awaits[C], d: Awaits[D], /) -> Do[tuple[A, B, C, D]]: ...
@overload
def gather(
    a: Awaits[A], b: Awaits[B], c: Awaits[C], d: Awaits[D], e: Awaits[E], /
) -> Do[tuple[A, B, C, D, E]]: ...
@overload
def gather(
    a: Awaits[A], b: Awaits[B], c: Awaits[C], d: Awaits[D], e: Awaits[E], f: Awaits[F], /
) -> Do[tuple[A, B, C, D, E, F]]: ...
@overload
def gather(
    a: Awaits[A], b: Awaits[B], c: Awaits[C], d: Awaits[D], e: Awaits[E], f: Awaits[F], g: Awaits[G], /
) -> Do[tuple[A, B, C, D, E, F, G]]: ...
@overload
def gather(
    a: Awaits[A],
    b: Awaits[B],
    c: Awaits[C],
    d: Awaits[D],
    e: Awaits[E],
    f: Awaits[F],
    g: Awaits[G],
    h: Awaits[H],
    /,
) -> Do[tuple[A, B, C, D, E, F, G, H]]: ...
# Nine at least: with fewer in the signature, a call of two would match this too, and where a type holds `Any`
# mypy answers `Any` to two matches. A list with a star matches it all the same.
@overload
def gather(
    a: Awaits[A],
    b: Awaits[A],
    c: Awaits[A],
    d: Awaits[A],
    e: Awaits[A],
    f: Awaits[A],
    g: Awaits[A],
    h: Awaits[A],
    i: Awaits[A],
    /,
    *more: Awaits[A],
) -> Do[tuple[A, ...]]: ...
@overload
def gather(a: UnitContinuation[A], /) -> UnitContinuation[tuple[A]]: ...
@overload
def gather(a: UnitContinuation[A], b: UnitContinuation[B], /) -> UnitContinuation[tuple[A, B]]: ...
@overload
def gather(
    a: UnitContinuation[A], b: UnitContinuation[B], c: UnitContinuation[C], /
) -> UnitContinuation[tuple[A, B, C]]: ...
@overload
def gather(
    a: UnitContinuation[A],
    b: UnitContinuation[A],
    c: UnitContinuation[A],
    d: UnitContinuation[A],
    /,
    *more: UnitContinuation[A],
) -> UnitContinuation[tuple[A, ...]]: ...
# Any: the overloads above state the tuple
def gather(*parts: object) -> Do[Any] | UnitContinuation[Any]:
    """All values as a tuple. Every branch runs to its end; several failures come as one flat group.

    While a run waits in one branch for an outcome from elsewhere, the others go on. Where an event loop awaits the
    run, functions of several branches are called in several threads. Of `UnitContinuation`s it is one.
    Raises TypeError, which names the argument, for what no run can wait for.
    >>> gather(Do.now(1), Do.delay(lambda: "a")).run()
    (1, 'a')
    """
    for part in parts:
        if not isinstance(part, Do):
            return _gathered_others(parts)
    return Gather(cast("tuple[Do[Any], ...]", parts))


def _gathered_others(parts: tuple[object, ...]) -> Do[Any] | UnitContinuation[Any]:
    """As `gather`, of what are not all descriptions already."""
    if all(isinstance(part, UnitContinuation) for part in parts):
        return Together(cast("tuple[UnitContinuation[Any], ...]", parts))
    branches = []
    for position, part in enumerate(parts):
        branch = as_do(part)
        if branch is None:
            error = not_awaitable(part, f"argument {position} of gather is")
            raise type(error)(f"{error}\n  at {user_position()}")
        branches.append(branch)
    return Gather(tuple(branches))
