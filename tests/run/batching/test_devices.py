"""`Batched` on arrays of a device: like parts in one launch, tables of rows there, the values of the host.

There is no device here: arrays of a class named as cupy's stand for its, kernels are executed by g++.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import wengert as wg
from tests.arrays.cuda_host import has_compiler
from tests.arrays.device import Fake, device_over
from tests.run.batching.trees import TreeLSTM, trees
from tests.run.planned import eager
from wengert import fold as td
from wengert.errors import DeviceError
from wengert.plugins import SGD
from wengert.run import Batched, Sequential

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_compiler(), reason="g++ executes kernels where there is no device"),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fake]:
    """A device of numpy's."""
    with device_over(tmp_path_factory.mktemp("kernels")) as made:
        yield made


@pytest.fixture
def fake(whole: Fake) -> Fake:
    """The same, counting anew."""
    whole.reset()
    return whole


class Far:
    """Settings whose weights lie on a device."""

    def __init__(self, on: Any) -> None:  # Any: makes an array there
        self._on, self._settings = on, SGD(learning_rate=0.1)

    def array_weight(self, x: Any) -> Any:
        return self._settings.array_weight(self._on(x))


def losses(executor: Any, where: Any) -> tuple[list[Any], Any]:  # Any: an interpreter, a class of arrays
    """Some steps of a loss of three examples."""
    w = SGD(learning_rate=0.25).array_weight(where(np.arange(1, 5, dtype=np.float32) / 8))
    x = [where(np.arange(4, dtype=np.float32) / 4 + k) for k in range(3)]

    def loss() -> Any:
        rows = [wg.tanh(wg.lift(row) * w) * 0.5 for row in x]
        return wg.mean(rows[0] + rows[1] * rows[2])

    return [loss().train().run(executor) for _ in range(3)], w.data


def test_a_few_rows_train_as_on_the_host(fake: Fake) -> None:
    batched = Batched()
    wanted, w = losses(Sequential(compiled=False), np.array)
    found, v = losses(batched, fake.on)
    assert fake.reads == 0, "the loss is read when somebody asks for it, and nothing else is"
    assert_allclose([*map(fake.read, found)], wanted, rtol=1e-5)
    assert_allclose(fake.read(v), w, rtol=1e-5)
    assert 3.0 in [line.width for line in batched.report.lines.values() if line.name == "tanh"]
    assert "one by one" not in str(batched.report)


def tree_model(on: Any, dtype: Any) -> TreeLSTM:  # Any: as above; None: on the host
    model = TreeLSTM(5, dtype, None if on is None else Far(on))
    if on is not None:
        model.zero = on(model.zero)
    return model


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_batch_of_trees_is_launched_level_by_level(fake: Fake, dtype: Any) -> None:
    """As many launches as for one deep tree, however many trees there are; the host reads nothing."""
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    far, near, executor = tree_model(fake.on, dtype), tree_model(None, dtype), Batched()
    for seed, count in ((1, 6), (1, 6), (2, 9)):
        examples = trees(seed, count)
        wanted = near.loss(examples).train().run(Sequential(compiled=False))
        loss = far.loss(examples)
        fake.reset()
        found = loss.train().run(executor)
        assert fake.reads == 0
        assert_allclose(fake.read(found), wanted, rtol=tolerance)
    for mine, theirs in zip(far.weights, near.weights, strict=True):
        assert_allclose(fake.read(mine.data), theirs.data, rtol=tolerance, atol=tolerance)
    batched, loss = fake.launches.total(), far.loss(examples)
    fake.reset()
    loss.train().run(Sequential(compiled=False))
    assert batched * 4 < fake.launches.total(), (batched, fake.launches.total())


@pytest.mark.parametrize("how", ["batched", "plans", "node by node"])
def test_a_second_device(how: str, fake: Fake) -> None:
    """All launches are on the device of their arrays, which the caller has entered, and so is all that they make."""
    device, near = fake.device(1), tree_model(None, np.float32)
    executor = {"batched": Batched(), "plans": eager()[0], "node by node": Sequential(compiled=False)}[how]
    with device:
        far = tree_model(fake.on, np.float32)
        for seed in (1, 1, 2):
            examples = trees(seed, 5)
            wanted = near.loss(examples).train().run(Sequential(compiled=False))
            found = far.loss(examples).train().run(executor)
            assert found.device == device
            assert_allclose(fake.read(found), wanted, rtol=1e-5)
        deltas = wg.gradients(far.loss(trees(3, 2)), far.weights).run(executor)
        assert {str(x.device) for x in (*deltas, *(w.data for w in far.weights))} == {str(device)}


def test_launches_do_not_grow_with_the_number_of_trees(fake: Fake) -> None:
    model, counts = tree_model(fake.on, np.float32), []
    for count in (2, 40):
        executor, tree = Batched(), ((0, 1), (2, (3, 4)))
        for _ in range(2):
            loss = model.loss([tree] * count)
            fake.reset()
            loss.train().run(executor)
        counts.append(fake.launches.total())
    assert counts[1] <= 1.1 * counts[0], counts


