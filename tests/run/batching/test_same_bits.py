"""The bits of a result do not depend on how often an expression ran, on what ran before, or in which process."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from tests.run.batching import histories
from tests.run.batching.histories import Layer, Model, Moments, bits, differing, forget
from wengert import run
from wengert.control import Executor
from wengert.graph.operation import OPERATIONS
from wengert.plugins import SGD
from wengert.run.batching.kernel import BatchedKernel, Residuals
from wengert.run.compiled.plans import WORTH, Plans
from wengert.training import Event, Step, fit

BRIEF = ("p", "g", "t", "pgpgpt", "bbrgpt")
MANY = (
    *BRIEF,
    *("pppppppppppt", "ggggggggggpt", "prprprprprpt", "grgrgrgrgrt", "bpgt", "bbbpgt", "bbbrgpt", "bbnrgpt"),
    *("bgrpnpgt", "bbbbrt", "gprt", "pt", "gt", "bbbbgrpnpt", "bbbbbbbbt"),
)


def planned() -> Executor:
    """The default executor, but that the eighth run makes a plan, whole and whatever that takes."""
    executor = run.Sequential()
    executor.engine = executor.engine._replace(plans=Plans(WORTH))
    return executor


EXECUTORS: dict[str, Callable[[], Executor]] = {
    "Batched": run.Batched,
    "Sequential": planned,
    "Parallel": lambda: run.Parallel(threads=2),
}


@pytest.mark.parametrize("seed", few([0, 3], 1))
def test_a_run_has_the_bits_of_the_first(seed: int) -> None:
    assert differing(seed, BRIEF, run.Batched) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 13, 14, 19, 20, 29])  # every kind of model, both element types
def test_a_run_of_any_kind_has_the_bits_of_the_first(seed: int) -> None:
    assert differing(seed, (*BRIEF, "ggggggggggpt", "bgrpnpgt"), run.Batched) == []


@pytest.mark.parametrize("seed", few([40, 0], 1))
@pytest.mark.parametrize("name", few(["Sequential", "Parallel"], 1))
def test_a_plan_has_the_bits_of_the_interpreter(name: str, seed: int) -> None:
    """The eighth run makes a plan."""
    assert differing(seed, ("p", "g", "t", "ppppppppppt", "ggggggggggt"), EXECUTORS[name]) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXECUTORS)
def test_many_runs_have_the_bits_of_the_first(name: str) -> None:
    found = {seed: differing(seed, MANY, EXECUTORS[name]) for seed in range(300)}
    assert {seed: acts for seed, acts in found.items() if acts} == {}


def test_other_bits_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: launches whose first two results have other last bits."""
    plain, met = BatchedKernel.forward, Counter[BatchedKernel]()

    def forward(launch: BatchedKernel, *given: Any, **options: Any) -> Any:  # Any: as `BatchedKernel.forward`
        met[launch] += 1
        results, kept = plain(launch, *given, **options)
        for x in results if met[launch] <= 2 else ():
            np.nextafter(x, np.inf, out=x)
        return results, kept

    monkeypatch.setattr(BatchedKernel, "forward", forward)
    assert differing(3, ("g", "gg"), run.Batched) == ["gg"]


# -- a training that goes on in another process ------------------------------------------------------

STEPS = 8


class Stopped(Exception):
    """A training was."""


def trained(
    folder: Path, stop: int | None = None, *, kept: bool = False, steps: int = STEPS
) -> histories.Bits | None:
    """The weights at the end of a training of trees; None if it was stopped after so many steps.

    `kept`: the losses of batches are built before the first step.
    """
    forget()
    model = Model(3, Moments(learning_rate=0.01))
    assert (model.kind, model.dtype) == ("trees", np.float32)
    losses = {i: model.loss(i) for i in range(4)} if kept else {}

    def batches(epoch: int) -> list[range]:
        return [range(i, i + 1) for i in np.random.default_rng(epoch).permutation(4).tolist()]

    def loss(batch: range, _: object) -> Layer:
        return losses[batch[0]] if kept else model.loss(batch[0])

    def tell(event: Event) -> None:
        if isinstance(event, Step) and event.number == stop:
            raise Stopped

    weights = {f"w{i}": w for i, w in enumerate(model.weights)}
    options: dict[str, Any] = {"steps": steps, "checkpoint": folder / "w", "every": 1, "resume": True}
    try:
        fit(loss, batches, seed=1, weights=weights, callbacks=[tell], executor=run.Batched(), **options)
    except Stopped:
        return None
    return bits([w.data for w in model.weights])


@pytest.fixture(scope="module")
def ending(tmp_path_factory: pytest.TempPathFactory) -> histories.Bits:
    """The weights of a training that nobody stopped."""
    found = trained(tmp_path_factory.mktemp("whole"))
    assert found is not None
    return found


@pytest.mark.parametrize("stop", few([1, 2, 3], 1))
def test_a_training_goes_on_with_the_same_bits(tmp_path: Path, ending: histories.Bits, stop: int) -> None:
    assert trained(tmp_path, stop) is None
    assert trained(tmp_path) == ending


@pytest.mark.nightly
def test_a_long_training_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole = trained(tmp_path / "whole", steps=60)
    for stop in (12, 20, 30, 50):
        folder = tmp_path / str(stop)
        folder.mkdir()
        assert trained(folder, stop, steps=60) is None
        assert trained(folder, steps=60) == whole, stop


@pytest.mark.slow
def test_a_training_on_losses_that_are_kept_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole = trained(tmp_path / "whole", kept=True)
    assert trained(tmp_path, 5, kept=True) is None
    assert trained(tmp_path, kept=True) == whole is not None


