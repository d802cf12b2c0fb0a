"""Guess the next number: a robot without a plan learns to continue sequences (the paper's first example).

A network is a plain function from numbers to an expression. Weights stand in an ordinary list, `zip` and
`reduce` treat them as the numbers they will become, and a loss is one more function of the network's answer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

import wengert as wg
from wengert.plugins import SGD


class Question(NamedTuple):
    """Three numbers and the one that comes next."""

    numbers: Sequence[float]
    next_number: float


# The paper asks the first two, and 500 rounds of those leave the answer open: where 45 is right, one robot
# says 60 and another one 78, by the weights they started with. The third question settles it.
QUESTIONS = (
    Question((13.0, 19.0, 25.0), 31.0),
    Question((3.0, 4.0, 5.0), 6.0),
    Question((20.0, 20.0, 20.0), 20.0),
)
NEW = (42.0, 43.0, 44.0)


class Robot:
    """Three weights, random at first."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        settings = SGD(learning_rate=5e-4)
        self.weights = [settings.double_weight(chance.random()) for _ in range(3)]

    def guess(self, numbers: Sequence[float]) -> wg.DoubleLayer:
        """The robot's answer: an expression, which computes nothing until it is asked to."""
        return reduce(add, [number * weight for number, weight in zip(numbers, self.weights, strict=True)])


def square_loss(answer: wg.DoubleLayer, expected: float) -> wg.DoubleLayer:
    """How wrong an answer is."""
    difference = answer - expected
    return difference * difference


def linear_regression(robot: Robot, question: Question) -> wg.DoubleLayer:
    """The loss of one question; that functions compose is all there is to composing networks."""
    return square_loss(robot.guess(question.numbers), question.next_number)


def train(robot: Robot, rounds: int = 500) -> list[float]:
    """Ask every question `rounds` times; the losses of the last round, each before its update."""
    losses = [linear_regression(robot, question) for question in QUESTIONS]
    last = [0.0 for _ in losses]
    for _ in range(rounds):
        last = [loss.train().run() for loss in losses]
    return last


def main(seed: int = 0) -> float:
    """Predict, train, predict again; returns the last prediction."""
    robot = Robot(seed)
    before = robot.guess(NEW).predict().run()
    print(f"42, 43, 44, ... an untrained robot says {before:.1f}")
    losses = train(robot)
    print(f"after training no question costs more than {max(losses):.0e}")
    after = robot.guess(NEW).predict().run()
    print(f"42, 43, 44, ... a trained robot says {after:.1f}")
    return after


if __name__ == "__main__":
    main()
