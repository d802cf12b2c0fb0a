"""A mixture of experts, each in a process of its own: no process holds them all, and any of them may die.

A gate looks at each image of a digit and sends it to one of four experts; which images go where is decided by values
that the run has computed (`await`), and the four are asked at once. Weights and moments of an expert live with it. The
training is done twice: undisturbed, and with an expert killed in the middle of it, which begins anew, reads its
checkpoint and takes the steps since. Both end with the same bits.
Source: Shazeer et al. 2017, "Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer", and
Fedus et al. 2022, "Switch Transformers", for the loss that spreads the images.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from tempfile import TemporaryDirectory
from typing import Literal, Protocol, TypeAlias

import numpy as np

import wengert as wg
from wengert.cluster import Cluster, Node, Remote
from wengert.data import Digits, batches, digits, split
from wengert.nn import Linear
from wengert.plugins import Adam, LearningRate

EXPERTS, BATCH = 4, 96


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


Images: TypeAlias = wg.ArrayExpression[tuple[int, Literal[64]], np.float32]
Scores: TypeAlias = wg.ArrayLayer[tuple[int, Literal[10]], np.float32]
Scalar: TypeAlias = wg.ArrayLayer[tuple[()], np.float32]


class Expert:
    """Two layers; where it lives is no business of its."""

    def __init__(self, seed: int) -> None:
        settings = Settings(learning_rate=1e-2)
        self.first = Linear.make(settings, 64, 48, seed=seed)
        self.last = Linear.make(settings, 48, 10, seed=seed + 1)

    def __call__(self, x: Images) -> Scores:
        return self.last(wg.relu(self.first(x)))


class Mixture:
    """A gate here, and experts elsewhere."""

    def __init__(self, experts: Sequence[Remote[[Images], Scores]]) -> None:
        self.gate = Linear.make(Settings(learning_rate=1e-2), 64, len(experts), seed=0)
        self.experts = experts

    @wg.differentiable
    async def scores(self, images: Images) -> Scores:
        """Scores of the ten digits: those of the expert that the gate chose, as far as it was sure."""
        shares = wg.softmax(self.gate(images), axis=1)
        chosen = (await shares).argmax(axis=1)
        rows = [np.flatnonzero(chosen == k) for k in range(len(self.experts))]
        used = [k for k, of in enumerate(rows) if of.size]
        parts = [wg.take(images, rows[k], axis=0) for k in used]
        await wg.gather(*parts)  # known, so that all experts are asked at once
        answers = [self.experts[k](part) for k, part in zip(used, parts, strict=True)]
        await wg.gather(*answers)
        order = np.argsort(np.concatenate([rows[k] for k in used]))
        sure = wg.sum(shares * np.eye(len(self.experts), dtype=np.float32)[chosen], axis=1, keepdims=True)
        return wg.take(wg.concat(answers, axis=0), order, axis=0) * sure

    def loss(self, batch: Digits) -> Scalar:
        """The cross entropy, and a little for a gate that sends all images to one expert."""
        shares = wg.mean(wg.softmax(self.gate(batch.images), axis=1), axis=0)
        return (
            wg.mean(wg.cross_entropy(self.scores(batch.images), batch.labels))
            + wg.sum(wg.square(shares)) * 0.5
        )

    def accuracy(self, batch: Digits) -> float:
        """The share of images whose digit is found."""
        return float(np.mean(self.scores(batch.images).predict().run().argmax(axis=1) == batch.labels))

    def digest(self) -> str:
        """Of all weights and moments, wherever they are."""
        gate = self.gate.weight.data.tobytes()
        return sha256(gate + "".join(expert.digest() for expert in self.experts).encode()).hexdigest()


class Begins(Protocol):
    """Whatever begins nodes."""

    def node(
        self, name: str, *, restarts: int = 0, checkpoint: str | None = None, checkpoint_every: int = 100
    ) -> Node: ...


def kill(node: Node) -> None:
    """Have the operating system end a node's process at once."""
    os.kill(node(wg.Do.delay(os.getpid)).run(), signal.SIGKILL)


def trained(
    cluster: Begins, name: str, folder: str, *, epochs: int, killing: Callable[[Node], None] | None = None
) -> tuple[str, float]:
    """Train; what all weights are in the end, and the accuracy on images that it has not seen."""
    names = [f"{name}-{k}" for k in range(EXPERTS)]
    nodes = [cluster.node(x, restarts=2, checkpoint=folder, checkpoint_every=10) for x in names]
    model = Mixture([node.place(Expert, 10 * k + 1) for k, node in enumerate(nodes)])
    train, test = split(digits(), (0.8, 0.2), seed=0)
    for epoch in range(epochs):
        losses = []
        for i, batch in enumerate(batches(train, BATCH, seed=0, epoch=epoch)):
            if killing is not None and (epoch, i) == (epochs // 2, 5):
                print(f"  {nodes[2].name} is killed")
                killing(nodes[2])
            losses.append(float(model.loss(batch).train().run()))
        print(f"  epoch {epoch + 1}: loss {np.mean(losses):.3f}", flush=True)
    found = model.digest(), model.accuracy(test)
    for node in nodes:
        node.close()
    return found


def main() -> None:
    """Train twice, the second time with a death in the middle."""
    with TemporaryDirectory() as folder, Cluster() as cluster:
        print("undisturbed:", flush=True)
        digest, accuracy = trained(cluster, "first", folder, epochs=5)
        print("with a death in the middle:", flush=True)
        other, _ = trained(cluster, "second", folder, epochs=5, killing=kill)
    if digest != other:
        sys.exit(f"the weights differ: {digest[:16]} and {other[:16]}")
    print(
        f"{EXPERTS} experts in {EXPERTS} processes know {accuracy:.1%} of the digits that they have not seen; with one "
        f"of them killed, the weights have the same bits: {digest[:16]}"
    )


if __name__ == "__main__":
    main()
