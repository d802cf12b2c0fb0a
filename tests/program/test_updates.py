"""Steps of optimizers that become part of loops over weights: which may, what they leave, and numpy's bits."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.program.test_fused import eqn, needs_compiler, var
from wengert.arrays import all_quiet, kernels
from wengert.arrays.agreement import same_but_for_nan
from wengert.arrays.changes import carry_out
from wengert.arrays.compilers import found_compiler
from wengert.program.emit import FusedCall
from wengert.program.fused import FusedUpdate, fused, loops_of
from wengert.program.memory import fused_updates
from wengert.program.program import Program, effect, evaluate
from wengert.run.compiled.cache import LINE
from wengert.run.compiled.program import FusedProgram, Library, PlanProgram, agrees


def of_one_equation(rate: Any = 0.1, direct: bool = False, kept: bool = False) -> Program:
    """w -= rate * x.T @ d; `direct`: w -= rate * x; `kept`: the step is what a run gives first."""
    x, d, target = var(2, 4), var(2, 3), var(4, 3)
    turned = eqn(kernels.transposed, x)
    product = eqn(np.dot, turned.result, d)
    step = eqn(operator.mul, x if direct else product.result, rate)
    outputs = [*[step.result] * kept, product.result]
    effects = [effect(kernels.subtract_into, (target, step.result), {})]
    return Program([x, d], [turned, product, step], outputs, targets=[target], effects=effects)


def test_a_step_that_nobody_else_reads_is_computed_as_it_is_subtracted() -> None:
    p = of_one_equation()
    (update,) = fused_updates(p, fused(p)[1])
    assert update.steps == (p.eqns[2],)
    assert update.old is p.effects[0]
    assert update.new.reads == (p.targets[0], p.eqns[1].result)  # type: ignore[index] # it has targets


@pytest.mark.parametrize(
    ("given", "refused"),
    [({"kept": True}, ()), ({"direct": True}, ()), ({"rate": math.inf}, ()), ({}, {operator.mul})],
    ids=["read by others", "of memory that may be a target's", "no formula", "refused"],
)
def test_steps_that_stay_equations(given: dict[str, Any], refused: Any) -> None:
    p = of_one_equation(**given)
    assert [*fused_updates(p, fused(p)[1], refused)] == []


@needs_compiler
@pytest.mark.parametrize("special", [1.0, math.nan, math.inf, -0.0])
def test_bits_of_one_equation(tmp_path: Path, special: float) -> None:
    compiler = found_compiler()
    assert compiler is not None
    p, random = of_one_equation(), np.random.default_rng(0)
    updates = [*fused_updates(p, ())]
    functions = Library([update.group for update in updates]).functions(compiler, tmp_path)
    assert all(agrees(update.group, f) for update, f in zip(updates, functions, strict=True))
    calls = [FusedCall(update.group, f) for update, f in zip(updates, functions, strict=True)]
    x, d, w = (random.standard_normal(s).astype(np.float32) for s in ((2, 4), (2, 3), (4, 3)))
    x[0, 0] = w[1, 1] = special
    expected, found = w.copy(), w.copy()
    with all_quiet():
        evaluate(p, [x, d], targets=[expected])
        made = FusedProgram(p, calls, updates)
        for _ in range(2):  # the first time it is not carried out
            frame = made.take()
            running = made.run((x, d), frame)
            next(running)
            with pytest.raises(StopIteration) as end:
                running.send([found])
            made.give(frame)
        carry_out(end.value.value[1])
    assert same_but_for_nan(expected, found)
    assert "multiply" not in {getattr(f, "__name__", "") for f in made.run.__globals__.values()}
    assert made.source.count("\n") < PlanProgram(p).source.count("\n")


def with_moment(
    apart: bool = True,
    decay: Any = None,
    also: str = "",
) -> Program:
    """m = 0.9 m + x.T @ d, w -= 0.1 m; m is an output. `decay` times what w was before is part of the step."""
    x, d, m, before, target = var(2, 4), var(2, 3), var(4, 3), var(4, 3), var(4, 3)
    turned = eqn(kernels.transposed, x)
    product = eqn(np.dot, turned.result, d)
    kept = eqn(operator.mul, m, 0.9)
    moment = eqn(operator.add, kept.result, product.result)
    step = eqn(operator.mul, moment.result, 0.1)
    eqns = [turned, product, kept, moment, step]
    if decay is not None:
        eqns += [scaled := eqn(operator.mul, before, decay)]
        eqns += [step := eqn(operator.add, step.result, scaled.result)]
    if also == "moment":
        eqns.append(eqn(np.dot, moment.result, var(3, 3)))
    outputs = [product.result, moment.result, *[step.result] * (also == "step")]
    outputs = outputs[::-1] if also == "early" else outputs
    effects = [effect(kernels.subtract_into, (target, step.result), {})]
    if also == "change":
        effects.append(effect(kernels.subtract_into, (target, product.result), {}))
    return Program(
        [x, d, m, before],
        eqns,
        outputs,
        targets=[target],
        effects=effects,
        before={target: before},
        apart=[m] if apart else [],
    )


def updates_of(p: Program) -> list[FusedUpdate]:
    return [*fused_updates(p, fused(p)[1])]


@pytest.mark.parametrize("decay", [None, 0.01])
def test_a_group_with_its_moment_is_computed_as_it_is_subtracted(decay: float | None) -> None:
    p = with_moment(decay=decay)
    _, groups = fused(p)
    (update,) = updates = [*fused_updates(p, groups)]
    assert p.targets is not None
    (target,) = p.targets
    assert update.steps == tuple(p.eqns[2:])
    assert update.group.outputs[:-1] == (p.outputs[1],)
    assert target in update.new.reads
    assert p.inputs[3] not in update.new.reads
    assert loops_of(groups, updates) == [update.group]
    assert loops_of(groups, []) == groups


def test_a_step_that_leaves_is_written_too() -> None:
    p = with_moment(also="step")
    (update,) = updates_of(p)
    assert update.group.outputs[:-1] == tuple(p.outputs[1:])


@pytest.mark.parametrize(
    "given",
    [
        {"apart": False},
        {"also": "moment"},
        {"also": "early"},
        {"decay": 0.01, "also": "change"},
    ],
    ids=["a moment that may be a target's", "a moment that is read", "read before changes", "changed twice"],
)
def test_groups_that_stay_as_they_are(given: dict[str, Any]) -> None:
    assert updates_of(with_moment(**given)) == []


def test_what_another_weight_was_before_is_not_read_late() -> None:
    p = with_moment(decay=0.01)
    p.before = {}
    assert updates_of(p) == []


def test_a_line_that_is_summed_first_stays_outside() -> None:
    d, target = var(4, 3), var(4, 3)
    total = eqn(np.add.reduce, d, shape=(4, 1))
    total.options = {"axis": -1, "keepdims": True}
    step = eqn(operator.mul, d, total.result)
    effects = [effect(kernels.subtract_into, (target, step.result), {})]
    p = Program([d], [total, step], [d], targets=[target], effects=effects, apart=[d])
    assert updates_of(p) == []


def calls_of(updates: Sequence[FusedUpdate], folder: Path) -> list[FusedCall]:
    compiler = found_compiler()
    assert compiler is not None
    functions = Library([update.group for update in updates]).functions(compiler, folder)
    assert all(agrees(update.group, f) for update, f in zip(updates, functions, strict=True))
    return [FusedCall(update.group, f) for update, f in zip(updates, functions, strict=True)]


def of_a_run(made: FusedProgram, inputs: Sequence[Any], w: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """The outputs of a run, and its changes, which are not made yet."""
    frame = made.take()
    running = made.run(inputs, frame)
    next(running)
    try:
        running.send([w])
    except StopIteration as end:
        made.give(frame)
        outputs, changes = end.value
        return outputs, changes
    raise AssertionError("a run asks for its targets once")


@needs_compiler
@pytest.mark.parametrize("special", [1.0, math.nan, math.inf, -0.0])
def test_bits_of_weight_and_moment(tmp_path: Path, special: float) -> None:
    p, random = with_moment(decay=0.01), np.random.default_rng(0)
    made = FusedProgram(p, calls_of(updates := updates_of(p), tmp_path), updates)
    x, d, m, w = (random.standard_normal(s).astype(np.float32) for s in ((2, 4), (2, 3), (4, 3), (4, 3)))
    x[0, 0] = w[1, 1] = m[2, 2] = special
    expected, found, moment, before = w.copy(), w.copy(), m.copy(), m.copy()
    with all_quiet():
        for _ in range(4):
            _, after = evaluate(p, [x, d, moment, expected.copy()], targets=[expected])
            of_a_run(made, (x, d, m, found), found)  # a run that changes nothing
            assert same_but_for_nan(before, m)
            (_, next_m), changes = of_a_run(made, (x, d, m, found), found)
            carry_out(changes)
            assert same_but_for_nan(expected, found)
            assert same_but_for_nan(after, next_m)
            moment, m, before = after, next_m, next_m.copy()


@needs_compiler
def test_a_moment_that_somebody_has_is_not_written(tmp_path: Path) -> None:
    p = with_moment()
    made = FusedProgram(p, calls_of(updates := updates_of(p), tmp_path), updates)
    x, d, m, w = (np.ones(s, np.float32) for s in ((2, 4), (2, 3), (4, 3), (4, 3)))
    seen: list[tuple[Any, Any]] = []
    places = set()
    for i in range(12):
        (_, m), changes = of_a_run(made, (x, d, m, w), w)
        carry_out(changes)
        del changes
        if i < 4:
            seen.append((m[1:], m[1:].copy()))
        else:
            places.add(id(m))
    assert all(np.array_equal(view, copy) for view, copy in seen)
    assert len(places) == 2
    text = LINE * made.source.count("\n")
    assert made.size() == text + 2 * 4 * 3 * 4  # two, of which the optimizer of another plan may have neither
