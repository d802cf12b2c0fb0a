"""Blocks of `wengert.fold`: what one gives is what the next one takes, without the mypy plugin (T83)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, SupportsFloat, TypeAlias, assert_type

import numpy as np

import wengert as wg
from wengert import fold as td
from wengert.arrays import IntegerArray
from wengert.plugins import SGD
from wengert.training import EvalPlan, Evaluation, History, InferPlan, TrainPlan

Scalar: TypeAlias = wg.ArrayLayer[tuple[()]]
Row: TypeAlias = wg.ArrayLayer[tuple[Any]]
F64: TypeAlias = np.float64
Double: TypeAlias = wg.ArrayLayer[tuple[()], F64]


def double(x: Scalar) -> Scalar:
    return x * 2.0


def halved(x: Double) -> Double:
    return x * 0.5


def plus(a: Scalar, b: Scalar) -> Scalar:
    return a + b


def step(x: Scalar, state: Row) -> tuple[Double, Row]:
    raise NotImplementedError


def total(x: Row) -> Scalar:
    return wg.sum(x)


def age(person: dict[str, int]) -> int:
    return person["age"]


def is_tree(x: Tree) -> bool:
    return isinstance(x, tuple)


Tree: TypeAlias = "tuple[Tree, Tree] | float"
twice = td.Function(double)
summed = td.Function(total)
added = td.Function(plus)
cell = td.Function(step)
scalars = td.Map(td.Scalar())


def case_pipes() -> None:  # T83
    assert_type(td.Scalar() >> twice, td.Block[SupportsFloat, Scalar])
    assert_type(td.InputTransform(age) >> td.Scalar(), td.Block[dict[str, int], Scalar])
    assert_type((td.Vector(3) >> summed >> twice).build([1, 2, 3]), Scalar)
    assert_type(td.Scalar("int32"), td.Scalar[IntegerArray])
    assert_type(td.Scalar("float64") >> td.Identity(), td.Block[SupportsFloat, Double])
    rectified: td.Block[SupportsFloat, td.Tensors] = td.Scalar() >> td.Function(wg.relu)
    assert_type(td.Vector(3) >> td.Function(wg.sum) >> twice, td.Block[td.Row, Scalar])
    deep: td.Block[td.Row, td.Tensors] = td.Vector(3) >> td.FC(4) >> td.FC(2)
    assert_type(td.GetItem("age") >> td.Scalar(), td.Block[Any, Scalar])
    del rectified, deep


def case_wrong_pipes() -> None:  # T83
    td.Scalar() >> summed  # E[operator]: Unsupported operand types
    td.Vector(3) >> twice  # E[operator]
    twice >> td.Scalar()  # E[operator]
    td.InputTransform(age) >> summed  # E[operator]
    td.Scalar(np.float64) >> twice  # E[operator]
    td.Scalar("int32") >> twice  # E[operator]
    td.Scalar() >> td.Embedding(3, 2)  # E[operator]
    td.Scalar() >> wg.relu  # E[operator]
    td.Void() >> twice  # E[operator]
    td.InputTransform(len) >> td.InputTransform(age)  # E


def case_variance(anything: td.Block[object, Scalar], scalar: td.Block[SupportsFloat, Scalar]) -> None:  # T83
    narrower: td.Block[int, Scalar] = scalar
    wider: td.Block[int, object] = anything
    back: td.Block[object, Scalar] = scalar  # E[assignment]
    wrong: td.Block[SupportsFloat, Row] = scalar  # E[assignment]
    del narrower, wider, back, wrong


def case_records(pair: td.Block[tuple[float, float], Scalar]) -> None:  # T83
    both = td.Record((td.Scalar(), td.Scalar("float64")))
    assert_type(both, td.Record[tuple[SupportsFloat, SupportsFloat], tuple[Scalar, Double]])
    assert_type(
        td.Record((td.Scalar(), td.Scalar())) >> added, td.Block[tuple[SupportsFloat, SupportsFloat], Scalar]
    )
    assert_type((td.Scalar(), td.Scalar()) >> added, td.Block[tuple[SupportsFloat, SupportsFloat], Scalar])
    assert_type(
        both >> (twice, td.Function(halved)),
        td.Block[tuple[SupportsFloat, SupportsFloat], tuple[Scalar, Double]],
    )
    assert_type(td.AllOf(td.Scalar(), td.Scalar()) >> added, td.Block[SupportsFloat, Scalar])
    td.Record((td.Scalar(), td.Scalar("float64"))) >> added  # E[operator]
    td.Record((td.Scalar(), td.Scalar(), td.Scalar())) >> added  # E[operator]
    both >> (twice, twice)  # E[operator]
    td.AllOf(td.InputTransform(age), td.Scalar()) >> added  # E[operator]
    pair.build((1.0,))  # E[arg-type]
    td.Record(3)  # E[call-overload]


def case_compilers() -> None:  # T83
    compiler = td.Compiler.create(td.Vector(3) >> summed)
    assert_type(compiler, td.Compiler[td.Row])
    assert_type(compiler.build([[1, 2, 3]]).output_tensors, tuple[td.Tensors, ...])
    assert_type(td.Scalar().eval(1, metrics=True), tuple[Any, dict[str, list[Any]]])
    assert_type(td.Scalar().eval(1, metrics=False), np.ndarray[tuple[()], np.dtype[np.float32]])
    compiler.build([1, 2, 3])  # E[arg-type]
    td.Compiler.create(summed).build([[1, 2, 3]])  # E[arg-type]


def case_sequences() -> None:  # T83
    assert_type(scalars, td.Map[Iterable[SupportsFloat], list[Scalar]])
    assert_type(scalars >> td.Map(twice), td.Block[Iterable[SupportsFloat], list[Scalar]])
    assert_type(scalars >> td.Reduce(added), td.Block[Iterable[SupportsFloat], Scalar])
    assert_type(scalars >> td.Fold(added, td.FromTensor(0.0)), td.Block[Iterable[SupportsFloat], Scalar])
    first: wg.ArrayWeight[tuple[()]] = SGD(learning_rate=0.1).array_weight(np.zeros((), np.float32))
    assert_type(scalars >> td.Fold(added, td.FromTensor(first)), td.Block[Iterable[SupportsFloat], Scalar])
    assert_type(scalars >> td.RNN(cell), td.Block[Iterable[SupportsFloat], tuple[list[Double], Row]])
    sums: td.Block[Iterable[SupportsFloat], td.Tensors] = scalars >> td.Sum()
    del sums
    pairs: td.NGrams[Scalar] = td.NGrams(
        2
    )  # stated, for mypy 1.19 infers nothing from what stands on its left
    assert_type(scalars >> pairs, td.Block[Iterable[SupportsFloat], list[tuple[Scalar, ...]]])
    assert_type(scalars >> td.Slice(stop=1), td.Block[Iterable[SupportsFloat], list[Scalar]])
    td.Vector(3) >> td.Map(twice)  # E[operator]
    scalars >> td.Map(summed)  # E
    scalars >> td.Reduce(td.Function(wg.relu))  # E
    td.RNN(added)  # E
    td.RNN(cell, td.Zeros[Row](3), True)  # E
    td.Map(twice) >> td.RNN(td.Function(plus))  # E
    td.Slice(1)  # E


def case_choices(maybe: float | None) -> None:  # T83
    either = td.OneOf(bool, {True: td.Scalar(), False: td.Scalar() >> twice})
    assert_type(either.build(1.0), Scalar)
    assert_type(td.Optional(td.Scalar()).build(maybe), Scalar)
    assert_type(td.OneOf(bool, (twice, twice), td.Scalar()).build(1.0), Scalar)
    td.Scalar().build(maybe)  # E[arg-type]
    td.OneOf(3, (td.Scalar(),))  # E
    td.OneOf(bool, (twice, twice), td.Vector(3))  # E


def case_recursion() -> None:  # T83
    tree: td.ForwardDeclaration[Tree, Scalar] = td.ForwardDeclaration()
    assert_type(tree(), td.Block[Tree, Scalar])
    assert_type(td.Record((tree(), tree())) >> added, td.Block[tuple[Tree, Tree], Scalar])
    tree.resolve_to(td.Vector(3))  # E[arg-type]


def case_cases_of_two_types(tree: td.ForwardDeclaration[Tree, Scalar]) -> None:  # T83
    wrong: td.Block[float, Scalar] = td.OneOf(bool, {True: td.Scalar(), False: td.Vector(2)})  # E
    tree.resolve_to(td.OneOf(is_tree, {True: td.Scalar(), False: td.Record((tree(), tree())) >> added}))  # E
    del wrong


@td.composition
def crossed(x: td.Wire[tuple[int, str]]) -> tuple[td.Wire[str], td.Wire[int]]:
    return x[1], x[0]


def case_wires() -> None:  # T83
    @td.composition
    def sums(x: td.Wire[Scalar]) -> td.Wire[Scalar]:
        return added(twice(x), x)

    @td.composition
    def wrong(x: td.Wire[Scalar]) -> td.Wire[Scalar]:
        summed(x)  # E[arg-type]
        added(x)  # E[arg-type]
        added(x, summed)  # E[call-overload]
        return x[0]  # E

    assert_type(crossed, td.Block[tuple[int, str], tuple[str, int]])
    assert_type(sums, td.Block[Scalar, Scalar])
    assert_type(td.Scalar() >> sums >> wrong, td.Block[SupportsFloat, Scalar])


def case_results() -> None:  # F2
    assert_type(td.Scalar().eval(1), np.ndarray[tuple[()], np.dtype[np.float32]])
    both = td.AllOf(td.Scalar(), td.Scalar(np.float64))
    found: tuple[np.ndarray[tuple[()], np.dtype[np.float32]], np.ndarray[tuple[()], np.dtype[F64]]] = (
        both.eval(1)
    )
    td.Scalar().eval("one")  # E
    td.Scalar().max_depth("one")  # E[arg-type]
    assert len(found) == 2


def positive(x: Scalar) -> Scalar:
    return x


def turn(n: Scalar, total: Row) -> tuple[Scalar, Row]:
    return n, total


def case_computed_choices(numbers: td.Block[None, list[Scalar]]) -> None:  # F74, F75, F76
    switch = td.Switch(td.Function(positive), (twice, twice))
    assert_type(switch, td.Switch[Scalar, Scalar])
    assert_type(td.Scalar() >> switch, td.Block[SupportsFloat, Scalar])
    assert_type(td.Scalar() >> td.Loop(twice, twice, limit=3), td.Block[SupportsFloat, Scalar])
    assert_type(
        td.Loop(td.Function(turn), td.AllOf(td.Identity[tuple[Scalar, Row]]())),
        td.Loop[tuple[Scalar, Row]],
    )
    kept = td.Filter(td.Function(positive))
    assert_type(numbers >> kept, td.Block[None, list[Scalar]])
    numbers >> kept >> td.Vector(3)  # E[operator]
    td.Switch[Scalar, Scalar](twice, (twice, summed))  # E
    td.Switch[Scalar, Scalar](summed, (twice, twice))  # E
    td.Loop(summed, twice)  # E
    td.Filter(3)  # E


def case_stacks() -> None:  # F44
    rows: td.Block[Iterable[td.Row], td.Tensors] = td.Map(td.Vector(3)) >> td.Stack()
    del rows
    td.Vector(3) >> td.Stack()  # E[operator]


def case_layers() -> None:  # F81, F83, F84
    net = td.FractalNet(2, 1, lambda: td.FC(3))
    assert_type(td.Vector(3) >> net, td.Block[td.Row, td.Tensors])
    assert_type(td.Scalar() >> td.ScopedLayer(double), td.Block[SupportsFloat, Scalar])
    drawn: td.Tensors = (td.Vector(3) >> td.FC(4, input_keep_prob=0.5)).build([1, 2, 3], seed=(1, 2))
    del drawn
    td.FractalNet(2, 1, lambda: td.Scalar())  # E
    td.FC(4, output_keep_prob="half")  # E[arg-type]
    td.Function(double, batched=3)  # E


def case_messages() -> None:  # F23
    tree = td.SerializedMessageToTree("google.protobuf.Duration")
    assert_type(tree.build(b""), dict[str, Any])
    td.Scalar() >> tree  # E[operator]


def case_wired_examples() -> None:  # F92, F93
    compiler: td.Compiler[td.Row] = td.Compiler.create(td.Vector(3) >> summed)
    wired = compiler.build_loom_inputs([[1, 2, 3]])
    assert_type(wired, list[td.LoomInput])
    assert_type(compiler.build(wired, seed=1), td.Batch)
    with compiler.multiprocessing_pool(2) as pool:
        assert_type(pool.build_loom_inputs([[1, 2, 3]]), list[td.LoomInput])
    compiler.build_loom_inputs([1, 2, 3])  # E[list-item]


def squares(batch: td.Batch) -> Scalar:
    return wg.mean(wg.square(batch.output_tensors[0]))


def case_plans(compiler: td.Compiler[td.Row]) -> None:  # F94
    plan = TrainPlan(compiler=compiler, losses={"squares": squares})
    assert_type(plan, TrainPlan[td.Row])
    assert_type(plan.run(), History)
    assert_type(EvalPlan(compiler=compiler, metrics={"squares": squares}).run(), Evaluation)
    assert_type(InferPlan(compiler=compiler).run(), Iterator[tuple[Any, ...]])
    plan.examples = [1, 2, 3]  # E[list-item]
    plan.batch_size = "many"  # E[assignment]
    plan.losses = {"squares": compiler}  # E[dict-item]
    plan.losses = squares  # E[assignment]
    plan.metrics = {"values": lambda batch: batch.metric_tensors["x"]}


def case_layers_are_functions(x: td.Tensors) -> None:
    fc = td.FC(3)

    def doubled(x: td.Tensors) -> td.Tensors:
        return fc(x) * 2.0

    assert_type(fc(x), td.Tensors)
    assert_type(td.Vector(2) >> td.Function(doubled), td.Block[td.Row, td.Tensors])
    fc("x")  # E[call-overload]


def case_compositions_of_several_wires() -> None:
    @td.composition
    def mixed(x: td.Wire[td.Tensors], y: td.Wire[td.Tensors]) -> td.Wire[td.Tensors]:
        return td.FC(3)(td.Function(wg.add)(x, y))

    assert_type(mixed, td.Block[tuple[td.Tensors, td.Tensors], td.Tensors])
    td.Vector(2) >> mixed  # E[operator]


def case_plans_of_labels() -> None:  # F94
    scores = td.Vector(3) >> td.FC(2)
    compiler = td.Compiler.create(td.Record((scores, td.Scalar("int64"))))
    plan = TrainPlan(compiler=compiler, epochs=2)
    plan.losses = {"of labels": lambda batch: wg.cross_entropy(*batch.output_tensors)}
    plan.metrics = {"labels": lambda batch: len(batch.output_tensors[1])}
    plan.metrics = {"layers": lambda batch: len(batch.output_tensors[0])}  # E[arg-type]
    plan.examples = [([1.0, 2.0, 3.0], 1)]
