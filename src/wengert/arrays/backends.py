"""Installed array libraries: versions of numpy and cupy, the BLAS and its threads, the devices.

Knows: where each of them has it; that cupy may be absent, or there without a driver.
Refuses to know: what would be right.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from wengert.arrays.pools import BLAS_THREADS

__all__ = ["Gpus", "blas", "gpus"]


class Gpus(NamedTuple):
    """The devices that cupy sees; `failure` is what kept it from seeing any."""

    version: str
    names: tuple[str, ...]
    failure: str = ""


def blas() -> str:
    """numpy's BLAS as it was built in, and its threads now."""
    built: Any = np.show_config(mode="dicts")  # Any: of numpy's own making, without a type
    found = (built or {}).get("Build Dependencies", {}).get("blas", {})
    name = f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()
    return f"{name}, {_count(BLAS_THREADS[0](), 'thread') if BLAS_THREADS else 'its threads are not known'}"


def gpus() -> Gpus | None:
    """The devices; None where there is no cupy."""
    if find_spec("cupy") is None:
        return None
    version = ""
    try:
        cupy = import_module("cupy")  # an optional dependency
        version = cupy.__version__
        runtime = cupy.cuda.runtime
        names = [runtime.getDeviceProperties(i)["name"] for i in range(runtime.getDeviceCount())]
    except Exception as failure:  # cupy's own classes: they are known where cupy could be imported
        return Gpus(version, (), f"{type(failure).__name__}: {str(failure).strip().splitlines()[0]}")
    return Gpus(version, tuple(x.decode() if isinstance(x, bytes) else str(x) for x in names))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
