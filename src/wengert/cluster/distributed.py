"""`Distributed`: the sequential interpreter, whose shards are computed by workers.

Knows: that a shard is a pure function, so that it is sent again wherever one is lost or late, and the first answer
counts; that this process alone has the weights' state, adds in the order of shards and commits, so that nothing has to
be repaired when a worker dies.
Refuses to know: who carries messages, and what a worker does with one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Protocol, cast, runtime_checkable
from uuid import uuid4

from wengert.arrays import Value
from wengert.cluster.engine import Engine, SharedRef
from wengert.cluster.working import CachedRef, Computed, Task, compute, identity, spec_of
from wengert.control import Context, Executor, Run, Steps
from wengert.errors import ArgumentError, ClusterError, NodeLostError, raise_all
from wengert.graph.binding import Refs
from wengert.graph.node import Expression
from wengert.graph.operand import shown
from wengert.graph.weights import Weight
from wengert.run import Sequential
from wengert.run.borders import Shard, of_shard
from wengert.saving.portable import Portable, portable
from wengert.site import user_position

_COPIES: Final = 3  # times that a shard is sent to one more worker because nobody answers
_LOOKS: Final = 20  # in the time of patience: whether the run is cancelled, and whether anybody is left
_KEPT: Final = 64  # structures, and sets of weights, that stay where workers read them
_SLOWER: Final = 4.0  # times as long as the slowest shard so far, and those before it: no sign of a hang


@runtime_checkable
class HasEngine(Protocol):
    """A cluster: its engine, and whether workers have to compute the bits of this process."""

    @property
    def engine(self) -> Engine: ...

    @property
    def same_bits(self) -> bool: ...


@dataclass(eq=False)
class _Sent:
    """A shard on its way: its task, the answers that may come, and when it was last sent."""

    task: Task
    futures: list[Future[Computed]] = field(default_factory=list)
    at: float = 0.0
    queued: int = 1  # shards that its worker has, as far as they are divided evenly
    copies: int = 0  # sent because nobody answered
    deaths: int = 0  # of workers that had it
    answer: Computed | None = None
    failure: Exception | None = None

    @property
    def open(self) -> bool:
        return self.answer is None and self.failure is None


class Distributed(Sequential):
    """Shards of `wengert.shards` are computed by the workers of a cluster, all else here, as by `Sequential`.

    Weights, optimizer state and losses have the bits of `Sequential`, whatever the number of workers, and whoever dies
    or joins meanwhile. A shard whose worker dies is sent again; one that nobody answers for `patience` seconds, or for
    four times the slowest so far, goes to one more worker, and the first answer counts. `executor` makes that of each
    worker, such as `wengert.run.Batched`: then bits are those of that executor here.
    Raises, with nothing changed: NodeLostError where for `patience` seconds nobody is left, or three copies of a shard
    get no answer, or `retries` workers have died with it; ClusterError for a worker with other code, or one that
    computes other bits; what a loss raises in a shard, with the number of the shard, which is not tried again.
    >>> import numpy as np
    >>> import wengert as wg
    >>> from wengert.cluster import Local
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.5).double_weight(2.0)
    >>> loss = wg.shards(lambda part, seed: wg.mean(w * part), np.array([1.0, 2.0, 6.0]), 2)
    >>> float(loss.train().run(Distributed(Local(workers=2)))), w.data
    (6.0, 0.5)

    Source: Y. Li et al., "EasyScale", SC 2023, for shards that do not depend on who computes them; copies of late ones
    as in J. Dean and S. Ghemawat, "MapReduce", 2004.
    """

    def __init__(
        self,
        cluster: HasEngine | Engine,
        *,
        patience: float = 10.0,
        retries: int = 8,
        executor: Callable[[], Executor] = Sequential,
    ) -> None:
        if not patience > 0.0 or retries < 0:
            raise ArgumentError(
                f"Distributed: patience is a positive number of seconds, retries 0 or more; got {patience} and "
                f"{retries}\n  at {user_position()}"
            )
        engine = cluster.engine if isinstance(cluster, HasEngine) else cluster
        if not callable(getattr(engine, "submit", None)):
            raise ArgumentError(
                f"Distributed: expected a cluster or an engine, got {shown(cluster)}\n  at {user_position()}"
            )
        super().__init__()
        self.patience = patience
        self._engine, self._retries, self._executor = engine, retries, executor
        self._same_bits = cluster.same_bits if isinstance(cluster, HasEngine) else True
        self._name, self._numbers = uuid4().hex, count()
        self._structures: OrderedDict[str, CachedRef] = OrderedDict()
        self._specs: OrderedDict[tuple[int, ...], tuple[Sequence[Weight], CachedRef]] = OrderedDict()
        self._slowest = 0.0

    @property
    def workers(self) -> int:
        """Number of workers, as far as is known."""
        return self._engine.workers

    def shards(self, losses: object, back: bool, context: Context, /) -> Steps[list[Shard]]:
        """As `Sequential`, by workers."""
        around = self.engine.evaluation(context)
        parts = [portable(x) for x in cast("Sequence[Expression]", losses)]
        weights = [*dict.fromkeys(w for part in parts for w in part.weights)]
        data = self._engine.put(_data(weights, around.refs, around.snapshot))
        sent = [_Sent(task) for task in self._tasks(parts, weights, data, back)]
        try:
            self._answered(sent, context.run)
        finally:
            for x in sent:
                for future in x.futures:
                    if not future.done():
                        self._engine.abandon(future)
        raise_all([of_shard(x.failure, i, len(sent)) for i, x in enumerate(sent) if x.failure is not None])
        yield from ()
        return [_shard(x.answer, weights) for x in sent if x.answer is not None]

    def _tasks(
        self,
        parts: Sequence[Portable[Expression]],
        weights: Sequence[Weight],
        data: SharedRef[Sequence[Value]],
        back: bool,
    ) -> Iterable[Task]:
        places = {id(w): i for i, w in enumerate(weights)}
        specs = self._specs_of(weights)
        for part in parts:
            structure = self._structures.pop(part.digest, None)
            if structure is None:
                structure = CachedRef(part.digest, self._engine.put(part.structure))
            self._structures[part.digest] = structure
            own = tuple(places[id(w)] for w in part.weights)
            yield Task(structure, part.literals, own, specs, data, back, self._executor)
        while len(self._structures) > _KEPT:
            self._structures.popitem(last=False)

    def _specs_of(self, weights: Sequence[Weight]) -> CachedRef:
        """Specs of these weights, which are held, so that no other has the identity of one."""
        key = tuple(map(id, weights))
        if key not in self._specs:
            put = self._engine.put([spec_of(w) for w in weights])
            self._specs[key] = weights, CachedRef(f"{self._name} {next(self._numbers)}", put)
            if len(self._specs) > _KEPT:
                self._specs.popitem(last=False)
        return self._specs[key][1]

    def _answered(self, sent: Sequence[_Sent], run: Run) -> None:
        """Send all shards, and wait until each has an answer."""
        engine = self._engine
        left_since: float | None = None
        for x in sent:
            x.queued = -(-len(sent) // max(1, engine.workers))
            self._send(x)
        while waiting := [x for x in sent if x.open]:
            run.check()
            futures = {future: x for x in waiting for future in x.futures}
            for future in engine.wait([*futures], self.patience / _LOOKS):
                if future in futures[future].futures:  # else another copy has answered at once with this one
                    self._receive(futures[future], future)
            now = engine.now
            if engine.workers:
                left_since = None
            elif left_since is None:
                left_since = now
            elif now - left_since >= self.patience:
                raise NodeLostError(
                    f"no worker is left: {len(waiting)} of {len(sent)} shards have waited {self.patience:g} s for one; "
                    "nothing has changed; add workers and run it again, or resume from a checkpoint"
                )
            for x in sent:
                if x.open and not x.futures and engine.workers:
                    self._send(x)
                elif x.open and x.futures and now - x.at >= self._limit(x) and engine.workers:
                    self._copy(x)

    def _limit(self, x: _Sent) -> float:
        return max(self.patience, _SLOWER * self._slowest * x.queued) * float(2**x.copies)

    def _send(self, x: _Sent) -> None:
        x.at = self._engine.now
        x.futures.append(self._engine.submit(compute, x.task))

    def _copy(self, x: _Sent) -> None:
        """Send a shard to one more worker, as nobody has answered."""
        if x.copies == _COPIES:
            raise NodeLostError(
                f"{x.copies + 1} workers have been sent a shard, and none has answered for {self._limit(x):g} s; "
                "nothing has changed; if shards take so long, write Distributed(cluster, patience=...) with more"
            )
        x.copies += 1
        for future in x.futures:
            self._engine.late(future)
        self._send(x)

    def _receive(self, x: _Sent, future: Future[Computed]) -> None:
        """An answer, a failure of the loss, or that a worker has died."""
        x.futures.remove(future)
        failure = future.exception()
        if failure is None:
            self._check(answer := future.result())
            x.answer = answer
            self._slowest = max(self._slowest, answer.seconds)
            for other in x.futures:
                self._engine.abandon(other)
            x.futures.clear()
        elif isinstance(failure, NodeLostError):
            x.deaths += 1
            if x.deaths > self._retries:
                raise NodeLostError(
                    f"{x.deaths} workers have died with one shard, the last of them: {failure}; nothing has changed"
                ) from failure
        elif isinstance(failure, Exception):
            x.failure = failure
        else:
            raise failure

    def _check(self, answer: Computed) -> None:
        """Refuse a worker that is not as this process."""
        here = identity()
        if answer.by.code != here.code:
            raise ClusterError(
                f"a worker has {answer.by.code}, and this process {here.code}; nothing has changed; install the same "
                "on all machines"
            )
        if self._same_bits and answer.by.bits != here.bits:
            raise ClusterError(
                "a worker computes other bits than this process, by another kernel of BLAS or another number of its "
                "threads; nothing has changed; set OPENBLAS_NUM_THREADS=1 before Python starts, use machines of one "
                "kind, or write Cluster(..., same_bits=False)"
            )


class Distributing:
    """A cluster or an engine, of which `wengert.run.Distributed` makes an executor."""

    def distributed(self, *, patience: float, retries: int, executor: Callable[[], Executor]) -> Distributed:
        """The executor whose shards this computes."""
        cluster = cast("HasEngine | Engine", self)
        return Distributed(cluster, patience=patience, retries=retries, executor=executor)


def _data(weights: Sequence[Weight], refs: Refs, snapshot: int) -> list[Value]:
    return [refs.get(w, w.ref).at(snapshot) for w in weights]


def _shard(answer: Computed, weights: Sequence[Weight]) -> Shard:
    return Shard(answer.value, {weights[i]: delta for i, delta in answer.deltas})
