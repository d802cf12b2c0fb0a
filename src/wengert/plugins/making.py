"""Weights from settings: the class that all `weight` parts of a settings class make with a kind of weight.

Knows: that members a part declares are keywords where the weight is made; that a part decides by `forward` what
a weight is in a run, and by nothing else that has a second way to be asked.
Refuses to know: optimizers' steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar, cast

from wengert.arrays import ArrayLiteral, Cpu, Dv, Dv_co, Float32, T, Value
from wengert.control import Do
from wengert.delta import Parameter
from wengert.differentiable import Tape
from wengert.dims import Dimension
from wengert.errors import PluginError
from wengert.graph.kinds import Role, with_family, with_role
from wengert.graph.node import Expression, asked
from wengert.graph.operand import stored
from wengert.graph.weights import ArrayWeight, Buffer, DataWeight, DoubleWeight, FloatWeight, Updates, Weight
from wengert.plugins.layers import LayerPart, check_part, family_of
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.parts import merged_part
from wengert.site import user_position

W = TypeVar("W", bound=Weight)
X = TypeVar("X")
G = TypeVar("G")


class WeightPart:
    """The base of what plugins add to weights: annotated members become keywords where a weight is made.

    A part that overrides the property `forward` decides what the weight is in every run: operations take the data of
    its tape, and their deltas go to the backward of that. `super().forward` is the tape of the part to the right, in
    the end of what the weight stores; a delta that is sent there reaches the optimizer. `data` and files have what is
    stored, and the gradient by the weight is the delta that reaches it.
    PluginError at the class statement for what could be asked in a second way that would not obey: operators,
    `predict`, `train`, `await`, `data`, `shape`, `backward` and the like.

    >>> from wengert.plugins import SGD, Plugin
    >>> class Halved(WeightPart):
    ...     @property
    ...     def forward(self) -> Do[Tape[Any, Any]]:
    ...         return super().forward.map(
    ...             lambda tape: Tape(tape.data * 0.5, lambda d: tape.backward(d.map(lambda d: d * 0.5)))
    ...         )
    >>> class Halving(Plugin):
    ...     weight = Halved
    >>> class Settings(Halving, SGD): ...
    >>> w = Settings(learning_rate=1.0).double_weight(4.0)
    >>> (w * 3.0).train().run(), w.predict().run(), w.data
    (6.0, 1.25, 2.5)
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        check_part(cls, WeightPart, "weight")

    if TYPE_CHECKING:  # of the kind of weight, to the right of all parts

        @property
        def forward(self) -> Do[Tape[Any, Any]]: ...  # Any: parts fit every kind of weight

    def made(self) -> None:
        """Called when the weight and its members are there; call `super().made()` as well."""


class _OwnForward(Weight):
    """Between the parts of a class with a `forward` of its own and the kind of weight."""

    __slots__ = ()

    def _begin(self, data: Value, optimizer: Updates, name: str | None) -> None:
        super()._begin(data, optimizer, name)
        self.kind = with_role(self.kind, Role.OWN)

    @property
    def forward(self) -> Do[Tape[Any, Any]]:  # Any: of every kind of weight
        """`super().forward` of the part to the left."""
        return asked("forward", stored(self))


class _WeightOf:
    """`weight`: of a class of settings the part that it names, of its objects `data_weight`."""

    def __init__(self, part: type | None) -> None:
        self._part = part

    def __get__(self, settings: Maker | None, owner: type) -> object:
        return self._part if settings is None else settings.data_weight


class _MakesWeight(Protocol):
    """The type of `data_weight` of an object."""

    def __call__(
        self, value: Parameter[X, G], /, *, name: str | None = None, **members: object
    ) -> DataWeight[X, G]: ...


class Placing(Protocol[Dv_co]):
    """Settings as the layers that they make see them: the type of the device on which weights of theirs begin."""

    @property
    def begins_on(self) -> Dv_co: ...


