"""From dual numbers to Wengert's list: why a tape looks as it does, in six small steps.

A *dual number* carries a value and its derivative forward. Turn the derivative into a function that is told
what became of the value, and it flows backward. Let that function do something, and a weight can learn. Let
it be told only if it asks, and what does not learn costs nothing. That is already `wengert.Tape`. One thing
is left: such functions follow every path from the loss to a weight. R. E. Wengert's list (1964) does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import wengert as wg
from wengert.extend import Case, elementwise
from wengert.plugins import SGD

# -- 1. Dual numbers: the derivative goes forward, with the value --------------------------------------------


class Dual(NamedTuple):
    """A value, and its derivative with respect to the one variable that somebody chose beforehand."""

    data: float
    delta: float


def dual_add(a: Dual, b: Dual) -> Dual:
    """(a + b)' = a' + b'."""
    return Dual(a.data + b.data, a.delta + b.delta)


def dual_multiply(a: Dual, b: Dual) -> Dual:
    """(a·b)' = a'·b + a·b'; with `Dual(3, 1)`, the variable, and `Dual(4, 0)`, a constant: `Dual(12, 4)`.

    >>> dual_multiply(Dual(3.0, 1.0), Dual(4.0, 0.0))
    Dual(data=12.0, delta=4.0)
    """
    return Dual(a.data * b.data, a.delta * b.data + a.data * b.delta)


# -- 2. Closures: the derivative is a function, and who asks decides the scale -------------------------------
#
# A million weights would need a million forward passes: one chosen variable each. So write the derivative
# as a function of what a change of *this* value is worth to the final one. All that a derivative has to be
# able to do is to be added, and to be scaled; a function can do both before anybody has called it.

Push = Callable[[float], float]


def pushes_add(f: Push, g: Push) -> Push:
    """(f + g)(x) = f(x) + g(x)."""
    return lambda x: f(x) + g(x)


def push_scaled(scale: float, f: Push) -> Push:
    """(s·f)(x) = f(s·x): the factor goes in, because what comes out need not be a number any more."""
    return lambda x: f(scale * x)


class Closure(NamedTuple):
    """A value, and what becomes of a derivative that arrives here."""

    data: float
    push: Push


def closure_add(a: Closure, b: Closure) -> Closure:
    """The arriving derivative goes to both."""
    return Closure(a.data + b.data, pushes_add(a.push, b.push))


def closure_multiply(a: Closure, b: Closure) -> Closure:
    """The arriving derivative goes to each, scaled by the other."""
    return Closure(a.data * b.data, pushes_add(push_scaled(b.data, a.push), push_scaled(a.data, b.push)))


# -- 3. Something to do: the result of a push is an effect ---------------------------------------------------
#
# The push of a weight could change the weight. Not now, in the middle of somebody's arithmetic, but when it
# is run: `UnitContinuation[None]` is such an effect. Two effects add: both happen.

Change = Callable[[float], wg.UnitContinuation[None]]


class Effect(NamedTuple):
    """A value, and what will be done about a derivative that arrives here."""

    data: float
    change: Change


def effect_multiply(a: Effect, b: Effect) -> Effect:
    """As `closure_multiply`, of effects."""
    return Effect(a.data * b.data, lambda x: a.change(b.data * x) + b.change(a.data * x))


class Learning:
    """A weight by hand: it learns from every derivative that reaches it, and counts them."""

    def __init__(self, data: float, rate: float = 0.01) -> None:
        self.data, self.rate, self.reached, self.total = data, rate, 0, 0.0

    def learn(self, delta: float) -> None:
        """One step."""
        self.reached += 1
        self.total += delta
        self.data -= self.rate * delta

    def effect(self) -> Effect:
        """This weight in step 3."""
        return Effect(self.data, lambda x: wg.UnitContinuation.delay(lambda: self.learn(x)))

    def tape(self) -> wg.Tape[float, float]:
        """This weight in steps 4 and 5: it runs the derivative, because it needs it."""
        return wg.Tape(self.data, lambda delta: wg.UnitContinuation.delay(lambda: self.learn(delta.run())))


# -- 4. Only on request: the derivative arrives as a `Do`, and a literal never runs it -----------------------
#
# Scaling a derivative can be the dearest part of a network. So it is not handed over but offered: as a `Do`,
# which computes nothing until it is run. A value with such a backward is what this library calls a tape.


def literal(data: float) -> wg.Tape[float, float]:
    """A constant has no use for a derivative: it does not look at the offer."""
    return wg.Tape(data, lambda delta: wg.UnitContinuation.now(None))


