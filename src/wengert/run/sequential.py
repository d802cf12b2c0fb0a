"""The sequential interpreter: one thread, nodes in the order in which they were made. The definition.

Knows: what the questions of an executor mean in terms of one `Evaluation`, and when weights
are read and committed; that other executors are this interpreter with another `Engine`.
Refuses to know: how an evaluation computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from wengert.arrays import Namespace, Value
from wengert.control import Context, Do, Steps
from wengert.control.do import Remainder
from wengert.control.machine import Bell
from wengert.control.running import UNANSWERED, Unanswered
from wengert.differentiable import Tape
from wengert.errors import ArgumentError, raise_all
from wengert.graph.binding import At, Refs
from wengert.graph.node import Expression, Node
from wengert.graph.operand import lift_any
from wengert.graph.operation import EXTERNAL
from wengert.graph.order import below
from wengert.graph.products import Also, Rebuild, zero_of
from wengert.graph.store import STORE
from wengert.graph.watchers import WATCHERS, present
from wengert.graph.weights import Weight
from wengert.lazy import told
from wengert.run.commit import Doubts, Interrupted
from wengert.run.compiled.plans import WORTH, BackwardPrograms, Mode, Plans
from wengert.run.compiled.segment import CellLoops, Segments
from wengert.run.compiled.steps import steps
from wengert.run.evaluation import Evaluation, SegmentRuns
from wengert.run.gradient import Wanted
from wengert.run.loops import BROUGHT, ONE_THREAD, Changed, Changes, Loops, brought
from wengert.run.own import (
    OWN,
    Choice,
    Hold,
    explain,
    may_train,
    of_run,
    part_gradients,
    part_predicted,
    part_resolved,
    part_trained,
    private,
)
from wengert.run.shards import Shard, bordered, of_shard
from wengert.run.tapes import OwnTape, each_handed_over, given, handed_over, nowhere
from wengert.site import user_position

if TYPE_CHECKING:
    from wengert.run.compiled.plan import Bound

A = TypeVar("A")


class Engine(NamedTuple):
    """The parts of an executor: programs of expressions, of segments, and back through these; loops; evaluations.

    `evaluations` makes that of a question which is a whole run, and that of a run which is more.
    """

    plans: Plans | None = None
    segments: Segments | None = None
    loops: Loops = ONE_THREAD
    evaluations: Callable[[int, Loops], Evaluation] = Evaluation
    backward: BackwardPrograms | None = None

    def telling(self, x: Expression | None = None) -> Engine:
        """This engine; one without programs where settings below `x` bring rules, or somebody watches each node."""
        loops = self.loops if x is None else brought(self.loops, x)
        watched = bool(WATCHERS) and any(watcher.detailed for watcher in present())
        if loops is self.loops and not watched:
            return self
        return Engine(loops=loops, evaluations=partial(Evaluation, watched=watched))

    def begin(self, snapshot: int, goes_back: bool = True) -> Evaluation:
        """A new evaluation."""
        evaluation = self.evaluations(snapshot, self.loops)
        evaluation.segments = SegmentRuns(self.segments, goes_back)
        evaluation.goes_back = goes_back
        return evaluation

    def evaluation(
        self, context: Context, goes_back: bool = False, x: Expression | None = None
    ) -> Evaluation:
        """The evaluation that this part of the run belongs to; the run's own where there is none.

        `x`: what it will evaluate, which may bring rules.
        `goes_back`: one that keeps what deltas need, and that commits those of weights, which a prediction's does not.
        """
        around = context.environment
        if isinstance(around, Evaluation) and (around.trains or around.executor is not None or not goes_back):
            return around if x is None else around.following(brought(around.loops, x))
        own = context.run.local(OWN, partial(self._own, context))
        return own if x is None else own.following(brought(own.loops, x))

    def _own(self, context: Context) -> Evaluation:
        """That of a run of several questions; in order, where it is asked for below a bind of one."""
        telling = self.telling()
        in_order = telling is self and isinstance(context.environment, Evaluation)
        made = Evaluation if in_order else telling.evaluations
        return of_run(context.run, made, telling.loops, telling.segments)


class Interpreter:
    """The questions that an executor answers, by the parts of an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    # Any in the answers: an expression's Data is known to its own type, not here

    def forward(self, expression: object, context: Context, /) -> Steps[Tape[Any, Any]]:
        """The tape of an expression, alive until the run or the `nested` part around it ends."""
        x = lift_any(expression)
        evaluation = self.engine.evaluation(context, x=x)
        if evaluation.variables is not None:
            x = evaluation.variables(x)
        if x.kind.trainable:
            may_train(evaluation, context.run)
        yield from evaluation.evaluate(x, context)
        return (yield from self.tape(evaluation, x, context))

    def tape(self, evaluation: Evaluation, x: Expression, context: Context) -> Steps[Tape[Any, Any]]:
        """The tape of an expression whose value is there."""
        value = evaluation.values[x]
        if not x.kind.trainable:
            return OwnTape(given(value, x.kind, evaluation.buffers), nowhere, x)
        hold = Hold(evaluation, x)
        if context.environment is evaluation:
            evaluation.held.append(hold.release)  # below a bind: what arrives at that still has to get here
        else:
            yield Do.resource(lambda: hold)
        return OwnTape(given(value, x.kind, evaluation.buffers), hold.backward, x)

    def value(self, expression: object, context: Context, /) -> Steps[Any]:
        """The data of an expression in the present run: what `await` gives."""
        x = lift_any(expression)
        evaluation = self.engine.evaluation(context, x=x)
        value = yield from evaluation.evaluate(x, context)
        return given(value, x.kind, evaluation.buffers)

    def predict(self, expression: object, context: Context, /) -> Steps[Any]:
        """The data of an expression."""
        x, refs = _taken(expression)
        if context.whole or refs:
            return self._reading(_predict, x, context, refs)
        return part_predicted(self.engine.evaluation(context, x=x), x, context)

    def train(self, loss: object, context: Context, /) -> Steps[Any]:
        """The loss before the update; at the end of the run one commit for every weight that a delta reached."""
        if not isinstance(loss, Also):
            x = lift_any(loss)
            if context.whole:
                return STORE.training(partial(_train, x, (), context, self.engine.telling(x)))
            return part_trained(self.engine.evaluation(context, goes_back=True, x=x), x, context)
        return self._train_also(loss, context)

    def _train_also(self, asked: Also, context: Context) -> Steps[Any]:
        """The loss, and the values of a structure beside it."""
        if not context.whole or context.followed:
            evaluation = self.engine.evaluation(context, goes_back=True, x=asked.root)
            loss = yield from part_trained(evaluation, asked.root, context)
            values = []
            for x in asked.outputs:
                values.append((yield from part_predicted(evaluation, x, context)))
            return loss, asked.rebuild(values)
        plans = None if BROUGHT or WATCHERS else self.engine.plans
        kept = plans is not None and plans.keeps(asked.loss, "train", asked.outputs)
        root = asked.loss if kept else asked.root
        engine = self.engine.telling(root)
        found = yield from STORE.training(
            partial(_train, root, asked.outputs, context, engine, rebuild=asked.rebuild)
        )
        if plans is not None and not kept:
            plans.keep_like(asked.loss, asked.root)
        return found

    def gradients(self, loss: object, wrt: object, context: Context, /) -> Steps[Any]:
        """The deltas of the loss at each expression that is wanted, in their structure; no weight changes."""
        x, refs = _taken(loss)
        wanted = cast("Wanted", wrt)  # `gradients` has checked it; a weight is what it stores
        if context.whole or refs or not all(isinstance(target, Weight) for target in wanted.targets):
            return self._reading(partial(_gradients, wanted), x, context, refs)
        evaluation = self.engine.evaluation(context, goes_back=True, x=x)
        return part_gradients(evaluation, x, wanted, context)

    def resolved(self, expression: object, context: Context, /) -> Steps[Choice]:
        """The layers that functions below an expression have chosen in this run, in the places of their calls."""
        x, refs = _taken(expression)
        if refs:
            return self._reading(_resolved, x, context, refs)
        return part_resolved(self.engine.evaluation(context, goes_back=True, x=x), x, context)

    def ahead(self, expression: object, context: Context, bell: Bell, /) -> None:
        """Begin what an expression waits for, as the run waits for something else."""
        evaluation = self.engine.evaluation(context)
        x = asked_root(expression)
        if x is not None:
            evaluation.foresee(x, context, bell)

    def _reading(
        self, question: Callable[..., Steps[A]], x: Expression, context: Context, refs: Refs
    ) -> Steps[A]:
        """The steps of a question that has an evaluation of its own, on the snapshot of the run around it."""
        engine = self.engine.telling(x)
        if context.whole:
            return STORE.reading(partial(question, x, context, engine, refs))
        snapshot = self.engine.evaluation(context).snapshot
        return STORE.reading(lambda _: question(x, context, engine, refs, snapshot))

    def apply(self, deltas: object, context: Context, /) -> Steps[None]:
        """Add a dictionary of deltas to those that the end of the run commits."""
        evaluation = self.engine.evaluation(context, goes_back=True)
        may_train(evaluation, context.run)
        for weight, delta in cast("dict[Weight, Value]", deltas).items():
            evaluation.add(weight, delta)
        yield from ()

    def shards(self, losses: object, back: bool, context: Context, /) -> Steps[list[Shard]]:
        """Of each loss its value, and, if it goes `back`, the deltas of its weights as they are at a border.

        Each is an evaluation of its own, of the weights that the evaluation around it sees. All are tried, so that
        every failure is told.
        """
        around = self.engine.evaluation(context)
        found: list[Shard] = []
        failures: list[Exception] = []
        parts = cast("Sequence[Expression]", losses)  # as `Sharded` asks
        for i, loss in enumerate(parts):
            work = partial(
                _shard if back else _value_of, loss, context, self.engine.telling(loss), around.refs
            )
            try:
                found.append((yield from STORE.reading(partial(_at, around.snapshot, work))))
            except Exception as failure:
                failures.append(of_shard(failure, i, len(parts)))
        raise_all(failures)
        return found


