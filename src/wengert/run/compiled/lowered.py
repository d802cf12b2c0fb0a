"""Structures as programs: forward, backward, and the steps of optimizers, from what is known of their leaves.

Knows: that weights are the first inputs, then literals, then states; that no value is looked at, so that nothing is
computed and no rule of a user's is called that promises nothing; that all effects come after the last step, and that
only the steps of optimizers which have promised to be pure are written down.
Refuses to know: when a program is worth making, who runs it, and who commits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from wengert.arrays import HOST, Float32, Value, copied, dtype_of, is_array, one_like, shape_of
from wengert.arrays.abstract import UNKNOWN, Aval, sizes_for
from wengert.arrays.infer import aval_of, aval_on_device
from wengert.arrays.kernels import put_into, subtract_into
from wengert.arrays.values import require_finite
from wengert.errors import WengertError
from wengert.graph.kinds import Column, device_among
from wengert.graph.node import Expression, Node
from wengert.graph.products import zero_of
from wengert.graph.store import Ref
from wengert.graph.weights import Buffer, Update, Updates, Weight
from wengert.lazy import LazyDelta, dense
from wengert.program.build import Builder, Tracer, bare
from wengert.program.derive import Lowering, Operations, Slot, aval_of_kind, capture, disjoint, leaving
from wengert.program.memory import Roots, aliases
from wengert.program.program import Program, SourceInfo, Var

NUMBERS: Final = (float, int, Float32)


class LoweredLoss(Lowering):
    """A value with the deltas of weights, in the making."""

    def __init__(self, weights: Sequence[Weight], on_device: bool = False) -> None:
        super().__init__(Operations(), Builder(on_device))
        self.weights = weights
        self.given: list[Callable[[], Any]] = []  # Any: the inputs' values now, of every type
        self.data = {w: self.read(partial(getattr, w.ref, "data")) for w in weights}
        self.weight_at = {self.take(w, x): w for w, x in self.data.items()}
        self.value: Any = None  # Any: a tracer or a constant
        self.also: list[Any] = []  # Any: values that are wanted with it, tracers or constants
        self.deltas: dict[Weight, Any] = {}  # Any: tracers, lazy or constant
        self.asked: list[Any] | None = None  # Any: the deltas of targets, in place of the value
        self.shared: set[Var] = set()  # inputs that may be the memory of weights
        self.asks = False  # whether a rule that promises nothing is asked in each run
        self.first_step = False  # of some weight's optimizer

    @property
    def known(self) -> Callable[[Any], Aval]:  # Any: as in `given`
        """The abstract value of one that is there."""
        return aval_on_device if self.builder.on_device else aval_of

    def read(self, get: Callable[[], Any], aval: Aval | None = None) -> Tracer:  # Any: as in `given`
        """An input that has this value now."""
        self.given.append(get)
        return self.input(self.known(get()) if aval is None else aval)

    def arrived(self, deltas: Mapping[Slot, Any]) -> None:  # Any: as in `deltas`
        """Take the deltas of weights, in the order in which they have arrived."""
        self.deltas = {
            self.weight_at[slot]: delta for slot, delta in deltas.items() if slot in self.weight_at
        }

    def dense(self, value: Any, delta: Any) -> Any:  # Any: as in `deltas`; None: the loss does not depend
        """The delta of a target with this value."""
        self.builder.source = SourceInfo("backward", "delta of a target")
        if delta is None:
            return self.builder.opaque(zero_of, UNKNOWN, value)
        if isinstance(delta, Tracer) and delta.var.aval.form == "other":  # it may be lazy
            return self.builder.opaque(dense, UNKNOWN, delta)
        return dense(delta)

    def kinds(self) -> dict[Var, Hashable]:
        """Of each input what it has in common with those that it may stand in one array with."""
        found: dict[Var, Hashable] = {x: x.aval for x in self.inputs}
        for w in self.weights:
            x, optimizer = self.data[w].var, w.optimizer
            found[x] = (Weight, x.aval, type(optimizer), id(optimizer.settings))
        return found

    def present(self) -> list[Any]:  # Any: as in `given`
        """The inputs' values."""
        return [get() for get in self.given]

    # -- the steps of optimizers ------------------------------------------------------------------------

    def updates(self) -> Updating | None:
        """The updates as part of the program; None where an optimizer has to be asked in each run."""
        if self.asks:
            return None  # somebody else's rule may train in the middle of a run: the commit sees what it did
        made = Updating(self)
        inputs = len(self.inputs)
        steps = made.steps(self.deltas)
        if steps is None:
            del self.inputs[inputs:], self.given[inputs:]
            return None
        made.apply(steps)
        return made

    def outputs(self, updating: Updating | None) -> list[Any]:  # Any: tracers and constants
        """The results of the program."""
        if updating is not None:
            self.builder.source = SourceInfo("update", "result")
            seen = [*map(updating.apart, [self.value, *self.also])]
            return [*seen, *updating.scalars, *updating.kept(seen), *updating.required]
        if self.asked is not None:
            return self.asked
        return [self.value, *self.also, *(self._leaving(w, d) for w, d in self.deltas.items())]

    def _leaving(self, weight: Weight, delta: Any) -> Any:  # Any: as in `deltas`
        self.builder.source = SourceInfo("backward", "delta of a weight", weight.code, weight.offset)
        return leaving(self.builder, delta)

    def program(self, updating: Updating | None) -> Program:
        """The program of all that has been written down."""
        outputs = bare(tuple(self.outputs(updating)))
        b, up = self.builder, updating
        if up is None:
            return Program(self.inputs, b.eqns, outputs, effects=b.effects)
        targets, before = [x.var for x in up.targets], {up.targets[i].var: x for i, x in enumerate(up.before)}
        return Program(self.inputs, b.eqns, outputs, None, targets, b.effects, before, [*up.own.values()])


