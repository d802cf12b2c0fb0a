"""Mutants of a program's memory: each alias, last use, order and key is dropped once, and each that matters is found.

Knows: that a buffer which nobody has written holds no number, so that what is read too early or too late has other
bits; that a plain rule tells which mutants matter: a buffer is read while it holds the value that is meant, and not
written in the middle of a call that reads it. Runs and the rule have to agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.program.test_program import CELLS, lowered
from tests.program.test_training import LOSSES, data_of, of, prepared
from wengert.arrays import HOST, all_quiet, is_array
from wengert.arrays.abstract import UNKNOWN, sizes_for
from wengert.arrays.changes import carry_out
from wengert.arrays.kernels import kernel_of
from wengert.lazy import dense
from wengert.plugins import SGD
from wengert.program import emit, memory
from wengert.program.memory import Placement, Roots, aliases
from wengert.program.program import Eqn, Program, Var, check
from wengert.run.batching.kernel import BatchedKernel, Workspace
from wengert.run.compiled.lowered import LoweredLoss
from wengert.run.compiled.program import PlanProgram, PlanText, buffers_of

Mutant = tuple[Program, Placement]  # equations in the order in which they run, and where their results lie


VIEWS: tuple[Callable[[Any], Any], ...] = (
    lambda x: wg.reshape(x, (9,)),
    lambda x: wg.permute_dims(x, (1, 0)),
    lambda x: wg.expand_dims(x, axis=0),
    lambda x: x[1:],
    lambda x: wg.squeeze(wg.expand_dims(x, axis=1), axis=1),
)


def views(settings: Any) -> Any:
    """Every kind of a view of what is computed, read late: after results that could lie where it does."""
    w = settings(learning_rate=0.1).array_weight(np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3))
    total: Any = 0.0
    for i, view in enumerate(VIEWS):
        seen = view(wg.tanh(w * (1.5 + i)))
        other = wg.exp(wg.sin(wg.cos(w * (0.3 + i))))
        total = total + wg.sum(wg.sin(seen * 2.0)) * wg.sum(other)
    return total


LOSS: dict[str, Callable[[], Any]] = {
    "views": lambda: views(SGD),
    **{name: lambda name=name: prepared(name, "SGD") for name in LOSSES if name != "heads"},  # type: ignore[misc] # one a name
}


def written(mutant: Mutant) -> list[str]:
    """The text of a mutant: one that has the program's changes nothing."""
    p, placement = mutant
    text = PlanText(p, placement)
    return [text.frame_source(), *text.lines()]


def outcome(mutant: Mutant, low: LoweredLoss) -> list[bytes] | str:
    """The bits of outputs and changed weights; or how it failed."""
    p, placement = mutant
    made = object.__new__(PlanProgram)
    given = data_of(low)
    targets = [np.array(w.ref.data) for w in low.deltas if is_array(w.ref.data)]
    try:
        text = PlanText(p, placement)
        made._compile(text, text.lines())
        frame = made.take()
        for buffer in frame[: len(placement.buffers)]:
            buffer.fill(np.nan if buffer.dtype.kind == "f" else 7)
        with all_quiet():
            steps = made.run(given, frame)
            next(steps)
            with pytest.raises(StopIteration) as end:
                steps.send(targets)
            outputs, changes = end.value.value
            carry_out(changes)
    except Exception as failure:
        return type(failure).__name__
    return [np.asarray(x).tobytes() for x in (*outputs, *targets)]


def harm_of(mutant: Mutant) -> str:
    """`no`, `yes`, or `perhaps`: to the memory of one of several values that a result may be."""
    p, placement = mutant
    roots, place = aliases(sorted(p.eqns, key=PLACES.__getitem__)), placement.place
    held: dict[int, Var] = {}
    early = {e.result for e in placement.early}  # which are made with the buffers
    known, gone, found = {*p.inputs, *(p.targets or ()), *early}, set[Var](), {"no"}
    names, spare, named = (
        dict[Var, int](),
        list[int](),
        dict[int, Var](),
    )  # of numbers, which are written over
    leaving = [Eqn(max, tuple(p.outputs), {}, Var(UNKNOWN))]
    for e in (*(e for e in p.eqns if e.result not in early), *leaving, *p.effects):
        mine = place.get(e.result)
        seen = "perhaps" if e.function is HOST.nonzero_safe else "yes"  # it gives on what it has looked at
        for x in e.reads:
            if x not in known or x in gone or (x in names and named[names[x]] is not x):
                found.add(seen)
            several = roots.get(x, (x,))
            bad = any(r in place and held.get(place[r]) is not r for r in several)
            bad |= mine in {place.get(r, -1) for r in several} and not kernel_of(e.function).elementwise
            found.add((seen if len(several) == 1 else "perhaps") if bad else "no")
        if mine is not None:
            held[mine] = e.result
        known.add(e.result)
        if e.result.aval.form in ("number", "scalar"):
            names[e.result] = name = spare.pop() if spare else len(names)
            named[name] = e.result
        ends = placement.ends.get(e, ())
        spare += [names[x] for x in ends if x in names]
        gone.update(x for x in ends if x not in names)
    return max(found)  # in this order of letters


PLACES: dict[Eqn, int] = {}  # of equations before any mutant


def alias_dropped(p: Program, patch: pytest.MonkeyPatch) -> Iterator[Mutant]:
    """Each result that is a view is taken for one with memory of its own."""
    for x, roots in aliases(p.eqns).items():
        if roots != {x}:
            dropped: dict[Var, Roots] = {x: frozenset((x,))}
            with patch.context() as m:
                m.setattr(
                    memory, "aliases", lambda eqns, new=(), dropped=dropped: aliases(eqns, new) | dropped
                )
                yield p, buffers_of(p)