def sentiment(fake: Fake | None) -> Any:
    """A block of Fold's over trees of words; its types say nothing of devices, so functions bring what they get."""
    chance = np.random.default_rng(5)
    settings: Any = SGD(learning_rate=0.1) if fake is None else Far(fake.on)
    device: Any = "cpu" if fake is None else fake.device()
    table, gates = (
        settings.array_weight(chance.normal(size=shape).astype(np.float32)) for shape in ((7, 4), (8, 4))
    )

    def joined(left: Any, right: Any) -> Any:
        return wg.tanh(wg.to_device(wg.concat((left, right), axis=-1), device) @ gates)

    made: Any = td  # Any: programs as people wrote them, without types
    tree = made.ForwardDeclaration(made.PyObjectType(), made.TensorType((4,)))
    leaf = made.Scalar("int64") >> made.Function(lambda i: wg.take(table, i, axis=0))
    pair = made.AllOf(made.GetItem(0) >> tree(), made.GetItem(1) >> tree()) >> made.Function(joined)
    block = made.OneOf(lambda x: isinstance(x, tuple), {False: leaf, True: pair})
    tree.resolve_to(block)
    return made.Compiler.create(block)


def test_blocks_of_fold_are_launched_together(fake: Fake) -> None:
    far, near, executor, examples = sentiment(fake), sentiment(None), Batched(), trees(4, 30)

    def loss(compiler: Any) -> Any:
        (found,) = compiler.build(examples).output_tensors
        return wg.mean(wg.square(found))

    for _ in range(3):
        wanted = loss(near).train().run(Sequential(compiled=False))
        step = loss(far)
        fake.reset()
        found = step.train().run(executor)
        assert fake.reads == 0
        assert_allclose(fake.read(found), wanted, rtol=1e-5)
    batched = fake.launches.total()
    fake.reset()
    loss(far).train().run(Sequential(compiled=False))
    assert batched * 4 < fake.launches.total(), (batched, fake.launches.total())


def test_the_same_bits_twice(fake: Fake) -> None:
    def trained() -> list[bytes]:
        model, executor = tree_model(fake.on, np.float32), Batched()
        for seed in range(3):
            model.loss(trees(seed, 5)).train().run(executor)
        return [fake.read(w.data).tobytes() for w in model.weights]

    assert trained() == trained()


def test_what_is_on_the_host_runs_together_beside_it(fake: Fake) -> None:
    batched = Batched()
    far = [wg.tanh(wg.lift(fake.on(np.full(4, k, np.float32)))) for k in range(3)]
    near = [wg.tanh(wg.lift(np.full(4, k, np.float32))) for k in range(3)]
    found = wg.predict((far[0] + far[1] * far[2], near[0] + near[1] * near[2])).run(batched)
    assert_allclose(fake.read(found[0]), found[1], rtol=1e-6)
    widths = [line.width for line in batched.report.lines.values() if line.name == "tanh"]
    assert widths == [3.0, 3.0]


def test_numbers_and_labels_of_the_host_go_to_the_device(fake: Fake) -> None:
    """Numbers that differ from row to row, and a row of a table by an index: as operands of arrays there."""

    def loss(where: Any) -> Any:
        table = SGD(learning_rate=0.5).array_weight(where(np.arange(12.0, dtype=np.float32).reshape(4, 3)))
        rows = [wg.tanh(wg.take(table, i % 4, axis=0) * (0.1 * i)) for i in range(6)]
        return table, partial(wg.sum, wg.stack(tuple(rows)))

    wanted, near = loss(np.array)
    found, far = loss(fake.on)
    for _ in range(2):
        expected = near().train().run(Sequential(compiled=False))
        assert_allclose(fake.read(far().train().run(Batched())), expected, rtol=1e-5)
    assert_allclose(fake.read(found.data), wanted.data, rtol=1e-5)


def test_a_number_that_learns_beside_arrays_of_a_device_runs_alone(fake: Fake) -> None:
    def trained(where: Any, executor: Any) -> float:
        scale = SGD(learning_rate=0.1).double_weight(0.5)
        x = [wg.lift(where(np.full(3, k, np.float64))) for k in range(3)]
        scales = [wg.tanh(scale * (k + 1.0)) for k in range(3)]
        wg.sum(wg.stack(tuple(a * s for a, s in zip(x, scales, strict=True)))).train().run(executor)
        return scale.data

    batched = Batched()
    assert trained(fake.on, batched) == pytest.approx(trained(np.array, Sequential(compiled=False)))


def test_without_memory_a_batch_says_so_and_nothing_changes(fake: Fake) -> None:
    model, executor = tree_model(fake.on, np.float32), Batched()
    loss = model.loss(trees(1, 6))
    loss.train().run(executor)
    before = [fake.read(w.data).copy() for w in model.weights]
    fake.limit = fake.bytes + 200
    try:
        with pytest.raises(DeviceError, match=r"has no memory left for .*no weight has changed"):
            loss.train().run(executor)
    finally:
        fake.limit = float("inf")
    for w, x in zip(model.weights, before, strict=True):
        assert np.array_equal(fake.read(w.data), x)


def test_without_a_compiler_a_batch_says_what_to_write(tmp_path: Any) -> None:
    with device_over(tmp_path) as other:
        model = tree_model(other.on, np.float32)
        other.failure = RuntimeError("libnvrtc.so.12: cannot open shared object file")
        with pytest.raises(DeviceError, match=r"(?s)no kernel.*cannot open.*compiled=False"):
            model.loss(trees(1, 4)).train().run(Batched())