def lowered_in_steps(
    nodes: Sequence[Node],
    weights: Sequence[Weight],
    back: bool = True,
    targets: Sequence[Expression] | None = None,
    also: Sequence[Expression] = (),
    on_device: bool = False,
) -> Generator[None, None, LoweredLoss]:
    """The value of the last node, and of `also`; if it goes `back` the deltas of weights and of targets."""
    made, root = LoweredLoss(weights, on_device), nodes[-1]
    operations = capture(nodes, (), literals=True, before=made.operations)
    avals = avals_of_literals([x for _, x in operations.inputs], made.known)
    for (slot, x), aval in zip(operations.inputs, avals, strict=True):
        made.values[slot] = made.read(partial(_itself, x), aval)
    yield
    made.forward()
    made.value = made.of(root)
    made.also = [*map(made.of, also)]
    if back:
        slots, half = operations.slots, len(operations.ops) // 2
        deltas = {slots[root]: seed_of(made.value, root)}
        for part in (operations.ops[half:], operations.ops[:half]):
            yield
            made.backward(deltas, part)
        made.arrived(deltas)
        sent = deltas | made.taken
        if targets is not None:
            made.asked = [made.dense(made.of(x), sent.get(slots[x])) for x in targets]
    made.asks = made.foreign
    return made


def avals_of_literals(
    literals: Sequence[Any],  # Any: of every type
    found: Callable[[Any], Aval] = aval_of,
) -> list[Aval]:
    """The abstract values of all literals of a structure: in C order where all are, else in any.

    So there are at most two programs of a structure, whichever of its literals lie how; see `binder`.
    """
    avals = [*map(found, literals)]
    if all(aval.order != "other" or len(aval.shape) < 2 for aval in avals):
        return avals
    return [Aval(x.shape, x.dtype, x.form, "other") if x.form == "array" else x for x in avals]


def device_of(nodes: Sequence[Node]) -> Any:  # Any: one of cupy's
    """The device of all arrays among nodes and operands; None if that is the host, or there are several."""
    found = device_among({of for node in nodes for of in (*node.signature.kinds, node.signature.kind)})
    return None if found == "cpu" else found


