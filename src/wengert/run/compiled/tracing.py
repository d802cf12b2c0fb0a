"""Values that write down what is done to them: how the rules of operations become a program of array functions.

Knows: that a traced value holds the real value of this run, so that tracing *is* running, and shapes need no
second set of rules; that functions which come in pieces are traced piece by piece, and equal calls are made once;
that calls hold outlines of values, so that a trace takes the memory of a run and not that of all its values.
Refuses to know: nodes, deltas, weights, and what becomes of the program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, NoReturn, cast
from weakref import ref

from wengert.arrays import HOST, Namespace, Value, dtype_of, is_array, namespace_of, serve, shape_of
from wengert.arrays.changes import Change
from wengert.arrays.kernels import EFFECTS, subtract_into, transposed
from wengert.arrays.outlines import has_elements, outline_of
from wengert.arrays.pieces import PIECES, REWRITES
from wengert.lazy import LazyDelta

Function = Callable[..., Any]  # Any: functions of an array library, and rules of users
_ROOM: Final = 8_000_000  # bytes of small values that one trace keeps; of 64x64 in float32 these are 488
_MAKERS: Final = frozenset(maker for _, maker in REWRITES)


@dataclass(slots=True, eq=False)
class Call:
    """One line of a program: `slot = function(*arguments, **options)`; slots stand in it as outlines."""

    function: Function
    arguments: tuple[Any, ...]  # Any: traced values, constants, and tuples of them
    options: dict[str, Any]  # Any: constants
    result: Traced | None  # None: called for its effect
    pure: bool  # may be left out where nobody needs the result

    @property
    def opaque(self) -> bool:
        """Whether nothing is known of the function, so that it may keep and change what it is given."""
        return not self.pure and self.result is not None


class Trace:
    """The calls of one evaluation, in order."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.inputs: list[Traced] = []
        self._made: dict[object, Traced] = {}  # outlines
        self._room = _ROOM

    def input(self, value: Value) -> Traced:
        """A value that each run of the program is given; somebody else keeps it, so it is its own outline."""
        self.inputs.append(traced := Traced(self, value))
        return traced

    def call(self, function: Function, *arguments: Any, **options: Any) -> Any:  # Any: as in `Call`
        """Result of a pure function; an equal call before this one has given it already."""
        arguments = _fixed(arguments)
        key = (function, _key(arguments), *((name, _key(value)) for name, value in options.items()))
        try:
            found = self._made.get(key)
        except TypeError:  # a constant that has no hash
            return self._called(function, arguments, options, pure=True)
        if found is None:
            found = self._called(function, arguments, options, pure=True)
            if isinstance(found, Traced):
                self._made[key] = found.outline
            return found
        held = found.held()
        return (
            found.holding(function(*map(concrete, arguments), **options), arguments) if held is None else held
        )

    def opaque(self, function: Function, *arguments: Any, **options: Any) -> Any:  # Any: as in `Call`
        """Result of a function of which nothing is known: it is called anew, here and in each run."""
        return self._called(function, _fixed(arguments), options, pure=False)

    def _called(
        self, function: Function, arguments: Any, options: Any, pure: bool
    ) -> Any:  # Any: as in `Call`
        value = function(*map(concrete if pure else given, arguments), **options)
        if pure and not any(map(_is_traced, arguments)) and next(traced_in(arguments), None) is None:
            return value  # of constants: a constant
        outline = Traced(self, outline_of(value, self._room), function)
        if has_elements(outline.value):
            self._room -= outline.value.nbytes
        self.calls.append(self._written(function, arguments, options, outline, pure))
        return outline.holding(value, arguments)

    @staticmethod
    def _written(
        function: Function, arguments: Any, options: Any, result: Traced | None, pure: bool
    ) -> Call:  # Any: as in `Call`
        options = {name: outlined(x) for name, x in options.items()}
        return Call(function, outlined(arguments), options, result, pure)

    def close(self) -> None:
        """Let go of all values; traced values and their trace hold each other."""
        self.calls.clear()
        self.inputs.clear()
        self._made.clear()

    def effect(self, function: Function, *arguments: Any, **options: Any) -> None:  # Any: as in `Call`
        """A call that changes an array in place: not made now, only in the runs of the program."""
        self.calls.append(self._written(function, arguments, options, None, pure=False))


def _refuse(self: object, *others: object) -> NoReturn:
    raise TypeError("the value of this run decides here: it cannot be traced")


def _operator(function: Function) -> Callable[[Traced, Value], Value]:
    def method(self: Traced, other: Value) -> Value:
        if isinstance(other, LazyDelta):
            return NotImplemented
        if isinstance(other, Traced) and (function, other.function) in REWRITES and other.shape == self.shape:
            return self.trace.call(REWRITES[function, other.function], self, other.arguments[0])
        return self.trace.call(function, self, other)

    return method


def _reflected(function: Function) -> Callable[[Traced, Value], Value]:
    return lambda self, other: self.trace.call(function, other, self)


def _times(self: Traced, other: Value) -> Value:
    """A product; by a constant 1, such as the delta that a loss begins with, it is `self`."""
    if isinstance(other, LazyDelta):
        return NotImplemented
    if not isinstance(other, Traced) and shape_of(other) == () and other == 1:
        product = other * self.value
        if type(product) is type(self.value) and dtype_of(product) == dtype_of(self.value):
            return self
    return self.trace.call(operator.mul, self, other)


