"""Arrays of other libraries, as arrays of numpy or cupy: torch, jax, pandas, polars and who else has their protocols.

Knows: DLPack, `__array_interface__` and `__array__`; none of them copies where it need not.
Refuses to know: any library by name, and what becomes of the array.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import numpy as np

from wengert.arrays.namespace import Value
from wengert.errors import DTypeError, WengertError

_HOST: Final = (1, 3)  # DLPack's numbers of plain memory, and of that which a GPU can reach
_CUDA: Final = (2, 13)


def interchanged(x: Any) -> Value | None:  # Any: an array of any library
    """An array over the memory of another library's; None for what is no array.

    Raises DTypeError for one that its library does not hand out, as a tensor of torch that requires a gradient.
    >>> class Column:
    ...     def __array__(self, dtype=None, copy=None):
    ...         return np.arange(3.0)
    >>> interchanged(Column()), interchanged("text")
    (array([0., 1., 2.]), None)

    Source: https://dmlc.github.io/dlpack, numpy's array interface.
    """
    cls = type(x)
    if isinstance(x, (np.bool_, np.integer)):  # numpy gives them where it computes with arrays of shape ()
        return np.asarray(x)
    if isinstance(x, (np.generic, type)):
        return None
    try:
        if hasattr(cls, "__dlpack__") and hasattr(cls, "__dlpack_device__"):
            device = int(x.__dlpack_device__()[0])
            if device in _HOST:
                return np.from_dlpack(x)
            if device in _CUDA:
                return import_module("cupy").from_dlpack(x)
        if hasattr(cls, "__array__") or hasattr(x, "__array_interface__"):
            return np.asarray(x)
    except WengertError:
        return None  # an expression, which is no array
    except Exception as error:
        home = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
        advice = "; write x.detach()" if hasattr(cls, "detach") else ""
        raise DTypeError(f"a {home} cannot be read as an array: {error!s:.200}{advice}") from error
    return None