def finished(steps: Generator[None, None, LoweredLoss]) -> LoweredLoss:
    """The result of a lowering, all of its steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: LoweredLoss = end.value
            return made


def seed_of(value: Any, loss: Expression) -> Any:  # Any: a tracer or a constant; a number or an array
    """The delta that a loss of this value begins with."""
    if isinstance(value, Tracer) and loss.kind.device != "cpu" and not value.builder.on_device:
        return value.builder.opaque(one_like, UNKNOWN, value)
    aval = value.var.aval if isinstance(value, Tracer) else aval_of(value)
    aval = aval_of_kind(loss.kind) if aval.form == "other" else aval
    if aval.form == "number":
        return 1.0
    return one_like(
        aval.dtype.type(0) if aval.form == "scalar" else HOST.ones(sizes_for(aval.shape, 0), aval.dtype)
    )


def _itself(x: Any) -> Any:  # Any: a literal
    return x


class _Weight:
    """A weight as the step of an optimizer sees it: its data are a tracer, and numbers of its settings may be."""

    def __init__(self, weight: Weight, data: Tracer, optimizer: Updates, named: list[Weight]) -> None:
        self._weight = weight
        self._named = named  # those that have been asked for their names
        self.ref = Ref(data)
        self.data = data
        self.optimizer = optimizer
        self.settings = optimizer.settings

    def __getattr__(self, name: str) -> Any:  # Any: whatever a weight has
        if name == "name":
            self._named.append(self._weight)
        return getattr(self._weight, name)


class Updating:
    """The steps of all optimizers; then the changes in place, which begin when no step can fail any more."""

    def __init__(self, of: LoweredLoss) -> None:
        self._of = of
        self.weights: list[Weight] = []
        self.names: list[dict[str, Aval]] = []  # of the states of each weight's optimizer, and what they are
        # numbers that commits change, of a weight of each settings object
        self.told: list[tuple[Weight, tuple[str, ...]]] = []
        self.states: list[Any] = []  # Any: the new states of all, in that order, tracers and constants
        self.targets: list[Tracer] = []  # what is changed in place
        self.before: list[Var] = []  # of each of them the input that has its data
        self.own: dict[tuple[Weight, str], Var] = {}  # inputs that are states, in their order: see `kept`
        self.scalars: list[Any] = []  # Any: new values of weights that are numbers, tracers
        self.named: list[Weight] = []  # those whose steps ask for their names
        self.dropped: list[str] = []  # what a commit has told an optimizer, and its step has no more use for
        self.required: list[Any] = []  # Any: what fails where the update is refused, tracers
        self._data = {x.var for x in of.data.values()} | of.shared
        self._roots: dict[Var, Roots] = {}

    def steps(self, deltas: Mapping[Weight, Any]) -> list[Any] | None:  # Any: tracers, lazy or constants
        """Arrays that are subtracted from the weights, and the new data of buffers; None if one is unknown."""
        try:
            updates = self._staged(deltas)
            if updates is None:
                return None
            if any(x.optimizer.only_finite for x in updates.values()):
                arrays = [dense(x.delta) for x in updates.values()]
                self.required.append(self._of.builder.call(require_finite, self._of.value, *arrays))
            first = {id(x.optimizer.settings): x.optimizer for x in reversed(updates.values())}
            for optimizer in first.values():
                optimizer.together([*updates.values()])
            found = []
            for weight, delta in deltas.items():
                self._of.builder.source = _update_of(weight)
                update = updates.get(weight)
                found.append(self._replaced(weight, delta) if update is None else self._step(weight, update))
        except (TypeError, AttributeError, WengertError):  # it decides by a value, or evades its namespace
            return None
        return None if any(step is None for step in found) else found

    def alone(self, weight: Weight, delta: Any, told: Mapping[str, Any]) -> Any:  # Any: as in `steps`
        """The step of one weight in a commit that has told its optimizer this; None if it is unknown."""
        try:
            updates = self._staged({weight: delta})
            if updates is None:
                return None
            for name, x in told.items():
                given = [self._of.read(partial(_itself, y)) for y in (x if isinstance(x, tuple) else (x,))]
                setattr(updates[weight].optimizer, name, tuple(given) if isinstance(x, tuple) else given[0])
            step = self._step(weight, updates[weight])
            self.dropped = [name for name in told if getattr(updates[weight].optimizer, name, 0) is None]
            return step
        except (TypeError, AttributeError, WengertError):  # as above
            return None

    def _staged(self, deltas: Mapping[Weight, Any]) -> dict[Weight, Update] | None:  # Any: as in `steps`
        """The update of each weight that has an optimizer; None if a state of one is unknown."""
        of, settings, found = self._of, dict[int, Any](), dict[Weight, Update]()
        for weight in [x for x in deltas if not isinstance(x, Buffer)]:
            if id(weight.settings) in settings:
                continue
            try:
                numbers = weight.optimizer.inputs()
            except Exception:  # of a user's schedule: the interpreter will say whose it is
                return None
            settings[id(weight.settings)] = weight.settings
            if numbers:
                self.told.append((weight, tuple(numbers)))
                stand = {name: of.read(partial(_itself, x)) for name, x in numbers.items()}
                settings[id(weight.settings)] = _settings_with(weight.settings, stand)
        for weight, delta in deltas.items():
            if isinstance(weight, Buffer):
                continue
            optimizer = weight.optimizer
            state = optimizer.state() if weight.kind.column is not Column.OTHER else None
            if state is None or not all(is_array(v) or type(v) in NUMBERS for v in state.values()):
                return None
            staged = optimizer.staged_with(settings[id(weight.settings)])
            for name in state:
                state_of = of.read(partial(_state, weight, name))
                self.own[weight, name] = state_of.var
                setattr(staged, name, state_of)
            stands: Any = _Weight(weight, of.data[weight], staged, self.named)  # Any: it stands for it
            found[weight] = Update(stands, delta, staged)
        return found

    def _replaced(self, weight: Weight, delta: Any) -> Any:  # Any: as in `steps`
        self.weights.append(weight)
        self.names.append({})
        term = delta.replacement()
        return None if term is None else term.after(self._of.data[weight])

    def _step(self, weight: Weight, update: Update) -> Any:  # Any: as in `steps`; None: unknown
        step = update.optimizer.step(update.delta, update.weight)
        before, after = weight.optimizer.state() or {}, update.optimizer.state() or {}
        if after.keys() != before.keys():  # the first step makes the state: a later run will tell
            self._of.first_step = True
            return None
        if not _fits(step, weight):
            return None
        self.weights.append(weight)
        self.names.append({name: self.own[weight, name].aval for name in before})
        self.states += after.values()
        return step

    def apart(self, x: Any) -> Any:  # Any: a tracer, lazy or constant
        """`x`, with copies of what may share memory with the data of a weight, which are about to change.

        The terms of a lazy one are joined as by the interpreter, and subtracted one by one: a sum has other bits.
        """
        return x.joined().of(self._copied) if isinstance(x, LazyDelta) else self._copied(x)

    def kept(self, seen: Sequence[Any]) -> list[Any]:  # Any: as in `states`; what the user gets besides
        """The new states, in memory that is nobody's: a step may keep a product with 1, as a copy."""
        others = [*self._of.inputs, *map(bare, seen)]
        return disjoint(self._of.builder, self.states, [*self.own.values()], others)

    def _copied(self, x: Any) -> Any:  # Any: as in `apart`, and keys
        if not isinstance(x, Tracer) or not any(r in self._data for r in self._roots.get(x.var, (x.var,))):
            return x
        builder = self._of.builder
        if builder.on_device:  # nothing is known there: it may be a key of truth values, which have no sign
            return builder.stated(copied, x.var.aval, x)
        return builder.call(operator.pos, x)  # unlike a product with 1

    def apply(self, steps: Sequence[Any]) -> None:  # Any: as in `step`
        """Write down the changes."""
        builder = self._of.builder
        self._roots = aliases(builder.eqns)
        for weight, step in zip(self.weights, [self.apart(step) for step in steps], strict=True):
            data = self._of.data[weight]
            builder.source = _update_of(weight)
            if weight.kind.column is not Column.ARRAY:
                self.scalars.append(_as(data.var.aval, data - step))
                continue
            target = builder.input(data.var.aval)
            self.targets.append(target)
            self.before.append(data.var)
            if isinstance(step, LazyDelta):
                step.changes(target)
            else:
                builder.effect(put_into if isinstance(weight, Buffer) else subtract_into, target, step)


