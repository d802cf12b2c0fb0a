"""Packages that only some uses need.

Knows: that they are imported when they are needed, and what to say where they are not there.
Refuses to know: what they are for.
"""

from __future__ import annotations

import importlib
from typing import Any

from wengert.errors import PackageError


def optional(module: str, package: str, use: str, extra: str) -> Any:  # Any: a module without static types
    """The module, or a PackageError that says what to install.

    >>> optional("json", "json", "reading", "none").loads("[1]")
    [1]
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PackageError(
            f"{use} needs the package {package}, which is not installed; write pip install 'wengert[{extra}]'"
        ) from error
