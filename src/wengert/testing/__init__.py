"""Checks for authors of operations and of types, and for models' types.

Knows: the public names.
Refuses to know: how anything is checked.
"""

from __future__ import annotations

from wengert.testing.gradients import Checked, check_gradients
from wengert.testing.laws import check_laws, check_type_laws
from wengert.testing.plugin import plugin_active

__all__ = ["Checked", "check_gradients", "check_laws", "check_type_laws", "plugin_active"]
