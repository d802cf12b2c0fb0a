"""Unification: two types become one, where parts of them may be unknown.

Knows: unknown types, what they were found to be, and when two types cannot be one.
Refuses to know: blocks.
"""

from __future__ import annotations

from typing import final

from wengert.fold.convert import OBJECT, VOID, canonicalize_type
from wengert.fold.structures import BroadcastSequenceType, SequenceType, TupleType
from wengert.fold.types import ResultType, Single


@final
class Unknown(Single):
    """A type that is not known yet; equal to itself only."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: ResultType | None = None

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


def is_void(of: ResultType | None) -> bool:
    """Whether a type is known to be nothing."""
    return of is not None and head(of) == VOID