class Maker:
    """The methods of every settings object that make weights."""

    # of its objects; Any: the part that a class names instead, which stands here
    weight: ClassVar[_MakesWeight | Any] = _WeightOf(None)

    @property
    def begins_on(self) -> Cpu:
        """Device of the weights of layers that are made from sizes; `OnDevice` has another."""
        return "cpu"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        part: object = vars(cls).get("weight")
        if isinstance(part, type):
            check_part(part, WeightPart, "weight")
            type.__setattr__(cls, "weight", _WeightOf(part))
        layer: object = vars(cls).get("layer")
        if isinstance(layer, type):
            check_part(layer, LayerPart, "layer")

    def double_weight(self, data: float, /, *, name: str | None = None, **members: object) -> DoubleWeight:
        """A trainable double with this object's optimizer."""
        return self._make(DoubleWeight, (data,), name, members)

    def float_weight(
        self, data: float | Float32, /, *, name: str | None = None, **members: object
    ) -> FloatWeight:
        """A trainable float with this object's optimizer."""
        return self._make(FloatWeight, (data,), name, members)

    # Any, as the shape: the mypy plugin puts the stated dimensions there
    def array_weight(
        self, data: ArrayLiteral[T, Dv], /, *dims: Dimension, name: str | None = None, **members: object
    ) -> ArrayWeight[Any, T, Dv]:
        """A trainable array with this object's optimizer: a copy of `data`, checked against `dims` if stated."""
        made: Any = self._array(data, dims, name, members)  # Any: dtype and device are those of `data`
        weight: ArrayWeight[Any, T, Dv] = made
        return weight

    # Any: an array of either library
    def _array(
        self, data: Any, dims: tuple[Dimension, ...], name: str | None, members: dict[str, object]
    ) -> Expression:
        """The result of `array_weight`: another plugin may keep the data in another form."""
        return self._make(ArrayWeight, (data, dims), name, members)

    # Any, as the shape: as above
    def buffer(
        self, data: ArrayLiteral[T, Dv], /, *dims: Dimension, name: str | None = None
    ) -> Buffer[Any, T, Dv]:
        """An array that runs compute and commit, and no optimizer changes: a copy of `data`, checked against `dims`.

        `wengert.update` and `wengert.with_update` give it new data.
        """
        made: Any = Buffer(data, dims, Optimizer(cast(Any, _NO_SETTINGS)), name)  # Any: as above
        buffer: Buffer[Any, T, Dv] = made
        return buffer

    def data_weight(
        self, value: Parameter[X, G], /, *, name: str | None = None, **members: object
    ) -> DataWeight[X, G]:
        """A trainable value of a registered class of your own, which says how it takes a step and what a file has.

        It is stepped by this object's optimizer in the commit of a run, saved and resumed as every weight. Raises
        NotDifferentiableError for a class that is not registered, ArgumentError for one that is no `extend.Parameter`
        or has Data of another class. `weight(value)` is the same; checkers know its type unless a class of settings
        names the part of all kinds of weights so, where the mypy plugin does.
        """
        made: DataWeight[X, G] = self._make(DataWeight, (value,), name, members)
        return made

    def _make(
        self, base: type[W], arguments: tuple[object, ...], name: str | None, members: dict[str, object]
    ) -> W:
        cls = weight_class(type(self), base)
        # Any: a Plugin, which is a Maker
        optimizer = merged_part(type(self), "optimizer", Optimizer)(cast(Any, self))
        weight: W = cast(Any, cls)(*arguments, optimizer, name)  # Any: the four kinds take different data
        weight.kind = with_family(weight.kind, family_of(self))
        if isinstance(weight, WeightPart):
            _set_members(weight, members)
            weight.made()
        elif members:
            _refuse(cls, {}, members)
        return weight


_NO_SETTINGS: Final = Maker()  # of what no optimizer steps


def weight_class(settings: type, base: type[W]) -> type[W]:
    """The class of the weights of one kind that a settings class makes; made once for a settings class."""
    part = merged_part(settings, "weight", WeightPart)
    if part is WeightPart:
        return base
    made: dict[type, type[W]] = vars(part).get("_with", {})
    if base not in made:
        own = (_OwnForward,) * any("forward" in vars(owner) for owner in part.__mro__)
        made[base] = type(base.__name__, (part, *own, base), {"__module__": base.__module__})
        part._with = made  # type: ignore[attr-defined] # on the part, so that it dies with the settings class
    return made[base]


def _members_of(cls: type) -> dict[str, bool]:
    """The members that weight parts declare, and whether each has a value already."""
    parts = [part for part in cls.__mro__ if issubclass(part, WeightPart)]
    return {name: hasattr(cls, name) for part in parts for name in vars(part).get("__annotations__", ())}


def _set_members(weight: Weight, members: dict[str, object]) -> None:
    known = _members_of(type(weight))
    missing = [name for name, has_value in known.items() if not has_value and name not in members]
    if missing or not members.keys() <= known.keys():
        _refuse(type(weight), known, members)
    for name, value in members.items():
        setattr(weight, name, value)


def _refuse(cls: type, known: dict[str, bool], given: dict[str, object]) -> None:
    unknown = sorted(given.keys() - known.keys())
    missing = sorted(name for name, has_value in known.items() if not has_value and name not in given)
    said = [f"does not know {', '.join(unknown)}"] * bool(unknown) + [f"misses {', '.join(missing)}"] * bool(
        missing
    )
    keywords = ", ".join(["name", *known])
    raise PluginError(
        f"{cls.__name__} {' and '.join(said)}; its keywords: {keywords}\n  at {user_position()}"
    )
