"""Weights: expressions with data that training changes.

Knows: what a weight holds (data in versions, a name, the optimizer that its settings gave it) and what every
optimizer must be able to do.
Refuses to know: any optimizer, and when a commit happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from os.path import basename
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, Never, Protocol, Self, TypeVar

from wengert.arrays import (
    FLOAT32,
    FLOAT64,
    Cpu,
    Dv,
    Float32,
    Gpu,
    GpuArray,
    HostArray,
    Narrow,
    S,
    T,
    Value,
    as_readonly,
    own_copy,
)
from wengert.arrays.changes import Change
from wengert.delta import Parameter
from wengert.differentiable import implementation, refusal
from wengert.dims import Dimension
from wengert.errors import ArgumentError, NotDifferentiableError, raise_all
from wengert.graph.expressions import ArrayOperand, DataOperand, DoubleOperand, FloatOperand
from wengert.graph.kinds import Column, Role, kind, kind_from_data
from wengert.graph.literals import checked_array, checked_name, checked_number
from wengert.graph.node import Expression
from wengert.graph.operand import array_kind, as_number, shown
from wengert.graph.store import Ref, exposed
from wengert.site import column, user_frame, user_position

if TYPE_CHECKING:
    from typing import overload

X = TypeVar("X")
G = TypeVar("G")


class Updates(Protocol):
    """A weight's optimizer: a pure step on a copy of itself, which a commit then keeps.

    `pure`: whether its class has promised to write into nothing that it is given, and to keep none of it.
    `reduced`: names of states that have some axes of the weight with one element only.
    `only_finite`: `admit_all` refuses a loss or a delta that is not finite, and nothing else.
    `tells`: `committed` does something.
    """

    pure: ClassVar[bool]
    only_finite: ClassVar[bool]
    tells: ClassVar[bool]
    reduced: ClassVar[frozenset[str]]

    def staged(self) -> Self:
        """A copy to step; the original stays as it is until the commit."""
        ...

    def staged_with(self, settings: Any) -> Self:  # Any: of the class of its own
        """A copy to step that has these settings."""
        ...

    def admit(self, loss: Value, delta: Value, weight: Weight) -> None:
        """Raise to refuse the whole update; called for every weight before any step."""
        ...

    def admit_all(self, loss: Value, deltas: Sequence[tuple[Weight, Value]]) -> None:
        """Raise to refuse the whole update; called once for each settings object, with the deltas of all weights."""
        ...

    def together(self, updates: Sequence[Update]) -> None:
        """Called once a commit for each settings object, before any step, with the weights of all of them."""
        ...

    def step(self, delta: Value, weight: Weight) -> Value:
        """The amount to subtract from the weight for its whole delta of one run."""
        ...

    def inputs(self) -> dict[str, float]:
        """Numbers of the settings that commits change, by attribute: inputs of a plan, whose steps read these."""
        ...

    def _late_changes(self, alone: bool) -> Sequence[Change]:
        """The changes of a commit besides that this is the weight's optimizer; none is made yet.

        `alone`: nobody but the weight, which will let go of it, has the optimizer that this is a copy of.
        """
        ...

    def _loading(self, optimizers: Sequence[Self]) -> Sequence[Change]:
        """The changes that go with weights of one settings object which get these optimizers from a file."""
        ...

    def committed(self, weights: Sequence[Weight]) -> None:
        """Called once after a commit that has changed these weights of one settings object."""
        ...

    def loaded(self, weights: Sequence[Weight]) -> None:
        """Called once after these weights of one settings object have got their states from a file."""
        ...

    def kept(self) -> dict[str, Value]:
        """The state that a file keeps, by name."""
        ...

    def state(self) -> dict[str, Value] | None:
        """The state that steps change, by name, if a step depends on it, delta, data and settings alone; else None."""
        ...

    @property
    def settings(self) -> object:
        """The settings, which no step changes."""
        ...


class Weight(Expression):
    """The base of the four kinds of weights."""

    __slots__ = ("_name", "optimizer", "ref", "settings")
    ref: Ref
    _name: str | None
    optimizer: Updates
    settings: object  # of all its optimizers: one is a copy of the one before

    def _begin(self, data: Value, optimizer: Updates, name: str | None) -> None:
        checked_name(type(self).__name__, name)
        frame = user_frame()
        self.code, self.offset = frame.f_code, frame.f_lasti
        self.ref, self.optimizer, self._name = Ref(data), optimizer, name
        self.settings = optimizer.settings

    @property
    def name(self) -> str:
        """The name it was given, else `file:line` where it was made, with a column where that line makes several."""
        return self._name or basename(self._place)

    @property
    def _place(self) -> str:
        return self.site + column(self.code, self.offset)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r:.200} {self.kind.text()}>"

    def __getstate__(self) -> tuple[object, dict[str, Any]]:  # Any: slots of all types
        """The state of a pickle, with the site as text: a code object is of one process."""
        state: Any = super().__getstate__()  # Any: typeshed says object
        own, slots = state
        return own, {**slots, "code": self._place, "offset": 0}

    def __copy__(self) -> Self:
        """Another weight with data and state of its own, which begin as these are, and the same settings."""
        own, slots = self.__getstate__()
        twin = object.__new__(type(self))
        for name, value in {**slots, "ref": deepcopy(self.ref), "optimizer": self.optimizer.staged()}.items():
            setattr(twin, name, value)
        if isinstance(own, dict):
            vars(twin).update(own)
        return twin


class Update(NamedTuple):
    """One weight in a commit: its whole delta, and the copy of its optimizer that will step."""

    weight: Weight
    delta: Value
    optimizer: Updates


def update_of(weight: Weight) -> str:
    """The update of a weight, in words, for a note of an error."""
    return f"in the update of {weight!r}, made at {weight.site}"


def by_settings(weights: Iterable[Weight]) -> list[list[Weight]]:
    """The weights of each settings object, which is one by identity."""
    groups: dict[int, list[Weight]] = {}
    for weight in weights:
        groups.setdefault(id(weight.settings), []).append(weight)
    return list(groups.values())


def told(groups: Sequence[Sequence[Weight]]) -> None:
    """Tell optimizers that a commit has changed these weights, those of each settings object together."""
    failures: list[Exception] = []
    for group in groups:
        try:
            group[0].optimizer.committed(group)
        except Exception as failure:
            failures.append(failure)
    raise_all(failures)


def data_of(weight: Weight) -> Value:
    """The present data, for a step to read: it cannot be written to, and is not to be kept.

    `weight.data` would be kept by whoever asked for it, so the commit could not change it in place. Of a weight that is
    kept in two bytes it is the float32 array.
    """
    data = weight.ref.data
    return as_readonly(data.widened() if isinstance(data, Narrow) else data)


def _refuse(weight: Weight, value: object) -> Never:
    """The error of `weight.data = value`."""
    raise AttributeError(
        f"data of {weight!r} change in commits; write wengert.assign({{weight: value}}).run()\n"
        f"  at {user_position()}"
    )


class DoubleWeight(DoubleOperand, Weight):
    """A trainable double."""

    __slots__ = ()

    def __init__(self, data: float, optimizer: Updates, name: str | None = None) -> None:
        self.kind = kind(Column.DOUBLE, (), FLOAT64, "cpu", Role.WEIGHT)
        self._begin(as_number(checked_number("double_weight", data)), optimizer, name)

    @property
    def data(self) -> float:
        """The present value."""
        data: float = self.ref.data
        return data

    if not TYPE_CHECKING:
        data = data.setter(_refuse)


class FloatWeight(FloatOperand, Weight):
    """A trainable float."""

    __slots__ = ()

    def __init__(self, data: float | Float32, optimizer: Updates, name: str | None = None) -> None:
        self.kind = kind(Column.FLOAT, (), FLOAT32, "cpu", Role.WEIGHT)
        self._begin(Float32(checked_number("float_weight", data)), optimizer, name)

    @property
    def data(self) -> Float32:
        """The present value."""
        data: Float32 = self.ref.data
        return data

    if not TYPE_CHECKING:
        data = data.setter(_refuse)


class _Data:
    """The descriptor of `data`: the exact array type by device, which a property cannot state."""

    if TYPE_CHECKING:

        @overload
        def __get__(
            self, weight: ArrayWeight[S, T, Cpu] | Buffer[S, T, Cpu], cls: object
        ) -> HostArray[S, T]: ...
        @overload
        def __get__(
            self, weight: ArrayWeight[S, T, Gpu] | Buffer[S, T, Gpu], cls: object
        ) -> GpuArray[S, T]: ...

    def __get__(self, weight: Any, cls: object) -> Any:  # Any: typed by the overloads
        return self if weight is None else exposed(weight.ref)

    if not TYPE_CHECKING:  # checkers say that it is read-only

        def __set__(self, weight: Weight, value: object) -> Never:
            _refuse(weight, value)


class _Exchanged(Weight):
    """A weight whose data other libraries read in place: `numpy.from_dlpack(weight)`, as of a read-only array.

    Source: the array API standard, `__dlpack__`.
    """

    __slots__ = ()

    # Any: a capsule, which Python has no type for, and what the standard lets a library say of the way to get it
    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None, **options: Any
    ) -> Any:
        """A DLPack capsule of the present data; a copy for a library that does not know of read-only memory."""
        data = exposed(self.ref)
        if self.kind.device != "cpu":
            return data.__dlpack__(stream=stream, max_version=max_version, **options)
        shares = max_version is not None and max_version >= (1, 0)
        return (data if shares else data.copy()).__dlpack__(stream=stream, max_version=max_version, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The DLPack device type and number of the data."""
        found: tuple[int, int] = exposed(self.ref).__dlpack_device__()
        return found


