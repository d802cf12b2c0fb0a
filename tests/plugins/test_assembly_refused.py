"""What is left open by a plugin, and combinations that are refused (D63, D64, T53)."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from typing import Protocol

import pytest

from wengert.errors import PluginError
from wengert.plugins.plugin import Plugin

Alias = float


class LearningRate(Plugin):
    learning_rate: float


class Rate(Plugin):
    @property
    @abstractmethod
    def rate_now(self) -> float: ...


class Constant(Rate):
    constant: float

    @property
    def rate_now(self) -> float:
        return self.constant


class Scheduled(Rate):
    schedule: Callable[[int], float]

    @property
    def rate_now(self) -> float:
        return self.schedule(0)


class Decay(Rate):
    decay: float = 0.1


class HasRate(Protocol):
    @property
    def rate_now(self) -> float: ...


class HasConstant(Protocol):
    @property
    def constant(self) -> float: ...


def rate_of(settings: HasRate) -> float:
    return settings.rate_now


def test_d63_what_a_plugin_inherits_another_supplies() -> None:
    class Left(Decay, Constant): ...

    class Right(Scheduled, Decay): ...

    assert rate_of(Left(constant=0.5)) == 0.5
    assert rate_of(Right(schedule=lambda t: 0.25)) == 0.25


def test_d63_supplied_by_nobody() -> None:
    class Lonely(Decay): ...

    make: Callable[..., Lonely] = Lonely
    with pytest.raises(PluginError) as caught:
        make(decay=0.1)
    text = str(caught.value)
    assert text.startswith(
        "Lonely cannot be made: no plugin supplies rate_now, which Rate declares; add Constant or "
    )
    assert "Scheduled" in text


def test_d63_supplied_by_nobody_and_nobody_known() -> None:
    class Open(Plugin):
        @property
        @abstractmethod
        def seed(self) -> int: ...

    make: Callable[..., Open] = Open
    with pytest.raises(PluginError) as caught:
        make()
    assert str(caught.value) == (
        "Open cannot be made: no plugin supplies seed, which Open declares; define seed in a plugin that "
        "inherits Open"
    )


def test_d63_supplied_by_a_plugin_that_does_not_inherit_the_need() -> None:
    class Needs(Plugin):
        @property
        @abstractmethod
        def seed(self) -> int: ...

    class Gives(Plugin):
        @property
        def seed(self) -> int:
            return 1

    class Hidden(Needs, Gives): ...

    class Found(Gives, Needs): ...

    make: Callable[..., Hidden] = Hidden
    with pytest.raises(PluginError, match="Gives has one but stands right of it: let Gives inherit Needs"):
        make()
    assert Found().seed == 1


def test_d63_supplied_by_two() -> None:
    with pytest.raises(PluginError) as caught:

        class Twice(Decay, Constant, Scheduled): ...

    assert str(caught.value) == (
        "Twice: Constant and Scheduled supply rate_now, which Rate declares; keep one of them"
    )


def test_d63_the_settings_themselves_may_decide_between_two() -> None:
    class Decided(Constant, Scheduled):
        @property
        def rate_now(self) -> float:
            return self.constant * self.schedule(0)

    assert Decided(constant=0.5, schedule=lambda t: 0.5).rate_now == 0.25


def test_d63_a_member_supplies_an_abstract_property() -> None:
    class Sized(Plugin):
        @property
        @abstractmethod
        def size(self) -> int: ...

    class Given(Sized):
        size: int

    class Fixed(Sized):
        size: int = 3

    assert Given(size=2).size == 2
    assert Fixed().size == 3


def test_d64_one_member_with_two_types_names_both_plugins() -> None:
    class Float(Plugin):
        rate: float

    class Text(Plugin):
        rate: str

    class Again(Plugin):
        rate: float = 0.5

    class Fine(Again, Float): ...

    assert Fine().rate == 0.5
    with pytest.raises(PluginError) as caught:
        type("Clash", (Float, Text), {})

    assert str(caught.value) == (
        "Clash: one member with two types, Float.rate: float and Text.rate: str; give both the same type, or "
        "one of them another name"
    )


def test_d64_types_are_compared_by_meaning_and_else_by_text() -> None:
    class Plain(Plugin):
        rate: float

    class Aliased(Plugin):
        rate: Alias

    class Checked(Plugin):
        shape: OnlyForCheckers  # type: ignore[name-defined]  # noqa: F821  # as if imported under TYPE_CHECKING

    class Likewise(Plugin):
        shape: OnlyForCheckers  # type: ignore[name-defined]  # noqa: F821  # as if imported under TYPE_CHECKING

    class Together(Plain, Aliased, Checked, Likewise): ...

    assert list(inspect.signature(Together).parameters) == ["shape", "rate"]


def test_d64_a_plugin_inherited_twice_acts_once() -> None:
    bodies: list[str] = []

    class Shared(Plugin):
        shared: int = 1

        def __post_init__(self) -> None:
            bodies.append("Shared")

    class One(Shared): ...

    class Two(Shared): ...

    class Whole(One, Two, Shared): ...

    assert repr(Whole()) == "Whole(shared=1)"
    assert bodies == ["Shared"]


def test_d64_a_member_cannot_be_replaced_by_something_else() -> None:
    class Computed(Plugin):
        @property
        def learning_rate(self) -> float:
            return 0.5

    for left, right in ((Computed, LearningRate), (LearningRate, Computed)):
        with pytest.raises(PluginError) as caught:
            type("Mixed", (left, right), {})
        assert str(caught.value) == (
            "Mixed: LearningRate.learning_rate: float is a member, and Computed.learning_rate is something "
            "else; write `learning_rate: float = ...` for another value, or rename one of them"
        )
    with pytest.raises(PluginError, match=r"and Bare\.learning_rate is something else"):

        class Bare(LearningRate):
            learning_rate = 0.5


def test_a_value_that_changes_in_place_would_be_shared() -> None:
    with pytest.raises(PluginError) as caught:

        class Shared(Plugin):
            history: list[int] = []  # noqa: RUF012  # the mistake under test

    assert str(caught.value) == (
        "Shared.history = [] can be changed in place and would be shared by all settings; give something "
        "immutable, or declare `history: Callable[[], list[int]]`"
    )


def test_a_plugin_with_its_own_constructor_is_refused() -> None:
    with pytest.raises(PluginError, match=r"Own defines __init__, .*; declare members, and compute in"):

        class Own(LearningRate):
            def __init__(self, rate: float) -> None: ...


def test_consumers_take_protocols_and_protocols_may_be_bases() -> None:
    class Explicit(Constant, HasConstant): ...

    def read(settings: HasConstant) -> float:
        return settings.constant

    assert read(Explicit(constant=0.5)) == read(Constant(constant=0.5)) == 0.5
