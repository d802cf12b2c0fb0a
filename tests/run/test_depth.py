"""S8: long chains of nodes and of binds run without recursion, forward and back."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import wengert as wg
from wengert import Do, DoubleLayer, DoubleWeight
from wengert.plugins import SGD
from wengert.run import Sequential
from wengert.run.evaluation import Evaluation

from .counting import Counted


def weight(rate: float = 1.0) -> DoubleWeight:
    return SGD(learning_rate=rate).double_weight(1.0)


def chain(w: DoubleWeight, length: int) -> DoubleLayer:
    x: DoubleLayer = w + 1.0
    for _ in range(length - 1):
        x = x + 1.0
    return x


@wg.differentiable
async def step(x: DoubleLayer) -> DoubleLayer:
    return x + 1.0 if await x < 1e9 else x


@wg.differentiable
async def countdown(x: DoubleLayer, left: int) -> DoubleLayer:
    await x
    return countdown(x + 1.0, left - 1) if left else x


class TestS8:
    """Depth costs memory only."""

    def test_a_chain_of_50000_nodes(self) -> None:
        w = weight()
        loss = chain(w, 50_000)
        assert loss.train().run() == 50_001.0
        assert w.data == 0.0
        assert wg.gradients(loss, (w,)).run() == (1.0,)

    @pytest.mark.slow  # about 4 s
    def test_a_chain_of_1000000_nodes(self) -> None:
        w = weight()
        loss = chain(w, 1_000_000)
        assert loss.train().run() == 1_000_001.0
        assert w.data == 0.0

    @pytest.mark.slow
    def test_a_chain_of_nodes_is_let_go_without_recursion(self) -> None:
        w = weight()
        kept, loss = weakref.ref(w), chain(w, 200_000)
        del w, loss
        assert kept() is None

    def test_a_wide_sum_and_a_deep_diamond(self) -> None:
        w = weight()
        x: DoubleLayer = w * 1.0
        for _ in range(20_000):
            x = x * 0.5 + x * 0.5
        assert x.train().run() == 1.0
        assert w.data == 0.0

    def test_a_failure_at_the_bottom_of_a_chain(self) -> None:
        counted = Counted(forward_failure=lambda: ZeroDivisionError("bottom"))
        x = counted.apply(weight())
        for _ in range(20_000):
            x = x + 1.0
        with pytest.raises(ZeroDivisionError, match="bottom"):
            x.train().run()

    def test_binds_that_follow_each_other(self) -> None:
        w = weight()
        x: DoubleLayer = w * 1.0
        for _ in range(2_000):
            x = step(x)
        assert x.train().run() == 2_001.0
        assert w.data == 0.0

    @pytest.mark.slow  # about 2 s
    def test_10000_binds_that_follow_each_other(self) -> None:
        w = weight()
        x: DoubleLayer = w * 1.0
        for _ in range(10_000):
            x = step(x)
        assert x.train().run() == 10_001.0
        assert w.data == 0.0

    def test_binds_within_binds(self) -> None:
        w = weight()
        assert countdown(w * 1.0, 2_000).train().run() == 2_001.0
        assert w.data == 0.0

    @pytest.mark.slow  # about 2 s
    def test_10000_binds_within_binds(self) -> None:
        w = weight()
        assert countdown(w * 1.0, 10_000).train().run() == 10_001.0
        assert w.data == 0.0

    def test_layers_of_a_do_that_follow_each_other(self) -> None:
        w = weight()
        x: DoubleLayer = w * 1.0
        for _ in range(2_000):
            x = DoubleLayer(x.forward.map(lambda tape: tape)) + 1.0
        assert x.train().run() == 2_001.0
        assert w.data == 0.0

    @pytest.mark.slow  # about 2 s
    def test_1000000_flat_maps_between_forward_and_backward(self) -> None:
        w = weight()

        def then(n: int) -> Do[int]:
            return Do.now(n + 1)

        counting: Do[int] = Do.now(0)
        for _ in range(1_000_000):
            counting = counting.flat_map(then)
        layer = DoubleLayer(counting.flat_map(lambda n: (w * float(n)).forward))
        assert layer.train().run() == 1e6
        assert w.data == 1.0 - 1e6
        del counting, layer

    def test_a_product_of_10000_fields(self) -> None:
        w = weight()
        fields: Any = tuple(w * float(i) for i in range(10_000))  # Any: a tuple whose length its type has not
        assert sum(wg.predict(fields).run()) == sum(range(10_000))


class Sliced(list[Any]):  # Any: nodes
    """A list that counts the elements of all its slices."""

    copied = 0

    def __getitem__(self, at: Any) -> Any:  # Any: an index or a slice, and what is there
        found = super().__getitem__(at)
        if not isinstance(at, slice):
            return found
        Sliced.copied += len(found)
        return Sliced(found)


def test_s2_what_waits_beside_each_other_costs_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Evaluation.begin
    monkeypatch.setattr(Evaluation, "begin", lambda *arguments: Sliced(begin(*arguments)))

    @wg.differentiable
    async def waits(x: DoubleLayer) -> DoubleLayer:
        return x * await x

    def copied(binds: int) -> int:
        w = SGD(learning_rate=1.0).double_weight(1.0)
        loss = wg.lift(0.0)
        for _ in range(binds):
            loss = loss + waits(w * 1.0)
        Sliced.copied = 0
        assert loss.train().run(Sequential(compiled=False)) == binds
        assert w.data == 1.0 - binds
        return Sliced.copied

    assert 0 < copied(200) < 3 * copied(100)
