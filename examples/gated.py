"""A gated network in five styles: how a network decides, with values it has computed, what to compute next.

A gate scores two sub-networks. The one with the higher score is used, scaled by its score; the other one is
not even computed. Four styles say this and train the same, bit for bit:

- naive: ask for the scores while building. Right, but the gate is computed again for each question.
- monadic: the scores one after the other, `flat_map` by `flat_map`.
- applicative, then monadic: both scores at once, then the decision.
- direct: `await` both scores, and a plain `if`.

The fifth mixes both sub-networks. It needs no decision and so no notation at all: whatever does not depend on
each other may overlap, on an interpreter that has threads to do it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg
from wengert.extend import Case, Elementwise, elementwise
from wengert.plugins import LearningRate, Momentum

Vector = wg.ArrayLayer[Any, np.float32]
Score = wg.ArrayLayer[tuple[()], np.float32]
Weight = wg.ArrayWeight[Any, np.float32]
Scores = wg.Tape[wg.Array[tuple[()], np.float32], wg.Array[tuple[()], np.float32]]
Style = Callable[["Gated", Vector], Vector]

CALLS: Counter[str] = Counter()


def counting(name: str) -> Elementwise:
    """An operation that changes nothing and counts how often it runs, to see what is computed."""

    def rule(case: Case, x: Any) -> Any:  # Any: a rule serves every column
        CALLS[name] += 1
        return x

    rule.__name__ = f"counting_{name}"
    return elementwise(lambda case, g, y, x: g)(rule)


in_input, in_gate, in_left, in_right = map(counting, ("input", "gate", "left", "right"))


class Settings(Momentum, LearningRate):
    """Momentum remembers: what did not take part must keep its memory too."""


class Gated:
    """The weights of a gate and of two sub-networks, 4 numbers in and 3 out."""

    def __init__(self, seed: int = 0) -> None:
        settings = Settings(learning_rate=0.005)
        chance = np.random.default_rng(seed)

        def weight(name: str, *shape: int) -> Weight:
            return settings.array_weight(0.5 * chance.standard_normal(shape, np.float32), name=name)

        self.gate, self.left_score, self.right_score = weight("gate", 4, 4), weight("l", 4), weight("r", 4)
        self.left, self.right = weight("left", 4, 3), weight("right", 4, 3)

    def scores(self, x: Vector) -> tuple[Score, Score]:
        """How fit each sub-network is for `x`."""
        seen = in_gate(wg.tanh(x @ self.gate))
        return seen @ self.left_score, seen @ self.right_score

    def left_subnet(self, x: Vector) -> Vector:
        """The left sub-network."""
        return in_left(wg.tanh(x @ self.left))

    def right_subnet(self, x: Vector) -> Vector:
        """The right sub-network."""
        return in_right(wg.tanh(x @ self.right))

    def weights(self) -> tuple[Weight, ...]:
        """All of them, the gate's first."""
        return self.gate, self.left_score, self.right_score, self.left, self.right


def naive_gated(net: Gated, x: Vector) -> Vector:
    """Predict while building: eager, and everything above the question is computed once more."""
    left, right = net.scores(x)
    if float(left.predict().run()) > float(right.predict().run()):
        return left * net.left_subnet(x)
    return right * net.right_subnet(x)


def number(tape: Scores) -> float:
    """The score on a tape."""
    return float(np.asarray(tape.data))


def monadic_gated(net: Gated, x: Vector) -> Vector:
    """The left score, then the right score, then the forward of what was chosen."""
    left, right = net.scores(x)

    def choose(l_tape: Scores, r_tape: Scores) -> Vector:
        if number(l_tape) > number(r_tape):
            return left * net.left_subnet(x)
        return right * net.right_subnet(x)

    return wg.ArrayLayer(
        left.forward.flat_map(
            lambda l_tape: right.forward.flat_map(lambda r_tape: choose(l_tape, r_tape).forward)
        )
    )


def applicative_gated(net: Gated, x: Vector) -> Vector:
    """Both scores, which need not wait for each other; then the forward of what was chosen."""
    left, right = net.scores(x)

    def choose(tapes: tuple[Scores, Scores]) -> Vector:
        if number(tapes[0]) > number(tapes[1]):
            return left * net.left_subnet(x)
        return right * net.right_subnet(x)

    return wg.ArrayLayer(wg.gather(left.forward, right.forward).flat_map(lambda tapes: choose(tapes).forward))


@wg.differentiable
async def direct_gated(net: Gated, x: Vector) -> Vector:
    """The same in ordinary words."""
    left, right = net.scores(x)
    left_score, right_score = await wg.gather(left, right)
    if left_score > right_score:
        return left * net.left_subnet(x)
    return right * net.right_subnet(x)


def parallel_by_default(net: Gated, x: Vector) -> Vector:
    """Both sub-networks, each as much as its score says: a·b + c·d, and nothing says what comes first."""
    left, right = net.scores(x)
    return left * net.left_subnet(x) + right * net.right_subnet(x)


STYLES: dict[str, Style] = {
    "naive": naive_gated,
    "monadic": monadic_gated,
    "applicative": applicative_gated,
    "direct": direct_gated,
}


def square_loss(answer: Vector, wanted: np.ndarray[Any, np.dtype[np.float32]]) -> wg.ArrayLayer[tuple[()]]:
    """The squared distance."""
    return wg.sum(wg.square(answer - wanted))


def train(style: Style, net: Gated, rounds: int = 20) -> list[float]:
    """Teach the network a function in two pieces; the loss of each step, before its update."""
    chance = np.random.default_rng(1)
    xs = chance.standard_normal((16, 4), np.float32)
    pieces = chance.standard_normal((2, 4, 3), np.float32)
    ys = np.stack([np.tanh(x @ pieces[int(x[0] > 0)]) for x in xs])
    losses = []
    for step in range(rounds * len(xs)):
        loss = square_loss(style(net, in_input(xs[step % len(xs)])), ys[step % len(ys)])
        losses.append(float(loss.train().run()))
    return losses


def main() -> dict[str, list[float]]:
    """Train one network in each style; returns the losses by style."""
    losses = {}
    for name, style in {**STYLES, "mixed": parallel_by_default}.items():
        CALLS.clear()
        losses[name] = train(style, Gated())
        ran = ", ".join(f"{part} {CALLS[part]}" for part in ("input", "gate", "left", "right"))
        before, after = np.mean(losses[name][:16]), np.mean(losses[name][-16:])
        print(f"{name:>11}: loss {before:.3f} -> {after:.3f}; times computed: {ran}")
    same = all(losses[name] == losses["direct"] for name in STYLES)
    print(f"the four that choose had {'the same' if same else 'DIFFERENT'} losses in all steps, bit for bit")
    return losses


if __name__ == "__main__":
    main()
