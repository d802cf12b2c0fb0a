"""`@cell`: a function of expressions as one node a call.

Knows: which arguments are operands (expressions, arrays, also within tuples and frozen dataclasses) and which belong
to the cell as they are; that it is traced once for each combination of kinds, in the run where only that tells them;
that equal templates with the same weights are one, so that calls of cells written apart run together, while cells
without weights stay apart: as one they tie others into circles, which costs more launches than it saves; that code of
its own looks an attribute up where it was the last time, so each form of arguments has a function (without it blocks
over trees take 1.13 of their time).
Refuses to know: what the function does, and how a template is run.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import iscoroutinefunction
from itertools import count
from types import CodeType, FunctionType
from typing import Any, Final, Generic, NamedTuple, ParamSpec, TypeVar, cast, overload
from weakref import WeakValueDictionary

from wengert.arrays import ARRAY_CLASS, dtype_of, is_array, shape_of
from wengert.errors import ArgumentError, WengertError
from wengert.graph.kinds import Kind
from wengert.graph.node import Expression, next_serial
from wengert.graph.operand import OWN, is_operand, lift_any, operand, shown
from wengert.graph.operation import UNRESOLVED, Attributes, Operation, Signature
from wengert.graph.products import Rebuild, fields_of, is_product, leaves_of, parts_of
from wengert.graph.template import PART, CellSignature, Template, result_of, traced
from wengert.program.text import function_of, tuple_text
from wengert.site import OURS, position, user_frame, user_position


def form_of(x: object) -> object:
    """Key of calls alike: the nesting, and every argument that is no operand, by type and value."""
    items: list[object] = []
    todo: list[object] = [x]
    while todo:
        item = todo.pop()
        if is_product(item):
            parts, _ = parts_of(item)
            items.append((type(item), len(parts)))
            todo.extend(reversed(parts))
        else:
            items.append(None if is_operand(item) else (type(item), item))
    return tuple(items)


# -- templates --------------------------------------------------------------------------------------

MOST: Final = 1024  # templates of one cell; beyond it they are made afresh, so that they cannot grow


class Templates:
    """All that one function has been traced for.

    It holds the signatures: an operation that did would be in a cycle with them.
    """

    # Any: structures of expressions
    def __init__(self, function: Callable[..., Any], name: str, remat: bool) -> None:
        self.function = function
        self.remat = remat
        self.operation = Operation(name, None, function.__module__, listed=False)
        self._made: dict[object, CellSignature | None] = {}

    def __getstate__(self) -> dict[str, Any]:  # Any: as in `Cell`
        return {**self.__dict__, "_made": {}}  # a copy traces anew

    def signature(self, kinds: tuple[Kind, ...], form: object, filled: Rebuild) -> CellSignature | None:
        """For operands of these kinds, in a call of this form; `filled` makes its arguments of them.

        Some kinds may be such that only the run tells them. None where a call is no node, but what the function gives.
        """
        key = (kinds, form)
        try:
            if (found := self._made.get(key)) is not None or key in self._made:
                return found
        except TypeError:
            raise ArgumentError(
                f"{self.operation.name}: an argument of a cell is an expression, an array, a tuple of these, or "
                f"something hashable that belongs to the cell; got {_unhashable(form)}: give numbers as "
                f"numpy.array(x, dtype), and other things as tuples\n  at {user_position()}"
            ) from None
        template = traced(self.function, kinds, filled, self.operation.name, self.remat)
        attributes = (("form", form),)
        if template is not None and not all(k.known for k in kinds):
            return _Open(_Later(self, template, form, filled), kinds, template, attributes)
        if len(self._made) >= MOST:
            self._made.clear()
        made = None if template is None else CellSignature(self.operation, kinds, template, attributes)
        self._made[key] = made = None if made is None else _one_of_equals(made)
        return made

    def inlined(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:  # Any: as in `function`
        """The results of the function, node by node: those of a call that is no node of its own."""
        leaves, rebuild = leaves_of(self.function(*args, **named))
        return rebuild([result_of(x, self.operation.name) for x in leaves])


def _unhashable(form: object) -> str:
    """The first argument of a form that has no hash, with its type."""
    assert isinstance(form, tuple), "what `form_of` gives"
    for item in form:
        try:
            hash(item)
        except TypeError:
            cls, x = item
            return f"{shown(x)}, a {cls.__name__}"
    raise AssertionError("one of them has none")


class _Open(CellSignature):
    """The signature of a cell which gets its template in the run; this one, which is never run, says how many results
    there are and which weights are read.
    """

    __slots__ = ()

    def __init__(
        self, operation: Operation, kinds: Sequence[Kind], template: Template, attributes: Attributes
    ) -> None:
        super().__init__(operation, kinds, template, attributes)
        self.mode = UNRESOLVED

    def __reduce__(self) -> tuple[object, ...]:
        given = self.kinds[: self.template.given]
        return _Open, (self.operation, given, self.template, self.attributes)


class _Later(Operation):
    """A cell as an operation, to be asked what it is for kinds that have become known."""

    def __init__(self, templates: Templates, open_: Template, form: object, filled: Rebuild) -> None:
        of = templates.operation
        super().__init__(of.name, None, of.module, listed=False)
        self._given = templates, open_, form, filled

    def __reduce__(self) -> tuple[object, ...]:
        return _Later, self._given

    def signature(self, kinds: tuple[Kind, ...], attributes: Attributes) -> Signature:
        templates, before, form, filled = self._given
        found = templates.signature(kinds[: before.given], form, filled)
        assert found is not None, "layers had no `forward` of their own before, either"
        now = found.template
        same = len(now.results) == len(before.results)
        if not same or [*map(id, _weights(now))] != [*map(id, _weights(before))]:
            raise ArgumentError(
                f"for these operands it gives {_read(now)}, and while their shapes were not known "
                f"{_read(before)}; state the shapes in the annotation of what makes the operands"
            )
        return found


def _read(of: Template) -> str:
    weights = ", ".join(map(repr, _weights(of))) or "no weights"
    return f"{len(of.results)} results of {weights}"


def _weights(of: Template) -> list[object]:
    """Weights that a template's function reads without being given them."""
    return [*of.lifted, *of.captured]