PROCESS = """
import sys
from hashlib import sha256
from pathlib import Path
from tests.run.batching.test_same_bits import trained

stop = int(sys.argv[2])
found = trained(Path(sys.argv[1]), stop or None, kept=len(sys.argv) > 3)
print(sha256(repr(found).encode()).hexdigest())
"""


def in_a_process(folder: Path, stop: int, *more: str) -> str:
    command = [sys.executable, "-c", PROCESS, str(folder), str(stop), *more]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_a_training_goes_on_in_another_process_with_the_same_bits(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    in_a_process(tmp_path, 3)
    assert in_a_process(tmp_path, 0) == in_a_process(tmp_path / "whole", 0)


@pytest.mark.nightly
@pytest.mark.parametrize("more", [(), ("kept",)])
def test_a_training_goes_on_in_another_process_wherever_it_stopped(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    (tmp_path / "whole").mkdir()
    whole = in_a_process(tmp_path / "whole", 0, *more)
    for stop in range(1, STEPS):
        folder = tmp_path / str(stop)
        folder.mkdir()
        in_a_process(folder, stop, *more)
        assert in_a_process(folder, 0, *more) == whole, stop


# -- what a run might find already there ---------------------------------------------------------------


def test_a_rule_that_fails_on_made_up_numbers_leaves_its_launch_to_the_graph() -> None:
    """A program is made with other numbers than those of the run, once: all runs go one way."""
    met: list[int] = []

    def rule(case: Any, x: Any) -> Any:  # Any: rules take data of every type
        if np.all(x > 0.25) and np.all(x < 0.75):
            raise ValueError("none of a run")
        met.append(len(np.shape(x)))
        return x * 2.0

    @wg.extend.operation(
        wg.extend.kinds.elementwise, rule, lambda case, g, y, x: g * 2.0, batch=wg.extend.rowwise
    )
    def doubled(x: Layer, /) -> Layer:
        raise NotImplementedError

    w, batched = SGD(learning_rate=0.1).array_weight(np.ones(3)), run.Batched()
    for _ in range(4):
        loss = wg.sum(doubled(w * 3.0) + doubled(w * 7.0) + doubled(w * 9.0))
        met.clear()
        assert bits(wg.gradients(loss, (w,)).run(batched)) == bits((np.full(3, 38.0),))
        assert met == [2], "one launch of all three rows"


def test_threads_that_meet_a_launch_at_once_have_one_program() -> None:
    @wg.cell
    def node(x: Layer) -> Layer:
        return wg.tanh(x * 0.5)

    made: Any = node(wg.lift(np.ones(3)))  # Any: has a signature
    launch, together = BatchedKernel(made.signature, (False,)), Barrier(4)

    def forward(_: int) -> object:
        together.wait()
        return launch.forward(2, (np.ones((2, 3)),))[1]

    with ThreadPoolExecutor(4) as pool:
        assert all(isinstance(kept, Residuals) for kept in pool.map(forward, range(4)))


@pytest.mark.parametrize("seed", [8, 40, 54])  # where the way back brings rows into an order with other bits
def test_a_prediction_has_a_schedule_of_its_own(seed: int) -> None:
    """Also of what has been trained."""
    model, batched = Model(seed, SGD(learning_rate=0.0)), run.Batched()
    loss = model.loss(0)
    before = bits(loss.predict().run(batched))
    for _ in range(2):
        loss.train().run(batched)
        assert bits(loss.predict().run(batched)) == before


def test_too_narrow_a_graph_is_so_after_a_wide_one() -> None:
    """Long chains, whose counts are remembered from a batch that was wide enough for launches."""
    chance = np.random.default_rng(0)
    w: Layer = SGD(learning_rate=0.1).array_weight(chance.normal(size=(20, 20)) * 0.3)

    @wg.cell
    def step(h: Layer) -> Layer:
        return wg.tanh(h @ w + w @ h)

    def chain(length: int) -> Layer:
        h: Layer = wg.lift(chance.normal(size=20))
        for _ in range(length):
            h = step(h)
        return wg.sum(h * h)

    kept, short = [chain(300) for _ in range(4)], chain(2)
    found = []
    for others in (False, True):
        batched = run.Batched()
        chain(1).predict().run(batched)  # what is older may be kept
        if others:
            wg.gradients(sum(kept[1:], kept[0]) + short, (w,)).run(batched)
        batched.report.clear()
        gradients = wg.gradients(kept[0] + short, (w,)).run(batched)
        found.append((bits(gradients), batched.report.launches))
    assert found[0] == found[1]


def test_a_table_of_signatures_that_begins_afresh_changes_nothing() -> None:
    found = []
    for afresh in (False, True):
        model, parts = Model(3), list[Layer]()
        for batch in range(4):
            parts.append(model.loss(batch))
            if afresh:
                for operation in OPERATIONS.values():
                    operation.signatures.clear()
        total = sum(parts[1:], parts[0])
        weights: tuple[Layer, ...] = tuple(model.weights)
        found.append(bits(wg.gradients(total, weights).run(run.Batched())))
    assert found[0] == found[1]


def test_attributes_that_are_zeros_of_both_signs_are_not_one() -> None:
    """A signature is found by its attributes, and so is what one group stands for."""
    x: Any = wg.lift(-np.ones(2))
    ways: list[Callable[[float], Layer]] = [
        lambda slope: wg.leaky_relu(x * 1.0, negative_slope=slope),
        lambda number: -wg.full_like(x * 1.0, number),
    ]
    for way in ways:
        for executor in (run.Sequential(compiled=False), run.Sequential(), run.Batched()):
            rows = wg.stack([way(number) for _ in range(2) for number in (0.0, -0.0)])
            found = np.signbit(rows.predict().run(executor))[:, 0]
            assert found.tolist() == [True, False, True, False]
