"""Checks for authors of operations and of types: derivatives, laws of effects, laws of differentiable types.

Knows: the public names.
Refuses to know: how anything is checked.
"""

from __future__ import annotations

from wengert.testing.gradients import Checked, check_gradients
from wengert.testing.laws import check_laws, check_type_laws

__all__ = ["Checked", "check_gradients", "check_laws", "check_type_laws"]
