"""Examples that are wired before they are built, also by other processes (F91 to F93)."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from tests.fold.made import data_of, made
from wengert import fold as td
from wengert.plugins import SGD

SETTINGS = SGD(learning_rate=0.1)
WEIGHT = SETTINGS.array_weight(np.full((3,), 2.0, np.float32))


def cell(left: Any, right: Any) -> Any:
    return wg.tanh(left[0] * right[1] + WEIGHT), right[0]


def parity(x: Any) -> bool:
    return isinstance(x, tuple)


def model(calls: list[Any]) -> td.Block[Any, Any]:
    """A recursive network with a table, a constant, metrics and a mean."""

    def word(x: Any) -> Any:
        calls.append(x)
        return x

    tree: td.ForwardDeclaration[Any, Any] = td.ForwardDeclaration()
    row = made.Scalar("int32") >> td.Embedding(5, 3, name="words", settings=SETTINGS)
    leaf = made.InputTransform(word) >> made.AllOf(row, made.Void() >> made.FromTensor(WEIGHT))
    node = made.Record((tree(), tree())) >> made.Function(cell)
    both = made.OneOf(parity, {True: node, False: leaf})
    tree.resolve_to(both)
    kept = made.Record([(0, made.Function(wg.sum)), (1, made.Identity())]) >> made.Metric("root")
    total = made.GetItem(0) >> td.FC(2, settings=SETTINGS, name="classes")
    block: td.Block[Any, Any] = made.AllOf(both, made.InputTransform(str)) >> made.AllOf(
        made.GetItem(0) >> total,
        made.AllOf(made.GetItem(0) >> made.GetItem(0), made.GetItem(1)) >> kept,
        made.GetItem(0) >> made.Map(made.Function(wg.sum)) >> made.Mean(),
        made.GetItem(0)
        >> made.Map(made.Identity())
        >> made.Stack()
        >> made.Function(lambda x: wg.mean(x, axis=0)),
    )
    return block


TREES: list[Any] = [3, (1, 2), ((0, 4), 1), 3]


def test_wired_examples_give_what_the_examples_give() -> None:  # F92
    calls: list[Any] = []
    compiler = td.Compiler.create(model(calls))
    wired = pickle.loads(pickle.dumps(compiler.build_loom_inputs(TREES)))
    calls.clear()
    here, there = compiler.build(wired, metric_labels=True), compiler.build(TREES, metric_labels=True)
    assert calls == [3, 1, 2, 0, 4, 1, 3]
    for a, b in zip(here.output_tensors, there.output_tensors, strict=True):
        np.testing.assert_array_equal(a.predict().run(), b.predict().run())
    assert here.metric_labels == there.metric_labels == {"root": [str(x) for x in TREES]}
    np.testing.assert_array_equal(data_of(here.metric_tensors["root"]), data_of(there.metric_tensors["root"]))


def test_wired_examples_train_the_blocks_own_weights() -> None:  # F92
    compiler = td.Compiler.create(model([]))
    _, first, _ = compiler.build(compiler.build_loom_inputs(TREES)).output_tensors
    _, second, _ = compiler.build(TREES).output_tensors
    ((a,), (b,)) = (wg.gradients(wg.sum(x), (WEIGHT,)).run() for x in (first, second))
    np.testing.assert_array_equal(a, b)
    assert np.any(np.asarray(a))


def test_wired_examples_are_dropped_out_when_they_are_built() -> None:
    compiler = td.Compiler.create(
        made.Vector(64) >> td.FC(64, None, np.eye(64, dtype=np.float32), input_keep_prob=0.5)
    )
    wired = compiler.build_loom_inputs([[1.0] * 64])
    (plain,), (dropped,) = (compiler.build(wired, seed=s).output_tensors for s in (None, 1))
    assert data_of(plain) == [[1.0] * 64] != data_of(dropped)


def test_wired_examples_belong_to_the_block_that_wired_them() -> None:
    wired = td.Compiler.create(made.Scalar() >> made.Function(wg.exp)).build_loom_inputs([1])
    with pytest.raises(ValueError, match=r"(?s)build them with the block that did.*test_wired\.py:"):
        td.Compiler.create(made.Vector(1)).build(wired)


def test_examples_may_come_one_by_one() -> None:  # F91
    compiler = td.Compiler.create(made.Scalar())
    (batch,) = compiler.build(iter(range(5)), batch_size=2).output_tensors
    assert data_of(batch) == [0.0, 1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="at least one example"):
        compiler.build(iter([]), batch_size=2)


@pytest.mark.slow
def test_processes_wire_examples() -> None:  # F93
    compiler = td.Compiler.create(model([]))
    with compiler.multiprocessing_pool(2) as pool:
        wired = pool.build_loom_inputs(TREES, batch_size=2)
    for a, b in zip(compiler.build(wired).output_tensors, compiler.build(TREES).output_tensors, strict=True):
        np.testing.assert_array_equal(a.predict().run(), b.predict().run())


@pytest.mark.slow
def test_processes_prepare_batches_ahead_in_order() -> None:
    compiler, read = td.Compiler.create(model([])), []

    def batches() -> Iterator[list[Any]]:
        for i in range(9):
            read.append(i)
            yield [TREES[i % len(TREES)], TREES[0]]

    with compiler.multiprocessing_pool(2) as pool:
        prepared = pool.batches(batches())
        first = next(prepared)
        assert len(read) == 5, "two a process ahead of the first"
        found = [first, *prepared]
    for i, wired in enumerate(found):
        right = compiler.build([TREES[i % len(TREES)], TREES[0]]).output_tensors
        for a, b in zip(compiler.build(wired).output_tensors, right, strict=True):
            np.testing.assert_array_equal(a.predict().run(), b.predict().run())
    assert len(found) == 9


@pytest.mark.slow
def test_an_error_of_a_process_names_the_example() -> None:
    compiler = td.Compiler.create(td.Vector(2))
    with compiler.multiprocessing_pool(1) as pool:
        with pytest.raises(ValueError, match="shape") as caught:
            list(pool.batches([[[1, 2], [1, 2, 3]]]))
        assert "in example 1 of the batch, [1, 2, 3]" in caught.value.__notes__


def test_blocks_survive_pickling() -> None:  # S14
    block = cloudpickle.loads(cloudpickle.dumps(model([])))
    assert repr(block) == repr(model([]))
    assert block.eval(TREES[2], metrics=False)[0].shape == (2,)


def test_a_block_that_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:  # F93
    def missing(name: str) -> None:
        raise ImportError(name)

    compiler = td.Compiler.create(made.InputTransform(lambda x: x) >> made.Scalar())
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(
        RuntimeError, match=r"(?s)cannot be sent to a process.*install cloudpickle.*test_wired\.py:"
    ):
        compiler.multiprocessing_pool(1)


def test_what_nobody_can_pickle_is_refused_with_the_block() -> None:
    lock = threading.Lock()
    compiler = td.Compiler.create(made.InputTransform(lambda x: (lock, x)[1]) >> td.Scalar())
    with pytest.raises(
        RuntimeError, match=r"(?s)<td.Pipe.*cannot pickle '_thread.lock' object.*test_wired\.py:"
    ):
        compiler.multiprocessing_pool(1)


SCRIPT = """
from wengert import fold as td

compiler = td.Compiler.create(td.Map(td.Scalar()) >> td.Sum())
with compiler.multiprocessing_pool(1) as pool:
    {ask}
"""


@pytest.mark.parametrize(
    "ask", ["pool.build_loom_inputs([[1, 2]])", "print(*pool.batches([[[1, 2]], [[3]]]))"]
)
def test_a_script_without_a_guard_is_told_what_to_write(ask: str, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(ask=ask), encoding="utf-8")
    said = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert (
        "BlockStateError: <td.Pipe blocks=(<td.Map>, <td.Sum>)>: a process of the pool has ended"
        in said.stderr
    )
    assert "put what that does under `if __name__ == '__main__':`" in said.stderr
    assert "script.py:6" in said.stderr
