"""`fit` and `evaluate`: the loss, the data and the metrics agree on what a batch is."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np

import wengert as wg
from wengert import nn
from wengert.data import Digits, Items, Tree, digits
from wengert.nn import Seeds
from wengert.plugins import SGD
from wengert.training import Epoch, Evaluation, Event, History, Step, evaluate, fit

model = nn.Linear.make(SGD(learning_rate=0.1), 64, 10, seed=0)


def loss(batch: Digits, seed: Seeds | None) -> wg.ArrayLayer[tuple[()]]:
    return wg.cross_entropy(nn.Dropout(0.5)(model(batch.images), seed=seed), batch.labels)


def double_loss(batch: Digits, seed: Seeds | None) -> wg.DoubleLayer:
    return wg.lift(1.0) * float(len(batch))


def losses(batch: Digits, seed: Seeds | None) -> wg.ArrayLayer[tuple[int]]:
    return wg.cross_entropy(model(batch.images), batch.labels, reduction="none")


def of_trees(batch: Items[Tree], seed: Seeds | None) -> wg.DoubleLayer:
    return wg.lift(float(sum(tree.label for tree in batch)))


def without_seed(batch: Digits) -> wg.ArrayLayer[tuple[()]]:
    return loss(batch, None)


def accuracy(batch: Digits) -> float:
    return float((model(batch.images).predict().run().argmax(axis=1) == batch.labels).mean())


def mean_score(batch: Digits) -> wg.ArrayLayer[tuple[()]]:
    return wg.mean(model(batch.images))


def words(batch: Items[Tree]) -> float:
    return float(len(batch))


def case_fit(path: Path, trees: Items[Tree]) -> None:
    history = fit(
        loss,
        digits(),
        seed=0,
        epochs=3,
        batch_size=16,
        validation=digits(),
        metrics={"accuracy": accuracy, "score": mean_score},
        patience=2,
        min_delta=0.01,
        weights=model,
        checkpoint=path,
        every=10,
        resume=True,
        best="best",
        executor=wg.run.Sequential(),
    )
    assert_type(history, History)
    assert_type(history.best, Epoch | None)
    assert_type(history.losses[0], float)
    fit(double_loss, digits(), seed=0, steps=3)
    fit(of_trees, trees, seed=0, steps=3)
    fit(of_trees, lambda epoch: [trees], seed=0, steps=3)
    fit(loss, digits(), seed=0, epochs=1, metrics={"share": lambda batch: np.mean(batch.labels == 0)})
    history.steps = 3  # E: is read-only


def case_wrong_losses(trees: Items[Tree]) -> None:
    fit(losses, digits(), seed=0, epochs=1)  # E[arg-type]
    fit(without_seed, digits(), seed=0, epochs=1)  # E[arg-type]
    fit(loss, trees, seed=0, epochs=1)  # E
    fit(loss, digits(), seed=0, epochs=1, validation=trees)  # E
    fit(loss, digits(), seed=0, epochs=1, metrics={"words": words})  # E


def case_wrong_options() -> None:
    fit(loss, digits(), epochs=1)  # E[call-arg]: Missing named argument "seed"
    fit(loss, digits(), seed=0, epoch=1)  # E[call-arg]: Unexpected keyword argument "epoch"
    fit(loss, digits(), seed=0, epochs=1.5)  # E[arg-type]: incompatible type "float"
    fit(loss, digits(), 32)  # E: Too many pos|Missing nameditional arguments
    fit(loss, digits(), seed=0, epochs=1, executor=3)  # E[arg-type]


def case_callbacks() -> None:
    def tell(event: Event) -> None:
        match event:
            case Step(number=number):
                assert_type(number, int)
            case Epoch(validation=validation):
                assert_type(validation, float | None)

    fit(loss, digits(), seed=0, epochs=1, callbacks=[tell])
    fit(loss, digits(), seed=0, epochs=1, callbacks=[lambda: None])  # E


def case_evaluate() -> None:
    found = evaluate(loss, digits(), metrics={"accuracy": accuracy})
    assert_type(found, Evaluation)
    assert_type(found.metrics["accuracy"], float)
    evaluate(losses, digits())  # E[arg-type]


def case_shards(trees: Items[Tree]) -> None:
    assert_type(wg.shards(loss, digits(), 8), wg.ArrayLayer[tuple[()]])
    assert_type(wg.shards(double_loss, digits(), 8, seed=(0, 1), weigh="sum"), wg.DoubleLayer)
    assert_type(wg.shards(of_trees, trees, 2).predict().run(), float)
    assert_type(
        wg.shards(lambda part, seed: wg.mean(model(part)), np.zeros((9, 64), np.float32), 3),
        wg.ArrayLayer[tuple[()]],
    )


def case_wrong_shards(trees: Items[Tree]) -> None:
    wg.shards(losses, digits(), 8)  # E
    wg.shards(loss, trees, 8)  # E
    wg.shards(without_seed, digits(), 8)  # E
    wg.shards(loss, digits(), 8, weigh="max")  # E
    wg.shards(loss, digits(), 8, seed="0")  # E