class Sequential(Interpreter):
    """One thread, in order: what every other interpreter has to agree with.

    A structure that comes back often is run by a plan made of it, which gives the same. It is made after eight runs at
    the earliest, and when the time of all runs, and what plans have saved, pay for it; `compiled=False` leaves every
    run to the interpreter. Where a plan fails, nothing has changed: the interpreter runs the expression once more, to
    say where, so a rule of a user's that failed is called twice. Where the structure depends on values, its parts
    between binds have programs of their own; what a bind calls is called once, whatever fails.
    A plan runs branches that do the same to other values, such as the heads of a network, as one: a stacked call is
    taken where it gives the bits of the single ones, and by the count of calls it saves. The data of such weights
    live side by side in one array. `stacked=False` leaves each call to itself.
    Where the machine has a C compiler, equations of a plan that work element by element become loops of C with the same
    bits, in a thread beside, once runs would have saved 0.3 seconds by them; `native=False` leaves all to numpy.
    `rules` are other rules for operations in the runs of this executor: a value rule, or all of `extend.Rules`.
    `arrays` has the array functions for them: any object with those of `wengert.arrays.Namespace`, in place of
    numpy's. Both make a run go node by node.
    >>> from wengert import lift, relu, run
    >>> (lift(2.0) * 3.0).predict().run(run.Sequential(compiled=False))
    6.0
    >>> relu(lift(-2.0)).predict().run(run.Sequential(rules={relu: lambda case, x: abs(x)}))
    2.0
    """

    def __init__(
        self,
        compiled: bool = True,
        *,
        stacked: bool = True,
        native: bool = True,
        rules: Changes | None = None,
        arrays: Namespace | None = None,
    ) -> None:
        if rules is not None or arrays is not None:
            engine = Engine(loops=Changed(rules, arrays))
        elif compiled:
            plans = Plans(stacked=stacked, in_steps=True, native=native)
            loops = CellLoops()
            loops.step = steps(native).stepped
            engine = Engine(plans, Segments(WORTH), loops, backward=BackwardPrograms(WORTH))
        else:
            engine = Engine()
        super().__init__(engine)

    def at_once(self, method: str, asked: object, *others: object) -> Any:  # Any: the data of an expression
        """The answer of a question which has a plan and is a whole run; else an `Unanswered`: see `answered`."""
        plans = self.engine.plans
        if plans is None or BROUGHT or WATCHERS:
            return UNANSWERED
        if method == "train":
            return self._trained(plans, asked)
        if method not in ("predict", "gradients"):
            return UNANSWERED
        at = asked if asked.__class__ is At else None
        x = asked if at is None else at.asked
        if not isinstance(x, Node):
            return UNANSWERED
        wanted = cast("Wanted", others[0]) if method == "gradients" else None
        bound = plans.find(x, "predict") if wanted is None else plans.find(x, "gradients", wanted.targets)
        if bound is None:
            return UNANSWERED
        reader = object()
        try:
            snapshot = STORE.begin(reader)
            if at is not None and at.refs:
                bound = _remembered(bound, x, at, snapshot)
            return bound.predict(x, snapshot) if wanted is None else wanted.rebuild(bound.gradients(snapshot))
        except Interrupted:  # the interpreter says where
            return Unanswered(Interpreter(self.engine._replace(plans=None)))
        finally:
            STORE.end(reader)

    def _trained(self, plans: Plans, asked: object) -> Any:  # Any: as above
        """The answer to a training whose plan has worked before; else an `Unanswered`."""
        if isinstance(asked, Also):
            loss, also, rebuild = asked.loss, asked.outputs, asked.rebuild
            bound = plans.find(loss, "train", also) if plans.keeps(loss, "train", also) else None
        elif isinstance(asked, Node):
            loss, rebuild = asked, None
            bound = plans.find(loss, "train")
        else:
            return UNANSWERED
        if bound is None or not bound.plan.worked:  # that one fails in its first run has to be said
            return UNANSWERED
        try:
            found = STORE.at_once(partial(bound.at_once, loss))
            return found if rebuild is None else _together(found, rebuild)
        except Interrupted:  # nothing has changed, and the interpreter says where
            return Unanswered(Interpreter(self.engine._replace(plans=None)))


