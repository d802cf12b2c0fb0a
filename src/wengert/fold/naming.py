"""What a person has made has a name, shows itself, and knows the line where it was written.

Knows: how an error about it is worded.
Refuses to know: what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Final

from wengert.errors import BlockError
from wengert.fold.types import Value
from wengert.graph.operand import shown
from wengert.run.cell import Cell
from wengert.site import position, user_frame, user_position


class Named:
    """The base of blocks and of declarations of them."""

    def __init__(self, name: str | None, arguments: dict[str, object]) -> None:
        if name is not None and not isinstance(name, str):
            raise BlockError(
                f"td.{type(self).__name__}: a name is a string; got {shown(name)}\n  at {user_position()}"
            )
        frame = user_frame()
        while frame.f_globals.get("__name__") == "typing" and frame.f_back is not None:
            frame = frame.f_back  # `td.Nth[int]()` calls through there
        self._code: CodeType | str = frame.f_code
        self._offset = frame.f_lasti
        self.name: Final = name
        self._arguments = arguments

    @property
    def written(self) -> tuple[CodeType | str, int]:
        """Where it was made, as nodes keep it."""
        return self._code, self._offset

    @property
    def site(self) -> str:
        """`file:line` where it was made."""
        return position(self._code, self._offset)

    def __repr__(self) -> str:
        given = [("", repr(self.name))] * (self.name is not None)
        given += [(f"{key}=", brief(x)) for key, x in self._arguments.items()]
        return f"<td.{' '.join([type(self).__name__, *(key + text for key, text in given)])}>"

    def __getstate__(self) -> dict[str, Any]:  # Any: whatever a class keeps
        return {**self.__dict__, "_code": self.site}  # code is not pickled, and a site is only shown

    def fault(self, text: str) -> str:
        """The text of an error: what it is about, what happened, the line that made it."""
        return f"{self!r}: {text}\n  at {self.site}"

    def cell(self, function: Callable[..., Value]) -> Callable[..., Value]:
        """A function of layers as a cell, with the name of this, whose calls count as written where this was made."""
        own = getattr(function, "__name__", "_").lstrip("<").rstrip(">")
        called = (self.name and repr(self.name)) or ("" if own.startswith("_") else own)
        made = Cell(function, called=f"td.{type(self).__name__} {called}".rstrip())
        made.at = self.written
        return made


def brief(x: object) -> str:
    """An argument in a `repr`; of blocks only the names, because blocks nest."""
    if isinstance(x, Named):
        return f"<td.{type(x).__name__}{' ' + repr(x.name) if x.name else ''}>"
    if isinstance(x, (list, tuple)) and any(isinstance(part, Named) for part in x):
        return f"({', '.join(map(brief, x))})"
    if callable(x) and hasattr(x, "__name__"):  # its `repr` has an address, which differs from run to run
        return str(x.__name__)
    return shown(x)
