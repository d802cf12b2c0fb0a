"""Checkpoints that are in the way, of another training, broken or not to be written: one clear error."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.saving.models import told
from tests.training.models import Model, Points, points
from wengert.errors import ArgumentError, CheckpointError
from wengert.nn import Seeds
from wengert.plugins import SGD
from wengert.saving import load, save
from wengert.training import Event, Step, fit


def trained(path: Path, **options: Any) -> tuple[Model, Any]:
    model = Model()
    given: dict[str, Any] = {"seed": 0, "epochs": 2, "weights": model, "checkpoint": path, **options}
    return model, fit(model.loss, given.pop("data", points()), **given)


def test_a_checkpoint_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    trained(tmp_path / "w")
    before = (tmp_path / "w").read_bytes()
    with pytest.raises(
        CheckpointError, match=r"w is there already; write resume=True to go on from it, or delete"
    ):
        trained(tmp_path / "w")
    assert (tmp_path / "w").read_bytes() == before


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        CheckpointError, match=r"is a folder; name a file in it, as in '.*/model\.safetensors'"
    ):
        trained(tmp_path)
    assert not os.listdir(tmp_path)


def test_a_folder_that_is_not_there_is_refused_before_the_first_step(tmp_path: Path) -> None:
    heard: list[Event] = []
    with pytest.raises(CheckpointError, match="none is no folder; make it first"):
        trained(tmp_path / "none" / "w", callbacks=[heard.append])
    assert not heard


def not_resumed(path: Path, said: str, **options: Any) -> None:
    """Going on is refused with these words; no weight and no file has changed."""
    model, content = Model(seed=3), path.read_bytes()
    before = told(model.net)
    given: dict[str, Any] = {"seed": 0, "epochs": 3, "weights": model, "resume": True, **options}
    with pytest.raises(CheckpointError) as caught:
        fit(model.loss, given.pop("data", points()), checkpoint=path, **given)
    assert said in str(caught.value)
    assert told(model.net) == before and path.read_bytes() == content


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w"
    trained(path)
    not_resumed(path, "its seed is 0, and that of fit 1", seed=1)
    not_resumed(path, "it is of another model", weights=[SGD(learning_rate=0.1).double_weight(1.0, name="w")])
    path.write_bytes(path.read_bytes()[:-1])
    not_resumed(path, "it was cut short")


def test_other_data_within_an_epoch_are_refused(tmp_path: Path) -> None:
    trained(tmp_path / "w", epochs=None, steps=4)
    model = Model()
    with pytest.raises(CheckpointError, match="has done 1 of 3 batches of epoch 1, which has 6 here"):
        fit(
            model.loss,
            points(),
            batch_size=16,
            seed=0,
            steps=9,
            weights=model,
            checkpoint=tmp_path / "w",
            resume=True,
        )


NOTE = '{"fit": 1, "epoch": 1, "done": 0, "step": 3, "count": 0, "seen": 0, "total": 0.0, "seconds": 1.0, '


@pytest.mark.parametrize(
    "note",
    [
        None,
        "",
        "[]",
        "[" * 100_000,
        '{"fit": 2}',
        '{"fit": 1}',
        NOTE + '"losses": "AAA", "epochs": []}',
        NOTE + '"losses": "é", "epochs": []}',
        NOTE + '"losses": [], "epochs": []}',
        NOTE + '"losses": "", "epochs": [{}]}',
        NOTE + '"losses": "", "epochs": [1]}',
        NOTE.replace('"done": 0', '"done": -1') + '"losses": "", "epochs": []}',
        NOTE.replace('"done": 0', '"done": "0"') + '"losses": "", "epochs": []}',
        NOTE.replace('"done": 0', '"done": true') + '"losses": "", "epochs": []}',
        NOTE.replace('"seen": 0', '"seen": 1' + "0" * 400) + '"losses": "", "epochs": []}',
        NOTE.replace('"seen": 0', '"seen": 1' + "0" * 5000) + '"losses": "", "epochs": []}',
        NOTE.replace('"total": 0.0', '"total": 1e999') + '"losses": "", "epochs": []}',
        NOTE.replace('"seconds": 1.0', '"seconds": NaN') + '"losses": "", "epochs": []}',
        NOTE + '"losses": "' + "A" * 11_000_004 + '", "epochs": []}',
        NOTE + '"losses": ' + "[" * 900 + "]" * 900 + ', "epochs": []}',
    ],
)
def test_a_file_that_fit_did_not_write_is_refused(tmp_path: Path, note: str | None) -> None:
    model = Model()
    save(tmp_path / "w", model, seed=0, note=note)
    not_resumed(tmp_path / "w", "`fit` did not save it, or another version did")


def test_the_note_that_the_others_are_broken_from_is_whole(tmp_path: Path) -> None:
    model = Model()
    save(tmp_path / "w", model, seed=0, note=NOTE + '"losses": "", "epochs": []}')
    assert (
        fit(
            model.loss, points(), seed=0, epochs=2, weights=model, checkpoint=tmp_path / "w", resume=True
        ).steps
        == 6
    )


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    def fill(event: Event) -> None:
        if isinstance(event, Step) and event.number == 5:
            monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(CheckpointError, match="No space left on device; nothing was saved") as caught:
        trained(tmp_path / "w", every=2, callbacks=[fill])
    assert isinstance(caught.value, OSError)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["w"]
    assert load(tmp_path / "w", Model()).step == 4
    model, whole = trained(tmp_path / "w", resume=True)
    assert whole.steps == 6
    assert told(model.net) == told(trained(tmp_path / "other")[0].net)


def test_a_full_disk_is_found_at_the_first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    heard: list[Event] = []
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left"):
        trained(tmp_path / "w", callbacks=[heard.append])
    assert len(heard) == 1


def test_two_weights_of_one_name_are_refused() -> None:
    settings = SGD(learning_rate=0.1)
    pair = [settings.double_weight(1.0, name="w"), settings.double_weight(2.0, name="w")]
    with pytest.raises(CheckpointError, match="two weights are named 'w'"):
        fit(lambda batch, seed: pair[0] * pair[1], points(), seed=0, epochs=1, weights=pair, checkpoint="x")


def test_a_weight_that_a_checkpoint_would_lack_is_refused(tmp_path: Path) -> None:
    model, extra = Model(), SGD(learning_rate=0.1).float_weight(1.0, name="scale")

    def loss(batch: Points, seed: Seeds | None) -> Any:
        return model.loss(batch, seed) * extra

    with pytest.raises(
        ArgumentError, match=r"the loss has .*'scale'.*made at .*test_checkpoints\.py:\d+, which `weights`"
    ):
        fit(loss, points(), seed=0, epochs=1, weights=model, checkpoint=tmp_path / "w")
    assert not os.listdir(tmp_path)
