"""`Distributed`: the sequential interpreter, whose shards are computed by workers.

Knows: that a shard is a pure function, so that it is sent again wherever one is lost or late, and the first answer
counts; that this process alone has the weights' state, adds in the order of shards and commits, so that nothing has to
be repaired when a worker dies. That a commit may leave shards on their way to later ones, and which it has taken.
Refuses to know: who carries messages, and what a worker does with one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Final, Protocol, TypeAlias, Unpack, cast, runtime_checkable
from uuid import uuid4

from wengert.arrays import Value
from wengert.cluster.engine import Engine, SharedRef
from wengert.cluster.working import CachedRef, Computed, Task, compute, identity, spec_of
from wengert.control import Context, Do, Executor, Steps
from wengert.control.do import Question
from wengert.differentiable import Tape
from wengert.errors import ArgumentError, ClusterError, NodeLostError, raise_all
from wengert.graph.binding import Refs
from wengert.graph.evidence import register
from wengert.graph.node import Expression
from wengert.graph.operand import shown
from wengert.graph.store import STORE
from wengert.graph.weights import DataWeight, Weight
from wengert.plugins.optimizer import Optimizer
from wengert.run import Sequential
from wengert.run.shards import DistributedOptions, Shard, of_shard, total
from wengert.saving.portable import Portable, portable
from wengert.site import user_position

_WAITS: Final = (1, 1, 4, 8)  # times patience until a shard is sent to one more worker, and is given up
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


# of each commit the shards that it took: by how many commits their weights had seen, and which of their step they were
Commits: TypeAlias = Sequence[Sequence[Sequence[int]]]


@dataclass(eq=False)
class _Sent:
    """A shard on its way: its task, the answers that may come, and when it was last sent."""

    task: Task
    weights: Sequence[Weight]
    index: int  # among `of`
    of: int
    version: int = 0  # commits that its weights have seen
    futures: list[Future[Computed]] = field(default_factory=list)
    at: float = 0.0
    queued: int = 1  # shards that its worker has, as far as they are divided evenly
    copies: int = 0  # sent because nobody answered
    # answers that were not there when one was sent
    late: list[Future[Computed]] = field(default_factory=list)
    deaths: int = 0  # of workers that had it
    answer: Computed | None = None
    failure: Exception | None = None

    @property
    def open(self) -> bool:
        return self.answer is None and self.failure is None


class Clock:
    """The number of commits that an executor has made; a weight, so that a commit changes it with all others."""

    __slots__ = ("commits",)

    def __init__(self, commits: int) -> None:
        self.commits = commits

    def zero_delta(self) -> float:
        """No commit."""
        return 0.0

    def stepped(self, step: float, /) -> Clock:
        """One more."""
        return Clock(self.commits + 1)

    def to_array(self) -> float:
        """The number."""
        return float(self.commits)

    def from_array(self, array: Value, /) -> Clock:
        """The clock with such a number."""
        return Clock(int(array))


@register(Clock)
def _clock(x: Clock) -> Do[Tape[Clock, float]]:
    raise AssertionError("a clock stands in no expression")


class _Ticking(Optimizer["Flights"], pure=True):
    """The optimizer of a clock, which looks at no delta."""


class Flights:
    """Shards that are on their way from one step to the next, those of a commit, and the order of commits."""

    def __init__(self, stale: int, order: Commits | None, abandon: Callable[[Sequence[_Sent]], None]) -> None:
        self.stale, self.order, self._abandon = stale, order, abandon
        self.sent: list[_Sent] = []
        self._clock: DataWeight[Clock, float] = DataWeight(Clock(0), _Ticking(self), "commits")
        self.commits: list[tuple[tuple[int, int], ...]] = []
        self._taken: list[_Sent] = []
        self._own: Sequence[_Sent] = ()
        self._kind = ""

    def settled(self) -> int:
        """The number of commits; what was taken by a run that made none is on its way again, but for that run's own."""
        if self._taken and self._clock.data.commits > len(self.commits):
            self.commits.append(tuple((x.version, x.index) for x in self._taken))
        elif self._taken:
            self.sent = [*self._taken, *self.sent]
            self.drop(self._own)
        self._taken, self._own = [], ()
        return len(self.commits)

    def begin(self, own: Sequence[_Sent], now: int, kind: str) -> None:
        """Add the shards of a step, whose loss is of a kind that those on their way have, as they become one loss."""
        if own and self.sent and kind != self._kind:
            raise ArgumentError(
                f"Distributed: shards of a loss that is {self._kind} are on their way, and this one is {kind}; with "
                f"stale= call drain() before another loss is trained\n  at {user_position()}"
            )
        for x in own:
            x.version, self._kind = now, kind
        self.sent.extend(own)

    def enough(self, now: int, workers: int) -> bool:
        """True if a commit need not wait: one shard is there, none that is not gets too old, no worker has to idle."""
        if self.order is not None:
            return not any(x.open for x in self._ordered(now, self.order))
        late = [x for x in self.sent if x.open]
        old = any(now - x.version >= self.stale for x in late)
        return not old and len(late) <= workers and len(late) < len(self.sent)

    def _ordered(self, now: int, order: Commits) -> list[_Sent]:
        """The shards of a commit that an order of commits prescribes."""
        there = {(x.version, x.index): x for x in self.sent}
        wanted = [(version, index) for version, index in order[now]] if now < len(order) else []
        if not wanted or any(x not in there or now - x[0] > self.stale for x in wanted):
            raise ArgumentError(
                f"Distributed: order= has {len(order)} commits, and the one with number {now} takes shards "
                f"{wanted} of (commits before, number), where {sorted(there)} are on their way and stale={self.stale}: "
                f"it is of another training\n  at {user_position()}"
            )
        return [there[x] for x in wanted]

    def take(self, now: int, own: Sequence[_Sent]) -> list[Shard]:
        """The shards of this commit, with a tick of the clock; `own` are of the step that commits."""
        taken = [x for x in self.sent if not x.open] if self.order is None else self._ordered(now, self.order)
        self.sent = [x for x in self.sent if x not in taken]
        failed = [x for x in taken if x.failure is not None]
        if failed:
            self.sent = [*(x for x in taken if x not in failed), *self.sent]
            raise_all([_failure(x, now) for x in failed])
        self._taken, self._own = taken, own
        found = [_shard(x.answer, x.weights) for x in taken if x.answer is not None]
        steps = float(sum(Fraction(1, x.of) for x in taken))  # as many as these shards are of
        scaled = [x if steps == 1.0 else x._replace(value=x.value / steps) for x in found]
        return [*scaled[:-1], scaled[-1]._replace(deltas={**scaled[-1].deltas, self._clock: 1.0})]

    def drop(self, own: Sequence[_Sent]) -> None:
        """Forget the shards of a step that has failed."""
        self.sent = [x for x in self.sent if x not in own]
        self._abandon(own)


