"""Parts of layers: methods and operators that plugins add, and a `forward` that decides in every run and executor.

A network of settings whose layers halve what they give has to do as the same network of plain weights with `* 0.5`
written around every operation.
"""

from __future__ import annotations

import gc
import logging
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar
from weakref import ref

import cloudpickle
import numpy as np
import pytest

import wengert as wg
import wengert.fold as td
from tests.run.planned import eager
from wengert import Do, Tape, nn
from wengert.errors import ArgumentError, PluginError
from wengert.extend import LayerPart, WeightPart, dense
from wengert.plugins import SGD, LearningRate, Momentum, Plugin
from wengert.run import Batched, Parallel, Sequential

Made = Callable[[], Any]  # Any: losses, and executors, of every class
EXECUTORS: dict[str, Made] = {
    "interpreter": lambda: Sequential(compiled=False),
    "plans": lambda: eager(worth=2)[0],
    "two threads": lambda: Parallel(threads=2),
    "batched": Batched,
    "batched on two threads": lambda: Batched(threads=2),
}


def half(x: Any) -> Any:
    """Of the same type."""
    return type(x)(x * 0.5) if isinstance(x, (float, np.float32)) else x * x.dtype.type(0.5)


class Half(LayerPart):
    """y = x / 2."""

    @property
    def forward(self) -> Do[Tape[Any, Any]]:
        return super().forward.map(
            lambda t: Tape(half(t.data), lambda d: t.backward(d.map(lambda d: half(dense(d)))))
        )


class Halves(Plugin):
    layer: ClassVar[type[LayerPart]] = Half


class Plain(Momentum, LearningRate): ...


class Halving(Halves, Plain): ...


def network(settings: type[Plain], by: Callable[[Any], Any]) -> tuple[tuple[Any, ...], Made]:
    """Weights, and a loss with every way to build a node; `by` is written around each operation."""
    chance, of = np.random.default_rng(5), settings(learning_rate=0.05)
    s, f = of.double_weight(1.5, name="s"), of.float_weight(0.75, name="f")
    v, m = (
        of.array_weight(chance.standard_normal(3), name="v"),
        of.array_weight(chance.standard_normal((4, 3))),
    )
    x = chance.standard_normal((5, 4))

    def loss() -> Any:
        a = by(wg.tanh(by(by(x @ m) + v)))
        b = by(by(by(2.0 - by(by(a[1:]) * s)) / 3.0) ** 2.0)
        c = by(wg.concat((by(abs(by(-b))), by(wg.take(m, [0, 2, 2])))))
        d = by(wg.where(wg.greater(c, 0.01), c, by(wg.stop_gradient(c))))
        e = by(wg.einsum("ij,j->i", d, v))
        g = by(by(f * f) * np.float32(3.0))
        return by(by(wg.mean(e)) + by(wg.astype(g, np.float64)))

    return (s, f, v, m), loss


def halved(x: Any) -> Any:
    return x * (np.float32(0.5) if x.dtype == np.float32 and x.shape == () else 0.5)


@pytest.mark.parametrize("name", EXECUTORS)
def test_the_forward_of_a_part_decides_on_every_executor(name: str) -> None:
    executor = EXECUTORS[name]()
    ours, loss = network(Halving, lambda x: x)
    by_hand, plain = network(Plain, halved)
    for _ in range(12):
        assert loss().train().run(executor) == pytest.approx(plain().train().run(), rel=1e-12)
    for w, u in zip(ours, by_hand, strict=True):
        np.testing.assert_allclose(w.data, u.data, rtol=1e-6 if w.name == "f" else 1e-12)
    for d, e in zip(
        wg.gradients(loss(), ours).run(executor), wg.gradients(plain(), by_hand).run(), strict=True
    ):
        np.testing.assert_allclose(d, e, rtol=1e-6)
    assert loss().predict().run(executor) == pytest.approx(plain().predict().run(), rel=1e-12)


