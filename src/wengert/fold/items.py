"""Blocks that take elements out of sequences and count them; none of them computes.

Knows: keys, places and lengths.
Refuses to know: what the elements are.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

from wengert.arrays import Generic0d, is_array, is_integer, plain
from wengert.errors import BlockIndexError, BlockKeyError, BlockValueError
from wengert.fold.block import AnyBlock, K, Q, Several, X
from wengert.fold.calls import Calls, Direct
from wengert.fold.convert import OBJECT
from wengert.fold.data import reader
from wengert.fold.inference import Solver, Unknown, Use, resolved, sequence_of
from wengert.fold.kinds import Code, Primitive, Written
from wengert.fold.types import BroadcastSequenceType, ResultType, SequenceType, TensorType, TupleType, Value
from wengert.graph import ArrayLayer, IndexExpression
from wengert.graph.operand import shown
from wengert.ops import stack, take

Scalars: TypeAlias = ArrayLayer[tuple[()], Any]  # Any: the dtype that is stated

Placed: TypeAlias = int | IndexExpression


def element(block: AnyBlock, x: Value, key: Any) -> Value:  # Any: whatever the data are indexed by
    """`x[key]`; what is not there is an error of the block that asks."""
    try:
        return x[key]
    except KeyError:
        raise block.error(f"{shown(x)} has nothing under {shown(key)}", BlockKeyError) from None
    except IndexError:
        raise block.error(f"{shown(x)} has no element {shown(key)}", BlockIndexError) from None
    except TypeError:
        raise block.error(f"{shown(x)} is not indexed by {shown(key)}") from None


def taken(block: AnyBlock, code: Code, x: str, key: object) -> str:
    """The code of `x[key]`, if it is not known already."""
    part = code.part(x, key)
    if part is not None:
        return part
    place = code.name(key)
    asked = partial(element, block)
    return code.tried(f"{x}[{place}]", "(KeyError, IndexError, TypeError)", asked, x, place)


def listed(block: AnyBlock, code: Code, x: str) -> str:
    """The code of the list of the elements."""
    return code.value(f"[*{code.name(partial(elements, block))}({x})]")


@contextmanager
def each(block: AnyBlock, code: Code, x: str) -> Generator[str, None, None]:
    """Begin the code of a loop over the elements; gives the name of one."""
    name = code.new()
    with code.under(f"for {name} in {code.name(partial(elements, block))}({x}):"):
        yield name


def elements(block: AnyBlock, x: Value) -> Iterator[Value]:
    """The elements of what enters a block, which the data do not always have."""
    try:
        return iter(x)
    except TypeError:
        raise block.error(f"its input is {shown(x)}; it takes a list, or a tuple of one type") from None


class Nth(Primitive["tuple[Several[X], Placed]", X]):
    """The element of a list at a place that the data say, or that is computed; negative places count from the end.

    A computed place is an integer, as `argmax` gives; then elements are tensors, or tuples of them, and a place out of
    range is an IndexError in the run.

    Raises BlockError for another input, BlockIndexError, when built, where the list has no such element.
    >>> from wengert import fold as td
    >>> td.Nth().eval(("abc", -1))
    'c'
    >>> import wengert as wg
    >>> greatest = td.Map(td.Scalar()) >> td.AllOf(td.Identity(), td.Stack() >> td.Function(wg.argmax)) >> td.Nth()
    >>> greatest.eval([1, 3, 2]).item()
    3.0

    Source: TensorFlow Fold, `td.Nth`.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        sequence, place = Unknown(), Unknown()
        sequence_of(solver, use, "the list", sequence, use.output)
        solver.when_begun(use.input, lambda of: _pair(solver, use, of, sequence, place))
        solver.when_begun(place, self._check_place)
        solver.assume(use.input, OBJECT)

    def _check_place(self, of: ResultType) -> None:
        integer = isinstance(of, TensorType) and not of.floating and not of.ndim
        if of != OBJECT and not integer:
            raise self.error(f"a place is an integer of the data, or a computed one; it is {resolved(of)}")

    def direct(self, use: Use, calls: Calls) -> Direct:
        of = list(use.output.terminal_types())
        typed = isinstance(use.input, TupleType) and isinstance(use.input[1], TensorType)
        if not typed or not all(isinstance(t, TensorType) for t in of):
            return self._at
        columns = [calls.rows(_chosen, t) for t in of]

        def at(x: Value) -> Value:
            listed, place = list(elements(self, x[0])), x[1]
            if is_array(place) or isinstance(place, Generic0d):  # of the data
                return self._at(x)
            if not listed:
                raise self.error("an empty list has no element", BlockIndexError)
            parts = zip(*map(use.output.flatten, listed), strict=True)
            made = [choose((*column, place)) for choose, column in zip(columns, parts, strict=True)]
            return use.output.unflatten(made, listed[0])

        return at

    def _at(self, x: Value) -> Value:
        pair = tuple(elements(self, x))
        if len(pair) != 2:
            raise self.error(f"its input is {shown(x)}; it takes a list and a place")
        place, listed = pair[1], list(elements(self, pair[0]))
        if is_array(place) and not place.shape:
            place = place.item()
        if not is_integer(place):
            raise self.error(f"a place is an integer, not {shown(place)}")
        if not -len(listed) <= int(place) < len(listed):
            size = f"a list of {len(listed)} elements" if listed else "an empty list"
            raise self.error(f"{size} has no element {place}", BlockIndexError)
        return listed[int(place)]


