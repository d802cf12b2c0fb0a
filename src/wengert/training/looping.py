"""The steps of an epoch, and its end.

Knows: that batch and chance of a step depend on the seed and on where the training is, and on nothing else, so that
a training can go on from there.
Refuses to know: who is told, what is kept, and when it is enough.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, final

from wengert.control import Do, Executor, Run, without_collector
from wengert.control.running import execute
from wengert.errors import ArgumentError, CheckpointError, NonFiniteError
from wengert.graph import Weight
from wengert.graph.operand import lift_any
from wengert.graph.order import below
from wengert.run import train
from wengert.site import user_position
from wengert.training.given import B, Data, LossOf, Metric, check_data, in_batches, with_results
from wengert.training.measuring import evaluate, measured
from wengert.training.records import Epoch, Step
from wengert.training.state import State


@final
@dataclass(frozen=True)
class Loop(Generic[B]):
    """Loss, data and settings of a training; `weights`, if known, must be all that the loss has."""

    loss: LossOf[B]
    data: Data[B]
    seed: int
    batch_size: int | None = None
    executor: Executor | None = None
    validation: Data[B] | None = None
    metrics: Mapping[str, Metric[B]] | None = None
    weights: Mapping[str, Weight] | None = None

    def __post_init__(self) -> None:
        check_data("fit", self.data, self.batch_size)
        if self.validation is not None:
            check_data("fit: validation", self.validation, None)

    def steps(self, state: State, until: float = math.inf) -> Iterator[Step]:
        """The rest of the present epoch, a step at a time, or as much of it as there is before step `until`."""
        made = in_batches("fit", self.data, self.batch_size, seed=self.seed, epoch=state.epoch, shuffle=True)
        if state.count not in (0, len(made)):
            raise CheckpointError(
                f"fit: the training to go on with has done {state.done} of {state.count} batches of epoch "
                f"{state.epoch}, which has {len(made)} here; give the same data and batch_size, or begin anew"
            )
        state.count = len(made)
        while state.done < state.count and state.step < until:
            try:
                with without_collector():
                    step = self._step(state, made[state.done])
            except Exception as error:
                error.add_note(f"in step {state.step + 1} of fit, batch {state.done} of epoch {state.epoch}")
                raise
            yield step

    def _step(self, state: State, batch: B) -> Step:
        start = time.perf_counter()
        loss, also = with_results(self.loss(batch, (self.seed, state.step)))
        if state.done == 0 or state.step == 0:
            self._check_loss(loss)
            if self.metrics and self.validation is None and also is None:
                raise ArgumentError(
                    "fit: metrics are measured on validation data; give validation= too, or return them with the loss, "
                    f"as in `return loss, scores`\n  at {user_position()}"
                )

        def refuse(value: Any) -> None:  # Any: a number, or an array of one
            if not math.isfinite(value):
                raise NonFiniteError(
                    f"fit: the loss of step {state.step + 1} is {value}, so all weights stay as they are\n  {loss!r}"
                )

        run = Run(self.executor)
        run.on_settle(refuse)
        found: Any  # Any: a scalar of one of the three columns
        metrics: dict[str, float] = {}
        if also is None:
            found = execute(train(loss), run)
        else:
            found, results = execute(train(loss, also=also), run)
            sums = measured(batch, results, self.metrics or {}, self.executor)
            metrics = {name: total / count for name, (total, count) in sums.items() if count}
        value, place = float(found), state.done
        state.stepped(value, len(batch), time.perf_counter() - start)
        return Step(state.step, state.epoch, place, state.count, value, metrics)

    def _check_loss(self, given: object) -> None:
        """ArgumentError for a loss that teaches nothing, or has a weight that a checkpoint would not have.

        What a bind chooses is not seen.
        """
        if isinstance(given, Do):
            raise ArgumentError(
                "fit: the loss is an expression, and its function gave what trains one; return the loss without "
                f".train()\n  at {user_position()}"
            )
        loss = lift_any(given, "fit")
        if not loss.kind.trainable:
            raise ArgumentError(
                f"fit: no weight is below the loss, so nothing would learn; return an expression of weights, and not "
                f"its value\n  {loss!r}\n  at {user_position()}"
            )
        if self.weights is None:
            return
        known = {id(weight) for weight in self.weights.values()}
        for weight in below(loss, ())[1]:
            if id(weight) not in known:
                raise ArgumentError(
                    f"fit: the loss has {weight!r}, made at {weight.site}, which `weights` does not have, so that a "
                    "checkpoint would lack it; give all weights, as in weights=model"
                )

    def measured(self, state: State) -> Epoch:
        """The present epoch so far, with what the validation data say of the weights now."""
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
        return Epoch(state.epoch, state.step, state.mean, validation, metrics, state.seconds - before)
