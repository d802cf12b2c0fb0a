"""Classes that plugins merge, in projects of several modules, and the plugin's copy of what no part decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mypy_plugin.checking import cache_for, configured, project, said, written
from wengert.plugins.layers import REFUSED
from wengert_mypy.merging import UNDECIDED

PARTS = """
from typing import ClassVar
import wengert as wg
from wengert.extend import LayerPart, WeightPart
from wengert.plugins import SGD, Plugin

class Scaled(WeightPart):
    scale: float = 1.0

class Squaring(LayerPart):
    def squared(self) -> wg.DoubleLayer:
        return wg.lift(1.0) * 2.0

class Squares(Plugin):
    weight: ClassVar[type[WeightPart]] = Scaled
    layer: ClassVar[type[LayerPart]] = Squaring

class Settings(Squares, SGD): ...

settings = Settings(learning_rate=0.1)
weight = settings.double_weight(1.0)
layer = weight * 2.0
"""
USES = """
from parts import layer, settings, weight

made = [weight.scale, layer.squared(), (layer * weight).squared(), (settings.double_weight(2.0) - layer).squared()]
weight.other
"""


def test_what_no_part_decides_is_what_the_run_refuses() -> None:
    assert REFUSED.keys() == UNDECIDED


@pytest.mark.slow
def test_merged_classes_cross_modules_and_come_back_from_the_cache(tmp_path: Path) -> None:
    text = configured(tmp_path).read_text(encoding="utf-8")
    written(tmp_path, {"parts.py": PARTS, "uses.py": USES})
    cache = str(cache_for(tmp_path.parent, text))
    first = said(tmp_path, "--cache-dir", cache, "parts.py", "uses.py")
    assert first == [
        'uses.py:5: error: "<DoubleWeight with Scaled>" has no attribute "other"  [attr-defined]',
    ]
    written(tmp_path, {"uses.py": USES + "layer.squared().predict()\n"})
    assert said(tmp_path, "--cache-dir", cache, "parts.py", "uses.py") == first
    written(tmp_path, {"parts.py": PARTS.replace("def squared", "def cubed")})
    later = said(tmp_path, "--cache-dir", cache, "parts.py", "uses.py")
    assert sum('has no attribute "squared"' in line for line in later) == 2  # one a line


@pytest.mark.slow
def test_without_the_plugin_nothing_is_known_and_nothing_refused_wrongly(tmp_path: Path) -> None:
    found = project(tmp_path / "p", {"parts.py": PARTS}, plugin=False)
    assert found == []
