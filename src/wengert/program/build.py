"""Tracers: stand-ins for values that write equations down, so that rules become programs with nothing computed.

Knows: that an equal call gives the result of the one before; that functions come in pieces; that a function of
constants is called at once, unless the number of rows is among them.
Refuses to know: graphs, deltas, weights.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, NoReturn, cast

from wengert.arrays import HOST, SCALAR, Namespace, is_array, serve, shape_of
from wengert.arrays.abstract import UNKNOWN, Aval, Sizes
from wengert.arrays.changes import Change
from wengert.arrays.infer import infer
from wengert.arrays.kernels import EFFECTS, transposed
from wengert.arrays.pieces import PIECES, REWRITES
from wengert.lazy import LazyDelta
from wengert.program.program import Argument, Eqn, Function, SourceInfo, Var, effect, mapped, mentions_rows

__all__ = ["Builder", "RecordingNamespace", "Tracer", "bare"]


class Builder:
    """The equations of a program in the making.

    `on_device`: its arrays are those of a device, which has functions of its own for those of the host.
    """

    def __init__(self, on_device: bool = False) -> None:
        self.on_device = on_device
        self.eqns: list[Eqn] = []
        self.effects: list[Eqn] = []
        self.made_by: dict[Var, Eqn] = {}
        self.source: SourceInfo | None = None  # of the equations that come now
        self._known: dict[object, Argument] = {}  # results, by what was called
        self._avals: dict[object, Aval] = {}

    def continued(self) -> Builder:
        """A builder of other equations that may read the results of those before."""
        made = Builder(self.on_device)
        made.made_by |= self.made_by
        made._known |= self._known
        made._avals = self._avals
        return made

    def input(self, aval: Aval) -> Tracer:
        """A tracer of a new variable that comes from outside."""
        return Tracer(self, Var(aval))

    def tracer(self, x: Argument) -> Any:  # Any: a tracer or a constant
        """A tracer of a variable; a constant as it is."""
        return Tracer(self, x) if isinstance(x, Var) else x

    def call(self, function: Function, *arguments: Any, **options: Any) -> Any:  # Any: tracers and constants
        """The result of a pure function: that of an equal call, if there was one."""
        given = tuple(map(bare, arguments))
        key = (function, _key(given), *((name, _key(x)) for name, x in options.items()))
        try:
            found = self._known.get(key)
        except TypeError:  # a constant without a hash
            return self.tracer(self._called(function, given, options))
        if found is None:
            found = self._known[key] = self._called(function, given, options)
        return self.tracer(found)

    def opaque(self, function: Function, aval: Aval, *arguments: Any) -> Tracer:  # Any: tracers and constants
        """The result of a function that may keep and change what it is given: called anew each time."""
        return self.stated(function, aval, *arguments, pure=False)

    # Any: as in `opaque`
    def stated(self, function: Function, aval: Aval, *arguments: Any, pure: bool = True) -> Tracer:
        """The result of a function, of which this is known."""
        eqn = Eqn(function, tuple(map(bare, arguments)), {}, Var(aval), pure)
        return Tracer(self, self._written(eqn))

    # Any: as in `call`
    def effect(self, function: Function, *arguments: Any, **options: Any) -> list[Change]:
        """Write down changes of the first argument; none are made now."""
        named = {name: bare(x) for name, x in options.items()}
        self.effects.append(effect(function, tuple(map(bare, arguments)), named, self.source))
        return []

    def _called(self, function: Function, given: tuple[Argument, ...], options: dict[str, Any]) -> Argument:
        options = {name: bare(x) for name, x in options.items()}
        made = Eqn(function, given, options, Var(UNKNOWN))
        if made.constant and not mentions_rows((*given, *options.values())):
            return function(*given, **options)
        made.result.aval = self._inferred(function, given, options)
        return self._written(made)

    def _written(self, eqn: Eqn) -> Var:
        eqn.source = self.source
        self.eqns.append(eqn)
        self.made_by[eqn.result] = eqn
        return eqn.result

    def _inferred(self, function: Function, given: tuple[Argument, ...], options: dict[str, Any]) -> Aval:
        """The abstract value of a call, inferred once for equal ones."""
        abstract = tuple([x.aval if type(x) is Var else mapped(_aval, x) for x in given])
        named = {name: mapped(_aval, x) for name, x in options.items()}
        key = (function, *map(_key, abstract), *map(_key, named.items()))
        try:
            found = self._avals.get(key)
        except TypeError:  # a constant without a hash
            return infer(function, abstract, named)
        if found is None:
            found = self._avals[key] = infer(function, abstract, named)
        return found


def _aval(x: Argument) -> Any:  # Any: an abstract value or a constant
    return x.aval if isinstance(x, Var) else x


def bare(x: Any) -> Argument:  # Any: tracers and constants
    """`x` with variables in place of tracers, and tuples in place of lists that have some."""
    if isinstance(x, Tracer):
        return x.var
    if isinstance(x, slice):
        return slice(bare(x.start), bare(x.stop), bare(x.step))
    if isinstance(x, tuple):
        return tuple(map(bare, x))
    return tuple(map(bare, x)) if isinstance(x, list) and any(isinstance(y, Tracer) for y in x) else x


def _key(x: Argument) -> object:
    """Key of an argument for equality: 1, 1.0 and True are not, and neither are two arrays."""
    cls = type(x)
    if cls is Var:
        return id(x)
    if cls is int or cls is str or (cls is float and x):
        return cls, x
    if is_array(x):
        return id(x)
    if isinstance(x, tuple):
        return tuple(map(_key, x))
    if isinstance(x, slice):
        return slice, _key(x.start), _key(x.stop), _key(x.step)
    return type(x), x if x else str(x)  # 0.0 and -0.0 are equal


class NoProgram(TypeError):
    """There can be no program of this: what it does depends on more than its structure."""


def _refuse(self: object, *others: object) -> NoReturn:
    raise NoProgram("a value of the run decides here: no program can be made of it")


def _operator(function: Function) -> Callable[[Tracer, Any], Any]:
    def method(self: Tracer, other: Any) -> Any:  # Any: tracers and constants
        if isinstance(other, LazyDelta):
            return NotImplemented
        eqn = self.builder.made_by.get(other.var) if isinstance(other, Tracer) else None
        if eqn is not None and (function, eqn.function) in REWRITES and other.shape == self.shape:
            return self.builder.call(REWRITES[function, eqn.function], self, eqn.arguments[0])
        return self.builder.call(function, self, other)

    return method


def _reflected(function: Function) -> Callable[[Tracer, Any], Any]:
    return lambda self, other: self.builder.call(function, other, self)


def _times(self: Tracer, other: Any) -> Any:  # Any: tracers and constants
    """A product; by a constant 1, such as the delta that a loss begins with, it is `self`, if that has no gaps.

    The product has none: a sum of it goes through BLAS in another way than one of a column.
    """
    if isinstance(other, LazyDelta):
        return NotImplemented
    alike = self.var.aval.form == "other" or self.var.aval.order == "compact"
    if alike and not isinstance(other, Tracer) and shape_of(other) == () and other == 1:
        found = infer(operator.mul, (other, self.var.aval), {})
        if (found.form, found.dtype) == (self.var.aval.form, self.var.aval.dtype):
            return self
    return self.builder.call(operator.mul, self, other)


class Tracer:
    """A variable of a program in the making, with the operators of arrays."""

    __slots__ = ("builder", "var")
    __array_ufunc__: ClassVar[None] = None  # numpy's operators come to ours, its functions refuse

    def __init__(self, builder: Builder, var: Var) -> None:
        self.builder, self.var = builder, var

    __add__, __radd__ = _operator(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _operator(operator.sub), _reflected(operator.sub)
    __mul__ = __rmul__ = _times
    __truediv__, __rtruediv__ = _operator(operator.truediv), _reflected(operator.truediv)
    __pow__, __rpow__ = _operator(operator.pow), _reflected(operator.pow)
    __getitem__ = _operator(operator.getitem)

    def __neg__(self) -> Any:  # Any: as in `Builder.call`
        return self.builder.call(operator.neg, self)

    def __abs__(self) -> Any:  # Any: as in `Builder.call`
        return self.builder.call(operator.abs, self)

    # what a rule must not decide by a value, or do outside its namespace
    __bool__ = __float__ = __int__ = __index__ = __len__ = __iter__ = __array__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = object.__hash__

    @property
    def shape(self) -> Sizes:
        """The sizes of its axes."""
        return self._known.shape

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return len(self._known.shape)

    @property
    def dtype(self) -> Any:  # Any: numpy's dtype, a class, or None
        """Its element type."""
        return self._known.dtype

    @property
    def _known(self) -> Aval:
        if self.var.aval.form == "other":
            raise NoProgram("only a run tells what this is: no program can be made of it")
        return self.var.aval

    @property
    def T(self) -> Any:  # Any: as in `Builder.call`
        """Its transpose."""
        return self.builder.call(transposed, self)


class RecordingNamespace:
    """The namespace that rules find while they are traced: each function of `xp` is written down by `builder`.

    Without a builder, that of the first tracer among the arguments; without `xp`, the namespace of its data.
    """

    def __init__(self, builder: Builder | None, xp: Any) -> None:  # Any: a Namespace, or None
        self._builder, self._xp = builder, xp

    def call(self, function: Function, *arguments: Any, **options: Any) -> Any:  # Any: as in `Builder.call`
        """Write down a call of a function that no namespace has."""
        return self._builder_of(arguments).call(function, *arguments, **options)

    # Any: as in `call`
    def effect(self, function: Function, *arguments: Any, **options: Any) -> list[Change]:
        """Write down changes that no namespace makes."""
        return self._builder_of(arguments).effect(function, *arguments, **options)

    def _builder_of(self, arguments: Sequence[Any]) -> Builder:  # Any: as in `Builder.call`
        return self._builder or next(_tracers_in(arguments)).builder

    def __getattr__(self, name: str) -> Function:
        return partial(self._named, name)

    def _named(self, name: str, *arguments: Any, **options: Any) -> Any:  # Any: as in `Builder.call`
        builder, xp = self._builder_of(arguments), self._xp
        if xp is None:
            xp = SCALAR if next(_tracers_in(arguments)).var.aval.form == "number" else HOST
        pieces = PIECES.get(name) if xp is HOST else None
        if pieces is not None:
            return pieces(RecordingNamespace(builder, xp), *arguments, **options)
        function = getattr(xp, name)
        called = builder.effect if function in EFFECTS else builder.call
        return called(function, *arguments, **options)


def _tracers_in(x: Any) -> Iterator[Tracer]:  # Any: tracers and constants
    if isinstance(x, Tracer):
        yield x
    elif isinstance(x, (tuple, list)):
        for item in x:
            yield from _tracers_in(item)


# by `__getattr__` it has whatever a namespace has
serve(Tracer, cast(Namespace, RecordingNamespace(None, None)))
