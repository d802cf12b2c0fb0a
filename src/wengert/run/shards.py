"""`shards`: a loss of a batch as the sum of the losses of its parts, each of which may be computed anywhere.

Knows: that a part is an evaluation of its own in every interpreter, so that who computes it changes no bit; that
floating-point sums have an order, so that it is written down once: deltas from the last part to the first, and each
weight gets one; that what is lazy is carried out before, but for few rows of a table, which stay rows, and for what
replaces the data of a buffer.
Refuses to know: where parts are computed: the executor of the run does; which optimizer gets the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Protocol, TypedDict, TypeVar, Unpack, overload

from wengert.arrays import Dv, T, Value, is_array, is_integer, own_copy
from wengert.arrays.places import places
from wengert.control import Context, Do, Executor, Steps, UnitContinuation
from wengert.differentiable import Tape
from wengert.errors import ArgumentError, DTypeError
from wengert.graph.expressions import (
    ArrayLayer,
    ArrayOperand,
    DoubleExpression,
    DoubleLayer,
    FloatExpression,
    FloatLayer,
)
from wengert.graph.kinds import Role, with_role
from wengert.graph.node import Expression, Node
from wengert.graph.operand import external, shown, tape_do
from wengert.graph.order import below
from wengert.graph.weights import Weight
from wengert.lazy import LazyDelta, Replacement, Rows, dense
from wengert.run.ask import checked_loss
from wengert.run.evaluation import Evaluation
from wengert.site import user_position

B = TypeVar("B", bound=Sized)
Seed = int | tuple[int, ...]
Weigh = Literal["mean", "sum"]
X_co = TypeVar("X_co", covariant=True)


class DistributedOptions(TypedDict, total=False):
    """The options of `wengert.cluster.Distributed`, which has what they mean, and what holds without them."""

    patience: float
    retries: int
    executor: Callable[[], Executor]
    stale: int
    order: Sequence[Sequence[Sequence[int]]] | None


class Distributes(Protocol[X_co]):
    """A cluster, or an engine of one: it makes the executor whose shards it computes."""

    def distributed(self, **how: Unpack[DistributedOptions]) -> X_co: ...


def Distributed(cluster: Distributes[X_co], /, **how: Unpack[DistributedOptions]) -> X_co:
    """The executor whose shards the workers of a cluster compute: see `wengert.cluster.Distributed`, which it is.

    Raises ArgumentError for what is no cluster and no engine of one.
    >>> import numpy as np
    >>> import wengert as wg
    >>> from wengert.cluster import Local
    >>> loss = wg.shards(lambda part, seed: wg.mean(wg.lift(part) * 2.0), np.array([1.0, 2.0, 6.0]), 2)
    >>> float(loss.predict().run(wg.run.Distributed(Local(workers=2))))
    6.0

    Source: as `wengert.cluster.Distributed`.
    """
    if not callable(getattr(cluster, "distributed", None)):
        raise ArgumentError(
            f"Distributed: expected a cluster of wengert.cluster, or an engine, got {shown(cluster)}\n"
            f"  at {user_position()}"
        )
    return cluster.distributed(**how)


@overload
def shards(
    loss: Callable[[B, tuple[int, ...] | None], ArrayOperand[tuple[()], T, Dv]],
    batch: B,
    count: int,
    /,
    *,
    seed: Seed | None = None,
    weigh: Weigh = "mean",
) -> ArrayLayer[tuple[()], T, Dv]: ...
@overload
def shards(
    loss: Callable[[B, tuple[int, ...] | None], DoubleExpression],
    batch: B,
    count: int,
    /,
    *,
    seed: Seed | None = None,
    weigh: Weigh = "mean",
) -> DoubleLayer: ...
@overload
def shards(
    loss: Callable[[B, tuple[int, ...] | None], FloatExpression],
    batch: B,
    count: int,
    /,
    *,
    seed: Seed | None = None,
    weigh: Weigh = "mean",
) -> FloatLayer: ...
def shards(
    loss: Callable[[Any, tuple[int, ...] | None], Any],  # Any, here and below: typed by the overloads
    batch: Any,
    count: int,
    /,
    *,
    seed: Seed | None = None,
    weigh: Weigh = "mean",
) -> Any:
    """The loss of a batch as a sum over `count` parts of it, with bits that do not depend on who computes them.

    L = Σᵢ (nᵢ / n) loss(partᵢ, (*seed, i)), with nᵢ examples of n in part i; Σᵢ loss(partᵢ, …) where `weigh` is "sum".
    Parts follow each other in the batch, and differ by one example at most. Without a seed each part gets None.
    Derivative: the delta of a weight is computed for each part by itself, carried out (rows of a table stay rows), and
    added from the last part to the first; then its optimizer takes one step. So each executor, and any number of
    workers of `wengert.cluster`, gets the same weights, bit for bit; other bits than those of the loss of the whole
    batch, as sums of floating-point numbers have an order. What a loss knows of other examples, such as statistics of a
    batch, is that of its part; buffers go to the mean of what the parts give.
    A batch has a length, and `take` as the sets of `wengert.data`, or slices; of a tuple of these all are divided.
    Raises at the call ArgumentError for a count below 1 or above the number of examples, and for a batch that cannot be
    divided; as `train` for the losses; what `loss` raises has a note of the part.
    >>> import numpy as np
    >>> import wengert as wg
    >>> from wengert.plugins import SGD
    >>> w = SGD(learning_rate=0.5).double_weight(2.0)
    >>> def loss(batch: np.ndarray[tuple[int], np.dtype[np.float64]], seed: object) -> wg.ArrayLayer[tuple[()]]:
    ...     return wg.mean(w * batch)
    >>> whole = shards(loss, np.array([1.0, 2.0, 6.0]), 2)
    >>> whole.train().run().tolist(), w.data
    (6.0, 0.5)

    Source: synchronous data parallelism; that the program and not the cluster divides a batch as in EasyScale, SC 2023.
    """
    if weigh not in ("mean", "sum"):
        raise ArgumentError(f"shards: weigh is 'mean' or 'sum'; got {weigh!r:.60}\n  at {user_position()}")
    parts = _divided(batch, count)
    n, losses = sum(size for size, _ in parts), list[Expression]()
    for i, (size, part) in enumerate(parts):
        try:
            made = loss(part, _seed_of(seed, i))
            of = checked_loss("shards", made if weigh == "sum" or size == n else made * (size / n))
        except Exception as failure:
            of_shard(failure, i, len(parts))
            raise
        losses.append(of)
    first = losses[0].kind
    for i, x in enumerate(losses):
        if (x.kind.column, x.kind.dtype, x.kind.device) != (first.column, first.dtype, first.device):
            raise DTypeError(
                f"shards: the loss of shard {i} is {x.kind.text()} on {x.kind.device}, and that of shard 0 "
                f"{first.text()} on {first.device}; all are to be of one kind\n  at {user_position()}"
            )
    return external(Do.program(Sharded(tuple(losses))), with_role(first, Role.LAYER))


def _seed_of(seed: Seed | None, i: int) -> tuple[int, ...] | None:
    return None if seed is None else (*(seed if isinstance(seed, tuple) else (seed,)), i)


def _divided(batch: Any, count: object) -> list[tuple[int, Any]]:  # Any: of the batch's class
    """The parts of a batch, each after its size."""
    members = batch if type(batch) is tuple else (batch,)
    for x in members:
        if not hasattr(x, "__len__") or not (callable(getattr(x, "take", None)) or hasattr(x, "__getitem__")):
            raise ArgumentError(
                f"shards: a batch has a length and `take` or slices, or is a tuple of such; got {shown(x)}\n"
                f"  at {user_position()}"
            )
    sizes = [len(x) for x in members]
    if len({*sizes}) != 1:
        raise ArgumentError(
            f"shards: parts of a batch have one length; got {', '.join(map(str, sizes)) or 'an empty tuple'}\n"
            f"  at {user_position()}"
        )
    n = sizes[0]
    if not is_integer(count) or not 1 <= int(count) <= n:
        raise ArgumentError(
            f"shards: the count is an integer from 1 to the number of examples, which is {n}; got {count!r:.60}\n"
            f"  at {user_position()}"
        )
    number = int(count)
    edges = [n // number * i + min(i, n % number) for i in range(number + 1)]
    return [(b - a, _part(batch, a, b)) for a, b in pairwise(edges)]


def _part(batch: Any, start: int, end: int) -> Any:  # Any: of the batch's class
    if type(batch) is tuple:
        return tuple(_part(x, start, end) for x in batch)
    take = None if is_array(batch) else getattr(batch, "take", None)
    return batch[start:end] if take is None else take(places(range(start, end)))


class Sharded:
    """The program of a sum of shards, and the losses that it adds."""

    __slots__ = ("losses",)

    def __init__(self, losses: tuple[Expression, ...]) -> None:
        self.losses = losses

    def __reduce__(self) -> tuple[object, ...]:
        return Sharded, (self.losses,)

    # Any: data and deltas of the losses' kind
    def __call__(self, context: Context) -> Steps[Tape[Any, Any]]:
        around = context.environment
        assert isinstance(around, Evaluation), "a bind is opened by an evaluation"
        if around.variables is not None or around.wanted:  # deltas of others than weights: as one expression
            whole: Any = self.losses[0]  # Any: scalars of one column
            for x in self.losses[1:]:
                whole = whole + x
            made: Tape[Any, Any] = yield tape_do(whole)
            return made
        back = around.trains or (around.goes_back and around.executor is None)
        found = yield from self.computed(back, context)
        sums = Do.now(found.deltas) if back else Do.program(partial(self._late, around)).shared()
        read = found.deltas if back else dict.fromkeys(w for x in self.losses for w in below(x, ())[1])

        def send(delta: Do[Any]) -> None:
            once = delta.shared()
            for weight in read:
                sent = once.flat_map(partial(_sent, sums, weight))
                around.pending.setdefault(weight, []).append(sent)

        return Tape(found.value, lambda delta: UnitContinuation.delay(partial(send, delta)))

    def computed(self, back: bool, context: Context) -> Steps[Shard]:
        """The sum of all shards, each computed by the executor of the run."""
        found = yield from context.run.executor.shards(self.losses, back, context)
        return total(found)

    def _late(self, around: Evaluation, context: Context) -> Steps[Mapping[Weight, Value]]:
        """The sums of deltas that nobody seemed to want when the values were computed."""
        found = yield from self.computed(True, context)
        return found.deltas


def _sent(sums: Do[Mapping[Weight, Value]], weight: Weight, factor: Value) -> Do[Value]:
    return sums.map(lambda found: times(found[weight], factor))


def shards_of(x: object) -> Sequence[Expression]:
    """The losses that an expression adds, where `shards` made it; else itself, if it is an expression."""
    if isinstance(x, Node) and x.operands and isinstance(x.operands[0], Do):
        make = getattr(x.operands[0], "make", None)
        if isinstance(make, Sharded):
            return make.losses
    return (x,) if isinstance(x, Expression) else ()


# -- sums of shards -----------------------------------------------------------------------------


class Shard(NamedTuple):
    """A loss of a part of a batch, computed by itself: its value, and the deltas of its weights, as `bordered`."""

    value: Value
    deltas: Mapping[Weight, Value]


def bordered(value: Value, deltas: Mapping[Expression, Value]) -> Shard:
    """The shard with such deltas, which nothing lazy leaves."""
    return Shard(value, {x: _settled(delta) for x, delta in deltas.items() if isinstance(x, Weight)})


def _settled(delta: Value) -> Value:
    """A delta carried out; of few rows of a table a term of each line once, ascending."""
    if not isinstance(delta, LazyDelta) or isinstance(delta.first, Replacement):
        return delta
    lines = delta.touched()
    if lines is None or not isinstance(delta.first, Rows):
        return delta.dense()
    return LazyDelta([Rows(*lines, delta.first.shape)])


def total(shards: Sequence[Shard]) -> Shard:
    """The sum of all: of the values from the first to the last, of deltas from the last to the first.

    >>> import numpy as np
    >>> total([Shard(1.0, {}), Shard(2.0, {})]).value
    3.0
    """
    value = shards[0].value
    for shard in shards[1:]:
        value = value + shard.value
    found: dict[Weight, list[Value]] = {}
    for shard in reversed(shards):
        for weight, delta in shard.deltas.items():
            found.setdefault(weight, []).append(delta)
    return Shard(value, {weight: _sum(deltas) for weight, deltas in found.items()})


def _sum(deltas: Sequence[Value]) -> Value:
    """The sum of the deltas of one weight, in this order."""
    if len(deltas) == 1:
        return deltas[0]
    lazy = [x for x in deltas if isinstance(x, LazyDelta)]
    if len(lazy) == len(deltas):
        terms = [term for x in lazy for term in x.terms]
        return _settled(LazyDelta(terms))
    first, *others = map(dense, deltas)
    if not is_array(first):
        for x in others:
            first = first + x
        return first
    made = own_copy(first)
    for x in others:
        made += x
    return made


def of_shard(failure: Exception, i: int, count: int) -> Exception:
    """The failure, which says of which shard it is; that of one alone, which is all that a worker has, nothing."""
    if count > 1:
        failure.add_note(f"in shard {i} of {count}")
    return failure


def times(delta: Value, factor: Value) -> Value:
    """A delta for a sum that is part of a larger loss; what replaces the data of a buffer has no size."""
    g = float(factor)  # or a delta of float32 would become one of float64 where the loss is
    if g == 1.0 or (isinstance(delta, LazyDelta) and isinstance(delta.first, Replacement)):
        return delta
    if isinstance(delta, LazyDelta):
        return LazyDelta([Rows(x.key, g * x.values, x.shape) for x in delta.terms if isinstance(x, Rows)])
    return g * delta


__all__ = ["shards"]