def asked_root(asked: object) -> Expression | None:
    """The expression that a question reads in the run around it; None where it has other data, or none at all."""
    if isinstance(asked, Also):
        return asked.root
    return None if isinstance(asked, (At, dict)) else lift_any(asked)


def _taken(asked: object) -> tuple[Expression, Refs]:
    """The expression of a question, and other data of weights."""
    if isinstance(asked, At):
        return lift_any(asked.asked), asked.refs
    return lift_any(asked), {}


def _with(bound: Bound, x: Expression, refs: Refs, snapshot: int) -> Bound:
    """A plan where some weights have other data, if there are any."""
    if not refs:
        return bound
    _check_read(x, refs, bound.weights)
    return bound.at(refs, snapshot)


def _remembered(bound: Bound, x: Expression, at: At, snapshot: int) -> Bound:
    """As `_with`, and once for all runs of a question, where the data lie in cells of their own."""
    kept = at.bound
    if kept is not None and kept[0] is bound:
        found: Bound = kept[1]
        return found
    found = _with(bound, x, at.refs, snapshot)
    if not found.plan.homes:  # else the cells are those of this snapshot
        at.bound = bound, found
    return found


def _check_read(x: Expression, refs: Refs, read: Iterable[Expression]) -> None:
    known = {*read}
    unread = [w for w in refs if w not in known]  # the first of them, whatever their hashes are
    if unread:
        raise ArgumentError(
            f"{unread[0]!r} has data in `at`, and is not below {x!r}, which does not depend on it\n"
            f"  at {user_position()}"
        )