class ArrayWeight(ArrayOperand[S, T, Dv], _Exchanged, Generic[S, T, Dv]):
    """A trainable array; it keeps a copy of what it is given."""

    __slots__ = ()
    data = _Data()

    def __init__(
        self, data: Value, dims: tuple[Dimension, ...], optimizer: Updates, name: str | None = None
    ) -> None:
        data = checked_array("array_weight", data, dims)
        self.kind = array_kind(data, Role.WEIGHT)
        self._begin(own_copy(data), optimizer, name)


class Buffer(ArrayOperand[S, T, Dv], _Exchanged, Generic[S, T, Dv]):
    """An array that runs compute and commit: every operation reads it as a constant, and no optimizer changes it."""

    __slots__ = ()
    data = _Data()
    if TYPE_CHECKING:
        _delta: None  # type: ignore[assignment] # what is never differentiated is no target of `gradients`

    def __init__(
        self, data: Value, dims: tuple[Dimension, ...], optimizer: Updates, name: str | None = None
    ) -> None:
        data = checked_array("buffer", data, dims)
        self.kind = array_kind(data, Role.BUFFER)
        self._begin(own_copy(data), optimizer, name)


class DataWeight(DataOperand[X, G], Weight, Generic[X, G]):
    """A trainable value of a registered class that is a `Parameter`."""

    __slots__ = ()

    def __init__(self, data: Parameter[X, G], optimizer: Updates, name: str | None = None) -> None:
        cls, found = type(data), implementation(data)
        if found is None:
            raise NotDifferentiableError(f"data_weight: {refusal(data)}\n  at {user_position()}")
        missing = [member for member in _MEMBERS if not callable(getattr(cls, member, None))]
        if missing:
            raise ArgumentError(
                f"data_weight: {shown(data)} has no {', '.join(missing)}; a value that a weight holds has what "
                f"wengert.extend.Parameter says; numbers and arrays have double_weight, float_weight and array_weight\n"
                f"  at {user_position()}"
            )
        stated = kind_from_data(found.data, Role.WEIGHT)
        if stated.column is not Column.OTHER or not issubclass(cls, stated.dtype or object):
            raise ArgumentError(
                f"data_weight: {cls.__name__} is registered with Data {stated.text()}, and those of a weight are the "
                f"value that it holds; write -> Do[Tape[{cls.__name__}, Delta]]\n  at {user_position()}"
            )
        self.kind = kind(Column.OTHER, None, cls, "cpu", Role.WEIGHT)
        self._begin(data, optimizer, name)

    @property
    def data(self) -> X:
        """The present value."""
        data: X = self.ref.data
        return data

    if not TYPE_CHECKING:
        data = data.setter(_refuse)


_MEMBERS: Final = ("zero_delta", "stepped", "to_array", "from_array")


def array_of(weight: Weight) -> Value:
    """The present data as a number or an array: what a file has."""
    return weight.ref.data.to_array() if weight.kind.column is Column.OTHER else data_of(weight)


def made_of(weight: Weight, array: Value) -> Value:
    """Data for a weight of a number or an array that a file has."""
    return weight.ref.data.from_array(array) if weight.kind.column is Column.OTHER else array