class Squaring(LayerPart):
    """Methods, and an operator that expressions do not have."""

    def squared(self) -> Any:
        return wg.square(self)

    def __or__(self, function: Callable[[Any], Any]) -> Any:
        return function(self)

    def scaled(self) -> Any:
        return wg.multiply(self, self.settings.learning_rate)


class Squares(Plugin):
    layer: ClassVar[type[LayerPart]] = Squaring


class Squared(Squares, SGD): ...


def test_methods_and_operators_are_those_of_every_layer_above_a_weight_of_the_settings() -> None:
    s = Squared(learning_rate=0.5)
    w: Any = s.double_weight(3.0)  # Any: what the parts add
    v = s.array_weight(np.array([1.0, 2.0], np.float64))
    layers = [
        w * 2.0,
        2.0 * w,
        wg.exp(v),
        wg.sum(v),
        v @ v,
        v[0],
        wg.concat((v, v)),
        wg.sum(v) * (w * 1.0).squared(),
    ]
    assert all(isinstance(x, Squaring) for x in layers)
    assert [type(x).__name__ for x in layers[:4]] == ["DoubleLayer"] * 2 + ["ArrayLayer"] * 2
    assert isinstance(w * 2.0, wg.DoubleLayer)
    assert (w * 2.0).squared().squared().predict().run() == 1296.0
    assert (w * 2.0 | wg.negative).predict().run() == -6.0
    assert (w * 2.0).scaled().predict().run() == 3.0
    assert (w * 2.0).settings is s
    assert not isinstance(wg.lift(1.0) * 2.0, Squaring)
    assert not isinstance(wg.greater(w, 0.0), Squaring)  # a mask is no layer


@pytest.mark.parametrize("settings", [Squared, Halving])
def test_masks_and_indices_have_no_part(settings: type[LearningRate]) -> None:
    v = settings(learning_rate=0.5).array_weight(np.array([1.0, 3.0], np.float64))
    factor = 0.5 if settings is Halving else 1.0
    for executor in EXECUTORS.values():
        assert wg.argmax(v).predict().run(executor()) == 1
        assert wg.take(v, wg.argmax(v)).predict().run(executor()) == 3.0 * factor
        assert wg.where(wg.greater(v, 2.0), v, 0.0).predict().run(executor()).tolist() == [0.0, 3.0 * factor]


def test_methods_cost_a_run_nothing() -> None:
    """What is run is what would be run without: the same signatures, so the same plans and launches."""
    w, u = Squared(learning_rate=0.5).double_weight(3.0), SGD(learning_rate=0.5).double_weight(3.0)
    assert (w * 2.0).signature is (u * 2.0).signature


def test_the_first_operand_that_has_parts_decides() -> None:
    one, two = Squared(learning_rate=0.5), Halving(learning_rate=0.5)
    a: Any = one.double_weight(3.0)
    b: Any = two.double_weight(4.0)
    c: Any = SGD(learning_rate=1.0).double_weight(5.0)
    assert (c * a).settings is one
    assert (a * b).settings is one
    assert (b * a).settings is two
    assert [x.predict().run() for x in (a * b, b * a, c * b)] == [12.0, 6.0, 10.0]


class Left(LayerPart):
    @property
    def forward(self) -> Do[Tape[Any, Any]]:
        return super().forward.map(lambda t: Tape(t.data + 1.0, t.backward))


class Lefts(Plugin):
    layer: ClassVar[type[LayerPart]] = Left


def test_parts_that_do_not_know_each_other_reach_each_other_by_super() -> None:
    class Both(Lefts, Halves, SGD): ...

    class Other(Halves, Lefts, SGD): ...

    assert (Both(learning_rate=1.0).double_weight(4.0) * 2.0).predict().run() == 5.0
    assert (Other(learning_rate=1.0).double_weight(4.0) * 2.0).predict().run() == 4.5


