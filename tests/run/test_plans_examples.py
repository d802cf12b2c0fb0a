"""Every example, the README and every layer of `wengert.nn`, by plans and by the interpreter: the same results."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.run.attacked import OPTIMIZERS, alike, predicted
from tests.run.planned import eager, plain
from wengert import nn
from wengert.control import context, set_default_executor

ROOT = Path(__file__).resolve().parents[2]
BATCHED = {
    "beams",
    "graphs",
    "pointer",
    "tagger",
}  # by `wengert.fold`, whose plans batch and have no plan of a run
ELSEWHERE = {"distributed", "experts", "sweep"}  # other processes compute them, by an executor of their own
# those that name `Batched` say by whom they are run
EXAMPLES = sorted(
    path.stem
    for path in (ROOT / "examples").glob("*.py")
    if "Batched(" not in path.read_text()
    and path.stem not in {*BATCHED, *ELSEWHERE, "service"}  # a server does not end
)
LONG = {
    *("autoencoder", "by_inputs", "cifar100", "diamond", "digits", "gated", "guess_next_number", "letters"),
    *("siamese", "transformer", "words"),
}
WITHOUT = {"rotation"}  # weights of a user's type, which the interpreter steps
SMALL: dict[str, tuple[Any, ...]] = {  # Any: what a `main` takes; another test looks at what they learn
    "by_inputs": ((40, 30, 100),),
    "letters": (4,),
    "siamese": (40,),
    "images": (2,),
    "autoencoder": (10,),
    "diffusion": (300,),
    "reinforcement": (10,),
    "transformer": (20, 5),
}
FEW = ("--synthetic", "--images", "200", "--epochs", "2", "--columns", "1")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
SPEED = re.compile(r"\d+ a second")
Quiet = pytest.CaptureFixture[str]


@contextmanager
def default(executor: Any) -> Generator[None]:  # Any: an interpreter
    """Every run inside that names no interpreter has this one."""
    before = context._default_executor
    set_default_executor(executor)
    try:
        yield
    finally:
        set_default_executor(before)


def run_example(name: str) -> Any:  # Any: what its `main` gives
    """What the example's main returns, in a module that nobody has used."""
    spec = importlib.util.spec_from_file_location(f"planned_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)  # Any: a module has no static type here
    sys.modules[spec.name] = module  # where dataclasses look for the names in annotations
    spec.loader.exec_module(module)
    if name == "digits":
        module.checked_types = lambda: ""  # other tests check its types
        return module.main(3, epochs=2)
    return module.main(FEW) if name == "cifar100" else module.main(*SMALL.get(name, ()))


def same_text(a: str, b: str) -> None:
    """Equal to the rounding of the numbers in it, and to how fast it was."""
    a, b = (SPEED.sub("", text) for text in (a, b))
    assert NUMBER.sub("#", a) == NUMBER.sub("#", b)
    found, wanted = ([float(x) for x in NUMBER.findall(text)] for text in (a, b))
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in EXAMPLES]
)
def test_examples_print_the_same(name: str, capsys: Quiet) -> None:
    printed, made = [], 0
    for executor, plans in (eager(), (plain(), None)):
        with default(executor):
            run_example(name)
        printed.append(capsys.readouterr().out)
        made += plans.made if plans else 0
    same_text(*printed)
    assert (made > 0) == (name not in WITHOUT)


@pytest.mark.slow
def test_getting_started_prints_the_same(
    capsys: Quiet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # it saves a model
    page = (ROOT / "docs" / "getting_started.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    printed = []
    for executor in (eager()[0], plain()):
        names: dict[str, object] = {"__name__": "getting_started"}
        with default(executor):
            for block in blocks:
                exec(compile(block, "getting_started.md", "exec", dont_inherit=True), names)
        printed.append(capsys.readouterr().out)
    same_text(*printed)
    assert printed[0]


def draws(*shape: int, step: int = 0) -> Any:  # Any: arrays of any shape
    return np.random.default_rng((7, step, *shape)).standard_normal(shape)


def lstm(cell: Any, step: int) -> Any:
    h, c = cell(draws(2, 3, step=step))
    h, c = cell(draws(2, 3, step=step + 1), (h, c))
    return h * c


def tree(cell: Any, step: int) -> Any:
    one, two, three = (cell.leaf(draws(2, 3, step=step + i)) for i in range(3))
    h, c = cell.node(cell.node(one, two), three)
    return h * c


Made = tuple[Callable[..., Any], Callable[[Any, int], Any]]  # Any: layers and expressions of every kind
F64 = np.float64
LAYERS: dict[str, Made] = {
    "Linear": (lambda s: nn.Linear.make(s, 3, 4, seed=0, dtype=F64), lambda m, i: m(draws(2, 3, step=i))),
    "Linear on more axes": (
        lambda s: nn.Linear.make(s, 3, 4, seed=0, dtype=F64),
        lambda m, i: m(draws(2, 2, 3, step=i)),
    ),
    "Embedding": (
        lambda s: nn.Embedding.make(s, 5, 4, seed=0, dtype=F64),
        lambda m, i: m([[i % 5, 1], [1, 4]]),
    ),
    "Conv2d": (
        lambda s: nn.Conv2d.make(s, 2, 3, 3, seed=0, dtype=F64),
        lambda m, i: m(draws(2, 2, 5, 4, step=i)),
    ),
    "LayerNorm": (lambda s: nn.LayerNorm.make(s, 4, dtype=F64), lambda m, i: m(draws(3, 4, step=i))),
    "LSTMCell": (lambda s: nn.LSTMCell.make(s, 3, 4, seed=0, dtype=F64), lstm),
    "TreeLSTM": (lambda s: nn.TreeLSTM.make(s, 3, 4, seed=0, dtype=F64), tree),
    "GRUCell": (
        lambda s: nn.GRUCell.make(s, 3, 4, seed=0, dtype=F64),
        lambda m, i: m(draws(2, 3, step=i + 1), m(draws(2, 3, step=i))),
    ),
    "MultiHeadAttention": (
        lambda s: nn.MultiHeadAttention.make(s, 4, 2, seed=0, dtype=F64),
        lambda m, i: m(draws(2, 3, 4, step=i)),
    ),
    "Dropout": (
        lambda s: nn.Sequential(nn.Linear.make(s, 3, 4, seed=0, dtype=F64), wg.relu, nn.Dropout(0.5)),
        lambda m, i: m(draws(2, 3, step=i), seed=(i, 1)),
    ),
}


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_train_alike(name: str, optimizer: str) -> None:
    make, call = LAYERS[name]

    def network() -> tuple[Sequence[Any], Any]:
        model = make(OPTIMIZERS[optimizer]())

        def loss(i: int) -> Any:
            y = call(model, i)
            return wg.mean(wg.square(y - np.linspace(-1, 1, np.prod(y.shape)).reshape(y.shape)))

        return list(nn.weights(model).values()), loss

    alike(network, steps=5)
    model = make(OPTIMIZERS[optimizer]())
    predicted(call(model, 0))
