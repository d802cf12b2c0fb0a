"""The commit phase: every weight's whole delta through its optimizer, then all updates at once.

Knows: that optimizers step copies of themselves, after one of each settings object has seen all updates; that
nothing is kept until all have succeeded, and then everything in one call, which no signal or interrupt can divide;
that what a step reads of a buffer which this commit writes is copied, term by term, as in plans; that a delta may
be that of others, or a value, too, so that only an optimizer that has promised not to write into it gets it as it is.
Refuses to know: what any optimizer does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from sys import getrefcount
from types import TracebackType
from typing import Any

from wengert.arrays import (
    ARRAY_CLASS,
    Float32,
    Value,
    all_quiet,
    as_readonly,
    device_of,
    dtype_of,
    entered,
    is_array,
    is_host_array,
    own_copy,
    shape_of,
)
from wengert.arrays.changes import Change, all_set
from wengert.arrays.ownership import ALONE, owners, unshared
from wengert.control import Run
from wengert.delta import zero
from wengert.errors import DTypeError, ProgramWarning, ShapeError, raise_all
from wengert.graph.kinds import Column
from wengert.graph.node import Expression
from wengert.graph.operand import shown
from wengert.graph.store import STORE, Ref
from wengert.graph.weights import Update, Weight, by_settings, told, update_of
from wengert.lazy import LazyDelta, Replacement, dense, read_only

_SCALARS: dict[Column, Callable[[Any], Value]] = {Column.DOUBLE: float, Column.FLOAT: Float32}
Changed = tuple[Value, list[Change]]  # the data that will be, and what makes them so
Changing = Callable[[Value, bool], Changed]  # of data, and whether it may work in place
Stepped = Callable[[Update, set[int]], Changing]


def commit(
    deltas: Mapping[Expression, Value],
    snapshot: int,
    loss: Value = 0.0,
    refused: Callable[[Exception], None] | None = None,
    step: Stepped | None = None,
) -> None:
    """Update every weight that has a delta; if an optimizer raises, nothing has changed.

    `refused` is told of a refusal, before any step, on its way out. `step` is what takes each step, if it is
    not `stepped`.
    """
    prepared(deltas, snapshot, loss, refused, step)()


def prepared(
    deltas: Mapping[Expression, Value],
    snapshot: int,
    loss: Value = 0.0,
    refused: Callable[[Exception], None] | None = None,
    step: Stepped | None = None,
) -> Callable[[], None]:
    """All of a commit that can fail; what this gives is the rest, if nobody changes these weights in between."""
    weights = admitted(deltas, loss, refused)
    replaced = replacements(deltas)
    with all_quiet():  # as forward and backward are
        updates = _staged(weights)
        of = {update.weight: update for update in updates}
        groups = [[of[weight] for weight in group] for group in by_settings(of)]
        for group in groups:
            try:
                group[0].optimizer.inputs()  # where one is none, the run fails once and not with every weight
                group[0].optimizer.together(updates)
            except Exception as refusal:
                refusal.add_note(update_of(group[0].weight))
                if refused is not None:
                    refused(refusal)
                raise
        changes = _changes(updates, step or stepped)
        changes += [(weight.ref, partial(_replaced, term)) for weight, term in replaced.items()]
        besides: list[Change] = [(setattr, w.ref, "exposed", True) for w, x in replaced.items() if x.frozen]
        for weight, _, optimizer in updates:
            besides += optimizer._late_changes(getrefcount(weight.optimizer) == ALONE)
        optimizers = [update.optimizer for update in updates]
        besides.append(all_set([update.weight for update in updates], "optimizer", optimizers))
    return partial(_published, snapshot, groups, changes, besides)


def _published(
    snapshot: int, groups: list[list[Update]], changes: list[tuple[Ref, Changing]], besides: list[Change]
) -> None:
    with all_quiet():
        STORE.publish(snapshot, changes, besides)
    told([[update.weight for update in group] for group in groups if group[0].optimizer.tells])


def admitted(
    deltas: Mapping[Expression, Value], loss: Value, refused: Callable[[Exception], None] | None
) -> list[tuple[Weight, Value]]:
    """The weights among these with their deltas, if the optimizers of all admit them; `refused` as in `commit`."""
    weights = [
        (x, delta if x.optimizer.pure else read_only(delta))
        for x, delta in deltas.items()
        if isinstance(x, Weight) and not (isinstance(delta, LazyDelta) and delta.replacement())
    ]
    for weight, delta in weights:
        optimizer = weight.optimizer
        try:
            optimizer.admit(loss if optimizer.pure else as_readonly(loss), delta, weight)
        except Exception as refusal:  # the first stands for all
            refusal.add_note(update_of(weight))
            if refused is not None:
                refused(refusal)
            raise
    for weight, *_ in by_settings(weight for weight, _ in weights):
        try:
            weight.optimizer.admit_all(loss, weights)
        except Exception as refusal:
            if refused is not None:
                refused(refusal)
            raise
    return weights


def replacements(deltas: Mapping[Expression, Value]) -> dict[Weight, Replacement]:
    """The weights that get other data whatever theirs were; their optimizers take no part."""
    return {
        x: term
        for x, delta in deltas.items()
        if isinstance(x, Weight) and isinstance(delta, LazyDelta) and (term := delta.replacement())
    }


def _staged(weights: Sequence[tuple[Weight, Value]]) -> list[Update]:
    updates = []
    for weight, delta in weights:
        try:
            updates.append(Update(weight, delta, weight.optimizer.staged()))
        except Exception as failure:
            failure.add_note(update_of(weight))
            raise
    return updates


def _changes(updates: Sequence[Update], step: Stepped) -> list[tuple[Ref, Changing]]:
    """Changes of each step; all are tried, so that every failure is told."""
    data = [weight.ref.data for weight, _, _ in updates]
    written = {id(x) for x in data} | {id(x.base) for x in data if is_array(x) and x.base is not None}
    changes: list[tuple[Ref, Changing]] = []
    failures: list[Exception] = []
    for update in updates:
        try:
            with entered(update.weight.kind.device):
                changes.append((update.weight.ref, step(update, written)))
        except Exception as failure:
            failure.add_note(update_of(update.weight))
            failures.append(failure)
    raise_all(failures)
    return changes


def stepped(update: Update, written: set[int], step: Value = None) -> Changing:
    """Change of a weight by a step, its optimizer's if none is given, where buffers `written` are going to change."""
    weight, delta, optimizer = update
    if step is None:
        step = optimizer.step(delta, weight) if optimizer.pure else _step_apart(update)
    if weight.kind.column is Column.OTHER:
        return _moved(weight, dense(step))
    cls = _SCALARS.get(weight.kind.column)
    if cls is not None:
        cls(step)  # fails here, before anything is kept, if the optimizer gave no number
        return partial(_scalar, cls, step)
    if isinstance(step, LazyDelta):
        step.check(weight.ref.data.shape)
        step = step.joined()  # one array in place of hundreds, of which each has its owners
        return partial(_lazily, step.of(partial(_apart, written)))
    if shape_of(step) != weight.kind.shape:
        raise ShapeError(f"the optimizer gave a step of shape {shape_of(step)} for {weight!r}")
    if dtype_of(step) != weight.kind.dtype:
        step = step.astype(weight.kind.dtype)  # a weight keeps its dtype, whatever a rate's is
    return partial(_lazily, LazyDelta((), 1.0, _apart(written, step)))  # `old - step` of shape () is no array


