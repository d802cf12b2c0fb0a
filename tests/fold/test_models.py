"""Small models made of blocks, trained: recursion over data, shared layers, batches of examples of any shape."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert import fold as td
from wengert.plugins import SGD, Adam, LearningRate


class Settings(Adam, LearningRate): ...


def losses(compiler: td.Compiler[Any], batch: list[Any], classes: list[int], steps: int) -> list[float]:
    """What training on one batch gives, step by step."""
    found = []
    for _ in range(steps):
        (logits,) = compiler.build(batch).output_tensors
        loss = wg.mean(wg.cross_entropy(logits, np.array(classes)))
        found.append(float(np.asarray(loss.train().run())))
    return found


def digits(n: int) -> list[int]:
    return [int(digit) for digit in str(n)] if n else []


def fizzbuzz(n: int) -> int:
    return (n % 3 == 0) + 2 * (n % 5 == 0)


def test_fizzbuzz_is_learned_from_lists_of_digits() -> None:
    settings = Settings(learning_rate=0.01)
    step: Any = (
        td.AllOf(td.GetItem(0), td.GetItem(1)) >> td.Concat() >> td.FC(32, settings=settings, name="step")
    )
    state: Any = td.Record((td.Identity[Any](), td.OneHot(10)))
    read: Any = td.Fold(state >> step, td.Zeros(32))
    block = td.InputTransform(digits) >> read >> td.FC(4, None, settings=settings, name="classes")
    numbers = list(range(40))
    found = losses(td.Compiler.create(block), numbers, [fizzbuzz(n) for n in numbers], 30)
    assert found[-1] < 0.5 * found[0]


def leaves(tree: Any) -> int:
    return leaves(tree[0]) + leaves(tree[1]) if isinstance(tree, tuple) else int(tree)


def random_tree(chance: random.Random, depth: int) -> Any:
    if depth == 0 or chance.random() < 0.3:
        return chance.randrange(2)
    return random_tree(chance, depth - 1), random_tree(chance, depth - 1)


def model(settings: SGD, seed: int = 0) -> td.Block[Any, td.Tensors]:
    """The parity of the leaves of a tree: a row for a leaf, one layer for two children."""
    tree: td.ForwardDeclaration[Any, td.Tensors] = td.ForwardDeclaration()
    word = td.Embedding(2, 8, settings=settings, seed=seed, name="words")
    node = (
        td.Record((tree(), tree()))
        >> td.Concat()
        >> td.FC(8, wg.tanh, settings=settings, seed=seed, name="node")
    )
    kinds: dict[bool, td.Block[Any, td.Tensors]] = {True: node, False: td.Scalar("int32") >> word}
    total: td.Block[Any, td.Tensors] = td.OneOf(lambda x: isinstance(x, tuple), kinds)
    tree.resolve_to(total)
    return total >> td.FC(2, None, settings=settings, seed=seed, name="classes")


def test_a_recursive_network_is_trained_on_trees_of_any_shape() -> None:
    chance = random.Random(0)
    trees = [random_tree(chance, 4) for _ in range(20)]
    compiler = td.Compiler.create(model(SGD(learning_rate=0.2)))
    found = losses(compiler, trees, [leaves(tree) % 2 for tree in trees], 30)
    assert found[-1] < found[0]


def test_a_batch_has_the_gradients_of_its_examples() -> None:
    chance = random.Random(1)
    trees = [random_tree(chance, 3) for _ in range(5)]
    block = model(SGD(learning_rate=0.2))
    assert isinstance(block, td.Pipe)
    layer = block.blocks[-1]
    assert isinstance(layer, td.FC)
    block.build(0)
    weights = layer.weights
    (logits,) = td.Compiler.create(block).build(trees).output_tensors
    (together,) = wg.gradients(wg.sum(wg.square(logits)), (weights,)).run()
    alone = [wg.gradients(wg.sum(wg.square(block.build(tree))), (weights,)).run()[0] for tree in trees]
    np.testing.assert_allclose(together, sum(map(np.asarray, alone)), rtol=1e-5)


@pytest.mark.parametrize("build", [model])
def test_a_seed_says_what_a_model_begins_with(build: Callable[..., Any]) -> None:
    tree = ((1, 0), 1)
    first, second, other = (build(SGD(learning_rate=0.1), seed).eval(tree) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_examples_in_batches_and_epochs() -> None:  # F95
    assert list(td.group_by_batches([], 3)) == []
    with pytest.raises(ValueError, match=r"(?s)at least one example, not 0.*test_models\.py"):
        td.group_by_batches([1], 0)
    passes = td.epochs(iter(range(20)), 3)
    first, second, third = passes
    assert first == list(range(20)) != second != third
    assert sorted(second) == sorted(third) == first
    assert list(td.epochs("ab", 2, shuffle=False)) == [["a", "b"]] * 2
    endless = td.epochs("ab", shuffle=False)
    assert [next(endless) for _ in range(5)] == [["a", "b"]] * 5
