"""Batches that are made ahead of time: on a thread, or in processes; streams in another order.

Knows: that the order of batches is that of the source, however many workers there are; that a worker may die.
Refuses to know: what a batch is, and who takes it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any, Generic, TypeVar, final

from wengert.arrays import is_integer
from wengert.errors import ArgumentError, DataError
from wengert.site import user_position

A = TypeVar("A")
B = TypeVar("B")


def prefetch(
    batches: Iterable[A], transform: Callable[[A], B], *, workers: int = 0, ahead: int = 2
) -> Prefetched[B]:
    """`transform` of each batch, in their order, `ahead` of them made before they are asked for.

    On one thread, or with `workers` in as many processes. What comes out does not depend on their number. Batches and
    results are then pickled, and so is `transform`, which is a function of a module; a program that is a script has its
    calls under `if __name__ == "__main__":`. What `transform` raises is raised where its batch is asked for; a worker
    that dies is a DataError. ArgumentError for numbers that are too small.
    >>> from wengert.data import Items, batches
    >>> made = prefetch(batches(Items(range(5)), 2, seed=0, epoch=0, shuffle=False), lambda batch: sum(batch.items))
    >>> list(made), len(made)
    ([1, 5, 4], 3)

    Source: `torch.utils.data.DataLoader` with `num_workers` and `prefetch_factor`.
    """
    for what, n, least in (("workers", workers, 0), ("ahead", ahead, 1)):
        if not is_integer(n) or int(n) < least:
            raise ArgumentError(
                f"prefetch: {what} is an integer from {least} on; got {n!r:.60}\n  at {user_position()}"
            )
    return Prefetched(batches, transform, workers, ahead)


@final
class Prefetched(Generic[B]):
    """Batches that `prefetch` makes, anew each time it is iterated; `len` is that of the source, if it has one."""

    __slots__ = ("_ahead", "_batches", "_transform", "_workers")

    def __init__(
        self, batches: Iterable[Any], transform: Callable[[Any], B], workers: int, ahead: int
    ) -> None:  # Any: what the function takes
        self._batches, self._transform, self._workers, self._ahead = batches, transform, workers, ahead

    def __len__(self) -> int:
        if not isinstance(self._batches, Sized):
            raise TypeError(f"{type(self._batches).__name__}, whose batches are prefetched, has no length")
        return len(self._batches)

    def __iter__(self) -> Iterator[B]:
        if self._workers:
            # spawn: a fork of a process with threads may wait for a lock for ever
            pool: Executor = ProcessPoolExecutor(self._workers, mp_context=get_context("spawn"))
        else:
            pool = ThreadPoolExecutor(1, thread_name_prefix="prefetch")
        given, number = iter(self._batches), 0
        waiting: deque[Future[B]] = deque()
        try:
            while True:
                while len(waiting) < max(self._ahead, self._workers):
                    try:
                        batch = next(given)
                    except StopIteration:
                        break
                    waiting.append(pool.submit(self._transform, batch))
                if not waiting:
                    return
                yield waiting.popleft().result()
                number += 1
        except BrokenExecutor as error:
            raise DataError(
                f"prefetch: a worker process died while batch {number} was made, of a signal or for want of memory; "
                f"with workers=0 it is made in this process, where its error is seen\n  at {user_position()}"
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def shuffled(examples: Iterable[A], size: int, *, seed: int) -> Iterator[A]:
    """The examples of a stream in an order that `seed` decides, by a buffer of `size` of them.

    Each comes once; one that comes at place i stands at i - size or later. The order is that of every version of
    Python. ArgumentError for a size below 1 and a negative seed.
    >>> found = list(shuffled(range(6), 3, seed=0))
    >>> found == list(shuffled(range(6), 3, seed=0)), sorted(found)
    (True, [0, 1, 2, 3, 4, 5])

    Source: `tf.data.Dataset.shuffle`.
    """
    for what, n, least in (("size", size, 1), ("seed", seed, 0)):
        if not is_integer(n) or int(n) < least:
            raise ArgumentError(
                f"shuffled: {what} is an integer from {least} on; got {n!r:.60}\n  at {user_position()}"
            )
    return _shuffled(examples, size, random.Random(seed))


def _shuffled(examples: Iterable[A], size: int, chance: random.Random) -> Iterator[A]:
    held: list[A] = []
    for example in examples:
        held.append(example)
        if len(held) == size:
            yield _drawn(held, chance)
    while held:
        yield _drawn(held, chance)


def _drawn(held: list[A], chance: random.Random) -> A:
    place = int(chance.random() * len(held))
    held[place], held[-1] = held[-1], held[place]
    return held.pop()