def _apart(written: set[int], x: Value) -> Value:
    """`x`, or a copy of it where it shares memory with a buffer that is going to change."""
    plain = x.__class__ is ARRAY_CLASS
    if plain and x.base is None and id(x) not in written:  # as most are, which need no walk over owners
        return x
    shared = is_array(x) and any(id(y) in written for y in owners(x))
    return x.copy(order="K") if shared else x


def _step_apart(update: Update) -> Value:
    """The step of an optimizer that may write into it once more: for the next weight, say."""
    weight, delta, optimizer = update
    made = [optimizer.step(delta, weight)]
    return unshared(made) if is_array(made[0]) and made[0] is not delta else made[0]


def _moved(weight: Weight, step: Value) -> Changing:
    """The change of a weight of a user's class, which says how it takes a step."""
    data, nothing = weight.ref.data, zero(weight.ref.data)
    if shape_of(step) != shape_of(nothing):
        raise ShapeError(
            f"a step of shape {shape_of(step)} for {weight!r}, whose deltas have {shape_of(nothing)}"
        )
    if is_array(step) and dtype_of(step) != dtype_of(nothing):
        step = step.astype(dtype_of(nothing))
    made = data.stepped(as_readonly(step))
    if type(made) is not type(data):
        raise DTypeError(f"a step of {weight!r} gave {shown(made)}, which is of another class")
    return lambda old, in_place: (made, [])


def _scalar(cls: Callable[[Any], Value], step: Value, old: Value, in_place: bool) -> Changed:
    return cls(old - step), []


def _lazily(step: LazyDelta, old: Value, in_place: bool) -> Changed:
    if in_place and is_host_array(old):
        return old, step.changes(old)
    buffer = own_copy(old)  # on a GPU, too: cupy runs instructions of Python, and some functions may fail
    with entered(device_of(old)):
        step.subtract_from(buffer)
    return buffer, []


def _replaced(term: Replacement, old: Value, in_place: bool) -> Changed:
    if term.frozen or not is_array(old):
        return term.value, []
    data = own_copy(old)
    data[...] = term.after(old)  # of shape () that is no array
    return data, []


class Interrupted(Exception):
    """A program failed before anything had changed: the interpreter runs the expression, and says why."""

    of = ""  # what the program is of, if it has never worked


class Doubts:
    """Programs that have never worked and failed in a run; a context in which they may fail."""

    __slots__ = ("_failed",)

    def __init__(self) -> None:
        self._failed: list[tuple[str, str]] = []  # of what, and the failure

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, stop: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(stop, Interrupted) and stop.of:
            self._failed.append((stop.of, repr(stop.__cause__)))
        return isinstance(stop, Interrupted)

    def tell(self) -> None:
        """Warn of them: the interpreter has met no failure."""
        while self._failed:
            fails(*self._failed.pop())


def fails(of: str, failure: str) -> None:
    """Warn that the program of a structure fails where the interpreter does not."""
    warnings.warn(
        f"the program of {of} was made and failed in its first run with {failure:.200}, where the interpreter did not "
        "fail. Such runs go on node by node, with the same results, and take longer. Unless a rule of yours raised "
        "that, it is a defect of Wengert: please report it",
        ProgramWarning,
        stacklevel=3,
    )


def settle(run: Run, value: Value) -> None:
    """The last moment at which a run can stop with nothing changed: cancelled, or with its loss refused."""
    try:
        run.settle(value)
    except Exception as refusal:
        raise Interrupted from refusal
