"""Plans: what to do with a block and examples, filled in field by field, and run.

Knows: which fields a plan needs, and that a plan for training is `fit` on the batches of a compiler.
Refuses to know: how a step, a measurement or a file is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Generic, TypeAlias

from wengert import run
from wengert.arrays import Value
from wengert.control import Executor, without_collector
from wengert.data import Items
from wengert.errors import BlockError, BlockValueError
from wengert.fold import Batch, Compiler, KeptExpressions, Tensors, group_by_batches
from wengert.fold.plan import predicted
from wengert.generics import TypeVar
from wengert.graph import ArrayLayer
from wengert.graph.node import Node
from wengert.graph.operand import shown
from wengert.graph.operation import OPERATIONS
from wengert.graph.paths import Path
from wengert.nn import Seeds
from wengert.run.ask import Loss
from wengert.site import user_position
from wengert.training.fitting import fit
from wengert.training.given import Measured
from wengert.training.measuring import Evaluation, evaluate
from wengert.training.records import Epoch, Event, History

E = TypeVar("E")
F = TypeVar("F")
O = TypeVar("O", default=tuple[Tensors, ...])  # the columns of a batch, as the compiler has them
Losses: TypeAlias = Mapping[str, Callable[[Batch[O]], Loss]]
Metrics: TypeAlias = Mapping[str, Callable[[Batch[O]], Measured]]


def _batching() -> Executor:
    """The executor of a plan, if nobody names one: examples of different shapes run as batches."""
    return run.Batched()


@dataclass(kw_only=True, slots=True)
class InferPlan(Generic[E]):
    """Plan of inference: the results of a block for each example, in order, by batches.

    `run` raises BlockValueError for a field that is missing.
    >>> import wengert as wg
    >>> from wengert import fold as td
    >>> plan = InferPlan(compiler=td.Compiler.create(td.Scalar() >> td.Function(wg.square)))
    >>> plan.examples = [1, 2, 3]
    >>> [result.item() for (result,) in plan.run()]
    [1.0, 4.0, 9.0]

    Source: TensorFlow Fold, `td.InferPlan`.
    """

    compiler: Compiler[E, tuple[object, ...]] | None = None
    examples: Iterable[E] | None = None
    batch_size: int = 10_000
    executor: Executor | None = field(default_factory=_batching)

    def run(self) -> Iterator[tuple[Value, ...]]:
        """The outputs of one example after the other, as arrays, and lists of arrays from a compiler with lists."""
        compiler, examples = _given(self, "compiler", self.compiler), _given(self, "examples", self.examples)
        return self._results(compiler, group_by_batches(examples, self.batch_size))

    def _results(
        self, compiler: Compiler[E, tuple[object, ...]], batches: Iterable[list[E]]
    ) -> Iterator[tuple[Value, ...]]:
        for batch in batches:
            with without_collector():
                columns = predicted(compiler.build(batch).output_tensors, self.executor)
            yield from zip(*columns, strict=True)


@dataclass(kw_only=True, slots=True)
class EvalPlan(Generic[E, O]):
    """The mean loss and the mean of each metric over examples; the loss is the sum of the `losses`.

    Each is a function of the batch of a compiler, and weighed by its number of examples; a metric that gives a vector,
    such as `batch.metric_tensors["root"]`, is the mean of all its numbers, however many a batch has, and so is
    `wg.mean` of such a vector.
    `run` raises BlockValueError for a field that is missing; `report` gets the line that is printed.
    >>> import wengert as wg
    >>> from wengert import fold as td
    >>> plan = EvalPlan(compiler=td.Compiler.create(td.Scalar()), examples=[1, 2, 3])
    >>> plan.losses = {"mean": lambda batch: wg.mean(batch.output_tensors[0])}
    >>> plan.run().loss
    loss: 2.0000
    2.0

    Source: TensorFlow Fold, `td.EvalPlan`.
    """

    compiler: Compiler[E, O] | None = None
    examples: Iterable[E] | None = None
    losses: Losses[O] | None = None
    metrics: Metrics[O] = field(default_factory=dict)
    batch_size: int = 10_000
    executor: Executor | None = field(default_factory=_batching)
    report: Callable[[str], object] = print

    def run(self) -> Evaluation:
        """Measure all examples, and report a line."""
        built = _Built(_given(self, "compiler", self.compiler))
        examples = _given(self, "examples", self.examples)
        found = evaluate(
            _loss(built, _given(self, "losses", self.losses)),
            Items(examples),
            metrics=_metrics(built, self.metrics),
            batch_size=self.batch_size,
            executor=self.executor,
        )
        self.report(_line({"loss": found.loss, **found.metrics}))
        return found


@dataclass(kw_only=True, slots=True)
class TrainPlan(Generic[E, O]):
    """Training on the batches of a compiler; the loss is the sum of the `losses`, which are functions of a batch.

    After each epoch `report` gets a line with the loss in training, and, with `dev_examples`, their loss and metrics.
    `best` is a file for `weights` (what `saving.save` takes) as they are after the epoch with the least dev loss; no
    worse model replaces it. How weights learn is in their settings.
    Expressions of examples, of those in `dev_examples` too, are kept between epochs in `keep` bytes; examples must not
    change, and functions of data are called once for each: say `keep=0` where they draw random numbers.
    `run` raises BlockValueError for a field that is missing, and what `fit` raises.
    >>> import numpy as np, wengert as wg
    >>> from wengert import fold as td
    >>> w = wg.plugins.SGD(learning_rate=0.1).array_weight(np.zeros((), np.float32))
    >>> plan = TrainPlan(compiler=td.Compiler.create(td.Scalar() >> td.Function(lambda x: w - x)), epochs=2)
    >>> plan.examples, plan.batch_size = [3] * 4, 2
    >>> plan.losses = {"square": lambda batch: wg.mean(wg.square(batch.output_tensors[0]))}
    >>> history = plan.run()
    epoch 1: loss: 7.3800
    epoch 2: loss: 3.0228

    Source: TensorFlow Fold, `td.TrainPlan`.
    """

    compiler: Compiler[E, O] | None = None
    examples: Iterable[E] | None = None
    losses: Losses[O] | None = None
    dev_examples: Iterable[E] | None = None
    metrics: Metrics[O] = field(default_factory=dict)
    batch_size: int = 128
    epochs: int = 20
    seed: int = 0
    weights: object = None
    best: Path | None = None
    keep: int = 2**28
    executor: Executor | None = field(default_factory=_batching)
    report: Callable[[str], object] = print

    def run(self) -> History:
        """Train, and report a line an epoch."""
        built = _Built(_given(self, "compiler", self.compiler), KeptExpressions(self.keep))
        examples = _given(self, "examples", self.examples)
        if self.best is not None:
            _given(self, "dev_examples", self.dev_examples)
        return fit(
            _loss(built, _given(self, "losses", self.losses)),
            Items(examples),
            seed=self.seed,
            epochs=self.epochs,
            batch_size=self.batch_size,
            validation=None if self.dev_examples is None else Items(self.dev_examples),
            metrics=_metrics(built, self.metrics),
            weights=self.weights,
            best=self.best,
            callbacks=[self._told],
            show=False,
            executor=self.executor,
        )

    def _told(self, event: Event) -> None:
        if isinstance(event, Epoch):
            dev = {} if event.validation is None else {"dev loss": event.validation}
            self.report(f"epoch {event.number + 1}: {_line({'loss': event.loss, **dev, **event.metrics})}")


def _given(plan: object, name: str, value: F | None) -> F:
    if value is None:
        raise BlockValueError(
            f"{type(plan).__name__}: the field {name} is missing; write plan.{name} = ...\n  at {user_position()}"
        )
    if name == "examples" and not isinstance(value, Iterable):
        raise BlockError(
            f"{type(plan).__name__}: examples are a list, or come from an iterable; got {shown(value)}"
            f"\n  at {user_position()}"
        )
    return value


class _Built(Generic[E, O]):
    """The batch that a compiler makes of examples; the last one is kept, for all who measure it."""

    def __init__(self, compiler: Compiler[E, O], kept: KeptExpressions | None = None) -> None:
        self._compiler, self._kept = compiler, kept
        self._last: tuple[Items[E], Seeds | None, Batch[O]] | None = None

    def __call__(self, examples: Items[E], seed: Seeds | None = None) -> Batch[O]:
        last = self._last
        if last is None or last[0] is not examples or last[1] != seed:
            last = self._last = (
                examples,
                seed,
                self._compiler.build(examples.items, seed=seed, kept=self._kept),
            )
        return last[2]


def _loss(built: _Built[E, O], losses: Losses[O]) -> Callable[[Items[E], Seeds | None], Loss]:
    if not isinstance(losses, Mapping):
        raise BlockError(
            f"the losses of a plan are a dict of functions of a batch; got {shown(losses)}\n  at {user_position()}"
        )
    if not losses:
        raise BlockValueError(f"there is no function in the losses of a plan\n  at {user_position()}")

    def total(examples: Items[E], seed: Seeds | None) -> Any:  # Any: scalars of one of the three columns
        batch = built(examples, seed)
        parts: list[Any] = [loss(batch) for loss in losses.values()]  # Any: as above
        return reduce(add, parts)

    return total


def _metrics(built: _Built[E, O], metrics: Metrics[O]) -> dict[str, Callable[[Items[E]], Measured]]:
    def measured(
        metric: Callable[[Batch[O]], Measured],
    ) -> Callable[[Items[E]], Measured]:
        return lambda examples: _numbers(metric(built(examples)), built(examples))

    return {name: measured(metric) for name, metric in metrics.items()}


def _numbers(x: Measured, batch: Batch[O]) -> Measured:
    """Of the mean over what a `td.Metric` keeps, that: batches keep unlike numbers of values, and some keep none."""
    if not isinstance(x, Node) or x.signature.operation is not OPERATIONS.get("mean"):
        return x
    (of,) = x.operands
    lengths = {values.shape[:1] for values in batch.metric_tensors.values()}
    return of if isinstance(of, ArrayLayer) and x.shape == () and of.shape in lengths else x


def _line(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{name}: {value:.4f}" for name, value in numbers.items())
