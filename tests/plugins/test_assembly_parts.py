"""Parts merged into one class, and the order in which plugins act (D60, D62, D168, D170)."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, assert_type

import pytest

from wengert.errors import PluginError
from wengert.plugins.parts import merged_part
from wengert.plugins.plugin import Plugin


class Optimizer:
    def names(self) -> list[str]:
        return ["Optimizer"]


class Weight: ...


class Core(Plugin):
    optimizer: ClassVar[type[Optimizer]] = Optimizer


class AdamPart(Optimizer):
    def names(self) -> list[str]:
        return ["AdamPart", *super().names()]

    def reset(self) -> str:
        return "reset"


class L2Part(Optimizer):
    def names(self) -> list[str]:
        return ["L2Part", *super().names()]


class RatePart(Optimizer):
    def names(self) -> list[str]:
        return ["RatePart", *super().names()]


class Rate(Core):
    rate: float = 1.0
    optimizer: ClassVar[type[Optimizer]] = RatePart


class Adam(Core):
    acts_before: ClassVar[tuple[type[Plugin], ...]] = (Rate,)
    optimizer: ClassVar[type[Optimizer]] = AdamPart


class L2(Plugin):
    optimizer: ClassVar[type[Optimizer]] = L2Part


class Settings(Adam, L2, Rate): ...


def test_d60_parts_act_leftmost_first_and_end_in_the_base() -> None:
    merged = merged_part(Settings, "optimizer", Optimizer)
    assert_type(merged, type[Optimizer])
    assert merged.__bases__ == (AdamPart, L2Part, RatePart, Optimizer)
    assert merged().names() == ["AdamPart", "L2Part", "RatePart", "Optimizer"]
    assert merged.__name__ == "Settings_optimizer"
    assert merged.__doc__ == "The optimizer of Settings: AdamPart, L2Part, RatePart."


def test_d60_one_class_for_a_plugin_class_also_between_threads() -> None:
    class Fresh(Adam, Rate): ...

    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(lambda _: merged_part(Fresh, "optimizer", Optimizer), range(16)))
    assert made == {merged_part(Fresh, "optimizer", Optimizer)}
    assert merged_part(Settings, "optimizer", Optimizer) not in made


def test_d60_without_parts_it_is_the_base() -> None:
    assert merged_part(Settings, "weight", Weight) is Weight
    assert merged_part(Core, "optimizer", Optimizer) is Optimizer


def test_d60_a_part_that_does_not_inherit_the_base_comes_before_it() -> None:
    class Free:
        def names(self) -> list[str]:
            return ["Free"]

    class Loose(Plugin):
        optimizer: ClassVar[type] = Free

    assert merged_part(Loose, "optimizer", Optimizer).__bases__ == (Free, Optimizer)


def test_d60_a_part_must_be_a_class() -> None:
    class Odd(Plugin):
        optimizer: ClassVar[int] = 3

    with pytest.raises(PluginError) as caught:
        merged_part(Odd, "optimizer", Optimizer)
    assert str(caught.value) == "Odd.optimizer must be a class, a part of Odd; it is 3"


def test_d60_parts_in_conflict_say_which_plugin_goes_left() -> None:
    class FastAdamPart(AdamPart): ...

    class FastAdam(Plugin):
        optimizer: ClassVar[type[Optimizer]] = FastAdamPart

    class Wrong(Adam, FastAdam): ...  # type: ignore[settings] # mypy says it too

    class Right(FastAdam, Adam): ...

    with pytest.raises(PluginError) as caught:
        merged_part(Wrong, "optimizer", Optimizer)
    assert str(caught.value) == (
        "Wrong: the optimizer parts AdamPart of Adam, FastAdamPart of FastAdam (and Optimizer) cannot be one "
        "class; FastAdamPart extends AdamPart, so put FastAdam left of Adam"
    )
    assert merged_part(Right, "optimizer", Optimizer)().names() == ["AdamPart", "Optimizer"]


def test_d60_layouts_that_exclude_each_other() -> None:
    class One(Optimizer):
        __slots__ = ("one",)

    class Two(Optimizer):
        __slots__ = ("two",)

    class First(Plugin):
        optimizer: ClassVar[type[Optimizer]] = One

    class Second(Plugin):
        optimizer: ClassVar[type[Optimizer]] = Two

    class Slotted(First, Second): ...

    with pytest.raises(PluginError, match=r"One of First, Two of Second .* cannot be one class; .*lay-?out"):
        merged_part(Slotted, "optimizer", Optimizer)


def test_d62_wrong_order_is_refused_with_the_right_one() -> None:
    with pytest.raises(PluginError) as caught:

        class Backwards(Rate, L2, Adam): ...

    assert str(caught.value) == (
        "Backwards: Rate stands left of Adam, so it would act first; Adam must act before Rate: write "
        "`class Backwards(L2, Adam, Rate)`"
    )


def test_d62_holds_for_plugins_that_inherit_the_two() -> None:
    class MyRate(Rate): ...

    class MyAdam(Adam): ...

    class Fine(MyAdam, MyRate): ...

    assert merged_part(Fine, "optimizer", Optimizer)().names() == ["AdamPart", "RatePart", "Optimizer"]
    with pytest.raises(PluginError, match=r"write `class Backwards\(MyAdam, MyRate\)`"):

        class Backwards(MyRate, MyAdam): ...


def test_d62_rules_that_contradict_each_other() -> None:
    class Late(Plugin): ...

    class First(Late): ...

    class Second(Plugin):
        acts_before: ClassVar[tuple[type[Plugin], ...]] = (First,)

    First.acts_before = (Second,)
    with pytest.raises(PluginError, match="no order of its bases does that"):

        class Never(First, Second): ...


def test_d168_parts_that_do_not_know_each_other_meet_by_super() -> None:
    class Pair(Adam, Rate): ...

    part = merged_part(Pair, "optimizer", Optimizer)()
    assert part.names() == ["AdamPart", "RatePart", "Optimizer"]
    assert isinstance(part, AdamPart)
    assert part.reset() == "reset"


def test_d170_parts_of_three_plugins_are_one_class() -> None:
    merged = merged_part(Settings, "optimizer", Optimizer)
    assert all(issubclass(merged, part) for part in (AdamPart, L2Part, RatePart, Optimizer))


def test_d170_a_plugin_inherited_twice_gives_its_part_once() -> None:
    class One(L2): ...

    class Two(L2):
        optimizer: ClassVar[type[Optimizer]] = L2Part

    class Twice(One, Two, L2): ...

    assert merged_part(Twice, "optimizer", Optimizer)().names() == ["L2Part", "Optimizer"]


def test_merged_classes_do_not_outlive_their_plugin() -> None:
    class Short(Adam, Rate): ...

    merged_part(Short, "optimizer", Optimizer)
    gone = weakref.ref(Short)
    del Short
    gc.collect()
    assert gone() is None