def _pair(solver: Solver, use: Use, of: ResultType, sequence: ResultType, place: ResultType) -> None:
    """A list and a place; data may hold them together."""
    given = TupleType(sequence, OBJECT if of == OBJECT else place)
    solver.equal(use, "its input", of, "a list and a place", given)


def _chosen(x: Sequence[Value]) -> Value:
    """The row at a computed place, which comes last."""
    return take(stack(x[:-1]), x[-1])


class GetItem(Written[K, Q]):
    """`x[key]` of data, of a tuple, of a list; the key may be a slice.

    Raises BlockError for an endless sequence, BlockValueError for a slice in steps of 0; BlockKeyError, or
    BlockIndexError, where there is nothing.
    >>> from wengert import fold as td
    >>> td.GetItem("a").eval({"a": 1}), td.GetItem(slice(1, None)).eval("abc")
    (1, 'bc')

    Source: TensorFlow Fold, `td.GetItem`.
    """

    # Any: what lies under a key, unless it is said, as in `td.GetItem[dict[str, int], int]("a")`
    def __init__(self, key: object, name: str | None = None) -> None:
        super().__init__(name, key=key)
        if isinstance(key, slice) and key.step == 0:
            raise self.error("the step of a slice is not 0", BlockValueError)
        self._item_of = plain(key)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        def take(of: ResultType) -> None:
            solver.equal(use, "its output", use.output, "what is taken", self._taken(of))

        solver.assume(use.input, OBJECT)
        solver.when_begun(use.input, take)

    def _taken(self, of: ResultType) -> ResultType:
        key = self._item_of
        if of == OBJECT:
            return OBJECT
        if isinstance(of, TupleType) and isinstance(key, slice):
            return of[key]
        if isinstance(of, TupleType) and isinstance(key, int):
            if not -len(of) <= key < len(of):
                raise self.error(f"its input is {resolved(of)}, which has no part {key}", BlockIndexError)
            return of[key]
        if isinstance(of, SequenceType) and not isinstance(of, BroadcastSequenceType):
            if isinstance(key, slice):
                return of
            if isinstance(key, int):
                return of.element_type
        raise self.error(f"its input is {resolved(of)}, of which {shown(key)} takes nothing")

    def write(self, use: Use, code: Code, x: str) -> str:
        return taken(self, code, x, self._item_of)


class Slice(GetItem[X, X]):
    """A part of a sequence: `x[start:stop:step]`.

    >>> from wengert import fold as td
    >>> td.Slice(step=-1).eval("abc"), td.Slice(stop=2).eval([1, 2, 3])
    ('cba', [1, 2])

    Source: TensorFlow Fold, `td.Slice`.
    """

    def __init__(
        self,
        *,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(slice(start, stop, step), name)


class Length(Primitive[Several[Any], Scalars]):
    """How many elements a list has, as a scalar; no cell.

    Raises BlockError for an endless sequence.
    >>> from wengert import fold as td
    >>> td.Length().eval("four").item()
    4.0

    Source: TensorFlow Fold, `td.Length`.
    """

    def __init__(self, dtype: object = "float32", name: str | None = None) -> None:
        self._of = TensorType((), dtype)
        super().__init__(name, dtype=self._of.dtype)
        self.settled()

    def constrain(self, solver: Solver, use: Use) -> None:
        sequence_of(solver, use, "its input", use.input, Unknown())
        solver.equal(use, "its output", use.output, "the length", self._of)
        solver.assume(use.input, OBJECT)

    def direct(self, use: Use, calls: Calls) -> Direct:
        read = reader(self._of, self)
        return lambda x: read(len(list(elements(self, x))))