def tape_add(a: wg.Tape[float, float], b: wg.Tape[float, float]) -> wg.Tape[float, float]:
    """The offer goes to both."""
    return wg.Tape(a.data + b.data, lambda delta: a.backward(delta) + b.backward(delta))


def tape_multiply(
    a: wg.Tape[float, float], b: wg.Tape[float, float], asked: Counter[str] | None = None
) -> wg.Tape[float, float]:
    """The offer goes to each, to be scaled by the other if somebody takes it; `asked` counts who does."""

    def scaled(side: str, scale: float) -> Callable[[float], float]:
        def scale_it(delta: float) -> float:
            if asked is not None:
                asked[side] += 1
            return scale * delta

        return scale_it

    return wg.Tape(
        a.data * b.data,
        lambda delta: (
            a.backward(delta.map(scaled("left", b.data))) + b.backward(delta.map(scaled("right", a.data)))
        ),
    )


def backward(tape: wg.Tape[float, float]) -> None:
    """Tell the end of a network that a change of it by one is worth one."""
    tape.backward(wg.Do.now(1.0)).run()


# -- 5. and 6. Trees are fine; shared values are not; Wengert's list is --------------------------------------

N = TypeVar("N")


def fourth_power(w: N, multiply: Callable[[N, N], N]) -> N:
    """w⁴ as a square of a square: two values, each used twice, so four paths from the end to `w`."""
    square = multiply(w, w)
    return multiply(square, square)


REACHED: Counter[str] = Counter()


def _on_the_way_back(case: Case, g: Any, y: Any, x: Any) -> Any:  # Any: a rule serves every column
    REACHED["w"] += 1
    return g


@elementwise(_on_the_way_back)
def noticed(case: Case, x: Any) -> Any:  # Any: as above
    """x itself; counts the derivatives that come back through it."""
    return x


@dataclass(frozen=True)
class Arrivals:
    """How often a derivative reached the weight, what they came to together, and what the weight became."""

    times: int
    total: float
    data: float


def by_closures(start: float) -> Arrivals:
    """Step 5: every path is walked."""
    w = Learning(start)
    backward(fourth_power(w.tape(), tape_multiply))
    return Arrivals(w.reached, w.total, w.data)


def by_wengert(start: float) -> Arrivals:
    """Step 6: derivatives are summed where paths meet, last value first, and then go on once."""
    REACHED.clear()
    w = SGD(learning_rate=0.01).double_weight(start)
    loss = fourth_power(noticed(w), lambda a, b: a * b)
    (total,) = wg.gradients(loss, (w,)).run()
    REACHED.clear()
    loss.train().run()
    return Arrivals(REACHED["w"], total, w.data)


def tree(start: float) -> list[Learning]:
    """w1·w2 + w3·w4: no value is used twice, so closures, too, reach each weight once."""
    weights = [Learning(start) for _ in range(4)]
    a, b, c, d = (w.tape() for w in weights)
    backward(tape_add(tape_multiply(a, b), tape_multiply(c, d)))
    return weights


def main() -> tuple[Arrivals, Arrivals]:
    """Walk through the steps; returns how closures and Wengert's list reached the same weight."""
    print("1. dual numbers     ", dual_multiply(Dual(3.0, 1.0), Dual(4.0, 0.0)))
    variable, constant = Closure(3.0, lambda x: x), Closure(4.0, lambda x: 0.0)
    print("2. closures          derivative", closure_multiply(variable, constant).push(1.0))
    w = Learning(3.0)
    effect = effect_multiply(w.effect(), Effect(4.0, lambda x: wg.UnitContinuation.now(None))).change(1.0)
    print("3. effects           described, the weight is", w.data, end="; ")
    effect.run()
    print("run, it is", w.data)
    asked: Counter[str] = Counter()
    backward(tape_multiply(Learning(3.0).tape(), literal(4.0), asked))
    print("4. on request        derivatives run: weight", asked["left"], "literal", asked["right"])
    print("5. a tree            each weight reached", {w.reached for w in tree(3.0)}, "time")
    closures, wengert = by_closures(3.0), by_wengert(3.0)
    for title, found in ("   w⁴ by closures", closures), ("6. w⁴ by Wengert", wengert):
        print(f"{title:<20} derivatives that reach w: {found.times}, sum {found.total}; w is {found.data}")
    return closures, wengert


if __name__ == "__main__":
    main()