_LARGEST: Final = 1024  # bytes of an array that is compared; a larger one is equal to itself only

_met: Final[WeakValueDictionary[object, CellSignature]] = WeakValueDictionary()


def _one_of_equals(signature: CellSignature) -> CellSignature:
    """The first of all signatures that are equal to this one and in use."""
    return _met.setdefault(_key(signature), signature) if signature.template.captured else signature


def _key(signature: CellSignature) -> tuple[object, ...]:
    """All that a call depends on, and the lines that an error names; not the name, which blocks give to one function.

    What is known by its identity is held by the signature, so nobody else has that identity while the key is kept.
    """
    template = signature.template
    places = {id(x): i for i, x in enumerate((*template.parameters, *template.nodes))}
    met = {(x.code, x.offset) for x in template.parameters[:1]}  # whoever happened to call first
    rows = [
        (
            node.signature,
            tuple([_operand(x, places) for x in node.operands]),
            None if (node.code, node.offset) in met else (node.code, node.offset),
        )
        for node in template.nodes
    ]
    return (
        (signature.kinds, signature.attributes, template.remat, *map(id, template.lifted)),
        tuple(rows),
        tuple([_operand(x, places) for x in template.results]),
        None if template.single else _nesting(template.rebuild(template.results)),
    )


def _nesting(made: object) -> object:
    """Nesting of tuples; any other result equals nothing."""
    if type(made) is tuple:
        return tuple(map(_nesting, made))
    return None if isinstance(made, Expression) else object()


# Any: expressions, and data of every type
def _operand(x: Any, places: dict[int, int]) -> tuple[object, ...]:
    if isinstance(x, Expression):
        place = places.get(id(x))
        return ("weight", id(x)) if place is None else ("node", place)
    if isinstance(x, float):
        return ("number", x.hex())  # 0.0 and -0.0 are equal, and not the same
    if is_array(x) and x.nbytes <= _LARGEST:
        return ("array", dtype_of(x), shape_of(x), x.tobytes())
    return ("data", id(x))


# -- code of calls ----------------------------------------------------------------------------------

