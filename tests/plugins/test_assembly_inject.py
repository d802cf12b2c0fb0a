"""Members filled by their type (D59, D163, D164)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar, assert_type

import pytest

from wengert.errors import PluginError
from wengert.plugins.inject import Factory, inject, provide
from wengert.plugins.plugin import Plugin

T = TypeVar("T")


class Clock:
    def __init__(self, hour: int = 0) -> None:
        self.hour = hour


class WallClock(Clock): ...


class Clocked(Plugin):
    clock: Clock


class Timed(Plugin):
    time: Clock = inject()


class Provided: ...


class Rival: ...


@provide(Provided)
def provided() -> Provided:
    return Provided()


@provide(Rival)
def rival() -> Rival:
    return Rival()


@provide(Rival)
def second_rival() -> Rival:
    return Rival()


class Part:
    def __init__(self, size: int = 1) -> None:
        self.size = size


class LeftPart(Part): ...


class RightPart(Part): ...


class Left(Plugin):
    part: ClassVar[type[Part]] = LeftPart


class Right(Plugin):
    part: ClassVar[type[Part]] = RightPart


class Making(Plugin):
    make: Factory[..., Part] = inject()


def test_d59_from_a_member_of_another_plugin() -> None:
    class Settings(Timed, Clocked): ...

    clock = Clock()
    settings = Settings(clock=clock)
    assert_type(settings.time, Clock)
    assert settings.time is clock
    assert list(inspect.signature(Settings).parameters) == ["clock"]
    assert repr(settings).startswith("Settings(clock=<")
    assert "time" not in repr(settings)


def test_d59_from_a_member_of_a_subclass() -> None:
    class Walled(Plugin):
        wall: WallClock = WallClock(7)  # one clock for all is meant

    class Settings(Timed, Walled): ...

    assert Settings().time.hour == 7


def test_d59_from_a_generic_plugin() -> None:
    class Holder(Plugin, Generic[T]):
        held: T = inject()

    class Settings(Holder[Clock], Clocked): ...

    assert_type(Settings(clock=Clock(3)).held, Clock)
    assert Settings(clock=Clock(3)).held.hour == 3


def test_d59_from_a_provider_for_each_instance() -> None:
    class Settings(Plugin):
        provided: Provided = inject()

    assert isinstance(Settings().provided, Provided)
    assert Settings().provided is not Settings().provided


def test_d59_a_provider_that_is_defined_again_replaces_itself() -> None:
    class Again: ...

    def load(text: str) -> None:
        @provide(Again)
        def again() -> Again:
            made = Again()
            vars(made)["text"] = text
            return made

    class Settings(Plugin):
        again: Again = inject()

    load("first")
    load("second")
    assert vars(Settings().again) == {"text": "second"}


def test_d59_is_never_a_keyword() -> None:
    class Settings(Timed, Clocked): ...

    with pytest.raises(PluginError) as caught:
        Settings(clock=Clock(), time=Clock())  # type: ignore[call-arg]  # refused by mypy too
    assert str(caught.value) == (
        "Settings got time, which is injected and never a keyword; its keywords: clock: Clock"
    )


def test_d59_two_members_fit() -> None:
    class Second(Plugin):
        second: Clock

    class Settings(Timed, Clocked, Second): ...

    with pytest.raises(PluginError) as caught:
        Settings(clock=Clock(), second=Clock())
    assert str(caught.value) == (
        "Settings: Timed.time: Clock is injected, and 2 things fit: Second.second: Clock, Clocked.clock: "
        "Clock; leave one, or give them types of their own"
    )


def test_d59_two_providers_fit() -> None:
    class Settings(Plugin):
        rival: Rival = inject()

    with pytest.raises(PluginError, match=r"2 things fit: provider .*\.rival, provider .*\.second_rival;"):
        Settings()


def test_d59_the_body_sees_it_and_no_provider_ran_before_all_are_found() -> None:
    calls: list[str] = []

    class Late: ...

    @provide(Late)
    def late() -> Late:
        calls.append("provider")
        return Late()

    class Uses(Plugin):
        late: Late = inject()

        def __post_init__(self) -> None:
            calls.append(type(self.late).__name__)

    class Incomplete(Timed, Uses): ...

    with pytest.raises(PluginError, match="nothing fits"):
        Incomplete()
    assert calls == []
    Uses()
    assert calls == ["provider", "Late"]


def test_d59_a_type_that_exists_for_checkers_only() -> None:
    class Settings(Plugin):
        late: OnlyForCheckers = inject()  # type: ignore[name-defined]  # noqa: F821  # as under TYPE_CHECKING

    with pytest.raises(PluginError) as caught:
        Settings()
    assert str(caught.value) == (
        "Settings: the type of Settings.late: OnlyForCheckers is needed to fill what is injected, and a "
        f"name in it is not defined in {__name__} when the program runs; import it outside TYPE_CHECKING"
    )


def test_d163_the_factory_of_a_merged_part() -> None:
    class Settings(Making, Left, Right): ...

    made = Settings().make.new_instance(size=3)
    part: Part = made
    assert isinstance(part, LeftPart)
    assert isinstance(part, RightPart)
    assert made.size == 3
    assert type(made) is type(Settings().make())


def test_d163_the_same_as_a_function() -> None:
    class Calling(Plugin):
        make: Callable[..., Part] = inject()

    class Settings(Calling, Left): ...

    assert isinstance(Settings().make(size=2), LeftPart)


def test_d163_two_parts_fit() -> None:
    class Other(Plugin):
        other: ClassVar[type[Part]] = LeftPart

    class Settings(Making, Left, Other): ...

    with pytest.raises(
        PluginError, match=r"2 things fit: the factory of the merged \w+, the factory of the merged \w+;"
    ):
        Settings()


def test_d164_nothing_to_give_and_no_body_ran() -> None:
    bodies: list[str] = []

    class Other(Plugin):
        def __post_init__(self) -> None:
            bodies.append("Other")

    class Settings(Timed, Other): ...

    with pytest.raises(PluginError) as caught:
        Settings()
    assert str(caught.value) == (
        "Settings: Timed.time: Clock is injected, and nothing fits: no member of another plugin, no part and "
        "no provider is a Clock; add a plugin that has one, or `@provide(Clock)`"
    )
    assert bodies == []


def test_provide_takes_a_class() -> None:
    with pytest.raises(PluginError, match=r"provide\(\) takes a class, not 3"):
        provide(3)  # type: ignore[arg-type]  # the mistake under test