def _update_of(weight: Weight) -> SourceInfo:
    return SourceInfo(
        "update", f"update by {type(weight.optimizer.settings).__name__}", weight.code, weight.offset
    )


def _state(weight: Weight, name: str) -> Value:
    value: Value = getattr(weight.optimizer, name)
    return value


def _settings_with(settings: object, numbers: Mapping[str, Tracer]) -> Any:  # Any: of the same class
    """Settings in which tracers stand for numbers: what their properties compute, they compute of these."""
    stands = object.__new__(type(settings))
    vars(stands).update({**vars(settings), **numbers})
    return stands


def _as(aval: Aval, made: Any) -> Any:  # Any: a tracer
    """New data of a weight that is a number, of the class of the data before."""
    if (made.var.aval.form, made.dtype) == (aval.form, aval.dtype):
        return made
    return made.builder.call(float if aval.form == "number" else aval.dtype.type, made)


def _fits(step: Any, weight: Weight) -> bool:  # Any: a tracer, lazy or constant
    """True if a step can be subtracted in place; one of another dtype or shape is the commit's business."""
    if isinstance(step, LazyDelta) or weight.kind.column is not Column.ARRAY:
        return True
    return (shape_of(step), dtype_of(step)) == (weight.kind.shape, weight.kind.dtype)
