"""A part of a weight that overrides `forward` decides in every run; what some runs would not obey is refused.

A network of weights whose class halves them has to do as the same network of plain weights `w` with `w * 0.5` written
wherever a weight is read: on every executor, whatever reads the weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from weakref import ref

import cloudpickle
import numpy as np
import pytest

import wengert as wg
import wengert.fold as td
from tests.often import few
from tests.run.planned import eager
from tests.run.test_leaks import growth
from wengert import Do, Tape, nn, saving
from wengert.errors import NonFiniteError, PluginError
from wengert.extend import WeightPart, dense, elementwise
from wengert.plugins import SGD, FailOnNonFinite, LearningRate, Momentum, Names, Plugin
from wengert.run import Batched, Parallel, Sequential

F32 = np.float32
Made = Callable[[], Any]  # Any: losses, and executors, of every class


class Half(WeightPart):
    """y = w / 2."""

    @property
    def forward(self) -> Do[Tape[Any, Any]]:
        return super().forward.map(halved)


def halved(tape: Tape[Any, Any]) -> Tape[Any, Any]:
    return Tape(half(tape.data), lambda d: tape.backward(d.map(lambda d: half(dense(d)))))


def half(x: Any) -> Any:
    """Of the same type."""
    return type(x)(x * 0.5) if isinstance(x, (float, np.float32)) else x * x.dtype.type(0.5)


class Halves(Plugin):
    weight: ClassVar[type[WeightPart]] = Half


class Plain(Momentum, LearningRate): ...


class Halving(Halves, Plain): ...


class Twice(WeightPart):
    """y = 2 w, of what stands to the right."""

    @property
    def forward(self) -> Do[Tape[Any, Any]]:
        return super().forward.map(
            lambda t: Tape(t.data * 2.0, lambda d: t.backward(d.map(lambda d: d * 2.0)))
        )


class Squares(WeightPart):
    @property
    def forward(self) -> Do[Tape[Any, Any]]:
        return super().forward.map(
            lambda t: Tape(t.data * t.data, lambda d: t.backward(d.map(lambda d: d * t.data * 2.0)))
        )


class Twos(Plugin):
    weight: ClassVar[type[WeightPart]] = Twice


class Squared(Plugin):
    weight: ClassVar[type[WeightPart]] = Squares


EXECUTORS: dict[str, Made] = {
    "interpreter": lambda: Sequential(compiled=False),
    "plans": lambda: eager(worth=2)[0],
    "two threads": lambda: Parallel(threads=2),
    "batched": Batched,
}


@dataclass(frozen=True)
class Read:
    """The weights of one network, and how they are read: as they are, or halved by hand."""

    by: Callable[[Any], Any]
    s: Any  # Any: weights of every class
    f: Any
    v: Any
    m: Any

    @property
    def weights(self) -> tuple[Any, ...]:
        return self.s, self.f, self.v, self.m


def networks() -> tuple[Read, Read]:
    """Halving weights, and plain ones."""
    made = []
    for settings, by in ((Halving, lambda w: w), (Plain, lambda w: w * 0.5)):
        chance, of = np.random.default_rng(5), settings(learning_rate=0.05)
        made.append(
            Read(
                by,
                of.double_weight(1.5, name="s"),
                of.float_weight(0.75, name="f"),
                of.array_weight(chance.standard_normal(3), name="v"),
                of.array_weight(chance.standard_normal((4, 3)), name="m"),
            )
        )
    return made[0], made[1]


X = np.random.default_rng(6).standard_normal((5, 4))


@elementwise(lambda case, g, y, x: g * 2.0 * x)
def custom(case: Any, x: Any) -> Any:
    return x * x


@wg.run.cell
def given(x: Any, w: Any) -> Any:
    return wg.tanh(wg.matmul(x, w))


@wg.differentiable
async def chosen(w: Any, v: Any) -> wg.ArrayLayer[tuple[()], np.float64]:
    seen = await w
    made: wg.ArrayLayer[tuple[()], np.float64] = wg.sum(v) * w if seen > 0.0 else w * w
    return made


@wg.differentiable
async def awaiting(w: Any) -> wg.DoubleLayer:
    a, b = await wg.gather(w, w * 2.0)
    made: wg.DoubleLayer = w * (a + b)
    return made


def operators(n: Read) -> Any:
    s, v = n.by(n.s), n.by(n.v)
    return wg.sum((s * v + v / 2.0 - 1.0 / (v * v + s) + v**2.0)[1:]) - s * s + 2.0 * s + abs(-s)


def functions(n: Read) -> Any:
    s, v, m = n.by(n.s), n.by(n.v), n.by(n.m)
    loss = wg.multiply(s, 1.0) + wg.sum(wg.concat((v, v))) + wg.sum(wg.where(wg.greater(v, 0.0), v, s))
    return loss + wg.sum(wg.take(m, [0, 2, 2])) + wg.sum(wg.einsum("ij,j->i", m, v)) + wg.mean(custom(m))


def alone(n: Read) -> Any:
    return wg.lift(n.by(n.s))


def floats(n: Read) -> Any:
    return n.by(n.f) * n.by(n.f) * F32(3.0)


def affine(n: Read) -> Any:
    return wg.mean(wg.square(X @ n.by(n.m) + n.by(n.v)))


def cell_given(n: Read) -> Any:
    m = n.by(n.m)
    return wg.sum(given(X, m)) + wg.sum(given(X * 2.0, m) * n.by(n.v))


def cell_captured(n: Read) -> Any:
    @wg.run.cell
    def inner(x: Any) -> Any:
        return wg.tanh(wg.matmul(x, n.by(n.m))) * n.by(n.s)

    @wg.run.cell
    def outer(x: Any) -> tuple[Any, Any]:
        return inner(x) + n.by(n.v), inner(x * 2.0)

    loss = wg.lift(0.0)
    for x in X:
        a, b = outer(wg.lift(x))
        loss = loss + wg.sum(a) + wg.sum(b * b)
    return loss


def cell_of_open_kinds(n: Read) -> Any:
    """Only the run tells the shape of the operand: the cell is traced once more there."""

    @wg.run.cell
    def inner(x: Any) -> Any:
        return wg.tanh(wg.matmul(x, n.by(n.m)))

    @wg.differentiable
    async def some(x: Any) -> wg.ArrayLayer:
        await x
        made: wg.ArrayLayer = x * 1.0
        return made

    return wg.mean(inner(some(wg.lift(X)))) + wg.lift(0.0)


def dynamic(n: Read) -> Any:
    return chosen(wg.sum(n.by(n.v)), n.by(n.v)) + wg.sum(n.by(n.m)) * awaiting(n.by(n.s))


def dynamic_of_the_weight(n: Read) -> Any:
    """The function is given the weight, and does what it wants with it."""
    if n.by(n.s) is n.s:
        return awaiting(n.s) * 2.0
    return awaiting(n.s * 0.5) * 2.0


def trees(n: Read) -> Any:
    """Many examples of the same weights, of other depths."""
    loss = wg.lift(0.0)
    for depth in (1, 2, 3, 2, 1):
        h = wg.lift(X[depth])
        for _ in range(depth):
            h = wg.matmul(n.by(n.m), wg.tanh(wg.matmul(h, n.by(n.m)) + n.by(n.v)))
        loss = loss + wg.sum(h)
    return loss


def mapped(n: Read) -> Any:
    """Functions of blocks read the weights."""

    def row(x: Any) -> Any:
        return wg.tanh(wg.matmul(x, n.by(n.m)))

    def joined(a: Any, b: Any) -> Any:
        return a * b + n.by(n.v)

    rows = td.Map(td.Vector(4, "float64") >> td.Function(row))
    return rows >> td.Fold(td.Function(joined), td.Zeros(td.TensorType((3,), "float64")))


def blocks(n: Read) -> Any:
    """One example alone, and several at once."""
    block = mapped(n)
    batch = td.Compiler.create(block).build([[row * i for row in X] for i in (1.0, 2.0)])
    (both,) = batch.output_tensors
    return wg.sum(block.build(list(X))) + wg.sum(both)


PROGRAMS: dict[str, Callable[[Read], Any]] = {
    program.__name__: program
    for program in (
        *(operators, functions, alone, floats, affine, cell_given, cell_captured, cell_of_open_kinds),
        *(dynamic, dynamic_of_the_weight, trees, blocks),
    )
}


def close(one: Any, other: Any) -> None:
    tolerance = 1e-5 if isinstance(other, np.float32) else 1e-11
    np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("how", EXECUTORS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_part_decides_in_every_run(program: str, how: str) -> None:
    (ours, plain), make = networks(), PROGRAMS[program]
    executor, definition = EXECUTORS[how](), Sequential(compiled=False)
    for _ in range(4):  # the interpreter, the run that makes a plan, the plan
        mine, theirs = make(ours), make(plain)
        close(wg.predict(mine).run(executor), wg.predict(theirs).run(definition))
        deltas = (
            wg.gradients(loss, n.weights).run(by)
            for loss, n, by in ((mine, ours, executor), (theirs, plain, definition))
        )
        for a, b in zip(*deltas, strict=True):
            close(a, b)
        close(mine.train().run(executor), theirs.train().run(definition))
        for w, v in zip(ours.weights, plain.weights, strict=True):
            close(w.data, v.data)
            assert type(w.data) is type(v.data)
    assert any(
        bool(np.any(w.data != v.data)) for w, v in zip(plain.weights, networks()[0].weights, strict=True)
    )


@pytest.mark.parametrize("how", EXECUTORS)
def test_whoever_is_asked_says_the_same(how: str) -> None:
    executor = EXECUTORS[how]()
    n, _ = networks()
    asked: dict[str, Any] = {
        "forward": n.s.forward.map(lambda tape: tape.data),
        "its own predict": n.s.predict(),
        "predict": wg.predict(n.s),
        "of a tuple": wg.predict((n.s, n.s * 2.0)).map(lambda both: both[0]),
        "of an operation": (n.s * 1.0).predict(),
        "of the other side": (1.0 * n.s).predict(),
        "of a function": wg.multiply(n.s, 1.0).predict(),
        "lifted": wg.lift(n.s).predict(),
        "as a Do": n.s.as_do(),
        "gathered": wg.gather(n.s, n.s.predict()).map(lambda both: both[0]),
        "trained with rate 0": Halving_at_0.train(),
    }
    assert {name: do.run(executor) for name, do in asked.items()} == dict.fromkeys(asked, 0.75)
    assert n.s.data == 1.5
    assert n.v.predict().run(executor).tolist() == (n.v.data * 0.5).tolist()


Halving_at_0 = Halving(learning_rate=0.0).double_weight(1.5)


@pytest.mark.parametrize("how", EXECUTORS)
def test_parts_of_several_plugins_act_from_left_to_right(how: str) -> None:
    class Outer(Twos, Squared, SGD): ...

    class Inner(Squared, Twos, SGD): ...

    executor = EXECUTORS[how]()
    outer, inner = (c(learning_rate=1.0).double_weight(3.0) for c in (Outer, Inner))
    assert [(w * 1.0).predict().run(executor) for w in (outer, inner)] == [18.0, 36.0]
    (d,), (e,) = (wg.gradients(w * 1.0, (w,)).run(executor) for w in (outer, inner))
    assert (d, e) == (12.0, 24.0)  # of 2 w², and of (2 w)²


@pytest.mark.parametrize("how", EXECUTORS)
def test_a_tape_is_asked_once_a_run_and_gets_its_whole_delta_once(how: str) -> None:
    asked: list[str] = []

    class Counting(WeightPart):
        @property
        def forward(self) -> Do[Tape[Any, Any]]:
            def counted(tape: Tape[Any, Any]) -> Tape[Any, Any]:
                asked.append("forward")

                def backward(delta: Do[Any]) -> wg.UnitContinuation[None]:
                    def seen(d: Any) -> Any:
                        asked.append(f"delta {d}")
                        return d

                    return tape.backward(delta.map(seen))

                return Tape(tape.data, backward)

            return super().forward.map(counted)

    class Counts(Plugin):
        weight: ClassVar[type[WeightPart]] = Counting

    class Settings(Counts, SGD): ...

    executor = EXECUTORS[how]()
    w = Settings(learning_rate=1.0).double_weight(3.0)
    for _ in range(4):
        asked.clear()
        before = w.data
        assert (w * 2.0 + wg.multiply(3.0, w) + w).train().run(executor) == 6.0 * before
        assert w.data == before - 6.0
        assert sorted(asked) == ["delta 6.0", "forward"]


def test_a_delta_sent_by_hand_goes_the_way_of_the_part() -> None:
    n, _ = networks()
    before = n.s.data
    n.s.forward.flat_map(lambda tape: Do.now(tape.backward(Do.now(2.0)).run())).run()
    assert n.s.data == before - 0.05 * 1.0


@pytest.mark.parametrize("how", EXECUTORS)
def test_layers_of_nn_read_it(how: str) -> None:
    """A cell of `nn` with halving weights, and the same with halved layers in place of its weights."""
    chance, executor = np.random.default_rng(8), EXECUTORS[how]()
    xs = [chance.standard_normal((3, 4)) for _ in range(3)]
    ours, plain = (
        nn.LSTMCell.make(of(learning_rate=0.1), 4, 2, seed=1, dtype=np.float64) for of in (Halving, Plain)
    )
    mine: Any = nn.weights(ours)  # Any: weights of every kind
    theirs: Any = nn.weights(plain)
    halves: Any = {name: w * 0.5 for name, w in theirs.items()}
    by_hand: Any = replace(plain, **halves)  # Any: layers for weights
    assert mine.keys() == theirs.keys()
    for _ in range(5):
        losses = []
        for cell in (ours, by_hand):
            h, c = cell(xs[0])
            for x in xs[1:]:
                h, c = cell(x, (h, c))
            losses.append(wg.mean(wg.square(h)))
        close(losses[0].train().run(executor), losses[1].train().run(Sequential(compiled=False)))
        for name, w in mine.items():
            close(w.data, theirs[name].data)


def test_files_have_what_is_stored(tmp_path: Any) -> None:
    pytest.importorskip("safetensors", reason="files of weights need the extra `saving`")
    n, plain = networks()
    saving.save(tmp_path / "w.safetensors", {"m": n.m, "s": n.s})
    saving.load(tmp_path / "w.safetensors", {"m": plain.m, "s": plain.s})
    np.testing.assert_array_equal(plain.m.data, n.m.data)
    wg.sum(n.m * n.s).train().run()
    saving.load(tmp_path / "w.safetensors", {"m": n.m, "s": n.s})
    np.testing.assert_array_equal(plain.m.data, n.m.data)
    assert (n.s.data, n.s.predict().run()) == (1.5, 0.75)


def test_it_crosses_a_process_boundary() -> None:
    n, _ = networks()
    loss = affine(n) + cell_captured(n)
    again = cloudpickle.loads(cloudpickle.dumps(loss))
    assert again.predict().run() == loss.predict().run()
    w = cloudpickle.loads(cloudpickle.dumps(n.s))
    assert ((w * 1.0).predict().run(), w.data) == (0.75, 1.5)


def test_what_holds_a_lifted_one_has_its_weight() -> None:
    n, _ = networks()
    found = nn.weights({"start": wg.lift(n.s)})
    assert found["start"] is n.s and len(found) == 1


def test_what_reads_it_many_times_reads_one_layer() -> None:
    """So rows of a batch share it, and none has a copy of its own; it dies with what reads it."""
    n, _ = networks()
    layer = wg.lift(n.m)
    assert wg.lift(n.m) is layer and layer is not wg.lift(networks()[0].m)
    again = cloudpickle.loads(cloudpickle.dumps((layer, n.m)))
    assert wg.lift(again[1]) is again[0]
    gone = ref(layer)
    del layer
    assert gone() is None


def test_equal_cells_of_other_weights_stay_apart() -> None:
    def cell_of(w: Any, v: Any) -> Any:
        @wg.run.cell
        def inner(x: Any) -> Any:
            return x * w + v

        return inner

    of = Halving(learning_rate=0.1)
    a, b = of.double_weight(2.0), of.double_weight(4.0)
    v = SGD(learning_rate=0.1).double_weight(0.0)
    one, other = cell_of(a, v), cell_of(b, v)
    assert [c(wg.lift(1.0)).predict().run() for c in (one, other)] == [1.0, 2.0]


def test_a_forward_that_gives_something_else_is_refused_in_the_run() -> None:
    class Other(WeightPart):
        @property
        def forward(self) -> Do[Tape[Any, Any]]:
            return super().forward.map(lambda tape: Tape(np.zeros(2), tape.backward))

    class Others(Plugin):
        weight: ClassVar[type[WeightPart]] = Other

    class Settings(Others, SGD): ...

    w = Settings(learning_rate=1.0).array_weight(np.zeros(3), name="w")
    with pytest.raises(
        wg.errors.ShapeError, match=r"stated is ArrayLayer \(3,\) float64, the run gave"
    ) as failure:
        wg.sum(w * 2.0).predict().run()
    assert any("test_weight_forward.py" in note for note in failure.value.__notes__)


def test_a_refusal_names_the_weight() -> None:
    class Settings(Halves, FailOnNonFinite, Names, SGD): ...

    w = Settings(learning_rate=1.0).double_weight(float("nan"), name="broken")
    with pytest.raises(NonFiniteError) as failure:
        (w * 2.0).train().run()
    assert any("broken" in note for note in failure.value.__notes__)


def test_the_derivative_as_an_expression_is_refused() -> None:
    n, _ = networks()
    with pytest.raises(wg.errors.NotDifferentiableError, match="known only in the run"):
        _ = wg.gradients(n.s * n.s, (n.s,)).layers


def member(name: str) -> Any:
    """A function of that name for the body of a class."""

    def of(self: Any, *given: Any) -> Any:
        return NotImplemented

    of.__name__ = name
    return of


REFUSED = {
    "__mul__": "the function of the same operation",
    "__rsub__": "the function of the same operation",
    "__getitem__": "or give an executor other `rules` for the operation",
    "__lt__": "the function of the same operation",
    "predict": "every layer above would not obey it; override `forward`",
    "__await__": "every layer above would not obey it; override `forward`",
    "data": "files read what is stored; override `forward`",
    "shape": "files read what is stored; override `forward`",
    "backward": "its delta goes to its tape; override `forward`",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_not_every_run_would_obey_is_refused_at_the_class_statement(name: str) -> None:
    with pytest.raises(PluginError) as caught:
        type("Wrong", (WeightPart,), {name: member(name)})
    text, _, place = str(caught.value).rpartition("\n  at ")
    assert text.startswith(f"Wrong.{name}: a part of a weight cannot decide this: ")
    assert REFUSED[name] in text and "test_weight_forward.py:" in place


def test_it_is_refused_in_a_base_and_in_a_part_that_is_no_weight_part() -> None:
    class Mixed:
        __mul__ = member("__mul__")

    with pytest.raises(PluginError, match=r"Mixed\.__mul__: a part of a weight cannot"):

        class Part(Mixed, WeightPart): ...

    with pytest.raises(PluginError, match=r"Mixed\.__mul__: a part of a weight cannot"):

        class Settings(SGD):
            weight: ClassVar[type] = Mixed


def test_a_member_has_no_name_of_what_is_stored() -> None:
    with pytest.raises(PluginError, match=r"Part\.data: a part of a weight cannot decide this"):

        class Part(WeightPart):
            data: float = 1.0  # type: ignore[settings] # mypy says it too


def test_a_forward_that_is_no_property_is_refused() -> None:
    with pytest.raises(PluginError, match=r"Part\.forward is no property; put @property above"):

        class Part(WeightPart):
            forward = member("forward")


def test_other_members_stay_a_parts_own() -> None:
    class Described(WeightPart):
        unit: str = "m"

        def __repr__(self) -> str:
            return f"length in {self.unit}"

        def __floordiv__(self, other: float) -> float:
            return other

        def squared(self) -> Any:
            return wg.multiply(self, self)

    class Describing(Plugin):
        weight: ClassVar[type[WeightPart]] = Described

    class Settings(Describing, SGD): ...

    w: Any = Settings(learning_rate=0.1).double_weight(3.0)
    assert (repr(w), w // 2.0, w.squared().predict().run()) == ("length in m", 2.0, 9.0)
    assert type(w).forward is wg.DoubleWeight.forward, "no forward of its own, so it costs nothing"


@pytest.mark.parametrize("how", few(["interpreter", "plans", "batched"], 1))
def test_steps_leave_nothing_behind(how: str, collector_off: None) -> None:
    """A kept array would be 32 kB a step; free lists of the interpreter take what the limit leaves."""
    w, executor = Halving(learning_rate=0.001).array_weight(np.ones((64, 64))), EXECUTORS[how]()

    def step() -> None:
        wg.sum(wg.tanh(w) * w).train().run(executor)

    assert growth(step, 100) < 300_000
