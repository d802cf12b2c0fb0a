"""A pickle read as data: dictionaries, lists, numbers, texts and arrays of bytes, and nothing else.

Knows: the few names that a pickled array consists of, each of which is a stand-in here, so that none of numpy's
own code meets what a stranger wrote.
Refuses to know: every other name; importing and calling are what makes pickles dangerous.
"""

from __future__ import annotations

import math
import pickle
from io import BytesIO
from typing import Any, Final, NoReturn, final

from wengert.errors import DataError

_ARRAYS: Final = ("numpy.core.multiarray", "numpy._core.multiarray")


@final
class ElementType:
    """What stands for a dtype; its code is a kind and a size, as in "u1"."""

    code: object = None

    def __init__(self, code: object = None, *given: object) -> None:
        self.code = code.decode("latin-1") if isinstance(code, bytes) else code

    def __setstate__(self, state: object) -> None:
        """Byte order and fields, which say nothing of single bytes."""


@final
class PickledArray:
    """What stands for an array: its shape, its element type and its bytes, of which nothing is believed yet."""

    state: object = None

    def __init__(self, *given: object) -> None:
        """What numpy's own would make, of no size; the state comes after."""

    def __setstate__(self, state: object) -> None:
        self.state = state

    def content(self, width: int) -> bytes | None:
        """The bytes of a C-ordered array of bytes, n x `width`; None if it is no such array."""
        match self.state:
            case (_, (int(n), int(m)), ElementType(code="u1"), False | 0, bytes(content)) if m == width:
                return content if n >= 0 and len(content) == math.prod((n, m)) else None
            case _:
                return None


class _Encode:
    """Makes bytes, as Python 3 writes them for Python 2."""

    __slots__ = ()

    def __call__(self, text: object, encoding: object = "latin1") -> bytes:
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise pickle.UnpicklingError("it has bytes in an encoding other than latin1")
        return text.encode("latin-1")

    def __setstate__(self, state: object) -> NoReturn:  # nothing in a pickle changes what reads it
        raise pickle.UnpicklingError("it would change what reads it")


class _Names(pickle.Unpickler):
    """Admits the names of an array, and raises for all others."""

    def find_class(self, module: str, name: str) -> Any:  # Any: as in the standard library
        match module, name:
            case ("numpy", "ndarray"):
                return PickledArray
            case ("numpy", "dtype"):
                return ElementType
            case (where, "_reconstruct") if where in _ARRAYS:
                return PickledArray
            case ("_codecs", "encode"):
                return _Encode()
            case _:
                raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no array of bytes needs")

    def persistent_load(self, identity: object) -> NoReturn:
        raise pickle.UnpicklingError("it asks for an object that is not in it")


def unpickled(content: bytes, place: str) -> object:
    """What a pickle holds, read without running anything; DataError for a pickle that needs more, or is none."""
    try:
        found: object = _Names(BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a broken pickle may raise nearly anything
        raise DataError(
            f"{place}: it is no pickle that can be read safely: {str(error) or type(error).__name__}"
        ) from error
    return found
