"""Input of a training: a loss, metrics, data; and the batches of an epoch that come of it.

Knows: their types, what is wrong with them, and that a function of the epoch makes its own batches.
Refuses to know: what is done with a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from inspect import signature
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol, SupportsFloat, TypeAlias, TypeVar

from wengert.arrays import is_array, is_integer
from wengert.data import Source, batches
from wengert.data.rows import check_source
from wengert.errors import ArgumentError, DataError
from wengert.graph.expressions import ArrayOperand
from wengert.graph.operand import shown
from wengert.metrics import Mergeable
from wengert.nn import Seeds
from wengert.run.ask import Loss
from wengert.run.shards import shards
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
Measured: TypeAlias = Loss | SupportsFloat | ArrayOperand[tuple[int], Any, Any] | Mergeable
Metric: TypeAlias = Callable[[B], Measured] | Callable[[B, Any], Measured]
Data: TypeAlias = Source[B] | Callable[[int], Sequenced[B] | Iterable[B]] | Iterable[B]


class Given(NamedTuple):
    """A loss with its results, expressions or None; `names` are those of a dictionary of results."""

    loss: Any  # Any: a loss of one of the three columns
    also: Any = None  # Any: as in `LossOf`
    names: tuple[str, ...] | None = None

    def results(self, data: Any) -> Any:  # Any: as above
        """The data of `also`, as a dictionary where that was one."""
        return data if self.names is None else dict(zip(self.names, data, strict=True))


def checked_loss(who: str, loss: LossOf[B]) -> LossOf[B]:
    """A loss, if it can be called with a batch and a seed."""
    try:
        signature(loss).bind(None, None)
    except ValueError:  # a callable of C that does not say what it takes
        return loss
    except TypeError:
        raise ArgumentError(
            f"{who}: a loss is a function of a batch and of a seed, `def loss(batch, seed)`; got {shown(loss)}\n"
            f"  at {user_position()}"
        ) from None
    return loss


def with_results(given: Any) -> Given:  # Any: as above
    """The parts of what a function of a batch gave."""
    loss, also = given if type(given) is tuple and len(given) == 2 else (given, None)
    return Given(loss, tuple(also.values()), tuple(also)) if isinstance(also, Mapping) else Given(loss, also)


def in_shards(loss: LossOf[B], count: int) -> LossOf[B]:
    """The loss of a batch as the sum of those of `count` parts of it, or of each example where there are fewer."""

    def of_part(part: B, seed: Seeds | None) -> Any:  # Any: as in `with_results`
        made = with_results(loss(part, seed))
        if made.also is not None:
            raise ArgumentError(
                "fit: the loss gives results besides, and those of shards are not put together; leave out shards=, or "
                f"measure them on validation data by metrics=\n  at {user_position()}"
            )
        return made.loss

    def of_batch(batch: B, seed: Seeds | None) -> Any:  # Any: as above
        return shards(of_part, batch, max(1, min(count, examples_in(batch))), seed=seed)

    return of_batch


def check_data(who: str, data: object, size: int | None) -> None:
    """ArgumentError for what is no data, or makes its own batches and is given a size; DataError for an empty set."""
    if not _gives_batches(data):
        check_source(
            who,
            data,
            ", a function from the epoch to its batches (`lambda epoch: batches`), or an iterable of batches, no list",
        )
    if _gives_batches(data) and size is not None:
        kind = "a function that makes its own batches" if callable(data) else "an iterable of batches"
        raise ArgumentError(
            f"{who}: batch_size is {size!r:.20}, and the data are {kind}; leave it out\n"
            f"  at {user_position()}"
        )
    if isinstance(data, Sized) and len(data) == 0:
        raise DataError(f"{who}: the data have no example\n  at {user_position()}")


def _gives_batches(data: object) -> bool:
    if callable(data):
        return True
    examples = (
        is_array(data) or isinstance(data, list | tuple | Mapping) or callable(getattr(data, "take", None))
    )
    return isinstance(data, Iterable) and not examples


def in_batches(
    who: str, data: Data[B], size: int | None, *, seed: int, epoch: int, shuffle: bool, start: int = 0
) -> tuple[int | None, Iterator[B]]:
    """How many batches an epoch has, None if nobody knows, and those from `start` on.

    Raises as `check_data`, and DataError for an epoch without a batch.
    """
    check_data(who, data, size)
    made: Any = data  # Any: what the user gave
    if callable(made):
        made = made(epoch)
    elif not _gives_batches(data):
        made = batches(made, BATCH if size is None else size, seed=seed, epoch=epoch, shuffle=shuffle)
    if hasattr(made, "__len__") and hasattr(made, "__getitem__"):
        count = len(made)
        if count == 0:
            raise DataError(f"{who}: epoch {epoch} of the data has no batch\n  at {user_position()}")
        return count, (made[i] for i in range(start, count))
    if not isinstance(made, Iterable):
        raise ArgumentError(
            f"{who}: the data are a function, and of epoch {epoch} it gave {shown(made)}, which is no sequence and no "
            f"iterable of batches\n  at {user_position()}"
        )
    return None, islice(_some(who, made, epoch), start, None)


def _some(who: str, made: Iterable[B], epoch: int) -> Iterator[B]:
    found = False
    for batch in made:
        found = True
        yield batch
    if not found:
        again = "; a generator is read once: give a function of the epoch" if epoch else ""
        raise DataError(f"{who}: epoch {epoch} of the data has no batch{again}\n  at {user_position()}")


def examples_in(batch: object) -> int:
    """Number of examples of a batch: its `len`, or of a tuple, list or dictionary of arrays the rows of the first."""
    parts: Any = batch  # Any: a batch of the user's
    if isinstance(batch, tuple | list | dict) and len(batch):
        first = next(iter(batch.values() if isinstance(batch, dict) else batch))
        shape = getattr(first, "shape", ())
        if isinstance(shape, tuple) and shape:
            return int(shape[0])
    return len(parts)


def whole(what: str, n: object, least: int) -> int:
    """An option of `fit` as an int, if it is a whole number that is not too small."""
    if not is_integer(n) or int(n) < least:
        raise ArgumentError(
            f"fit: {what} is an integer from {least} on; got {n!r:.60}\n  at {user_position()}"
        )
    return int(n)
