"""Place in the user's files at which something was written.

Knows: code objects and instruction offsets, which are cheap to record (two words) and exact to read back.
Refuses to know: what was written there.
"""

from __future__ import annotations

import os
import sys
from opcode import opmap
from types import CodeType, FrameType
from typing import Final

_PACKAGE: Final = os.path.dirname(os.path.realpath(__file__)) + os.sep
_CALLS: Final = {opmap[name] for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX") if name in opmap}
_WRITTEN: Final = "<string>"  # the file of what `dataclass` has written
_MOST_FILES: Final = 4096  # beyond it the table starts afresh: each cell of a notebook is a file


class _Ours(dict[str, bool]):
    """Table of files by name, True for those of this package: a look-up, as every node asks."""

    def __missing__(self, file: str) -> bool:
        if len(self) >= _MOST_FILES:
            self.clear()
        self[file] = found = file.startswith(_PACKAGE)
        return found


OURS: Final = _Ours()


def position(code: CodeType | str, offset: int) -> str:
    """`file:line` of one instruction; a node that crossed a process boundary keeps just that text."""
    if isinstance(code, str):
        return code
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            line = number
    return f"{code.co_filename}:{line}"


def column(code: CodeType | str, offset: int) -> str:
    """`:column` of a call where its line has others beside it, so that the two have different places; else empty."""
    if isinstance(code, str):
        return ""
    places = [*code.co_positions()]
    line, end, left, right = places[offset // 2]
    if left is None or right is None or line != end:
        return ""
    for operation, (first, last, start, stop) in zip(code.co_code[::2], places, strict=True):
        if operation not in _CALLS or not first == last == line or start is None or stop is None:
            continue
        if stop <= left or right <= start:
            return f":{left + 1}"
    return ""


def is_ours(frame: FrameType) -> bool:
    """Tell whether a frame runs this package's own code, or what `dataclass` has written."""
    file = frame.f_code.co_filename
    if file == _WRITTEN:
        name: str = frame.f_globals.get("__name__", "")
        return name.startswith("wengert.") or frame.f_code.co_name == "__init__"
    return OURS[file]


def user_frame() -> FrameType:
    """The nearest frame outside this package: the line that the user wrote."""
    return outside(sys._getframe(1))


def outside(frame: FrameType) -> FrameType:
    """The frame, or the nearest of its callers outside this package."""
    while True:
        file = frame.f_code.co_filename
        ours = OURS[file]
        if not ours and (file != _WRITTEN or not is_ours(frame)):
            return frame
        back = frame.f_back
        if back is None:
            return frame
        frame = back


def user_position() -> str:
    """`file:line` of the nearest frame outside this package."""
    frame = user_frame()
    return position(frame.f_code, frame.f_lasti)
