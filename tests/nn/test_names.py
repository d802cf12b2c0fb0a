"""The methods by which the mypy plugin knows layers are theirs, and no layer is without a rule."""

from __future__ import annotations

import importlib

import pytest

from wengert import nn
from wengert_mypy.names import NN
from wengert_mypy.networks import NETWORKS

# their signatures say all there is to know
UNCHECKED = {"Dropout", "KeyValues", "Residual", "Seeded", "Seeds", "buffers", "summary", "weights"} | {
    *("causal_mask", "rotary", "sinusoidal_positions", "init"),  # functions, and the module of such
    *("freeze", "map_weights", "replace", "tie", "with_settings"),
}


@pytest.mark.parametrize("fullname", NETWORKS)
def test_a_name_is_defined_where_the_plugin_looks_for_it(fullname: str) -> None:
    module, name, *method = fullname.removeprefix(NN).split(".")
    found = getattr(importlib.import_module(NN + module), name)
    assert found.__module__ == NN + module
    assert all(hasattr(found, part) for part in method)


def test_every_layer_has_a_rule() -> None:
    assert {fullname.split(".")[3] for fullname in NETWORKS} == set(nn.__all__) - UNCHECKED
