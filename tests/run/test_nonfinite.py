"""D68: what is not finite is refused, and the first operation that gave it is named."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, ClassVar

import numpy as np
import pytest

import wengert as wg
from tests.run.counting import unregistered
from wengert.control import Executor
from wengert.errors import NonFiniteError
from wengert.extend import Optimizer
from wengert.plugins import SGD, FailOnNonFinite
from wengert.run import Batched, Parallel, Sequential


class Settings(FailOnNonFinite, SGD): ...


settings = Settings(learning_rate=0.1)
w = settings.array_weight(np.array([1.0, 0.0], np.float64), name="w")
d = settings.double_weight(0.0, name="d")
broken = settings.double_weight(float("nan"), name="broken")


@wg.differentiable
async def below(x: wg.DoubleLayer) -> wg.DoubleLayer:
    await x
    return wg.log(x) + 1.0


@wg.differentiable
async def root(x: wg.DoubleLayer) -> wg.DoubleLayer:
    await x
    return wg.sqrt(x) + 1.0


@wg.run.cell
def inside(x: Any) -> Any:  # Any: a cell is traced once for each kind
    return wg.exp(x) / x


@wg.run.cell
def rooted(x: Any) -> Any:  # Any: as above
    return wg.sqrt(x) * 3.0


def beside_a_mask() -> Any:  # Any: as all losses here
    """The mask is made last, and gets no delta on the way back."""
    root = wg.sqrt(d)
    return wg.where(wg.less(d, 1.0), root, 0.0)


def forward() -> Any:
    return wg.sum(wg.exp(wg.log(w) * 2.0) / 0.0)


def unseen() -> Any:
    return wg.sum(wg.where(wg.greater(w, 0.5), w, wg.log(w))) * 0.0 + wg.log(d)


def masked() -> Any:
    return wg.sum(wg.where(wg.greater(w, 0.5), wg.log(w), 0.0)) + wg.log(d)


CASES: dict[str, tuple[Callable[[], Any], str]] = {  # Any: losses of every column
    "forward": (forward, "divide((2,) float64, () float64)"),
    "the loss itself": (lambda: d / 0.0, "divide(() float64, () float64) with weight 'd'"),
    "infinity that nobody sees": (unseen, "log((2,) float64) with weight 'w'"),
    "masked before it": (masked, "log(() float64) with weight 'd'"),
    "a weight": (lambda: broken * 2.0, "<DoubleWeight 'broken' () float64>"),
    "below a bind": (lambda: below(d * 1.0) * 2.0, "log(() float64)"),
    "backward below a bind": (lambda: root(d * 1.0) * 2.0, "backward of sqrt(() float64)"),
    "in a cell": (lambda: inside(d * 1.0), "inside(() float64)"),
    "backward in a cell": (lambda: rooted(d * 1.0), "backward of rooted(() float64)"),
    "backward beside a mask": (beside_a_mask, "backward of sqrt(() float64) with weight 'd'"),
    "backward": (lambda: wg.sqrt(d) * 3.0, "backward of sqrt(() float64) with weight 'd'"),
    "backward of several": (
        lambda: wg.sum(wg.sqrt(w) * 2.0) + wg.sum(wg.square(w)),
        "backward of sqrt((2,) float64) with weight 'w'",
    ),
}


EXECUTORS: dict[str, tuple[Executor, int]] = {
    "plans": (Sequential(), 10),  # the interpreter, the run that makes a plan, the plan
    "interpreter": (Sequential(compiled=False), 1),
    "two threads": (Parallel(threads=2), 10),
    "batched": (Batched(), 3),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", EXECUTORS)
def test_the_first_is_named(name: str, how: str) -> None:
    make, text = CASES[name]
    executor, runs = EXECUTORS[how]
    for _ in range(runs):
        with pytest.raises(NonFiniteError) as failure:
            make().train().run(executor)
        (note,) = (n for n in failure.value.__notes__ if n.startswith("first not finite"))
        what, _, place = note.removeprefix("first not finite: ").partition(", built at ")
        assert what == text
        assert place.startswith(__file__) or name == "a weight"
    assert (d.data, w.data.tolist()) == (0.0, [1.0, 0.0])


def test_other_refusals_have_no_such_note() -> None:
    class Refusing(Optimizer):
        def admit(self, loss: Any, delta: Any, weight: Any) -> None:
            raise ValueError("not today")

    class Refused(Settings):
        optimizer: ClassVar[type[Optimizer]] = Refusing

    x = Refused(learning_rate=0.1).double_weight(1.0)
    with pytest.raises(ValueError, match="not today") as failure:
        (x / 0.0).train().run()
    assert not any(note.startswith("first") for note in failure.value.__notes__)


def test_what_a_tape_of_ones_own_made_infinite_has_no_such_note() -> None:
    def endless(tape: wg.Tape[float, float]) -> wg.Tape[float, float]:
        return wg.Tape(tape.data, lambda delta: tape.backward(delta.map(lambda g: g * inf)))

    layer = wg.DoubleLayer(d.forward.map(endless))
    for executor in (Sequential(), Batched()):
        with pytest.raises(NonFiniteError) as failure:
            (layer * 2.0).train().run(executor)
        assert not any(note.startswith("first") for note in failure.value.__notes__)


@pytest.mark.parametrize("bind", [False, True], ids=["operation", "bind"])
def test_what_fails_when_it_is_asked_once_more_hides_no_refusal(bind: bool) -> None:
    """What ran in batches kept no values, so that they are computed again to find the first."""
    asked: list[float] = []

    def first(x: float) -> float:
        asked.append(x)
        if len(asked) > 1:
            raise ValueError("no more")
        return x

    @wg.differentiable
    async def waiting(x: wg.DoubleLayer) -> wg.DoubleLayer:
        first(await x)
        return x

    same = unregistered("same", lambda case, x: first(x), lambda case, g, y, x: g)
    with pytest.raises(NonFiniteError) as failure:
        wg.log(waiting(d * 1.0) if bind else same(d)).train().run(Batched())
    assert len(asked) == 2
    assert not any(note.startswith("first") for note in failure.value.__notes__)


def test_by_hand_a_refusal_says_which_weight() -> None:
    def send(tape: wg.Tape[float, float]) -> wg.Do[None]:
        return wg.Do.delay(lambda: tape.backward(wg.Do.now(inf)).run())

    with pytest.raises(NonFiniteError) as failure:
        (d * 1.0).forward.flat_map(send).run()
    assert any("in the update of <DoubleWeight 'd'" in note for note in failure.value.__notes__)
    assert d.data == 0.0


@pytest.mark.parametrize("how", EXECUTORS)
def test_the_delta_of_a_weight_of_other_settings_refuses_the_commit_too(how: str) -> None:
    executor, runs = EXECUTORS[how]
    mine = settings.double_weight(1.0, name="mine")
    others = SGD(learning_rate=0.1).double_weight(0.0, name="other")
    for _ in range(runs):
        with pytest.raises(NonFiniteError, match="the delta of <DoubleWeight 'other'") as failure:
            (mine + wg.sqrt(others)).train().run(executor)
        where, note = failure.value.__notes__
        assert where.startswith("in the update of <DoubleWeight 'mine'")
        assert note.startswith("first not finite: backward of sqrt(() float64) with weight 'other', built at")
    assert (mine.data, others.data) == (1.0, 0.0)
