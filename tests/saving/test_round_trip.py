"""What is saved comes back bit for bit, and a training goes on from it as if nothing had been."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file

import wengert as wg
from tests.saving.models import adam, network, step, told
from wengert import nn, plugins
from wengert.errors import CheckpointError
from wengert.extend import Optimizer
from wengert.graph import Weight
from wengert.graph.weights import Updates
from wengert.plugins import SGD, LearningRate, Names, Plugin
from wengert.saving import Checkpoint, load, save


def joined(*parts: type[Plugin]) -> Any:  # Any: takes the keywords of all
    return type("Settings", parts, {})


HALVING = {"schedule": lambda t: 0.5**t / 10}
RATE = {"learning_rate": 0.01}
OPTIMIZERS: dict[str, Callable[[], Plugin]] = {
    "SGD": lambda: joined(SGD)(**RATE),
    "Momentum": lambda: joined(plugins.Momentum, LearningRate)(**RATE),
    "Nesterov": lambda: joined(plugins.Nesterov, LearningRate)(**RATE),
    "Adagrad": lambda: joined(plugins.Adagrad, LearningRate)(**RATE),
    "Adadelta": lambda: plugins.Adadelta(),
    "RMSprop": lambda: joined(plugins.RMSprop, LearningRate)(**RATE),
    "Adam": lambda: joined(plugins.Adam, LearningRate)(**RATE),
    "AdamW": lambda: joined(plugins.AdamW, LearningRate)(weight_decay=0.1, **RATE),
    **{
        part.__name__: partial(joined(part, LearningRate), **RATE)
        for part in (
            plugins.Adamax,
            plugins.NAdam,
            plugins.RAdam,
            plugins.AMSGrad,
            plugins.Lion,
            plugins.LAMB,
            plugins.Adafactor,
        )
    },
    "Rprop": lambda: plugins.Rprop(),
    "Lookahead": lambda: joined(plugins.Lookahead, plugins.Adam, LearningRate)(every=2, **RATE),
    "Moving average": lambda: joined(plugins.ExponentialMovingAverage, LearningRate)(**RATE),
    "Mean": lambda: joined(plugins.StochasticWeightAveraging, LearningRate)(average_from=1, **RATE),
    "Noise": lambda: joined(plugins.GradientNoise, LearningRate)(noise_seed=0, **RATE),
    "Cosine": lambda: plugins.LearningRateSchedule(
        schedule=plugins.schedules.CosineAnnealingLR(0.1, steps=9)
    ),
    "Schedule": lambda: joined(plugins.Momentum, plugins.LearningRateSchedule)(**HALVING),
    "Clipped": lambda: joined(plugins.ClipByGlobalNorm, plugins.Momentum, LearningRate)(max_norm=0.1, **RATE),
    "Decayed": lambda: joined(plugins.L2Regularization, plugins.Adam, LearningRate)(l2=0.1, **RATE),
}


@pytest.mark.parametrize("done", [0, 1, 4])  # before the state is there, before a plan is made, with a plan
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_that_was_resumed_is_the_one_that_was_not(tmp_path: Path, name: str, done: int) -> None:
    path = tmp_path / "model.safetensors"
    model = network(OPTIMIZERS[name]())
    for i in range(done):
        step(model, i)
    save(path, model, step=done)
    other = network(OPTIMIZERS[name](), seed=1)
    for i in range(3):
        step(other, i)
    assert load(path, other).step == done
    assert told(other) == told(model)
    for i in range(3):
        step(model, done + i)
        step(other, done + i)
        assert told(other) == told(model)


def test_what_was_told_depends_on_data_and_state() -> None:
    model = network(adam())
    found = {told(model)}
    step(model)
    found.add(told(model))
    nn.weights(model)["layers.0.weight"].optimizer.count += 1  # type: ignore[attr-defined] # a part of Adam's
    found.add(told(model))
    assert len(found) == 3


def test_every_kind_of_weight_comes_back_as_its_own_type(tmp_path: Path) -> None:
    def made(by: float) -> list[Weight]:
        settings = adam()
        array = np.array([np.nan, -0.0, np.inf, by], np.float64)
        return [
            settings.double_weight(by, name="double"),
            settings.float_weight(by, name="float"),
            settings.array_weight(array, name="array"),
            settings.array_weight(np.asfortranarray(np.full((2, 3), by, np.float32)), name="fortran"),
            settings.array_weight(np.array(by, np.float32), name="shape ()"),
            settings.array_weight(np.zeros((0, 3)), name="empty"),
        ]

    first, second = made(0.1), made(0.2)
    save(tmp_path / "w", first)
    load(tmp_path / "w", second)
    assert told({w.name: w for w in first}) == told({w.name: w for w in second})
    assert [type(w.ref.data) for w in second[:3]] == [float, np.float32, np.ndarray]


def test_views_given_out_before_a_load_do_not_change_and_weights_can_be_trained(tmp_path: Path) -> None:
    w = SGD(learning_rate=1.0).array_weight(np.ones(3), name="w")
    save(tmp_path / "w", [w])
    wg.sum(w).train().run()
    before = w.data
    load(tmp_path / "w", [w])
    assert_array_equal(before, np.zeros(3))
    assert_array_equal(w.data, np.ones(3))
    wg.sum(w).train().run()
    assert_array_equal(w.data, np.zeros(3))


@dataclass(frozen=True, eq=False)
class Model:
    head: nn.Linear[Any, Any]
    scale: wg.DoubleWeight


def test_weights_are_named_by_themselves_by_a_dictionary_or_by_their_place(tmp_path: Path) -> None:
    class Named(Names, SGD): ...

    settings = Named(learning_rate=0.1)
    a, b = settings.double_weight(1.0, name="a"), settings.double_weight(2.0, name="b")
    model = Model(nn.Linear.make(settings, 2, 2, seed=0), a)
    given: list[tuple[object, list[str]]] = [
        ([a, b], ["a", "b"]),
        ((w for w in (a, b)), ["a", "b"]),
        ({"x": a, "y": {"z": b}}, ["x", "y.z"]),
        (settings.weights, sorted(settings.weights)),
        (model, ["head.bias", "head.weight", "scale"]),
        ([model, b], ["0.head.bias", "0.head.weight", "0.scale", "1"]),
        (a, ["weight"]),
    ]
    for weights, names in given:
        save(tmp_path / "w", weights)
        assert sorted(load_file(tmp_path / "w")) == names


def test_other_programs_read_the_weights_and_a_person_the_manifest(tmp_path: Path) -> None:
    model = network(adam())
    step(model)
    path = tmp_path / "model.safetensors"
    save(path, model, step=12, seed=34)
    found = load_file(path)
    assert_array_equal(found["layers.0.weight"], nn.weights(model)["layers.0.weight"].ref.data)
    assert found["optimizer/mean/layers.2.bias"].shape == (2,)
    package: Any = safetensors  # Any: its stubs leave this function without types
    with package.safe_open(path, "numpy") as file:
        manifest = json.loads(file.metadata()["wengert"])
    assert (manifest["step"], manifest["seed"], manifest["version"]) == (12, 34, wg.__version__)
    weight = manifest["weights"]["layers.0.weight"]
    assert (weight["shape"], weight["dtype"], weight["optimizer"]) == (
        [3, 4],
        "float32",
        ["Adam", "LearningRate"],
    )
    assert weight["state"]["count"] == {"value": 1}
    assert load(path, model) == Checkpoint(12, 34, wg.__version__)


class Keeping(Optimizer):
    """Somebody else's part, with state of every sort."""

    def __init__(self, settings: Any) -> None:
        super().__init__(settings)
        self.strided = np.arange(12.0).reshape(3, 4)[::-1, ::2]
        self.transposed = np.arange(6, dtype=np.int16).reshape(2, 3).T
        self.flags = np.array([True, False])
        self.text, self.nothing, self.yes, self.large = "ß", None, True, 10**30
        self.scalar, self.tiny = np.float16(0.1), 5e-324
        self._lock = object()

    def step(self, delta: Any, weight: Weight) -> Any:
        self.text = "later"
        return super().step(delta, weight)


