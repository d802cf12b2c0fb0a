"""Handwritten digits, each step computed by worker processes of a cluster that is started here and ended again.

Run: python examples/distributed.py

Needs the extra `cluster`. The weights have the bits of a training without workers, which is done first.
"""

from __future__ import annotations

import wengert as wg
from wengert.cluster import Cluster, Distributed
from wengert.control import Executor
from wengert.data import Digits, digits
from wengert.nn import Linear, Seeds, Sequential, weights
from wengert.plugins import Adam, LearningRate
from wengert.training import fit


class Settings(Adam, LearningRate): ...


def trained(executor: Executor | None) -> list[bytes]:
    """The bits of a small network after one epoch in eight shards."""
    settings = Settings(learning_rate=0.001)
    model = Sequential(Linear.make(settings, 64, 64, seed=0), wg.relu, Linear.make(settings, 64, 10, seed=1))

    def loss(batch: Digits, seed: Seeds | None) -> wg.ArrayLayer[tuple[()]]:
        return wg.cross_entropy(model(batch.images), batch.labels)

    history = fit(loss, digits(), seed=0, epochs=1, batch_size=256, shards=8, executor=executor)
    print(f"{history.steps} steps, loss {history.losses[-1]:.3f}")
    return [weight.data.tobytes() for weight in weights(model).values()]


def main() -> None:
    alone = trained(None)
    with Cluster(workers=2) as cluster:
        together = trained(Distributed(cluster))
    print("the same bits" if together == alone else "other bits")


if __name__ == "__main__":
    main()