def test_a_plugin_that_extends_another_extends_its_part() -> None:
    class Cubing(Squaring):
        def cubed(self) -> Any:
            return self.squared() * self

    class Cubes(Squares):
        layer: ClassVar[type[LayerPart]] = Cubing

    class Settings(Cubes, SGD): ...

    w: Any = Settings(learning_rate=1.0).double_weight(1.0)
    assert (w * 2.0).cubed().predict().run() == 8.0


def test_a_class_may_be_a_part_of_weights_and_of_layers() -> None:
    class Both(WeightPart, LayerPart):
        def tripled(self) -> Any:
            return wg.multiply(self, 3.0)

    class Tripling(Plugin):
        weight: ClassVar[type[WeightPart]] = Both
        layer: ClassVar[type[LayerPart]] = Both

    class Settings(Tripling, SGD): ...

    w: Any = Settings(learning_rate=1.0).double_weight(2.0)
    assert w.tripled().tripled().predict().run() == 18.0


def test_a_part_computes_of_its_layer_with_operations_and_is_not_asked_again() -> None:
    class Saturating(LayerPart):
        def twice(self) -> Any:
            return wg.multiply(self, 2.0)

        @property
        def forward(self) -> Do[Tape[Any, Any]]:
            made: Do[Tape[Any, Any]] = wg.tanh(self.twice()).forward
            return made

    class Saturates(Plugin):
        layer: ClassVar[type[LayerPart]] = Saturating

    class Settings(Saturates, SGD): ...

    w = Settings(learning_rate=0.1).double_weight(0.5)
    layer = w * 1.0
    assert layer.predict().run() == np.tanh(1.0)
    assert layer.forward.run().data == np.tanh(1.0)
    (slope,) = wg.gradients(layer, (w,)).run()
    assert slope == pytest.approx(2.0 * (1.0 - np.tanh(1.0) ** 2))


def test_a_logging_part_tells_each_computation_once_on_every_executor() -> None:
    seen: list[str] = []

    class Telling(LayerPart):
        @property
        def forward(self) -> Do[Tape[Any, Any]]:
            def told(tape: Tape[Any, Any]) -> Tape[Any, Any]:
                seen.append(self.signature.operation.name)  # type: ignore[attr-defined] # of the layer that it is a part of
                return tape

            return super().forward.map(told)

    class Tells(Plugin):
        layer: ClassVar[type[LayerPart]] = Telling

    class Settings(Tells, SGD): ...

    for name, executor in EXECUTORS.items():
        w, chosen = Settings(learning_rate=0.1).array_weight(np.ones(2)), executor()
        for _ in range(4):
            seen.clear()
            shared = wg.exp(w)
            wg.sum(shared * shared).train().run(chosen)
            assert sorted(seen) == ["exp", "multiply", "sum"], name


def test_a_quantising_part_rounds_and_hands_the_delta_through() -> None:
    class Rounding(LayerPart):
        @property
        def forward(self) -> Do[Tape[Any, Any]]:
            bits = self.settings.bits
            return super().forward.map(lambda t: Tape(np.round(t.data * 2.0**bits) / 2.0**bits, t.backward))

    class Quantised(Plugin):
        bits: int
        layer: ClassVar[type[LayerPart]] = Rounding

    class Settings(Quantised, SGD): ...

    for executor in EXECUTORS.values():
        w = Settings(bits=2, learning_rate=1.0).array_weight(np.array([0.3, 0.6], np.float64))
        assert ((w * 1.0).predict().run(executor()) == [0.25, 0.5]).all()
        wg.sum(w * 1.0).train().run(executor())
        np.testing.assert_allclose(w.data, [-0.7, -0.4])