Key = tuple[object, ...]  # kinds of operands, and what belongs to the trace
Operands = tuple[Any, ...]  # Any: expressions, and frozen arrays
Site = tuple[CodeType | str, int]
Make = Callable[[Operands, CodeType | str, int], Any]  # Any: what a call gives: a node, or a product of them
# How each argument is read, after it what is in it: its class and how many parts it has, or one of these.
Item = tuple[type, int] | None
Pattern = tuple[Item, ...]
_EXPRESSION: Final = None
_LITERAL: Final = -1  # in place of parts: an operand of that class
_VALUE: Final = (object, -2)  # what belongs to the trace


class Form(NamedTuple):
    """Calls with arguments of one pattern. For arguments of another one both functions raise an error of Python's."""

    key: Callable[..., Key]  # what calls have in common that run the same code
    call: Callable[..., Any]  # runs it; KeyError if it has not been made. Any: as in `Make`
    makes: dict[Key, Make]


def unmet(*args: object) -> Any:  # Any: as in `Make`
    """`call` of a cell that has not been called."""
    raise KeyError


def pattern_of(args: tuple[object, ...]) -> Pattern:
    """Pattern of arguments: expressions, other operands, and products of these, of which classes."""
    found: list[Item] = [(tuple, len(args))]
    todo = [*args[::-1]]
    while todo:
        x = todo.pop()
        if isinstance(x, Expression) and x.kind.role is not OWN:
            found.append(_EXPRESSION)
        elif x.__class__ is tuple:
            found.append((tuple, len(x)))
            todo += x[::-1]
        elif type(x) is ARRAY_CLASS:
            found.append((ARRAY_CLASS, _LITERAL))
        elif is_product(x):
            parts, _ = parts_of(x)
            found.append((type(x), len(parts)))
            todo.extend(reversed(parts))
        else:
            found.append((type(x), _LITERAL) if is_operand(x) else _VALUE)
    return tuple(found)


def form_for(pattern: Pattern, at: Site | None = None) -> Form:
    """The code for arguments of a pattern. `at`: where calls count as written, if not where they are."""
    scope: dict[str, Any] = {  # Any: what the code names
        "operand": operand,
        "makes": {},
        "frame_at": sys._getframe,
        "ours": OURS,
        "user_frame": user_frame,
        "site": at,
    }
    lines, key, operands = list[str](), list[str](), list[str]()
    names = (f"x{i}" for i in count())
    whole, *items = pattern
    first = [next(names) for _ in range(whole[1] if whole else 0)]
    todo = first[::-1]
    for item in items:
        name = todo.pop()
        if item is _EXPRESSION:
            key.append(f"{name}.kind")
            operands.append(name)
            continue
        if item is _VALUE:
            key += [f"{name}.__class__", name]
            continue
        scope[f"{name}_class"], number = item
        lines.append(f"if {name}.__class__ is not {name}_class: raise KeyError")
        if number == _LITERAL:
            lines.append(f"{name}, {name}_kind = operand({name})")
            key.append(f"{name}_kind")
            operands.append(name)
        else:
            parts = [next(names) for _ in range(number)]
            lines += _taken_apart(name, item[0], parts)
            todo += parts[::-1]
    head = f"def call({', '.join([*first, *'/' * bool(first)])}):"
    return Form(
        _written(head, [*lines, f"return {tuple_text(key)}"], scope),
        _written(head, [*lines, f"make = makes[{tuple_text(key)}]", *_made(operands, at)], scope),
        scope["makes"],
    )


def _made(operands: Sequence[str], at: Site | None) -> list[str]:
    """The end of a call: what `make` gives, on the line of whoever has called the cell."""
    if at is not None:
        return [f"return make({tuple_text(operands)}, *site)"]
    return [
        "frame = frame_at(2)",
        "code = frame.f_code",
        "if ours[code.co_filename]:",
        "  frame = user_frame()",
        "  code = frame.f_code",
        f"return make({tuple_text(operands)}, code, frame.f_lasti)",
    ]


def _taken_apart(name: str, cls: type, parts: Sequence[str]) -> Iterator[str]:
    if issubclass(cls, tuple):
        if cls is tuple:
            yield f"if len({name}) != {len(parts)}: raise KeyError"  # Python's own error takes twice as long
        yield f"[{', '.join(parts)}] = {name}"
    else:
        for part, field in zip(parts, fields_of(cls), strict=True):
            yield f"{part} = {name}.{field}"


