"""Arithmetic without warnings: infinite and invalid results are values here.

Knows: that numpy keeps what it does about them in a context variable, and that a context in which `numpy.seterr` has
been called has the value for it. To set that takes a fifth of `numpy.errstate`, which makes it anew each time.
Refuses to know: what is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token, copy_context
from typing import Any, Final

import numpy as np

__all__ = ["all_quiet"]


def _ignoring() -> tuple[ContextVar[Any], Any] | None:  # Any: numpy's own
    """numpy's variable and the value that ignores everything; None where it keeps that elsewhere."""
    context = copy_context()
    before = dict(context)
    context.run(np.seterr, all="ignore")
    changed = [(variable, value) for variable, value in context.items() if before.get(variable) is not value]
    return changed[0] if len(changed) == 1 else None


_FOUND: Final = _ignoring()


class _Quiet:
    """A scope, entered once."""

    __slots__ = ("_token",)
    _variable, _value = _FOUND or (ContextVar[Any]("nothing of numpy's"), None)  # Any: as above

    def __enter__(self) -> None:
        self._token: Token[Any] = self._variable.set(self._value)  # Any: as above

    def __exit__(self, *failure: object) -> None:
        self._variable.reset(self._token)


def _errstate() -> AbstractContextManager[None, None]:
    return np.errstate(all="ignore")


all_quiet: Final[Callable[[], AbstractContextManager[None, None]]] = _errstate if _FOUND is None else _Quiet
