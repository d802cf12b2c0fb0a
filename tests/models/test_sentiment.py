"""The Tree-LSTM of sentences: values and gradients as in plain numpy, trees of any depth, both accuracies.

Knows: the formula of the model.
Refuses to know: how it is run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.test_examples import example
from wengert.data import Items, Leaf, Node, Tree
from wengert.run import Batched, Sequential

MODULE = example("sentiment")
WORDS = ["a", "good", "film", "is", "not", "bad"]


def grown(
    chance: np.random.Generator, words: int
) -> Any:  # Any: trees and the example's own classes, here and below
    """A tree of so many words, of any shape, with labels by chance."""
    label = int(chance.integers(5))
    if words == 1:
        return Leaf(label, str(chance.choice([*WORDS, "unseen"])))
    left = int(chance.integers(1, words))
    return Node(label, (grown(chance, left), grown(chance, words - left)))


def trees(count: int, seed: int) -> Items[Any]:
    chance = np.random.default_rng(seed)
    return Items(grown(chance, int(chance.integers(1, 9))) for _ in range(count))


def weights(model: Any) -> dict[str, Any]:
    """All weights by name."""
    return {
        "rows": model.rows.table,
        "inputs": model.lstm.inputs,
        "bias": model.lstm.bias,
        "left": model.lstm.left,
        "right": model.lstm.right,
        "node_bias": model.lstm.node_bias,
        "scores": model.scores.weight,
        "scores_bias": model.scores.bias,
    }


def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def in_numpy(w: dict[str, Any], known: dict[str, int], tree: Any) -> tuple[Any, Any, float, Any]:
    """The state of a node, the loss of all nodes below and of itself, and its scores."""
    if isinstance(tree, Leaf):
        loss = 0.0
        i, o, u = np.split(w["rows"][known.get(tree.word, 0)] @ w["inputs"] + w["bias"], 3)
        c = sigmoid(i) * np.tanh(u)
    else:
        (lh, lc, left, _), (rh, rc, right, _) = (in_numpy(w, known, child) for child in tree.children)
        loss = left + right
        i, f, k, o, u = np.split(lh @ w["left"] + rh @ w["right"] + w["node_bias"], 5)
        c = sigmoid(i) * np.tanh(u) + sigmoid(f) * lc + sigmoid(k) * rc
    h = sigmoid(o) * np.tanh(c)
    scores = h @ w["scores"] + w["scores_bias"]
    return h, c, loss + float(np.log(np.exp(scores).sum()) - scores[tree.label]), scores


def loss_in_numpy(model: Any, w: dict[str, Any], data: Any) -> float:
    return float(np.mean([in_numpy(w, model.known, tree)[2] for tree in data]))


@pytest.mark.parametrize("executor", [Sequential, Batched])
def test_gradients_on_three_trees(executor: Any) -> None:
    model, data = MODULE.Sentiment(WORDS, size=6, seed=1), trees(3, 1)
    kept = weights(model)
    now = {name: weight.data.astype(np.float64) for name, weight in kept.items()}
    loss = model.loss(data)
    assert float(loss.predict().run(executor())) == pytest.approx(loss_in_numpy(model, now, data), rel=1e-5)
    gradients = wg.gradients(loss, tuple(kept.values())).run(executor())
    chance, step = np.random.default_rng(0), 1e-6
    for name, gradient in zip(kept, gradients, strict=True):
        given = np.asarray(gradient.dense() if hasattr(gradient, "dense") else gradient, np.float64)
        for _ in range(3):
            along = chance.standard_normal(given.shape)
            ahead, behind = (
                loss_in_numpy(model, {**now, name: now[name] + s * along}, data) for s in (step, -step)
            )
            slope = (ahead - behind) / (2 * step)
            assert float((given * along).sum()) == pytest.approx(slope, rel=1e-3, abs=1e-5), name


def test_batched_and_one_by_one_learn_alike() -> None:
    curves = []
    for executor in (Sequential(), Batched()):
        model = MODULE.Sentiment(WORDS, size=8, seed=2)
        curves.append([float(model.loss(trees(8, seed)).train().run(executor)) for seed in range(6)])
    np.testing.assert_allclose(curves[1], curves[0], rtol=1e-4)


def test_accuracies_of_roots_in_five_classes_and_in_two() -> None:
    model, data = MODULE.Sentiment(WORDS, size=6, seed=3), trees(120, 4)
    assert len(data) > 100, "more than the batch of one prediction"
    now = {name: weight.data.astype(np.float64) for name, weight in weights(model).items()}
    roots = [(tree.label, in_numpy(now, model.known, tree)[3]) for tree in data]
    fine = [scores.argmax() == label for label, scores in roots]
    p = [(label, np.exp(scores)) for label, scores in roots if label != 2]
    binary = [(e[3] + e[4] > e[0] + e[1]) == (label > 2) for label, e in p]
    assert 0 < sum(fine) < len(fine) and 0 < sum(binary) < len(binary) < len(fine)
    assert model.accuracy(data) == pytest.approx((np.mean(fine), np.mean(binary)))


@pytest.mark.slow
def test_a_tree_10000_deep() -> None:
    model = MODULE.Sentiment(WORDS, size=2, seed=0)
    tree: Tree = Leaf(3, "good")
    for place in range(10_000):
        tree = Node(1, (tree, Leaf(2, WORDS[place % len(WORDS)])))
    before = model.scores.bias.data.copy()
    loss = float(model.loss(Items([tree])).train().run(Batched()))
    assert loss == pytest.approx(20_001 * np.log(5.0), rel=0.5)  # nodes, whose scores are nearly equal
    assert model.scores.bias.data[1] > before[1]  # the label of all inner nodes


def test_a_run_prints_what_it_learned(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["(3 (2 a) (4 (3 good) (2 film)))", "(1 (2 a) (0 (1 bad) (2 film)))", "(2 (2 a) (2 film))"]
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.txt").write_text("\n".join(lines * 4) + "\n")
    assert MODULE.main(tmp_path, epochs=8, size=8, batch=4, seed=0, most=None) == 1.0
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 9 and out[-1].startswith("test: 100.0% of the roots in five classes")
