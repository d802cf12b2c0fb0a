"""D61: a member that a weight part adds is a keyword where the weight is made; parts of several plugins are one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from wengert.errors import PluginError
from wengert.extend import Optimizer, Weight, WeightPart
from wengert.plugins import SGD, Names, Plugin

made: list[str] = []


class Scaled(WeightPart):
    """Has a factor of its own for its steps, and a text without a default."""

    unit: str
    scale: float = 1.0

    def made(self) -> None:
        super().made()
        made.append(f"scaled {self.unit} {self.scale}")


class Grouped(WeightPart):
    group: int = 7

    def made(self) -> None:
        super().made()
        made.append(f"grouped {self.group}")


class Scaling(Optimizer["Scales"]):
    def step(self, delta: Any, weight: Weight) -> Any:  # Any: numbers and arrays
        assert isinstance(weight, Scaled)
        return super().step(delta * weight.scale, weight)


class Scales(Plugin):
    weight: ClassVar[type[WeightPart]] = Scaled
    optimizer: ClassVar[type[Optimizer]] = Scaling


class Groups(Plugin):
    weight: ClassVar[type[WeightPart]] = Grouped


class Settings(Scales, Groups, Names, SGD): ...


settings = Settings(learning_rate=1.0)
MAKERS: dict[str, Callable[..., Any]] = {
    "double": lambda **members: settings.double_weight(1.0, **members),
    "float": lambda **members: settings.float_weight(1.0, **members),
    "array": lambda **members: settings.array_weight(np.ones((), np.float32), **members),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_members_are_keywords_of_every_kind_of_weight(kind: str) -> None:
    made.clear()
    w = MAKERS[kind](unit="m", scale=0.5, name=f"{kind} of a length")
    assert (w.unit, w.scale, w.group, w.name) == ("m", 0.5, 7, f"{kind} of a length")
    assert made == ["grouped 7", "scaled m 0.5"], "each calls what stands to its right first"
    (w * 2.0).train().run()
    assert w.data == 0.0, "the optimizer has asked the weight"
    assert settings.weights[w.name] is w
    again = cloudpickle.loads(cloudpickle.dumps(w))
    assert (again.unit, again.scale, again.group, again.data) == ("m", 0.5, 7, 0.0)


def test_weights_of_one_settings_class_are_of_one_class() -> None:
    first, second = (settings.double_weight(1.0, unit="m") for _ in range(2))
    assert type(first) is type(second) and isinstance(first, wg.DoubleWeight)
    assert type(SGD(learning_rate=1.0).double_weight(1.0)) is wg.DoubleWeight


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({}, "DoubleWeight misses unit; its keywords: name, unit, scale, group"),
        (
            {"unit": "m", "color": 1},
            "DoubleWeight does not know color; its keywords: name, unit, scale, group",
        ),
        (
            {"size": 1},
            "DoubleWeight does not know size and misses unit; its keywords: name, unit, scale, group",
        ),
    ],
)
def test_missing_and_unknown_members_are_one_error(members: dict[str, Any], said: str) -> None:
    with pytest.raises(PluginError) as caught:
        settings.double_weight(1.0, **members)
    text, _, place = str(caught.value).partition("\n  at ")
    assert text == said and "test_weight_parts.py:" in place


def test_without_a_part_there_are_no_members() -> None:
    with pytest.raises(PluginError, match="DoubleWeight does not know unit; its keywords: name\n"):
        SGD(learning_rate=1.0).double_weight(1.0, unit="m")  # type: ignore[call-arg] # refused there too
