"""A plan: the program of a structure, bound to an expression, and run once with present weights.

Knows: that weights, literals and the states of optimizers are the inputs of a program, and how the results
become new data of weights: all under the store's lock, after the last step; how the data of weights move into
one array, where others may put new data in a weight's place at any time. Nobody is ever given a view of a row.
Refuses to know: when a plan is made, and how a program is made of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, is_, itemgetter
from threading import Lock
from typing import Any, Final, NamedTuple

from wengert.arrays import Value, all_quiet, give_back, is_array, quietly
from wengert.arrays.abstract import Aval
from wengert.arrays.changes import Change, carry_out
from wengert.arrays.ownership import is_turned
from wengert.arrays.stacked import rows_of
from wengert.control import Run
from wengert.control.running import AT_ONCE
from wengert.errors import DeviceError, NonFiniteError
from wengert.graph.binding import Refs
from wengert.graph.kinds import Column
from wengert.graph.node import Expression, Node
from wengert.graph.store import STORE, Arena, Ref, targets
from wengert.graph.weights import Buffer, Weight, by_settings, told
from wengert.program.program import Program
from wengert.program.siblings import Stacked, Weights, stacked
from wengert.run.commit import Interrupted, commit, settle
from wengert.run.compiled.binder import Binder
from wengert.run.compiled.cache import Item
from wengert.run.compiled.lowered import LoweredLoss, Updating
from wengert.run.compiled.program import FusingProgram, PlanProgram, not_made
from wengert.run.compiled.steps import steps as programs_of_steps
from wengert.run.tapes import each_handed_over, handed_over

_data_of: Final = attrgetter("data")
_MAKING: Final = 1 << 20  # bytes of equations and text, as long as it is being made; it is done in some runs


class Plan(Item):
    """The program of one structure, for every expression that has it."""

    def __init__(
        self,
        lowering: Generator[None, None, LoweredLoss],
        bind: Callable[[Sequence[Weight], Sequence[Weight]], Binder],
        program: Callable[[Program], PlanProgram] = PlanProgram,
        stacking: bool = True,
        at_once: bool = True,
        of: str = "a structure",
        steps: bool = True,
    ) -> None:
        self._of = of
        self._stepping = steps  # whether its deltas are for optimizers
        self.step = programs_of_steps(program is FusingProgram).stepped  # where it does not make those itself
        self.updating = False  # whether it makes the steps of optimizers, too
        self.early = False  # made of a weight's first step, so of no later run
        self.also = 0  # values that a training gives with that of the root
        self.failed = False  # there is no program of the structure, or it failed in its first run
        self.worked = False  # in some run
        self.places: list[int] = []  # of the weights that have deltas, among all
        self.arrays: list[int] = []  # of those that are changed in place
        self.numbers: list[int] = []
        self.names: list[dict[str, Aval]] = []  # of the states of their optimizers, and what they are
        self.named: list[tuple[int, str]] = []  # weights whose steps ask for their names, and these
        # numbers that commits change, of a weight of each settings object
        self.told: list[tuple[int, tuple[str, ...]]] = []
        self.telling: list[list[int]] = []  # weights whose optimizers are told of a commit, by settings
        self.homes: list[Home] = []  # of weights that live together
        self.whole: list[Home] = []  # of those that are changed together, too
        self._turn = Lock()
        self._steps: Iterator[None] | None = self._made(lowering, bind, program, stacking)
        while at_once and self.advance():
            pass

    def _made(
        self,
        lowering: Generator[None, None, LoweredLoss],
        bind: Callable[[Sequence[Weight], Sequence[Weight]], Binder],
        make: Callable[[Program], PlanProgram],
        stacking: bool,
    ) -> Iterator[None]:
        """The making; each step takes at most about ten times as long as a run by the interpreter."""
        low = yield from lowering
        yield
        updating = self._updated(low)
        self.also = len(low.also)
        stepped = list(low.deltas) if self.updating else []  # the weights whose steps it makes
        before = [(type(w.optimizer), w.settings) for w in stepped]
        program = low.program(updating)
        yield
        if stacking:
            weights = Weights([low.data[w].var for w in low.weights], self.arrays if self.updating else ())
            made = stacked(program, weights, low.kinds(), low.present)
            program = program if made is None else self._stacked(made)
            yield
        if make is PlanProgram or make is FusingProgram:
            self.program = yield from make.in_steps(program)
        else:
            self.program = make(program)
        yield
        self.bind = bind(stepped, [low.weights[i] for i, _ in self.named])
        if before != [(type(w.optimizer), w.settings) for w in stepped]:
            self.early = True  # they were others when their steps were written down

    def _updated(self, low: LoweredLoss) -> Updating | None:
        """The updates as part of the program, and the weights that they change."""
        trained, place = list(low.deltas), {w: i for i, w in enumerate(low.weights)}
        self.places = [place[w] for w in trained]
        self.arrays = [place[w] for w in trained if w.kind.column is Column.ARRAY]
        self.numbers = [place[w] for w in trained if w.kind.column is not Column.ARRAY]
        with all_quiet():
            updating = low.updates() if trained and low.asked is None and self._stepping else None
        self.updating = updating is not None
        self.early = low.first_step
        self.names = [] if updating is None else updating.names
        self.named = [] if updating is None else [(place[w], w.name) for w in dict.fromkeys(updating.named)]
        self.told = [] if updating is None else [(place[w], names) for w, names in updating.told]
        self.states = any(self.names)
        telling = [x for x in trained if self.updating and x.optimizer.tells and not isinstance(x, Buffer)]
        self.telling = [[place[x] for x in group] for group in by_settings(telling)]
        self.in_place = self.updating and not self.numbers and not self.states  # if nobody else sees that
        return updating

    def _stacked(self, made: Stacked) -> Program:
        """The program, branches as one, and the weights that live together for it."""
        self.homes = [Home(places) for places in made.arenas]
        self.whole = [self.homes[i] for i in made.changed]
        if self.updating:
            self.arrays = [self.arrays[i] for i in made.kept]
        return made.program

    def advance(self) -> bool:
        """Make one step more of the plan, unless another thread is at it; False where there is none left."""
        if self._steps is None:
            return False
        if self._turn.acquire(blocking=False):
            try:
                next(self._steps)
            except StopIteration:
                self._steps = None
                give_back()  # what equations and text took
                return False
            except DeviceError:  # no compiler, or no driver that fits: whoever wants less speed says so
                self._steps, self.failed = None, True
                raise
            except Exception as failure:  # nothing is lost: the interpreter goes on
                self._steps, self.failed = None, True
                not_made(self._of, failure)
                return False
            except BaseException:  # a signal, which ends the steps in the middle: there will be no program
                self._steps, self.failed = None, True
                raise
            finally:
                self._turn.release()
        return True

    @property
    def ready(self) -> bool:
        """True if it has been made."""
        return self._steps is None

    @property
    def usable(self) -> bool:
        """True if it has a program for later runs."""
        return self._steps is None and not self.failed

    def size(self) -> int:
        if not self.ready:
            return _MAKING
        return 0 if self.failed else self.program.size()

    def let_go(self) -> None:
        if self.usable:
            self.program.forget()

    def fail(self) -> str:
        """Note that the program has failed in a run: one that never worked is not used again, and gives its name."""
        if self.worked:
            return ""
        self.failed = self.gone = True
        self.program.forget()
        return self._of

    def bound(self, root: Node) -> Bound | None:
        """The plan with the weights and literals of `root`; None where it does not fit, or has not been made."""
        if self._steps is not None or self.failed:  # a property would take longer to say so
            return None
        found = self.bind(root)
        return None if found is None else Bound(self, *found)

    def with_leaves(self, weights: Sequence[Weight], literals: Sequence[Any]) -> Bound:  # Any: of every type
        """The plan of what reads these weights and literals."""
        return Bound(self, tuple(weights), [w.ref for w in weights], tuple(literals), ())


@dataclass(slots=True, eq=False)
class Bound:
    """A plan for one expression."""

    plan: Plan
    weights: tuple[Weight, ...]
    cells: Sequence[Ref]
    literals: tuple[Any, ...]  # Any: of every type
    targets: tuple[Expression, ...]

    def at(self, refs: Refs, snapshot: int) -> Bound:
        """This plan where some weights have other data; where cells may move, all of its cells are its own.

        It is made for data in C order, as those of weights are: Interrupted for others.
        """
        if any(
            is_array(x) and not x.flags.c_contiguous and is_turned(x) for x in map(_data_of, refs.values())
        ):
            raise Interrupted
        if self.plan.homes:
            cells = [refs.get(w) or Ref(w.ref.at(snapshot)) for w in self.weights]
        else:
            cells = [refs.get(w, w.ref) for w in self.weights]
        return replace(self, cells=cells)

    def predict(self, root: Expression, snapshot: int) -> Value:
        """The data of the expression."""
        data, (value,) = self._outputs(snapshot)
        for x in data:
            if x is value:  # the expression is a weight's data
                return handed_over(value, root.kind, (id(x),))
        return handed_over(value, root.kind, ())

    def gradients(self, snapshot: int) -> tuple[Value, ...]:
        """The delta of each target, each an object of its own."""
        data, deltas = self._outputs(snapshot)
        return tuple(each_handed_over(deltas, self.targets, _identities(data)))

    def _outputs(self, snapshot: int) -> tuple[list[Value], tuple[Value, ...]]:
        """The data of all weights, and the outputs of a program that changes nothing."""
        plan = self.plan
        program = plan.program = plan.program.latest()
        data = STORE.read(self.cells, snapshot)
        inputs = (*data, *self.literals)
        if plan.homes:
            inputs = (*inputs, *[home.data(self.cells, data, snapshot) for home in plan.homes])
        try:
            outputs = program.outputs(inputs)
        except Interrupted as stop:
            stop.of = plan.fail()
            raise
        plan.worked = True
        return data, outputs

    def trained(self, root: Expression, run: Run, snapshot: int) -> tuple[Value, Callable[[], Value]]:
        """The loss, to look at, and what makes the changes of weights and gives the loss."""
        return self._update(root, run, snapshot) if self.plan.updating else self._send(root, run, snapshot)

    def _send(self, root: Expression, run: Run, snapshot: int) -> tuple[Value, Callable[[], Value]]:
        """Forward and backward; the optimizers are asked in the usual commit."""
        value, also, deltas, read = self._sent(root, snapshot)

        def change() -> Value:
            settle(run, value)
            commit(deltas, snapshot, value, _interrupt, self.plan.step)
            return self._answer(root, value, also, read)

        return value, change

    def sent(self, root: Expression, snapshot: int) -> tuple[Value, dict[Expression, Value]]:
        """The value, and the deltas of weights, in the order in which they arrived; nothing changes."""
        value, _, deltas, _ = self._sent(root, snapshot)
        return value, deltas

    def _sent(
        self, root: Expression, snapshot: int
    ) -> tuple[Value, Sequence[Value], dict[Expression, Value], Container[int]]:
        data, (value, *deltas) = self._outputs(snapshot)
        also, deltas = deltas[: self.plan.also], deltas[self.plan.also :]
        read = _identities(data)
        trained: list[Expression] = [self.weights[i] for i in self.plan.places]
        return handed_over(value, root.kind, read), also, dict(zip(trained, deltas, strict=True)), read

    def _answer(self, root: Expression, value: Value, also: Sequence[Value], read: Container[int]) -> Value:
        """The loss; with others beside it a tuple, in which each array is an object of its own."""
        if not also:
            return value
        if len(also) == 1 and also[0] is not value:  # what nearly all ask for
            return value, handed_over(also[0], self.targets[0].kind, read)
        return tuple(each_handed_over((value, *also), (root, *self.targets), read))

    def _update(self, root: Expression, run: Run, snapshot: int) -> tuple[Value, Callable[[], Value]]:
        """Forward, backward, steps and changes in one program."""
        value, keep = self.computed(run, snapshot)

        def change() -> Value:
            settle(run, value)
            return self._given(root, keep())

        return value, change

    def at_once(self, root: Expression, snapshot: int) -> Value:
        """As `trained` and its changes, of a run that nobody cancels and whose loss nobody refuses."""
        if not self.plan.updating:
            return self._send(root, AT_ONCE, snapshot)[1]()
        return self._given(root, self._told(quietly(self._done, snapshot)))

    def _given(self, root: Expression, made: Sequence[Value]) -> Value:
        """The loss, and what is wanted with it: their memory is no weight's, see `apart`."""
        value = handed_over(made[0], root.kind, ())
        return self._answer(root, value, made[1:], ()) if self.plan.also else value

    def computed(self, run: Run, snapshot: int) -> tuple[Value, Callable[[], Sequence[Value]]]:
        """The loss, and a function that makes the changes of weights and gives the loss again.

        That raises Interrupted if weights have changed in between: what was computed belongs to their older data.
        """
        begun = quietly(self._begun, run, snapshot)
        return begun.value, lambda: self._told(quietly(self._change, begun))

    def _done(self, snapshot: int) -> Sequence[Value]:
        return self._change(self._begun(AT_ONCE, snapshot))

    def _begun(self, run: Run, snapshot: int) -> Begun:
        """All but the changes."""
        plan = self.plan
        version, moved = STORE.version, STORE.moved
        states, late = self._states() if plan.states or plan.told else ((), ())
        data = STORE.read(self.cells, snapshot)
        inputs = (*data, *self.literals, *states)
        if plan.homes:
            inputs = (*inputs, *[home.data(self.cells, data, snapshot) for home in plan.homes])
        program = plan.program = plan.program.latest()
        try:
            frame = program.take()
            try:
                changing = program.run(inputs, frame)
                value = next(changing)
            except BaseException:
                program.give(frame, whole=False)
                raise
        except DeviceError:  # no memory: the interpreter would need more
            raise
        except NonFiniteError as refusal:  # the interpreter will say whose it is
            raise Interrupted from refusal
        except Exception as failure:
            if run.cancelled:
                raise
            stop = Interrupted()
            stop.of = plan.fail()
            raise stop from failure
        plan.worked = True
        return Begun(value, changing, program, frame, snapshot, version, moved, late)

    def _change(self, begun: Begun) -> Sequence[Value]:
        _, changing, program, frame, snapshot, version, moved, late = begun
        plan, cells = self.plan, self.cells
        changed = [cells[i] for i in plan.arrays]
        seen = 1 + plan.also
        with STORE.lock:
            if STORE.version != version:
                changing.close()
                program.give(frame, whole=False)
                raise Interrupted
            try:
                STORE.changing = True
                found = self._in_place(changed, moved) if plan.in_place else None
                if found is not None:
                    made, changes = _sent(changing, found)
                    last = STORE.changed(changed)
                else:
                    others = STORE.others(snapshot)
                    own = targets(changed, others)
                    whole = [home.target(cells, not others, moved) for home in plan.whole]
                    made, changes = _sent(changing, [*own, *[arena.data for arena in whole]])
                    last = self._kept([*zip(changed, own, strict=True)], others, [*made[seen:]], whole)
                program.carry_out(frame, changes, [*last, *late])
            finally:
                STORE.changing = False
        program.give(frame)
        return made[:seen]

    def _told(self, made: Sequence[Value]) -> Sequence[Value]:
        """The results of a run, of whose commit optimizers are told first."""
        if self.plan.telling:
            told([[self.weights[i] for i in group] for group in self.plan.telling])
        return made

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

    def _states(self) -> tuple[list[Value], list[Change]]:
        """Numbers that commits change, and states that the optimizers' steps so far have left; other numbers to be."""
        found: list[Value] = []
        late: list[Change] = []
        for place, names in self.plan.told:
            optimizer = self.weights[place].optimizer
            try:
                numbers = optimizer.inputs()
                late += optimizer._late_changes(alone=False)
            except Exception as failure:  # of a user's schedule: the interpreter will say whose it is
                raise Interrupted from failure
            found += [numbers[name] for name in names]
        for place, forms in zip(self.plan.places, self.plan.names, strict=True):
            state = vars(self.weights[place].optimizer)
            for name, form in forms.items():
                x = state.get(name)
                if not _is_of(x, form):
                    raise Interrupted  # the weight's first step makes the state, or somebody has set another one
                found.append(x)
        return found, late

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
            data += [(cells[i], made[at]) for at, i in enumerate(plan.numbers)]  # states follow them
        for home, arena in zip(plan.whole, whole):  # noqa: B905 # as many, and seldom any
            data += home.beside(cells, arena)
        found = STORE.replaced(data, others)
        for home, arena in zip(plan.whole, whole):  # noqa: B905 # as above
            found += home.kept(cells, arena, not others)
        if plan.states:
            states = iter(made[len(plan.numbers) :])
            for place, names in zip(plan.places, plan.names, strict=True):
                weight = self.weights[place]
                optimizer = weight.optimizer.staged()
                vars(optimizer).update(zip(names, states))  # noqa: B905 # as many of the states as there are names
                found.append((setattr, weight, "optimizer", optimizer))
        return found