def _written(head: str, lines: Sequence[str], scope: dict[str, Any]) -> Any:  # Any: a function of any type
    return function_of([head, *(f" {line}" for line in lines)], scope, __name__)


P = ParamSpec("P")
R = TypeVar("R")
# of arguments of another form, or of kinds that have not been met
_UNMET: Final = (AttributeError, KeyError, TypeError, ValueError, WengertError)


class Cell(Generic[P, R]):
    """A function of expressions; what it closes over is as it was when it was traced.

    As an attribute of a class it is a cell for each object, which does not outlive that.
    """

    def __init__(
        self, function: Callable[P, R], owner: object = None, called: str = "", remat: bool = False
    ) -> None:
        functools.update_wrapper(self, function)
        _name_within(function)
        self._owner = None if owner is None else weakref.ref(owner)  # the first argument of each call
        self._methods: dict[int, Cell[..., R]] = {}  # by the identity of their owners
        named = function.func if isinstance(function, functools.partial) else function
        name = getattr(named, "__qualname__", "cell").removesuffix(_WITHIN)
        self._templates = Templates(function, called or name, remat)
        self.at: Site | None = None  # where calls count as written, if not here
        self._forms: dict[Pattern, Form] = {}
        self._call = unmet  # of the form that the last call had
        self._makes: dict[CellSignature, Make] = {}
        self.scanned: Cell[..., Any] | None = None  # all steps of `scan` with it; Any: state and outputs

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
        if signature is None:
            return cast(R, self._templates.inlined((*first, *args), kwargs))
        one_of_many = isinstance(signature, _Open)  # each call has its own
        make = _maker(signature) if one_of_many else self._make_of(signature)
        keeps = self._owner is not None and one_of_many  # its owner, for the run
        if not kwargs and not keeps:
            self._remember(args, make)
        frame = user_frame()
        code, offset = self.at or (frame.f_code, frame.f_lasti)
        return cast(R, make(tuple([value for value, _ in pairs]), code, offset))

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
        form = self._forms.get(pattern) or self._forms.setdefault(pattern, form_for(pattern, self.at))
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
            of = self._templates
            found = self._methods[id(owner)] = Cell(of.function, owner, remat=of.remat)
        method = _Method(found)
        method.owner = owner
        return method

    def __reduce_ex__(self, protocol: Any, /) -> Any:  # Any: what `object` declares
        """By name, as a function: that of its module finds the cell. Of `__main__` another process has its own."""
        name = getattr(self, "__qualname__", "")
        found: object = None if self.__module__ == "__main__" else sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else super().__reduce_ex__(protocol)

    def __getstate__(self) -> dict[str, Any]:  # Any: whatever a function has as attributes
        at = self.at and (position(*self.at), 0)  # code is not pickled, and a site is only shown
        caches = {"_methods": {}, "_forms": {}, "_call": unmet, "_makes": {}, "scanned": None}
        return {**self.__dict__, **caches, "at": at}


def _name_within(function: Any) -> None:  # Any: whatever is called
    """Let `pickle` find a script's function where its cell keeps it: by its own name it finds the cell.

    That of a module goes by the name of the cell, and `cloudpickle` sends one of a script by its code.
    """
    name = getattr(function, "__qualname__", "")
    if isinstance(function, FunctionType) and function.__module__ == "__main__" and "<" not in name:
        function.__qualname__ = f"{name.removesuffix(_WITHIN)}{_WITHIN}"


_WITHIN: Final = ".__wrapped__"


class _Method(functools.partial[R]):
    """The cell of one object, which lives until it has been called."""

    owner: object

    def __reduce__(self) -> tuple[Any, ...]:  # Any: what `pickle` takes
        return getattr, (self.owner, self.func.__name__)


