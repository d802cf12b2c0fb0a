"""The plugin's copies of what the settings of the library say: orders, ranges, and the words of the run."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mypy_plugin.checking import project
from wengert import plugins
from wengert.errors import PluginError
from wengert.plugins import LearningRate, Plugin
from wengert_mypy.hyperparameters import BELOW, CLIPS, FIRST, POSITIVE, RATES, UNSCALED, late, unrated

READY: Sequence[type[Plugin]] = [
    x for x in vars(plugins).values() if isinstance(x, type) and issubclass(x, Plugin) and x is not Plugin
]


def named(names: frozenset[str]) -> set[str]:
    return {name.rpartition(".")[2] for name in names}


def test_the_plugins_that_act_before_a_rate_are_known() -> None:
    before = [x for x in READY if LearningRate in vars(x).get("acts_before", ())]
    assert named(FIRST) == {x.__name__ for x in before}
    assert {then.__name__ for x in before for then in x.acts_before} == named(RATES)


@pytest.mark.parametrize("name", sorted(BELOW))
def test_a_range_is_that_of_the_run(name: str) -> None:
    found = next(x for x in READY if name in vars(x).get("__annotations__", {}))
    owner = found if issubclass(found, LearningRate) else type("S", (found, LearningRate), {})
    others = {key: 0.5 for x in owner.__mro__ for key in vars(x).get("__annotations__", {}) if key in BELOW}
    for wrong in (-0.5, BELOW[name], *([0.0] if name in POSITIVE else [])):
        with pytest.raises(PluginError, match=f"{name} is"):
            owner(**{**others, name: wrong})
    owner(**{**others, name: 0.0 if name not in POSITIVE else math.nextafter(0.0, 1.0)})


@pytest.mark.parametrize("name", sorted(named(UNSCALED)))
def test_settings_without_a_rate_warn(name: str) -> None:
    plugin: type[Plugin] = getattr(plugins, name)
    with pytest.warns(UserWarning, match=re.escape(unrated(name, name))) as found:
        plugin()
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        type("S", (plugin, LearningRate), {})(learning_rate=0.1)


@pytest.mark.parametrize("name", sorted(named(UNSCALED)))
@pytest.mark.parametrize("clip", sorted(named(CLIPS)))
def test_a_clip_of_steps_warns_and_one_of_derivatives_does_not(name: str, clip: str) -> None:
    bases: tuple[type[Plugin], ...] = (getattr(plugins, name), getattr(plugins, clip), LearningRate)
    numbers = dict.fromkeys(("learning_rate", *vars(bases[1])["__annotations__"].keys() & BELOW.keys()), 0.5)
    with pytest.warns(UserWarning, match=re.escape(late("S", clip, name))) as found:
        type("S", bases, {})(**numbers)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        type("S", (bases[1], bases[0], LearningRate), {})(**numbers)


@pytest.mark.slow
def test_mypy_notes_settings_without_a_rate(tmp_path: Path) -> None:
    text = """
    from wengert.plugins import Adam, AdamW, ClipByNorm, LearningRate
    class Settings(Adam, LearningRate): ...
    Settings(learning_rate=0.1)
    Adam()
    class Late(AdamW, ClipByNorm, LearningRate): ...
    Late(learning_rate=0.1, weight_decay=0.1, max_norm_of_weight=1.0)
    class Right(ClipByNorm, AdamW, LearningRate): ...
    Right(learning_rate=0.1, weight_decay=0.1, max_norm_of_weight=1.0)
    """
    said = project(tmp_path / "unrated", {"main.py": re.sub(r"^ +", "", text, flags=re.M)})
    assert said == [
        f"main.py:5: note: {unrated('Adam', 'Adam')}",
        f"main.py:7: note: {late('Late', 'ClipByNorm', 'Adam')}",
    ]