class Kept(SGD):
    optimizer = Keeping


def kept(by: float) -> tuple[wg.DoubleWeight, Updates]:
    w = Kept(learning_rate=0.1).double_weight(by, name="w")
    return w, w.optimizer


def test_state_of_other_peoples_optimizers_is_saved_whatever_its_strides(tmp_path: Path) -> None:
    first, _ = kept(1.0)
    save(tmp_path / "w", [first])
    second, before = kept(2.0)
    wg.square(second).train().run()
    load(tmp_path / "w", [second])
    assert told([first]) == told([second])
    after: Any = second.optimizer
    assert_array_equal(after.transposed, np.arange(6, dtype=np.int16).reshape(2, 3).T)
    assert after.large == 10**30 and after.text == "ß" and after.settings is before.settings


def test_data_alone_leave_the_optimizer_as_it_is(tmp_path: Path) -> None:
    model, other = network(adam()), network(SGD(learning_rate=0.1), seed=1)
    step(model)
    save(tmp_path / "both", model)
    load(tmp_path / "both", other, optimizer=False)
    third = network(adam(), seed=2)
    step(third)
    save(tmp_path / "data", other, optimizer=False)
    load(tmp_path / "data", third, optimizer=False)
    for a, b in zip(nn.weights(model).values(), nn.weights(third).values(), strict=True):
        assert_array_equal(a.ref.data, b.ref.data)
    assert vars(nn.weights(third)["layers.0.bias"].optimizer)["count"] == 1


