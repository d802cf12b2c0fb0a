"""What cannot be saved, for its names, its state or the disk: one clear error, and the old file is there."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.saving.models import adam, network
from wengert import nn
from wengert.errors import ArgumentError, CheckpointError, CheckpointPackageError, CheckpointWriteError
from wengert.extend import Optimizer
from wengert.plugins import SGD
from wengert.saving import container, files, load, save

safetensors: Any = importlib.import_module("safetensors")  # Any: its stubs leave functions without types


def unsaved(path: Path, weights: object, words: str, **options: Any) -> None:
    with pytest.raises(CheckpointError, match=words):
        save(path, weights, **options)
    assert not path.exists()


def test_names_that_no_file_can_have_are_refused(tmp_path: Path) -> None:
    settings, path = SGD(learning_rate=0.1), tmp_path / "w"
    w, v = settings.double_weight(1.0, name="w"), settings.double_weight(1.0, name="w")
    unsaved(path, [w, v], "two weights are named 'w': one made at .*test_unsaved")
    unsaved(path, [settings.double_weight(1.0)], "has no name")
    for name in ("optimizer/a", "__metadata__", "a\0", "\ud800"):
        unsaved(path, {name: w}, "a file of weights cannot have the name")
    nothings: list[object] = [[], {}, nn.Dropout(0.5), 3, "w"]
    for nothing in nothings:
        unsaved(path, nothing, "no weight in")
    with pytest.raises(ArgumentError, match=r"two weights stand at 'a\.b'"):
        save(path, {"a.b": w, "a": {"b": v}})
    unsaved(path, [w], "step is 1.0, a float", step=1.0)
    unsaved(path, [w], "seed is True, a bool", seed=True)


def test_what_could_not_be_loaded_again_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, w = tmp_path / "w", SGD(learning_rate=0.1).double_weight(1.0, name="w")
    for number in (10**640, -(10**5000)):
        unsaved(path, [w], "step has more than 640 digits", step=number)
        unsaved(path, [w], "seed has more than 640 digits", seed=number)
        unsaved(path, [w], "note is .*, a int", note=number)
    save(path, [w], step=10**640 - 1)
    assert load(path, [w]).step == 10**640 - 1
    path.unlink()
    unsaved(path, [w], "its header has more than 4,000,500 entries", note="," * 4_000_501)
    monkeypatch.setattr(container, "_LONGEST", 1000)
    unsaved(path, [w], r"nothing was saved, .*: its header has [0-9,]+ bytes; no more than", note="x" * 1000)


class Odd(Optimizer):
    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.log = [1]


class OddSGD(SGD):
    optimizer = Odd


def test_state_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    w = OddSGD(learning_rate=0.1).double_weight(1.0, name="w")
    unsaved(tmp_path / "w", [w], "the optimizer of 'w' keeps 'log', a list")
    save(tmp_path / "w", [w], optimizer=False)


def test_a_package_that_writes_other_bytes_is_found_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, good = path.read_bytes(), safetensors.serialize

    def transposing(tensors: Any, metadata: Any) -> bytes:
        data = tensors["layers.0.weight"]["data"]
        tensors["layers.0.weight"]["data"] = data[4:] + data[:4]
        content: bytes = good(tensors, metadata)
        return content

    monkeypatch.setattr(safetensors, "serialize", transposing)
    with pytest.raises(CheckpointError, match="did not write what it was given"):
        save(path, network(adam()))
    assert path.read_bytes() == before


def test_a_package_that_takes_no_such_arrays_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def of_specs(tensors: Any, metadata: Any) -> bytes:
        raise TypeError("argument 'tensor_dict': 'dict' object is not an instance of 'TensorSpec'")

    monkeypatch.setattr(safetensors, "serialize", of_specs)
    with pytest.raises(CheckpointPackageError, match=r"takes arrays in another form.*'wengert\[saving\]'"):
        save(path, network(adam()))
    assert path.read_bytes() == before


def test_without_the_package_the_error_says_what_to_install(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(CheckpointPackageError, match=r"pip install 'wengert\[saving\]'") as caught:
        save(path, network(adam()))
    assert isinstance(caught.value, ImportError)


FULL = """
import resource, sys
from wengert.errors import CheckpointWriteError
from wengert.plugins import SGD
from wengert.saving import save
import numpy as np
w = SGD(learning_rate=0.1).array_weight(np.ones(1000), name="w")
save(sys.argv[1], [w], step=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    save(sys.argv[1], [w], step=2)
except CheckpointWriteError as error:
    print(isinstance(error, OSError), error.errno, error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limits of file sizes there")
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "w"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True)
    assert f"True 27 {path} could not be written: File too large; nothing was saved" in done.stdout, done
    w = SGD(learning_rate=0.1).array_weight(np.zeros(1000), name="w")
    assert load(path, [w]).step == 1
    assert os.listdir(tmp_path) == ["w"]


@pytest.mark.parametrize("name", ["open", "fsync", "replace"])
def test_every_step_of_writing_may_fail(path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def full(*given: object) -> int:
        raise OSError(28, "No space left on device")

    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(files, "open", full, raising=False) if name == "open" else patch.setattr(os, name, full)
        with pytest.raises(
            CheckpointWriteError, match="No space left on device; nothing was saved"
        ) as caught:
            save(path, network(adam()))
    assert caught.value.errno == 28
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_an_interrupt_in_the_middle_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(handle: int) -> None:
        raise KeyboardInterrupt

    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        save(path, network(adam()))
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_folder_that_cannot_be_synchronized_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unable(folder: str) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(files, "_sync_folder", unable)
    with pytest.raises(CheckpointWriteError, match="it was replaced, but"):
        save(path, network(adam()), step=4)
    assert load(path, network(adam())).step == 4


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckpointWriteError, match="No such file or directory"):
        save(tmp_path / "no" / "w", network(adam()))


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders there")
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkdir(tmp_path / "folder")
    os.mkfifo(tmp_path / "pipe")  # as a device is: something that a rename would take away
    for name in ("folder", "pipe"):
        kind = os.stat(tmp_path / name).st_mode
        with pytest.raises(
            CheckpointWriteError, match=r"no file, but a folder or a device; .*\n  at .*unsaved\.py:"
        ):
            save(tmp_path / name, network(adam()))
        assert os.stat(tmp_path / name).st_mode == kind
    assert sorted(os.listdir(tmp_path)) == ["folder", "pipe"]


def test_a_weight_that_a_model_has_lifted_is_saved(tmp_path: Path) -> None:
    class Model:
        def __init__(self) -> None:
            self.first = wg.lift(SGD(learning_rate=0.1).array_weight(np.ones(2, np.float32)))
            self.constant = wg.lift(np.zeros(2, np.float32))

    model, other = Model(), Model()
    wg.sum(model.first).train().run()
    save(tmp_path / "file", model)
    load(tmp_path / "file", other)
    assert other.first.predict().run().tolist() == pytest.approx([0.9, 0.9])
