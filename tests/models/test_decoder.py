"""A decoder that stops at its own end symbol: as in plain numpy, and batched across the examples that go on.

Knows: the formula of a step.
Refuses to know: how it is run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.test_examples import example
from wengert.data import Items
from wengert.run import Batched, Sequential

MODULE = example("decoder")


@pytest.fixture(scope="module")
def model() -> Any:  # Any: the example's own class, here and below
    """A decoder that has learned enough to end its words."""
    made = MODULE.Decoder(size=24, rate=0.02, seed=0)
    batched = Batched()
    for _ in range(15):
        for start in range(1, 61, 20):
            made.loss(Items(range(start, start + 20))).train().run(batched)
    return made


def spelled_in_numpy(model: Any, n: int) -> str:
    def sigmoid(x: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-x))

    code = np.tanh(MODULE.ones(n) @ model.begin.weight.data + model.begin.bias.data)
    h, c, letter, word = code, code, 0, ""
    while len(word) < MODULE.LIMIT:
        x = model.rows.table.data[letter] + code
        gates = x @ model.lstm.inputs.data + h @ model.lstm.hidden.data + model.lstm.bias.data
        i, f, g, o = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        letter = int((h @ model.scores.weight.data + model.scores.bias.data).argmax())
        if letter == 0:
            break
        word += MODULE.LETTERS[letter]
    return word


@pytest.mark.parametrize(
    ("n", "word"),
    [
        (1, "one"),
        (10, "ten"),
        (19, "nineteen"),
        (20, "twenty"),
        (34, "thirty-four"),
        (100, "one-hundred"),
        (105, "one-hundred-five"),
        (219, "two-hundred-nineteen"),
        (987, "nine-hundred-eighty-seven"),
    ],
)
def test_what_is_right(n: int, word: str) -> None:
    assert MODULE.spelled(n) == word


@pytest.mark.slow
def test_each_word_ends_by_itself_as_in_plain_numpy(model: Any) -> None:
    numbers = range(1, 61, 3)
    words = model.spell_all(numbers, Batched())
    assert words == [spelled_in_numpy(model, n) for n in numbers]
    assert len({len(word) for word in words}) > 3
    assert max(map(len, words)) < MODULE.LIMIT, "all of them were ended by the network"


@pytest.mark.slow
def test_words_that_go_on_are_one_batch_and_ended_ones_cost_nothing(model: Any) -> None:
    numbers = range(1, 61, 3)
    batched = Batched()
    words = model.spell_all(numbers, batched)
    steps = [line for line in batched.report.lines.values() if line.name == "Decoder.step"]
    letters = [len(word) + 1 for word in words]  # one more says that the word ends
    alone = sum(1 for place in range(max(letters)) if sum(n > place for n in letters) == 1)
    assert sum(line.rows for line in steps) >= sum(letters) - alone
    assert sum(line.rows for line in steps) <= sum(letters)
    assert sum(line.launches for line in steps) <= max(letters)


def test_one_by_one_gives_the_same_words(model: Any) -> None:
    numbers = [3, 14, 50]
    assert model.spell_all(numbers, Sequential()) == model.spell_all(numbers, Batched())


def test_a_word_that_does_not_end_is_cut() -> None:
    untrained = MODULE.Decoder(size=4, seed=1)
    words = untrained.spell_all(range(1, 20), Batched())
    assert max(map(len, words)) == MODULE.LIMIT


@pytest.mark.slow
def test_spelling_is_learned(capsys: pytest.CaptureFixture[str]) -> None:
    before = MODULE.Decoder(size=32, seed=0).loss(Items(range(1, 60))).predict().run()
    MODULE.main(numbers=60, epochs=6, size=32, rate=0.02)
    lines = capsys.readouterr().out.splitlines()
    first, last = (float(part.split()[0]) for part in lines[0].removeprefix("loss ").split("epoch, "))
    assert last < 0.7 * first < float(before)
    assert lines[-1].startswith("decoder.py: ")
