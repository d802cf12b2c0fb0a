"""Parts of Wengert that are loaded when somebody first asks for them, so that importing it takes less time.

Knows: how to load a part by its name.
Refuses to know: the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def later(module: str, name: str) -> Callable[..., Any]:  # Any: the function of that name says
    """A function that loads `module` when it is called, and is its function `name`."""

    def call(*arguments: object) -> object:
        return getattr(import_module(module), name)(*arguments)

    return call
