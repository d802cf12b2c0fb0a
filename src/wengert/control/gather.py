"""`gather`: several descriptions as one, whose branches do not wait for each other's values.

Knows: how the types of the branches become the type of a tuple.
Refuses to know: in which order, or on how many threads, branches run.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from wengert.control.do import Awaits, Do, Gather
from wengert.control.frames import as_do
from wengert.control.notation import not_awaitable

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")


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
def gather(*parts: Awaits[A]) -> Do[tuple[A, ...]]: ...
def gather(*parts: object) -> Do[Any]:  # Any: the overloads above state the tuple
    """All values as a tuple. Every branch runs to its end; several failures come as one flat group.

    >>> gather(Do.now(1), Do.delay(lambda: "a")).run()
    (1, 'a')
    """
    branches = []
    for position, part in enumerate(parts):
        branch = as_do(part)
        if branch is None:
            raise not_awaitable(part, f"argument {position} of gather is")
        branches.append(branch)
    return Gather(tuple(branches))