def test_a_dropping_part_draws_by_its_seed_the_same_on_every_executor() -> None:
    class Dropping(LayerPart):
        @property
        def forward(self) -> Do[Tape[Any, Any]]:
            computed: wg.ArrayLayer[Any, np.float64] = wg.ArrayLayer(super().forward)
            return wg.dropout(computed, self.settings.dropped, seed=7).forward

    class Drops(Plugin):
        dropped: float
        layer: ClassVar[type[LayerPart]] = Dropping

    class Settings(Drops, SGD): ...

    found = []
    for executor in EXECUTORS.values():
        w = Settings(dropped=0.5, learning_rate=1.0).array_weight(np.ones(64))
        found.append(
            (wg.exp(w).predict().run(executor()), wg.gradients(wg.sum(w * 2.0), (w,)).run(executor())[0])
        )
    assert 0 < np.count_nonzero(found[0][0]) < 64
    for data, delta in found[1:]:
        assert (data == found[0][0]).all()
        assert (delta == found[0][1]).all()


def test_networks_and_blocks_of_layers_with_parts() -> None:
    x = np.random.default_rng(3).standard_normal((5, 4))
    made = []
    for settings in (Squared, SGD):
        of = settings(learning_rate=0.001)
        linear = nn.Linear.make(of, 4, 3, seed=1, dtype=np.float64)
        rows = wg.sum(linear(x))
        block = td.Map(td.Vector(4, np.float64) >> td.Function(linear)) >> td.Reduce(td.Function(wg.add))
        tree = block.build([*x])
        for _ in range(3):
            losses = [wg.square(rows).train().run(), wg.sum(wg.square(tree)).train().run(Batched())]
        made.append((losses, linear.weight.data))
    assert isinstance(wg.sum(linear(x)), wg.ArrayLayer)
    np.testing.assert_allclose(made[0][0], made[1][0], rtol=1e-12)
    np.testing.assert_allclose(made[0][1], made[1][1], rtol=1e-12)


def test_cells_have_the_methods_within() -> None:
    @wg.cell
    def inner(x: Any, y: Any) -> Any:
        return (x * y).squared()

    w = Squared(learning_rate=0.5).double_weight(3.0)
    made = inner(w, wg.lift(2.0))
    assert isinstance(made, Squaring)
    assert made.squared().predict().run() == 1296.0


def test_a_forward_decides_within_cells_as_it_does_without() -> None:
    def step(x: Any, pair: tuple[Any, Any]) -> Any:
        return x * pair[0] + 1.0, wg.exp(pair[1]) * x

    def twice(f: Any, x: Any, y: Any) -> Any:
        a, b = f(x, (y, x))
        return sum(f(a, (b, y)))

    inner = wg.cell(step)
    cells: list[Any] = [partial(twice, inner), wg.cell(partial(twice, inner)), wg.cell(partial(twice, step))]
    for executor in EXECUTORS.values():
        found = []
        for f in (partial(twice, step), *cells):
            w = Halving(learning_rate=0.5).double_weight(0.25)
            losses = [f(w, wg.lift(0.5)).train().run(executor()) for _ in range(2)]
            found.append((losses, w.data))
        assert found == [found[0]] * 4


def test_what_cells_with_a_forward_inside_refuse() -> None:
    w = Halving(learning_rate=0.5).double_weight(3.0)

    @wg.differentiable
    async def waits(x: wg.DoubleLayer) -> wg.DoubleLayer:
        return wg.lift(await x)

    with pytest.raises(ArgumentError, match="cannot wait"):
        wg.cell(lambda x: waits(x * 2.0))(w)
    with pytest.raises(ArgumentError, match="a cell returns an expression"):
        wg.cell(lambda x: (x * 2.0, "text"))(w)


def test_asynchronous_functions_and_gathers_of_layers_with_parts() -> None:
    @wg.differentiable
    async def chosen(x: Any, y: Any) -> wg.DoubleLayer:
        a, b = await wg.gather(x, y)
        made: wg.DoubleLayer = x * 3.0 if a > b else y * 3.0
        return made

    for executor in EXECUTORS.values():
        w = Halving(learning_rate=1.0).double_weight(4.0)
        assert chosen(w * 2.0, w * 1.0).predict().run(executor()) == 6.0
        assert wg.gather(w * 2.0, w * 1.0).run(executor()) == (4.0, 2.0)