def last_use_dropped(p: Program, patch: pytest.MonkeyPatch) -> Iterator[Mutant]:
    """Each value is let go of one use before its last."""
    usual = Placement._last_uses

    def uses(roots: Mapping[Var, Any]) -> dict[Var, list[Eqn]]:
        found: dict[Var, list[Eqn]] = {}
        for e in (*p.eqns, *p.effects):
            for root in {root for x in (*e.reads, e.result) for root in roots.get(x, ())}:
                found.setdefault(root, []).append(e)
        return found

    for x in uses(aliases(p.eqns)):

        def early(self: Any, roots: Any, x: Var = x) -> dict[Eqn, list[Var]]:
            last: dict[Eqn, list[Var]] = usual(self, roots)
            met = uses(roots).get(x, [])
            if len(met) > 1 and x in last.get(met[-1], ()):
                last[met[-1]].remove(x)
                last.setdefault(met[-2], []).append(x)
            return last

        with patch.context() as m:
            m.setattr(Placement, "_last_uses", early)
            yield p, buffers_of(p)


def order_dropped(p: Program, patch: pytest.MonkeyPatch) -> Iterator[Mutant]:
    """Each two equations in turn the other way round, where results lie as before."""
    placement = buffers_of(p)
    for at, (a, b) in enumerate(pairwise(p.eqns)):
        yield replace(p, eqns=[*p.eqns[:at], b, a, *p.eqns[at + 2 :]]), placement


LEAST = {"alias_dropped": 2, "last_use_dropped": 30, "order_dropped": 100}  # of those that do harm
DROPPED = {f.__name__: f for f in (alias_dropped, last_use_dropped, order_dropped)}


@pytest.mark.parametrize("kind", DROPPED)
def test_each_mutant_that_does_harm_is_told_by_a_rule_and_noticed_by_runs(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that does no harm is never noticed. Not all harm is: a product by ones is the same earlier and later."""
    counts = Counter[tuple[str, bool]]()
    for name, loss in LOSS.items():
        low, p = of(loss())
        PLACES.clear()
        PLACES.update((e, i) for i, e in enumerate(p.eqns))
        right = p, buffers_of(p)
        wanted = outcome(right, low)
        assert isinstance(wanted, list)
        assert harm_of(right) == "no"
        for mutant in DROPPED[kind](p, monkeypatch):
            if kind != "order_dropped" and written(mutant) == written(right):
                continue
            harm, noticed = harm_of(mutant), outcome(mutant, low) != wanted
            counts[harm, noticed] += 1
            assert harm != "no" or not noticed, f"{name}\n{mutant}"
    found, missed = sum(counts[x, True] for x in ("yes", "perhaps")), counts["yes", False]
    assert found >= LEAST[kind]
    assert missed <= 0.2 * found


def test_each_two_equations_that_need_each_other_are_told_by_check() -> None:
    for loss in LOSS.values():
        _, p = of(loss())
        for at, (a, b) in enumerate(pairwise(p.eqns)):
            if a.result in b.reads:
                with pytest.raises(AssertionError):
                    check(replace(p, eqns=[*p.eqns[:at], b, a, *p.eqns[at + 2 :]]))


def launches(kernel: BatchedKernel, given: Sequence[Any], together: bool) -> list[bytes]:
    """The deltas of two launches, backward last first; `together`: their rows lie in one workspace."""
    spaces = [Workspace(10)] * 2 if together else [Workspace(10), Workspace(10)]
    parts = [[x[at : at + 5] if len(x) == 10 else x for x in given] for at in (0, 5)]
    with all_quiet():
        kept = [kernel.forward(5, x, None, w, True)[1] for x, w in zip(parts, spaces, strict=True)]
        sent = []
        for x in kept[::-1]:
            assert x is not None
            shape = sizes_for(kernel.forms[0][0], 5)
            deltas = kernel.backward(5, x, [np.linspace(-1, 1, prod(shape), dtype=np.float32).reshape(shape)])
            sent += [dense(delta).copy() for delta in deltas if delta is not None]
        spaces = spaces[:1] if together else spaces
        left = [space.deltas(len(given)) for space in spaces]
    joined = [sum(dense(x) for x in found if x is not None) for found in zip(*left, strict=True)]
    return [np.round(x, 3).tobytes() for x in (*sent, *joined)]


@pytest.mark.parametrize("name", CELLS)
def test_each_key_of_what_outlives_a_launch_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its key a value lies where the next launch has its own."""
    _, call = lowered(name)
    operands = CELLS[name][1]
    shared = tuple(i >= operands for i in range(len(call.signature.kinds)))
    chance = np.random.default_rng(0)
    given = [
        chance.standard_normal((10, *k.shape) if not one else k.shape).astype(np.float32)
        for k, one in zip(call.signature.kinds, shared, strict=True)
    ]
    right = BatchedKernel(call.signature, shared)
    assert launches(right, given, True) == launches(right, given, False)
    keys = [x for x in right.train.place if right.train.buffers[right.train.place[x]].key]
    for i in range(len(keys)):

        def without(eqns: Any, outputs: Any, wanted: Any, kept: Any, i: int = i) -> Placement:
            usual = Placement(eqns, outputs, wanted, kept)
            named = [x for x in usual.place if usual.buffers[usual.place[x]].key is not None]
            at = usual.place[named[i]] if i < len(named) and kept else None
            if at is not None:
                usual.buffers[at] = usual.buffers[at]._replace(key=None)
            return usual

        with monkeypatch.context() as m:
            m.setattr(emit, "Placement", without)
            mutant = BatchedKernel(call.signature, shared)
        try:
            found = launches(mutant, given, True)
        except Exception as failure:
            found = [type(failure).__name__.encode()]
        assert found != launches(right, given, True)
