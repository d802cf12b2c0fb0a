"""What an executor makes of programs in a history of acts: predictions, trainings, gradients, failures, interrupts.

Knows: that a history is a text, one letter an act; that what fails changes nothing, whoever runs it.
Refuses to know: what the results ought to be, and which executors there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

import wengert as wg
from tests.executors.table import ONCE, PROGRAMS, Layer, Step, Weights, loss_of, outputs_of
from tests.optimizers import WithAdagrad, WithAdam, WithMomentum
from tests.run.counting import Boom, Counted, state_of
from wengert.extend import Optimizer, dense
from wengert.plugins import SGD, AdamW, FailOnNonFinite, LearningRate, Plugin


class Told(NamedTuple):
    """What one act gave: the type of what it raised and its text, or numbers and arrays."""

    act: str
    raised: str
    values: tuple[Any, ...]  # Any: arrays of every shape


class Stepping(Optimizer["Broken"]):
    """Somebody else's optimizer, which keeps what it is given, and fails when it is told to."""

    seen: tuple[Any, ...] = ()  # Any: deltas of every kind
    fails: ClassVar[bool] = False

    def step(self, delta: Any, weight: Any) -> Any:  # Any: data of every kind
        if self.fails:
            raise Boom("the update")
        self.seen = (*self.seen[-1:], dense(delta))
        return super().step(0.5 * self.seen[0] + 0.5 * self.seen[-1], weight)


class Broken(Plugin):
    optimizer: ClassVar[type[Optimizer]] = Stepping


class WithBroken(Broken, LearningRate): ...


class Guarded(FailOnNonFinite, AdamW, LearningRate): ...


OPTIMIZERS: Final[dict[str, Callable[[], Any]]] = {  # Any: settings take different keywords
    "SGD": lambda: SGD(learning_rate=0.1),
    "SGD of rate 1": lambda: SGD(learning_rate=1.0),
    "Momentum": lambda: WithMomentum(learning_rate=0.05),
    "Adam": lambda: WithAdam(learning_rate=0.01),
    "Adagrad": lambda: WithAdagrad(learning_rate=0.1),
    "guarded": lambda: Guarded(learning_rate=0.01, weight_decay=0.1),
    "somebody's": lambda: WithBroken(learning_rate=0.05),
}
ACTS: Final = {
    "p": "predict the loss",
    "o": "predict all outputs",
    "t": "train",
    "g": "gradients by the weights and the outputs",
    "s": "train on the derivatives",
    "k": "the latest loss once more, as it is kept",
    "f": "fail on the way forward",
    "b": "fail on the way back",
    "u": "fail in the update, where the optimizer is somebody's or guards",
    "i": "an interrupt on the way forward",
    "j": "an interrupt on the way back",
}
FAILING: Final = "fbuij"


