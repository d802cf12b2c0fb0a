"""Classes that plugins merge are known: weights and layers with their parts, what is injected, and conflicts (D60)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, assert_type

import numpy as np

import wengert as wg
from wengert.extend import LayerPart, WeightPart
from wengert.plugins import SGD, Factory, Plugin, inject


class Scaled(WeightPart):
    unit: str = "m"

    def in_unit(self) -> str:
        return self.unit


class Squaring(LayerPart):
    def squared(self) -> wg.DoubleLayer:
        return wg.lift(1.0) * 2.0

    def __or__(self, function: Callable[[LayerPart], wg.DoubleLayer]) -> wg.DoubleLayer:
        return function(self)


class Rounding(LayerPart):
    bits: int

    def rounded(self) -> wg.DoubleLayer:
        return wg.lift(1.0) * 2.0


class Scales(Plugin):
    weight: ClassVar[type[WeightPart]] = Scaled


class Squares(Plugin):
    layer: ClassVar[type[LayerPart]] = Squaring


class Rounds(Plugin):
    layer: ClassVar[type[LayerPart]] = Rounding


class Settings(Scales, Squares, Rounds, SGD): ...


class Layered(Squares, SGD): ...


def square(x: LayerPart) -> wg.DoubleLayer:
    return wg.lift(1.0) * 2.0


def case_weights_have_what_their_parts_add(settings: Settings) -> None:
    w = settings.double_weight(1.0, unit="km")
    assert_type(w.in_unit(), str)
    assert_type(w.unit, str)
    a = settings.array_weight(np.ones((2, 3), np.float32), 2, 3)
    assert_type(a.in_unit(), str)
    assert_type(a.shape, tuple[Literal[2], Literal[3]])
    sgd = SGD(learning_rate=0.1).double_weight(1.0)
    sgd.in_unit()  # E[attr-defined]: "DoubleWeight" has no attribute "in_unit"


def case_layers_have_what_theirs_add(settings: Settings, layered: Layered) -> None:
    w = settings.double_weight(1.0)
    assert_type((w * 2.0).squared(), wg.DoubleLayer)
    (2.0 * w).squared()
    wg.exp(w * 2.0).rounded()
    ((w * 2.0) * 3.0 + 1.0).squared()
    assert_type(w * 2.0 | square, wg.DoubleLayer)
    (-w).squared()
    assert_type((w * 2.0).predict().run(), float)
    (w * 2.0).cubed()  # E[attr-defined]: has no attribute "cubed"
    w.squared()  # E[attr-defined]: has no attribute "squared"
    wg.lift(1.0).squared()  # E[attr-defined]: "DoubleLayer" has no attribute "squared"
    (layered.double_weight(1.0) * 2.0).rounded()  # E[attr-defined]: has no attribute "rounded"
    (wg.lift(1.0) * w).squared()


def case_arrays_keep_their_shapes(settings: Settings) -> None:
    a = settings.array_weight(np.ones((2, 3), np.float32), 2, 3)
    b = wg.matmul(a, np.ones((3, 4), np.float32))
    b.squared()
    assert_type((a + a).shape, tuple[Literal[2], Literal[3]])
    wg.sum(a).squared()
    x: wg.ArrayLayer[tuple[Literal[2], Literal[3]]] = a * 2.0
    x = a * 3.0
    y = a * 2.0
    y = a * 3.0
    wg.train(wg.sum(x * y))


class Field:
    def method1(self) -> int:
        return 1


class Extended(Field):
    def method2(self) -> str:
        return ""


class Numbered(Field):
    def method3(self) -> float:
        return 0.0


class Base(Plugin):
    field: ClassVar[type[Field]] = Field
    made: Callable[[], Field] = inject()
    factory: Factory[[], Field] = inject()


class Extends(Base):
    field: ClassVar[type[Field]] = Extended


class Numbers(Base):
    field: ClassVar[type[Field]] = Numbered


class Mixed(Extends, Numbers): ...


def case_what_is_injected_makes_the_merged_class(mixed: Mixed, one: Extends, base: Base) -> None:
    assert_type(mixed.made().method1(), int)
    assert_type(mixed.made().method2(), str)
    assert_type(mixed.made().method3(), float)
    assert_type(mixed.factory.new_instance().method2(), str)
    assert_type(one.made(), Extended)
    one.made().method3()  # E[attr-defined]: "Extended" has no attribute "method3"
    base.made().method2()  # E[attr-defined]: "Field" has no attribute "method2"


class One(Plugin):
    rate: float


class Two(Plugin):
    rate: str


class Most(Extended): ...


class Others(Plugin):
    other: ClassVar[type[Extended]] = Extended


class Mosts(Plugin):
    other: ClassVar[type[Extended]] = Most


def case_conflicts_are_refused_at_the_class_statement() -> None:
    class Both(One, Two): ...  # E[settings]: Both: one member with two types, One.rate: float and

    class Wrong(Others, Mosts): ...  # E[settings]: Most extends Extended, so put Mosts left of Others

    class Right(Mosts, Others): ...


def case_parts_decide_what_every_run_obeys() -> None:
    class Adding(LayerPart):
        def __add__(self, x: float) -> float:  # E[settings]: Adding.__add__: a part of a layer cannot
            return x

    class Predicting(WeightPart):
        def predict(self) -> float:  # E[settings]: Predicting.predict: a part of a weight cannot decide this
            return 1.0


def case_classes_of_functions_are_known_as_well() -> None:
    class Cubing(LayerPart):
        def cubed(self) -> wg.DoubleLayer:
            return square(self)

    class Cubes(Plugin):
        layer: ClassVar[type[LayerPart]] = Cubing

    class Local(Cubes, SGD): ...

    (Local(learning_rate=0.1).double_weight(1.0) * 2.0).cubed()