def _whole(
    mode: Mode,
    x: Expression,
    targets: Sequence[Expression],
    engine: Engine,
    refs: Refs,
    snapshot: int,
    planned: Callable[[Bound], Steps[A]],
    computed: Callable[[Evaluation, list[Node]], Steps[A]],
) -> Steps[A]:
    """The answer to a question that is a run of its own: `planned` where it has a plan that works, else `computed`."""
    plans, doubts = engine.plans, Doubts()
    bound = None if plans is None else plans.find(x, mode, targets)
    if bound is not None:
        with doubts:
            return (yield from planned(bound))
    with engine.begin(snapshot, goes_back=mode != "predict") as evaluation:
        evaluation.doubts, evaluation.refs, evaluation.trains = doubts, refs, mode == "train"
        nodes = evaluation.begin(x)
        if (
            plans is not None
            and bound is None
            and nodes
            # deltas of others than what is below it have no plan
            and (mode != "gradients" or {*nodes, *evaluation.values}.issuperset(targets))
        ):
            bound = plans.answer(evaluation, nodes, mode, targets)
            if bound is not None:
                with doubts:
                    return (yield from planned(bound))
        return (yield from computed(evaluation, nodes))


def _now(value: A) -> Steps[A]:
    yield from ()
    return value


def _predict(x: Expression, context: Context, engine: Engine, refs: Refs, snapshot: int) -> Steps[Any]:
    def planned(bound: Bound) -> Steps[Any]:
        return _now(_with(bound, x, refs, snapshot).predict(x, snapshot))

    def computed(evaluation: Evaluation, nodes: list[Node]) -> Steps[Any]:
        yield from evaluation.evaluate(x, context, nodes)
        evaluation.doubts.tell()
        if refs and not evaluation.tapes:  # else another path may read them
            _check_read(x, refs, evaluation.values)
        return handed_over(evaluation.value(x), x.kind, evaluation.buffers)

    return _whole("predict", x, (), engine, refs, snapshot, planned, computed)


