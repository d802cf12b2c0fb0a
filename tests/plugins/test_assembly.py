"""Plugins put together: members, keywords and bodies (D56-D58, D161, D162, D165-D167, D169)."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar, assert_type

import pytest

from wengert import plugins
from wengert.errors import PluginError, WengertError
from wengert.plugins.inject import Factory
from wengert.plugins.plugin import Plugin

T = TypeVar("T")


class LearningRate(Plugin):
    learning_rate: float


class L2(Plugin):
    l2: float = 0.0


class Settings(L2, LearningRate): ...


settings_of: Callable[..., Settings] = Settings  # misuses below are meant for the run time


class Generation(Plugin, Generic[T]):
    value: T


class Doubled(Plugin):
    twice: bool = True


class Both(Generation[str], Doubled): ...


def test_d56_members_are_keywords_with_and_without_values() -> None:
    assert Settings(learning_rate=0.5).l2 == 0.0
    settings = Settings(learning_rate=0.5, l2=0.25)
    assert_type(settings.learning_rate, float)
    assert (settings.learning_rate, settings.l2) == (0.5, 0.25)


def test_d56_repr_shows_the_keywords_in_the_order_of_the_signature() -> None:
    assert repr(Settings(l2=1e-4, learning_rate=0.001)) == "Settings(learning_rate=0.001, l2=0.0001)"
    assert str(inspect.signature(Settings)) == "(*, learning_rate: float, l2: float = 0.0)"


def test_d56_a_class_variable_is_no_keyword() -> None:
    class Counted(LearningRate):
        limit: ClassVar[int] = 3

    assert list(inspect.signature(Counted).parameters) == ["learning_rate"]
    assert Counted.limit == 3


def test_d56_by_name_value_is_a_member_of_callable_type() -> None:
    class Lazy(Plugin):
        start: Callable[[], float]

    calls: list[int] = []

    def start() -> float:
        calls.append(1)
        return 2.0

    lazy = Lazy(start=start)
    assert calls == []
    assert lazy.start() + lazy.start() == 4.0
    assert calls == [1, 1]


def test_d57_positional() -> None:
    with pytest.raises(TypeError) as caught:
        settings_of(0.001)
    assert str(caught.value) == (
        "Settings takes keywords only and got 0.001 without a keyword; its keywords: learning_rate: float, "
        "l2: float = 0.0"
    )
    assert isinstance(caught.value, WengertError)


def test_d57_unknown_with_a_suggestion_and_all_problems_at_once() -> None:
    with pytest.raises(TypeError) as caught:
        settings_of(learning_rat=0.001, zzz=3)
    assert str(caught.value) == (
        "Settings misses learning_rate: float and got unknown learning_rat (did you mean learning_rate?) and "
        "got unknown zzz; its keywords: learning_rate: float, l2: float = 0.0"
    )


def test_d57_factory_has_the_keywords_and_type_of_the_class() -> None:
    factory = Factory(Settings)
    assert_type(factory.new_instance(learning_rate=0.5), Settings)
    assert_type(factory(learning_rate=0.5, l2=1.0), Settings)
    assert repr(factory.new_instance(learning_rate=0.5)) == repr(Settings(learning_rate=0.5))
    assert repr(factory) == "Factory(Settings)"
    with pytest.raises(PluginError, match="misses learning_rate: float"):
        factory.new_instance()  # type: ignore[call-arg]  # refused by mypy as the class is


def test_d58_members_are_set_before_any_body_and_bodies_run_once_bases_first() -> None:
    seen: list[tuple[str, float, float]] = []

    class Left(L2):
        def __post_init__(self) -> None:
            super().__post_init__()  # a habit that must not run L2's or Right's body a second time
            seen.append(("Left", self.l2, vars(self)["learning_rate"]))

    class Right(LearningRate):
        def __post_init__(self) -> None:
            seen.append(("Right", vars(self)["l2"], self.learning_rate))

    class Whole(Left, Right):
        def __post_init__(self) -> None:
            super().__post_init__()
            seen.append(("Whole", self.l2, self.learning_rate))

    Whole(learning_rate=0.5, l2=0.25)
    assert seen == [("Right", 0.25, 0.5), ("Left", 0.25, 0.5), ("Whole", 0.25, 0.5)]


def test_d58_a_plugin_finds_ready_what_it_inherits() -> None:
    class Start(Plugin):
        start: int

        def __post_init__(self) -> None:
            self.squared = self.start**2

    class Needs(Start):
        def __post_init__(self) -> None:
            self.more = self.squared + 1

    assert Needs(start=3).more == 10


def test_d161_a_body_may_assign_members_and_nobody_afterwards() -> None:
    class Plus(Plugin):
        a: int

        def __post_init__(self) -> None:
            self.a = self.a + 1  # type: ignore[misc]  # a checker knows no moment at which members may change

    plus = Plus(a=42)
    assert plus.a == 43
    with pytest.raises(AttributeError) as caught:
        plus.a = 1  # type: ignore[misc]  # frozen, for mypy too
    assert str(caught.value) == (
        "Plus is frozen: a cannot change after it is made; make another Plus, or compute a in __post_init__"
    )
    with pytest.raises(AttributeError, match="Plus is frozen: b cannot change"):
        plus.b = 1  # type: ignore[attr-defined]  # no such member
    with pytest.raises(AttributeError, match="Plus is frozen: a cannot change"):
        delattr(plus, "a")
    assert plus.a == 43


def test_d162_generic_plugin_keeps_its_type_argument() -> None:
    both = Both(value="x")
    assert_type(both.value, str)
    assert both.value == "x"
    assert isinstance(both, Generation)
    assert isinstance(both, Doubled)
    assert_type(Generation[int](value=3), Generation[int])
    assert Generation[int](value=3).value == 3
    assert str(inspect.signature(Both)) == "(*, twice: bool = True, value: str)"


def test_d162_type_arguments_count_when_types_are_compared() -> None:
    class Same(Plugin):
        value: str

    class Other(Plugin):
        value: int

    class Fits(Generation[str], Same): ...

    assert Fits(value="x").value == "x"
    with pytest.raises(PluginError, match="one member with two types"):
        type("Wrong", (Fits, Other), {})


def test_d165_two_empty_plugins() -> None:
    class One(Plugin): ...

    class Two(Plugin): ...

    class Empty(One, Two): ...

    empty = Empty()
    assert isinstance(empty, One)
    assert isinstance(empty, Two)
    assert repr(empty) == "Empty()"
    with pytest.raises(PluginError, match="Empty got unknown a; its keywords: none"):
        Empty(a=1)  # type: ignore[call-arg]  # refused by mypy too


def test_d166_values_functions_and_curried_functions() -> None:
    class Functions(Plugin):
        value: int
        constant: Callable[[], int]
        add: Callable[[int, int], int]
        curried: Callable[[int], Callable[[int], int]]
        given: Callable[[int], int] = abs

    class Written(Plugin):
        negate: Callable[[int], int] = lambda x: -x

    class All(Functions, Written): ...

    def curried(x: int) -> Callable[[int], int]:
        return lambda y: x * y

    made = All(value=1, constant=lambda: 2, add=lambda x, y: x + y, curried=curried)
    assert_type(made.curried(3)(5), int)
    assert [made.value, made.constant(), made.add(1, 2), made.curried(3)(5)] == [1, 2, 3, 15]
    assert made.given(-4) == 4
    assert made.negate(4) == -4  # a function in the body is a value, not a method: no self arrives


def test_d167_required_keyword_missing() -> None:
    with pytest.raises(TypeError) as caught:
        Settings(l2=0.1)  # type: ignore[call-arg]  # refused by mypy too
    assert str(caught.value) == (
        "Settings misses learning_rate: float; its keywords: learning_rate: float, l2: float = 0.0"
    )


def test_d169_each_combination_has_the_override_of_its_left_plugin() -> None:
    class A(Plugin):
        i: int = 0

    class B(A):
        i: int = 1

    class C(A):
        i: int = 2

    class Ba(B, A): ...

    class Ca(C, A): ...

    class Cba(C, B): ...

    assert (Ba().i, Ca().i, Cba().i, A().i) == (1, 2, 2, 0)
    assert Ba(i=7).i == 7


def test_members_live_in_instances_only_and_instances_copy_and_pickle() -> None:
    with pytest.raises(AttributeError, match="value in instances of Settings only"):
        print(Settings.learning_rate)
    settings = Settings(learning_rate=0.5)
    for twin in (copy.copy(settings), copy.deepcopy(settings), pickle.loads(pickle.dumps(settings))):
        assert repr(twin) == repr(settings)
        with pytest.raises(AttributeError, match="Settings is frozen"):
            twin.l2 = 3.0  # type: ignore[misc]  # frozen, for mypy too
    assert settings != copy.copy(settings)  # identity: an object counts its own commits
    assert len({settings, Settings(learning_rate=0.5)}) == 2


@pytest.mark.parametrize(
    ("made", "keywords", "said"),
    [
        (plugins.Adam, {"lr": 0.1}, r"got unknown lr, which is learning_rate \(a keyword of LearningRate: "),
        (plugins.SGD, {"lr": 0.1}, r"got unknown lr \(did you mean learning_rate\?\)"),
        (plugins.Adam, {"betas": (0.9, 0.99)}, r"got unknown betas \(write beta1= and beta2=\)"),
    ],
)
def test_other_libraries_keywords_are_understood(
    made: Callable[..., object], keywords: dict[str, object], said: str
) -> None:
    with pytest.raises(PluginError, match=said):
        made(**keywords)
