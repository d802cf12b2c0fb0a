"""Members of weight parts are keywords where weights are made: of these settings, typed, and no others (D61)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from wengert.extend import WeightPart
from wengert.plugins import SGD, Names, Plugin


class Scaled(WeightPart):
    unit: str
    scale: float = 1.0


class Grouped(WeightPart):
    group: int = 7


class Scales(Plugin):
    weight: ClassVar[type[WeightPart]] = Scaled


class Groups(Plugin):
    weight: ClassVar[type[WeightPart]] = Grouped


class Settings(Scales, Groups, Names, SGD): ...


def case_members_are_keywords(settings: Settings) -> None:
    settings.double_weight(1.0, unit="m", scale=2.0, group=3, name="w")
    settings.float_weight(1.0, unit="m")
    settings.array_weight(np.ones((2, 3), np.float32), 2, 3, unit="m", group=3)


def case_others_are_refused(settings: Settings, sgd: SGD, named: Names) -> None:
    x = np.ones(3, np.float32)
    settings.double_weight(1.0, unit="m", scael=2.0)  # E[call-arg]: Unexpected keyword argument "scael"
    settings.double_weight(1.0, unit="m", scale="no")  # E[arg-type]: "scale" .* incompatible type "str"
    settings.array_weight(x, unit=1.0)  # E[arg-type]: "unit" .* incompatible type "float"
    settings.float_weight(1.0)  # E[call-arg]: Missing named argument "unit"
    sgd.array_weight(x, nmae="w")  # E[call-arg]: Unexpected keyword argument "nmae"
    named.double_weight(1.0, group=3)  # E[call-arg]: Unexpected keyword argument "group"


def case_settings_of_any_class_take_what_theirs_do(settings: Plugin) -> None:
    settings.double_weight(1.0, unit="m")