def _resolved(x: Expression, context: Context, engine: Engine, refs: Refs, snapshot: int) -> Steps[Choice]:
    with engine.begin(snapshot) as evaluation:
        evaluation.refs = refs
        return (yield from part_resolved(evaluation, x, context))


def _gradients(
    wanted: Wanted,
    loss: Expression,
    context: Context,
    engine: Engine,
    refs: Refs,
    snapshot: int,
) -> Steps[Any]:
    targets = wanted.targets

    def planned(bound: Bound) -> Steps[Any]:
        return _now(wanted.rebuild(_with(bound, loss, refs, snapshot).gradients(snapshot)))

    def computed(evaluation: Evaluation, nodes: list[Node]) -> Steps[Any]:
        evaluation.variables = wanted.variables
        evaluation.wanted = dict.fromkeys(t for t in targets if not isinstance(t, Weight))
        if evaluation.wanted:  # the deltas of single nodes
            evaluation.segments = SegmentRuns(None)
        yield Do.program(partial(_there_and_back, evaluation, loss, nodes, None)).nested()
        evaluation.doubts.tell()
        if refs and not evaluation.tapes:
            _check_read(loss, refs, evaluation.values)
        found: list[Any] = []  # Any: deltas of every type
        for target in targets:
            at = evaluation.wanted if target in evaluation.wanted else evaluation.deltas
            value = yield from evaluation.evaluate(target, context)
            delta = at.get(target)
            found.append(zero_of(value) if delta is None else told(delta))
        return wanted.rebuild(each_handed_over(found, targets, evaluation.buffers))

    return _whole("gradients", loss, targets, engine, refs, snapshot, planned, computed)


def _at(snapshot: int, work: Callable[[int], Steps[A]], _: int) -> Steps[A]:
    """The steps of `work` on the snapshot of the run around it, whatever a new one would be."""
    return work(snapshot)


