"""The array libraries: the one that serves a value, or values that are not there yet, and those that are installed.

Knows: that a value is a Python number, an array or scalar of numpy, or an array of cupy; that a device is
"cpu" or one of cupy's; that cupy may be absent, or there without a driver.
Refuses to know: operations and graphs; cupy, until one of its arrays is met.
"""

from __future__ import annotations

import math
from importlib import import_module
from numbers import Real
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, SupportsIndex, TypeGuard, cast

import numpy as np

from wengert.arrays import host, scalar
from wengert.arrays.namespace import Namespace, ScalarNamespace
from wengert.arrays.pools import BLAS_THREADS
from wengert.arrays.types import Cpu, Float32, Gpu
from wengert.later import later

__all__ = [
    "HOST",
    "SCALAR",
    "device_launches",
    "is_array",
    "is_float32",
    "is_host_array",
    "is_integer",
    "is_number",
    "is_out_of_memory",
    "namespace_for",
    "namespace_of",
    "serve",
]

HOST: Namespace = host
SCALAR: ScalarNamespace = scalar

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from wengert.arrays import gpu

    _GPU_IS_ONE: Namespace = gpu

_FIND_SPEC: Final = later("importlib.util", "find_spec")
# Rules with axes are not registered for Python floats, so what scalar lacks is not asked for.
_scalar_as_all = cast(Namespace, scalar)
_by_class: dict[type, Namespace] = {
    float: _scalar_as_all,
    int: _scalar_as_all,
    bool: _scalar_as_all,
    np.ndarray: host,
}


def _is_cupy(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "cupy"


def namespace_of(x: object) -> Namespace:
    """The functions for values of the class of `x`; a Python float has those of `ScalarNamespace` only.

    >>> namespace_of(2.0).exp(0.0)
    1.0
    """
    kind = type(x)
    found = _by_class.get(kind)
    if found is None:
        found = _by_class[kind] = _find(kind)
    return found


def serve(kind: type, namespace: Namespace) -> None:
    """Have `namespace_of` answer with `namespace` for values of the class `kind`, which stand for arrays."""
    _by_class[kind] = namespace


def namespace_for(device: Cpu | Gpu, arrays: bool) -> Namespace:
    """The functions for values not there yet: for arrays and numpy scalars on `device`, or for Python floats.

    >>> namespace_for("cpu", True) is HOST
    True
    """
    if not arrays:
        return _scalar_as_all
    return HOST if device == "cpu" else _gpu()


def _gpu() -> Namespace:
    return cast(Namespace, _over_cupy("gpu"))


def device_launches() -> Any:  # Any: a module, which is typed where cupy is known
    """The kernels of a device: `wengert.arrays.launches`."""
    return _over_cupy("launches")


def is_out_of_memory(failure: BaseException) -> bool:
    """True of cupy's error for a device without memory."""
    return type(failure).__name__ == "OutOfMemoryError" and _is_cupy(type(failure))


def _over_cupy(name: str) -> ModuleType:
    # by name: it imports cupy, which is optional
    return import_module(f"wengert.arrays.{name}")


def _find(kind: type) -> Namespace:
    if issubclass(kind, np.ndarray | np.generic):
        return host
    if any(map(_is_cupy, kind.__mro__)):
        return _gpu()
    if issubclass(kind, float | int):
        return _scalar_as_all
    raise TypeError(f"{kind.__module__}.{kind.__qualname__} is no number and no array of numpy or cupy")


def is_host_array(x: object) -> TypeIs[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    """True for arrays of numpy, its scalars not among them."""
    return isinstance(x, np.ndarray)


def is_array(x: object) -> bool:
    """True for arrays of numpy and cupy of every rank and element type; numpy's scalars are none.

    >>> is_array(np.zeros(2)), is_array(np.float32(0)), is_array(0.0)
    (True, False, False)
    """
    kind = type(x)
    return kind is np.ndarray or isinstance(x, np.ndarray) or (kind.__name__ == "ndarray" and _is_cupy(kind))


def is_integer(x: object) -> TypeGuard[SupportsIndex]:
    """True for integers of Python and numpy, truth values not among them.

    >>> is_integer(1), is_integer(np.int8(1)), is_integer(True), is_integer(1.0)
    (True, True, False, False)
    """
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def is_number(x: object) -> TypeGuard[float]:
    """True for real numbers that are finite as a double, truth values not among them.

    >>> is_number(1), is_number(0.5), is_number(True), is_number(10**400), is_number(float("nan"))
    (True, True, False, False, False)
    """
    if not isinstance(x, Real) or isinstance(x, bool):
        return False
    try:
        return math.isfinite(x)
    except OverflowError:
        return False


def plain(x: object) -> object:
    """Integers and truth values of numpy as Python's, those in a tuple too; anything else as it is.

    >>> plain(np.int64(1)), plain((np.int8(0), 1)), plain(np.True_), plain(np.float32(1))
    (1, (0, 1), True, np.float32(1.0))
    """
    if isinstance(x, tuple):
        return tuple(map(plain, x))
    return x.item() if isinstance(x, np.integer | np.bool_) else x


def is_float32(x: object) -> TypeIs[Float32]:
    """True for numpy's float32 scalars."""
    return isinstance(x, np.float32)


class Gpus(NamedTuple):
    """The devices that cupy sees; `failure` is what kept it from seeing any."""

    version: str
    names: tuple[str, ...]
    failure: str = ""
    driver: str = ""
    memory: str = ""


def blas() -> str:
    """numpy's BLAS as it was built in, and its threads now."""
    built: Any = np.show_config(mode="dicts")  # Any: of numpy's own making, without a type
    found = (built or {}).get("Build Dependencies", {}).get("blas", {})
    name = f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()
    return f"{name}, {_count(BLAS_THREADS[0](), 'thread') if BLAS_THREADS else 'its threads are not known'}"


def gpus() -> Gpus | None:
    """The devices; None where there is no cupy."""
    if _FIND_SPEC("cupy") is None:
        return None
    version = ""
    try:
        cupy = import_module("cupy")  # an optional dependency
        version = cupy.__version__
        runtime = cupy.cuda.runtime
        names = [runtime.getDeviceProperties(i)["name"] for i in range(runtime.getDeviceCount())]
        told = (_driver(runtime), f"{cupy.get_default_memory_pool().total_bytes():,} bytes") if names else ()
    except Exception as failure:  # cupy's own classes: they are known where cupy could be imported
        return Gpus(version, (), f"{type(failure).__name__}: {str(failure).strip().splitlines()[0]}")
    return Gpus(version, tuple(x.decode() if isinstance(x, bytes) else str(x) for x in names), "", *told)


def _driver(runtime: Any) -> str:  # Any: a module of cupy's
    """The newest CUDA that the driver takes: 12080 is 12.8."""
    number: int = runtime.driverGetVersion()
    return f"{number // 1000}.{number % 1000 // 10}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
