"""A notebook shows a small layer by its picture; the text of a layer is what it was."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.drawing.examples import chain, diamond, of_svg, weight


def test_a_layer_has_a_picture_and_keeps_its_text() -> None:
    x = chain()
    picture = x._repr_svg_()
    assert picture is not None
    assert len(of_svg(picture)) == 7
    assert repr(x).startswith("<ArrayLayer softmax (4, 5) float32, built at ")
    assert f"{x}" == repr(x)


def test_a_weight_and_a_large_graph_are_shown_by_their_text() -> None:
    assert weight("w", 2)._repr_svg_() is None
    assert diamond(30)._repr_svg_() is not None
    assert diamond(200)._repr_svg_() is None


@pytest.mark.slow
def test_nothing_is_loaded_before_a_notebook_asks() -> None:
    code = (
        "import sys, wengert as wg; x = wg.exp(wg.lift(1.0)); before = 'wengert.drawing' in sys.modules;"
        "x._repr_svg_(); print(before, 'wengert.drawing' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr
