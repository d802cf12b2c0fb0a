"""Blocks of functions that can be imported go through plain pickle, all others through cloudpickle."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from wengert import fold as td
from wengert import plugins

# Any: blocks of every type, as a table of them has
AnyBlock = td.Block[Any, Any]
Travel = Callable[[Any], Any]


def by_pickle(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


def by_cloudpickle(x: Any) -> Any:
    return cloudpickle.loads(cloudpickle.dumps(x))


TRAVELS = [by_pickle, by_cloudpickle, copy.deepcopy]


def double(x: td.Tensors) -> td.Tensors:
    return x * 2.0


@wg.run.cell
def halved(x: td.Tensors) -> td.Tensors:
    return x * 0.5


def is_pair(x: object) -> bool:
    return isinstance(x, tuple)


class Settings(plugins.Adam, plugins.LearningRate):
    """Settings with a state of the weight's own."""


def tree() -> AnyBlock:
    """Sums of pairs, as deep as they are."""
    of: Any = td.ForwardDeclaration(td.PyObjectType(), td.TensorType((2,)))
    pair: Any = td.Record((of(), of())) >> td.Concat() >> td.FC(2, wg.tanh, name="pair")
    whole: AnyBlock = td.OneOf(
        is_pair, {True: pair, False: td.Scalar("int32") >> td.Embedding(5, 2, name="leaf")}
    )
    of.resolve_to(whole)
    return whole


def shared() -> AnyBlock:
    layer = td.FC(2, None, name="both", settings=Settings(learning_rate=0.1))
    pair: Any = td.AllOf(layer, layer >> layer)
    block: AnyBlock = td.Vector(2) >> pair >> td.Function(wg.add)
    return block


def of(*parts: Any) -> AnyBlock:
    block: Any = parts[0]
    for part in parts[1:]:
        block = block >> part
    whole: AnyBlock = block
    return whole


BLOCKS: list[tuple[Callable[[], AnyBlock], Any]] = [
    (lambda: of(td.Scalar(), td.Function(wg.negative)), 3),
    (lambda: of(td.Scalar(), td.Function(double)), 3),
    (lambda: of(td.Scalar(), td.Function(halved)), 3),
    (lambda: of(td.Scalar(), td.Function(double, batched=True)), 3),
    (lambda: of(td.Vector(2), td.Function(td.FC(2, name="f"))), [1, 2]),
    (lambda: of(td.Vector(2), td.FC(3, weight_norm=True, name="f")), [1, 2]),
    (lambda: of(td.Record((td.Scalar(), td.Vector(2))), td.Concat()), (1, [2, 3])),
    (lambda: of(td.Map(td.Scalar()), td.Fold(td.Function(wg.add), td.Zeros([]))), [1, 2, 3]),
    (lambda: of(td.Map(td.Scalar()), td.NGrams(2), td.Map(td.Function(wg.add)), td.Mean()), [1, 2, 3]),
    (lambda: of(td.Map(td.Scalar()), td.Stack(), td.Function(wg.sum)), [1, 2, 3]),
    (
        lambda: of(td.Scalar(), td.Switch(td.Function(wg.abs), (td.Function(wg.exp), td.Function(double)))),
        1,
    ),
    (tree, ((1, 2), 3)),
    (shared, [1, 2]),
]


@pytest.mark.parametrize("travel", TRAVELS)
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize(("made", "x"), BLOCKS)
def test_blocks_travel(made: Callable[[], AnyBlock], x: Any, used: bool, travel: Travel) -> None:
    block = made()
    expected = np.asarray(made().eval(x))
    if used:  # what it has been traced for stays behind
        block.eval(x)
    again = travel(block)
    assert repr(again) == repr(block)
    assert (again.input_type, again.output_type) == (block.input_type, block.output_type)
    np.testing.assert_array_equal(np.asarray(again.eval(x)), expected)


def trained(block: AnyBlock, x: Any, steps: int) -> list[float]:
    """The losses of some steps."""
    losses = []
    for _ in range(steps):
        layer: Any = block.build(x)
        losses.append(float(wg.sum(wg.square(layer - 1.0)).train().run()))
    return losses


@pytest.mark.parametrize("travel", TRAVELS)
@pytest.mark.parametrize(("made", "x"), [(tree, ((1, 2), 3)), (shared, [1, 2])])
def test_training_goes_on_with_the_same_bits(made: Callable[[], AnyBlock], x: Any, travel: Travel) -> None:
    block = made()
    trained(block, x, 3)
    again = travel(block)
    went_on = trained(block, x, 4)
    assert went_on[-1] < went_on[0]
    assert (
        trained(again, x, 4) == went_on
    )  # the optimizer's state has travelled, and the copy has weights of its own
    assert trained(again, x, 1)[0] < went_on[-1]


@pytest.mark.parametrize("travel", TRAVELS)
def test_weights_that_are_shared_stay_one(travel: Travel) -> None:
    layer = td.FC(2, None, name="both")
    pair: Any = (td.Vector(2) >> layer, td.Vector(2) >> layer >> td.Function(wg.exp))
    a, (one, two) = travel((layer, pair))
    before = [np.asarray(block.eval([1, 1])) for block in (one, two)]
    np.testing.assert_array_equal(np.exp(before[0]), before[1])
    wg.sum(one.build([1, 1])).train().run()
    assert not np.array_equal(one.eval([1, 1]), before[0])
    np.testing.assert_array_equal(np.exp(one.eval([1, 1])), two.eval([1, 1]))
    assert np.asarray(layer.weights.data).tolist() != np.asarray(a.weights.data).tolist()


def test_an_error_names_the_line_of_the_block_after_the_way() -> None:
    block = by_pickle(of(td.Scalar(), td.Function(double), td.Function(wg.log)))
    with pytest.raises(wg.errors.WengertError, match=r"test_pickling\.py:\d+"):
        block.eval("no number")


def test_a_compiler_travels() -> None:
    compiler = td.Compiler.create(of(td.Vector(2), td.FC(2, name="f")))
    again = by_pickle(compiler)
    (here,), (there,) = (c.build([[1, 2], [3, 4]]).output_tensors for c in (compiler, again))
    np.testing.assert_array_equal(here.predict().run(), there.predict().run())


def test_a_lambda_needs_cloudpickle() -> None:
    block: AnyBlock = td.Scalar() >> td.Function(lambda x: x * 2.0)
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(block)
    assert by_cloudpickle(block).eval(4) == 8.0


def test_a_cell_of_a_module_is_pickled_by_name() -> None:
    assert by_pickle(halved) is halved


SCRIPT = """
import sys, cloudpickle, wengert as wg
from wengert import fold as td

@wg.run.cell
def tripled(x):
    return x * 3.0

sys.stdout.buffer.write(cloudpickle.dumps(td.Scalar() >> td.Function(tripled)))
"""


def test_a_cell_of_a_script_goes_by_its_code() -> None:
    """Another `__main__` has none of that name."""
    written = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True).stdout
    assert pickle.loads(written).eval(2) == 6.0
