"""`fit` on a device that numpy stands for: the host's losses, and nothing read but the loss, once a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg
from tests.arrays.cuda_host import has_compiler
from tests.arrays.device import Fake, device_over
from tests.run.batching.trees import TreeLSTM, trees
from tests.run.planned import eager
from wengert.data import Items
from wengert.plugins import FailOnNonFinite, LearningRate, Momentum
from wengert.run import Batched
from wengert.training import Step, fit

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_compiler(), reason="g++ executes kernels where there is no device"),
]
On = Callable[[Any], Any]  # puts an array where a training takes place


class Settings(FailOnNonFinite, Momentum, LearningRate):
    """A rule with a state, and a question about all deltas."""


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    with device_over(tmp_path) as made:
        yield made


class Placed:
    """Settings whose weights begin where `on` puts them."""

    def __init__(self, on: On) -> None:
        self._on, self._settings = on, Settings(learning_rate=0.05, momentum=0.9)

    def array_weight(self, x: Any) -> Any:
        return self._settings.array_weight(self._on(np.asarray(x, np.float32)))


def drawn(*shape: int) -> Any:
    return np.random.default_rng(shape).normal(size=shape) * 0.3


def digits(on: On) -> Any:
    """A perceptron with one hidden layer over images of 8 x 8, and its loss."""
    make = Placed(on).array_weight
    w, b, v = make(drawn(64, 12)), make(np.zeros(12)), make(drawn(12, 10))

    def loss(batch: Items[Any], seed: Any) -> Any:
        x = on(np.stack([image.reshape(-1) for image, _ in batch.items]))
        return wg.cross_entropy(
            wg.relu(wg.lift(x) @ w + b) @ v, np.array([label for _, label in batch.items])
        )

    return loss


def images(on: On) -> Any:
    """A convolution with a bias, and a layer over its rectified images."""
    make = Placed(on).array_weight
    kernel, bias, v = make(drawn(4, 1, 3, 3)), make(np.zeros((4, 1, 1))), make(drawn(4, 10))

    def loss(batch: Items[Any], seed: Any) -> Any:
        x: Any = wg.lift(on(np.stack([image[None] for image, _ in batch.items])))
        h = wg.relu(wg.conv2d(x, kernel) + bias)
        return wg.cross_entropy(wg.mean(h, axis=(2, 3)) @ v, np.array([label for _, label in batch.items]))

    return loss


def sentences(on: On) -> Any:
    """A Tree-LSTM over trees of words."""
    model = TreeLSTM(5, np.float32, Placed(on))
    model.zero = on(model.zero)
    return lambda batch, seed: model.loss(batch.items)


def examples(name: str) -> Items[Any]:
    if name == "sentences":
        return Items(trees(3, 12, most=5))
    chance = np.random.default_rng(0)
    return Items([(chance.normal(size=(8, 8)).astype(np.float32), int(k) % 10) for k in range(12)])


NETS: dict[str, tuple[Callable[[On], Any], Callable[[], Any]]] = {
    "digits": (digits, lambda: eager()[0]),
    "images": (images, lambda: eager()[0]),
    "sentences": (sentences, Batched),
}


def fitted(name: str, on: On, *callbacks: Callable[[Any], None]) -> tuple[float, ...]:
    """The losses of a training with arrays where `on` puts them."""
    make, executor = NETS[name]
    made = fit(
        make(on),
        examples(name),
        seed=1,
        epochs=4,
        batch_size=4,
        executor=executor(),
        callbacks=callbacks,
        show=False,
    )
    return made.losses


@pytest.mark.parametrize("name", NETS)
def test_fit_has_the_losses_of_the_host(name: str, fake: Fake) -> None:
    reads: list[int] = []

    def count(event: Any) -> None:
        if isinstance(event, Step):
            reads.append(fake.reads)
            fake.reset()

    expected = fitted(name, np.asarray)
    reads.clear()
    fake.reset()
    found = fitted(name, fake.on, count)
    assert_allclose(found, expected, rtol=1e-5)
    assert reads == [2] * 12, "the loss once, and once whether all deltas are finite"
