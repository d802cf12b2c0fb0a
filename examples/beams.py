"""Beam search in blocks: hidden states of a chain, found from what they emit by a beam of paths: `wengert.fold`.

`python examples/beams.py` makes up a chain with hidden states, learns from examples which state follows which and what
each emits, and then finds the states of new sequences. A path that looks best may turn out wrong later, so that `width`
paths are kept: at each step `wg.top_k` chooses among all continuations, and the paths that it chose are taken along,
within one run. A beam of width 1 is greedy; as wide as there are states it can still lose to the exact search.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # ships no types

import wengert as wg
from wengert import fold as td
from wengert.plugins import Adam, LearningRate
from wengert.training import InferPlan, TrainPlan

STATES, SYMBOLS, LENGTH = 6, 6, 10
FAR = -1e4  # the score of a path that is none
Sequence = tuple[list[int], list[int]]  # what was emitted, and the states


class Settings(Adam, LearningRate):
    """A rate for each number."""


class Chain:
    """Scores of the next state by the last one, and of what each state emits."""

    def __init__(self) -> None:
        settings = Settings(learning_rate=0.05)
        follow, emit = np.zeros((STATES, STATES), np.float32), np.zeros((STATES, SYMBOLS), np.float32)
        self.follow = settings.array_weight(follow, name="follow")
        self.emit = settings.array_weight(emit, name="emit")

    def loss(self, last: td.Tensors, now: td.Tensors, emitted: td.Tensors) -> td.Tensors:
        """Minus the log probability of a step, of one-hot vectors."""
        following = wg.sum(now * wg.log_softmax(last @ self.follow))
        return -(following + wg.sum(emitted * wg.log_softmax(now @ self.emit)))

    def training(self) -> td.Block[Sequence, td.Tensors]:
        """The mean loss of the steps of a sequence."""
        steps = td.InputTransform(lambda both: list(zip(both[1], both[1][1:], both[0][1:], strict=False)))
        step = (td.OneHot(STATES), td.OneHot(STATES), td.OneHot(SYMBOLS)) >> td.Function(self.loss)
        block: td.Block[Sequence, td.Tensors] = steps >> td.Map(step) >> td.Mean()
        return block

    def search(self, width: int) -> td.Block[list[int], td.Tensors]:
        """The states on the best path of a beam, as numbers."""

        def step(beam: Any, emitted: td.Tensors) -> Any:  # Any: scores, last states as one-hot rows, paths
            scores, last, paths = beam
            log_emit = wg.permute_dims(wg.log_softmax(self.emit), (1, 0))
            total = wg.reshape(scores, (width, 1)) + wg.log_softmax(last @ self.follow) + emitted @ log_emit
            best, places = wg.top_k(wg.reshape(total, (width * STATES,)), width)
            states = np.tile(np.eye(STATES, dtype=np.float32), (width, 1))
            numbers = np.tile(np.arange(STATES, dtype=np.float32), width)[:, None]
            longer = wg.reshape(
                wg.broadcast_to(wg.reshape(paths, (width, 1, LENGTH)), (width, STATES, LENGTH)),
                (width * STATES, LENGTH),
            )
            longer = wg.concat([longer[:, 1:], numbers], axis=1)
            return best, wg.take(states, places), wg.take(longer, places)

        scores = np.array([0.0] + [FAR] * (width - 1), np.float32)
        last = np.eye(STATES, dtype=np.float32)[[0] * width]  # a sequence begins in the first state
        paths = np.zeros((width, LENGTH), np.float32)
        begin = td.AllOf(*map(td.FromTensor, (scores, last, paths)))
        walk = td.Map(td.OneHot(SYMBOLS)) >> td.Fold(td.Function(step), begin)
        block: td.Block[list[int], td.Tensors] = walk >> td.GetItem(2) >> td.Function(lambda paths: paths[0])
        return block


def chain(seed: int) -> tuple[Any, Any]:  # Any: arrays of probabilities
    """What follows what, and what emits what: states in pairs that emit nearly alike."""
    chance = np.random.default_rng(seed)
    follow = chance.dirichlet(np.full(STATES, 0.3), STATES)
    emit = chance.dirichlet(np.full(SYMBOLS, 0.3), STATES)
    emit[1::2] = 0.8 * emit[::2] + 0.2 * emit[1::2]
    return follow, emit


def sequences(count: int, seed: int, text: int) -> list[Sequence]:
    """Sequences of one length, which begin with the first state and the symbol 0."""
    (follow, emit), chance, found = chain(seed), np.random.default_rng(text), []
    for _ in range(count):
        states, emitted = [0], [0]
        for _ in range(LENGTH):
            states.append(int(chance.choice(STATES, p=follow[states[-1]])))
            emitted.append(int(chance.choice(SYMBOLS, p=emit[states[-1]])))
        found.append((emitted, states))
    return found


def main(count: int = 400, epochs: int = 12, width: int = 6, seed: int = 3) -> tuple[float, float]:
    """Train, print and return how often a greedy search and a beam find all the states."""
    network, train, test = Chain(), sequences(count, seed, 1), sequences(400, seed, 2)
    compiler = td.Compiler.create(network.training())
    found = []
    with threadpool_limits(1):  # matrices this small are done before a second thread has woken up
        plan = TrainPlan(compiler=compiler, examples=train, epochs=epochs, batch_size=50, seed=seed)
        plan.losses = {"step": lambda batch: wg.mean(batch.output_tensors[0])}
        plan.report = lambda line: None
        history = plan.run()
        for wide in (1, width):
            said = InferPlan(compiler=td.Compiler.create(network.search(wide)))
            said.examples = [emitted[1:] for emitted, _ in test]
            right = [
                np.mean(path == states[1:]) for (path,), (_, states) in zip(said.run(), test, strict=True)
            ]
            found.append(float(np.mean(right)))
    print(f"loss {history.epochs[0].loss:.3f} in the first epoch, {history.epochs[-1].loss:.3f} in the last")
    print(
        f"beams.py: {found[1]:.1%} of the states of new sequences are found by a beam of {width} paths, and "
        f"{found[0]:.1%} by a greedy search, with what was learned of {STATES} states"
    )
    return found[0], found[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("count", 400), ("epochs", 12), ("width", 6), ("seed", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    main(**vars(parser.parse_args()))