class Named(LayerPart):
    """At module level, so that plain pickle finds it."""

    def doubled(self) -> Any:
        return wg.multiply(self, 2.0)


class Names(Plugin):
    layer: ClassVar[type[LayerPart]] = Named


class Pickled(Names, SGD): ...


@pytest.mark.parametrize("how", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_layers_with_parts_are_pickled(how: Any) -> None:
    w = Pickled(learning_rate=0.5).double_weight(3.0)
    layer, same = pickle.loads(how.dumps((w * 2.0, w)))
    assert layer.doubled().predict().run() == 12.0
    assert layer.operands[0] is same
    assert layer.settings is same.settings


def test_pickled_layers_whose_forward_a_part_decides() -> None:
    w = Halving(learning_rate=0.5).double_weight(4.0)
    layer = pickle.loads(pickle.dumps((w * 2.0) * 3.0))
    assert layer.predict().run() == 6.0


def test_nothing_outlives_a_layer_with_parts() -> None:
    gc.disable()
    try:
        s = Halving(learning_rate=0.5)
        w = s.double_weight(4.0)
        ((w * 2.0) * w).train().run()
        known = ref(s)
        del s, w
        assert known() is None
    finally:
        gc.enable()


def test_a_chain_of_layers_with_parts_needs_no_stack() -> None:
    x: Any = Halving(learning_rate=0.5).double_weight(4.0)
    for _ in range(3000):
        x = x + 1.0
    assert x.train().run() == 1.0


@pytest.mark.parametrize(
    "name",
    ["__mul__", "__radd__", "__getitem__", "predict", "train", "__await__", "data", "shape", "backward"],
)
def test_what_not_every_run_would_obey_is_refused_at_the_class_statement(name: str) -> None:
    with pytest.raises(PluginError, match=f"Wrong.{name}: a part of a layer cannot decide this: "):
        type("Wrong", (LayerPart,), {name: lambda self: None})


def test_a_forward_that_is_no_property_is_refused() -> None:
    with pytest.raises(PluginError, match=r"Wrong\.forward is no property; put @property above its `def`"):

        class Wrong(LayerPart):
            def forward(self) -> Any:  # type: ignore[override] # as is refused
                return None


def test_any_class_is_a_part_and_is_checked_where_a_plugin_names_it() -> None:
    class Halved:
        def halved(self: Any) -> Any:
            return wg.multiply(self, 0.5)

    class Halves(Plugin):
        layer: ClassVar[type] = Halved

    class Settings(Halves, SGD): ...

    w: Any = Settings(learning_rate=1.0).double_weight(2.0)
    assert (w * 1.0).halved().predict().run() == 1.0

    class Wrong:
        data = 3.0

    with pytest.raises(PluginError, match=r"Wrong.data: a part of a layer cannot decide this: "):

        class Bad(Plugin):
            layer: ClassVar[type] = Wrong


def test_slots_are_refused() -> None:
    with pytest.raises(PluginError, match=r"Wrong.__slots__: a layer has slots of its own"):

        class Wrong(LayerPart):
            __slots__ = ("kept",)


def test_a_failure_in_a_part_names_the_line_of_the_operation(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(LayerPart):
        @property
        def forward(self) -> Do[Tape[Any, Any]]:
            return Do.fail(ZeroDivisionError("broken"))

    class Breaks(Plugin):
        layer: ClassVar[type[LayerPart]] = Broken

    class Settings(Breaks, SGD): ...

    caplog.set_level(logging.CRITICAL)
    w = Settings(learning_rate=1.0).double_weight(1.0)
    with pytest.raises(ZeroDivisionError) as caught:
        (w * 2.0).train().run()
    assert any(__file__ in note for note in caught.value.__notes__)
    assert w.data == 1.0
