"""Input of a training: a loss, metrics, data; and the batches of an epoch that come of it.

Knows: their types, what is wrong with them, and that a function of the epoch makes its own batches.
Refuses to know: what is done with a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any, Final, Protocol, SupportsFloat, TypeAlias, TypeVar

from wengert.arrays import is_integer
from wengert.data import Source, batches
from wengert.data.rows import check_source
from wengert.errors import ArgumentError, DataError
from wengert.graph.expressions import ArrayOperand
from wengert.nn import Seeds
from wengert.run.ask import Loss
from wengert.site import user_position

B = TypeVar("B", bound=Sized)
B_co = TypeVar("B_co", covariant=True)
BATCH: Final = 32


class Sequenced(Protocol[B_co]):
    """The batches of an epoch: how many, and each by its place; a list is one."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> B_co: ...


# Any: the data of what a loss gives besides, which its own function knows
LossOf: TypeAlias = Callable[[B, Seeds | None], Loss | tuple[Loss, Any]]
# Any: every number of values, dtype and device
Measured: TypeAlias = Loss | SupportsFloat | ArrayOperand[tuple[int], Any, Any]
Metric: TypeAlias = Callable[[B], Measured] | Callable[[B, Any], Measured]
Data: TypeAlias = Source[B] | Callable[[int], Sequenced[B]]


def with_results(given: Any) -> tuple[Any, Any]:  # Any: a loss of one of the three columns; as in `LossOf`
    """The loss that a function of a batch gave, and what it gave besides, or None."""
    return given if type(given) is tuple and len(given) == 2 else (given, None)


def check_data(who: str, data: object, size: int | None) -> None:
    """ArgumentError for what is no data, or makes its own batches and is given a size; DataError for an empty set."""
    if not callable(data):
        check_source(who, data, ", or a function from the epoch to its batches")
    if callable(data) and size is not None:
        raise ArgumentError(
            f"{who}: batch_size is {size!r:.20}, and the data are a function that makes its own batches; leave it out\n"
            f"  at {user_position()}"
        )
    if isinstance(data, Sized) and len(data) == 0:
        raise DataError(f"{who}: the data have no example\n  at {user_position()}")


def in_batches(
    who: str, data: Data[B], size: int | None, *, seed: int, epoch: int, shuffle: bool
) -> Sequenced[B]:
    """The batches of an epoch; raises as `check_data`, and DataError for an epoch without a batch."""
    check_data(who, data, size)
    if callable(data):
        made = data(epoch)
        if len(made) == 0:
            raise DataError(f"{who}: epoch {epoch} of the data has no batch\n  at {user_position()}")
        return made
    return batches(data, BATCH if size is None else size, seed=seed, epoch=epoch, shuffle=shuffle)


def whole(what: str, n: object, least: int) -> int:
    """An option of `fit` as an int, if it is a whole number that is not too small."""
    if not is_integer(n) or int(n) < least:
        raise ArgumentError(
            f"fit: {what} is an integer from {least} on; got {n!r:.60}\n  at {user_position()}"
        )
    return int(n)
