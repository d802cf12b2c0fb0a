"""Overloads of `concat` and `stack` by rank and axis, and by the sizes of the arrays of a list in the call.

Pyrefly looks at each member of such a list for itself where a parameter is a map of shapes, `MapIntTuples`. It maps
shapes of numbers alone, and most have names, too: so an array has, for each axis, a descriptor that says how long it is
and what the other axes are. A list from elsewhere may have any number of members: its sum is a number not known.

Knows: these descriptors, the protocols that ask for them, and the overloads.
Refuses to know: where they go, and other operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from wengert_shapes.overloads import LETTERS, RANKS, RAW, UNKNOWN, dim_text, named, overload, variables_of
from wengert_shapes.rules import Shape

_AXES: Final = range(4)
_COMMON: Final = """
from typing import Any, Generic, Never, Protocol, TypeVar, overload
from shape_extensions import IntTuples, IntVar

Whole = TypeVar("Whole", bound=tuple[int, ...])
Others = TypeVar("Others")
Element = TypeVar("Element")
Place = TypeVar("Place")
Size = TypeVar("Size", bound=IntTuple)
Known = TypeVar("Known")
class Cut(Generic[Others, Element, Place, Size, Known]): ...

@type_shape_dsl_function
def known(n: Int, yes: Int, no: Int) -> Int:
    if dsl.is_concrete_int(n):
        return yes
    return no

@type_shape_dsl_function
def total(sizes: IntTuples) -> Int:
    return dsl.sum(dsl.IntTuple(size[0] for size in sizes))
"""
_DESCRIPTOR: Final = """
class Along{0}(Protocol[Others, Element, Place, Size]):
    @property
    def _axis{0}(self) -> Cut[Others, Element, Place, Size, Int[1]]: ...
class Axis{0}(Generic[Whole, Element, Place]):
"""


def parts() -> str:
    """The descriptor of each axis and its protocol: the other axes, and a size that is a number and known."""
    return _COMMON + "".join(
        _DESCRIPTOR.format(axis)
        + "".join(f"    {line}\n" for text in _read(axis) for line in text.splitlines())
        for axis in _AXES
    )


def names() -> list[str]:
    """Names that `parts` defines for the overloads, and for the class of arrays."""
    return ["total", *(f"{kind}{axis}" for kind in ("Along", "Axis") for axis in _AXES)]


def descriptors() -> list[str]:
    """The attributes of an array."""
    return [f"_axis{axis}: Axis{axis}[S, T, Dv]" for axis in _AXES]


def _read(axis: int) -> Iterator[str]:
    """Overloads of `__get__`: of no array whose shape is not known, nor of an axis with a name."""
    call = "self{}, array: object, owner: Any = None, /"
    given = f": Axis{axis}[{{}}, Element, Place]"
    yield overload("__get__", call.format(given.format(UNKNOWN)), "None", "X_: Any")
    for rank in range(axis + 1, 5):
        shape = [f"{n}_" for n in LETTERS[:rank]]
        others = [*shape[:axis], *shape[axis + 1 :]]
        shape[axis] = "Int[N]"
        variables = ", ".join([*(f"{n}: int" for n in others), "N: IntVar"])
        made = f"Cut[{_tuple(others)}, Element, Place, IntTuple[N], known(Int[N], 1, 0)]"
        yield overload("__get__", call.format(given.format(_tuple(shape))), made, variables)
    yield overload("__get__", call.format(""), "None", "X_: Any")


def concats(rule: Callable[[Sequence[Shape], int], Shape]) -> list[str]:
    """Overloads of `concat`; how long an axis gets is known of a list that is written in the call."""
    found = []
    for rank in RANKS:
        shape = named(LETTERS[:rank])
        for axis in range(-rank, rank):
            at = axis % rank
            others = (*shape[:at], *shape[at + 1 :])
            names = list(map(dim_text, others))
            part = f"Along{at}[{_tuple(names)}, T_, V_, S]"
            array = f"ArrayOperand[{_tuple([*names[:at], 'Any', *names[at:]])}, T_, V_]"
            result = list(map(dim_text, rule([shape], axis)))
            for xs, size, more in (
                (f"MapIntTuples[lambda S: {part}, Sizes_]", "total(Sizes_)", "Sizes_: IntTuples, "),
                (f"Sequence[{array} | {RAW}]", "Any", ""),
            ):
                result[at] = size
                found.append(_along("concat", xs, axis, result, more + variables_of([others])))
    return _around("concat", found)


def stacks(rule: Callable[[Sequence[Shape], int], Shape]) -> list[str]:
    """Overloads of `stack`; how many arrays a list has is not asked for: those of each step have a name."""
    found = []
    for rank in range(5):
        shape = named(LETTERS[:rank])
        for axis in range(-rank - 1, rank + 1):
            result = list(map(dim_text, rule([shape], axis)))
            result[axis % (rank + 1)] = "Any"
            xs = f"Sequence[ArrayOperand[{_tuple(list(map(dim_text, shape)))}, T_, V_] | {RAW}]"
            found.append(_along("stack", xs, axis, result, variables_of([shape])))
    return _around("stack", found)


def _along(name: str, xs: str, axis: int, result: Sequence[str], variables: str) -> str:
    stated = f"axis: Literal[{axis}]" + " = 0" * (axis == 0)
    return overload(name, f"xs: {xs}, /, *, {stated}", f"ArrayLayer[{_tuple(result)}, T_, V_]", variables)


def _around(name: str, overloads: Sequence[str]) -> list[str]:
    """Between what is not known and what is raw."""
    first, last = (
        overload(name, f"xs: Sequence[{x}], /, *, axis: int = 0", "ArrayLayer[Any, T_, V_]")
        for x in (f"ArrayOperand[{UNKNOWN}, T_, V_]", RAW)
    )
    return [first, *overloads, last]


def _tuple(sizes: Sequence[str]) -> str:
    return f"tuple[{', '.join(sizes) or '()'}]"
