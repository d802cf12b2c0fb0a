"""The steps of an epoch, and its end.

Knows: that batch and chance of a step depend on the seed and on where the training is, and on nothing else, so that
a training can go on from there.
Refuses to know: who is told, what is kept, and when it is enough.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Generic, Protocol, cast, final, runtime_checkable

from wengert.arrays import copied, is_array
from wengert.control import Context, Do, Executor, Run, Steps, gather, without_collector
from wengert.control.do import Question
from wengert.control.running import execute
from wengert.errors import ArgumentError, CheckpointError, NonFiniteError
from wengert.graph import Buffer, Weight
from wengert.graph.node import Expression
from wengert.graph.operand import lift_any
from wengert.graph.operation import EXTERNAL
from wengert.graph.order import below
from wengert.lazy import LazyDelta
from wengert.metrics import Mean, Mergeable
from wengert.plugins.rate import Rated
from wengert.run import predict, train
from wengert.run.gradient import Wanted
from wengert.run.shards import Shard, shards_of, times, total
from wengert.site import user_position
from wengert.training.given import (
    B,
    Data,
    Given,
    LossOf,
    Metric,
    check_data,
    examples_in,
    in_batches,
    with_results,
)
from wengert.training.measuring import evaluate, measured
from wengert.training.records import Epoch, Step
from wengert.training.state import State


@runtime_checkable
class Drains(Protocol):
    """An executor with shards that stay on their way from one step to the next."""

    def drain(self) -> None:
        """Commit them."""
        ...


@final
@dataclass(frozen=True)
class Fitting(Generic[B]):
    """Loss, data and settings of a training; `weights`, if known, must be all that the loss has.

    `file`, if there is one, is of the weights of this process alone.
    """

    loss: LossOf[B]
    data: Data[B]
    seed: int
    batch_size: int | None = None
    executor: Executor | None = None
    validation: Data[B] | None = None
    metrics: Mapping[str, Metric[B]] | None = None
    weights: Mapping[str, Weight] | None = None
    accumulate: int = 1
    shards: int | None = None
    file: str | None = None

    def __post_init__(self) -> None:
        check_data("fit", self.data, self.batch_size)
        if self.validation is not None:
            check_data("fit: validation", self.validation, None)

    def workers(self) -> int | None:
        """Number of processes that compute shards now; None where the executor has none."""
        found: int | None = getattr(self.executor, "workers", None)
        return found

    @property
    def stale(self) -> int:
        """Steps that weights of a delta may be older than those that it changes; 0 but for `Distributed(stale=)`."""
        found: int = getattr(self.executor, "stale", 0)
        return found

    def settled(self) -> None:
        """Have weights with all steps so far, before they are measured or written down."""
        if self.stale and isinstance(self.executor, Drains):
            self.executor.drain()

    def steps(self, state: State, until: float = math.inf) -> Iterator[Step]:
        """The rest of the present epoch, a step at a time, or as much of it as there is before step `until`."""
        rates: dict[str, Rated] = {}  # those of the weights below the loss
        count, made = in_batches(
            "fit",
            self.data,
            self.batch_size,
            seed=self.seed,
            epoch=state.epoch,
            shuffle=True,
            start=state.done,
        )
        if count is not None and state.count not in (0, count):
            raise CheckpointError(
                f"fit: the training to go on with has done {state.done} of {state.count} batches of epoch "
                f"{state.epoch}, which has {count} here; give the same data and batch_size, or begin anew"
            )
        if count is not None:
            state.count = count
        following: list[B] = []
        while state.step < until:
            try:
                some = [*following, *islice(made, self.accumulate - len(following))]
                following = list(islice(made, 1)) if count is None else []
                if not some:
                    break
                if count is None:  # as many as are known of
                    state.count = state.done + len(some) + len(following)
                with without_collector():
                    step = self._step(state, some, rates)
            except Exception as error:
                error.add_note(f"in step {state.step + 1} of fit, batch {state.done} of epoch {state.epoch}")
                raise
            yield replace(step, batches=count)

    def _step(self, state: State, some: Sequence[B], rates: dict[str, Rated]) -> Step:
        start = time.perf_counter()
        first = state.done == 0 or state.step == 0 or not rates
        whole, value, metrics = sum(map(examples_in, some)), 0.0, dict[str, Mergeable]()
        deltas: dict[Weight, Any] = {}  # Any: as of weights of every class
        seeds = (self.seed, state.step)
        for place, batch in enumerate(some):
            examples = examples_in(batch)
            if self.shards is not None and state.done == 0 and place == 0 and examples < self.shards:
                raise ArgumentError(
                    f"fit: shards={self.shards}, and the first batch has {examples:g} examples; give fewer shards or "
                    f"larger batches\n  at {user_position()}"
                )
            given = with_results(self.loss(batch, seeds if self.accumulate == 1 else (*seeds, place)))
            if first:
                self._check_loss(given.loss, rates)
                first = False
                if self.metrics and self.validation is None and given.also is None:
                    raise ArgumentError(
                        "fit: metrics are measured on validation data; give validation= too, or return them with the "
                        f"loss, as in `return loss, scores`\n  at {user_position()}"
                    )
            if place == 0:
                state.rates = {name: float(settings.rate) for name, settings in rates.items()}
            if self.accumulate == 1:
                found, results = self._trained(given, state)
                value = found
            else:
                found, results = self._added(given, state, deltas, examples / whole)
                value += found * (examples / whole)
            if given.also is not None:
                of_batch = measured(batch, results, self.metrics or {}, self.executor)
                metrics = {n: metrics[n].merge(m) if n in metrics else m for n, m in of_batch.items()}
        if deltas:
            Question("apply", deltas).run(self.executor)
        place = state.done
        state.stepped(value, whole, time.perf_counter() - start, len(some))
        known = {name: float(metric.value) for name, metric in metrics.items() if metric != Mean()}
        return Step(state.step, state.epoch, place, state.count, value, known, state.rates)

    def _read(self, value: Any, loss: object, state: State) -> float:  # Any: a number, or an array of one
        """The loss of a step as a number, for which a device is waited for once; NonFiniteError if it is none."""
        found = float(value)
        if not math.isfinite(found):
            raise NonFiniteError(
                f"fit: the loss of step {state.step + 1} is {found}, so all weights stay as they are\n  {loss!r}"
            )
        return found

    def _check_here(self, run: Run) -> None:
        """ArgumentError where a part of the model is in another process, and weights of this one are not enough."""
        if run.elsewhere and (self.file is not None or self.accumulate > 1):
            names = ", ".join(map(repr, sorted(run.elsewhere)))
            what = (
                f"{self.file} would have the weights of this process alone; write "
                f"checkpoint=cluster.folder({self.file!r}), without best=, for a folder with the weights of nodes, too"
                if self.file is not None
                else f"accumulate={self.accumulate} adds deltas of weights here, so those would not learn; leave it out"
            )
            raise ArgumentError(
                f"fit: parts of the model are on nodes, {names}, and {what}; no weight has changed\n"
                f"  at {user_position()}"
            )

    def _trained(self, given: Given, state: State) -> tuple[float, Any]:  # Any: results of the user's loss
        """A step: the loss before it, and the results."""
        run, read = Run(self.executor), list[float]()

        def settle(value: object) -> None:
            self._check_here(run)
            read.append(self._read(value, given.loss, state))

        run.on_settle(settle)
        if given.also is None:
            execute(train(given.loss), run)
            return read[-1], None
        _, results = execute(train(given.loss, also=given.also), run)
        return read[-1], given.results(results)

    # Any: as above
    def _added(
        self, given: Given, state: State, deltas: dict[Weight, Any], share: float
    ) -> tuple[float, Any]:
        """The loss of a part of a step and its results; its deltas are added to those of the other parts."""
        loss, run = lift_any(given.loss, "fit"), Run(self.executor)
        value, results, found = execute(_questions(loss, given.also, self.workers() is None), run)
        self._check_here(run)
        read = self._read(value, loss, state)
        for weight, delta in found.items():
            if isinstance(weight, Buffer) and not isinstance(delta, LazyDelta):
                continue  # it is read, and not updated
            part = times(delta, share)
            if weight not in deltas:
                deltas[weight] = copied(part) if part is delta and is_array(part) else part
            elif is_array(deltas[weight]) and is_array(part):
                deltas[weight] += part  # in place: nobody else has it
            else:
                deltas[weight] = deltas[weight] + part
        return read, given.results(results)

    def _check_loss(self, given: object, rates: dict[str, Rated]) -> None:
        """ArgumentError for a loss that teaches nothing, or has a weight that a checkpoint would not have.

        `rates` gets the settings of its weights that have a rate.

        What a bind chooses is not seen.
        """
        if isinstance(given, Do):
            raise ArgumentError(
                "fit: the loss is an expression, and its function gave what trains one; return the loss without "
                f".train()\n  at {user_position()}"
            )
        loss = lift_any(given, "fit")
        parts = shards_of(loss)
        if not any(x.kind.trainable for x in parts):
            raise ArgumentError(
                f"fit: no weight is below the loss, so nothing would learn; return an expression of weights, and not "
                f"its value\n  {loss!r}\n  at {user_position()}"
            )
        known = None if self.weights is None else {id(weight) for weight in self.weights.values()}
        for weight in [w for x in parts for w in below(x, ())[1]]:
            settings = weight.settings
            if isinstance(settings, Rated) and not any(settings is one for one in rates.values()):
                name = type(settings).__name__
                rates[name if name not in rates else f"{name} {len(rates) + 1}"] = settings
            if known is not None and id(weight) not in known:
                raise ArgumentError(
                    f"fit: the loss has {weight!r}, made at {weight.site}, which `weights` does not have, so that a "
                    "checkpoint would lack it; give all weights, as in weights=model"
                )

    def measured(self, state: State) -> Epoch:
        """The present epoch so far, with what the validation data say of the weights now."""
        self.settled()
        before = state.epochs[-1].seconds if state.epochs else 0.0
        validation, metrics = None, {}
        if self.validation is not None:
            size = None if callable(self.validation) else self.batch_size
            found = evaluate(
                self.loss, self.validation, metrics=self.metrics, batch_size=size, executor=self.executor
            )
            validation, metrics = found.loss, dict(found.metrics)
            if not math.isfinite(validation):
                raise NonFiniteError(f"fit: the validation loss after step {state.step} is {validation}")
        return Epoch(
            state.epoch, state.step, state.mean, validation, metrics, state.seconds - before, state.rates
        )


def _questions(loss: Expression, also: Any, here: bool) -> Do[tuple[Any, Any, Mapping[Weight, Any]]]:
    """The value of a loss, further results of the user's, and the deltas of all weights that the loss comes upon.

    Any: of the user's loss, and deltas of weights of every class. `here`: no worker computes anything.
    """
    parts = shards_of(loss)
    found = Do.program(partial(_computed, parts))
    if also is None and here:  # one program gives both
        return found.map(lambda x: (x.value, (), x.deltas))
    also = () if also is None else also
    orders = [below(x, ()) for x in parts]
    if any(node.signature.mode == EXTERNAL for nodes, _ in orders for node in nodes):
        # which weights there are only the run knows
        return gather(found, predict(also)).map(lambda x: (x[0].value, x[1], x[0].deltas))
    weights = [*dict.fromkeys(w for _, read in orders for w in read)]
    seen: Any = predict(cast(Any, (loss, also)))
    # `gradients` refuses buffers
    asked: Any = Question("gradients", loss, Wanted(tuple(weights), tuple, None))
    both: Any = gather(seen, asked)
    answers: Do[tuple[Any, Any, Mapping[Weight, Any]]] = both.map(
        lambda x: (*x[0], dict(zip(weights, x[1], strict=True)))
    )
    return answers


def _computed(parts: Sequence[Expression], context: Context) -> Steps[Shard]:
    found = yield from context.run.executor.shards(parts, True, context)
    return total(found)
