"""The examples that are written with `wengert.fold`: their networks in plain numpy, their data, what they learn.

Knows: the formula of each network.
Refuses to know: blocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.test_examples import example
from wengert import fold as td
from wengert.run import Batched, Sequential

Quiet = pytest.CaptureFixture[str]


def layers(block: Any) -> dict[str, Any]:  # Any: blocks of every type
    """All layers with weights in a block, by their names."""
    found, waiting = {}, [block]
    while waiting:
        one = waiting.pop()
        if isinstance(one, td.Layer):
            found[one._called] = one
        waiting += [x for x in vars(one).values() if isinstance(x, td.Block)]
        waiting += [
            x
            for xs in vars(one).values()
            if isinstance(xs, (list, tuple))
            for x in xs
            if isinstance(x, td.Block)
        ]
    return found


def dense(layer: Any, x: Any) -> Any:
    return x @ layer.weights.data + layer.bias.data


def test_fizzbuzz_equals_plain_numpy_for_numbers_of_all_lengths() -> None:
    module = example("fizzbuzz")
    block = module.network(size=16, seed=1)
    numbers = [0, 7, 42, 999, 1000, 9876]
    (scores,) = td.Compiler.create(block).build(numbers).output_tensors
    found = scores.predict().run(Batched())
    parts = layers(block)
    for n, row in zip(numbers, found, strict=True):
        state = np.zeros(16)
        for digit in module.digits(n):
            state = np.maximum(dense(parts["step"], np.concatenate([state, np.eye(10)[digit]])), 0.0)
        np.testing.assert_allclose(row, dense(parts["scores"], state), rtol=1e-4, atol=1e-6)


def test_fizzbuzz_of_digits() -> None:
    module = example("fizzbuzz")
    assert module.digits(0) == [] and module.digits(1205) == [1, 2, 0, 5]
    assert [module.CLASSES[module.right(n)] for n in (0, 1, 3, 5, 30)] == [
        "fizzbuzz",
        "neither",
        "fizz",
        "buzz",
        "fizzbuzz",
    ]


@pytest.mark.slow
def test_fizzbuzz_is_learned(capsys: Quiet) -> None:
    accuracy = example("fizzbuzz").main(numbers=1000, epochs=12, size=32, rate=0.01)
    assert accuracy > 0.55  # 53 % of all numbers are neither
    lines = capsys.readouterr().out.splitlines()
    first, last = (float(part.split()[0]) for part in lines[0].removeprefix("loss ").split("epoch, "))
    assert last < 0.7 * first
    assert lines[-1].startswith("fizzbuzz.py: ")


@pytest.mark.nightly
def test_fizzbuzz_learns_all_four_classes(capsys: Quiet) -> None:
    assert example("fizzbuzz").main() > 0.99
    shares = [line.split(": ")[1].split("%")[0] for line in capsys.readouterr().out.splitlines()[1:5]]
    assert min(map(float, shares)) > 95.0


def test_languages_equal_plain_numpy_with_words_of_no_letters() -> None:
    module = example("languages")
    block = module.network(size=8, seed=1)
    sentences = [["ab", "", "zebra"], [""], ["wengert"]]
    (scores,) = td.Compiler.create(block).build(sentences).output_tensors
    found = scores.predict().run(Batched())
    np.testing.assert_allclose(found, scores.predict().run(Sequential()), rtol=1e-4, atol=1e-6)
    parts = layers(block)

    def read(name: str, rows: list[Any]) -> Any:
        state = np.zeros(8)
        for row in rows:
            state = np.tanh(dense(parts[name], np.concatenate([state, row])))
        return state

    for words, row in zip(sentences, found, strict=True):
        table = parts["letters"].weights.data
        states = [read("word", [table[ord(letter) - ord("a")] for letter in word]) for word in words]
        np.testing.assert_allclose(
            row, dense(parts["scores"], read("sentence", states)), rtol=1e-4, atol=1e-6
        )


def test_a_language_stays_and_its_sentences_differ() -> None:
    module = example("languages")
    one, same, other, foreign = (module.sentences(300, 6, a, b) for a, b in ((0, 1), (0, 1), (0, 2), (1, 1)))
    assert one.items == same.items != other.items
    assert foreign.items != one.items
    assert {which for _, which in one} == set(range(module.LANGUAGES))
    words = [word for words, _ in one for word in words]
    assert "" in words and max(map(len, words)) == 6
    assert not any(set(word) - set("abcdefghijklmnopqrstuvwxyz") for word in words)


@pytest.mark.slow
def test_languages_are_told_apart(capsys: Quiet) -> None:
    assert example("languages").main(count=600, epochs=6, rate=0.01) > 0.3  # 12.5 % by chance
    assert "of 8 languages" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["fizzbuzz", "languages"])
def test_blocks_train_alike_one_by_one(name: str) -> None:
    module = example(name)
    examples: list[Any] = [0, 35, 1203] if name == "fizzbuzz" else [["ab", ""], ["c"]]
    losses = []
    for executor in (Sequential(), Batched()):
        compiler = td.Compiler.create(module.network(size=8, seed=3))
        found = []
        for _ in range(3):
            (scores,) = compiler.build(examples).output_tensors
            labels = np.arange(len(examples))
            found.append(float(np.asarray(wg.cross_entropy(scores, labels).train().run(executor))))
        losses.append(found)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    assert losses[0][-1] < losses[0][0]