class Traced:
    """The value of this run, and the function that made it (None: it was given).

    Rules have the value as long as they hold it; calls hold its `outline`, of which only small arrays have elements.
    """

    __slots__ = ("__weakref__", "_held", "_outline", "arguments", "function", "trace", "value")
    __array_ufunc__: ClassVar[None] = None  # numpy's operators come to ours, its functions refuse

    def __init__(self, trace: Trace, value: Value, function: Function | None = None) -> None:
        self.trace = trace
        self.value = value
        self.function = function
        self.arguments: tuple[Any, ...] = ()  # Any: as in `Call`; of a function that a rewriting looks into
        self._outline: Traced | None = None  # itself: a reference would be a circle
        self._held: ref[Traced] | None = None

    @property
    def outline(self) -> Traced:
        """Outline that stands for this in calls."""
        return self if self._outline is None else self._outline

    def held(self) -> Traced | None:
        """Traced value that this is the outline of; None if nobody holds it any more."""
        return self if self._held is None else self._held()

    def holding(self, value: Value, arguments: tuple[Any, ...]) -> Traced:  # Any: as in `Call`
        """New traced value, of which this is the outline."""
        made = Traced(self.trace, value, self.function)
        made._outline = self
        if self.function in _MAKERS:
            made.arguments = arguments
        self._held = ref(made)
        return made

    __add__, __radd__ = _operator(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _operator(operator.sub), _reflected(operator.sub)
    __mul__ = __rmul__ = _times
    __truediv__, __rtruediv__ = _operator(operator.truediv), _reflected(operator.truediv)
    __pow__, __rpow__ = _operator(operator.pow), _reflected(operator.pow)
    __getitem__ = _operator(operator.getitem)

    def __isub__(self, other: Value) -> Traced:
        """Only for the data of a weight in a commit: other arrays are changed in place by nobody."""
        self.trace.effect(subtract_into, self, other)
        return self

    def __neg__(self) -> Value:
        return self.trace.call(operator.neg, self)

    def __abs__(self) -> Value:
        return self.trace.call(operator.abs, self)

    # what a rule of an operation must not decide by a value, or do outside its namespace
    __bool__ = __float__ = __int__ = __index__ = __len__ = __iter__ = __array__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = object.__hash__

    @property
    def shape(self) -> tuple[int, ...]:
        """As in every run of the program: kinds fix it."""
        shape: tuple[int, ...] = self.value.shape
        return shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:  # Any: numpy's or cupy's
        return self.value.dtype

    @property
    def T(self) -> Value:
        return self.trace.call(transposed, self)


def concrete(x: Any) -> Any:  # Any: as in `Call`
    """`x` with the values of this run."""
    if type(x) is Traced:
        return x.value
    if isinstance(x, (tuple, list)):
        return type(x)(map(concrete, x))
    return x


def outlined(x: Any) -> Any:  # Any: as in `Call`
    """`x` as calls hold it."""
    if isinstance(x, Traced):
        return x.outline
    if isinstance(x, (tuple, list)) and next(traced_in(x), None) is not None:
        return type(x)(map(outlined, x))
    return x


def given(x: Any) -> Any:  # Any: as in `Call`
    """`x` for somebody who may write to it: of a constant array, which later runs share, a copy."""
    return x.copy() if is_array(x) else concrete(x)


def _fixed(x: Any) -> Any:  # Any: as in `Call`
    """`x` with tuples in place of lists of traced values: any other list is a constant."""
    if type(x) is not Traced and isinstance(x, (tuple, list)) and next(traced_in(x), None) is not None:
        return tuple(map(_fixed, x))
    return x


def _is_traced(x: object) -> bool:
    return type(x) is Traced


def traced_in(x: object) -> Iterator[Traced]:
    """The traced values in an argument."""
    if type(x) is Traced:
        yield x
    elif isinstance(x, (tuple, list)):
        for item in x:
            if type(item) is Traced:
                yield item
            else:
                yield from traced_in(item)


def _key(x: object) -> object:
    """Key of an argument for equality: 1, 1.0 and True are not, and neither are two arrays."""
    if type(x) is Traced:
        return id(x.outline)
    cls = type(x)
    if cls is float or cls is int:
        return cls, x
    if isinstance(x, tuple):
        return tuple(map(_key, x))
    return id(x) if is_array(x) else (cls, x)


class Tracing:
    """The namespace that rules find while they are traced: every function of `xp` is written down."""

    def __init__(self, trace: Trace | None, xp: Any) -> None:  # Any: a Namespace, or None to find one a call
        self._trace = trace
        self._xp = xp

    def call(self, function: Function, *arguments: Any, **options: Any) -> Any:  # Any: as in `Call`
        """Write down a call of a function that no namespace has."""
        return self._trace_of(arguments).call(function, *arguments, **options)

    def effect(self, function: Function, *arguments: Any) -> list[Change]:  # Any: as in `Call`
        """Write down a call that gives the changes of its first argument; there are none to make now."""
        self._trace_of(arguments).effect(function, *arguments)
        return []

    def _trace_of(self, arguments: tuple[Any, ...]) -> Trace:  # Any: as in `Call`
        return self._trace or next(traced_in(arguments)).trace

    def __getattr__(self, name: str) -> Function:
        return partial(self._named, name)

    def _named(self, name: str, *arguments: Any, **options: Any) -> Any:  # Any: as in `Call`
        xp = self._xp
        if xp is None:
            xp = namespace_of(next(traced_in(arguments)).value)
        pieces = PIECES.get(name) if xp is HOST else None
        if pieces is not None:
            return pieces(Tracing(self._trace_of(arguments), xp), *arguments, **options)
        function = getattr(xp, name)
        if function in EFFECTS:
            return self.effect(function, *arguments, **options)
        return self._trace_of(arguments).call(function, *arguments, **options)


# by `__getattr__` it has whatever a namespace has
serve(Traced, cast(Namespace, Tracing(None, None)))