def _maker(signature: CellSignature) -> Make:
    """Constructor of a call's node, and of one for each of several results."""
    template, cls, of = signature.template, signature.cls, signature.kind
    read = (*map(lift_any, template.lifted), *template.captured)
    new, serial, rebuild = object.__new__, next_serial, template.rebuild
    results = () if template.single else template.kinds
    parts = [PART.signature((of,), (("index", i), ("of", x))) for i, x in enumerate(results)]
    fields = [(part.cls, part.kind, part) for part in parts]

    # both are `new_node` in place: one more call takes a tenth of the time of a call of a cell
    def make_one(operands: Operands, code: CodeType | str, offset: int) -> Any:  # Any: as in `Make`
        node = new(cls)
        node.kind, node.signature, node.operands = of, signature, operands + read
        node.serial, node.code, node.offset = serial(), code, offset
        return node

    def make_several(operands: Operands, code: CodeType | str, offset: int) -> Any:  # Any: as in `Make`
        whole = new(cls)
        whole.kind, whole.signature, whole.operands = of, signature, operands + read
        whole.serial, whole.code, whole.offset = serial(), code, offset
        found = []
        for part_cls, part_of, part in fields:
            x = new(part_cls)
            x.kind, x.signature, x.operands = part_of, part, (whole,)  # its own tuple: `Reach` counts those
            x.serial, x.code, x.offset = serial(), code, offset
            found.append(x)
        return rebuild(found)

    def make_two(operands: Operands, code: CodeType | str, offset: int) -> Any:  # Any: as in `Make`
        whole, first, second = new(cls), new(first_cls), new(second_cls)
        whole.kind, whole.signature, whole.operands = of, signature, operands + read
        whole.serial, whole.code, whole.offset = serial(), code, offset
        first.kind, first.signature, first.operands = first_of, first_part, (whole,)
        first.serial, first.code, first.offset = serial(), code, offset
        second.kind, second.signature, second.operands = second_of, second_part, (whole,)
        second.serial, second.code, second.offset = serial(), code, offset
        return first, second

    if len(fields) == 2 and rebuild is tuple:  # as of most cells that carry a state
        (first_cls, first_of, first_part), (second_cls, second_of, second_part) = fields
        return make_two
    return make_one if template.single else make_several


@overload
def cell(function: Callable[P, R], /, *, remat: bool = False) -> Callable[P, R]: ...
@overload
def cell(*, remat: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def cell(function: Any = None, /, *, remat: bool = False) -> Any:  # Any: typed by the overloads
    """A function of expressions that becomes one node a call.

    It is traced once for each combination of operand types; expressions and arrays, also in tuples and frozen
    dataclasses, are operands, and anything else (a number, a name) belongs to the trace and has to be hashable.
    Calls with different numbers never run as one batch; `np.float32(x)`, and an array, are operands.
    Weights that it reads without being given them are operands, too. It may return a tuple of expressions. A method
    is a cell for each object; where only the run tells the shapes of operands, a call is traced in the run again.
    A call in which layers have a `forward` of their own, by a plugin, is not one node but what the function gives.
    With `remat` (`@cell(remat=True)`) a training keeps of a call its operands only, and computes what is within once
    more when backward comes to it: a stack of such cells needs the memory of one, and one more forward pass. Values and
    derivatives have the same bits; deltas of matrices are made at once, so a step of SGD may differ in the last one.
    Derivative: that of what it does.
    Raises ArgumentError for an `async def`, and where it returns no expression or waits for a value.
    >>> from wengert import DoubleLayer, lift
    >>> @cell
    ... def step(h: DoubleLayer, x: DoubleLayer) -> tuple[DoubleLayer, DoubleLayer]:
    ...     return h + x, h * x
    >>> a, b = step(lift(2.0), lift(3.0))
    >>> (a * b).predict().run()
    30.0

    Source: as a node of its own, TensorFlow Fold's loom operations; `remat`: Chen et al. 2016, "Training Deep Nets with
    Sublinear Memory Cost", and JAX, `jax.checkpoint`.
    """
    if not isinstance(remat, bool):
        raise ArgumentError(f"@cell: remat is True or False; got {shown(remat)}\n  at {user_position()}")
    if function is None:
        return functools.partial(cell, remat=remat)
    if not callable(function):
        raise ArgumentError(
            f"@cell takes a function of expressions; got {shown(function)}\n  at {user_position()}"
        )
    if iscoroutinefunction(function):
        raise ArgumentError(
            f"@cell: {function.__qualname__} is an async def, which waits for values, and a cell is traced before "
            f"any run; write @differentiable, and cells for what it does between waits\n  at {user_position()}"
        )
    return Cell(function, remat=remat)
