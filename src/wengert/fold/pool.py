"""Processes that write examples down as flat arrays.

Knows: that a block is sent once to every process, and examples and loom inputs go to and fro.
Refuses to know: how an example is written down.
"""

from __future__ import annotations

import importlib
import multiprocessing
import pickle
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, final

from wengert.arrays import is_integer
from wengert.errors import BlockStateError, BlockValueError
from wengert.fold.block import Block
from wengert.fold.wiring import LoomInput, Writer
from wengert.graph.operand import shown
from wengert.site import user_position

E = TypeVar("E")
_writer: Final[list[Writer]] = []  # of a process of a pool: the only one


@final
class Pool(Generic[E]):
    """Processes that make loom inputs, while the context lasts.

    Each begins as a new interpreter that is sent the block, by `pickle`, or by `cloudpickle` if that is installed
    and functions without a name of their own are in the block.
    """

    def __init__(self, root: Block[E, object], processes: int) -> None:
        if not is_integer(processes) or int(processes) < 1:
            raise BlockValueError(
                f"td.Compiler: a pool has at least one process, not {shown(processes)}\n  at {user_position()}"
            )
        self._processes = ProcessPoolExecutor(
            int(processes), multiprocessing.get_context("spawn"), _begin, (_pickled(root),)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.shutdown(cancel_futures=True)

    def build_loom_inputs(self, examples: Iterable[E], batch_size: int = 100) -> list[LoomInput]:
        """As the compiler's own; `batch_size` examples go to a process at a time."""
        return list(self._processes.map(_wired, examples, chunksize=batch_size))


def _begin(root: bytes) -> None:
    _writer[:] = [Writer(pickle.loads(root))]  # what the parent has sent


def _wired(x: Any) -> LoomInput:  # Any: an example
    return _writer[0].written(x)


def _pickled(root: Block[E, object]) -> bytes:
    refused = pickle.PicklingError, AttributeError, TypeError
    try:
        return pickle.dumps(root)
    except refused as plain:
        advice = "name its functions, or install cloudpickle"
        try:
            data: bytes = importlib.import_module("cloudpickle").dumps(root)
        except ImportError:
            cause: Exception = plain
        except refused as error:
            cause, advice = error, "make in its functions what they need"
        else:
            return data
        raise BlockStateError(root.fault(f"it cannot be sent to a process: {cause}; {advice}")) from cause