def _value_of(x: Expression, context: Context, engine: Engine, refs: Refs, snapshot: int) -> Steps[Shard]:
    if refs:
        nodes, read = below(x, ())
        if not any(node.signature.mode == EXTERNAL for node in nodes):  # else another path may read them
            refs = {w: refs[w] for w in read if w in refs}
    return Shard((yield from _predict(x, context, engine, refs, snapshot)), {})


def _shard(loss: Expression, context: Context, engine: Engine, refs: Refs, snapshot: int) -> Steps[Shard]:
    def planned(bound: Bound) -> Steps[Shard]:
        return _now(bordered(*(bound.at(refs, snapshot) if refs else bound).sent(loss, snapshot)))

    def computed(evaluation: Evaluation, nodes: list[Node]) -> Steps[Shard]:
        yield Do.program(partial(_there_and_back, evaluation, loss, nodes, None)).nested()
        evaluation.doubts.tell()
        value = handed_over(evaluation.values[loss], loss.kind, evaluation.buffers)
        return bordered(value, evaluation.deltas)

    return _whole("shard", loss, (), engine, refs, snapshot, planned, computed)


def _train(
    loss: Expression,
    also: tuple[Expression, ...],
    context: Context,
    engine: Engine,
    snapshot: int,
    rebuild: Rebuild | None = None,
) -> Steps[Any]:
    """The loss; with `also` a tuple of it and these values, which are put together by `rebuild`."""

    def planned(bound: Bound) -> Steps[Any]:
        value, change = bound.trained(loss, context.run, snapshot)
        if context.followed:
            yield _remainder(value, loss, context)
        return _together(change(), rebuild)

    def computed(evaluation: Evaluation, nodes: list[Node]) -> Steps[Any]:
        # a scope for what it opens, left before the commit
        yield Do.program(partial(_there_and_back, evaluation, loss, nodes, engine.backward)).nested()
        evaluation.doubts.tell()
        value = handed_over(evaluation.values[loss], loss.kind, evaluation.buffers)
        besides: list[Any] = []  # Any: data of every type
        for x in also:
            besides.append((yield from part_predicted(evaluation, x, context)))
        found = (value, *besides) if also else value
        if context.followed:
            yield _remainder(value, loss, context)
        try:
            context.run.settle(value)  # the last moment at which a run can stop with nothing changed
        except Exception as refusal:
            explain(evaluation, loss, refusal)
            raise
        if evaluation.update is not None:
            with evaluation.doubts:
                evaluation.update()
                return _together(found, rebuild)
            yield Do.program(evaluation.backward).nested()
        engine.loops.commit(evaluation.deltas, snapshot, value, partial(explain, evaluation, loss))
        return _together(found, rebuild)

    return _whole("train", loss, also, engine, {}, snapshot, planned, computed)


def _together(found: Any, rebuild: Rebuild | None) -> Any:  # Any: data of every type, and a structure of them
    if rebuild is None:
        return found
    loss, *values = found if type(found) is tuple else (found,)
    return loss, rebuild(values)


def _remainder(value: Value, loss: Expression, context: Context) -> Remainder:
    """The functions of the loss, run before weights change; once, should the interpreter have to train again."""
    context.followed = False
    return Remainder(private(value, loss))


def _there_and_back(
    evaluation: Evaluation,
    loss: Expression,
    nodes: list[Node],
    backward: BackwardPrograms | None,
    context: Context,
) -> Steps[None]:
    """Forward, and backward with seed 1; a program of that which makes all changes waits for them."""
    yield from evaluation.evaluate(loss, context, nodes)
    alone = not evaluation.deltas  # nobody has applied any besides
    evaluation.seed(loss)
    if backward is not None and alone and not evaluation.segments.in_parts:
        evaluation.update = backward.back(evaluation, loss, context.run)
    if evaluation.update is None:
        yield from evaluation.backward(context)