def test_a_link_stays_one_and_nothing_else_is_left_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    os.symlink(tmp_path / "there" / "real", tmp_path / "link")
    w = SGD(learning_rate=0.1).double_weight(1.0, name="w")
    save(tmp_path / "link", [w])
    save(str(tmp_path / "link"), [w])
    assert (tmp_path / "link").is_symlink()
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["link", "real", "there"]


# -- notes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("note", [None, "", "text", "ä\n\0\ud800\U0001f600", "x" * 100_000, '{"a": [NaN]}'])
def test_a_note_comes_back(tmp_path: Path, note: str | None) -> None:
    w = SGD(learning_rate=0.1).double_weight(1.0, name="w")
    save(tmp_path / "w", [w], note=note)
    assert load(tmp_path / "w", [w]).note == note


def test_a_file_without_a_note_has_none(tmp_path: Path) -> None:  # as version 0.1.0 began
    w = SGD(learning_rate=0.1).double_weight(1.0, name="w")
    save(tmp_path / "w", [w], step=3)
    content = (tmp_path / "w").read_bytes()
    shorter = content.replace(b'\\"note\\": null, ', b"")
    (tmp_path / "w").write_bytes((len(shorter) - 8 - 8).to_bytes(8, "little") + shorter[8:])
    assert content != shorter and load(tmp_path / "w", [w]) == Checkpoint(3, None, wg.__version__)


def test_who_checks_hears_of_the_rest_before_anything_changes(tmp_path: Path) -> None:
    w = SGD(learning_rate=0.1).double_weight(1.0, name="w")
    save(tmp_path / "w", [w], step=3, seed=4, note="n")
    other = SGD(learning_rate=0.1).double_weight(2.0, name="w")
    heard: list[Checkpoint] = []

    def refuse(found: Checkpoint) -> None:
        heard.append(found)
        raise LookupError("not this one")

    with pytest.raises(LookupError, match="not this one"):
        load(tmp_path / "w", [other], check=refuse)
    assert other.data == 2.0 and heard == [Checkpoint(3, 4, wg.__version__, "n")]
    assert load(tmp_path / "w", [other], check=heard.append) == heard[0] == heard[1] and other.data == 1.0


def test_a_note_is_a_text(tmp_path: Path) -> None:
    note: Any = 3
    with pytest.raises(CheckpointError, match="note is 3, a int; it has to be a str or None"):
        save(tmp_path / "w", [SGD(learning_rate=0.1).double_weight(1.0, name="w")], note=note)
