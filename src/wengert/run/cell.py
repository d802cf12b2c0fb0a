"""`@cell`: a function of expressions as one node a call.

Knows: which arguments are operands (expressions, arrays, also within tuples and frozen dataclasses) and which
belong to the cell as they are; that it is traced once for each combination of kinds.
Refuses to know: what the function does, and how a template is run.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from inspect import iscoroutinefunction
from typing import Any, Final, Generic, ParamSpec, TypeVar, cast

from wengert.errors import ArgumentError, WengertError
from wengert.graph.operand import lift_any, operand, shown
from wengert.graph.products import is_product, leaves_of
from wengert.graph.template import PART, CellSignature
from wengert.run.calls import Form, Make, Pattern, Site, form_for, maker_of, pattern_of, unmet
from wengert.run.forms import form_of, is_operand
from wengert.run.templates import MOST, Templates, is_open
from wengert.site import user_frame, user_position

P = ParamSpec("P")
R = TypeVar("R")
# of arguments of another form, or of kinds that have not been met
_UNMET: Final = (AttributeError, KeyError, TypeError, ValueError, WengertError)


class Cell(Generic[P, R]):
    """A function of expressions; what it closes over is as it was when it was traced.

    As an attribute of a class it is a cell for each object, which does not outlive that.
    """

    def __init__(self, function: Callable[P, R], owner: object = None, called: str = "") -> None:
        functools.update_wrapper(self, function)
        self._owner = None if owner is None else weakref.ref(owner)  # the first argument of each call
        self._methods: dict[int, Cell[..., R]] = {}  # by the identity of their owners
        named = function.func if isinstance(function, functools.partial) else function
        self._templates = Templates(function, called or getattr(named, "__qualname__", "cell"))
        self.at: Site | None = None  # where calls count as written, if not here
        self._forms: dict[Pattern, Form] = {}
        self._call = unmet  # of the form that the last call had
        self._makes: dict[CellSignature, Make] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            return self._long_way(args, kwargs)
        try:
            made: R = self._call(*args)
        except _UNMET:
            form = self._forms.get(pattern_of(args))
            if form is None:
                return self._long_way(args, kwargs)
            self._call = form.call
            try:
                made = self._call(*args)
            except _UNMET:
                return self._long_way(args, kwargs)
        return made

    def _long_way(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:  # Any: arguments of every type
        """A call of a form that has not been met, or with arguments that belong to the trace."""
        leaves, fill = leaves_of((args, tuple(kwargs.items())))
        places = [i for i, x in enumerate(leaves) if is_operand(x)]
        try:
            pairs = [operand(leaves[i]) for i in places]
        except Exception as error:
            raise type(error)(f"{self._templates.operation.name}: {error}\n  at {user_position()}") from None
        kinds, form = tuple(of for _, of in pairs), form_of((args, tuple(kwargs.items())))
        others = {i: x for i, x in enumerate(leaves) if i not in places}
        first = () if self._owner is None else (self._owner(),)

        def filled(parameters: Iterable[Any]) -> Any:  # Any: a call's arguments, with nodes for operands
            at = others | dict(zip(places, parameters, strict=True))
            given, named = fill(at[i] for i in range(len(at)))
            return (*first, *given), named

        signature = self._templates.signature(kinds, form, filled)
        one_of_many = is_open(signature)  # each call has its own
        make = _maker(signature) if one_of_many else self._make_of(signature)
        keeps = self._owner is not None and one_of_many  # its owner, for the run
        if not kwargs and not keeps:
            self._remember(args, make)
        frame = user_frame()
        code, offset = self.at or (frame.f_code, frame.f_lasti)
        made: R = make(tuple([value for value, _ in pairs]), code, offset)
        return made

    def _make_of(self, signature: CellSignature) -> Make:
        """Constructor of the nodes of a call."""
        found = self._makes.get(signature)
        if found is None:
            if len(self._makes) >= MOST:
                self._makes.clear()
            found = self._makes[signature] = _maker(signature)
        return found

    def _remember(self, args: tuple[object, ...], make: Make) -> None:
        """Calls like this one; beyond what is kept they are met afresh."""
        if sum(len(form.makes) for form in self._forms.values()) >= MOST:
            self._forms.clear()
        pattern = pattern_of(args)
        form = self._forms.get(pattern)
        if form is None:
            form = self._forms[pattern] = form_for(pattern, self.at)
        form.makes[form.key(*args)] = make
        self._call = form.call

    def __get__(self, owner: object, cls: type | None = None) -> Any:  # Any: P without its first, and R
        if owner is None:
            return self
        found = self._methods.get(id(owner))
        if found is None:
            whole: Callable[..., R] = self.__call__
            if is_product(owner):  # its weights are operands
                return functools.partial(whole, owner)
            try:
                weakref.finalize(owner, self._methods.pop, id(owner), None)
            except TypeError:  # nobody would say when it dies
                return functools.partial(whole, owner)
            found = self._methods[id(owner)] = Cell(self._templates.function, owner)
        method = _Method(found)
        method.owner = owner
        return method

    def __getstate__(self) -> dict[str, Any]:  # Any: whatever a function has as attributes
        return {**self.__dict__, "_methods": {}, "_forms": {}, "_call": unmet, "_makes": {}}


class _Method(functools.partial[R]):
    """The cell of one object, which lives until it has been called."""

    owner: object

    def __reduce__(self) -> tuple[Any, ...]:  # Any: what `pickle` takes
        return getattr, (self.owner, self.func.__name__)


def _maker(signature: CellSignature) -> Make:
    """Constructor of a call's node, and of one for each of several results."""
    template = signature.template
    read = (*map(lift_any, template.lifted), *template.captured)
    if template.single:
        return maker_of(signature, read, (), None)
    parts = tuple(
        PART.signature((signature.kind,), (("index", index), ("of", x.kind)))
        for index, x in enumerate(template.results)
    )
    return maker_of(signature, read, parts, template.rebuild(parts))


def cell(function: Callable[P, R]) -> Callable[P, R]:
    """A function of expressions that becomes one node a call.

    It is traced once for each combination of operand types; expressions and arrays, also in tuples and frozen
    dataclasses, are operands, and anything else (a number, a name) belongs to the trace and has to be hashable.
    Calls with different numbers never run as one batch; `np.float32(x)`, and an array, are operands.
    Weights that it reads without being given them are operands, too. It may return a tuple of expressions. A method
    is a cell for each object; where only the run tells the shapes of operands, a call is traced in the run again.
    Derivative: that of what it does.
    Raises ArgumentError for an `async def`, and where it returns no expression or waits for a value.
    >>> from wengert import DoubleLayer, lift
    >>> @cell
    ... def step(h: DoubleLayer, x: DoubleLayer) -> tuple[DoubleLayer, DoubleLayer]:
    ...     return h + x, h * x
    >>> a, b = step(lift(2.0), lift(3.0))
    >>> (a * b).predict().run()
    30.0
    """
    if not callable(function):
        raise ArgumentError(
            f"@cell takes a function of expressions; got {shown(function)}\n  at {user_position()}"
        )
    if iscoroutinefunction(function):
        raise ArgumentError(
            f"@cell: {function.__qualname__} is an async def, which waits for values, and a cell is traced before "
            f"any run; write @differentiable, and cells for what it does between waits\n  at {user_position()}"
        )
    return cast(Callable[P, R], Cell(function))
