"""The examples of plugins do what they say, each in under 60 lines; what such plugins may not do (D69, D71 to D73)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import wengert as wg
from tests.run.planned import same
from tests.test_examples import EXAMPLES, example
from wengert.errors import ArgumentError
from wengert.extend import HOST, Rules, kinds
from wengert.plugins import SGD, Plugin, merged_rules
from wengert.run import Sequential
from wengert.testing import check_gradients

WORKED = sorted(EXAMPLES.glob("plugin_*.py"))


@pytest.mark.parametrize("path", WORKED, ids=lambda path: path.stem)
def test_a_worked_example_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 60


def test_an_operation_is_added() -> None:  # D71
    module = example("plugin_operation")
    assert module.main() == (2.0, [-2.5, 2.0])
    settings = module.Settings(learning_rate=0.1, slope=0.5)
    d, f = settings.double_weight(-2.0), settings.float_weight(3.0)
    assert (settings.leaky(d).predict().run(), settings.leaky(f).predict().run()) == (-1.0, 3.0)
    assert wg.gradients(settings.leaky(d), (d,)).run() == (0.5,)
    check_gradients(lambda x: wg.sum(settings.leaky(x)), np.array([[-2.0, 3.0]], np.float64))


def test_an_operation_is_changed_for_some_runs_only() -> None:  # D72
    module = example("plugin_changed_operation")
    usual, changed = module.main()
    assert usual == [[1.02, 0.0]]
    assert np.allclose(changed, [[1.0, -0.05]])
    executor = Sequential(rules=merged_rules(module.Settings))
    w = module.Settings(learning_rate=1.0).array_weight(np.array([-1.0, 2.0], np.float64))
    loss = wg.sum(wg.relu(w))
    for _ in range(10):  # long enough for a plan, of which such runs know nothing
        assert loss.predict().run() == 2.0
        assert loss.predict().run(executor) == pytest.approx(1.9)
    (delta,) = wg.gradients(loss, (w,)).run(executor)
    assert delta.tolist() == [0.1, 1.0]
    loss.train().run(executor)
    assert w.data.tolist() == [-1.1, 1.0]


def test_the_leftmost_plugins_rule_wins() -> None:
    def rule(factor: float) -> Any:  # Any: rules are written for all values
        return lambda case, x: factor * x

    class Left(Plugin):
        rules = {wg.exp: rule(2.0)}  # noqa: RUF012 # a plugin's rules do not change

    class Right(Plugin):
        rules = {wg.exp: rule(3.0), wg.log: rule(4.0)}  # noqa: RUF012 # as above

    executor = Sequential(rules=merged_rules(type("Both", (Left, Right), {})))
    x = wg.lift(1.0)
    assert wg.exp(x).predict().run(executor) == 2.0
    assert wg.log(x).predict().run(executor) == 4.0


def test_a_rule_keeps_the_derivative_and_rules_may_bring_one() -> None:
    w = SGD(learning_rate=1.0).double_weight(3.0)
    kept = Sequential(rules={wg.square: lambda case, x: 10.0 * x})
    own = Rules(kinds.elementwise, lambda case, x: 10.0 * x, (lambda case, g, y, x: 10.0 * g,))
    assert wg.square(w).predict().run(kept) == 30.0
    assert wg.gradients(wg.square(w), (w,)).run(kept) == (6.0,)
    assert wg.gradients(wg.square(w), (w,)).run(Sequential(rules={wg.square: own})) == (10.0,)


def test_operators_and_what_lies_below_a_bind_are_changed_too() -> None:
    @wg.differentiable
    async def network(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return x * 2.0 if await (x * 1.0) > 5.0 else x * 3.0

    executor = Sequential(rules={wg.multiply: lambda case, a, b: a + 10.0 * b})
    assert network(wg.lift(1.0)).predict().run() == 3.0
    assert network(wg.lift(1.0)).predict().run(executor) == 21.0


def test_arrays_are_replaced() -> None:  # D73
    usual, counted, calls = example("plugin_arrays").main()
    assert usual == counted
    assert {name: calls[name] for name in ("matmul", "exp", "sum")} == {"matmul": 1, "exp": 1, "sum": 1}


def test_by_other_arrays_a_network_trains_alike() -> None:
    module = example("plugin_arrays")

    def trained(counts: bool) -> list[Any]:
        chance = np.random.default_rng(0)
        settings = module.Settings(learning_rate=0.1)
        w, b = settings.array_weight(chance.standard_normal((4, 3))), settings.array_weight(np.zeros(3))
        executor = settings.executor() if counts else Sequential(compiled=False)
        losses = []
        for _ in range(5):
            h = wg.tanh(wg.matmul(chance.standard_normal((6, 4)), w) + b)
            loss = wg.mean(wg.square(h - 1.0)) + wg.sum(wg.softmax(w) * wg.log_softmax(w))
            losses.append(np.array(loss.train().run(executor)))
        assert bool(settings.counting.calls) is counts
        return [*losses, np.array(w.data), np.array(b.data)]

    same(trained(False), trained(True), tolerance=0.0)


def test_what_is_no_operation_is_refused() -> None:
    wrong: Any = {len: lambda case, x: x}
    with pytest.raises(ArgumentError, match=r"`rules` has operations as keys, as in \{wg\.relu: rule\}; got"):
        Sequential(rules=wrong)


def test_a_cell_is_refused_where_its_inside_would_not_change() -> None:
    @wg.run.cell
    def inside(x: Any) -> Any:  # Any: a cell is traced once for each kind
        return wg.exp(x)

    for executor in (Sequential(rules={wg.exp: lambda case, x: x}), Sequential(arrays=HOST)):
        with pytest.raises(ArgumentError, match="inside is a cell, whose inside an executor"):
            inside(wg.lift(1.0)).predict().run(executor)


def test_weights_are_dumped_after_each_commit(tmp_path: Path) -> None:  # D69
    module = example("plugin_dumping")
    assert module.main() == [2.0, 1.0, 0.5]
    settings = module.Settings(learning_rate=0.5, directory=tmp_path)
    a, b = settings.array_weight(np.ones(2), name="a"), settings.float_weight(2.0, name="b")
    (wg.sum(a) * 1.0).train().run()
    (b * 1.0).train().run()
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.npy"))
    assert files == ["0/a.npy", "1/b.npy"]
    assert np.load(tmp_path / "0" / "a.npy").tolist() == [0.5, 0.5]


def test_a_dump_that_fails_is_told_and_the_commit_stays(tmp_path: Path) -> None:
    settings = example("plugin_dumping").Settings(learning_rate=0.5, directory=tmp_path / "missing")
    w = settings.double_weight(2.0, name="w")
    with pytest.raises(FileNotFoundError):
        (w * 1.0).train().run()
    assert w.data == 1.5
    assert cloudpickle.loads(cloudpickle.dumps(w)).data == 1.5