def _is_of(x: Value, form: Aval) -> bool:
    """False of a state which a loop that changes a weight could refuse, when other weights have changed already."""
    if type(x) is float or type(x) is int:
        return True
    return form.form != "number" and getattr(x, "shape", None) == form.shape and bool(x.dtype == form.dtype)


class Begun(NamedTuple):
    """A run of a program which has its loss and waits for its targets."""

    value: Value
    changing: Generator[Value, list[Value], Changed]
    program: PlanProgram
    frame: tuple[Value, ...]
    snapshot: int
    version: int  # of the store, and how often weights had moved, before data were read
    moved: int
    late: Sequence[Change]  # of optimizers


def _identities(data: Iterable[Value]) -> set[int]:
    """The identities of weights' data: a result may be one of these, and is copied then."""
    return {*map(id, data)}


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


# -- weights that live side by side: their data are the rows of one array, so a stacked call copies nothing -------


class Home:
    """Arena in which a plan wants some weights to live; it tells them by their places among all of its weights."""

    def __init__(self, places: tuple[int, ...]) -> None:
        self._of = itemgetter(*places)
        self._first = places[0]

    def arena(self, cells: Sequence[Ref]) -> Arena | None:
        """The array in which the first of them lives."""
        return cells[self._first].arena

    def data(self, cells: Sequence[Ref], data: Sequence[Value], snapshot: int) -> Value:
        """The data of a snapshot as one array, in which they live from now on if they are the present ones."""
        arena = self.arena(cells)
        if arena is not None and _holds(arena, self._of(data)):
            return arena.data
        with STORE.lock:
            mine: tuple[Ref, ...] = self._of(cells)
            made = rows_of([cell.at(snapshot) for cell in mine])
            if all(cell.version <= snapshot for cell in mine):
                carry_out([*_moved(mine, Arena(made)), (setattr, STORE, "moved", STORE.moved + 1)])
            else:
                STORE.moved += 1  # they live where they may: `target` has to look
        return made

    def target(self, cells: Sequence[Ref], alone: bool, moved: int) -> Arena:
        """An arena with the data to be changed in place: their own where nobody else sees them.

        `moved` is what `Store.moved` was before the data were read; the store's lock is held.
        """
        arena = self.arena(cells) if alone else None
        if arena is not None and STORE.moved == moved:
            return arena
        present = [cell.data for cell in self._of(cells)]
        return arena if arena is not None and _holds(arena, present) else Arena(rows_of(present))

    def beside(self, cells: Sequence[Ref], arena: Arena) -> list[tuple[Ref, Value]]:
        """The new data of each weight, where the target is not their own array."""
        if self.arena(cells) is arena:
            return []
        return list(zip(self._of(cells), arena.rows, strict=True))

    def kept(self, cells: Sequence[Ref], arena: Arena, alone: bool) -> list[Change]:
        """Changes that make the target the array where they live, after its change; the store's lock is held.

        What was changed in place has no new version: nobody has a snapshot from before.
        """
        if self.arena(cells) is not arena:
            return _moved(self._of(cells), arena)
        if not (arena.fresh and alone):
            return []
        return [
            (setattr, arena, "fresh", False),
            *((setattr, cell, "history", []) for cell in self._of(cells)),
        ]


def _holds(arena: Arena, data: Sequence[Value]) -> bool:
    """True if the data are the rows of the arena, all and in this order."""
    return len(arena.rows) == len(data) and all(map(is_, data, arena.rows))


def _moved(cells: Sequence[Ref], arena: Arena) -> list[Change]:
    """Changes that make the rows of an arena the data of weights; whoever sees the old buffers: they change no more."""
    found: list[Change] = []
    for cell, row in zip(cells, arena.rows, strict=True):
        found += (
            (setattr, cell, "data", row),
            (setattr, cell, "arena", arena),
            (setattr, cell, "exposed", False),
        )
    return found


# outputs, and what `Program.carry_out` takes; Any: each kind has its own
Changed = tuple[tuple[Value, ...], Any]
