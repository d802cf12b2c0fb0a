"""Weights from settings: the class that all `weight` parts of a settings class make with a kind of weight.

Knows: that members a part declares are keywords where the weight is made (D61).
Refuses to know: optimizers' steps.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from wengert.arrays import ArrayLiteral, Dv, Float32, T
from wengert.dims import Dimension
from wengert.errors import PluginError
from wengert.graph.site import user_position
from wengert.graph.weights import ArrayWeight, DoubleWeight, FloatWeight, Weight
from wengert.plugins.optimizer import Optimizer
from wengert.plugins.parts import merged_part

W = TypeVar("W", bound=Weight)


class WeightPart:
    """The base of what plugins add to weights: annotated members become keywords where a weight is made."""

    def made(self) -> None:
        """Called when the weight and its members are there; call `super().made()` as well."""


class Maker:
    """The methods of every settings object that make weights."""

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
        made: Any = self._make(
            ArrayWeight, (data, dims), name, members
        )  # Any: dtype and device are those of `data`
        weight: ArrayWeight[Any, T, Dv] = made
        return weight

    def _make(
        self, base: type[W], arguments: tuple[object, ...], name: str | None, members: dict[str, object]
    ) -> W:
        cls = weight_class(type(self), base)
        optimizer = merged_part(type(self), "optimizer", Optimizer)(
            cast(Any, self)
        )  # Any: a Plugin, which is a Maker
        weight: W = cast(Any, cls)(*arguments, optimizer, name)  # Any: the three kinds take different data
        if isinstance(weight, WeightPart):
            _set_members(weight, members)
            weight.made()
        elif members:
            _refuse(cls, {}, members)
        return weight


def weight_class(settings: type, base: type[W]) -> type[W]:
    """The class of the weights of one kind that a settings class makes; made once for a settings class."""
    part = merged_part(settings, "weight", WeightPart)
    if part is WeightPart:
        return base
    made: dict[type, type[W]] = vars(part).get("_with", {})
    if base not in made:
        made[base] = type(base.__name__, (part, base), {"__module__": base.__module__})
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
