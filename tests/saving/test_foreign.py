"""Files of others, parts of files, open files, and names that outlive our classes' insides."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import wengert.fold as td
from tests.saving.models import adam, network, step, told
from wengert import nn, saving
from wengert.errors import ArgumentError, CheckpointError
from wengert.models import former_weights, weights_by_place
from wengert.plugins import SGD

SETTINGS = SGD(learning_rate=0.1)
F32 = np.float32


@dataclass(frozen=True)
class Model:
    backbone: nn.Linear[Any, Any, Any]
    head: nn.Linear[Any, Any, Any]


def model(outputs: int = 2) -> Model:
    return Model(
        nn.Linear.make(adam(), 3, 4, seed=0, name="backbone"),
        nn.Linear.make(adam(), 4, outputs, seed=1, name="head"),
    )


def arrays(outputs: int = 2) -> dict[str, np.ndarray[Any, Any]]:
    chance = np.random.default_rng(2)
    shapes = {
        "backbone.weight": (3, 4),
        "backbone.bias": (4,),
        "head.weight": (4, outputs),
        "head.bias": (outputs,),
    }
    return {name: chance.normal(size=shape).astype(F32) for name, shape in shapes.items()}


def test_a_file_of_another_library_is_read_where_all_names_fit(tmp_path: Path) -> None:
    save_file(arrays(), tmp_path / "f")
    found, it = saving.load(tmp_path / "f", m := model()), arrays()
    assert (found.step, found.version, found.unused, found.missing) == (None, "", (), ())
    assert set(found.used) == set(it) == set(saving.names(tmp_path / "f"))
    for name, weight in nn.weights(m).items():
        assert np.array_equal(weight.ref.data, it[name])


def test_a_part_of_a_file_says_what_was_used(tmp_path: Path) -> None:
    save_file({"net." + name: x for name, x in arrays(7).items()}, tmp_path / "f")
    m, before = model(), model().head.weight.data

    def backbone(name: str) -> str | None:
        return name.removeprefix("net.") if "backbone" in name else None

    found = saving.load(tmp_path / "f", m, strict=False, rename=backbone)
    assert sorted(found.used) == ["net.backbone.bias", "net.backbone.weight"]
    assert (found.unused, found.missing) == ((), ("head.weight", "head.bias"))
    assert np.array_equal(m.head.weight.data, before)
    assert np.array_equal(m.backbone.bias.data, arrays()["backbone.bias"])


def test_everything_that_differs_is_listed_at_once_and_nothing_changes(tmp_path: Path) -> None:
    it = arrays(7) | {"more": np.ones(2, F32)}
    del it["backbone.bias"]
    save_file(it, tmp_path / "f")
    m = model()
    before = told(m)
    with pytest.raises(
        CheckpointError,
        match=r"no manifest.*lacks 'backbone\.bias' and has 'more'; 'head\.weight' is .*\(4, 7\).*; write rename=",
    ):
        saving.load(tmp_path / "f", m)
    with pytest.raises(CheckpointError) as caught:
        saving.load(tmp_path / "f", m, strict=False)
    assert (
        "'head.weight' is array of float32 and shape (4, 2) here, and there 'head.weight', float32 of shape (4, 7)"
        in (str(caught.value))
    )
    assert "'head.bias' is array" in str(caught.value) and "test_foreign.py:" in str(caught.value)
    with pytest.raises(CheckpointError, match="it lacks"):
        saving.load(tmp_path / "f", {"other": SETTINGS.double_weight(1.0)}, strict=False)
    assert told(m) == before


def test_own_files_in_part_keep_the_state_of_optimizers(tmp_path: Path) -> None:
    first, other = network(adam()), network(adam(), seed=5)
    step(first)
    saving.save(tmp_path / "f", first)
    found = saving.load(
        tmp_path / "f",
        {"first": other.layers[0]},
        strict=False,
        rename=lambda n: n.replace("layers.0", "first"),
    )
    assert found.unused == ("layers.2.weight", "layers.2.bias")
    assert told(other.layers[0]) == told(first.layers[0])
    plain = {"w": SETTINGS.array_weight(np.zeros((3, 4), F32))}
    with pytest.raises(CheckpointError, match="optimizer=False"):
        saving.load(tmp_path / "f", plain, strict=False, rename={"layers.0.weight": "w"})
    saving.load(tmp_path / "f", plain, strict=False, rename={"layers.0.weight": "w"}, optimizer=False)
    assert np.array_equal(plain["w"].data, first.layers[0].weight.data)


def test_elements_are_taken_where_they_fit_exactly(tmp_path: Path) -> None:
    save_file({"w": np.array([0.5, 2.0], np.float16)}, tmp_path / "half")
    save_file({"w": np.array([0.5, 2.0])}, tmp_path / "double")
    w = {"w": SETTINGS.array_weight(np.zeros(2, F32))}
    saving.load(tmp_path / "half", w)
    assert w["w"].data.tolist() == [0.5, 2.0]
    with pytest.raises(CheckpointError, match=r"is array of float32 and shape .* there 'w', float64"):
        saving.load(tmp_path / "double", w)
    header = json.dumps({"w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    saving.load(BytesIO(struct.pack("<Q", len(header)) + header + b"\x80\x3f\x00\xc0"), w)
    assert w["w"].data.tolist() == [1.0, -2.0]


def test_what_rename_must_not_do(tmp_path: Path) -> None:
    save_file(arrays(), tmp_path / "f")
    with pytest.raises(CheckpointError, match="one place, 'x'"):
        saving.load(tmp_path / "f", model(), rename=lambda name: "x")
    with pytest.raises(ArgumentError, match=r"rename gave 3 for .*; it gives a name, or None"):
        saving.load(tmp_path / "f", model(), rename=lambda name: 3)  # type: ignore[arg-type]  # misuse
    with pytest.raises(ArgumentError, match="rename is a function or a mapping"):
        saving.load(tmp_path / "f", model(), rename="x")  # type: ignore[arg-type]  # misuse


ENTRIES: dict[str, object] = {
    "no offsets": {"dtype": "F32", "shape": [1]},
    "negative": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]},
    "backwards": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]},
    "beyond": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]},
    "too few bytes": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]},
    "unknown elements": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]},
    "huge": {"dtype": "F32", "shape": [2**62] * 64, "data_offsets": [0, 4]},
    "no tensor": 3,
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_hostile_file_of_others_is_one_error(name: str) -> None:
    header = json.dumps({"w": ENTRIES[name]}).encode()
    with pytest.raises(CheckpointError, match="the open file cannot be loaded, and no weight has changed"):
        saving.load(
            BytesIO(struct.pack("<Q", len(header)) + header + bytes(4)),
            {"w": SETTINGS.array_weight(np.zeros(1, F32))},
        )


def test_open_files() -> None:
    file, first, other = BytesIO(), network(adam()), network(adam(), seed=5)
    step(first)
    saving.save(file, first, step=2)
    assert saving.names(BytesIO(file.getvalue())) == list(nn.weights(first))
    assert saving.load(BytesIO(file.getvalue()), other).step == 2
    assert told(other) == told(first)
    with pytest.raises(CheckpointError, match="does not take bytes; open the file with mode 'wb'"):
        saving.save(StringIO(), first)  # type: ignore[arg-type]  # the misuse that is tested
    with pytest.raises(CheckpointError, match="does not give bytes; open the file with mode 'rb'"):
        saving.load(StringIO("x"), first)  # type: ignore[arg-type]  # the misuse that is tested


def test_names_are_the_users_and_files_with_private_names_still_load() -> None:  # F C12
    def block() -> Any:  # Any: a block of the types of its parts
        return td.AllOf(
            td.Vector(3) >> td.FC(2, name="a", settings=SETTINGS), td.Vector(3) >> td.FC(2, name="b")
        )

    built, other = block(), block()
    for made in (built, other):
        td.Compiler.create(made)
    names = list(nn.weights(built))
    assert names and not any(part.startswith("_") for name in names for part in name.split("."))
    file = BytesIO()
    former = former_weights(built)
    assert list(former) != names
    saving.save(file, former)
    saving.load(BytesIO(file.getvalue()), other)
    assert told(other) == told(built)


def test_layers_are_in_files_by_the_names_that_users_gave_wherever_they_stand() -> None:
    def layers() -> tuple[Any, Any]:  # Any: blocks with weights
        return td.FC(2, name="first", settings=SETTINGS), td.FC(2, settings=SETTINGS)

    (a, b), (c, d) = layers(), layers()
    built, moved = td.Vector(3) >> a >> b, td.AllOf(td.Vector(3) >> c, td.Vector(2) >> d)
    for made in (built, moved):
        td.Compiler.create(made)
    assert {*nn.weights(built)} == {"first.weights", "first.bias", "blocks.1.weights", "blocks.1.bias"}
    file = BytesIO()
    saving.save(file, built)
    found = saving.load(BytesIO(file.getvalue()), moved, strict=False)
    assert set(found.missing) == {"blocks.1.blocks.1.weights", "blocks.1.blocks.1.bias"}
    assert told(c) == told(a)
    places = weights_by_place(built)
    assert {*places} == {f"blocks.{at}.{part}" for at in ("0.blocks.1", "1") for part in ("weights", "bias")}
    by_place = BytesIO()
    saving.save(by_place, places)  # as files were before layers had their names in them
    other = td.Vector(3) >> c >> d
    saving.load(BytesIO(by_place.getvalue()), other)
    assert told(other) == told(built)


def test_files_from_before_the_keywords_of_blocks_were_renamed_still_load() -> None:  # F C12
    def block() -> Any:  # Any: as above
        step = td.Concat() >> td.FC(2, name="a", settings=SETTINGS)
        return td.Map(td.Vector(3) >> td.FC(2, name="b", settings=SETTINGS)) >> td.Fold(step, td.Zeros(2))

    built, other, third = block(), block(), block()
    for made in (built, other, third):
        td.Compiler.create(made)
    before = {"elem_block": "element", "combine_block": "step"}
    old = {}
    for name, weight in former_weights(built).items():
        old[".".join(before.get(part, part) for part in name.split("."))] = weight
    assert any(".element." in name for name in old) and any(".step." in name for name in old)
    file = BytesIO()
    saving.save(file, old)
    saving.load(BytesIO(file.getvalue()), other)
    found = saving.load(BytesIO(file.getvalue()), third, strict=False)
    assert (found.missing, found.unused) == ((), ())
    assert told(third) == told(other) == told(built)


def test_private_attributes_of_a_user_are_his_names() -> None:
    class Own:
        def __init__(self) -> None:
            self._hidden = SETTINGS.double_weight(1.0)

    assert list(nn.weights(Own())) == ["_hidden"]


def test_blocks_of_one_name_stand_by_their_places_with_no_private_attribute() -> None:
    built: Any = td.Vector(2) >> td.FC(2, name="same") >> td.FC(3, name="same")
    td.Compiler.create(built)
    assert {*nn.weights(built)} == {"same.weights", "same.bias", "blocks.1.weights", "blocks.1.bias"}
