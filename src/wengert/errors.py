"""Every exception that Wengert raises by itself.

Knows: the kinds, and that each is also the built-in kind that a Python user would catch.
Refuses to know: graphs, arrays and how a text is put together from them; whoever raises writes the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

E = TypeVar("E", bound=BaseException)


class WengertError(Exception):
    """The base of every error that this library raises by itself."""


class ShapeError(WengertError, ValueError):
    """Shapes do not fit an operation."""


class DTypeError(WengertError, TypeError):
    """Element types do not fit an operation, or would have been converted silently."""


class DeviceError(WengertError, ValueError):
    """Operands of one operation live on different devices."""


class NotDifferentiableError(WengertError, TypeError):
    """A value was used as an expression and no implementation is registered for its type."""


class ArgumentError(WengertError, TypeError):
    """An argument is of a kind that the function does not take."""


class LazyError(WengertError, TypeError):
    """A layer was used as if it were a value: `bool`, `len`, iteration, comparison, `numpy.asarray`."""


class TapeReleasedError(WengertError, RuntimeError):
    """`backward` was called on a tape whose run, or whose `nested()` part, has ended."""


class NonFiniteError(WengertError, ArithmeticError):
    """A loss or a delta is infinite or not a number."""


class PluginError(WengertError, TypeError):
    """Plugins cannot be put together as written."""


class CheckpointError(WengertError, ValueError):
    """A file of weights is broken or belongs to another model."""


class CheckpointWriteError(CheckpointError, OSError):
    """Weights could not be written: a full disk, a folder that is not there or closed."""


class CheckpointPackageError(CheckpointError, ImportError):
    """The package that reads and writes files of weights is not installed, or is a release that cannot serve."""


class DataError(WengertError, ValueError):
    """A file of data is broken or of another format, or examples do not fit together."""


class PackageError(WengertError, ImportError):
    """A package that only this needs is not installed."""


class ClusterError(WengertError, ConnectionError):
    """A cluster cannot be started or joined, or computes other bits than this process."""


class NodeLostError(ClusterError):
    """Processes that a run needs have died or do not answer, and none took their place in time."""


class OutdatedError(ClusterError):
    """A run began before a training, of a part elsewhere, that has ended since."""


class OverloadedError(WengertError, RuntimeError):
    """More requests wait than a server was told to accept."""


class BlockError(WengertError, TypeError):
    """Blocks of `wengert.fold` do not fit together."""


class BlockValueError(BlockError, ValueError):
    """A block got an argument, or was connected in a way, that has no meaning."""


class BlockKeyError(BlockError, KeyError):
    """A block has nothing under the key that the data have."""

    def __str__(self) -> str:  # that of a KeyError is the `repr` of its text
        return str(self.args[0])


class BlockIndexError(BlockError, IndexError):
    """A block was asked for an element that a sequence does not have."""


class BlockStateError(BlockError, RuntimeError):
    """A block is not ready for, or not of the kind for, what was asked of it."""


class BlockUseError(BlockError, AssertionError):
    """Blocks were used in an order or place in which they cannot be."""


class NotAwaitableError(WengertError, TypeError):
    """Something other than a layer, a `Do` or a `gather` was awaited inside `@differentiable`."""


class ProgramWarning(RuntimeWarning):
    """Making the program of a structure failed, or its first run: runs go on without it, with right results."""


class Failures(ExceptionGroup[Exception]):
    """Several branches of one run failed; each of their exceptions is a member, none is nested."""

    def derive(self, excs: Sequence[Exception], /) -> Failures:  # type: ignore[override] # members are Exceptions here, by construction
        return Failures(self.message, excs)


def combine(failures: Iterable[Exception]) -> Exception:
    """One exception for all of `failures`: itself if it is alone, else one flat group.

    Groups made here are flattened, a user's own group stays one member, and one exception object that is
    met twice counts once.
    """
    flat: dict[int, Exception] = {}
    for failure in failures:
        for member in failure.exceptions if isinstance(failure, Failures) else (failure,):
            flat.setdefault(id(member), member)
    members = list(flat.values())
    if len(members) == 1:
        return members[0]
    return Failures(f"{len(members)} failures in one run", members)


def raise_all(failures: list[Exception]) -> None:
    """Raise what has been collected, if anything, and leave the list empty.

    Their tracebacks hold the caller's frame, which holds the list: a cycle, which only the collector would free.
    """
    if failures:
        try:
            raise combine(failures)
        finally:
            failures.clear()
