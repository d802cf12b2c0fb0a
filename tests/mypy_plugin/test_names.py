"""The names by which the plugin knows the library are names of the library."""

from __future__ import annotations

import importlib

import pytest

from wengert_mypy import names
from wengert_mypy.hyperparameters import FIRST, RATES
from wengert_mypy.operations import FAMILY_RULES, FUNCTION_RULES, MEMBER_RULES

LIBRARY = sorted(
    {
        *FAMILY_RULES,
        *FIRST,
        *FUNCTION_RULES,
        *MEMBER_RULES,
        *RATES,
        *(value for value in vars(names).values() if isinstance(value, str) and value.startswith("wengert.")),
    }
    - {names.FAMILIES, names.FOLD, names.NN, names.PLUGINS}
)


@pytest.mark.parametrize("fullname", LIBRARY)
def test_a_name_is_defined_where_the_plugin_looks_for_it(fullname: str) -> None:
    module, _, name = fullname.rpartition(".")
    found = getattr(importlib.import_module(module), name)
    assert getattr(found, "__module__", module) == module, "defined elsewhere: mypy knows it by that name"


def test_every_name_of_the_library_starts_with_its_package() -> None:
    assert names.FAMILIES.startswith("wengert.ops.")
    assert len(LIBRARY) > 30
