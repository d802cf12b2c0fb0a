"""The recipe of Table 2: word vectors begin what they name, dropout trains only, several seeds answer together.

Knows: the files that the recipe reads, which are written here.
Refuses to know: how accurate it is on the Treebank.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.test_sentiment import WORDS, trees
from tests.test_examples import example
from wengert.run import Batched

MODULE = example("treebank")


def test_it_learns_what_the_sentiment_example_learns() -> None:
    """Without vectors and dropout both are one network."""
    plain, recipe, data = (
        example("sentiment").Sentiment(WORDS, 6, 1),
        MODULE.Sentiment(WORDS, 6, 1),
        trees(5, 3),
    )
    losses = [float(model.loss(data).predict().run(Batched())) for model in (plain, recipe)]
    assert losses[0] == losses[1] and plain.accuracy(data) == pytest.approx(recipe.accuracy(data))


def test_a_recipe_of_vectors_dropout_and_several_seeds(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["(3 (2 a) (4 (3 good) (2 film)))", "(1 (2 a) (0 (1 bad) (2 film)))", "(2 (2 a) (2 film))"]
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.txt").write_text("\n".join(lines * 4) + "\n")
    (tmp_path / "vectors.txt").write_text("good 1 0 1 0 .5\nbad 0 -1 0 1 .5\nelsewhere 1 1 1 1 1\n")
    settings: Any = {"epochs": 6, "size": 8, "batch": 4, "seed": 0, "most": None, "keep": 0.75, "seeds": 2}
    assert MODULE.main(tmp_path, vectors=tmp_path / "vectors.txt", **settings) > 0.5
    out = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in out if "epoch" not in line] == [
        "seed 0",
        "seed 1",
        "2 seeds",
        "2 seeds",
        "test",
    ]


def test_vectors_begin_what_they_name_and_nothing_else(tmp_path: Any) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("good 1 0 1\nelsewhere 1 1 1\n")
    found = MODULE.vectors_of(path, WORDS)
    model = MODULE.Sentiment(WORDS, 4, 0, 1.0, found)
    assert list(found) == ["good"]
    assert model.rows.table.data[model.known["good"]].tolist() == [1.0, 0.0, 1.0]
    assert model.rows.table.shape == (7, 3) and abs(model.rows.table.data[model.known["a"]]).max() < 1.0
    path.write_text("good 1 0 1\nbad 1 0\n")
    with pytest.raises(ValueError, match="line 2: 2 numbers"):
        MODULE.vectors_of(path, WORDS)
    path.write_text("elsewhere 1\n")
    with pytest.raises(ValueError, match="for none of the 6 words"):
        MODULE.vectors_of(path, WORDS)


def test_dropout_changes_a_step_and_no_prediction() -> None:
    model, data = MODULE.Sentiment(WORDS, 8, 1, 0.5), trees(4, 2)
    first, again, other = (float(model.loss(data, seed).predict().run(Batched())) for seed in (1, 1, 2))
    assert first == again != other
    kept = MODULE.Sentiment(WORDS, 8, 1)
    assert float(model.loss(data).predict().run(Batched())) == float(kept.loss(data).predict().run(Batched()))
