"""Branches of the core that the tests of promises do not come by: refusals, texts, and deltas scaled and added."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

import wengert as wg
from wengert.errors import LazyError, ShapeError
from wengert.graph.kinds import shape_from
from wengert.graph.operation import OPERATIONS
from wengert.lazy import LazyDelta, Product, Rows
from wengert.plugins import SGD

SETTINGS = SGD(learning_rate=0.5)
LEFT, RIGHT = np.arange(6.0).reshape(3, 2), np.arange(12.0).reshape(3, 4)
DENSE = LEFT.T @ RIGHT


def test_a_delta_of_another_shape_is_refused() -> None:
    with pytest.raises(ShapeError, match="a product of"):
        LazyDelta([Product(LEFT, RIGHT)]).check((3, 4))
    with pytest.raises(ShapeError, match="rows of shape"):
        LazyDelta([Rows(np.array([0]), np.ones((1, 2)), (4, 2))]).check((5, 2))
    with pytest.raises(ShapeError, match="an array of shape"):
        LazyDelta([], 1.0, np.ones(3)).check((4,))


def test_scaled_deltas_add_up() -> None:
    delta = LazyDelta([Product(LEFT, RIGHT)])
    np.testing.assert_array_equal((delta.scaled(0.5) + delta).dense(), 1.5 * DENSE)
    np.testing.assert_array_equal((delta + delta.scaled(0.5)).dense(), 1.5 * DENSE)
    np.testing.assert_array_equal((delta.scaled(0.5) + DENSE).dense(), 1.5 * DENSE)


def test_shapes_of_annotations() -> None:
    assert shape_from(tuple[()]) == ()
    assert shape_from(tuple[Literal[2], Literal[3]]) == (2, 3)
    assert shape_from(tuple[Literal[2], int]) is None
    assert shape_from(list[int]) is None


def test_what_is_no_class_is_not_registered() -> None:
    cls: Any = "Image"  # Any: a mistake
    with pytest.raises(TypeError, match="register: expected a class, got 'Image'"):
        wg.register(cls)


def test_a_layer_has_no_format_but_the_empty_one() -> None:
    layer: Any = SETTINGS.double_weight(1.0) * 2.0  # Any: the plugin refuses the format, too
    assert f"{layer}" == repr(layer)
    with pytest.raises(LazyError, match=r"the format '\.2f'"):
        f"{layer:.2f}"


def test_texts_for_people() -> None:
    layer = SETTINGS.double_weight(1.0) * 2.0
    assert repr(OPERATIONS["multiply"]) == "<operation multiply>"
    assert repr(layer.kind).startswith("Kind(")


def test_a_mask_tells_what_it_is_and_can_be_asked() -> None:
    mask = wg.greater(SETTINGS.array_weight(np.array([1.0, -1.0], np.float64)), 0.0)
    assert (mask.shape, mask.device) == ((2,), "cpu")
    assert mask.dtype == np.dtype(np.bool_)
    assert mask.predict().run().tolist() == mask.as_do().run().tolist() == [True, False]
