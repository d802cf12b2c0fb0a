"""Mermaid, DOT and SVG say of a graph what is in it, each node once, whatever names it has."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import wengert as wg
from tests.drawing.examples import (
    F32,
    both,
    chain,
    diamond,
    gated,
    of_dot,
    of_mermaid,
    of_svg,
    weight,
)
from wengert.drawing import dot, mermaid, svg
from wengert.errors import ArgumentError

NASTY = 'a"]\n<b> & #1; \\ {{x}} | %% é'


def test_a_chain_is_its_operations_weights_and_literals_with_shapes() -> None:
    for drawn in both(chain()):
        assert drawn.first == ["hidden", "literal", "matmul", "matmul", "relu", "softmax", "top"]
        assert drawn.spoken == [
            ("hidden", "matmul"),
            ("literal", "matmul"),
            ("matmul", "relu"),
            ("matmul", "softmax"),
            ("relu", "matmul"),
            ("top", "matmul"),
        ]
        assert ("softmax", "axis=1", "(4, 5) float32") in drawn.boxes.values()
        assert ("top", "(2, 5) float32") in drawn.boxes.values()
    assert sorted(of_svg(svg(chain()))) == sorted(of_dot(dot(chain())).boxes.values())


def test_a_shared_node_is_one_box_and_operands_keep_their_order() -> None:
    for drawn in both(diamond(3)):
        assert len(drawn.boxes) == 2 + 1 + 3 * 3
        assert len(drawn.arrows) == 2 + 3 * 4
    x = diamond(0)
    assert both(x * x)[0].spoken.count(("multiply", "multiply")) == 2
    order = mermaid(wg.subtract(wg.exp(x), wg.sin(x)))
    drawn = of_mermaid(order)
    operands = [drawn.boxes[a][0] for a, b in drawn.arrows if drawn.boxes[b][0] == "subtract"]
    assert operands == ["exp", "sin"]
    assert " -- 0 --> " in order
    assert " -- 1 --> " in order


def test_several_expressions_are_one_graph() -> None:
    x = wg.exp(weight("w", 2))
    for drawn in both((wg.sin(x), (wg.cos(x), x))):
        assert drawn.first == ["cos", "exp", "sin", "w"]
    assert mermaid((wg.sin(x), x)).count("stroke-width:3px") == 2, "both are results"
    assert dot(wg.sin(x)).count("penwidth=3") == 1


def test_a_weight_alone_is_a_box() -> None:
    (only,) = both(weight("w", 2))[0].boxes.values()
    assert only == ("w", "(2,) float32")
    unnamed = wg.plugins.SGD(learning_rate=0.1).double_weight(1.0)
    assert both(unnamed)[0].first[0].startswith("test_texts.py:")


def test_cells_are_one_box_each_or_opened_with_what_is_in_them() -> None:
    for drawn in both(gated()):
        first = drawn.first
        assert first.count("expert") == first.count("gates") == 1
        assert first.count("part") == 2
        assert "tanh" not in first
    for drawn in both(gated(), cells=True):
        first = drawn.first
        assert first.count("tanh") == 2, "one for each call"
        assert first.count("sigmoid") == first.count("subtract") == 1
        assert not {"expert", "gates", "part"} & set(first)
        assert ("matmul", "tanh") in drawn.spoken, "operands lead into the cell"
        assert ("sigmoid", "multiply") in drawn.spoken, "results lead out of it"


def test_opened_cells_stand_in_frames_that_close() -> None:
    text = mermaid(gated(), cells=True)
    lines = [line.strip() for line in text.splitlines()]
    heads = [line for line in lines if line.startswith("subgraph")]
    assert [head.partition("[")[2] for head in heads] == ['"expert"]', '"gates"]', '"expert"]']
    assert lines.count("end") == 3
    inner = lines.index('subgraph c1["expert"]')
    assert lines.index('subgraph c0["gates"]') < inner < len(lines) - 1 - lines[::-1].index("end")
    assert dot(gated(), cells=True).count("subgraph cluster") == 3
    assert any("in gates" in box for box in of_svg(svg(gated(), cells=True)))


def test_a_bind_is_shown_by_its_line_and_a_registered_value_by_its_type() -> None:
    (bind,) = [box for box in both(gated())[0].boxes.values() if box[0] == "bind"]
    assert bind[1].startswith("examples.py:")
    assert "{{" in mermaid(gated())

    @wg.register(Fraction)
    def fraction(x: Fraction) -> wg.Do[wg.Tape[float, float]]:
        return wg.Do.now(wg.Tape(float(x), lambda delta: wg.UnitContinuation.now(None)))

    assert "Fraction" in both(fraction(Fraction(1, 2)) * 3.0)[0].first


def test_kinds_of_boxes_have_shapes_and_colours_of_their_own() -> None:
    x = gated() * 1.5
    text, picture = mermaid(x), svg(x)
    for name in ("operation", "weight", "literal", "bind", "cell"):
        assert f"classDef {name} fill:#" in text
        assert f'<g class="{name}">' in picture
    assert len({line.split("fill:")[1] for line in text.splitlines() if "classDef" in line}) == 5
    assert '[/"1.5"/]' in text
    assert '[("w<br/>' in text


@pytest.mark.parametrize("name", [NASTY, "end", "graph", 'x"; n0 -> n1'])
def test_names_of_all_kinds_are_kept_and_harm_nothing(name: str) -> None:
    x = wg.exp(weight(name, 2))
    assert of_mermaid(mermaid(x)).first == sorted(["exp", name])
    assert of_dot(dot(x)).first == sorted(["exp", name.replace("\n", " ")])
    assert (name, "(2,) float32") in of_svg(svg(x))
    assert len(mermaid(x).splitlines()) == len(mermaid(wg.exp(weight("w", 2))).splitlines())


@pytest.mark.slow
def test_a_graph_too_large_is_refused_with_its_size_and_advice() -> None:
    x = diamond(0)
    for _ in range(100_000):
        x = wg.sin(x)
    for write in (mermaid, dot, svg):
        with pytest.raises(ArgumentError, match=rf"{write.__name__}: a graph of 100,001 nodes.*most=200002"):
            write(x)
    assert x._repr_svg_() is None


@pytest.mark.slow
def test_a_deep_graph_is_drawn_without_recursion() -> None:
    x = diamond(0)
    for _ in range(3000):
        x = wg.sin(x)
    assert len(of_mermaid(mermaid(x, most=4000)).boxes) == 3003
    assert len(of_dot(dot(x, most=4000)).boxes) == 3003
    assert len(of_svg(svg(x, most=4000))) == 3003


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(wg.errors.NotDifferentiableError, match="mermaid"):
        mermaid(("text",))
    assert both((wg.lift(2.0), wg.literal(np.ones(2, F32))))[0].first
