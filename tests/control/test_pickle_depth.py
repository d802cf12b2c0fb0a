"""S14 and S8 together: long chains cross a process boundary without recursion, and what is shared stays shared."""

from __future__ import annotations

import cloudpickle
import pytest

import wengert as wg
from wengert.control import Do
from wengert.plugins import SGD, Names


def through_a_pickle(x: object) -> object:
    return cloudpickle.loads(cloudpickle.dumps(x))


@pytest.mark.slow
def test_a_do_of_20000_links() -> None:
    chain: Do[int] = Do.now(0)
    for _ in range(5_000):
        chain = chain.map(lambda n: n + 1).flat_map(lambda n: Do.now(n + 1)).nested().recover(Do.fail)
    copy = through_a_pickle(chain)
    assert isinstance(copy, Do)
    assert copy.run() == 10_000


def test_a_network_of_5000_nodes_and_its_diamonds() -> None:
    w = SGD(learning_rate=0.1).double_weight(1.0)
    x = w * 1.0
    for _ in range(2_500):
        x = (x + x) * 0.5
    copy = through_a_pickle((x.predict(), x.train()))
    assert isinstance(copy, tuple)
    assert [do.run() for do in copy] == [1.0, 1.0]


def test_nodes_that_several_layers_share_are_one_node_afterwards() -> None:
    w = SGD(learning_rate=0.1).double_weight(2.0)
    shared = w * 3.0
    for order in ([shared + shared, shared * 2.0, shared], [shared, shared * 2.0, shared + shared]):
        copies = through_a_pickle(order)
        assert isinstance(copies, list)
        below = {
            id(operand) for copy in copies for operand in copy.operands if isinstance(operand, wg.DoubleLayer)
        }
        assert len(below) == 1
        assert [copy.predict().run() for copy in copies] == [x.predict().run() for x in order]


def test_the_site_of_a_node_is_kept_as_text() -> None:
    layer = SGD(learning_rate=0.1).double_weight(2.0) * 3.0
    copy = through_a_pickle(layer)
    assert isinstance(copy, wg.DoubleLayer)
    assert copy.site == layer.site


def test_a_weight_with_a_name_is_found_by_it_afterwards() -> None:
    class Settings(Names, SGD): ...

    w = Settings(learning_rate=0.1).double_weight(2.0, name="w1")
    copy = through_a_pickle(w)
    assert isinstance(copy, wg.DoubleWeight)
    assert copy.name == "w1"
    assert copy.optimizer.settings.weights == {"w1": copy}  # type: ignore[attr-defined] # `Names` gives it