def _never(workers: int) -> bool:
    return False


def _nothing() -> None:
    """No cancellation of a run."""


def _failure(x: _Sent, now: int) -> Exception:
    """The failure of a shard, which says of which it is."""
    assert x.failure is not None, "a shard that has failed"
    if now > x.version:
        x.failure.add_note(f"on weights that are {now - x.version} steps old")
    return of_shard(x.failure, x.index, x.of)


class Distributed(Sequential):
    """Shards of `wengert.shards` are computed by the workers of a cluster, all else here, as by `Sequential`.

    Weights, optimizer state and losses have the bits of `Sequential`, whatever the number of workers, and whoever dies
    or joins meanwhile. A shard whose worker dies is sent again; one that nobody answers for `patience` seconds, or for
    four times the slowest so far, goes to one more worker, and the first answer counts. `executor` makes that of each
    worker, such as `wengert.run.Batched`: then bits are those of that executor here.

    With `stale` = n > 0 a training does not wait for its slowest worker: it commits the shards that are there, w -= the
    step of an optimizer for sum over shards of the gradient at w of up to n commits before, and others stay on their
    way to later commits; the loss is that of what it commits. It waits for a shard that would be older than n at the
    next commit, for one shard at least, and while more are on their way than there are workers. Bits then depend on
    when answers come, and nothing else: `commits` has which shards each took, and an executor with the same `stale`
    and `order=commits` repeats the training with the same bits on any engine. `drain` ends with none on their way.
    A step that fails loses its own shards; those before stay on their way. Questions that train nothing do not differ.

    Raises, with nothing changed: NodeLostError where for `patience` seconds nobody is left, or three copies of a shard
    get no answer, or `retries` workers have died with it; ClusterError for a worker with other code, or one that
    computes other bits; what a loss raises in a shard, with the number of the shard, which is not tried again;
    ArgumentError for an order that is of another training, and for two `shards` in one training with `stale`.
    >>> import numpy as np
    >>> import wengert as wg
    >>> from wengert.cluster import Local
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.5).double_weight(2.0)
    >>> loss = wg.shards(lambda part, seed: wg.mean(w * part), np.array([1.0, 2.0, 6.0]), 2)
    >>> float(loss.train().run(Distributed(Local(workers=2)))), w.data
    (6.0, 0.5)
    >>> late = Distributed(Local(workers=1), stale=2)
    >>> _ = loss.train().run(late), loss.train().run(late), late.drain()
    >>> late.commits, w.data
    ((((0, 0),), ((0, 1), (1, 0)), ((1, 1),)), -2.5)

    Source: Y. Li et al., "EasyScale", SC 2023, for shards that do not depend on who computes them; copies of late ones
    as in J. Dean and S. Ghemawat, "MapReduce", 2004; the bound on staleness as in Q. Ho et al., "More Effective
    Distributed ML via a Stale Synchronous Parallel Parameter Server", NIPS 2013.
    """

    def __init__(
        self,
        cluster: HasEngine | Engine,
        *,
        patience: float = 10.0,
        retries: int = 8,
        executor: Callable[[], Executor] = Sequential,
        stale: int = 0,
        order: Commits | None = None,
    ) -> None:
        if not patience > 0.0 or retries < 0 or stale < 0 or (order is not None and not stale):
            raise ArgumentError(
                "Distributed: patience is a positive number of seconds, retries and stale are 0 or more, and order= is "
                f"for a stale of 1 or more; got {patience}, {retries} and {stale}\n  at {user_position()}"
            )
        engine = cluster.engine if isinstance(cluster, HasEngine) else cluster
        if not callable(getattr(engine, "submit", None)):
            raise ArgumentError(
                f"Distributed: expected a cluster or an engine, got {shown(cluster)}\n  at {user_position()}"
            )
        super().__init__()
        self.patience, self.stale = patience, stale
        self._engine, self._retries, self._executor = engine, retries, executor
        self._same_bits = cluster.same_bits if isinstance(cluster, HasEngine) else True
        self._name, self._numbers = uuid4().hex, count()
        self._structures: OrderedDict[str, CachedRef] = OrderedDict()
        self._specs: OrderedDict[tuple[int, ...], tuple[Sequence[Weight], CachedRef]] = OrderedDict()
        self._slowest = 0.0
        self._flights = Flights(stale, order, self._abandon)

    @property
    def workers(self) -> int:
        """Number of workers, as far as is known."""
        return self._engine.workers

    @property
    def commits(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Of each commit with `stale` its shards, as added from the last to the first: (commits before, number)."""
        self._flights.settled()
        return tuple(self._flights.commits)

    def shards(self, losses: object, back: bool, context: Context, /) -> Steps[list[Shard]]:
        """As `Sequential`, by workers."""
        around = self.engine.evaluation(context)
        given = cast("Sequence[Expression]", losses)
        parts = [portable(x) for x in given]
        weights = [*dict.fromkeys(w for part in parts for w in part.weights)]
        data = self._engine.put(_data(weights, around.refs, around.snapshot))
        tasks = [*self._tasks(parts, weights, data, back)]
        sent = [_Sent(task, weights, i, len(tasks)) for i, task in enumerate(tasks)]
        yield from ()
        if self.stale and back and around.trains:
            met: list[None] = context.run.local((self, around), list)
            met.append(None)
            if len(met) > 1:
                raise ArgumentError(
                    "Distributed: with stale= a training has one `shards`, as its commit is one of them\n"
                    f"  at {user_position()}"
                )
            return self._next(
                sent, context.run.check, kind=f"{given[0].kind.column.name.lower()} {given[0].kind.text()}"
            )
        try:
            self._answered(sent, sent, context.run.check)
        finally:
            self._abandon(sent)
        raise_all([of_shard(x.failure, x.index, x.of) for x in sent if x.failure is not None])
        return [_shard(x.answer, weights) for x in sent if x.answer is not None]

    def _abandon(self, sent: Sequence[_Sent]) -> None:
        for x in sent:
            for future in x.futures:
                if not future.done():
                    self._engine.abandon(future)

    def _next(
        self, own: Sequence[_Sent], check: Callable[[], object], *, whole: bool = False, kind: str = ""
    ) -> list[Shard]:
        """Shards of the next commit; `own` are begun, those not taken stay on their way if not `whole`."""
        flights = self._flights
        now = flights.settled()
        flights.begin(own, now, kind)
        enough = partial(flights.enough, now) if not whole or flights.order is not None else _never
        try:
            self._answered(flights.sent, own, check, enough)
            return flights.take(now, own)
        except BaseException:
            flights.drop(own)
            raise

    def drain(self) -> None:
        """Commit the shards that are on their way, once all are there; without `stale` there are none."""
        STORE.alone(self._drained)

    def _drained(self) -> None:
        self._flights.settled()  # a run that failed may have taken some
        while self._flights.sent:
            found = self._next((), _nothing, whole=True)
            Question("apply", dict(total(found).deltas)).run(self)

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

    def _answered(
        self,
        sent: Sequence[_Sent],
        begun: Sequence[_Sent],
        check: Callable[[], object],
        enough: Callable[[int], bool] = _never,
    ) -> None:
        """Send the shards that are `begun`, and wait until all have an answer, or `enough` have."""
        engine = self._engine
        left_since: float | None = None
        for x in begun:
            x.queued = -(-len(sent) // max(1, engine.workers))
            self._send(x)
        while (waiting := [x for x in sent if x.open]) and not enough(engine.workers):
            check()
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
                if x.open and all(future in x.late for future in x.futures) and engine.workers:
                    self._send(x)  # whoever had it has died, but for those who are late
                elif x.open and x.futures and now - x.at >= self._limit(x) and engine.workers:
                    self._copy(x)

    def _limit(self, x: _Sent) -> float:
        return max(self.patience, _SLOWER * self._slowest * x.queued) * _WAITS[x.copies]

    def _send(self, x: _Sent) -> None:
        x.at = self._engine.now
        x.futures.append(self._engine.submit(compute, x.task))

    def _copy(self, x: _Sent) -> None:
        """Send a shard to one more worker, as nobody has answered."""
        if x.copies + 1 == len(_WAITS):
            raise NodeLostError(
                f"{x.copies + 1} workers have been sent a shard, and none has answered for {self._limit(x):g} s; "
                "nothing has changed; if shards take so long, write Distributed(cluster, patience=...) with more"
            )
        x.copies, x.late = x.copies + 1, [*x.futures]
        for future in x.late:
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

    def distributed(self, **how: Unpack[DistributedOptions]) -> Distributed:
        """The executor whose shards this computes."""
        return Distributed(cast("HasEngine | Engine", self), **how)


def _data(weights: Sequence[Weight], refs: Refs, snapshot: int) -> list[Value]:
    return [refs.get(w, w.ref).at(snapshot) for w in weights]


def _shard(answer: Computed, weights: Sequence[Weight]) -> Shard:
    return Shard(answer.value, {weights[i]: delta for i, delta in answer.deltas})
