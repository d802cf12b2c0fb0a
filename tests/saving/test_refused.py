"""Whatever is wrong with a file that is loaded: one clear error, and nothing has changed."""

from __future__ import annotations

import importlib
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.often import few
from tests.saving.models import adam, network, step, told
from wengert.errors import ArgumentError, CheckpointError
from wengert.plugins import LearningRate, Momentum
from wengert.saving import container, load, save

safetensors: Any = importlib.import_module("safetensors")  # Any: its stubs leave functions without types


def refused(path: Path, words: str, model: Any = None, **options: Any) -> None:
    """Loading raises a CheckpointError that names the file and has these words; nothing has changed."""
    if model is None:
        model = network(adam(), seed=1)
        step(model)
    before = told(model)
    with pytest.raises(CheckpointError) as caught:
        load(path, model, **options)
    assert told(model) == before
    assert type(caught.value) is CheckpointError
    assert words in str(caught.value) and str(path) in str(caught.value)
    assert isinstance(caught.value, ValueError)


def split(path: Path) -> tuple[dict[str, Any], bytes]:
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def join(path: Path, header: object, rest: bytes) -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + rest)


def changed(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    """The file with another header and manifest."""
    header, rest = split(path)
    manifest = json.loads(header["__metadata__"]["wengert"])
    change(header, manifest)
    if "__metadata__" in header:
        header["__metadata__"] = {"wengert": json.dumps(manifest)}
    join(path, header, rest)


def test_a_file_that_was_taken_apart_and_put_together_again_loads(path: Path) -> None:
    saved, found = network(adam(), seed=1), network(adam(), seed=2)
    load(path, saved)
    changed(path, lambda header, manifest: None)
    load(path, found)
    assert told(found) == told(saved)


# -- broken files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("step", few([70, 7], 1))
def test_every_truncation_and_every_addition_is_refused(path: Path, step: int) -> None:
    content = path.read_bytes()
    for length in [*range(0, len(content), step), len(content) - 1]:
        path.write_bytes(content[:length])
        refused(path, "cut short")
    path.write_bytes(content + b"\0")
    refused(path, "cut short or added to")


def test_a_huge_header_is_not_read(path: Path) -> None:
    path.write_bytes(struct.pack("<Q", 2**63) + b"{}")
    refused(path, "less than its header needs")
    with path.open("wb") as file:  # sparse: no disk is used
        file.write(struct.pack("<Q", 200_000_000))
        file.truncate(300_000_000)
    refused(path, "200,000,000 bytes; no more than")


DEEP = 100_000
HEADERS = {
    "no JSON": (b"{", "no JSON"),
    "no text": (b"\xff\xfe{}", "no JSON"),
    "no object": (b"[]", "its header is no dict"),
    "deep": (b"[" * DEEP + b"]" * DEEP, "no JSON"),
    "twice": (b'{"a": 1, "a": 2}', "'a' stands there twice"),
    "NaN": (b'{"a": {"shape": [NaN]}}', "NaN stands where a number has to be"),
    "no manifest": (b"{}", "no manifest"),
    "a manifest that is none": (b'{"__metadata__": {"wengert": 1}}', "no manifest"),
    "a long number": (b'{"__metadata__": {"wengert": "' + b"9" * 5000 + b'"}}', "no JSON"),
    "a deep manifest": (b'{"__metadata__": {"wengert": "' + b"[" * DEEP + b'"}}', "no JSON"),
    "a surrogate": (b'{"__metadata__": {"wengert": "\\ud800"}}', "no JSON"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_is_none_is_refused(path: Path, name: str) -> None:
    header, words = HEADERS[name]
    join(path, header, b"")
    refused(path, words)


def test_names_that_stand_twice_are_found_in_one_pass(path: Path) -> None:
    # by comparing each name with each, this took five minutes
    names = ",".join(f'"a{i}":1' for i in range(60_000))
    join(path, f'{{{names},"z":1,"z":2}}'.encode(), b"")
    refused(path, "'z' stands there twice")


def test_a_header_of_very_many_entries_is_not_parsed(path: Path) -> None:
    for text in (
        b"[" + b"[]," * 3_000_000 + b"1]",
        b'{"__metadata__": {"wengert": "' + b"\\u005b" * 4_100_000 + b'"}}',
    ):
        join(path, text, b"")
        refused(path, "has more than 4,002,000 entries", network(adam()))


@pytest.mark.slow
def test_no_error_is_as_long_as_the_file(path: Path) -> None:
    long = "x" * 100_000
    for change in (
        in_weight(shape=[2**62] * 64),
        in_weight(shape=[10**4000]),
        in_weight(dtype=long),
        in_weight(dtype=[[long]] * 1000),
        in_weight(sort=long),
        in_weight(optimizer=[long]),
        in_state(long, {"value": 1}),
        in_state("-" + long, {"value": 1}),
        in_state("count", {"value": [long]}),
        in_state("count", {"value": long}),
        in_manifest(weights={long: 1}),
        in_manifest(weights={f"{i}{long}": {} for i in range(12)}),
        in_manifest(format=long),
        in_manifest(step=[[long]] * 9),
        in_header(dtype=long),
        lambda header, manifest: header.update({long: header.pop("layers.0.bias")}),
    ):
        content = path.read_bytes()
        changed(path, change)
        with pytest.raises(CheckpointError) as caught:
            load(path, network(adam()))
        assert len(str(caught.value)) < 2500
        path.write_bytes(content)


def in_weight(**entries: object) -> Callable[[Any, Any], None]:
    return lambda header, manifest: manifest["weights"]["layers.0.bias"].update(entries)


def in_state(name: str, value: object) -> Callable[[Any, Any], None]:
    return lambda header, manifest: manifest["weights"]["layers.0.bias"]["state"].update({name: value})


def in_header(**entries: object) -> Callable[[Any, Any], None]:
    return lambda header, manifest: header["layers.0.bias"].update(entries)


def in_manifest(**entries: object) -> Callable[[Any, Any], None]:
    return lambda header, manifest: manifest.update(entries)


ARRAY = {"sort": "array", "dtype": "float32", "shape": [4]}
CHANGES = {
    "dtype": (in_weight(dtype="float64"), "'layers.0.bias' is array of float64"),
    "unknown dtype": (in_weight(dtype="object"), "unknown form"),
    "dtype is no text": (in_weight(dtype=[]), "a dtype is no str"),
    "shape": (in_weight(shape=[5]), "there, and array of float32 and shape (4,) here"),
    "negative shape": (in_weight(shape=[-4]), "impossible shape"),
    "shape of a truth value": (in_weight(shape=[True]), "is no int"),
    "fractional shape": (in_weight(shape=[4.0]), "is no int"),
    "huge shape": (in_weight(shape=[2**70]), "impossible shape"),
    "many axes": (in_weight(shape=[1] * 65), "impossible shape"),
    "very many axes": (in_weight(shape=[2**62] * 100_000), "impossible shape of 100,000 axes"),
    "a long shape": (in_weight(shape=[10**4000] * 60), "impossible shape"),
    "more than there are bytes": (in_weight(shape=[2**31, 2**31]), "impossible shape"),
    "nothing of very much": (in_weight(shape=[0, 2**62]), "impossible shape"),
    "truth as a format": (in_manifest(format=True), "of format True"),
    "a long step": (in_manifest(step=[10**4000]), "step is no int"),
    "an infinite step": (in_manifest(step=float("1e999")), "stands where a number has to be"),
    "a count that no float can have": (
        in_state("count", {"value": 10**400}),
        "which its optimizer never has",
    ),
    "sort": (in_weight(sort="scalar"), "unknown form"),
    "header dtype": (in_header(dtype="I32"), "its header says that 'layers.0.bias' is I32"),
    "header shape": (in_header(shape=[2, 2]), "its header says that"),
    "header shape that does not fit": (in_header(shape=[40]), "safetensors refuses it"),
    "header dtype of another size": (in_header(dtype="F64"), "safetensors refuses it"),
    "unknown header dtype": (in_header(dtype="F99"), "safetensors refuses it"),
    "offsets outside": (in_header(data_offsets=[0, 10**15]), "safetensors refuses it"),
    "offsets backwards": (in_header(data_offsets=[16, 0]), "safetensors refuses it"),
    "negative offsets": (in_header(data_offsets=[-16, 0]), "safetensors refuses it"),
    "overlap": (in_header(data_offsets=[4, 20]), "safetensors refuses it"),
    "optimizer": (in_weight(optimizer=["Momentum"]), "was Momentum, and is Adam with LearningRate here"),
    "optimizer is no list": (in_weight(optimizer="Moments"), "optimizer is no list"),
    "state of no optimizer": (in_state("velocity", ARRAY), "has no state 'velocity'"),
    "a method": (in_state("step", {"value": 1}), "has no state 'step'"),
    "a property": (in_state("settings", {"value": 1}), "has no state 'settings'"),
    "dunder": (in_state("__class__", {"value": 1}), "is no name of an optimizer's state"),
    "state is no number": (in_state("count", {"value": [1]}), "neither a number nor a text"),
    "count is a text": (in_state("count", {"value": "1"}), "which its optimizer never has"),
    "count is negative": (in_state("count", {"value": -1}), "which its optimizer never has"),
    "mean is a number": (in_state("mean", {"value": 1}), "which its optimizer never has"),
    "mean of another shape": (in_state("mean", {**ARRAY, "shape": [2]}), "which its optimizer never has"),
    "mean of integers": (in_state("mean", {**ARRAY, "dtype": "int32"}), "which its optimizer never has"),
    "step": (in_manifest(step="3"), "step is no int"),
    "version": (in_manifest(version=None), "version is no str"),
    "note": (in_manifest(note=3), "note is no str"),
    "format": (in_manifest(format=2), "of format 2"),
    "weights": (in_manifest(weights=[]), "weights is no dict"),
    "weight": (in_manifest(weights={"layers.0.bias": 1}), "layers.0.bias is no dict"),
    "name": (
        lambda header, manifest: header.update(x=header.pop("layers.0.bias")),
        "not have the same names",
    ),
    "metadata": (lambda header, manifest: header.pop("__metadata__"), "no manifest"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_hostile_or_mismatched_file_is_refused(path: Path, name: str) -> None:
    change, words = CHANGES[name]
    changed(path, change)
    refused(path, words)


def test_a_name_that_stands_twice_in_a_real_header_is_refused(path: Path) -> None:
    header, rest = split(path)
    text = json.dumps(header)
    entry = json.dumps(header["layers.0.bias"])
    join(path, (text[:-1] + f', "layers.0.bias": {entry}}}').encode(), rest)
    refused(path, "'layers.0.bias' stands there twice")


def test_a_file_of_another_library_is_refused(tmp_path: Path) -> None:
    save_file({"layers.0.bias": np.zeros(4, np.float32)}, tmp_path / "other")
    refused(tmp_path / "other", "no manifest")


def test_a_file_that_is_not_there_is_the_usual_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none", network(adam()))


def test_a_path_that_is_none_is_refused(tmp_path: Path) -> None:
    model = network(adam())
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="is a pipe or a device, and should be a file"):
        load(tmp_path / "pipe", model)
    actions: list[Callable[[Any], object]] = [lambda path: save(path, model), lambda path: load(path, model)]
    for action in actions:
        for wrong in ("a\0b", "\ud800"):
            with pytest.raises(
                CheckpointError, match=r"no file can have the path '.*'\n  at .*test_refused\.py:"
            ):
                action(wrong)
        for nothing in (None, b"x", 3, ["x"]):
            with pytest.raises(
                ArgumentError, match=r"the path has to be a str or an os.PathLike of one; got "
            ):
                action(nothing)


# -- other models ---------------------------------------------------------------------------------


def test_a_checkpoint_of_another_model_names_what_is_missing_and_unexpected(path: Path) -> None:
    settings = adam()
    other = {"layers": [network(settings).layers[0]], "more": settings.double_weight(1.0)}
    refused(path, "lacks 'more' and has 'layers.2.bias', 'layers.2.weight'", other)
    many = [settings.double_weight(1.0, name=f"w{i:02}") for i in range(12)]
    refused(path, "'w08', 'w09' and 2 more", many)


def test_the_state_of_another_optimizer_is_refused_and_data_alone_are_not(path: Path) -> None:
    class Other(Momentum, LearningRate): ...

    other = network(Other(learning_rate=0.1))
    refused(
        path,
        "was Adam with LearningRate, and is Momentum with LearningRate here; write load(..., optim",
        other,
    )
    load(path, other, optimizer=False)


# -- disks ----------------------------------------------------------------------------------------


def test_the_header_that_is_read_is_no_longer_than_the_package_reads() -> None:
    text = b"{}" + b" " * container._LONGEST
    with pytest.raises(safetensors.SafetensorError):
        safetensors.deserialize(struct.pack("<Q", len(text)) + text)
