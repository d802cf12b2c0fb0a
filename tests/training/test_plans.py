"""Plans for the blocks of `wengert.fold`: training, measuring, predicting (F94)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import fold as td
from wengert import saving
from wengert.errors import WengertError
from wengert.plugins import SGD
from wengert.training import EvalPlan, InferPlan, TrainPlan

Example = tuple[float, float]


class Line:
    """y = w x + b, of examples (x, y); the block gives prediction and label."""

    def __init__(self, rate: float = 0.02) -> None:
        settings = SGD(learning_rate=rate)
        self.w = settings.array_weight(np.zeros((), np.float32), name="w")
        self.b = settings.array_weight(np.zeros((), np.float32), name="b")

    @property
    def weights(self) -> dict[str, Any]:
        return {"w": self.w, "b": self.b}

    def compiler(self) -> td.Compiler[Example]:
        block: Any = td.Record((td.Scalar(), td.Scalar()))  # Any: a pair
        return td.Compiler.create(block >> (td.Function(lambda x: x * self.w + self.b), td.Identity[Any]()))


def squares(batch: td.Batch) -> Any:
    found, wanted = batch.output_tensors
    return wg.mean(wg.square(found - wanted))


def furthest(batch: td.Batch) -> Any:
    found, wanted = batch.output_tensors
    return wg.max(wg.abs(found - wanted))


EXAMPLES = [(float(x), 3.0 * x + 1.0) for x in range(-4, 4)]


def plan(line: Line, **fields: Any) -> TrainPlan[Example]:
    given: dict[str, Any] = {
        "compiler": line.compiler(),
        "examples": EXAMPLES,
        "losses": {"squares": squares},
    }
    given |= {"batch_size": 4, "report": lambda text: None}
    return TrainPlan(**(given | fields))


def test_a_plan_has_the_defaults_of_fold() -> None:
    assert (TrainPlan[Any]().batch_size, TrainPlan[Any]().epochs) == (128, 20)
    assert EvalPlan[Any]().batch_size == InferPlan[Any]().batch_size == 10_000


def test_a_model_is_trained_measured_and_used() -> None:
    line, lines = Line(), list[str]()
    history = plan(line, epochs=60, report=lines.append).run()
    assert len(history.epochs) == len(lines) == 60
    assert lines[0].startswith("epoch 1: loss: ")
    assert history.epochs[-1].loss < 1e-2 < history.epochs[0].loss
    measuring = EvalPlan(
        compiler=line.compiler(), examples=EXAMPLES, losses={"a": squares, "b": squares}, report=lines.append
    )
    measuring.metrics = {"furthest": furthest}
    found = measuring.run()
    assert found.loss == pytest.approx(2 * mean_square(line), rel=1e-3)
    assert lines[-1] == f"loss: {found.loss:.4f}, furthest: {found.metrics['furthest']:.4f}"
    results = list(InferPlan(compiler=line.compiler(), examples=EXAMPLES, batch_size=3).run())
    assert len(results) == 8
    np.testing.assert_allclose([y for y, _ in results], [y for _, y in EXAMPLES], atol=0.3)


def mean_square(line: Line) -> float:
    w, b = float(line.w.data), float(line.b.data)
    return float(np.mean([(w * x + b - y) ** 2 for x, y in EXAMPLES]))


def test_equal_seeds_train_alike_under_every_executor() -> None:
    def trained(seed: int, executor: Any = None) -> float:
        line = Line()
        plan(line, epochs=3, seed=seed, executor=executor).run()
        return float(line.w.data)

    assert trained(1) == trained(1) != trained(2)
    assert trained(1, wg.run.Batched()) == pytest.approx(trained(1), rel=1e-5)


def test_the_best_model_on_dev_examples_is_kept(tmp_path: Path) -> None:
    line, lines, states = Line(0.002), list[str](), list[float]()

    def told(text: str) -> None:
        lines.append(text)
        states.append(float(line.w.data))

    # what fits the training examples ever better fits these worse from some epoch on
    dev = [(x, 1.5 * x + 1.0) for x, _ in EXAMPLES]
    made = plan(line, epochs=30, dev_examples=dev, metrics={"furthest": furthest}, report=told)
    made.weights, made.best = line.weights, tmp_path / "best"
    history = made.run()
    assert history.best is not None
    assert 0 < history.best.number < 29
    assert "dev loss: " in lines[0]
    assert "furthest: " in lines[0]
    other = Line()
    saving.load(tmp_path / "best", other.weights)
    assert float(other.w.data) == states[history.best.number] != float(line.w.data)


def test_layers_drop_in_training_only() -> None:
    layer = td.FC(1, None, np.ones((8, 1), np.float32), input_keep_prob=0.5, settings=SGD(learning_rate=0.0))
    block: Any = td.Vector(8) >> layer
    compiler = td.Compiler.create(block)
    losses = {"sum": lambda batch: wg.sum(batch.output_tensors[0])}
    ones = [[1.0] * 8]
    history = TrainPlan(
        compiler=compiler, examples=ones, dev_examples=ones, losses=losses, epochs=8, report=lambda text: None
    ).run()
    assert {epoch.validation for epoch in history.epochs} == {8.0}
    assert len({epoch.loss for epoch in history.epochs}) > 1


@pytest.mark.parametrize("field", ["compiler", "examples", "losses"])
@pytest.mark.parametrize("kind", [TrainPlan, EvalPlan])
def test_a_missing_field_is_named(kind: Any, field: str) -> None:
    fields: dict[str, Any] = {
        "compiler": Line().compiler(),
        "examples": EXAMPLES,
        "losses": {"squares": squares},
    }
    made = kind(**(fields | {field: None}))
    with pytest.raises(
        ValueError, match=rf"(?s){kind.__name__}: the field {field} is missing.*test_plans\.py:"
    ):
        made.run()


def test_what_no_plan_can_run() -> None:
    with pytest.raises(ValueError, match="the field examples is missing"):
        InferPlan(compiler=Line().compiler()).run()
    with pytest.raises(ValueError, match="the field dev_examples is missing"):
        plan(Line(), best="somewhere").run()
    with pytest.raises(ValueError, match=r"(?s)no function in the losses.*test_plans\.py:"):
        plan(Line(), losses={}).run()
    with pytest.raises(WengertError, match=r"(?s)losses of a plan are a dict of functions.*test_plans\.py:"):
        plan(Line(), losses=squares).run()
    with pytest.raises(WengertError, match=r"(?s)TrainPlan: examples are a list.*got 3.*test_plans\.py:"):
        plan(Line(), examples=3).run()
    with pytest.raises(WengertError, match="epochs is an integer from 1 on"):
        plan(Line(), epochs=0).run()


def test_plans_batch_unless_told_otherwise() -> None:
    line = Line()
    for fields in (TrainPlan[Any], EvalPlan[Any], InferPlan[Any]):
        assert isinstance(fields().executor, wg.run.Batched)
    made = plan(line, epochs=1)
    made.run()
    assert isinstance(made.executor, wg.run.Batched)
    assert made.executor.report.launches > 0


def test_a_vector_of_metrics_counts_alike_in_all_batches() -> None:
    kept: Any = td.Map(td.Scalar() >> td.Metric("x")) >> td.Void()
    compiler = td.Compiler.create(td.AllOf(kept, td.InputTransform(lambda x: 0.0) >> td.Scalar()))
    measure = EvalPlan(compiler=compiler, batch_size=2, report=lambda text: None)
    measure.losses = {"none": lambda batch: wg.mean(batch.output_tensors[0])}
    measure.metrics = {"x": lambda batch: batch.metric_tensors["x"]}
    measure.examples = [[1] * 4, [1], [5], [5]]
    assert measure.run().metrics["x"] == pytest.approx(15 / 7)
    measure.examples = [[], [], [3]]  # a batch without a value
    assert measure.run().metrics["x"] == 3.0
    measure.examples = [[]]
    assert np.isnan(measure.run().metrics["x"])


def test_the_mean_of_a_metric_counts_values_and_not_examples() -> None:
    values: Any = td.AllOf(td.Map(td.Scalar() >> td.Metric("v")) >> td.Void(), td.Length())
    compiler = td.Compiler.create(values)
    found: dict[str, Any] = {  # Any: functions of a batch
        "mean": lambda batch: wg.mean(batch.metric_tensors["v"]),
        "square": lambda batch: wg.mean(wg.square(batch.metric_tensors["v"])),
        "length": lambda batch: wg.mean(batch.output_tensors[0]),
    }
    losses: Any = {"none": lambda batch: wg.sum(batch.output_tensors[0] * 0.0)}
    lists = [[1] * 4, [1], [], [], [5], [5]]  # by twos, so that a batch has no value
    plan = EvalPlan(compiler=compiler, examples=lists, batch_size=2, losses=losses, metrics=found)
    plan.report = lambda line: None
    measured = plan.run().metrics
    assert measured["mean"] == pytest.approx(15 / 7)
    assert measured["square"] == pytest.approx(55 / 7)
    assert measured["length"] == pytest.approx(7 / 6)


def test_a_misspelt_field_of_a_plan_is_refused() -> None:
    wrong: Any = plan(Line())
    with pytest.raises(AttributeError, match="epoch"):
        wrong.epoch = 3
