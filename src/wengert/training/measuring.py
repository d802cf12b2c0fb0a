"""Quality of a model on data that it does not learn from.

Knows: means over batches, each weighed by its number of examples, without an update and without chance.
Refuses to know: training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, SupportsFloat, final

from wengert.arrays import is_array, shape_of
from wengert.control import Executor, without_collector
from wengert.errors import DataError, ShapeError
from wengert.graph.node import Expression
from wengert.graph.operand import lift_any, shown
from wengert.metrics import Mean, Mergeable
from wengert.run import predict
from wengert.run.ask import Loss
from wengert.site import user_position
from wengert.training.given import (
    B,
    Data,
    LossOf,
    Measured,
    Metric,
    checked_loss,
    examples_in,
    in_batches,
    with_results,
)


@final
@dataclass(frozen=True)
class Evaluation:
    """Means over all examples: the loss, and each metric by its name."""

    loss: float
    metrics: Mapping[str, float] = field(default_factory=dict)


def evaluate(
    loss: LossOf[B],
    data: Data[B],
    *,
    metrics: Mapping[str, Metric[B]] | None = None,
    batch_size: int | None = None,
    executor: Executor | None = None,
) -> Evaluation:
    """The mean of `loss(batch, None)` and of each metric over the batches, weighed by their number of examples.

    A metric is a function of a batch that gives a scalar expression or a number; or it gives a vector, whose numbers
    count alike in all batches, as many as there are: NaN if there are none at all; or one of `wengert.metrics`, whose
    parts are merged. Where the loss gives results
    besides, as (loss, results), it is one of the batch and the data of these. No weight changes. Raises
    ArgumentError for what is no data; DataError for data without an example; ShapeError for what is no scalar.
    >>> import numpy as np, wengert as wg
    >>> from wengert.data import Digits, digits
    >>> def loss(batch: Digits, seed: object) -> wg.ArrayLayer[tuple[()]]:
    ...     return wg.mean(wg.square(wg.lift(batch.images)))
    >>> found = evaluate(loss, digits(), metrics={"even": lambda batch: (batch.labels % 2 == 0).mean()})
    >>> round(found.loss, 4), round(found.metrics["even"], 4)
    (0.1793, 0.4958)

    Source: as in every textbook.
    """
    measures, loss = {} if metrics is None else metrics, checked_loss("evaluate", loss)
    seen, total = 0, 0.0
    found: dict[str, Mergeable] = dict.fromkeys(measures, Mean())
    _, made = in_batches("evaluate", data, batch_size, seed=0, epoch=0, shuffle=False)
    for batch in made:
        examples = examples_in(batch)
        seen += examples
        with without_collector():
            given = with_results(loss(batch, None))
            value, results = given.loss, None
            if given.also is not None:
                value, found_besides = predict((value, given.also)).run(executor)
                results = given.results(found_besides)
            total += examples * number(value, executor, "the loss")
            for name, metric in measured(batch, results, measures, executor).items():
                before = found.get(name)
                found[name] = metric if before is None or before == Mean() else before.merge(metric)
    if not seen:
        raise DataError(f"evaluate: the batches have no example\n  at {user_position()}")
    return Evaluation(total / seen, {name: float(metric.value) for name, metric in found.items()})


def _measured(x: Measured, examples: int, executor: Executor | None, what: str) -> Mergeable:
    """A metric of `wengert.metrics`, or the mean of a scalar for each example, or of the numbers in a vector."""
    if isinstance(x, Mergeable):
        return x
    given = _data(x, executor, what)
    shape = shape_of(given) if is_array(given) else ()
    if len(shape) == 1:
        return Mean(float(given.sum()), shape[0])
    return Mean(examples * _scalar(given, x, what), examples)


def measured(
    batch: B, results: object, metrics: Mapping[str, Metric[B]], executor: Executor | None
) -> dict[str, Mergeable]:
    """The metrics of a batch.

    Those are the numbers that `results`, data of a dictionary, NamedTuple or dataclass, have by name, and `metrics`.
    """
    named: Mapping[str, Any]  # Any: data of every type
    if isinstance(results, Mapping):
        named = results
    elif isinstance(results, tuple):
        named = getattr(results, "_asdict", dict)()
    else:
        named = getattr(results, "__dict__", {})
    examples = examples_in(batch)
    found: dict[str, Mergeable] = {
        name: Mean(examples * float(x), examples)
        for name, x in named.items()
        if isinstance(x, SupportsFloat) and (not is_array(x) or shape_of(x) == ())
    }
    for name, metric in metrics.items():
        measure: Any = metric  # Any: of one argument or two
        given = measure(batch) if results is None else measure(batch, results)
        found[name] = _measured(given, examples, executor, f"the metric {name!r}")
    return found


def number(x: Loss | SupportsFloat, executor: Executor | None, what: str) -> float:
    """A scalar expression's value, or the number itself; ShapeError for an array of others."""
    return _scalar(_data(x, executor, what), x, what)


# Any: a number, or an array of any shape
def _data(x: Measured, executor: Executor | None, what: str) -> Any:
    if isinstance(x, Expression) or not isinstance(x, SupportsFloat):
        lifted: Any = lift_any(x, f"evaluate: {what}")  # Any: of one of the three columns
        return predict(lifted).run(executor)
    return x


def _scalar(given: Any, x: object, what: str) -> float:  # Any: as above
    shape = shape_of(given) if is_array(given) else ()
    if shape:
        raise ShapeError(
            f"evaluate: {what} is a scalar, this one has shape {shape}; reduce it first, as in mean(x)\n"
            f"  {x if isinstance(x, Expression) else shown(x)}\n  at {user_position()}"
        )
    return float(given)