class History:
    """Some programs as one network, made anew, and one executor."""

    def __init__(
        self, names: Sequence[str], executor: Any, optimizer: str = "SGD", dtype: Any = np.float64
    ) -> None:  # Any: executors have no common type; either element type
        settings = OPTIMIZERS[optimizer]()
        self.executor, self.optimizer, self.dtype = executor, optimizer, dtype
        self.parts = [Weights(settings, dtype) for _ in names]
        self.graphs = [PROGRAMS[name](part) for name, part in zip(names, self.parts, strict=True)]
        self.weights: list[Layer] = [w for part in self.parts for w in part.made]
        self.twice = not ONCE.intersection(names)
        self.gate = Counted("gate")
        self.kept: Layer = None

    def outputs(self, step: Step, gated: bool) -> list[Layer]:
        found = [y for graph in self.graphs for y in outputs_of(graph(step))]
        return [self.gate.apply(found[0]), *found[1:]] if gated else found

    def told(self, acts: str, gated: bool = False) -> list[Told]:
        """What each act gives; `gated`: with an operation of a user's, which fails when it is told to."""
        return [self.act(act, number, gated) for number, act in enumerate(acts)]

    def act(self, act: str, number: int, gated: bool) -> Told:
        before = self.state()
        try:
            found = self.failing(act, number) if act in FAILING else self.asked(act, number, gated)
        except (Exception, KeyboardInterrupt) as error:
            assert self.state() == before, f"{act} changed something"
            return Told(act, type(error).__name__, (str(error),))
        return Told(act, "", tuple([np.array(x) for x in found]))

    def asked(self, act: str, number: int, gated: bool) -> Sequence[Any]:  # Any: data of every kind
        step = Step(number, self.dtype)
        outputs = self.outputs(step, gated)
        loss = loss_of(outputs, step)
        if act == "s" and self.twice and not gated:
            bent = loss_of([wg.square(y) for y in outputs if y.kind.trainable], step)
            loss = loss_of([wg.square(x) for x in wg.gradients(bent, self.weights).layers], step)
        elif act == "k" and self.kept is not None:
            loss = self.kept
        self.kept = loss
        if act == "o":
            found: Sequence[Any] = wg.predict(tuple(outputs)).run(self.executor)
            return found
        if act == "p":
            return [loss.predict().run(self.executor)]
        if act == "g":
            known = [y for y in outputs if y.kind.trainable]
            deltas: Sequence[Any] = wg.gradients(loss, [*self.weights, *known]).run(self.executor)
            return deltas
        return [loss.train().run(self.executor), *(w.data for w in self.weights)]

    def failing(self, act: str, number: int) -> Sequence[Any]:  # Any: as above
        """A training that fails somewhere."""
        failure: Callable[[], Any] = KeyboardInterrupt if act in "ij" else lambda: Boom(act)
        self.gate.forward_failure = failure if act in "fi" else None
        self.gate.backward_failure = failure if act in "bj" else None
        Stepping.fails = act == "u"
        step = Step(number, self.dtype, np.inf if act == "u" and self.optimizer == "guarded" else 1.0)
        try:
            loss = loss_of(self.outputs(step, True), step)
            return [loss.train().run(self.executor), *(w.data for w in self.weights)]
        finally:
            self.gate.forward_failure = self.gate.backward_failure = None
            Stepping.fails = False

    def state(self) -> list[Any]:  # Any: numbers of all kinds
        """What trainings change, where not a number is one."""
        return [repr(state_of(w)) for w in self.weights]


def bits(told: Told) -> tuple[Any, ...]:  # Any: texts and bytes
    """What has to be the same, bit for bit."""
    return (
        told.act,
        told.raised,
        [(x.dtype, x.shape, x.tobytes()) if isinstance(x, np.ndarray) else x for x in told.values],
    )


def same(found: Sequence[Told], wanted: Sequence[Told]) -> None:
    """The same bits, and the same failures with the same words."""
    for number, (x, y) in enumerate(zip(found, wanted, strict=True)):
        assert bits(x) == bits(y), f"act {number}: {x} is not {y}"


def near(found: Sequence[Told], wanted: Sequence[Told], exact: Sequence[Told] | None = None) -> None:
    """The same to rounding of the element type, and failures of the same type.

    Each step of a training that diverges multiplies what rounding left, so that its numbers agree in fewer digits. How
    many an act has lost tells how far it is from the `exact` one, in float64, if there is one.
    """
    for number, (x, y) in enumerate(zip(found, wanted, strict=True)):
        assert (x.act, x.raised, len(x.values)) == (y.act, y.raised, len(y.values))
        lost = 0.0 if exact is None else _distance(y, exact[number])
        for a, b in zip(x.values, y.values, strict=True) if not x.raised else ():
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            tolerance = 1e-4 if a.dtype == np.float32 else 1e-10
            grown = 100 if np.abs(b).max(initial=0) > 1e9 else 1
            np.testing.assert_allclose(a, b, rtol=grown * tolerance, atol=tolerance + 2.0 * lost)


def _distance(x: Told, y: Told) -> float:
    """The greatest difference between the numbers of two acts; 0 where one has raised, or has others."""
    if x.raised or y.raised or len(x.values) != len(y.values):
        return 0.0
    pairs = [(a, b) for a, b in zip(x.values, y.values, strict=True) if a.dtype.kind == "f"]
    with np.errstate(all="ignore"):
        apart = [np.abs(a - b).max(initial=0.0) for a, b in pairs]
    return float(max((d for d in apart if np.isfinite(d)), default=0.0))
