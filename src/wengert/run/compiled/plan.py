"""A plan: the program of a structure, bound to an expression, and run once with present weights.

Knows: that weights, literals and the states of optimizers are the inputs of a program, and how the results
become new data of weights: all under the store's lock, after the last step (S6, S10).
Refuses to know: when a plan is made, and how a program is made of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import Any, Final

from wengert.arrays import Value, all_quiet, is_array, is_host_array
from wengert.arrays.changes import Change
from wengert.control import Run
from wengert.graph.kinds import Column
from wengert.graph.node import Expression, Node
from wengert.graph.store import STORE, Arena, Ref, targets
from wengert.graph.weights import Weight
from wengert.run.commit import commit
from wengert.run.compiled.arena import Home
from wengert.run.compiled.binder import Binder
from wengert.run.compiled.cache import Item
from wengert.run.compiled.chosen import Weights
from wengert.run.compiled.interrupted import Interrupted, settle
from wengert.run.compiled.program import PlanProgram
from wengert.run.compiled.stacking import stacked
from wengert.run.compiled.tracer import PlanTracer
from wengert.run.compiled.tracing import Trace, outlined
from wengert.run.received import handed_over

Bind = Binder | Generator[None, None, Binder]  # at once, or in steps
Changed = tuple[
    tuple[Value, ...], Any
]  # outputs, and what `Program.carry_out` takes; Any: each kind has its own
_TRACED: Final = 2_000  # bytes of a traced call and its small value


class Plan(Item):
    """The program of one structure, for every expression that has it."""

    def __init__(
        self,
        root: Node,
        tracer: PlanTracer,
        bind: Callable[[Sequence[Weight]], Bind],
        targets: Sequence[Expression] | None = None,
        program: Callable[..., PlanProgram] = PlanProgram,
        stacking: bool = True,
        at_once: bool = True,
    ) -> None:
        super().__init__()
        value, trained = tracer.results[root], [w for w in tracer.deltas if isinstance(w, Weight)]
        place = {w: i for i, w in enumerate(tracer.weights)}
        self.places = [place[w] for w in trained]
        self.arrays = [place[w] for w in trained if w.kind.column is Column.ARRAY]
        self.numbers = [place[w] for w in trained if w.kind.column is not Column.ARRAY]
        with all_quiet():
            updating = tracer.updates() if trained and targets is None else None
        self.updating = updating is not None
        self.early = tracer.first_step  # made of a weight's first step, so of no later run
        self.names = [] if updating is None else updating.names
        self.states = any(self.names)
        trace, changing = tracer.trace, None if updating is None else updating.targets
        if updating is not None:
            outputs = [updating.apart(value), *updating.scalars, *updating.states]
        else:
            outputs = [value, *tracer.sent()] if targets is None else tracer.asked
        outputs = outlined(outputs)
        weights = Weights(trace.inputs[: len(tracer.weights)], changing, self.arrays if changing else ())
        self.homes: list[Home] = []  # of weights that live together
        self.whole: list[Home] = []  # of those that are changed together, too
        self.in_place = False
        self._calls = len(trace.calls)
        self._turn = Lock()
        stepped = [] if updating is None else trained  # the weights whose steps it makes
        self._steps: Iterator[None] | None = self._made(
            tracer, outputs, weights, program, partial(bind, stepped), stepped, stacking
        )
        if at_once:
            while self.advance():
                pass

    def _made(
        self,
        tracer: PlanTracer,
        outputs: Sequence[Any],  # Any: traced values or constants
        weights: Weights,
        program: Callable[..., PlanProgram],
        bind: Callable[[], Bind],
        stepped: Sequence[Weight],
        stacking: bool,
    ) -> Iterator[None]:
        """The rest of the making; each step takes at most about ten times as long as a run by the interpreter."""
        trace, changing = tracer.trace, weights.targets
        before = [(type(w.optimizer), w.settings) for w in stepped]
        made = stacked(trace, outputs, weights, tracer.kinds()) if stacking else None
        if made is not None:
            trace, changing = made.trace, made.targets
            self.homes = [Home(places) for places in made.arenas]
            self.whole = [self.homes[i] for i in made.changed]
            if self.updating:
                self.arrays = [self.arrays[i] for i in made.kept]
        yield
        if program is PlanProgram:
            self.program = yield from PlanProgram.in_steps(trace, outputs, changing)
        else:
            self.program = program(trace, outputs, changing)
        self.in_place = not self.numbers and not self.states  # all that it changes, if nobody else sees that
        if made is not None:
            made.trace.close()
        yield
        made_of = bind()
        self.bind: Binder = (yield from made_of) if isinstance(made_of, Generator) else made_of
        if before != [(type(w.optimizer), w.settings) for w in stepped]:
            self.early = True  # they were others when it was traced

    def advance(self) -> bool:
        """Make one step more of the plan, unless another thread is at it; False where there is none left."""
        if self._steps is None:
            return False
        if self._turn.acquire(blocking=False):
            try:
                next(self._steps)
            except StopIteration:
                self._steps = None
                return False
            finally:
                self._turn.release()
        return True

    def closes(self, trace: Trace) -> None:
        """Have it let go of its trace when it has been made, or has to go before that."""
        self._steps = _closing(self._steps, trace)

    @property
    def ready(self) -> bool:
        """Whether it has been made."""
        return self._steps is None

    def size(self) -> int:
        return self.program.size() if self._steps is None else _TRACED * self._calls

    def let_go(self) -> None:
        if self._steps is None:
            self.program.forget()

    def bound(self, root: Node) -> Bound | None:
        """The plan with the weights and literals of `root`; None where it does not fit, or has not been made."""
        if self._steps is not None:
            return None
        found = self.bind(root)
        return None if found is None else Bound(self, *found)


class Bound:
    """A plan for one expression."""

    __slots__ = ("cells", "literals", "plan", "targets", "weights")

    def __init__(
        self,
        plan: Plan,
        weights: tuple[Weight, ...],
        cells: Sequence[Ref],
        literals: tuple[Any, ...],  # Any: of every type
        targets: tuple[Expression, ...],
    ) -> None:
        self.plan = plan
        self.weights = weights
        self.literals = literals
        self.targets = targets
        self.cells = cells

    def predict(self, root: Expression, snapshot: int) -> Value:
        """The data of the expression."""
        (value,) = self._outputs(snapshot)
        return handed_over(value, root.kind, self._read(snapshot, [value]))

    def gradients(self, snapshot: int) -> tuple[Value, ...]:
        """The delta of each target, each an object of its own."""
        found: list[Value] = []
        seen: set[int] = set()  # their identities
        deltas = self._outputs(snapshot)
        read = self._read(snapshot, deltas)
        for x, delta in zip(self.targets, deltas, strict=True):
            again = is_array(delta) and id(delta) in seen
            found.append(delta.copy() if again else handed_over(delta, x.kind, read))
            seen.add(id(found[-1]))
        return tuple(found)

    def _outputs(self, snapshot: int) -> tuple[Value, ...]:
        """Outputs of a program that changes nothing."""
        program = self.plan.program
        buffers = program.take()
        data = STORE.read(self.cells, snapshot)
        arenas = [home.data(self.cells, data, snapshot) for home in self.plan.homes]
        inputs = (*data, *self.literals, *arenas)
        try:
            with all_quiet():
                outputs: tuple[Value, ...] = program.run(inputs, buffers)
        except Exception as failure:
            raise Interrupted from failure
        program.give(buffers)
        return outputs

    def trained(self, root: Expression, run: Run, snapshot: int) -> tuple[Value, Callable[[], Value]]:
        """The loss, to look at, and what makes the changes of weights and gives the loss."""
        return self._update(root, run, snapshot) if self.plan.updating else self._send(root, run, snapshot)

    def _send(self, root: Expression, run: Run, snapshot: int) -> tuple[Value, Callable[[], Value]]:
        """Forward and backward; the optimizers are asked in the usual commit."""
        value, *deltas = self._outputs(snapshot)
        value = handed_over(value, root.kind, self._read(snapshot, [value]))

        def change() -> Value:
            settle(run, value)
            trained: list[Expression] = [self.weights[i] for i in self.plan.places]
            commit(dict(zip(trained, deltas, strict=True)), snapshot, value, _interrupt)
            return value

        return value, change

    def _update(self, root: Expression, run: Run, snapshot: int) -> tuple[Value, Callable[[], Value]]:
        """Forward, backward, steps and changes in one program."""
        value, keep = self.computed(run, snapshot)

        def change() -> Value:
            settle(run, value)
            return handed_over(keep(), root.kind, {})  # its memory is no weight's: see `apart`

        return value, change

    def computed(self, run: Run, snapshot: int) -> tuple[Value, Callable[[], Value]]:
        """The loss, and a function that makes the changes of weights and gives the loss again.

        That raises Interrupted if weights have changed in between: what was computed belongs to their older data.
        """
        plan = self.plan
        version, moved = STORE.version, STORE.moved
        states = self._states() if plan.states else ()
        data = STORE.read(self.cells, snapshot)
        inputs = (*data, *self.literals, *states)
        if plan.homes:
            inputs = (*inputs, *[home.data(self.cells, data, snapshot) for home in plan.homes])
        program = plan.program
        buffers = program.take()
        try:
            with all_quiet():
                changing = program.run(inputs, buffers)
                value = next(changing)
        except Exception as failure:
            if run.cancelled:
                raise
            raise Interrupted from failure
        return value, partial(self._change, changing, buffers, snapshot, version, moved)

    def _change(
        self,
        changing: Generator[Value, list[Value], Changed],
        buffers: tuple[Value, ...],
        snapshot: int,
        version: int,
        moved: int,
    ) -> Value:
        plan, cells = self.plan, self.cells
        changed = [cells[i] for i in plan.arrays]
        with all_quiet(), STORE.lock:
            if STORE.version != version:
                raise Interrupted
            try:
                STORE.changing = True
                found = self._in_place(changed, moved) if plan.in_place else None
                if found is not None:
                    (value, *_), changes = _sent(changing, found)
                    last = STORE.changed(changed)
                else:
                    others = STORE.others(snapshot)
                    own = targets(changed, others)
                    whole = [home.target(cells, not others, moved) for home in plan.whole]
                    (value, *made), changes = _sent(changing, [*own, *[arena.data for arena in whole]])
                    last = self._kept([*zip(changed, own, strict=True)], others, made, whole)
                plan.program.carry_out(changes, last)
            finally:
                STORE.changing = False
        plan.program.give(buffers)
        return value

    def _in_place(self, changed: Sequence[Ref], moved: int) -> list[Value] | None:
        """All targets where nobody else sees them, so that a change of them is all that there is to do; else None."""
        if len(STORE.readers) > 1:
            return None
        found = [cell.data for cell in changed if not cell.exposed]
        if len(found) < len(changed) or STORE.moved != moved:
            return None
        for home in self.plan.whole:
            arena = home.arena(self.cells)
            if arena is None or arena.fresh:
                return None
            found.append(arena.data)
        return found

    def _states(self) -> list[Value]:
        """States that the optimizers' steps so far have left."""
        found: list[Value] = []
        for place, names in zip(self.plan.places, self.plan.names, strict=True):
            state = vars(self.weights[place].optimizer)
            if not all(name in state for name in names):
                raise Interrupted  # the weight's first step makes the state
            found += [state[name] for name in names]
        return found

    def _kept(
        self,
        data: list[tuple[Ref, Value]],
        others: list[int],
        made: list[Value],
        whole: list[Arena],
    ) -> list[Change]:
        """Changes that make the new data of all weights one version, and the new states."""
        plan, cells = self.plan, self.cells
        if plan.numbers:
            data += [(cells[i], x) for i, x in zip(plan.numbers, made, strict=False)]  # states follow them
        for home, arena in zip(plan.whole, whole, strict=True):
            data += home.beside(cells, arena)
        found = STORE.replaced(data, others)
        for home, arena in zip(plan.whole, whole, strict=True):
            found += home.kept(cells, arena, not others)
        if plan.states:
            states = iter(made[len(plan.numbers) :])
            for place, names in zip(plan.places, plan.names, strict=True):
                weight = self.weights[place]
                optimizer = weight.optimizer.staged()
                vars(optimizer).update(zip(names, states))  # noqa: B905 # as many of the states as there are names
                found.append((setattr, weight, "optimizer", optimizer))
        return found

    def _read(self, snapshot: int, results: Iterable[Value]) -> dict[int, Ref]:
        """Weights by the identity of their data at the snapshot, where a result may be these."""
        if not any(map(is_host_array, results)):
            return {}
        return {id(cell.at(snapshot)): cell for cell in self.cells}


def _closing(steps: Iterator[None] | None, trace: Trace) -> Iterator[None]:
    try:
        yield from steps or ()
    finally:
        trace.close()


def _interrupt(refusal: Exception) -> None:
    raise Interrupted from refusal


def _sent(changing: Generator[Value, list[Value], Changed], targets: list[Value]) -> Changed:
    """The outputs of a program, and what changes its targets."""
    try:
        changing.send(targets)
    except StopIteration as end:
        found: Changed = end.value
        return found
    raise AssertionError("a program asks for its targets once")
